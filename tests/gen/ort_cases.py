#!/usr/bin/env python3
"""Writes tests/data/ort/: small models, and what ONNX Runtime makes of them.

Where it has no implementation for the CPU the truth is PyTorch's.
Operators of com.microsoft are what ONNX has no test suite for; a few of ONNX
itself are here for forms that its suite leaves out."""
import numpy as np
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper

from ort_model import Cases

rng = np.random.default_rng(1)


def rnd(*shape):
    return np.round(rng.standard_normal(shape), 2).astype(np.float32)


def u8(*shape):
    return rng.integers(0, 256, shape, dtype=np.uint8)


def s8(*shape):
    """Small: pairs of products saturate in ONNX Runtime on some processors."""
    return rng.integers(-60, 61, shape, dtype=np.int8)


def i32(*values):
    return np.array(values, dtype=np.int32)


def f32(*values):
    return np.array(values, dtype=np.float32).reshape(() if len(values) == 1 else -1)


def q(value, kind=np.uint8):
    return np.array(value, dtype=kind)


cases = Cases("ort")
save, ms, arrays = cases.save, cases.ms, cases.arrays


# -- scans ------------------------------------------------------------------

def scan(name, opset, ins, outs, inputs, **attrs):
    slot = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [2])
    body = helper.make_graph(
        [helper.make_node("Add", ["sum", "next"], ["out"]), helper.make_node("Mul", ["out", "next"], ["each"])],
        "body", [slot("sum"), slot("next")], [slot("out"), slot("each")])
    node = helper.make_node("Scan", ins, outs, name, body=body, num_scan_inputs=1, **attrs)
    save(name, [node], inputs, outs, opset=opset)


first, rows = rnd(3, 2), rnd(3, 4, 2)
scan("scan8_batch", 8, ["", "first", "rows"], ["last", "all"], {"first": first, "rows": rows})
scan("scan8_lengths", 8, ["n", "first", "rows"], ["last", "all"],
     {"n": np.array([4, 1, 3]), "first": first, "rows": rows})
scan("scan8_backwards", 8, ["n", "first", "rows"], ["last", "all"],
     {"n": np.array([4, 1, 3]), "first": first, "rows": rows}, directions=[1])
for back in (0, 1):
    scan("scan9_backwards_%d" % back, 9, ["first", "rows"], ["last", "all"],
         {"first": first[0], "rows": rows[0]}, scan_input_directions=[1], scan_output_directions=[back])

# -- fused by the optimiser ---------------------------------------------------

x = rnd(2, 3, 8)
ms("bias_gelu", "BiasGelu", [x, rnd(8)])
ms("fast_gelu", "FastGelu", [x])
ms("fast_gelu_bias", "FastGelu", [x, rnd(8)])
ms("gelu", "Gelu", [x])
ms("quick_gelu", "QuickGelu", [x])
ms("quick_gelu_alpha", "QuickGelu", [x], alpha=0.5)
ms("fused_matmul", "FusedMatMul", [x, rnd(2, 8, 4)], alpha=0.5)
ms("fused_matmul_trans", "FusedMatMul", [x, rnd(2, 3, 8)], transA=1, alpha=2.0)
ms("fused_matmul_both", "FusedMatMul", [x, rnd(2, 4, 3)], transA=1, transB=1)
ms("fused_matmul_batch", "FusedMatMul", [rnd(3, 2, 8), rnd(2, 8, 4)], transBatchA=1)
ms("fused_matmul_batch_trans", "FusedMatMul", [rnd(8, 2, 3), rnd(4, 2, 8)], transBatchA=1, transA=1, transBatchB=1,
   transB=1)
a, b, c = rnd(3, 4), rnd(4, 5), rnd(5)
for act in ("Relu", "Tanh", "Sigmoid"):
    ms("fused_gemm_" + act.lower(), "FusedGemm", [a, b, c], activation=act, alpha=0.5, beta=2.0)
ms("fused_gemm_leaky", "FusedGemm", [a, b, c], activation="LeakyRelu", activation_alpha=0.3)
img, ker, bias = rnd(1, 2, 5, 5), rnd(4, 2, 3, 3), rnd(4)
for act, params in (("Relu", None), ("Clip", [0.0, 1.5]), ("LeakyRelu", [0.3]), ("HardSigmoid", [0.2, 0.4]),
                    ("Tanh", None), ("HardSwish", None)):
    more = {"activation_params": params} if params else {}
    ms("fused_conv_" + act.lower(), "FusedConv", [img, ker, bias], weights=(1, 2), activation=act,
       pads=[1, 1, 1, 1], **more)
ms("fused_conv_sum", "FusedConv", [img, ker, bias, rnd(1, 4, 5, 5)], weights=(1, 2), activation="Relu",
   pads=[1, 1, 1, 1])
ms("skip_layer_norm", "SkipLayerNormalization", [x, rnd(2, 3, 8), rnd(8), rnd(8)], epsilon=1e-5)
ms("skip_layer_norm_bias", "SkipLayerNormalization", [x, rnd(2, 3, 8), rnd(8), rnd(8), rnd(8)], (0, 3))
ms("skip_layer_norm_no_beta", "SkipLayerNormalization", [x, rnd(2, 3, 8), rnd(8)])
ms("skip_layer_norm_broadcast", "SkipLayerNormalization", [x, rnd(3, 8), rnd(8), rnd(8)])
ms("skip_simplified", "SkipSimplifiedLayerNormalization", [x, rnd(2, 3, 8), rnd(8)], epsilon=1e-5)
ms("skip_simplified_bias", "SkipSimplifiedLayerNormalization", [x, rnd(2, 3, 8), rnd(8), rnd(8)], (0, 3))
ids = np.array([[1, 4, 2, 0], [3, 3, 1, 1]], dtype=np.int32)
seg = np.array([[0, 0, 1, 1], [0, 1, 1, 1]], dtype=np.int32)
words, places, kinds, mask = rnd(5, 8), rnd(6, 8), rnd(2, 8), np.array([[1, 1, 1, 0], [1, 1, 0, 0]], dtype=np.int32)
tables = (2, 3, 4, 5, 6)
embed = [ids, seg, words, places, kinds, rnd(8), rnd(8)]
ms("embed", "EmbedLayerNormalization", embed, 2, tables)
ms("embed_mask", "EmbedLayerNormalization", embed + [mask], 2, tables)
ms("embed_sum", "EmbedLayerNormalization", embed + [mask], 3, tables)
ms("embed_no_segments", "EmbedLayerNormalization", [ids, None, words, places, None] + embed[5:], 2, tables)
ms("embed_positions", "EmbedLayerNormalization",
   embed + [None, np.array([[2, 3, 4, 5], [0, 1, 2, 3]], dtype=np.int32)], 2, tables)

# -- attention ----------------------------------------------------------------

x, w, b = rnd(2, 3, 8), rnd(8, 24) * np.float32(0.3), rnd(24)
ms("attention", "Attention", [x, w, b], weights=(1, 2), num_heads=2)
ms("attention_causal", "Attention", [x, w, b], weights=(1, 2), num_heads=2, unidirectional=1)
ms("attention_scale", "Attention", [x, w, b], weights=(1, 2), num_heads=2, scale=0.3)
ms("attention_lengths", "Attention", [x, w, b, i32(2, 3)], weights=(1, 2), num_heads=2)
ms("attention_range", "Attention", [x, w, b, i32(3, 2, 1, 0)], weights=(1, 2), num_heads=2)
raw = np.array([[1, 1, 0], [0, 1, 1]], dtype=np.int32)
ms("attention_raw", "Attention", [x, w, b, raw], weights=(1, 2), num_heads=2)
raw3 = rng.integers(0, 2, (2, 3, 3), dtype=np.int32)
raw3[:, :, 0] = 1
ms("attention_raw3", "Attention", [x, w, b, raw3], weights=(1, 2), num_heads=2)
ms("attention_bias", "Attention", [x, w, b, None, None, rnd(2, 2, 3, 3)], weights=(1, 2), num_heads=2)
ms("attention_past", "Attention", [x, w, b, None, rnd(2, 2, 2, 4, 4)], 2, (1, 2), num_heads=2, unidirectional=1)
ms("attention_past_raw", "Attention", [x, w, b, np.ones((2, 7), dtype=np.int32), rnd(2, 2, 2, 4, 4)], 2, (1, 2),
   num_heads=2)
ms("attention_sizes", "Attention", [x, rnd(8, 20) * np.float32(0.3), rnd(20)], weights=(1, 2), num_heads=2,
   qkv_hidden_sizes=[8, 8, 4])
query, key, value = rnd(2, 3, 8), rnd(2, 5, 8), rnd(2, 5, 8)
ms("mha", "MultiHeadAttention", [query, key, value], num_heads=2)
ms("mha_wide", "MultiHeadAttention", [query, key, rnd(2, 5, 12)], num_heads=2, scale=0.4)
ms("mha_bias", "MultiHeadAttention", [query, key, value, rnd(24)], num_heads=2)
ms("mha_lengths", "MultiHeadAttention", [query, key, value, None, i32(4, 2)], num_heads=2)
ms("mha_raw", "MultiHeadAttention",
   [query, key, value, None, np.array([[1, 1, 1, 0, 0], [0, 1, 1, 1, 1]], dtype=np.int32)], num_heads=2)
ms("mha_scores_bias", "MultiHeadAttention", [query, key, value, None, None, rnd(1, 2, 3, 5)], num_heads=2)
ms("mha_causal", "MultiHeadAttention", [query, query, query], num_heads=2, unidirectional=1)
ms("mha_past", "MultiHeadAttention",
   [query, rnd(2, 3, 8), rnd(2, 3, 8), None, None, None, rnd(2, 2, 4, 4), rnd(2, 2, 4, 4)], 3, num_heads=2)
ms("mha_past_causal", "MultiHeadAttention",
   [query, rnd(2, 3, 8), rnd(2, 3, 8), None, None, None, rnd(2, 2, 4, 4), rnd(2, 2, 4, 4)], 3, num_heads=2,
   unidirectional=1)
ms("mha_cross", "MultiHeadAttention", [query, rnd(2, 2, 5, 4), rnd(2, 2, 5, 4)], num_heads=2)


def mha_packed(name, packed, plain, bias=None):
    """A form that only other providers run: the truth is that of the plain one."""
    ms(name, "MultiHeadAttention", packed + [bias], run=False, num_heads=2)
    ms(name + "_plain", "MultiHeadAttention", plain + [bias], num_heads=2)
    arrays[name + ".y0"] = arrays[name + "_plain.y0"]


qkv, kv = rnd(2, 3, 2, 3, 4), rnd(2, 5, 2, 2, 4)
split = lambda t: [t[:, :, :, i].reshape(t.shape[0], t.shape[1], -1) for i in range(t.shape[3])]
mha_packed("mha_packed", [qkv, None, None], split(qkv))
mha_packed("mha_packed_bias", [qkv, None, None], split(qkv), rnd(24))
mha_packed("mha_packed_kv", [query, kv, None], [query] + split(kv))

angles = np.outer(np.arange(8), 0.5 ** np.arange(8)).astype(np.float32)
cos, sin = np.cos(angles), np.sin(angles)
none = np.zeros((2, 1, 0, 16), np.float32)
q3, k3, v3 = rnd(2, 3, 32), rnd(2, 3, 16), rnd(2, 3, 16)
past = rnd(2, 1, 4, 16), rnd(2, 1, 4, 16)
q1, k1, v1 = q3[:, :1], k3[:, :1], v3[:, :1]


def gqa(name, ins, total, lens, tables=None, **attrs):
    ms(name, "GroupQueryAttention", ins + [i32(*lens), np.array(total, dtype=np.int32)] + list(tables or ()), 3,
       (6,), num_heads=2, kv_num_heads=1, **attrs)


gqa("gqa", [q3, k3, v3, None, None], 3, (2, 2))
gqa("gqa_padded", [q3, k3, v3, None, None], 3, (2, 1))
gqa("gqa_empty_past", [q3, k3, v3, none, none], 3, (2, 2))
gqa("gqa_past", [q1, k1, v1, *past], 5, (4, 4))
gqa("gqa_past_padded", [q1, k1, v1, *past], 5, (4, 2))
gqa("gqa_rotary", [q3, k3, v3, None, None], 3, (2, 2), (cos, sin), do_rotary=1)
gqa("gqa_rotary_pairs", [q3, k3, v3, None, None], 3, (2, 2), (cos, sin), do_rotary=1, rotary_interleaved=1)
gqa("gqa_rotary_past", [q1, k1, v1, *past], 5, (4, 2), (cos, sin), do_rotary=1)
gqa("gqa_packed", [rnd(2, 3, 64), None, None, None, None], 3, (2, 2), (cos, sin), do_rotary=1)
gqa("gqa_window", [q3, k3, v3, None, None], 3, (2, 2), local_window_size=2)
gqa("gqa_cap", [q3, k3, v3, None, None], 3, (2, 2), softcap=1.5, scale=0.7)
gqa("gqa_smooth", [q3, k3, v3, None, None], 3, (2, 2), smooth_softmax=1)
gqa("gqa_static", [q1, k1, v1, rnd(2, 1, 8, 16), rnd(2, 1, 8, 16)], 5, (4, 4))

# -- positions and few bits -----------------------------------------------------

cos, sin = np.ascontiguousarray(cos[:, :2]), np.ascontiguousarray(sin[:, :2])
place = np.array([[0, 1, 2], [4, 5, 6]], dtype=np.int64)
ms("rotary", "RotaryEmbedding", [rnd(2, 3, 8), place, cos, sin], weights=(2, 3))
ms("rotary_offset", "RotaryEmbedding", [rnd(2, 3, 8), np.array([3], dtype=np.int64), cos, sin], weights=(2, 3))
ms("rotary_4d", "RotaryEmbedding", [rnd(2, 2, 3, 4), place, cos, sin], weights=(2, 3), interleaved=1)
ms("rotary_part", "RotaryEmbedding", [rnd(2, 3, 16), place, cos, sin], weights=(2, 3), num_heads=2,
   rotary_embedding_dim=4)
for bits, zero in ((4, None), (4, u8(3, 1)), (8, u8(3, 2)), (2, None)):
    ms("nbits_%d%s" % (bits, "" if zero is None else "_zero"), "MatMulNBits",
       [rnd(2, 32), u8(3, 2, 16 * bits // 8), rnd(3, 2), zero], weights=(1, 2, 3), K=32, N=3, bits=bits,
       block_size=16)
ms("nbits_bias", "MatMulNBits", [rnd(2, 2, 32), u8(3, 1, 16), rnd(3, 1), None, None, rnd(3)], weights=(1, 2, 5), K=32,
   N=3, bits=4, block_size=32)
ms("nbits_ragged", "MatMulNBits", [rnd(2, 40), u8(3, 2, 16), rnd(3, 2)], weights=(1, 2), K=40, N=3, bits=4,
   block_size=32)
for kind in (0, 1):
    ms("bnb4_%d" % kind, "MatMulBnb4", [rnd(2, 32), u8(48), rnd(6)], weights=(1, 2), K=32, N=3, block_size=16,
       quant_type=kind)

# -- quantised ------------------------------------------------------------------

a, b = u8(2, 3, 4), u8(3, 4)
sa, za, sb, zb, sy, zy = f32(0.02), q(120), f32(0.03), q(3), f32(0.05), q(128)
for op in ("Add", "Mul"):
    ms("qlinear_" + op.lower(), "QLinear" + op, [a, sa, za, b, sb, zb, sy, zy])
ms("qlinear_add_int8", "QLinearAdd", [a.view(np.int8), sa, q(-5, np.int8), b.view(np.int8), sb, q(3, np.int8), sy,
                                     q(0, np.int8)])
ms("qlinear_sigmoid", "QLinearSigmoid", [a, sa, za, f32(1 / 256), q(0)])
ms("qlinear_leaky", "QLinearLeakyRelu", [a, sa, za, sy, zy], alpha=0.2)
ms("qlinear_softmax", "QLinearSoftmax", [a, sa, za, f32(1 / 256), q(0)], axis=-1, opset=13)
img = u8(1, 2, 4, 4)
ms("qlinear_pool", "QLinearAveragePool", [img, sa, za, sy, zy], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
ms("qlinear_global_pool", "QLinearGlobalAveragePool", [img, sa, za, sy, zy])
ms("qlinear_concat", "QLinearConcat", [sy, zy, a, sa, za, u8(2, 2, 4), sb, zb], axis=1)
ms("qlinear_where", "QLinearWhere", [rnd(2, 3, 4) > 0, a, sa, za, b, sb, zb, sy, zy])
ms("qgemm", "QGemm", [u8(2, 4), sa, za, u8(4, 3), sb, zb, i32(10, -200, 3000), sy, zy])
ms("qgemm_float", "QGemm", [u8(2, 4), sa, za, u8(3, 4), sb, zb], transB=1, alpha=0.5)
ms("qgemm_columns", "QGemm", [u8(2, 4), sa, za, s8(4, 3), f32(0.1, 0.2, 0.3), np.zeros(3, np.int8),
                              i32(10, -200, 3000), sy, zy])
ms("integer_to_float", "MatMulIntegerToFloat", [u8(2, 4), u8(4, 3), sa, sb, za, zb, rnd(3)])
ms("integer_to_float_columns", "MatMulIntegerToFloat",
   [u8(2, 4), s8(4, 3), sa, f32(0.1, 0.2, 0.3), za])
ms("dynamic_matmul", "DynamicQuantizeMatMul", [rnd(2, 4), u8(4, 3), sb, zb, rnd(3)], weights=(1, 2, 3, 4))
ms("dynamic_matmul_plain", "DynamicQuantizeMatMul", [rnd(2, 4), s8(4, 3), f32(0.1, 0.2, 0.3)],
   weights=(1, 2))
x8, w8 = u8(2, 3, 8), u8(8, 24)
ms("qattention", "QAttention", [x8, w8, rnd(24), f32(0.01), f32(0.01), None, q(128), q(120)], weights=(1, 2),
   num_heads=2)
ms("qattention_mask", "QAttention", [x8, w8, rnd(24), f32(0.01), f32(0.01), i32(2, 3), q(128), q(120)], weights=(1, 2),
   num_heads=2, unidirectional=1)

# -- channels last, and what only other providers run ---------------------------

def other(name, op, ins, truth, **attrs):
    """No implementation for the CPU; the truth is PyTorch's."""
    ms(name, op, ins, run=False, **attrs)
    arrays[name + ".y0"] = truth.contiguous().numpy()


def nchw(a):
    return torch.from_numpy(a).permute(0, 3, 1, 2)


x, g, b, skip = rnd(1, 3, 3, 4), rnd(4), rnd(4), rnd(1, 3, 3, 4)
gt, bt = torch.from_numpy(g), torch.from_numpy(b)
other("group_norm", "GroupNorm", [x, g, b], F.silu(F.group_norm(nchw(x), 2, gt, bt)).permute(0, 2, 3, 1), groups=2,
      activation=1, epsilon=1e-5)
other("skip_group_norm", "SkipGroupNorm", [x, g, b, skip],
      F.group_norm(nchw(x + skip), 2, gt, bt).permute(0, 2, 3, 1), groups=2, activation=0, epsilon=1e-5)
x, b, skip = rnd(1, 3, 8), rnd(8), rnd(1, 3, 8)
other("bias_add", "BiasAdd", [x, b, skip], torch.from_numpy(x + b + skip))
first, second = torch.from_numpy(x + b).chunk(2, -1)
other("bias_split_gelu", "BiasSplitGelu", [x, b], first * F.gelu(second))
x, w, b = rnd(1, 5, 5, 2), rnd(4, 3, 3, 2), rnd(4)
y = F.conv2d(nchw(x), nchw(w), torch.from_numpy(b)).permute(0, 2, 3, 1)
other("nhwc_conv", "NhwcConv", [x, w, b], y)
other("nhwc_fused_conv", "NhwcFusedConv", [x, nchw(w).contiguous().numpy(), b], F.relu(y), activation="Relu")

# -- ONNX ------------------------------------------------------------------------

def ai(name, op, inputs, n_out=1, opset=21, **attrs):
    """Of what feeds shapes, integers after the first input, the model has copies."""
    names = ["" if v is None else "i%d" % i for i, v in enumerate(inputs)]
    outs = ["y%d" % i for i in range(n_out)]
    given = {"i%d" % i: v for i, v in enumerate(inputs) if v is not None}
    known = {k: given.pop(k) for k, v in list(given.items())
             if op in ("Col2Im", "DFT", "Resize") and v.dtype == np.int64}
    save(name, [helper.make_node(op, names, outs, name, **attrs)], given, outs, known, opset=opset)


ai("center_crop_pad", "CenterCropPad", [rnd(5, 4, 3), np.array([3, 7], dtype=np.int64)], axes=[0, 1])
ai("center_crop_pad_odd", "CenterCropPad", [rnd(4, 5), np.array([7, 2], dtype=np.int64)])
x, scales = rnd(4, 6), np.abs(rnd(2, 6)) + np.float32(0.1)
ai("quantize_blocks", "QuantizeLinear", [x, scales, u8(2, 6) % 7], axis=0, block_size=2)
ai("dequantize_blocks", "DequantizeLinear", [u8(4, 6), scales], axis=0, block_size=2)
q4, k4 = rnd(1, 2, 3, 4), rnd(1, 2, 5, 4)
for name, ins, n_out, more in (
        ("attention23", [q4, k4, rnd(1, 2, 5, 4)], 1, {}),
        ("attention23_causal", [q4, k4, rnd(1, 2, 5, 4)], 1, dict(is_causal=1)),
        ("attention23_past", [q4, q4, q4, None, rnd(1, 2, 2, 4), rnd(1, 2, 2, 4)], 3, dict(is_causal=1)),
        ("attention23_mask", [q4, k4, rnd(1, 2, 5, 4), rnd(3, 5)], 1, dict(softcap=2.0)),
        ("attention23_heads", [rnd(1, 3, 8), rnd(1, 5, 4), rnd(1, 5, 4)], 1, dict(q_num_heads=2, kv_num_heads=1))):
    ai(name, "Attention", ins, n_out, 23, **more)

# -- quantised pools with channels last -------------------------------------------

img = u8(2, 5, 4, 3)
ms("qlinear_pool_last", "QLinearAveragePool", [img, sa, za, sy, zy], kernel_shape=[3, 2], strides=[2, 1],
   channels_last=1)
ms("qlinear_global_pool_last", "QLinearGlobalAveragePool", [img, sa, za, sy, zy], channels_last=1)

# -- experts ----------------------------------------------------------------------

x, router = rnd(2, 3, 16), rnd(6, 4)
fc1, b1, fc2, b2 = rnd(4, 8, 16), rnd(4, 8), rnd(4, 16, 8), rnd(4, 16)
for act in ("relu", "gelu", "silu", "identity"):
    ms("moe_" + act, "MoE", [x, router, fc1, b1, fc2, b2], weights=(2, 3, 4, 5), k=2, activation_type=act)
ms("moe_normalized", "MoE", [x, router, fc1, None, fc2], weights=(2, 4), k=3, normalize_routing_weights=1)
ms("moe_swiglu", "MoE", [x, router, rnd(4, 16, 16), rnd(4, 16), fc2, b2], weights=(2, 3, 4, 5), k=2,
   activation_type="swiglu", swiglu_fusion=1, normalize_routing_weights=1, activation_alpha=1.702,
   activation_beta=1.0, swiglu_limit=0.5)


def qmoe(name, bits, block, zero=False, **more):
    """Hidden and inner size 32, so that blocks of 16 divide both."""
    part, scale = 8 // bits, lambda *s: np.abs(rnd(*s)) * np.float32(0.1)
    size = lambda *s: s + (32 // block,) if block else s
    points = [u8(*size(4, n)[:-1], 32 // block // part) for n in (64, 32)] if zero else [None, None]
    ms(name, "QMoE", [rnd(5, 32), rnd(5, 4), u8(4, 64, 32 // part), scale(*size(4, 64)), rnd(4, 64),
                      u8(4, 32, 32 // part), scale(*size(4, 32)), rnd(4, 32), None, None, None] + points,
       weights=tuple(range(2, 14)), k=2, activation_type="swiglu", swiglu_fusion=1, expert_weight_bits=bits,
       normalize_routing_weights=1, **(dict(block_size=block) if block else {}), **more)


qmoe("qmoe_4", 4, 0)
qmoe("qmoe_8", 8, 0)
qmoe("qmoe_4_blocks", 4, 16)
qmoe("qmoe_4_zero", 4, 16, zero=True)

# -- more of com.microsoft ------------------------------------------------------------

ms("gather_blocks", "GatherBlockQuantized", [u8(6, 16), np.array([[1, 5], [0, 3]]), np.abs(rnd(6, 2))],
   weights=(0, 2), block_size=16, bits=4, gather_axis=0, quantize_axis=1)
ms("causal_conv", "CausalConvWithState", [rnd(2, 4, 7), rnd(4, 1, 3), rnd(4), rnd(2, 4, 2)], outs=2,
   weights=(1, 2), activation="silu")
ms("causal_conv_first", "CausalConvWithState", [rnd(2, 4, 7), rnd(4, 1, 3)], outs=2, weights=(1,))
ms("expand_dims", "ExpandDims", [rnd(2, 3), np.array(-1, dtype=np.int32)], weights=(1,))
ms("transpose_matmul", "TransposeMatMul", [rnd(3, 2), rnd(3, 4)], transA=1, alpha=0.5)
ms("trilu_lower", "Trilu", [rnd(3, 4)], upper=0)
ms("unfold_tensor", "UnfoldTensor", [rnd(2, 7)], dim=-1, size=3, step=2)
ms("pad_ms", "Pad", [rnd(2, 3), np.array([0, 1, 1, 0])], weights=(1,))
ms("gather_nd_ms", "GatherND", [rnd(2, 3, 4), np.array([[1, 2], [0, 0]])])
ai("tensor_scatter", "TensorScatter", [rnd(2, 3, 8, 4), rnd(2, 3, 2, 4), np.array([1, 6])], opset=24)
ai("tensor_scatter_circular", "TensorScatter", [rnd(2, 8, 4), rnd(2, 3, 4), np.array([7, 0])], opset=24, axis=1,
   mode="circular")
ai("bit_cast", "BitCast", [rnd(2, 3)], opset=26, to=TensorProto.INT32)
ai("col2im_5d", "Col2Im", [rnd(1, 10, 12), np.array([3, 4, 5]), np.array([1, 1, 5])], opset=18)
ai("irfft", "DFT", [rnd(1, 6, 2), None, np.array(1)], opset=20, inverse=1, onesided=1)
ai("resize_not_larger", "Resize", [rnd(1, 1, 5, 6), None, None, np.array([8, 7])], opset=18, axes=[2, 3],
   keep_aspect_ratio_policy="not_larger", mode="linear")
ai("resize_not_smaller", "Resize", [rnd(1, 1, 5, 6), None, None, np.array([8, 7])], opset=18, axes=[2, 3],
   keep_aspect_ratio_policy="not_smaller")
save("filled_weight", [
    helper.make_node("ConstantOfShape", ["shape"], ["w"], value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.25])),
    helper.make_node("Conv", ["x", "w"], ["y"])], {"x": rnd(1, 8, 6, 6)}, ["y"], {"shape": np.array([8, 8, 3, 3])})

cases.write()

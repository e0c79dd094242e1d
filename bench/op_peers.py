"""Single operators of usual sizes: cleave against ONNX Runtime, one thread each.

Networks hide what few of them have; here every operator stands alone, so that a
kernel which is slow shows. Both run in this process and take turns; what counts
is the median of processor time, so that other work on the machine matters little.
There is no bound: the worst are printed, and docs/run.md says which are known.
Outputs are compared too, and one that differs is named. Cases of the first set
are those that kernels were tuned with; `wide` are forms and types around them.

    bench/run op_peers              all, with the distribution of both sets
    bench/op_peers.py [NAME...]     those whose name contains one of these
    CLEAVE_OPS=tsv                  every case as a line: set, name, ratio, ms, ms
"""
import ctypes
import os
import statistics
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper as h, numpy_helper as nh

BUILD = os.environ.get("CLEAVE_BUILD", "build")
WORST = 40
TURNS = 5        # each side's, alternating
TURN = 0.02      # seconds of processor time in a turn, at most
NEAR = 1e-3      # of the largest number of an output
rng = np.random.default_rng(0)


def f(*shape):
    return rng.standard_normal(shape).astype(np.float32)


C = {}


def case(name, op, feeds, consts={}, n_out=1, domain="", opset=17, **attrs):
    C[name] = (op, feeds, consts, n_out, domain, opset, attrs)


x4 = f(1, 64, 112, 112)
case("conv_fp16", "Conv", {"x": f(1, 64, 56, 56).astype(np.float16)}, {"w": f(64, 64, 3, 3).astype(np.float16)},
     pads=[1] * 4)
case("matmul_fp16", "MatMul", {"x": f(128, 768).astype(np.float16)}, {"w": f(768, 768).astype(np.float16)})
case("gemm_fp64", "MatMul", {"x": f(128, 256).astype(np.float64)}, {"w": f(256, 256).astype(np.float64)})
case("conv3d", "Conv", {"x": f(1, 16, 16, 56, 56)}, {"w": f(16, 16, 3, 3, 3)}, pads=[1] * 6)
case("conv_dil", "Conv", {"x": f(1, 64, 56, 56)}, {"w": f(64, 64, 3, 3)}, pads=[2] * 4, dilations=[2, 2])
case("conv_group", "Conv", {"x": f(1, 64, 56, 56)}, {"w": f(64, 8, 3, 3)}, pads=[1] * 4, group=8)
case("conv1d", "Conv", {"x": f(1, 256, 1000)}, {"w": f(256, 256, 3)}, pads=[1] * 2)
case("convt", "ConvTranspose", {"x": f(1, 64, 56, 56)}, {"w": f(64, 32, 4, 4)}, strides=[2, 2], pads=[1] * 4)
case("convt1d", "ConvTranspose", {"x": f(1, 256, 500)}, {"w": f(256, 128, 16)}, strides=[8], pads=[4] * 2)
case("dw5", "Conv", {"x": f(1, 128, 56, 56)}, {"w": f(128, 1, 5, 5)}, pads=[2] * 4, group=128)
case("einsum_bhqk", "Einsum", {"a": f(8, 12, 128, 64), "b": f(8, 12, 128, 64)}, equation="bhqd,bhkd->bhqk")
case("einsum_odd", "Einsum", {"a": f(16, 32, 64), "b": f(32, 64, 48)}, equation="bij,ijk->bk")
case("softmax_axis1", "Softmax", {"x": x4}, axis=1)
case("softmax_last", "Softmax", {"x": f(12, 128, 512)}, axis=-1)
case("logsoftmax", "LogSoftmax", {"x": f(128, 30000)}, axis=-1)
case("layernorm", "LayerNormalization", {"x": f(128, 768)}, {"s": f(768), "b": f(768)})
case("instancenorm", "InstanceNormalization", {"x": x4}, {"s": f(64), "b": f(64)})
case("groupnorm", "GroupNormalization", {"x": x4}, {"s": f(64), "b": f(64)}, opset=21, num_groups=8)
case("bn", "BatchNormalization", {"x": x4}, {"s": f(64), "b": f(64), "m": f(64), "v": abs(f(64))})
case("lrn", "LRN", {"x": f(1, 64, 56, 56)}, size=5)
case("maxpool", "MaxPool", {"x": x4}, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
case("avgpool", "AveragePool", {"x": x4}, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
case("maxpool3d", "MaxPool", {"x": f(1, 16, 16, 56, 56)}, kernel_shape=[2, 2, 2], strides=[2, 2, 2])
case("lppool", "LpPool", {"x": f(1, 64, 56, 56)}, kernel_shape=[3, 3])
for op in "Relu Sigmoid Tanh Erf Exp Log Sqrt Sin Cos Gelu HardSwish Softplus Mish Elu Selu Abs Neg Floor Round Sign Reciprocal LeakyRelu Softsign HardSigmoid Celu Atan Sinh".split():
    case(op, op, {"x": x4}, opset=20 if op in ("Gelu",) else 18)
case("pow2", "Pow", {"x": abs(x4)}, {"p": np.array(2.5, np.float32)})
for op in "Add Mul Sub Div Max Min".split():
    case(op + "_bc", op, {"x": x4, "y": f(1, 64, 1, 1)})
case("add_i64", "Add", {"x": rng.integers(0, 9, (64, 10000)), "y": rng.integers(0, 9, (64, 10000))})
case("mod_i64", "Mod", {"x": rng.integers(0, 99, (64, 10000)), "y": rng.integers(1, 9, (64, 10000))})
case("where", "Where", {"c": rng.random((1, 64, 112, 112)) > 0.5, "x": x4, "y": f(1, 64, 1, 1)})
case("equal", "Equal", {"x": x4, "y": x4})
case("greater", "Greater", {"x": x4, "y": f(1, 64, 1, 1)})
case("cast_f16", "Cast", {"x": x4}, to=10)
case("cast_i64", "Cast", {"x": x4}, to=7)
case("cast_bool", "Cast", {"x": x4}, to=9)
case("clip", "Clip", {"x": x4}, {"a": np.array(-1, np.float32), "b": np.array(1, np.float32)})
case("prelu", "PRelu", {"x": x4}, {"s": f(64, 1, 1)})
case("transpose_0231", "Transpose", {"x": x4}, perm=[0, 2, 3, 1])
case("transpose_0213", "Transpose", {"x": f(8, 128, 12, 64)}, perm=[0, 2, 1, 3])
case("transpose_6d", "Transpose", {"x": f(1, 8, 7, 8, 7, 96)}, perm=[0, 1, 3, 2, 4, 5])
case("transpose_last2", "Transpose", {"x": f(96, 128, 64)}, perm=[0, 2, 1])
case("concat_1", "Concat", {"x": x4, "y": x4}, axis=1)
case("concat_last", "Concat", {"x": f(1, 112, 112, 32), "y": f(1, 112, 112, 32)}, axis=3)
case("split", "Split", {"x": x4}, {}, 2, axis=1, num_outputs=2, opset=18)
case("slice_step", "Slice", {"x": x4}, {"s": np.array([0, 0]), "e": np.array([112, 112]), "a": np.array([2, 3]), "t":
     np.array([2, 2])})
case("slice_neg", "Slice", {"x": x4}, {"s": np.array([111]), "e": np.array([-200]), "a": np.array([3]), "t":
     np.array([-1])})
C["gather_emb"] = ("Gather", {"i": rng.integers(0, 30000, (8, 128))}, {"w": f(30000, 256)}, 1, "", 17, {})
case("gather_axis", "Gather", {"x": x4}, {"i": rng.integers(0, 112, (56,))}, axis=3)
case("gathernd", "GatherND", {"x": f(64, 100, 32)}, {"i": rng.integers(0, 60, (5000, 2))})
case("gatherel", "GatherElements", {"x": f(1000, 512)}, {"i": rng.integers(0, 512, (1000, 512))}, axis=1)
case("scatternd", "ScatterND", {"x": f(1000, 64)}, {"i": rng.integers(0, 1000, (500, 1)), "u": f(500, 64)})
case("scatterel", "ScatterElements", {"x": f(1000, 512)}, {"i": rng.integers(0, 512, (1000, 64)), "u": f(1000, 64)},
     axis=1, opset=18)
case("expand", "Expand", {"x": f(1, 64, 1, 112)}, {"s": np.array([1, 64, 112, 112])})
case("tile", "Tile", {"x": f(1, 64, 56, 56)}, {"r": np.array([1, 1, 2, 2])})
case("pad_const", "Pad", {"x": x4}, {"p": np.array([0, 0, 1, 1, 0, 0, 1, 1])})
case("pad_reflect", "Pad", {"x": x4}, {"p": np.array([0, 0, 3, 3, 0, 0, 3, 3])}, mode="reflect")
for m in ("nearest", "linear", "cubic"):
    C["resize_" + m] = ("Resize", {"x": f(1, 64, 56, 56)}, {"r": np.zeros(0, np.float32), "s": np.array([1, 1, 2, 2], np.float32)}, 1, "", 17, {"mode": m})
case("resize_down", "Resize", {"x": x4}, {"r": np.zeros(0, np.float32), "s": np.array([1, 1, 0.5, 0.5], np.float32)},
     mode="linear")
case("gridsample", "GridSample", {"x": f(1, 64, 56, 56), "g": rng.uniform(-1, 1, (1, 56, 56, 2)).astype(np.float32)},
     opset=20 if 0 else 16)
case("roialign", "RoiAlign", {"x": f(1, 64, 56, 56)}, {"r": np.array([[0, 0, 30, 30]] * 50, np.float32), "b":
     np.zeros(50, np.int64)}, output_height=7, output_width=7, sampling_ratio=2, opset=16)
case("nms", "NonMaxSuppression", {"b": rng.random((1, 2000, 4)).astype(np.float32), "s": rng.random((1, 10,
     2000)).astype(np.float32)}, {"m": np.array([100]), "i": np.array([0.5], np.float32), "t": np.array([0.1],
     np.float32)})
case("topk", "TopK", {"x": f(100, 10000)}, {"k": np.array([10])}, 2)
case("topk_big", "TopK", {"x": f(1, 200000)}, {"k": np.array([1000])}, 2)
case("argmax", "ArgMax", {"x": x4}, axis=1)
case("argmax_last", "ArgMax", {"x": f(128, 30000)}, axis=1)
case("cumsum", "CumSum", {"x": f(64, 20000)}, {"a": np.array(1)})
case("reduce_mean_hw", "ReduceMean", {"x": x4}, axes=[2, 3])
case("reduce_mean_c", "ReduceMean", {"x": x4}, axes=[1])
case("reduce_sum_mid", "ReduceSum", {"x": f(64, 128, 256)}, {"a": np.array([1])})
case("reduce_max_all", "ReduceMax", {"x": x4})
case("reduce_l2", "ReduceL2", {"x": f(128, 30000)}, axes=[1])
case("reduce_prod", "ReduceProd", {"x": f(128, 3000)}, axes=[1])
case("logsumexp", "ReduceLogSumExp", {"x": f(128, 30000)}, axes=[1])
case("onehot", "OneHot", {"i": rng.integers(0, 1000, (2000,))}, {"d": np.array(1000), "v": np.array([0, 1],
     np.float32)})
case("nonzero", "NonZero", {"x": rng.random((1000, 1000)) > 0.9})
case("trilu", "Trilu", {"x": f(16, 512, 512)})
case("d2s", "DepthToSpace", {"x": x4}, blocksize=2)
case("s2d", "SpaceToDepth", {"x": x4}, blocksize=2)
case("lstm", "LSTM", {"x": f(50, 4, 128)}, {"w": f(1, 512, 128) / 11, "r": f(1, 512, 128) / 11, "b": f(1, 1024) / 11}, 3,
     hidden_size=128)
case("gru", "GRU", {"x": f(50, 4, 128)}, {"w": f(1, 384, 128) / 11, "r": f(1, 384, 128) / 11, "b": f(1, 768) / 11}, 2,
     hidden_size=128)
case("dft", "DFT", {"x": f(16, 1024, 1)}, opset=17, axis=1)
case("stft", "STFT", {"s": f(1, 16000)}, {"st": np.array(160), "w": np.hanning(512).astype(np.float32)}, opset=17)
case("stft_np2", "STFT", {"s": f(1, 16000)}, {"st": np.array(160), "w": np.hanning(400).astype(np.float32)}, opset=17)
case("matmul_batch", "MatMul", {"a": f(96, 128, 64), "b": f(96, 64, 128)})
case("matmul_vec", "MatMul", {"x": f(1, 1, 4096)}, {"w": f(4096, 4096)})
case("matmul_tall", "MatMul", {"x": f(4096, 16)}, {"w": f(16, 16)})
case("gemm_b", "Gemm", {"x": f(64, 1024)}, {"w": f(1000, 1024), "b": f(1000)}, transB=1)
case("qlinear", "QLinearMatMul", {"x": rng.integers(0, 255, (128, 768), dtype=np.uint8)}, {"xs": np.array(0.02,
     np.float32), "xz": np.array(128, np.uint8), "w": rng.integers(-127, 127, (768, 768), dtype=np.int8), "ws":
     np.array(0.01, np.float32), "wz": np.array(0, np.int8), "ys": np.array(0.1, np.float32), "yz": np.array(128,
     np.uint8)})
case("matmulint", "MatMulInteger", {"x": rng.integers(0, 255, (128, 768), dtype=np.uint8)}, {"w": rng.integers(-127,
     127, (768, 768), dtype=np.int8)})
case("dql", "DynamicQuantizeLinear", {"x": x4}, {}, 3)
case("ql", "QuantizeLinear", {"x": x4}, {"s": np.array(0.02, np.float32), "z": np.array(128, np.uint8)})
case("dq", "DequantizeLinear", {"x": rng.integers(0, 255, (1, 64, 112, 112), dtype=np.uint8)}, {"s": np.array(0.02,
     np.float32), "z": np.array(128, np.uint8)})
case("gqa", "GroupQueryAttention", {"q": f(1, 1, 2048), "k": f(1, 1, 512), "v": f(1, 1, 512), "pk": f(1, 8, 1023, 64),
     "pv": f(1, 8, 1023, 64)}, {"sl": np.array([1023], np.int32), "tl": np.array(1024, np.int32)}, 3,
     domain="com.microsoft", num_heads=32, kv_num_heads=8)
case("mha", "MultiHeadAttention", {"q": f(1, 128, 768), "k": f(1, 128, 768), "v": f(1, 128, 768)}, {},
     domain="com.microsoft", num_heads=12)
case("rotary", "RotaryEmbedding", {"x": f(1, 128, 2048)}, {"p": np.arange(128)[None], "c": f(1024, 32), "s": f(1024,
     32)}, domain="com.microsoft", num_heads=32)
case("skipln", "SkipLayerNormalization", {"x": f(1, 128, 768), "s": f(1, 128, 768)}, {"g": f(768), "b": f(768)},
     domain="com.microsoft")
case("biasgelu", "BiasGelu", {"x": f(1, 128, 3072)}, {"b": f(3072)}, domain="com.microsoft")
case("fastgelu", "FastGelu", {"x": f(1, 128, 3072)}, {"b": f(3072)}, domain="com.microsoft")


# -- what was not tuned with: every type and form around them ------------------

TUNED = set(C)
F16, F64, I64, I32, I8, U8 = np.float16, np.float64, np.int64, np.int32, np.int8, np.uint8
SHORT = {np.float32: "f32", F16: "f16", F64: "f64", I64: "i64", I32: "i32", I8: "i8", U8: "u8", bool: "bool",
         np.int16: "i16", np.uint16: "u16", np.uint32: "u32"}
v32 = lambda *v: np.array(v, np.float32)
i64 = lambda *v: np.array(v, I64)


def of(t, *shape):
    """Numbers of type t, of which integers are small and positive."""
    if t is bool:
        return rng.random(shape) > 0.5
    return f(*shape).astype(t) if np.issubdtype(t, np.floating) else rng.integers(1, 99, shape).astype(t)


def typed(name, op, types, feeds, consts={}, n_out=1, **attrs):
    for t in types:
        case(f"{name}_{SHORT[t]}", op, feeds(t), consts(t) if callable(consts) else consts, n_out, **attrs)


FLOATS, NUMBERS = (F16, F64), (F16, F64, I64, I32, I8, U8)
small = (1, 64, 56, 56)
for op in "Relu Sigmoid Tanh Exp Log Sqrt Abs Neg Floor Ceil Round Reciprocal Erf Sign Softplus Sin Cos LeakyRelu Elu HardSigmoid".split():
    typed(op, op, FLOATS, lambda t: {"x": abs(of(t, *small))}, opset=18)
for op in "Abs Neg Sign Relu".split():
    typed(op, op, (I64, I32, I8), lambda t: {"x": of(t, *small)}, opset=18)
for op in "Tan Asin Acos Cosh Asinh Acosh Atanh ThresholdedRelu Shrink Softmin Ceil HardSwish".split():
    if op != "Softmin":
        x = f(*small)
        case(op, op, {"x": np.tanh(x) if op in ("Asin", "Acos", "Atanh") else abs(x) + 1 if op == "Acosh" else x}, opset=18)
for op in "IsNaN IsInf".split():
    case(op, op, {"x": f(*small)}, opset=18)
case("Not", "Not", {"x": of(bool, *small)})
for op in "BitwiseAnd BitwiseOr BitwiseXor".split():
    typed(op, op, (I32, U8), lambda t: {"x": of(t, *small), "y": of(t, *small)}, opset=18)
case("BitwiseNot_i32", "BitwiseNot", {"x": of(I32, *small)}, opset=18)
case("BitShift_u8", "BitShift", {"x": of(U8, *small), "y": of(U8, *small) % 4}, direction="LEFT")
for op in "Add Sub Mul Div Max Min".split():
    typed(op, op, NUMBERS, lambda t: {"x": of(t, *small), "y": of(t, *small)}, opset=18)
    typed(op + "_row", op, (np.float32, F16, I64), lambda t: {"x": of(t, 8, 128, 768), "y": of(t, 768)})
    case(op + "_scalar", op, {"x": f(*small)}, {"y": v32(3)[0]})
case("Add_two_ways", "Add", {"x": f(512, 1), "y": f(1, 512)})
for op in "And Or Xor".split():
    case(op, op, {"x": of(bool, *small), "y": of(bool, *small)})
for op in "Equal Greater Less GreaterOrEqual LessOrEqual".split():
    typed(op, op, (F16, F64, I64, I32) if op != "Equal" else (F64, I64, I32, bool),
          lambda t: {"x": of(t, *small), "y": of(t, *small)}, opset=16)
typed("Mod", "Mod", (I32, U8), lambda t: {"x": of(t, *small), "y": of(t, *small)})
case("fmod", "Mod", {"x": f(*small), "y": f(*small)}, fmod=1)
for p in (2, 3, 0.5, -1):
    case(f"Pow_{p}", "Pow", {"x": abs(f(*small))}, {"p": v32(p)[0]})
case("Pow_tensor", "Pow", {"x": abs(f(*small)), "p": f(*small)})
typed("Pow_2", "Pow", (F64, I64, I32), lambda t: {"x": of(t, *small)}, lambda t: {"p": np.array(2, t)})
typed("Where", "Where", NUMBERS[:3] + (I32, U8), lambda t: {"c": of(bool, *small), "x": of(t, *small), "y": of(t, *small)})
case("Where_mask", "Where", {"c": of(bool, 1, 1, 128, 128), "x": f(8, 12, 128, 128)}, {"y": v32(-1e9)[0]})
typed("Clip", "Clip", NUMBERS, lambda t: {"x": of(t, *small)}, lambda t: {"a": np.array(0, t), "b": np.array(50, t)})
for n in ("Sum", "Mean", "Max", "Min"):
    case(n + "_3", n, {"x": f(*small), "y": f(*small), "z": f(*small)})
CAST = {np.float32: 1, F16: 10, F64: 11, I64: 7, I32: 6, I8: 3, U8: 2, bool: 9}
for a in CAST:
    for b in CAST:
        if a is not b:
            case(f"Cast_{SHORT[a]}_{SHORT[b]}", "Cast", {"x": of(a, *small)}, to=CAST[b])

# moving
for op, feeds, consts, attrs in (
        ("Transpose", lambda t: {"x": of(t, 8, 128, 12, 64)}, {}, {"perm": [0, 2, 1, 3]}),
        ("Concat", lambda t: {"x": of(t, *small), "y": of(t, *small)}, {}, {"axis": 1}),
        ("Slice", lambda t: {"x": of(t, *small)}, {"s": i64(1, 1), "e": i64(50, 50), "a": i64(2, 3)}, {}),
        ("Expand", lambda t: {"x": of(t, 1, 64, 1, 112)}, {"s": i64(1, 64, 112, 112)}, {}),
        ("Tile", lambda t: {"x": of(t, *small)}, {"r": i64(1, 1, 2, 2)}, {}),
        ("Pad", lambda t: {"x": of(t, *small)}, {"p": i64(0, 0, 1, 1, 0, 0, 1, 1)}, {}),
        ("Trilu", lambda t: {"x": of(t, 16, 256, 256)}, {}, {}),
        ("Gather", lambda t: {"x": of(t, 1000, 256)}, {"i": rng.integers(0, 1000, (8, 128))}, {}),
        ("GatherElements", lambda t: {"x": of(t, 500, 512)}, {"i": rng.integers(0, 512, (500, 256))}, {"axis": 1}),
        ("GatherND", lambda t: {"x": of(t, 64, 100, 32)}, {"i": rng.integers(0, 60, (5000, 2))}, {}),
        ("ScatterND", lambda t: {"x": of(t, 1000, 64), "i": rng.integers(0, 1000, (500, 1)), "u": of(t, 500, 64)}, {}, {}),
        ("ScatterElements", lambda t: {"x": of(t, 1000, 256), "i": rng.integers(0, 256, (1000, 64)), "u": of(t, 1000, 64)}, {}, {"axis": 1}),
        ("CumSum", lambda t: {"x": of(t, 64, 4000)}, {"a": np.array(1)}, {}),
        ("TopK", lambda t: {"x": of(t, 50, 5000)}, {"k": i64(10)}, {}),
        ("ArgMax", lambda t: {"x": of(t, 1, 64, 112, 112)}, {}, {"axis": 1}),
        ("NonZero", lambda t: {"x": of(t, 500, 500)}, {}, {}),
        ("Unique", lambda t: {"x": of(t, 50000)}, {}, {}),
        ("OneHot", lambda t: {"i": rng.integers(0, 1000, (500,))}, None, {}),
        ("DepthToSpace", lambda t: {"x": of(t, *small)}, {}, {"blocksize": 2}),
        ("Compress", lambda t: {"x": of(t, 1000, 256), "c": of(bool, 1000)}, {}, {"axis": 0}),
        ("ReverseSequence", lambda t: {"x": of(t, 50, 8, 256), "l": i64(*range(43, 51))}, {}, {})):
    types = {"CumSum": (F64, I64, I32), "TopK": (F16, F64, I64, I32), "ArgMax": (F16, F64, I32, U8), "Trilu": (F64, I64, bool),
             "DepthToSpace": (F16, F64, U8), "NonZero": (np.float32, I64, I32, U8),
             "Unique": (np.float32, F64, I64), "ReverseSequence": (np.float32, F64, I64), "Compress": (np.float32, I64),
             "Pad": (F16, F64, I64, I32, U8, bool)}.get(op, (F16, F64, I64, I32, U8, bool))
    if op == "OneHot":
        typed(op, op, (F16, I64, I32), feeds, lambda t: {"d": np.array(1000), "v": np.array([0, 1], t)})
    else:
        typed(op, op, types, feeds, consts, 2 if op == "TopK" else 1, opset=17, **attrs)
case("onehot_axis0", "OneHot", {"i": rng.integers(0, 100, (64, 50))}, {"d": np.array(100), "v": v32(0, 1)}, axis=0)
for r in ("add", "mul", "max", "min"):
    case("ScatterElements_" + r, "ScatterElements", {"x": f(1000, 256), "i": rng.integers(0, 256, (1000, 64)), "u": f(1000, 64)},
         opset=18, axis=1, reduction=r)
    case("ScatterND_" + r, "ScatterND", {"x": f(1000, 64), "i": rng.integers(0, 1000, (500, 1)), "u": f(500, 64)}, opset=18,
         reduction=r)
case("GatherND_points", "GatherND", {"x": f(64, 100, 32)}, {"i": rng.integers(0, 30, (20000, 3))})
case("GatherND_batch", "GatherND", {"x": f(8, 100, 64)}, {"i": rng.integers(0, 100, (8, 50, 1))}, batch_dims=1)
case("Gather_axis1", "Gather", {"x": f(8, 1000, 64)}, {"i": rng.integers(0, 1000, (300,))}, axis=1)
case("GatherElements_axis0", "GatherElements", {"x": f(1000, 512)}, {"i": rng.integers(0, 1000, (300, 512))}, axis=0)
for m in ("edge", "reflect", "wrap"):
    case("Pad_" + m, "Pad", {"x": f(*small)}, {"p": i64(0, 0, 2, 2, 0, 0, 2, 2)}, mode=m, opset=19)
case("Pad_1d", "Pad", {"x": f(1, 256, 4000)}, {"p": i64(0, 0, 3, 0, 0, 3)})
case("Pad_channels", "Pad", {"x": f(*small)}, {"p": i64(0, 8, 0, 0, 0, 8, 0, 0)})
case("Split_last", "Split", {"x": f(8, 128, 2304)}, {}, 3, axis=2, num_outputs=3, opset=18)
case("Split_sizes", "Split", {"x": f(*small)}, {"s": i64(16, 48)}, 2, axis=1)
case("CumSum_axis0", "CumSum", {"x": f(2000, 64)}, {"a": np.array(0)})
case("CumSum_reverse", "CumSum", {"x": f(64, 4000)}, {"a": np.array(1)}, reverse=1, exclusive=1)
case("TopK_axis1", "TopK", {"x": f(8, 1000, 49)}, {"k": i64(5)}, 2, axis=1)
case("TopK_small", "TopK", {"x": f(50, 5000)}, {"k": i64(10)}, 2, largest=0)
case("TopK_unsorted", "TopK", {"x": f(8, 8400)}, {"k": i64(300)}, 2, sorted=0)
case("TopK_all", "TopK", {"x": f(8, 2000)}, {"k": i64(2000)}, 2)
case("TopK_1", "TopK", {"x": f(128, 3000)}, {"k": i64(1)}, 2)
for op in ("ArgMax", "ArgMin"):
    case(op + "_axis0", op, {"x": f(64, 20000)}, axis=0)
    case(op + "_lastindex", op, {"x": f(128, 3000)}, axis=1, select_last_index=1)
case("EyeLike", "EyeLike", {"x": f(512, 512)})
case("Range", "Range", {"a": np.array(0), "b": np.array(100000), "c": np.array(1)})
case("Hardmax", "Hardmax", {"x": f(128, 3000)}, axis=1)
case("Det", "Det", {"x": f(64, 16, 16)})
case("s2d_f16", "SpaceToDepth", {"x": of(F16, *small)}, blocksize=2)
case("d2s_crd", "DepthToSpace", {"x": f(*small)}, blocksize=2, mode="CRD")
for p in ((1, 0), (0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (0, 1, 3, 2), (2, 0, 1)):
    case("Transpose_" + "".join(map(str, p)), "Transpose", {"x": f(*((700, 900), (96, 64, 128), (4, 64, 56, 56))[len(p) - 2])}, perm=p)

# over axes
for op in "ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp".split():
    for where, shape, axes in (("all", small, None), ("last", (128, 12, 512), [-1]), ("first", (256, 3000), [0]),
                               ("mid", (16, 128, 256), [1]), ("outer", (16, 64, 14, 14), [0, 2, 3])):
        x = f(*shape)
        x = abs(x) + 0.1 if op == "ReduceLogSum" else np.exp(x * 0.001) if op == "ReduceProd" else x
        case(f"{op}_{where}", op, {"x": x.astype(np.float32)}, {} if axes is None else {"a": i64(*axes)}, opset=18)
    typed(op + "_last", op, (F16, F64, I64, I32) if op not in ("ReduceLogSum", "ReduceLogSumExp") else (F64,),
          lambda t: {"x": abs(of(t, 512, 512)) + t(1) if op != "ReduceProd" else np.ones((512, 512), t)}, {"a": i64(1)}, opset=18)
    if op in ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin"):
        typed(op + "_first", op, (F64, I64, I32), lambda t: {"x": of(t, 256, 1000)}, {"a": i64(0)}, opset=18)
typed("ReduceMax_last", "ReduceMax", (I8, U8), lambda t: {"x": of(t, 512, 512)}, {"a": i64(1)}, opset=18)
for shape, axis in (((128, 1000), 1), ((8, 12, 128, 128), -1), ((1, 21, 128, 128), 1), ((4096, 2), 1), ((12, 49, 49), -1)):
    for op in ("Softmax", "LogSoftmax"):
        case(f"{op}_{'x'.join(map(str, shape))}", op, {"x": f(*shape)}, axis=axis)
typed("Softmax", "Softmax", FLOATS, lambda t: {"x": of(t, 256, 1000)}, axis=-1)
typed("LayerNormalization", "LayerNormalization", FLOATS, lambda t: {"x": of(t, 128, 768)}, lambda t: {"s": of(t, 768), "b": of(t, 768)})
case("LayerNormalization_nobias", "LayerNormalization", {"x": f(8, 64, 384)}, {"s": f(384)}, axis=-1)
case("LayerNormalization_2", "LayerNormalization", {"x": f(8, 64, 384)}, {"s": f(64, 384), "b": f(64, 384)}, axis=1)
case("RMSNormalization", "RMSNormalization", {"x": f(128, 2048)}, {"s": f(2048)}, opset=23)
case("InstanceNorm_1d", "InstanceNormalization", {"x": f(8, 64, 1000)}, {"s": f(64), "b": f(64)})
typed("BatchNormalization", "BatchNormalization", FLOATS, lambda t: {"x": of(t, *small)},
      lambda t: {"s": of(t, 64), "b": of(t, 64), "m": of(t, 64), "v": abs(of(t, 64))})
case("MeanVarianceNormalization", "MeanVarianceNormalization", {"x": f(4, 64, 56, 56)})
case("LpNormalization", "LpNormalization", {"x": f(128, 768)}, axis=-1)
case("LRN_13", "LRN", {"x": f(1, 96, 27, 27)}, size=5, alpha=1e-4, beta=0.75)

# convolutions and products
for name, x, w, attrs in (
        ("1x1", (1, 256, 28, 28), (128, 256, 1, 1), {}), ("7x7s2", (1, 3, 224, 224), (64, 3, 7, 7), {"strides": [2, 2], "pads": [3] * 4}),
        ("3x3s2", (1, 64, 56, 56), (128, 64, 3, 3), {"strides": [2, 2], "pads": [1] * 4}),
        ("small", (1, 16, 7, 7), (16, 16, 3, 3), {"pads": [1] * 4}), ("1x3", (1, 64, 28, 28), (64, 64, 1, 3), {"pads": [0, 1, 0, 1]}),
        ("dw3", (1, 96, 56, 56), (96, 1, 3, 3), {"pads": [1] * 4, "group": 96}), ("dw3s2", (1, 96, 56, 56), (96, 1, 3, 3), {"pads": [1] * 4, "group": 96, "strides": [2, 2]}),
        ("dw7", (1, 96, 28, 28), (96, 1, 7, 7), {"pads": [3] * 4, "group": 96}), ("dw9", (1, 64, 28, 28), (64, 1, 9, 9), {"pads": [4] * 4, "group": 64}),
        ("dw_mult2", (1, 32, 56, 56), (64, 1, 3, 3), {"pads": [1] * 4, "group": 32}), ("dw_dil", (1, 64, 56, 56), (64, 1, 3, 3), {"pads": [2] * 4, "dilations": [2, 2], "group": 64}),
        ("patch16", (1, 3, 224, 224), (192, 3, 16, 16), {"strides": [16, 16]}), ("1ch", (1, 1, 112, 112), (8, 1, 5, 5), {"pads": [2] * 4}),
        ("1d_dw", (1, 256, 500), (256, 1, 31), {"pads": [15, 15], "group": 256}), ("1d_dil", (1, 64, 2000), (64, 64, 3), {"pads": [4, 4], "dilations": [4]}),
        ("1d_s5", (1, 1, 16000), (256, 1, 10), {"strides": [5]}), ("3d_s2", (1, 3, 16, 56, 56), (32, 3, 3, 7, 7), {"strides": [1, 2, 2], "pads": [1, 3, 3, 1, 3, 3]}),
        ("3d_dw", (1, 32, 8, 28, 28), (32, 1, 3, 3, 3), {"pads": [1] * 6, "group": 32}), ("batch8", (8, 32, 28, 28), (32, 32, 3, 3), {"pads": [1] * 4})):
    case("Conv_" + name, "Conv", {"x": f(*x)}, {"w": f(*w), "b": f(w[0])}, **attrs)
typed("Conv", "Conv", (F16,), lambda t: {"x": of(t, 1, 32, 28, 28)}, lambda t: {"w": of(t, 32, 32, 1, 1)})
for name, x, w, attrs in (("2x2", (1, 128, 28, 28), (128, 64, 2, 2), {"strides": [2, 2]}), ("3x3", (1, 32, 28, 28), (32, 32, 3, 3), {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1]}),
                          ("group", (1, 32, 28, 28), (32, 8, 4, 4), {"strides": [2, 2], "pads": [1] * 4, "group": 4}), ("dw", (1, 64, 28, 28), (64, 1, 4, 4), {"strides": [2, 2], "pads": [1] * 4, "group": 64}),
                          ("3d", (1, 16, 8, 14, 14), (16, 8, 2, 2, 2), {"strides": [2, 2, 2]})):
    case("ConvT_" + name, "ConvTranspose", {"x": f(*x)}, {"w": f(*w)}, **attrs)
for name, a, b in (("square", (512, 512), (512, 512)), ("row", (1, 768), (768, 3072)), ("rows4", (4, 768), (768, 768)), ("head", (12, 64, 64), (12, 64, 64)),
                   ("tall", (10000, 8), (8, 4)), ("dot", (1, 10000), (10000, 1)), ("thin", (256, 256), (256, 1)), ("outer", (512, 1), (1, 512)), ("many", (1024, 16, 16), (1024, 16, 16)),
                   ("attend1", (32, 1, 64), (32, 64, 512)), ("batch_vec", (64, 100, 64), (64, 64, 1))):
    case("MatMul_" + name, "MatMul", {"a": f(*a), "b": f(*b)})
    case("MatMul_const_" + name, "MatMul", {"a": f(*a)}, {"b": f(*b)})
typed("MatMul", "MatMul", (F64, I32, I64), lambda t: {"a": of(t, 64, 128), "b": of(t, 128, 96)})
typed("MatMul_batch", "MatMul", (F64,), lambda t: {"a": of(t, 12, 64, 64), "b": of(t, 12, 64, 64)})
typed("MatMul_row", "MatMul", (F64,), lambda t: {"a": of(t, 1, 512)}, lambda t: {"b": of(t, 512, 512)})
for ta, tb in ((0, 0), (1, 0), (0, 1), (1, 1)):
    a, b = ((128, 256), (256, 128))[ta], ((256, 192), (192, 256))[tb]
    case(f"Gemm_{ta}{tb}", "Gemm", {"x": f(*a)}, {"w": f(*b), "b": f(192)}, transA=ta, transB=tb, alpha=0.5, beta=2.0)
    typed(f"Gemm_{ta}{tb}", "Gemm", (F64,), lambda t: {"x": of(t, *a)}, lambda t: {"w": of(t, *b), "b": of(t, 192)}, transA=ta, transB=tb)
for name, eq, a, b in (("mm", "ij,jk->ik", (128, 256), (256, 128)), ("bmm", "bij,bjk->bik", (8, 64, 64), (8, 64, 64)), ("bhdk", "bhqk,bkhd->bqhd", (2, 8, 64, 64), (2, 64, 8, 32)),
                       ("nchw", "nchw,kc->nkhw", (1, 64, 28, 28), (32, 64)), ("dot", "bi,bi->b", (1000, 64), (1000, 64)), ("outer", "i,j->ij", (500,), (500,)), ("rel", "bhwc,hkc->bhwk", (16, 14, 14, 64), (14, 14, 64))):
    case("Einsum_" + name, "Einsum", {"a": f(*a), "b": f(*b)}, equation=eq)
case("Einsum_sum", "Einsum", {"a": f(64, 64, 64)}, equation="ijk->ik")
case("Einsum_turn", "Einsum", {"a": f(64, 64, 64)}, equation="ijk->kji")
case("Einsum_diag", "Einsum", {"a": f(500, 500)}, equation="ii->i")

# windows
for op in ("MaxPool", "AveragePool", "LpPool"):
    for name, x, k in (("1d", (1, 64, 4000), [3]), ("2x2", small, [2, 2]), ("3x3s1", (1, 64, 28, 28), [3, 3]), ("5x5", (1, 64, 20, 20), [5, 5]),
                       ("3d", (1, 16, 8, 28, 28), [3, 3, 3])):
        s = [1] * len(k) if name in ("3x3s1", "5x5") else [2] * len(k)
        case(f"{op}_{name}", op, {"x": f(*x)}, opset=19 if op != "LpPool" else 18, kernel_shape=k, strides=s, pads=[n // 2 for n in k] * 2)
    case(op + "_ceil", op, {"x": f(1, 64, 55, 55)}, opset=19 if op != "LpPool" else 18, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
case("AveragePool_count", "AveragePool", {"x": f(*small)}, kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1)
case("AveragePool_7", "AveragePool", {"x": f(1, 512, 7, 7)}, kernel_shape=[7, 7])
case("MaxPool_dil", "MaxPool", {"x": f(*small)}, kernel_shape=[3, 3], dilations=[2, 2])
case("MaxPool_index", "MaxPool", {"x": f(*small)}, {}, 2, kernel_shape=[2, 2], strides=[2, 2])
typed("MaxPool", "MaxPool", (F16, F64, U8, I8), lambda t: {"x": of(t, *small)}, kernel_shape=[3, 3], strides=[2, 2])
for op in ("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"):
    case(op, op, {"x": f(1, 512, 28, 28)})
case("MaxUnpool", "MaxUnpool", {"x": f(1, 64, 28, 28)}, {"i": np.arange(64 * 28 * 28, dtype=I64).reshape(1, 64, 28, 28) * 4}, kernel_shape=[2, 2], strides=[2, 2])
EMPTY = np.zeros(0, np.float32)
for name, x, scale, attrs in (
        ("nearest_down", small, (1, 1, .5, .5), {"mode": "nearest"}), ("nearest_odd", small, (1, 1, 1.5, 1.7), {"mode": "nearest"}),
        ("nearest_floor", small, (1, 1, 2, 2), {"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}),
        ("linear_align", small, (1, 1, 2, 2), {"mode": "linear", "coordinate_transformation_mode": "align_corners"}),
        ("linear_odd", small, (1, 1, 1.5, 1.7), {"mode": "linear"}), ("linear_1d", (1, 64, 2000), (1, 1, 2), {"mode": "linear"}),
        ("linear_3d", (1, 8, 8, 28, 28), (1, 1, 2, 2, 2), {"mode": "linear"}), ("nearest_3d", (1, 8, 8, 28, 28), (1, 1, 2, 2, 2), {"mode": "nearest"}),
        ("linear_last", (1, 56, 56, 64), (1, 2, 2, 1), {"mode": "linear"}), ("cubic_align", small, (1, 1, 2, 2), {"mode": "cubic", "coordinate_transformation_mode": "align_corners"}),
        ("cubic_down", small, (1, 1, .5, .5), {"mode": "cubic", "cubic_coeff_a": -0.5}), ("antialias", small, (1, 1, .5, .5), {"mode": "linear", "antialias": 1}),
        ("cubic_antialias", small, (1, 1, .5, .5), {"mode": "cubic", "antialias": 1})):
    case("Resize_" + name, "Resize", {"x": f(*x)}, {"r": EMPTY, "s": v32(*scale)}, opset=18, **attrs)
for m in ("linear", "nearest"):
    typed("Resize_" + m, "Resize", (U8, I32), lambda t: {"x": of(t, *small)}, {"r": EMPTY, "s": v32(1, 1, 2, 2)}, opset=18, mode=m)
grid = rng.uniform(-1.1, 1.1, (1, 56, 56, 2)).astype(np.float32)
for m in ("bilinear", "nearest", "bicubic"):
    for p in ("zeros", "border", "reflection"):
        case(f"GridSample_{m}_{p}", "GridSample", {"x": f(1, 16, 56, 56), "g": grid}, mode=m, padding_mode=p)
case("RoiAlign_max", "RoiAlign", {"x": f(1, 64, 56, 56)}, {"r": v32(*[[0, 0, 30, 30]] * 50), "b": np.zeros(50, I64)}, output_height=7, output_width=7, sampling_ratio=2, mode="max", opset=16)
case("RoiAlign_auto", "RoiAlign", {"x": f(1, 64, 56, 56)}, {"r": v32(*[[0, 0, 30, 30]] * 20), "b": np.zeros(20, I64)}, output_height=7, output_width=7, opset=16)
case("nms_one", "NonMaxSuppression", {"b": rng.random((1, 8400, 4)).astype(np.float32), "s": rng.random((1, 1, 8400)).astype(np.float32)}, {"m": i64(300), "i": v32(.5), "t": v32(.3)})
case("AffineGrid", "AffineGrid", {"t": f(4, 2, 3)}, {"s": i64(4, 3, 56, 56)}, opset=20)
case("Col2Im", "Col2Im", {"x": f(1, 64 * 9, 54 * 54)}, {"i": i64(56, 56), "b": i64(3, 3)}, opset=18)

# recurrent
for op, gates in (("LSTM", 4), ("GRU", 3), ("RNN", 1)):
    for name, ways, attrs in (("forward", 1, {}), ("reverse", 1, {"direction": "reverse"}), ("both", 2, {"direction": "bidirectional"}),
                              ("reset", 1, {"linear_before_reset": 1}), ("relu", 1, {"activations": ["Relu"]}), ("lengths", 1, {})):
        if (name == "reset" and op != "GRU") or (name == "relu" and op != "RNN"):
            continue
        case(f"{op}_{name}", op, {"x": f(30, 2, 64)}, {"w": f(ways, gates * 96, 64) / 8, "r": f(ways, gates * 96, 96) / 8, "b": f(ways, gates * 192) / 8}
             | ({"l": np.array([30, 20], I32)} if name == "lengths" else {}), 1, hidden_size=96, **attrs)

# quantised
MS = "com.microsoft"
q = lambda *shape: rng.integers(0, 255, shape, dtype=U8)
qs = lambda *shape: rng.integers(-127, 127, shape, dtype=I8)
scale = lambda v, z, t=U8: (v32(v)[0], np.array(z, t))
def quantised(*pairs):
    return {f"{n}{e}": v for n, p in pairs for e, v in zip("sz", p)}
for name, x, w, attrs in (("3x3", (1, 64, 28, 28), (64, 64, 3, 3), {"pads": [1] * 4}), ("1x1", (1, 128, 28, 28), (64, 128, 1, 1), {}), ("dw", (1, 96, 28, 28), (96, 1, 3, 3), {"pads": [1] * 4, "group": 96}),
                          ("stem", (1, 3, 112, 112), (32, 3, 3, 3), {"pads": [1] * 4, "strides": [2, 2]}), ("group", (1, 64, 28, 28), (64, 16, 3, 3), {"pads": [1] * 4, "group": 4})):
    a = quantised(("x", scale(.02, 128)), ("w", scale(.01, 0, I8)), ("y", scale(.5, 128)))
    case("QLinearConv_" + name, "QLinearConv", {"x": q(*x)}, {"xs": a["xs"], "xz": a["xz"], "w": qs(*w), "ws": a["ws"], "wz": a["wz"], "ys": a["ys"], "yz": a["yz"]}, **attrs)
    case("ConvInteger_" + name, "ConvInteger", {"x": q(*x)}, {"w": q(*w)}, **attrs)
for name, a, b in (("square", (256, 256), (256, 256)), ("row", (1, 768), (768, 768)), ("batch", (8, 64, 64), (8, 64, 64))):
    case("MatMulInteger_" + name, "MatMulInteger", {"x": q(*a), "w": q(*b)})
    case("MatMulInteger_const_" + name, "MatMulInteger", {"x": q(*a)}, {"w": qs(*b)})
for op in ("QLinearAdd", "QLinearMul"):
    a = quantised(("a", scale(.02, 128)), ("b", scale(.03, 120)), ("y", scale(.05, 110)))
    C[op] = (op, {"a": q(*small), "b": q(*small)}, {k: a[k] for k in ("as", "az", "bs", "bz", "ys", "yz")}, 1, MS, 17, {})
for op, attrs in (("QLinearSigmoid", {}), ("QLinearLeakyRelu", {}), ("QLinearGlobalAveragePool", {}), ("QLinearAveragePool", {"kernel_shape": [3, 3]})):
    a = quantised(("x", scale(.02, 128)), ("y", scale(.05, 110)))
    case(op, op, {"x": q(*small)}, a, domain=MS, **attrs)
for t, zero in ((I8, 0), (np.uint16, 32768), (np.int16, 0)):
    case(f"QuantizeLinear_{SHORT[t]}", "QuantizeLinear", {"x": f(*small)}, {"s": v32(.02)[0], "z": np.array(zero, t)}, opset=21)
    case(f"DequantizeLinear_{SHORT[t]}", "DequantizeLinear", {"x": of(t, *small)}, {"s": v32(.02)[0], "z": np.array(zero, t)}, opset=21)
case("QuantizeLinear_axis", "QuantizeLinear", {"x": f(*small)}, {"s": abs(f(64)) + .01, "z": q(64)}, axis=1)
case("DequantizeLinear_axis", "DequantizeLinear", {"x": q(*small)}, {"s": abs(f(64)), "z": q(64)}, axis=1)
case("DequantizeLinear_i32", "DequantizeLinear", {"x": of(I32, *small)}, {"s": v32(.02)[0]})
for m in (1, 8, 32, 128):
    case(f"MatMulNBits_{m}", "MatMulNBits", {"x": f(m, 1024)}, {"w": q(1024, 32, 16), "s": abs(f(1024, 32)) / 50}, domain=MS, K=1024, N=1024, bits=4, block_size=32)
case("MatMulNBits_8bits", "MatMulNBits", {"x": f(1, 1024)}, {"w": q(1024, 32, 32), "s": abs(f(1024, 32)) / 50}, domain=MS, K=1024, N=1024, bits=8, block_size=32)
case("DynamicQuantizeMatMul", "DynamicQuantizeMatMul", {"x": f(64, 256)}, {"w": q(256, 256), "s": v32(.01)[0], "z": np.array(120, U8)}, domain=MS)

# com.microsoft
case("FusedMatMul", "FusedMatMul", {"a": f(12, 128, 64), "b": f(12, 128, 64)}, domain=MS, transB=1, alpha=0.125)
case("FusedGemm", "FusedGemm", {"x": f(64, 256)}, {"w": f(256, 256), "b": f(256)}, domain=MS, activation="Relu")
case("FusedConv", "FusedConv", {"x": f(1, 64, 28, 28)}, {"w": f(64, 64, 3, 3), "b": f(64)}, domain=MS, activation="Relu", pads=[1] * 4)
case("Gelu_ms", "Gelu", {"x": f(128, 3072)}, domain=MS)
case("QuickGelu", "QuickGelu", {"x": f(128, 3072)}, domain=MS)
case("SimplifiedLN", "SimplifiedLayerNormalization", {"x": f(128, 2048)}, {"s": f(2048)})
case("SkipSimplifiedLN", "SkipSimplifiedLayerNormalization", {"x": f(1, 128, 2048), "s": f(1, 128, 2048)}, {"g": f(2048)}, domain=MS)
case("EmbedLN", "EmbedLayerNormalization", {"i": rng.integers(0, 1000, (1, 128)).astype(I32), "s": np.zeros((1, 128), I32)},
     {"w": f(1000, 384), "p": f(512, 384), "t": f(2, 384), "g": f(384), "b": f(384)}, 2, domain=MS)
case("Attention_ms", "Attention", {"x": f(1, 128, 768)}, {"w": f(768, 2304) / 30, "b": f(2304)}, domain=MS, num_heads=12)
case("Attention_causal", "Attention", {"x": f(1, 128, 768)}, {"w": f(768, 2304) / 30, "b": f(2304)}, domain=MS, num_heads=12, unidirectional=1)
case("gqa_prompt", "GroupQueryAttention", {"q": f(1, 64, 1024), "k": f(1, 64, 256), "v": f(1, 64, 256), "pk": np.zeros((1, 4, 0, 64), np.float32), "pv": np.zeros((1, 4, 0, 64), np.float32)},
     {"sl": np.array([63], I32), "tl": np.array(64, I32)}, 3, domain=MS, num_heads=16, kv_num_heads=4)
case("Attention_23", "Attention", {"q": f(1, 12, 128, 64), "k": f(1, 12, 128, 64), "v": f(1, 12, 128, 64)}, opset=23)
case("NhwcMaxPool", "NhwcMaxPool", {"x": q(1, 56, 56, 64)}, domain=MS, kernel_shape=[3, 3])
case("BiasSplitGelu", "BiasSplitGelu", {"x": f(1, 64, 2560)}, {"b": f(2560)}, domain=MS)

# trees, scores
def trees(depth, n):
    ids, feature, value, mode, yes, no, tree = [], [], [], [], [], [], []
    for t in range(n):
        for i in range(2 ** (depth + 1) - 1):
            leaf = i >= 2 ** depth - 1
            tree.append(t); ids.append(i); feature.append(0 if leaf else int(rng.integers(0, 30))); value.append(0.0 if leaf else float(rng.standard_normal()))
            mode.append("LEAF" if leaf else "BRANCH_LEQ"); yes.append(0 if leaf else 2 * i + 1); no.append(0 if leaf else 2 * i + 2)
    leaves = [k for k, m in enumerate(mode) if m == "LEAF"]
    return dict(nodes_treeids=tree, nodes_nodeids=ids, nodes_featureids=feature, nodes_values=value, nodes_modes=mode, nodes_truenodeids=yes, nodes_falsenodeids=no), [tree[k] for k in leaves], [ids[k] for k in leaves]
for rows in (1, 1000):
    nodes, tid, nid = trees(5, 50)
    case(f"TreeRegressor_{rows}", "TreeEnsembleRegressor", {"x": f(rows, 30)}, domain="ai.onnx.ml", n_targets=1, target_treeids=tid, target_nodeids=nid, target_ids=[0] * len(tid),
         target_weights=[float(v) for v in rng.standard_normal(len(tid))], **nodes)
case("LinearRegressor", "LinearRegressor", {"x": f(1000, 30)}, domain="ai.onnx.ml", coefficients=[float(v) for v in f(30)], intercepts=[0.5], targets=1)
case("Scaler", "Scaler", {"x": f(1000, 30)}, domain="ai.onnx.ml", offset=[float(v) for v in f(30)], scale=[float(v) for v in f(30)])
case("Normalizer", "Normalizer", {"x": f(1000, 30)}, domain="ai.onnx.ml", norm="L2")
case("SVMRegressor", "SVMRegressor", {"x": f(500, 30)}, domain="ai.onnx.ml", kernel_type="RBF", kernel_params=[0.1, 0.0, 3.0], n_supports=50, coefficients=[float(v) for v in f(50)],
     support_vectors=[float(v) for v in f(1500)], rho=[0.1])


def model_of(op, feeds, consts, n_out, domain, opset, attrs):
    order = list(feeds) + list(consts)
    if op == "Gather" and "x" not in feeds:
        order = ["w", "i"]
    if op in ("QLinearAdd", "QLinearMul"):
        order = ["a", "as", "az", "b", "bs", "bz", "ys", "yz"]
    if op in ("LSTM", "GRU", "RNN") and "l" not in consts:
        order += [""]
    value = lambda k, a: h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(a.dtype), a.shape)
    outs = [f"y{i}" for i in range(n_out)]
    graph = h.make_graph([h.make_node(op, order, outs, domain=domain, **attrs)], "g",
                         [value(k, v) for k, v in feeds.items()], [h.make_empty_tensor_value_info(o) for o in outs],
                         [nh.from_array(np.asarray(v), k) for k, v in consts.items()])
    for o in graph.output:
        o.ClearField("type")
    return h.make_model(graph, ir_version=10, opset_imports=[h.make_opsetid("", opset), h.make_opsetid("com.microsoft", 1),
                                                             h.make_opsetid("ai.onnx.ml", 3)])


# -- ours, through the C interface ----------------------------------------------

TYPES = {t: i for i, t in enumerate(["?", "float32", "float16", "bfloat16", "float64", "int8", "uint8", "int16", "uint16",
                                     "int32", "uint32", "int64", "uint64", "bool"])}
NAMES = {i: t for t, i in TYPES.items()}


class Tensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_uint32), ("dims", ctypes.c_int64 * 16),
                ("data", ctypes.c_void_p), ("form", ctypes.c_int)]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("msg", ctypes.c_char * 512), ("about", ctypes.c_int), ("subject", ctypes.c_char * 64)]


class Options(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("backend", ctypes.c_char_p), ("threads", ctypes.c_uint32),
                ("seed", ctypes.c_uint64), ("draw_weights", ctypes.c_bool)]


lib = ctypes.CDLL(os.path.join(BUILD, "libcleave.so"))
lib.clv_session_output.restype = ctypes.POINTER(Tensor)
lib.clv_session_output.argtypes = [ctypes.c_void_p, ctypes.c_uint32]


class Ours:
    def __init__(self, path, feeds):
        self.session, self.error = ctypes.c_void_p(), Error()
        options = Options(ctypes.sizeof(Options), None, 1, 0, False)
        self.check(lib.clv_session_new(path.encode(), ctypes.byref(options), ctypes.byref(self.session), ctypes.byref(self.error)))
        self.kept = [np.array(a, order="C") for a in feeds.values()]
        self.inputs = (Tensor * len(self.kept))()
        for t, a in zip(self.inputs, self.kept):
            t.dtype, t.rank, t.data = TYPES[a.dtype.name], a.ndim, a.ctypes.data
            t.dims[:a.ndim] = a.shape

    def check(self, status):
        if status:
            raise RuntimeError("cleave: " + self.error.msg.decode(errors="replace"))

    def run(self):
        self.check(lib.clv_session_run(self.session, self.inputs, ctypes.c_uint32(len(self.inputs)), ctypes.byref(self.error)))

    def output(self, i):
        t = lib.clv_session_output(self.session, i).contents
        shape, kind = tuple(t.dims[:t.rank]), np.dtype(NAMES[t.dtype])
        n = int(np.prod(shape)) * kind.itemsize
        return np.frombuffer(ctypes.string_at(t.data, n) if n else b"", kind).reshape(shape)

    def close(self):
        lib.clv_session_free(self.session)


def turn(run):
    """Median processor time of a run, over some of them."""
    times = []
    while not times or (sum(times) < TURN and len(times) < 50):
        t = time.process_time()
        run()
        times.append(time.process_time() - t)
    return statistics.median(times)


def difference(a, b):
    """Of two outputs, over the largest number; bytes may be one step apart."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
    step = 1 if b.dtype.itemsize == 1 and b.dtype != bool else 0
    near = NEAR if b.dtype != np.float16 else 1e-2
    a, b = a.astype(np.float64), b.astype(np.float64)
    most = np.nanmax(np.abs(np.where(np.isfinite(b), b, 0)), initial=0)
    with np.errstate(invalid="ignore"):
        bad = ~((np.abs(a - b) <= near * most + step) | (a == b) | (np.isnan(a) & np.isnan(b)))
    return f"{bad.sum()} of {bad.size} numbers" if bad.any() else ""


def measure(path, feeds, n_out):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    peer, mine = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"]), Ours(path, feeds)
    try:
        names = [o.name for o in peer.get_outputs()]
        bound = peer.run(names, feeds)
        mine.run()
        differs = "; ".join(filter(None, (difference(mine.output(i), bound[i]) for i in range(n_out))))
        turns = [(turn(mine.run), turn(lambda: peer.run(names, feeds))) for _ in range(TURNS)]
    finally:
        mine.close()
    return statistics.median(t[0] for t in turns), statistics.median(t[1] for t in turns), differs


def distribution(name, rows):
    ratios = sorted(r[0] / r[1] for r in rows)
    if not ratios:
        return
    at = lambda share: ratios[min(len(ratios) - 1, int(share * len(ratios)))]
    over = ", ".join(f"{sum(r > b for r in ratios)} above {b}" for b in (1.3, 2, 5, 10, 100))
    print(f"op_peers: {name}: {len(ratios)} cases, median {at(.5):.2f}, nine in ten {at(.9):.2f}, 99 in a hundred "
          f"{at(.99):.2f}, worst {ratios[-1]:.2f}; {over}")


def main():
    rows = {True: [], False: []}
    tsv = os.environ.get("CLEAVE_OPS") == "tsv"
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, case_) in enumerate(C.items()):
            if sys.argv[1:] and not any(a in name for a in sys.argv[1:]):
                continue
            path = os.path.join(folder, f"{number}.onnx")
            try:
                onnx.save(model_of(*case_), path)
                mine, peer, differs = measure(path, case_[1], case_[3])
            except Exception as e:
                print(f"op_peers: {name}: {' '.join(str(e).split())[:160]}", flush=True)
                continue
            finally:
                if os.path.exists(path):
                    os.remove(path)
            rows[name in TUNED].append((mine, peer, name))
            if differs:
                print(f"op_peers: {name}: differs in {differs}", flush=True)
            if tsv:
                print(f"{'tuned' if name in TUNED else 'wide'}\t{name}\t{mine / peer:.3f}\t{mine * 1e3:.4f}\t{peer * 1e3:.4f}", flush=True)
    for tuned, name in ((True, "tuned with"), (False, "wide")):
        distribution(name, rows[tuned])
    for mine, peer, name in sorted(rows[True] + rows[False], key=lambda r: -r[0] / r[1])[:WORST]:
        print(f"  {name:28} {mine / peer:8.2f}   {mine * 1e3:9.3f} ms against {peer * 1e3:.3f}")


if __name__ == "__main__":
    main()

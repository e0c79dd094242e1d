"""Single operators of usual sizes: `cleave run` against ONNX Runtime, one thread each.

Networks hide what few of them have; here every operator stands alone, so that a
kernel which is slow shows. Ours is the median of wall clock, theirs of processor
time, so that other work on the machine counts against us. There is no bound: the
worst are printed, and docs/run.md says which are known.

    bench/run op_peers [NAME...]
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper as h, numpy_helper as nh

CLEAVE = os.path.join(os.environ.get("CLEAVE_BUILD", "build"), "cli", "cleave")
WORST = 30
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
case("lstm", "LSTM", {"x": f(50, 4, 128)}, {"w": f(1, 512, 128), "r": f(1, 512, 128), "b": f(1, 1024)}, 3,
     hidden_size=128)
case("gru", "GRU", {"x": f(50, 4, 128)}, {"w": f(1, 384, 128), "r": f(1, 384, 128), "b": f(1, 768)}, 2,
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


def model_of(op, feeds, consts, n_out, domain, opset, attrs):
    order = list(feeds) + list(consts) if op != "Gather" or "x" in feeds else ["w", "i"]
    value = lambda k, a: h.make_tensor_value_info(k, h.np_dtype_to_tensor_dtype(a.dtype), a.shape)
    outs = [f"y{i}" for i in range(n_out)]
    graph = h.make_graph([h.make_node(op, order, outs, domain=domain, **attrs)], "g",
                         [value(k, v) for k, v in feeds.items()], [h.make_empty_tensor_value_info(o) for o in outs],
                         [nh.from_array(np.asarray(v), k) for k, v in consts.items()])
    for o in graph.output:
        o.ClearField("type")
    return h.make_model(graph, ir_version=9, opset_imports=[h.make_opsetid("", opset),
                                                            h.make_opsetid("com.microsoft", 1)])


def theirs(path, feeds):
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, feeds)
    times, start = [], time.time()
    while len(times) < 5 or (time.time() - start < 0.15 and len(times) < 200):
        t = time.process_time()
        session.run(None, feeds)
        times.append(time.process_time() - t)
    return statistics.median(times)


def ours(path, data, peer):
    repeat = min(50, max(5, int(0.1 / peer)))
    out = subprocess.run([CLEAVE, "run", path, "--input", data, "--threads", "1", "--repeat", str(repeat), "--json"],
                         capture_output=True, text=True)
    if out.returncode:
        raise RuntimeError(out.stderr.strip())
    return json.loads(out.stdout)["median_seconds"]


def main():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path, data = os.path.join(folder, "op.onnx"), os.path.join(folder, "op.npz")
        for name, case_ in C.items():
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            onnx.save(model_of(*case_), path)
            np.savez(data, **case_[1])
            try:
                peer = theirs(path, case_[1])
                rows.append((ours(path, data, peer), peer, name))
            except Exception as e:
                print(f"op_peers: {name}: {str(e)[:100]}")
    rows.sort(key=lambda r: -r[0] / r[1])
    print(f"op_peers: {len(rows)} operators, median ratio {statistics.median(r[0] / r[1] for r in rows):.2f}; the worst:")
    for mine, peer, name in rows[:WORST]:
        print(f"  {name:16} {mine / peer:8.2f}   {mine * 1e3:9.3f} ms against {peer * 1e3:.3f}")


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes tests/data/ort_forms/: forms of operators that their suites leave out,
and what ONNX Runtime makes of them; where it refuses one, the reference
implementation of the onnx package or PyTorch is the truth."""
import numpy as np
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from ort_model import Cases

cases = Cases("ort_forms")
rng = np.random.default_rng(14)
node = helper.make_node


def rnd(*shape):
    return np.round(rng.standard_normal(shape), 2).astype(np.float32)


def i64(*values):
    return np.array(values, dtype=np.int64)


def reference(nodes, inputs, outputs, opset):
    """What the onnx package makes of nodes."""
    info = lambda n: helper.make_tensor_value_info(n, TensorProto.UNDEFINED, None)
    graph = helper.make_graph(nodes, "g", [info(k) for k in inputs], [info(o) for o in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    return dict(zip(outputs, ReferenceEvaluator(model).run(outputs, inputs)))


# -- functions behind a product, of which oneDNN takes one of each kind ---------

x, kernel = rnd(1, 8, 6, 6), rnd(8, 8, 1, 1)
numbers = {"four": np.float32(4), "one": np.float32(1), "low": np.float32(-0.5), "high": np.float32(2),
           "least": np.float32(0.25), "most": np.float32(1.5)}
chains = {
    "mul_add": [("Mul", "four"), ("Add", "one")],
    "mul_add_mul": [("Mul", "four"), ("Add", "one"), ("Mul", "low"), ("Sub", "one"), ("Div", "four")],
    "clip_clip": [("Clip", "low", "high"), ("Clip", "least", "most")],
    "leaky_relu": [("LeakyRelu",), ("Relu",)],
    "relu_leaky": [("Neg",), ("Relu",), ("Neg",), ("LeakyRelu",)],
    "line_between": [("Mul", "four"), ("Relu",), ("Add", "one"), ("Relu",)],
}
for name, ops in chains.items():
    def tail(first):
        nodes, used, last = [], {}, first
        for i, (op, *args) in enumerate(ops):
            nodes.append(node(op, [last] + args, ["t%d" % i if i + 1 < len(ops) else "y"]))
            used.update({a: numbers[a] for a in args})
            last = "t%d" % i
        return nodes, used
    nodes, used = tail("p")
    cases.save("conv_" + name, [node("Conv", ["x", "w"], ["p"])] + nodes, {"x": x}, ["y"], dict(used, w=kernel))
    cases.save("gemm_" + name, [node("Gemm", ["x", "w"], ["p"])] + nodes, {"x": rnd(9, 8)}, ["y"],
               dict(used, w=rnd(8, 5)))
    cases.save("matmul_" + name, [node("MatMul", ["x", "z"], ["p"])] + nodes, {"x": rnd(2, 4, 8), "z": rnd(2, 8, 5)},
               ["y"], used)
cases.save("gemm_nan", [node("Gemm", ["x", "w"], ["y"], alpha=float("nan"))], {"x": rnd(3, 5)}, ["y"],
           {"w": rnd(5, 4)})
cases.save("log_softmax_one", [node("LogSoftmax", ["x"], ["s"]), node("Reciprocal", ["s"], ["y"])], {"x": rnd(4, 1)},
           ["y"])
cases.save("dropout_mask", [node("Dropout", ["x"], ["y", "z"])], {"x": rnd(3, 4)}, ["y", "z"])
cases.save("max_pool_twice", [node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2]),
                              node("MaxPool", ["x"], ["z", "i"], kernel_shape=[2, 2])],
           {"x": rnd(1, 2, 4, 4)}, ["y", "z", "i"])

# -- bounds larger than what they bound -------------------------------------------

clip = [node("Clip", ["x", "low", "high"], ["y"])]
for name, kind in (("float", np.float32), ("int8", np.int8)):
    ins = {"x": np.array(3, kind), "low": (rnd(3, 4) * 9).astype(kind), "high": (rnd(4) * 9).astype(kind)}
    cases.save("clip_broadcast_" + name, clip, ins, ["y"], truth=reference(clip, ins, ["y"], 13))

# -- slopes ------------------------------------------------------------------------

cases.save("prelu_last", [node("PRelu", ["x", "w"], ["y"])], {"x": rnd(2, 3, 3, 3)}, ["y"], {"w": rnd(3)})
cases.save("prelu_channels", [node("PRelu", ["x", "w"], ["y"])], {"x": rnd(2, 3, 3, 3)}, ["y"], {"w": rnd(3, 1, 1)})

# -- nodes before what they read, and in bodies, where shapes are known late ---------

x = rnd(2, 3, 4, 5)
for op in ("Softmax", "LogSoftmax", "Hardmax"):
    for axis in (2, -3):
        cases.save("shuffled_%s_%d" % (op.lower(), axis % 4), [node(op, ["h"], ["y"], axis=axis), node("Neg", ["x"], ["h"])],
                   {"x": x}, ["y"], opset=11)
for axis in (0, 1, 2, -1, 4):
    cases.save("shuffled_flatten_%d" % axis, [node("Flatten", ["h"], ["y"], axis=axis), node("Neg", ["x"], ["h"])],
               {"x": x}, ["y"], opset=11)
cases.save("shuffled_pools", [
    node("Concat", ["b", "c"], ["y"], axis=1), node("GlobalMaxPool", ["h"], ["b"]),
    node("GlobalAveragePool", ["h"], ["c"]), node("Neg", ["x"], ["h"])], {"x": rnd(2, 3, 4)}, ["y"], opset=11)


def info(name, kind=TensorProto.FLOAT, shape=None):
    return helper.make_tensor_value_info(name, kind, shape)


def branches(nodes, other):
    return dict(then_branch=helper.make_graph(nodes, "then", [], [info("a")]),
                else_branch=helper.make_graph(other, "else", [], [info("b")]))


for name, nodes, shape in (
        ("softmax", [node("Softmax", ["x"], ["s"], axis=1), node("Flatten", ["s"], ["a"], axis=2)], (2, 3, 4)),
        ("pool", [node("GlobalAveragePool", ["x"], ["a"])], (2, 3, 4)),
        ("conv", [node("Conv", ["x", "w"], ["a"])], (1, 2, 5))):
    weights = {"w": rnd(3, 2, 3)} if name == "conv" else {}
    cases.save("if_" + name, [node("If", ["c"], ["y"], **branches(nodes, [node("Neg", ["x"], ["b"])]))],
               {"c": np.array(True), "x": rnd(*shape)}, ["y"], weights, opset=11)
same = [helper.make_graph([node("Constant", [], [o], value_floats=[1.5, 2.5])], o, [], [info(o)]) for o in "ab"]
cases.save("if_same_constants", [node("If", ["c"], ["s"], then_branch=same[0], else_branch=same[1]),
                                 node("Add", ["x", "s"], ["y"])],
           {"c": np.array(False), "x": rnd(3, 2)}, ["y"], opset=13)
body = helper.make_graph([
    node("Softmax", ["v"], ["s"], axis=1), node("Flatten", ["s"], ["f"], axis=2), node("Shape", ["v"], ["d"]),
    node("Reshape", ["f", "d"], ["next"]), node("Identity", ["go"], ["on"])], "body",
    [info("i", TensorProto.INT64, []), info("go", TensorProto.BOOL, []), info("v")],
    [info("on", TensorProto.BOOL, []), info("next")])
cases.save("loop_softmax", [node("Loop", ["n", "", "x"], ["y"], body=body)], {"x": rnd(2, 3, 4)}, ["y"],
           {"n": np.array(2, dtype=np.int64)}, opset=11)

# -- sparse tensors ------------------------------------------------------------------

def sparse(name, dims, values, places):
    return helper.make_sparse_tensor(
        helper.make_tensor(name, helper.np_dtype_to_tensor_dtype(values.dtype), values.shape, values),
        helper.make_tensor("", TensorProto.INT64, places.shape, places.flatten()), dims)


flat = sparse("w", [4, 3], rnd(3), i64(1, 5, 9))
deep = sparse("w", [4, 3], rnd(2), np.array([[0, 2], [3, 1]]))
for name, w in (("flat", flat), ("deep", deep)):
    cases.save("sparse_weight_" + name, [node("MatMul", ["x", "w"], ["y"])], {"x": rnd(2, 4)}, ["y"], sparse=[w])
    cases.save("sparse_constant_" + name, [node("Constant", [], ["w"], sparse_value=w), node("MatMul", ["x", "w"], ["y"])],
               {"x": rnd(2, 4)}, ["y"])
cases.save("sparse_shape", [node("Constant", [], ["d"], sparse_value=sparse("d", [3], i64(4, 6), i64(0, 2))),
                            node("Max", ["d", "one"], ["s"]), node("Reshape", ["x", "s"], ["y"])],
           {"x": rnd(2, 12)}, ["y"], {"one": i64(1)}, opset=17)

# -- transposed convolutions of a given size ------------------------------------------

for name, shape, kernel, attrs in (
        ("given", (1, 2, 3, 4), (2, 2, 3, 3), dict(output_shape=[6, 8], strides=[2, 2])),
        ("given_odd", (1, 2, 3, 4), (2, 2, 4, 3), dict(output_shape=[5, 8], strides=[2, 2])),
        ("given_upper", (1, 2, 3, 4), (2, 2, 4, 3), dict(output_shape=[5, 8], strides=[2, 2], auto_pad="SAME_UPPER")),
        ("given_lower", (1, 2, 3, 4), (2, 2, 4, 3), dict(output_shape=[5, 8], strides=[2, 2], auto_pad="SAME_LOWER")),
        ("given_more", (1, 2, 3, 4), (2, 1, 3, 3), dict(output_shape=[10, 10], strides=[3, 2], output_padding=[1, 1])),
        ("given_1d", (1, 2, 5), (2, 3, 4), dict(output_shape=[9], strides=[2])),
        ("same_narrow", (1, 1, 2, 3), (1, 1, 1, 1), dict(strides=[1, 2], output_padding=[0, 1], auto_pad="SAME_UPPER")),
        ("same_more", (1, 1, 2, 3), (1, 1, 1, 3), dict(strides=[1, 2], output_padding=[0, 1], auto_pad="SAME_UPPER")),
        ("same_lower_more", (1, 1, 2, 3), (1, 1, 2, 4), dict(strides=[2, 2], output_padding=[1, 1],
                                                            auto_pad="SAME_LOWER"))):
    cases.save("convt_" + name, [node("ConvTranspose", ["x", "w"], ["y"], **attrs)], {"x": rnd(*shape)}, ["y"],
               {"w": rnd(*kernel)})

# -- resizes -----------------------------------------------------------------------------

def resize(name, x, by, roi=None, ort=True, opset=19, **attrs):
    """`by`: scales where it has floats, else sizes."""
    scaled = isinstance(by[0], float)
    weights = {"s": np.array(by, dtype=np.float32 if scaled else np.int64)}
    if roi:
        weights["r"] = np.array(roi, dtype=np.float32)
    ins = ["x", "r" if roi else "", "s"] if scaled else ["x", "r" if roi else "", "", "s"]
    nodes = [node("Resize", ins, ["y"], **attrs)]
    truth = None if ort else reference(nodes, dict(weights, x=x), ["y"], opset)
    cases.save("resize_" + name, nodes, {"x": x}, ["y"], weights, opset=opset, truth=truth)


x = rnd(1, 2, 5, 7)
crop = dict(coordinate_transformation_mode="tf_crop_and_resize", mode="linear", extrapolation_value=7.5)
resize("crop", x, [1, 2, 3, 4], [0, 0, 0.4, 0.6, 1, 1, 0.6, 1.3], **crop)
resize("crop_axes", x, [3, 4], [0.4, 0.6, 0.6, 1.3], axes=[2, 3], **crop)
resize("crop_axes_back", x, [4, 3], [0.6, 0.4, 1.3, 0.6], axes=[3, 2], **crop)
resize("crop_nearest", x, [3, 4], [0.4, 0.6, 0.6, 1.3], axes=[2, 3], coordinate_transformation_mode="tf_crop_and_resize",
       extrapolation_value=7.5)
for mode in ("linear", "cubic"):
    resize("symmetric_" + mode, x, [1.0, 1.0, 0.7, 1.3], ort=False, mode=mode,
           coordinate_transformation_mode="half_pixel_symmetric")
    resize("antialias_" + mode, x, [1.0, 1.0, 0.6, 0.45], ort=False, mode=mode, antialias=1)
    resize("antialias_up_" + mode, x, [1, 2, 3, 11], ort=False, mode=mode, antialias=1)
    resize("antialias_inside_" + mode, x, [1, 2, 3, 2], ort=False, mode=mode, antialias=1, exclude_outside=1)
resize("matrix", rnd(4, 5), [2, 9], mode="linear")
resize("vector", rnd(5), [1.6], ort=False, mode="cubic")

# -- types, and nothing to reduce ---------------------------------------------------------

half = rnd(2, 3, 4).astype(np.float16)
scale, bias = rnd(4), rnd(4)
nodes = [node("LayerNormalization", ["f", "s", "b"], ["y"])]
cases.save("layer_norm_half", [node("LayerNormalization", ["x", "s", "b"], ["y"])], {"x": half}, ["y"],
           {"s": scale, "b": bias}, truth=reference(nodes, {"f": half.astype(np.float32), "s": scale, "b": bias}, ["y"], 17))
for op, kind in (("ReduceMax", np.float32), ("ReduceMin", np.float32), ("ReduceMax", np.int32), ("ReduceMin", np.int32),
                 ("ReduceMin", np.uint8)):
    nodes, ins = [node(op, ["x"], ["y"], axes=[1], keepdims=1)], {"x": np.zeros((2, 0, 3), dtype=kind)}
    least = dict(float32=-np.inf, int32=-2**31)
    most = dict(float32=np.inf, int32=2**31 - 1, uint8=255)
    value = (most if op == "ReduceMin" else least)[np.dtype(kind).name]
    cases.save("%s_empty_%s" % (op.lower(), np.dtype(kind).name), nodes, ins, ["y"],
               truth={"y": np.full((2, 1, 3), value, dtype=kind)}, opset=13)
cases.save("lp_norm_zeros", [node("LpNormalization", ["x"], ["y"], axis=0)],
           {"x": np.array([[0, 3, 0], [0, -4, 1]], dtype=np.float32)}, ["y"])
rois, images = np.array([[0, 0, 3, 3], [1, 1, 4.5, 2], [-3, 2, 9, 8]], dtype=np.float32), i64(0, 1, 0)
for mode in ("avg", "max"):
    for ratio in (0, 2):
        cases.save("roi_align_%s_%d" % (mode, ratio), [node(
            "RoiAlign", ["x", "rois", "images"], ["y"], mode=mode, output_height=2, output_width=3, sampling_ratio=ratio,
            spatial_scale=0.8)], {"x": rnd(2, 2, 6, 5), "rois": rois, "images": images}, ["y"])

# -- attention: windows, lengths, masks that are too short, scores as an output ------------

q, k, v = rnd(2, 4, 3, 8), rnd(2, 2, 6, 8), rnd(2, 2, 6, 5)
lengths = i64(6, 4)
for name, ins, outs, attrs, opset in (
        ("lengths", [q, k, v, None, None, None, lengths], 1, {}, 24),
        ("lengths_causal", [q, k, v, None, None, None, lengths], 1, dict(is_causal=1), 24),
        ("lengths_before", [q, k, v, None, None, None, i64(2, 1)], 1, dict(is_causal=1), 24),
        ("short_mask", [q, k, v, rnd(3, 4)], 1, {}, 24),
        ("short_bools", [q, k, v, rng.random((1, 4, 3, 5)) > 0.3], 1, {}, 24),
        ("row_mask", [q, k, v, rnd(6)], 1, {}, 24),
        ("product", [q, k, v, rnd(3, 6)], 4, dict(qk_matmul_output_mode=0), 24),
        ("capped", [q, k, v, rnd(3, 6)], 4, dict(qk_matmul_output_mode=1, softcap=1.5), 24),
        ("masked", [q, k, v, rnd(3, 6)], 4, dict(qk_matmul_output_mode=2, softcap=1.5), 24),
        ("softmax", [q, k, v, rnd(3, 6), rnd(2, 2, 2, 8), rnd(2, 2, 2, 5)], 4,
         dict(qk_matmul_output_mode=3, is_causal=1, softmax_precision=1), 24),
        ("left", [q, k, v], 1, dict(left_window_size=1), 25),
        ("both", [q, k, v, rnd(3, 6), rnd(2, 2, 2, 8), rnd(2, 2, 2, 5)], 3, dict(left_window_size=2, right_window_size=1),
         25),
        ("causal_window", [q, k, v, None, None, None, lengths], 1, dict(left_window_size=1, is_causal=1), 25)):
    names = ["" if x is None else "i%d" % i for i, x in enumerate(ins)]
    slots = ["y%d" % i for i in range(outs)]
    given = {n: x for n, x in zip(names, ins) if n}
    if name == "softmax":
        given["i3"] = rnd(3, 8)
    nodes = [node("Attention", names, slots, **attrs)]
    cases.save("attention_" + name, nodes, given, slots, opset=opset, truth=reference(nodes, given, slots, opset))

# -- sizes and types that data decides -----------------------------------------------------

cases.save("col2im_computed", [node("Add", ["a", "b"], ["size"]), node("Col2Im", ["x", "size", "k"], ["y"])],
           {"x": rnd(1, 8, 6), "a": i64(1, 2), "b": i64(2, 2), "k": i64(2, 2)}, ["y"], opset=18)
for op, dims in (("Div", None), ("ReduceSum", 0), ("CumSum", 0)):
    late = [node("Pad", ["x", "p"], ["padded"]), node("Shape", ["padded"], ["s"])]
    if op == "Div":
        late += [node("Div", ["s", "two"], ["y"])]
    else:
        late += [node(op, ["s", "zero"], ["y"])]
    cases.save("late_" + op.lower(), late, {"x": rnd(3, 4), "p": i64(1, 0, 1, 1)}, ["y"],
               {"two": i64(2)} if op == "Div" else {"zero": i64(0) if op == "ReduceSum" else np.array(0)}, opset=17)
def by_head(name, *ins, **attrs):
    nodes = [node("LinearAttention", ["i%d" % i if x is not None else "" for i, x in enumerate(ins)], ["y", "s"], **attrs)]
    given = {"i%d" % i: x for i, x in enumerate(ins) if x is not None}
    cases.save("linear_attention_" + name, nodes, given, ["y", "s"], opset=26, truth=reference(nodes, given, ["y", "s"], 26))


q, k, v, state = rnd(2, 3, 8), rnd(2, 3, 4), rnd(2, 3, 6), rnd(2, 2, 2, 3)
by_head("linear", q, k, v, update_rule="linear", q_num_heads=4, kv_num_heads=2)
by_head("gated", q, k, v, state, -np.abs(rnd(2, 3, 4)), update_rule="gated", q_num_heads=4, kv_num_heads=2)
by_head("delta", q, k, v, state, None, rnd(2, 3, 1), update_rule="delta", q_num_heads=4, kv_num_heads=2, scale=0.3)
by_head("gated_delta", q, k, v, state, -np.abs(rnd(2, 3, 2)), rnd(2, 3, 2), q_num_heads=4, kv_num_heads=2)

# -- recurrent layers with functions of their own ---------------------------------------------

def recurrent(name, op, gates, ways=1, **attrs):
    if ways == 2:
        attrs["direction"] = "bidirectional"
    outs = ["y", "h", "c"][:3 if op == "LSTM" else 2]
    weights = {"w": rnd(ways, gates * 4, 3) * np.float32(0.4), "r": rnd(ways, gates * 4, 4) * np.float32(0.4),
               "b": rnd(ways, 2 * gates * 4) * np.float32(0.4)}
    cases.save("recurrent_" + name, [node(op, ["x", "w", "r", "b"], outs, hidden_size=4, **attrs)], {"x": rnd(4, 2, 3)},
               outs, weights, opset=14)


for op, gates, n in (("RNN", 1, 1), ("GRU", 3, 2), ("LSTM", 4, 3)):
    recurrent(op.lower() + "_params", op, gates, activations=["HardSigmoid", "Affine", "ScaledTanh"][:n],
              activation_alpha=[0.3, 0.7, 1.2][:n], activation_beta=[0.4, 0.1, 0.8][:n])
    recurrent(op.lower() + "_both", op, gates, 2, activations=["Sigmoid", "Tanh", "Relu"][:n] +
              ["LeakyRelu", "Softsign", "Elu"][:n], activation_alpha=[0.3, 0.7])
    recurrent(op.lower() + "_clip", op, gates, clip=0.5)
    recurrent(op.lower() + "_usual", op, gates, activations=["Softplus", "Softsign", "ThresholdedRelu"][:n],
              activation_alpha=[0.05])
recurrent("lstm_coupled", "LSTM", 4, input_forget=1)
cases.ms("mha_cross_bias", "MultiHeadAttention", [rnd(2, 3, 8), rnd(2, 2, 5, 4), rnd(2, 2, 5, 4), rnd(24)], num_heads=2)

# -- features ------------------------------------------------------------------------------------

cases.ms("binarizer", "Binarizer", [rnd(3, 4)], domain="ai.onnx.ml", threshold=0.3)
cases.ms("binarizer_zero", "Binarizer", [rnd(3, 4)], domain="ai.onnx.ml")

# -- a past in a longer buffer, and one that beams share ------------------------------------------

def shared_past(name, op, beams=False, bias=False):
    """Two sequences of two beams, a past of 3 keys in room for 6, one new key. Each key of
    the past is that of one of the beams; behind the past the table says anything."""
    held, which = np.array([3], np.int32), rng.integers(0, 2, (2, 2, 6)).astype(np.int32)
    new, past = [rnd(4, 1, 8) for _ in range(3)], [rnd(4, 2, 6, 4) for _ in range(2)]
    which[:, :, 3:] = 9
    if op == "MultiHeadAttention":
        inputs = new + [rnd(24) if bias else None, None, None] + past + [held] + ([which] if beams else [])
        return cases.ms(name, op, inputs, 3, num_heads=2)
    inputs = new + [None, None] + past + [held] + ([np.array([2], np.int32), which] if beams else [None, None])
    cases.ms(name, op, inputs + ([rnd(24)] if bias else []), 3, num_heads=2, past_present_share_buffer=1)


for short, op in (("mha", "MultiHeadAttention"), ("decoder", "DecoderMaskedMultiHeadAttention")):
    shared_past(short + "_shared", op)
    shared_past(short + "_shared_bias", op, bias=True)
    shared_past(short + "_beams", op, beams=True)
    shared_past(short + "_beams_bias", op, beams=True, bias=True)
cases.ms("decoder_cross", "DecoderMaskedMultiHeadAttention", [rnd(4, 1, 8), rnd(4, 2, 5, 4), rnd(4, 2, 5, 4)], num_heads=2)

cases.write()

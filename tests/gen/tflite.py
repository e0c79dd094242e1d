"""Writes small TFLite files, what the interpreter computes for them and the
memory it plans, into tests/data/tflite.

    python tests/gen/tflite.py [FOLDER] [NAME...]

Needs tensorflow and ai-edge-litert. Every file is one operator or a small
network, converted by TensorFlow; inputs are drawn, results come from the
interpreter without delegates. NAME.npz holds in/TENSOR and out/TENSOR
and `arena`, the bytes of the interpreter's block."""

import os
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = ""

import numpy as np
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter, OpResolverType

CASES = {}
F, I, B = tf.float32, tf.int32, tf.bool


def case(*specs, name=None, mode="float"):
    """Registers a function of inputs; a spec is (shape, type)."""

    def add(fn):
        CASES[name or fn.__name__] = (fn, specs, mode)
        return fn

    return add


def unary(name, fn, low=-2, high=2):
    CASES[name] = (fn, (((2, 3, 4), F, low, high),), "float")


def weight(*shape, scale=0.3):
    """A constant that is the same in every run."""
    n = int(np.prod(shape))
    return (np.sin(np.arange(n) * 1.7 + n) * scale).reshape(shape).astype("f")


# -- one element at a time ---------------------------------------------------

for _name in "abs ceil cos exp floor neg round sign sin square tanh sigmoid relu relu6 elu".split():
    _fn = {"neg": tf.negative, "sigmoid": tf.sigmoid, "relu": tf.nn.relu, "relu6": tf.nn.relu6,
           "elu": tf.nn.elu, "ceil": tf.math.ceil}.get(_name) or getattr(tf.math, _name)
    unary(_name, _fn, -7, 7)
for _name in ("log", "sqrt", "rsqrt"):
    unary(_name, getattr(tf.math, _name), 0.1, 3)
unary("gelu", lambda x: tf.nn.gelu(x))
unary("gelu_tanh", lambda x: tf.nn.gelu(x, approximate=True))
unary("leaky_relu", lambda x: tf.nn.leaky_relu(x, 0.2))
unary("hard_swish", lambda x: x * tf.nn.relu6(x + 3) / 6, -5, 5)
unary("relu_n1_to_1", lambda x: tf.maximum(-1.0, tf.minimum(x, 1.0)))
unary("relu_0_to_1", lambda x: tf.maximum(0.0, tf.minimum(x, 1.0)))
unary("softmax", lambda x: tf.nn.softmax(x))
unary("log_softmax", lambda x: tf.nn.log_softmax(x))
unary("l2_norm", lambda x: tf.math.l2_normalize(x, -1))
unary("cast_int", lambda x: tf.cast(x, I), -5, 5)
unary("prelu", lambda x: tf.nn.relu(x) - weight(4) * tf.nn.relu(-x))
unary("zeros_like", lambda x: tf.zeros_like(x) + x)
unary("fake_quant", lambda x: tf.quantization.fake_quant_with_min_max_args(x, -1, 1.5))

for _name in "add subtract multiply maximum minimum floordiv floormod pow squared_difference".split():
    _fn = getattr(tf.math, _name)
    CASES[_name] = (_fn, (((2, 3, 4), F, 0.3, 3), ((3, 1), F, 0.3, 3)), "float")
CASES["atan2"] = (tf.math.atan2, (((2, 3), F), ((2, 3), F)), "float")
CASES["divide"] = (tf.math.divide, (((2, 3, 4), F), ((4,), F, 1, 2)), "float")
CASES["div_int"] = (tf.math.floordiv, (((2, 3), I, -9, 9), ((3,), I, 1, 4)), "float")
for _name in "less less_equal greater greater_equal equal not_equal".split():
    CASES[_name] = (getattr(tf.math, _name), (((3, 4), I, 0, 3), ((4,), I, 0, 3)), "float")
for _name in "logical_and logical_or".split():
    CASES[_name] = (getattr(tf.math, _name), (((3, 4), B), ((4,), B)), "float")
CASES["logical_not"] = (tf.math.logical_not, (((3, 4), B),), "float")
CASES["bitwise_xor"] = (tf.bitwise.bitwise_xor, (((3, 4), I, 0, 99), ((3, 4), I, 0, 99)), "float")
CASES["right_shift"] = (tf.bitwise.right_shift, (((3, 4), I, 0, 99), ((3, 4), I, 0, 3)), "float")
CASES["add_relu"] = (lambda a, b: tf.nn.relu(a + b), (((2, 5), F), ((2, 5), F)), "float")
CASES["add_n"] = (lambda a, b, c: tf.add_n([a, b, c]), (((2, 5), F),) * 3, "float")
CASES["select"] = (lambda c, a, b: tf.where(c, a, b), (((2, 5), B), ((2, 5), F), ((5,), F)), "float")

# -- reductions and order ----------------------------------------------------

for _name in "sum mean prod max min".split():
    _fn = getattr(tf.math, "reduce_" + _name)
    unary("reduce_" + _name, lambda x, fn=_fn: fn(x, [1]))
    unary("reduce_%s_keep" % _name, lambda x, fn=_fn: fn(x, [0, 2], keepdims=True))
for _name in "any all".split():
    CASES["reduce_" + _name] = (lambda x, fn=getattr(tf.math, "reduce_" + _name): fn(x, 1), (((3, 4), B),), "float")
unary("argmax", lambda x: tf.argmax(x, 1, output_type=I))
unary("argmin", lambda x: tf.argmin(x, -1))
unary("cumsum", lambda x: tf.cumsum(x, 1, exclusive=True, reverse=True))
unary("topk", lambda x: tf.math.top_k(x, 2))
unary("reverse", lambda x: tf.reverse(x, [1]))


@case(((3, 5, 2), F), ((3,), I, 1, 5))
def reverse_sequence(x, n):
    return tf.reverse_sequence(x, n, seq_axis=1, batch_axis=0)


# -- shapes ------------------------------------------------------------------

unary("reshape", lambda x: tf.reshape(x, (4, -1)))
unary("transpose", lambda x: tf.transpose(x, (2, 0, 1)))
unary("expand_dims", lambda x: tf.expand_dims(x, 1))
unary("reshape_scalar", lambda x: x * tf.reshape(tf.reduce_sum(x, keepdims=True), []))  # its shape is a list of nothing
unary("squeeze", lambda x: tf.squeeze(tf.reshape(x, (2, 1, 12)), 1))
unary("slice", lambda x: tf.slice(x, (0, 1, 1), (2, -1, 2)))
unary("strided_slice", lambda x: x[:, ::-1, 1:4:2])
unary("strided_slice_shrink", lambda x: x[1, :, -1])
unary("strided_slice_new", lambda x: x[:, tf.newaxis, ..., 1:])
unary("pad", lambda x: tf.pad(x, ((0, 0), (1, 2), (0, 1))))
unary("padv2", lambda x: tf.pad(x, ((0, 0), (1, 2), (0, 1)), constant_values=0.5))
unary("mirror_pad", lambda x: tf.pad(x, ((0, 0), (1, 2), (0, 1)), "REFLECT"))
unary("mirror_pad_symmetric", lambda x: tf.pad(x, ((1, 0), (2, 1), (3, 2)), "SYMMETRIC"))
unary("tile", lambda x: tf.tile(x, (1, 2, 3)))
unary("concat", lambda x: tf.concat((x, x * 2, x), 1))
unary("split", lambda x: tf.split(x, 2, 2))
unary("split_v", lambda x: tf.split(x, (1, -1), 2))
unary("stack", lambda x: tf.stack((x, x + 1), 1))
unary("unstack", lambda x: tf.unstack(x, axis=1))
unary("shape", lambda x: tf.reshape(x, (tf.shape(x)[2], -1)))
unary("broadcast_to", lambda x: tf.broadcast_to(x[:, :1], (2, 5, 4)))
unary("matrix_diag", lambda x: tf.linalg.diag(x))
CASES["matrix_set_diag"] = (tf.linalg.set_diag, (((2, 3, 3), F), ((2, 3), F)), "float")
unary("gather", lambda x: tf.gather(x, [2, 0, 2], axis=1))
CASES["gather_batch"] = (lambda x, i: tf.gather(x, i, axis=1, batch_dims=1), (((2, 5, 3), F), ((2, 2), I, 0, 4)), "float")
unary("gather_nd", lambda x: tf.gather_nd(x, [[0, 1], [1, 2]]))
CASES["scatter_nd"] = (lambda i, u: tf.scatter_nd(i, u, (6, 2)), (((4, 1), I, 0, 5), ((4, 2), F)), "float")
CASES["one_hot"] = (lambda i: tf.one_hot(i, 5, 2.0, -1.0), (((2, 3), I, 0, 5),), "float")
CASES["embedding"] = (lambda i: tf.nn.embedding_lookup(weight(7, 4), i), (((6,), I, 0, 6),), "float")
CASES["range"] = (lambda n: tf.range(2, 9, 3) + n, (((), I, 1, 4),), "float")
CASES["fill"] = (lambda v: tf.fill((2, 3), v), (((), F),), "float")
CASES["where"] = (lambda c: tf.where(tf.constant([True, False, True])) + tf.cast(c, tf.int64), (((), I, 0, 5),), "float")
for _name in "sum prod max min".split():
    CASES["unsorted_segment_" + _name] = (
        lambda x, i, fn=getattr(tf.math, "unsorted_segment_" + _name): fn(x, i, 4),
        (((5, 3), F), ((5,), I, 0, 3)), "float")
CASES["bucketize"] = (lambda x: tf.raw_ops.Bucketize(input=x, boundaries=[-1.0, 0.0, 1.5]), (((2, 5), F),), "float")
CASES["space_to_batch"] = (lambda x: tf.space_to_batch(x, (2, 2), ((0, 0), (1, 1))), (((1, 4, 4, 3), F),), "float")
CASES["batch_to_space"] = (lambda x: tf.batch_to_space(x, (2, 2), ((0, 1), (1, 0))), (((4, 2, 3, 2), F),), "float")
CASES["dynamic_update_slice"] = (
    lambda x, u, i: tf.raw_ops.XlaDynamicUpdateSlice(input=x, update=u, indices=i) if False else
    tf.tensor_scatter_nd_update(x, tf.reshape(i, (1, 1)), u), (((4, 3), F), ((1, 3), F), ((1,), I, 0, 3)), "float")

# -- images ------------------------------------------------------------------

IMAGE = (((1, 9, 8, 4), F),)


def conv(stride=1, padding="SAME", dilation=1, groups=1, k=3, act=None):
    def fn(x):
        y = tf.nn.conv2d(x, weight(k, k, 4 // groups, 8), stride, padding, dilations=dilation)
        return (act or tf.identity)(tf.nn.bias_add(y, weight(8)))

    return fn


CASES["conv"] = (conv(), IMAGE, "float")
CASES["conv_valid"] = (conv(2, "VALID", act=tf.nn.relu6), IMAGE, "float")
CASES["conv_same_stride"] = (conv(2, act=tf.nn.relu), IMAGE, "float")
CASES["conv_dilated"] = (conv(dilation=2), IMAGE, "float")
CASES["conv_grouped"] = (conv(groups=2), IMAGE, "float")
CASES["conv_point"] = (conv(k=1), IMAGE, "float")
CASES["depthwise"] = (lambda x: tf.nn.depthwise_conv2d(x, weight(3, 3, 4, 2), (1, 2, 2, 1), "SAME"), IMAGE, "float")
CASES["conv_transpose"] = (lambda x: tf.nn.conv2d_transpose(x, weight(3, 3, 5, 4), (1, 18, 16, 5), 2, "SAME"), IMAGE, "float")
CASES["conv_transpose_valid"] = (lambda x: tf.nn.conv2d_transpose(x, weight(3, 3, 5, 4), (1, 19, 17, 5), 2, "VALID"), IMAGE, "float")
CASES["conv3d"] = (lambda x: tf.nn.conv3d(x, weight(2, 3, 3, 2, 5), (1, 1, 2, 2, 1), "SAME"), (((1, 4, 6, 5, 2), F),), "float")
CASES["conv3d_transpose"] = (lambda x: tf.nn.conv3d_transpose(x, weight(2, 2, 2, 3, 2), (1, 4, 6, 8, 3), (1, 2, 2, 2, 1), "SAME"), (((1, 2, 3, 4, 2), F),), "float")
CASES["max_pool"] = (lambda x: tf.nn.max_pool2d(x, 3, 2, "SAME"), IMAGE, "float")
CASES["avg_pool"] = (lambda x: tf.nn.avg_pool2d(x, 3, 2, "SAME"), IMAGE, "float")
CASES["lrn"] = (lambda x: tf.nn.lrn(x, 2, 1.5, 0.3, 0.6), IMAGE, "float")
CASES["depth_to_space"] = (lambda x: tf.nn.depth_to_space(x, 2), IMAGE, "float")
CASES["space_to_depth"] = (lambda x: tf.nn.space_to_depth(x[:, :8], 2), IMAGE, "float")
for _name, _kw in (("plain", {}), ("corners", {"align_corners": True}), ("centers", {"half_pixel_centers": True})):
    for _how in ("bilinear", "nearest_neighbor"):
        CASES["resize_%s_%s" % (_how, _name)] = (
            lambda x, kw=_kw, how=_how: getattr(tf.compat.v1.image, "resize_" + how)(x, (5, 13), **kw)
            if "half_pixel_centers" not in kw else
            getattr(tf.raw_ops, "ResizeBilinear" if how == "bilinear" else "ResizeNearestNeighbor")(
                images=x, size=(5, 13), align_corners=False, half_pixel_centers=True), IMAGE, "float")

# -- products ----------------------------------------------------------------

CASES["linear"] = (lambda x: tf.nn.relu(tf.matmul(x, weight(6, 5)) + weight(5)), (((3, 6), F),), "float")
CASES["linear_keep"] = (lambda x: tf.matmul(x, weight(6, 5)) + weight(5), (((2, 3, 6), F),), "float")
CASES["matmul"] = (tf.matmul, (((2, 3, 4), F), ((2, 4, 5), F)), "float")
CASES["matmul_adjoint"] = (lambda a, b: tf.matmul(a, b, transpose_b=True), (((2, 3, 4), F), ((2, 5, 4), F)), "float")
CASES["einsum"] = (lambda a, b: tf.einsum("bsd,btd->bst", a, b), (((2, 3, 4), F), ((2, 5, 4), F)), "float")


# -- control -----------------------------------------------------------------

@case(((), I, 0, 1), ((3,), F))
def if_else(c, x):
    return tf.cond(c > 0, lambda: x * 2.0, lambda: x + 1.0)


@case(((3,), F))
def while_loop(x):
    return tf.while_loop(lambda i, v: i < 5, lambda i, v: (i + 1, v * 1.5 + 0.1), (0, x))[1]


# -- small networks ----------------------------------------------------------

def keras_net(layers, shape):
    net = {}

    def fn(x):
        if "net" not in net:
            tf.keras.utils.set_random_seed(7)
            net["net"] = tf.keras.Sequential([tf.keras.Input(shape[1:], batch_size=shape[0])] + layers())
            for w in net["net"].weights:
                v = weight(*w.shape, scale=0.5)
                w.assign(1 + v / 2 if "gamma" in w.path or "variance" in w.path else v)
        return net["net"](x, training=False)

    return fn


def small_cnn():
    k = tf.keras.layers
    return [k.Conv2D(8, 3, 2, "same", use_bias=False), k.BatchNormalization(), k.ReLU(6.0),
            k.DepthwiseConv2D(3, padding="same", use_bias=False), k.BatchNormalization(), k.ReLU(),
            k.Conv2D(6, 1), k.GlobalAveragePooling2D(), k.Dense(5)]


for _mode in ("float", "int8", "dynamic", "float16", "int16"):
    CASES["cnn_" + _mode] = (keras_net(small_cnn, (1, 16, 16, 3)), (((1, 16, 16, 3), F),), _mode)
for _name in ("LSTM", "GRU", "SimpleRNN"):
    CASES[_name.lower() + "_loop"] = (
        keras_net(lambda n=_name: [getattr(tf.keras.layers, n)(6, return_sequences=True)], (2, 5, 4)),
        (((2, 5, 4), F),), "float")


def transformer():
    k = tf.keras.layers

    class Block(k.Layer):
        def build(self, shape):
            self.a = k.MultiHeadAttention(2, 4)
            self.n = k.LayerNormalization()
            self.d, self.e = k.Dense(16, activation="gelu"), k.Dense(8)

        def call(self, x):
            x = self.n(x + self.a(x, x))
            return x + self.e(self.d(x))

    return [Block()]


CASES["transformer"] = (keras_net(transformer, (1, 6, 8)), (((1, 6, 8), F),), "float")


# -- operators that the converter seldom writes, by hand ----------------------

def variable(*shape):
    return ("variable", shape)


def hand(name, code, operands, results, options=None, options2=None):
    """One operator: an operand is a spec of an input, an array, a variable or
    None; a result is (shape, dtype)."""
    CASES[name] = (hand_bytes(code, operands, results, options, options2),
                   [o for o in operands if isinstance(o, tuple) and o[0] != "variable"], "hand")


def hand_bytes(code, operands, results, options, options2):
    def make():
        import flatbuffers
        from ai_edge_litert import schema_py_generated as S

        kinds = {np.dtype("float32"): 0, np.dtype("int32"): 2, np.dtype("int64"): 4, np.dtype("bool"): 6}
        m, g, o = S.ModelT(), S.SubGraphT(), S.OperatorT()
        m.version, m.subgraphs, m.buffers = 3, [g], [S.BufferT()]
        g.tensors, g.inputs, g.outputs, g.operators = [], [], [], [o]
        o.inputs, o.outputs, o.opcodeIndex = [], [], 0
        c = S.OperatorCodeT()
        c.builtinCode = getattr(S.BuiltinOperator, code)
        c.deprecatedBuiltinCode, c.version = min(c.builtinCode, 127), 1
        m.operatorCodes = [c]

        def tensor(label, shape, dtype, data=None, is_variable=False):
            t = S.TensorT()
            t.name, t.shape, t.type = label, list(shape), kinds[np.dtype(dtype)]
            t.isVariable, t.buffer, t.hasRank = is_variable, 0, True
            if data is not None:
                b = S.BufferT()
                b.data = np.frombuffer(data.tobytes(), np.uint8)
                t.buffer = len(m.buffers)
                m.buffers.append(b)
            g.tensors.append(t)
            return len(g.tensors) - 1

        for i, x in enumerate(operands):
            if x is None:
                at = -1
            elif isinstance(x, np.ndarray):
                at = tensor("w%d" % i, x.shape, x.dtype, x)
            elif x[0] == "variable":
                at = tensor("v%d" % i, x[1], "float32", is_variable=True)
            else:
                at = tensor("a_%d" % i, x[0], x[1].as_numpy_dtype)
                g.inputs.append(at)
            o.inputs.append(at)
        for i, (shape, dtype) in enumerate(results):
            at = tensor("y_%d" % i, shape, dtype)
            o.outputs.append(at)
            g.outputs.append(at)
        for kind, given, second in ((S.BuiltinOptions, options, ""), (S.BuiltinOptions2, options2, "2")):
            if given:
                table = getattr(S, given[0] + "T")()
                for k, v in given[1].items():
                    setattr(table, k, v)
                setattr(o, "builtinOptions%sType" % second, getattr(kind, given[0]))
                setattr(o, "builtinOptions%s" % second, table)
        b = flatbuffers.Builder(1024)
        b.Finish(m.Pack(b), file_identifier=b"TFL3")
        return bytes(b.Output())

    return make


def gates(rows, columns, n=4):
    return [weight(rows, columns) * (i + 1) / 2 for i in range(n)] if columns else \
        [weight(rows) * (i + 1) / 2 for i in range(n)]


def lstm_operands(x, hidden, width):
    return [x] + gates(hidden, width) + gates(hidden, hidden) + [None] * 3 + gates(hidden, 0) + [None] * 2


_tanh = {"fusedActivationFunction": 4}
for _major in (False, True):
    hand("lstm_sequence" + ("_major" if _major else ""), "UNIDIRECTIONAL_SEQUENCE_LSTM",
         lstm_operands(((2, 3, 4), F), 5, 4) + [variable(3 if _major else 2, 5)] * 1 + [variable(3 if _major else 2, 5)]
         + [None] * 4, [((2, 3, 5), "f")], ("UnidirectionalSequenceLSTMOptions", dict(_tanh, timeMajor=_major)))
hand("lstm_both_ways", "BIDIRECTIONAL_SEQUENCE_LSTM",
     lstm_operands(((2, 3, 4), F), 5, 4) + lstm_operands(None, 5, 4)[1:] + [variable(2, 5)] * 4 + [None] * 9,
     [((2, 3, 10), "f")],
     ("BidirectionalSequenceLSTMOptions", dict(_tanh, timeMajor=False, mergeOutputs=True)))
hand("rnn_sequence", "UNIDIRECTIONAL_SEQUENCE_RNN",
     [((2, 3, 4), F), weight(5, 4), weight(5, 5), weight(5), variable(2, 5)], [((2, 3, 5), "f")],
     ("SequenceRNNOptions", dict(_tanh, timeMajor=False)))
hand("rnn_cell", "RNN", [((2, 4), F), weight(5, 4), weight(5, 5), weight(5), variable(2, 5)], [((2, 5), "f")],
     ("RNNOptions", {"fusedActivationFunction": 1}))
hand("svdf", "SVDF", [((2, 4), F), weight(6, 4), weight(6, 3), weight(3), variable(2, 18)], [((2, 3), "f")],
     ("SVDFOptions", {"rank": 2, "fusedActivationFunction": 1}))
hand("lstm_basic", "LSTM",
     [((1, 4), F), ((1, 3), F), weight(12, 7), weight(12), ((1, 3), F)],
     [((1, 3), "f"), ((1, 3), "f"), ((1, 7), "f"), ((1, 12), "f")],
     ("LSTMOptions", dict(_tanh, kernelType=1)))
hand("l2_pool", "L2_POOL_2D", [((1, 5, 6, 2), F)], [((1, 3, 3, 2), "f")],
     ("Pool2DOptions", {"padding": 0, "strideW": 2, "strideH": 2, "filterWidth": 3, "filterHeight": 2}))
hand("update_slice", "DYNAMIC_UPDATE_SLICE", [((4, 3), F), ((2, 3), F), ((2,), I, 0, 2)], [((4, 3), "f")],
     ("DynamicUpdateSliceOptions", {}))
hand("segment_sum", "SEGMENT_SUM", [((4, 3), F), np.array([0, 0, 1, 2], "i4")], [((3, 3), "f")], ("SegmentSumOptions", {}))
hand("sparse_to_dense", "SPARSE_TO_DENSE",
     [np.array([1, 3], "i4"), np.array([5], "i4"), ((2,), F), np.array(0.5, "f")], [((5,), "f")],
     ("SparseToDenseOptions", {}))
hand("dilate", "DILATE", [((2, 3), F), np.array([2, 3], "i4"), np.array(0.5, "f")], [((3, 7), "f")],
     None, ("DilateOptions", {}))
hand("prelu_alpha", "PRELU", [((1, 3, 3, 4), F), weight(1, 1, 4)], [((1, 3, 3, 4), "f")])
hand("rank", "RANK", [((2, 3), F)], [((), "i4")], ("RankOptions", {}))

# -- writing -----------------------------------------------------------------

def convert(fn, specs, mode):
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    signature = [tf.TensorSpec(s[0], s[1]) for s in specs]
    concrete = tf.function(lambda *a: fn(*a)).get_concrete_function(*signature)
    c = tf.lite.TFLiteConverter.from_concrete_functions([convert_variables_to_constants_v2(concrete)])
    if mode != "float":
        c.optimizations = [tf.lite.Optimize.DEFAULT]
    if mode == "float16":
        c.target_spec.supported_types = [tf.float16]
    if mode in ("int8", "int16"):
        r = np.random.RandomState(5)
        c.representative_dataset = lambda: ([r.uniform(-1, 1, s[0]).astype("f") for s in specs] for _ in range(8))
        ops = tf.lite.OpsSet.TFLITE_BUILTINS_INT8
        if mode == "int16":
            ops = tf.lite.OpsSet.EXPERIMENTAL_TFLITE_BUILTINS_ACTIVATIONS_INT16_WEIGHTS_INT8
        c.target_spec.supported_ops = [ops]
        c.inference_input_type = c.inference_output_type = tf.int8 if mode == "int8" else tf.int16
    return c.convert()


def draw(spec, detail, rng):
    shape, dtype = spec[0], detail["dtype"]
    low, high = spec[2:] if len(spec) > 2 else (-1, 1)
    if dtype == np.bool_:
        return rng.rand(*shape) > 0.5
    if detail["quantization_parameters"]["scales"].size:
        i = np.iinfo(dtype)
        return rng.randint(i.min, i.max + 1, shape).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return np.asarray(rng.randint(low, high + 1, shape), dtype)
    return np.asarray(rng.uniform(low, high, shape), dtype)


def arena_bytes(it):
    """The extent of what operators make and of the kernels' scratch, by their
    addresses; 0 when some of it is not in the block but allocated as the model
    runs."""
    ops = it._get_ops_details()
    sizes = {d["index"]: list(d["shape"]) for d in it.get_tensor_details()}
    if any(o["op_name"] == "RESHAPE" and len(o["inputs"]) > 1 and sizes[int(o["inputs"][1])] == [0] for o in ops):
        return 0  # a shape without elements has no buffer, so its result is allocated as the model runs
    made = {int(x) for o in ops for x in o["outputs"]} | {d["index"] for d in it.get_input_details()}
    known = made | {int(x) for o in ops for x in o["inputs"]}
    # Stored tensors that are unpacked once lie in a block of their own.
    kept = {int(o["outputs"][0]) for o in ops if o["op_name"] == "DEQUANTIZE" and int(o["inputs"][0]) not in made}
    extra = 0
    spans, scratch = [], []
    for d in it.get_tensor_details():
        try:
            a = it.tensor(d["index"])()
        except ValueError:
            if d["index"] in made:
                return 0
            continue
        if d["index"] in kept:
            extra += (a.nbytes + 63) // 64 * 64
        elif a.nbytes and d["index"] in made:
            spans.append((a.__array_interface__["data"][0], a.nbytes))
        elif a.nbytes and d["index"] not in known:
            scratch.append((a.__array_interface__["data"][0], a.nbytes))
    if not spans:
        return 0
    low = min(s[0] for s in spans)
    most = sum(s[1] + 64 for s in spans + scratch)
    # What is in the block is aligned to 64 bytes; what is allocated is to 16.
    spans += [s for s in scratch if low <= s[0] < low + most and (s[0] - low) % 64 == 0]
    extent = max(s[0] + s[1] for s in spans) - low
    return extent + extra if extent <= most else 0


def measure(data, specs):
    it = Interpreter(model_content=data, num_threads=1,
                     experimental_op_resolver_type=OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)
    it.allocate_tensors()
    arena = arena_bytes(it)
    rng = np.random.RandomState(1)
    truth = {}
    left = list(specs)
    for d in it.get_input_details():
        spec = next(x for x in left if tuple(x[0]) == tuple(d["shape"]))
        left.remove(spec)
        x = draw(spec, d, rng)
        it.set_tensor(d["index"], x)
        truth["in/" + d["name"]] = x
    it.invoke()
    for d in it.get_output_details():
        truth["out/" + d["name"]] = it.get_tensor(d["index"])
    return truth, arena


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "tests/data/tflite"
    names = sys.argv[2:] or sorted(CASES)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        fn, specs, mode = CASES[name]
        try:
            data = fn() if mode == "hand" else convert(fn, specs, mode)
            truth, arena = measure(data, specs)
        except Exception as why:  # say which, and go on
            print(name, "FAILED", str(why).split("\n")[0][:160], flush=True)
            continue
        with open(os.path.join(folder, name + ".tflite"), "wb") as f:
            f.write(data)
        np.savez(os.path.join(folder, name + ".npz"), arena=np.int64(arena), **truth)
        print(name, len(data), arena, flush=True)


if __name__ == "__main__":
    main()

"""onnx_schema_cases.py - cases for every operator version of ONNX.

cases_of(schema) yields them. A maker takes the version and yields tuples
(inputs, attributes) or (inputs, attributes, number of outputs); an input is an
array, K(array) for one that an export has as a constant, or None.
"""
import itertools

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

MAKERS = {}
rng = np.random.default_rng(3)


class Case:
    def __init__(self, schema, index, inputs, attrs, n_out):
        self.name = "%s%d_%d" % (schema.name, schema.since_version, index)
        self.domain = schema.domain
        self.feeds, self.constants, self.types, self.remarks = {}, {}, {}, []
        self.error = ""
        self.nodes = []
        names = []
        for i, v in enumerate(inputs):
            n = "%s.%d" % (self.name, i)
            if v is None:
                n = ""
            elif isinstance(v, K):
                self.constants[n] = v.value
            elif isinstance(v, Made):
                parts = {"%s.%d" % (n, j): x for j, x in enumerate(v.value)}
                self.feeds.update(parts)
                self.nodes.append(helper.make_node("SequenceConstruct", list(parts), [n]))
            elif isinstance(v, Seq):
                self.types[n] = v.type()
                self.feeds[n] = v.value
            else:
                self.feeds[n] = v
            names.append(n)
        outs = ["%s:%d" % (self.name, i) for i in range(n_out)] \
            if isinstance(n_out, int) else \
            ["%s:%d" % (self.name, i) if c == "1" else "" for i, c in enumerate(n_out)]
        self.nodes.append(helper.make_node(schema.name, names, outs, name=self.name,
                                           domain=schema.domain, **attrs))


class K:
    """A constant of the model."""
    def __init__(self, value, kind=np.int64):
        self.value = value if isinstance(value, np.ndarray) else np.array(value, kind)


class Seq:
    """A sequence of tensors, as an input."""
    def __init__(self, *value):
        self.value = list(value)

    def type(self):
        v = self.value[0]
        shape = v.shape if all(x.shape == v.shape for x in self.value) else None
        return helper.make_sequence_type_proto(helper.make_tensor_type_proto(
            helper.np_dtype_to_tensor_dtype(v.dtype), shape))


class Made:
    """A sequence that SequenceConstruct makes of inputs."""
    def __init__(self, *value):
        self.value = list(value)


def maker(*names):
    def keep(f):
        for n in names:
            assert n not in MAKERS, n
            MAKERS[n] = f
        return f
    return keep


def cases_of(schema):
    f = MAKERS.get(schema.name)
    if f is None or schema.deprecated:
        return
    wants_schema = getattr(f, "wants_schema", False)
    for i, c in enumerate(f(schema if wants_schema else schema.since_version)):
        inputs, attrs, n_out = (*c, {}, 1)[:3] if len(c) == 1 else (*c, 1)[:3]
        attrs = {k: v for k, v in attrs.items() if v is not None}
        yield Case(schema, i, inputs, attrs, n_out)


def with_schema(f):
    f.wants_schema = True
    return f


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def i64(*shape, below=2):
    return rng.integers(0, below, shape).astype(np.int64)


def u8(*shape):
    return rng.integers(0, 5, shape).astype(np.uint8)


NUMPY = {"float": np.float32, "double": np.float64, "float16": np.float16,
         "bfloat16": ml_dtypes.bfloat16, "int64": np.int64, "int32": np.int32,
         "int16": np.int16, "int8": np.int8, "uint8": np.uint8, "uint16": np.uint16,
         "uint32": np.uint32, "uint64": np.uint64, "bool": np.bool_,
         "string": np.object_, "complex64": np.complex64,
         "float8e4m3fn": ml_dtypes.float8_e4m3fn, "float8e5m2": ml_dtypes.float8_e5m2,
         "int4": ml_dtypes.int4, "uint4": ml_dtypes.uint4,
         "float4e2m1": ml_dtypes.float4_e2m1fn, "int2": ml_dtypes.int2}
SOME = ("float", "double", "float16", "bfloat16", "int64", "int32", "uint8", "bool",
        "string", "float8e4m3fn", "int4")


def types_of(schema, i=0, some=SOME):
    """Names of the types input i may have."""
    allowed = schema.inputs[i].types
    return [t for t in some if "tensor(%s)" % t in allowed]


def fill(kind, *shape):
    if kind == "string":
        return np.array(["a b"] * int(np.prod(shape)), object).reshape(shape)
    if kind == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    return rng.integers(1, 4, shape).astype(NUMPY[kind])


def consumed(schema):
    return {"consumed_inputs": [0] * schema.min_input} \
        if "consumed_inputs" in schema.attributes else {}


# -- element by element ------------------------------------------------------

@maker("Abs", "Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "BitwiseNot", "Ceil",
       "Celu", "Cos", "Cosh", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish",
       "Identity", "IsInf", "IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not",
       "Reciprocal", "Relu", "Round", "Selu", "Shrink", "Sigmoid", "Sign", "Sin", "Sinh",
       "Softplus", "Softsign", "Sqrt", "Tan", "Tanh", "ThresholdedRelu", "Swish", "Gelu",
       "Size", "Shape", "EyeLike", "NonZero", "GlobalAveragePool", "GlobalMaxPool",
       "GlobalLpPool", "LpNormalization", "Det", "Bernoulli", "RandomNormalLike",
       "RandomUniformLike", "Flatten", "Softmax", "LogSoftmax", "Hardmax",
       "MeanVarianceNormalization", "LRN", "DynamicQuantizeLinear", "Transpose", "Unique")
@with_schema
def unary(schema):
    name, v = schema.name, schema.since_version
    old = consumed(schema)
    for kind in types_of(schema):
        if name == "Det" or name == "EyeLike":
            yield [fill(kind, 3, 3)], old
        elif name.startswith("Global") or name in ("LRN", "MeanVarianceNormalization"):
            yield [fill(kind, 2, 3, 4, 5)], {"size": 3} if name == "LRN" else old
        elif name == "DynamicQuantizeLinear":
            yield [fill(kind, 2, 3)], old, 3
        else:
            yield [fill(kind, 2, 4)], old
    x = fill(types_of(schema)[0], 2, 3, 4)
    if name == "Flatten":
        for axis in (0, 1, 2, 3) + ((-1, -3) if v >= 11 else ()):
            yield [x], {"axis": axis}
        yield [f32(0, 3)],
    elif name in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization"):
        for axis in (0, 1, 2) + ((-1, -3) if v >= 11 or name[0] == "L" else ()):
            yield [x], {"axis": axis}
    elif name == "Shape" and v >= 15:
        for start, end in ((1, None), (-2, None), (0, -1), (None, 2), (1, 1), (-10, 10),
                           (2, 1), (1, 2)):
            yield [x], {"start": start, "end": end}
    elif name == "EyeLike":
        for to in (TensorProto.INT64, TensorProto.FLOAT16):
            yield [fill("int32", 3, 4)], {"dtype": to, "k": -1}
    elif name in ("Bernoulli", "RandomNormalLike", "RandomUniformLike"):
        for to in (TensorProto.DOUBLE, TensorProto.FLOAT):
            yield [x], {"dtype": to}
    elif name == "Transpose":
        yield [x], {"perm": [2, 0, 1]}
        yield [fill("float", 2, 3, 4, 5)], {"perm": [0, 3, 1, 2]}
        yield [f32()],
    elif name == "NonZero":
        yield [x],
        yield [f32(7)],
        yield [f32(3, 2, 0)],
        yield [K(np.array([[0, 3], [2, 0]], np.int64))],
        yield [np.float32(2) * np.ones((), np.float32)],
    elif name == "Unique":
        for attrs in ({"axis": 0}, {"axis": -1, "sorted": 0}, {"axis": 1}, {}):
            yield [x], attrs, 4
        yield [K(np.array([3, 1, 3, 2, 1], np.int64))], {}, 4
        yield [K(np.array([[1, 0], [1, 0], [2, 3]], np.int64))], {"axis": 0}, 4
    elif name.startswith("Global"):
        yield [f32(1, 3, 7)],
        yield [f32(2, 1, 3, 4, 5)],
    elif name == "Det":
        yield [f32(2, 3, 4, 4)],
    elif name in ("GlobalLpPool", "LRN", "MeanVarianceNormalization"):
        pass
    elif name not in ("DynamicQuantizeLinear",):
        yield [x], old
        yield [fill(types_of(schema)[0])], old
        yield [fill(types_of(schema)[0], 0, 3)], old
    if name == "MeanVarianceNormalization":
        yield [f32(2, 3, 4)], {"axes": [0, -1] if v >= 11 else [0, 2]}
    if name == "DynamicQuantizeLinear":
        yield [f32(0, 3)], {}, 3


BROADCASTS = [((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (4,)), ((4,), (2, 3, 4)),
              ((2, 1, 4), (3, 1)), ((), (2, 3)), ((2, 3), ()), ((), ()), ((1,), ()),
              ((5, 1, 3, 1), (4, 1, 2)), ((0, 3), (1, 3)), ((1, 3), (0, 1)),
              ((1,), (0,)), ((1, 1, 1), (2,))]


@maker("Add", "Sub", "Mul", "Div", "And", "Or", "Xor", "Equal", "Less", "Greater",
       "LessOrEqual", "GreaterOrEqual", "Pow", "Mod", "BitShift", "BitwiseAnd",
       "BitwiseOr", "BitwiseXor", "PRelu", "StringConcat")
@with_schema
def binary(schema):
    name, v = schema.name, schema.since_version
    kinds = types_of(schema, 0, SOME + ("uint16", "uint32"))
    extra = dict(consumed(schema))
    if name == "BitShift":
        extra["direction"] = "LEFT"
    for kind in kinds:
        at = dict(extra, fmod=1) if name == "Mod" and "float" in kind else extra
        yield [fill(kind, 2, 3), fill(kind, 2, 3)], at
    kind = kinds[0]
    at = dict(extra, fmod=1) if name == "Mod" and "float" in kind else extra
    if name == "Pow" and v >= 12:
        for a, b in itertools.product(("int64", "float", "int32"), repeat=2):
            yield [fill(a, 2, 3), fill(b, 3)],
    if name == "PRelu":
        yield [f32(2, 3, 4), f32(1)], at
        yield [f32(2, 3, 4, 5), f32(3, 1, 1) if v >= 7 else f32(3)], at
        if v >= 7:
            yield [f32(2, 3, 4), f32(4)],
            yield [f32(2, 3, 4), f32()],
        return
    if v < 7:
        for a, b, axis in (((2, 3, 4, 5), (), None), ((2, 3, 4, 5), (5,), None),
                           ((2, 3, 4, 5), (4, 5), None), ((2, 3, 4, 5), (3, 4), 1),
                           ((2, 3, 4, 5), (2,), 0), ((2, 3, 4), (1,), None),
                           ((2, 3, 4, 5), (1, 1), 0)):
            yield [fill(kind, *a), fill(kind, *b)], dict(at, broadcast=1, axis=axis)
        return
    for a, b in BROADCASTS:
        yield [fill(kind, *a), fill(kind, *b)], at


@maker("Max", "Min", "Sum", "Mean")
@with_schema
def many(schema):
    v, old = schema.since_version, consumed(schema)
    for kind in types_of(schema):
        yield [fill(kind, 2, 3)] * 3, old
    yield [f32(2, 3)], old
    if v >= 8:
        for a, b in BROADCASTS:
            yield [f32(*a), f32(*b)],
        yield [f32(3, 1), f32(4), f32(2, 1, 1), f32()],


@maker("Where")
def where(v):
    for a, b in BROADCASTS:
        yield [fill("bool", *a), f32(*b), f32(*b)],
        yield [fill("bool", *a), f32(), f32(*b)],
    yield [fill("bool", 2, 1), fill("string", 3), fill("string", 1, 3)],
    yield [fill("bool", 1, 3), fill("int64", 2, 1), fill("int64")],


@maker("Clip")
def clip(v):
    if v < 11:
        yield [f32(2, 3)], {"min": 0.0, "max": 1.0}
        yield [f32(2, 3)],
        return
    for kind in ("float",) + (("int64", "uint8") if v >= 12 else ()):
        lo, hi = fill(kind), fill(kind)
        for a, b in ((lo, hi), (None, hi), (lo, None), (None, None)):
            yield [fill(kind, 2, 3), a, b],
    yield [f32(2, 3)],


@maker("Cast")
@with_schema
def cast(schema):
    v = schema.since_version
    kinds = ["FLOAT", "DOUBLE", "FLOAT16", "INT64", "INT32", "UINT8", "BOOL", "INT8"]
    kinds += ["STRING"] * (v >= 9) + ["BFLOAT16"] * (v >= 13)
    kinds += ["FLOAT8E4M3FN", "FLOAT8E5M2"] * (v >= 19) + ["INT4", "UINT4"] * (v >= 21)
    kinds += ["FLOAT4E2M1"] * (v >= 23) + ["FLOAT8E8M0"] * (v >= 24) + ["INT2", "UINT2"] * (v >= 25)
    for k in kinds:
        yield [f32(2, 3)], {"to": k if v < 6 else TensorProto.DataType.Value(k)}
    yield [fill("bool", 4)], {"to": "FLOAT" if v < 6 else TensorProto.FLOAT}


@maker("CastLike")
def cast_like(v):
    for k in ("double", "int64", "bool", "bfloat16", "string") + (("float8e5m2",) if v >= 19 else ()) \
            + (("int4",) if v >= 21 else ()):
        yield [f32(2, 3), fill(k, 1)],


@maker("BitCast")
def bit_cast(v):
    for kind, to in (("float", "INT32"), ("int64", "DOUBLE"), ("uint8", "INT8"), ("float16", "UINT16"),
                     ("uint16", "BFLOAT16")):
        yield [fill(kind, 2, 3)], {"to": TensorProto.DataType.Value(to)}


@maker("SwiGLU")
def swiglu(v):
    yield [f32(2, 6, 8), f32(2, 6, 8)],
    yield [f32(8).astype(np.float16), f32(8).astype(np.float16)], {"alpha": 1.5}


@maker("Dropout")
def dropout(v):
    is_test = {"is_test": 1} if v < 7 else {}
    old = {"consumed_inputs": [0]} if v == 1 else {}
    if v < 12:
        yield [f32(2, 3)], dict(is_test, ratio=0.3, **old)
        yield [f32(2, 3)], dict(is_test, **old), 2
        return
    yield [f32(2, 3)],
    yield [f32(2, 3)], {}, 2
    yield [f32(2, 3), K(0.3, np.float32), K(False, bool)], {}, 2
    yield [f32(2, 3), K(0.3, np.float32), K(True, bool)], {"seed": 1}, 2


# -- products, windows -------------------------------------------------------

@maker("MatMul")
def matmul(v):
    for a, b in (((2, 3), (3, 4)), ((3,), (3, 4)), ((2, 3), (3,)), ((3,), (3,)),
                 ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)), ((5, 1, 2, 3), (4, 3, 2)),
                 ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((0, 3), (3, 4)), ((2, 0), (0, 4)),
                 ((1, 2, 3), (7, 3, 4))):
        yield [f32(*a), f32(*b)],
    if v >= 9:
        yield [fill("int32", 2, 3), fill("int32", 3, 4)],
    yield [fill("double", 2, 3), fill("double", 3, 4)],


@maker("MatMulInteger")
def matmul_integer(v):
    for a, b in (((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((3,), (3, 4)), ((5, 2, 3), (5, 3, 4))):
        yield [u8(*a), u8(*b)],
        yield [u8(*a), fill("int8", *b), np.uint8(1) * np.ones((), np.uint8)],


@maker("QLinearMatMul")
def qlinear_matmul(v):
    one = np.ones((), np.float32)
    for za, zy in ((np.uint8, np.uint8), (np.int8, np.int8), (np.uint8, np.int8)):
        yield [np.ones((2, 2, 3), za), one, np.zeros((), za), np.ones((3, 4), za), one,
               np.zeros((), za), one, np.zeros((), zy)],


@maker("Gemm")
def gemm(v):
    for ta, tb in itertools.product((0, 1), repeat=2):
        a, b = f32(*((3, 2) if ta else (2, 3))), f32(*((4, 3) if tb else (3, 4)))
        yield [a, b, f32(2, 4)], {"transA": ta, "transB": tb}
        cs = [f32(4), f32(2, 1), f32(), f32(1, 4), f32(1)] if v >= 7 else [f32(4), f32(1)]
        for c in cs:
            yield [a, b, c], {"transA": ta, "transB": tb, **({"broadcast": 1} if v < 7 else {})}
        if v >= 11:
            yield [a, b], {"transA": ta, "transB": tb, "alpha": 0.5}
    if v >= 9:
        yield [fill("int32", 2, 3), fill("int32", 3, 4), fill("int32", 4)],


@maker("Einsum")
def einsum(v):
    for text, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))),
                         ("...ij,...jk->...ik", ((5, 1, 2, 3), (4, 3, 2))), ("ii->i", ((3, 3),)),
                         ("ij->ji", ((2, 3),)), ("i,i", ((3,), (3,))), ("bij,bjk->bik", ((2, 3, 4), (2, 4, 5))),
                         ("...ii->...i", ((2, 3, 3),)), ("ij->", ((2, 3),)), ("ba", ((2, 3),)),
                         ("a...,a...->a...", ((2, 3), (2, 3))), (" i j , j k -> k i ", ((2, 3), (3, 4))),
                         ("ab,bc,cd->ad", ((2, 3), (3, 4), (4, 5))), ("...i,i->...", ((2, 4, 3), (3,))),
                         ("bhqd,bhkd->bhqk", ((2, 3, 4, 5), (2, 3, 6, 5))), ("i,j->ij", ((2,), (3,)))):
        yield [f32(*s) for s in shapes], {"equation": text}


WINDOWS = [
    dict(kernel_shape=[3, 3]),
    dict(kernel_shape=[3, 2], strides=[2, 1]),
    dict(kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
    dict(kernel_shape=[3, 3], pads=[0, 1, 2, 1], strides=[2, 3]),
    dict(kernel_shape=[3, 3], auto_pad="SAME_UPPER"),
    dict(kernel_shape=[3, 3], auto_pad="SAME_UPPER", strides=[2, 3]),
    dict(kernel_shape=[2, 3], auto_pad="SAME_LOWER", strides=[3, 2]),
    dict(kernel_shape=[3, 3], auto_pad="VALID", strides=[2, 2]),
    dict(kernel_shape=[3, 3], auto_pad="NOTSET", pads=[1, 0, 1, 0]),
    dict(kernel_shape=[1, 1], strides=[3, 3]),
]
DILATED = [
    dict(kernel_shape=[3, 3], dilations=[2, 2]),
    dict(kernel_shape=[2, 3], dilations=[3, 1], strides=[2, 2], pads=[1, 1, 1, 1]),
    dict(kernel_shape=[3, 3], dilations=[2, 2], auto_pad="SAME_UPPER", strides=[2, 2]),
    dict(kernel_shape=[3, 3], dilations=[2, 2], auto_pad="SAME_LOWER"),
]
CEIL = [dict(w, ceil_mode=1) for w in (
    dict(kernel_shape=[2, 2], strides=[2, 2]),
    dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]),
    dict(kernel_shape=[3, 3], strides=[3, 3], pads=[0, 0, 1, 1]),
    dict(kernel_shape=[2, 2], strides=[3, 3], pads=[1, 1, 1, 1]),
    dict(kernel_shape=[1, 1], strides=[2, 2]),
    dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="VALID"),
    dict(kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER"))]


@maker("AveragePool", "MaxPool", "LpPool")
@with_schema
def pool(schema):
    name, v = schema.name, schema.since_version
    windows = list(WINDOWS)
    if "dilations" in schema.attributes:
        windows += DILATED
    if "ceil_mode" in schema.attributes:
        windows += CEIL
        if "dilations" in schema.attributes:
            windows.append(dict(kernel_shape=[3, 3], dilations=[2, 2], strides=[2, 2], ceil_mode=1))
    for x in (f32(1, 2, 9, 10), f32(2, 1, 7, 7))[:2 if v in (11, 22) else 1]:
        for w in windows:
            if v == 1 and name == "LpPool":
                w = dict(w, p=2.0)
            yield [x], w
            if name == "MaxPool" and v >= 12:
                yield [x], w, 2
    if v > 1 or name != "LpPool":
        yield [f32(1, 2, 10)], dict(kernel_shape=[3], strides=[2], pads=[1, 0])
        yield [f32(1, 2, 5, 6, 7)], dict(kernel_shape=[2, 3, 2], strides=[2, 1, 2])
    if "count_include_pad" in schema.attributes:
        yield [f32(1, 2, 9, 9)], dict(kernel_shape=[3, 3], pads=[1] * 4, count_include_pad=1)
    if "storage_order" in schema.attributes:
        yield [f32(1, 2, 9, 9)], dict(kernel_shape=[3, 3], storage_order=1), 2


@maker("Conv")
def conv(v):
    for w in WINDOWS + DILATED:
        k = w["kernel_shape"]
        yield [f32(1, 4, 9, 10), f32(6, 4, *k)], w
        w = {a: b for a, b in w.items() if a != "kernel_shape"}
        yield [f32(2, 4, 9, 10), f32(6, 2, *k), f32(6)], dict(w, group=2)
    yield [f32(1, 4, 10), f32(6, 4, 3)],
    yield [f32(1, 4, 10), f32(4, 1, 3), f32(4)], dict(group=4, strides=[2], pads=[2, 0])
    yield [f32(1, 2, 5, 6, 7), f32(3, 2, 2, 2, 3)], dict(pads=[1, 0, 0, 0, 1, 0])


@maker("ConvInteger", "QLinearConv")
@with_schema
def conv_integer(schema):
    one, zero = np.ones((), np.float32), np.zeros((), np.uint8)
    for w in WINDOWS + DILATED:
        x, k = u8(1, 4, 9, 10), u8(6, 4, *w["kernel_shape"])
        if schema.name == "ConvInteger":
            yield [x, k], w
            yield [x, k, zero, zero], w
        else:
            yield [x, one, zero, k, one, zero, one, zero], w
            yield [x, one, zero, k, one, zero, one, zero, fill("int32", 6)], w


@maker("ConvTranspose")
def conv_transpose(v):
    for w in WINDOWS + DILATED + [
            dict(kernel_shape=[3, 3], strides=[2, 2], output_padding=[1, 1]),
            dict(kernel_shape=[3, 3], strides=[3, 2], output_shape=[28, 20]),
            dict(kernel_shape=[3, 3], strides=[2, 2], output_shape=[19, 20], auto_pad="SAME_UPPER"),
            dict(kernel_shape=[3, 3], strides=[3, 2], pads=[1, 1, 1, 1], output_padding=[1, 0])]:
        k = w["kernel_shape"]
        yield [f32(1, 4, 9, 10), f32(4, 6, *k)], w
        w = {a: b for a, b in w.items() if a != "kernel_shape"}
        yield [f32(2, 4, 9, 10), f32(4, 3, *k), f32(6)], dict(w, group=2)
    yield [f32(1, 4, 10), f32(4, 6, 3)], dict(strides=[2])
    yield [f32(1, 2, 3, 4, 5), f32(2, 3, 2, 2, 3)], dict(strides=[2, 1, 2])


@maker("DeformConv")
def deform_conv(v):
    yield [f32(1, 2, 7, 7), f32(3, 2, 3, 3), f32(1, 18, 5, 5)],
    yield [f32(1, 2, 7, 7), f32(3, 2, 3, 3), f32(1, 18, 4, 4), f32(3), f32(1, 9, 4, 4)], \
        dict(strides=[2, 2], pads=[1, 1, 1, 1])
    yield [f32(1, 4, 7, 7), f32(4, 2, 2, 2), f32(1, 16, 5, 5)], \
        dict(group=2, offset_group=2, dilations=[2, 2], kernel_shape=[2, 2])


@maker("CausalConvWithState")
def causal_conv(v):
    x, w = f32(2, 4, 7), f32(4, 1, 3)
    yield [x, w], {}, 2
    yield [x, w, f32(4)], {"activation": "silu"}, 2
    yield [x, w, None, f32(2, 4, 2)], {}, 2
    yield [x, w, f32(4), f32(2, 4, 2)],


@maker("MaxUnpool")
def max_unpool(v):
    x, i = f32(1, 1, 2, 2), np.array([[[[5, 7], [13, 15]]]], np.int64)
    yield [x, i], dict(kernel_shape=[2, 2], strides=[2, 2])
    yield [x, i, K([1, 1, 5, 5])], dict(kernel_shape=[2, 2], strides=[2, 2])
    yield [x, i], dict(kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 0, 0])


@maker("MaxRoiPool")
def max_roi_pool(v):
    yield [f32(1, 3, 9, 9), np.array([[0, 0, 0, 4, 4], [0, 1, 1, 5, 5]], np.float32)], \
        dict(pooled_shape=[2, 3])


@maker("RoiAlign")
def roi_align(v):
    x, r, b = f32(1, 3, 9, 9), np.array([[0, 0, 4, 4], [1, 1, 5, 5]], np.float32), np.zeros(2, np.int64)
    yield [x, r, b],
    yield [x, r, b], dict(output_height=3, output_width=2, mode="max", sampling_ratio=2)


@maker("Col2Im")
def col2im(v):
    yield [f32(1, 5, 5), K([5, 5]), K([1, 5])],
    yield [f32(2, 18, 9), K([5, 5]), K([3, 3])],
    yield [f32(1, 4, 16), K([6, 6]), K([2, 2])], dict(dilations=[1, 1], pads=[1, 1, 1, 1], strides=[2, 2])
    yield [f32(1, 10, 12), K([3, 4, 5]), K([1, 1, 5])],


@maker("GridSample")
def grid_sample(v):
    modes = ("bilinear", "nearest", "bicubic") if v < 20 else ("linear", "nearest", "cubic")
    for m in modes:
        yield [f32(2, 3, 5, 6), f32(2, 4, 7, 2)], dict(mode=m, align_corners=1)
    if v >= 20:
        yield [f32(2, 3, 5, 6, 4), f32(2, 4, 7, 3, 3)],


@maker("AffineGrid")
def affine_grid(v):
    yield [f32(2, 2, 3), K([2, 3, 5, 6])],
    yield [f32(2, 3, 4), K([2, 3, 4, 5, 6])], dict(align_corners=1)


# -- norms, recurrences, attention ---------------------------------------------

@maker("BatchNormalization")
def batch_norm(v):
    at = {"consumed_inputs": [0, 0, 0, 1, 1]} if v == 1 else {}
    if v < 7:
        at["is_test"] = 1
    for shape in ((2, 3, 4, 5), (2, 3, 4), (2, 3)):
        yield [f32(*shape)] + [np.abs(f32(3)) for _ in range(4)], dict(at, epsilon=1e-4)
    x = [f32(2, 3, 4, 5)] + [np.abs(f32(3)) for _ in range(4)]
    if v >= 14:
        yield x, {"training_mode": 1}, 3
    elif v >= 7:
        yield x, {}, 5


@maker("InstanceNormalization")
def instance_norm(v):
    at = {"consumed_inputs": [0, 0, 0]} if v == 1 else {}
    yield [f32(2, 3, 4, 5), f32(3), f32(3)], at
    yield [f32(2, 3, 4), f32(3), f32(3)], at


@maker("LayerNormalization", "RMSNormalization")
@with_schema
def layer_norm(schema):
    rest = 1 if schema.name[0] == "L" else 0
    x = f32(2, 3, 4)
    yield [x] + [f32(4)] * (1 + rest),
    yield [x, f32(4)], {"axis": -1}
    yield [x, f32(3, 4)], {"axis": 1}
    yield [x, f32(2, 3, 4)], {"axis": 0}
    if rest:
        yield [x, f32(4), f32(4)], {}, 3
        yield [x, f32(3, 4)], {"axis": -2}, 3
        yield [x, f32(3, 4)], {"axis": 1}, "101"


@maker("GroupNormalization")
def group_norm(v):
    n = 2 if v < 21 else 4
    yield [f32(2, 4, 5, 5), f32(n), f32(n)], {"num_groups": 2}
    yield [f32(2, 4, 5), f32(n), f32(n)], {"num_groups": 2}


@maker("RNN", "GRU", "LSTM")
@with_schema
def rnn(schema):
    name, v = schema.name, schema.since_version
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    outs = 3 if name == "LSTM" else 2
    for direction, d in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        w, r = f32(d, gates * 5, 3), f32(d, gates * 5, 5)
        at = {"hidden_size": 5, "direction": direction}
        if v == 1 and name != "LSTM":
            at["output_sequence"] = 1
        x = f32(4, 2, 3)
        yield [x, w, r], at, outs
        yield [x, w, r, f32(d, 2 * gates * 5)], at, outs
        yield [x, w, r, None, K([4, 2], np.int32), f32(d, 2, 5)], at, outs
        yield [x, w, r], at, "0" + "1" * (outs - 1)
        if v >= 14:
            yield [f32(2, 4, 3), w, r], dict(at, layout=1), outs
            yield [f32(2, 4, 3), w, r], dict(at, layout=1), 1
        if v >= 3:
            yield [x, w, r], at, 1


@maker("Attention")
def attention(v):
    q, k, w = f32(2, 3, 4, 8), f32(2, 3, 6, 8), f32(2, 3, 6, 10)
    yield [q, k, k],
    yield [q, k, w], {"is_causal": 1}
    yield [q, k, w, f32(4, 6)],
    yield [q, k, w, f32(2, 1, 4, 6)], {"scale": 0.3, "softcap": 2.0}
    yield [q, k, w, fill("bool", 4, 6)],
    yield [f32(2, 6, 4, 8), k, w], {}
    past_k, past_v = f32(2, 3, 5, 8), f32(2, 3, 5, 10)
    yield [q, k, w, None, past_k, past_v], {}, 3
    yield [q, k, w, f32(4, 11), past_k, past_v], {"qk_matmul_output_mode": 1}, 4
    yield [q, k, w], {"qk_matmul_output_mode": 0}, "1001"
    yield [f32(2, 4, 24), f32(2, 6, 24), f32(2, 6, 30)], {"q_num_heads": 3, "kv_num_heads": 3}
    yield [f32(2, 4, 24), f32(2, 6, 8), f32(2, 6, 10)], {"q_num_heads": 3, "kv_num_heads": 1}
    yield [f32(2, 4, 24), f32(2, 6, 24), f32(2, 6, 30), None, past_k, past_v], \
        {"q_num_heads": 3, "kv_num_heads": 3}, 3
    if v >= 24:
        yield [q, k, w, None, None, None, K([3, 6])],


@maker("LinearAttention")
def linear_attention(v):
    q, k, w = f32(2, 4, 24), f32(2, 4, 24), f32(2, 4, 30)
    at = {"q_num_heads": 3, "kv_num_heads": 3}
    yield [q, k, w], dict(at, update_rule="linear"), 2
    yield [q, k, w, f32(2, 3, 8, 10)], dict(at, update_rule="linear"), 2
    yield [q, k, w, None, f32(2, 4, 24)], dict(at, update_rule="gated"), 2


@maker("RotaryEmbedding")
def rotary(v):
    ids = i64(2, 4, below=6)
    yield [f32(2, 3, 4, 8), f32(6, 4), f32(6, 4), ids],
    yield [f32(2, 3, 4, 8), f32(2, 4, 4), f32(2, 4, 4)], {"interleaved": 1}
    yield [f32(2, 4, 24), f32(6, 4), f32(6, 4), ids], {"num_heads": 3}
    yield [f32(2, 3, 4, 8), f32(6, 2), f32(6, 2), ids], {"rotary_embedding_dim": 4}


@maker("TensorScatter")
def tensor_scatter(v):
    yield [f32(2, 3, 8, 4), f32(2, 3, 2, 4), i64(2)],
    yield [f32(2, 3, 8, 4), f32(2, 3, 2, 4)], {"mode": "circular"}
    yield [f32(2, 8, 4), f32(2, 2, 4), i64(2)], {"axis": 1}


# -- reductions ----------------------------------------------------------------

@maker("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax",
       "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "ReduceSumSquare")
@with_schema
def reduce(schema):
    name, v = schema.name, schema.since_version
    as_input = v >= (13 if name == "ReduceSum" else 18)
    shapes = [(2, 3, 4), (5,)]
    for keep in (None, 0, 1):
        for axes in (None, [1], [0, 2], [0, 1, 2]) + (([-1], [-3, -1]) if v >= 11 else ()):
            if as_input:
                yield [f32(2, 3, 4)] + ([K(axes)] if axes else []), {"keepdims": keep}
            else:
                yield [f32(2, 3, 4)], {"keepdims": keep, "axes": axes}
    if as_input:
        for noop in (0, 1):
            yield [f32(2, 3, 4), K([])], {"noop_with_empty_axes": noop}
            yield [f32(2, 3, 4)], {"noop_with_empty_axes": noop, "keepdims": 0}
        yield [f32(2, 3, 4), None], {}
    for kind in types_of(schema):
        yield [fill(kind, 2, 3)],
    yield [f32()],
    yield [f32(0, 3)], {"keepdims": 0}
    yield [f32(5)], {"keepdims": 0}


@maker("ArgMax", "ArgMin")
def argmax(v):
    for axis in (None, 0, 2) + ((-1, -3) if v >= 11 else ()):
        for keep in (None, 0):
            yield [f32(2, 3, 4)], {"axis": axis, "keepdims": keep}
    if v >= 12:
        yield [f32(2, 3, 4)], {"axis": 1, "select_last_index": 1}
    yield [fill("int32", 5)], {"keepdims": 0}


@maker("CumSum", "CumProd")
def cumsum(v):
    for axis in (0, 2, -1):
        yield [f32(2, 3, 4), K(axis, np.int32)],
        yield [f32(2, 3, 4), K(axis)], {"exclusive": 1, "reverse": 1}


@maker("TopK")
def topk(v):
    for axis in (None, 0, 1) + ((-2,) if v >= 11 else ()):
        if v < 10:
            yield [f32(5, 6)], {"k": 3, "axis": axis}, 2
        else:
            yield [f32(5, 6), K([3])], {"axis": axis}, 2
    if v >= 10:
        yield [f32(5, 6), K([0])], {}, 2
    if v >= 11:
        yield [f32(5, 6), K([2])], {"largest": 0, "sorted": 0}, 2
        yield [fill("int32", 5, 6), K([2])], {}, "01"


# -- layout ------------------------------------------------------------------

@maker("Reshape")
def reshape(v):
    for to in ([4, 6], [-1], [0, -1], [2, 0, 4], [1, 2, 3, 4, 1], [3, -1, 2], [0, 0, 2, -1]):
        yield ([f32(2, 3, 4)], {"shape": to}) if v < 5 else ([f32(2, 3, 4), K(to)],)
    if v >= 5:
        yield [f32(1, 1), K([])],
    if v >= 14:
        yield [f32(0, 3, 4), K([3, 4, 0])], {"allowzero": 1}
        yield [f32(2, 0), K([5, 0, 7])], {"allowzero": 1}


@maker("Squeeze", "Unsqueeze")
@with_schema
def squeeze(schema):
    v, un = schema.since_version, schema.name[0] == "U"
    x = f32(2, 3) if un else f32(1, 2, 1, 3, 1)
    lists = [[0], [0, 2]] + ([[2, 1], [0, 1, 4]] if un else [[0, 2, 4], None])
    if v >= 11:
        lists += [[-1], [-1, 0], [-3]]
    for axes in lists:
        if v < 13:
            yield [x], {"axes": axes}
        else:
            yield [x] + ([] if axes is None else [K(axes)]),
    if not un:
        yield ([f32(1, 1)], {}) if v < 13 else ([f32(1, 1)],)
        yield [f32(2, 3)],
    if v >= 13:
        yield [f32(1, 1), K(0)], {}


@maker("Concat")
def concat(v):
    for axis in (0, 1, 2) + ((-1, -3) if v >= 11 else ()):
        other = [2, 3, 4]
        other[axis] = 7
        yield [f32(2, 3, 4), f32(*other), f32(2, 3, 4)], {"axis": axis}
    if v < 4:
        yield [f32(2, 3), f32(2, 4)],
    yield [f32(2, 3)], {"axis": 0}
    yield [f32(0), f32(3)], {"axis": 0}
    yield [fill("int64", 2), fill("int64", 3)], {"axis": 0}


@maker("Split")
def split(v):
    x = f32(6, 7)
    for axis, split, n in ((0, None, 3), (0, [1, 5], 2), (1, [3, 4], 2), (1, [0, 7], 2),
                           (None, [2, 2, 2], 3), (None, None, 2)) + (((-1, [1, 6], 2),) if v >= 11 else ()):
        if v == 1:
            yield [x] + ([K(split)] if split else []), {"axis": axis}, n
        elif v < 13:
            yield [x], {"axis": axis, "split": split}, n
        else:
            more = {"num_outputs": n} if v >= 18 and not split else {}
            yield [x] + ([K(split)] if split else []), dict(axis=axis, **more), n
    if v >= 18:
        for axis, n in ((1, 3), (1, 4), (-1, 2), (0, 4)):
            yield [x], {"axis": axis, "num_outputs": n}, n


@maker("Slice")
def slice_(v):
    big = 1 << 40
    for starts, ends, axes in (([0, 1], [2, 3], None), ([1], [-1], [2]), ([0], [100], [1]),
                               ([-2], [big], [0]), ([0, 1], [1, 2], [2, 0]), ([5], [2], [0]), ([-100], [-1], [1])):
        if v < 10:
            yield [f32(5, 6, 7)], {"starts": starts, "ends": ends, "axes": axes}
        else:
            yield [f32(5, 6, 7), K(starts), K(ends)] + ([K(axes)] if axes else []),
    if v < 10:
        return
    for starts, ends, axes, steps in (([0], [6], [1], [2]), ([5], [0], [1], [-2]), ([-1], [-big], [0], [-1]),
                                      ([0, 6], [5, 0], [0, 2], [3, -3]), ([100], [-100], [2], [-4]),
                                      ([1], [big], [0], [100]), ([3], [3], [0], [1]), ([2], [4], [0], [-1])):
        yield [f32(5, 6, 7), K(starts), K(ends), K(axes), K(steps)],
        yield [f32(5, 6, 7), K(starts), K(ends), K([a - 3 for a in axes]), K(steps)],
    yield [f32(5, 6, 7), K([0, 1], np.int32), K([3, 3], np.int32)],
    yield [f32(5, 6, 7), K([0, 1, 0]), K([3, 3, 7]), None, K([1, 1, 2])],


@maker("Pad")
def pad(v):
    for mode in ("constant", "reflect", "edge") + (("wrap",) if v >= 19 else ()):
        for p in ([0, 1, 2, 1, 0, 2], [0, 0, 1, 0, 0, 0], [0, -1, 0, 1, 0, -2]):
            if mode != "constant" and min(p) < 0:
                continue
            if v == 1:
                yield [f32(3, 4, 5)], {"paddings": p, "mode": mode}
            elif v == 2:
                yield [f32(3, 4, 5)], {"pads": p, "mode": mode}
            else:
                yield [f32(3, 4, 5), K(p)], {"mode": mode}
    if v >= 11:
        yield [f32(3, 4, 5), K([0, 1, 2, 1, 0, 2]), K(1.5, np.float32)],
    if v >= 18:
        yield [f32(3, 4, 5), K([1, 2]), None, K([1])],
        yield [f32(3, 4, 5), K([1, 2, 3, 4]), None, K([2, 0])], {"mode": "edge"}
        yield [f32(3, 4, 5), K([1, 2]), K(0.5, np.float32), K([-1], np.int32)],


@maker("Tile")
def tile(v):
    if v == 1:
        yield [f32(2, 3), K(2.0, np.float32), K(1.0, np.float32)],
        return
    for r in ([1, 2], [3, 1], [0, 2]):
        yield [f32(2, 3), K(r)],
    yield [f32(2, 3, 4), K([2, 1, 3])],
    yield [f32(), K([])],


@maker("Expand")
def expand(v):
    for a, b in (((3, 1), [3, 4]), ((3, 1), [2, 1, 6]), ((3,), [1]), ((2, 3), [1, 1]), ((), [2, 3]),
                 ((1,), [0]), ((3, 1), [4]), ((2, 3), [])):
        yield [f32(*a), K(b)],


@maker("DepthToSpace", "SpaceToDepth")
@with_schema
def depth_to_space(schema):
    yield [f32(1, 8, 4, 6)], {"blocksize": 2}
    if schema.name[0] == "D" and schema.since_version >= 11:
        yield [f32(1, 9, 4, 6)], {"blocksize": 3, "mode": "CRD"}


@maker("Resize")
def resize(v):
    x = f32(1, 2, 5, 6)
    k = lambda *a: K(a, np.float32)
    modes = ("nearest", "linear") + (("cubic",) if v >= 11 else ())
    for mode in modes:
        for s in ((1, 1, 2, 2), (1, 1, 0.6, 0.6), (1, 1, 2.5, 1.7), (1, 1, 0.3, 0.5)):
            yield ([x, k(*s)] if v == 10 else [x, K([], np.float32), k(*s)]), {"mode": mode}
        if v >= 11:
            yield [x, K([], np.float32), K([], np.float32), K([1, 2, 7, 9])], {"mode": mode}
    if v < 11:
        return
    none = K([], np.float32) if v < 13 else None
    yield [x, k(0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9), k(1, 1, 1.5, 2)], \
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    yield [x, k(0, 0, 0.2, 0.3, 1, 1, 0.8, 0.9), none, K([1, 2, 3, 4])], \
        {"mode": "linear", "coordinate_transformation_mode": "tf_crop_and_resize"}
    yield [f32(1, 2, 5), none, k(1, 1, 1.9)],
    if v >= 18:
        yield [x, None, None, K([8, 9])], {"axes": [2, 3]}
        yield [x, None, k(1.5, 0.5)], {"axes": [3, 2], "mode": "linear"}
        for policy in ("stretch", "not_larger", "not_smaller"):
            yield [x, None, None, K([8, 7])], {"axes": [2, 3], "keep_aspect_ratio_policy": policy}
            yield [x, None, None, K([3, 3])], {"axes": [2, 3], "keep_aspect_ratio_policy": policy}
            yield [f32(1, 2, 7, 11), None, None, K([5, 9])], \
                {"axes": [2, 3], "keep_aspect_ratio_policy": policy}
        yield [x, None, k(0.6, 0.6)], {"axes": [2, 3], "antialias": 1, "mode": "linear"}


@maker("Upsample")
def upsample(v):
    for mode in ("nearest", "bilinear" if v < 9 else "linear"):
        if v == 1:
            yield [f32(1, 2, 5, 6)], {"height_scale": 2.0, "width_scale": 1.5, "mode": mode}
        elif v == 7:
            yield [f32(1, 2, 5, 6)], {"scales": [1.0, 1.0, 2.0, 1.5], "mode": mode}
        else:
            yield [f32(1, 2, 5, 6), K([1, 1, 2, 1.5], np.float32)], {"mode": mode}


@maker("CenterCropPad")
def center_crop_pad(v):
    yield [f32(20, 10, 3), K([10, 7, 3])],
    yield [f32(20, 10, 3), K([10, 12])], {"axes": [0, 1]}
    yield [f32(20, 10, 3), K([5])], {"axes": [-1]}


@maker("Trilu")
def trilu(v):
    yield [f32(2, 3, 4)],
    yield [f32(3, 4), K(1)], {"upper": 0}
    yield [fill("bool", 3, 0)],


@maker("ReverseSequence")
def reverse_sequence(v):
    yield [f32(4, 3, 2), K([4, 2, 1])],
    yield [f32(4, 3, 2), K([3, 2, 1, 1])], {"batch_axis": 0, "time_axis": 1}


# -- gather and scatter --------------------------------------------------------

@maker("Gather")
def gather(v):
    for axis, shape in ((None, (2, 3)), (1, (2,)), (2, ()), (0, (1, 1, 2))) + (((-1, (2, 3)),) if v >= 11 else ()):
        yield [f32(2, 3, 4), i64(*shape)], {"axis": axis}
        yield [f32(2, 3, 4), K(i64(*shape).astype(np.int32))], {"axis": axis}
    yield [f32(3, 0), i64(2)], {}


@maker("GatherElements")
def gather_elements(v):
    yield [f32(2, 3), i64(2, 1)], {"axis": 1}
    yield [f32(2, 3), i64(5, 3)],
    yield [f32(2, 3, 4), i64(1, 2, 7)], {"axis": -1}


@maker("GatherND")
def gather_nd(v):
    yield [f32(2, 3, 4), i64(5, 2)],
    yield [f32(2, 3, 4), i64(5, 6, 1)],
    yield [f32(2, 3, 4), i64(3)],
    yield [f32(2, 3, 4), i64(1, 1, 1, 2)],
    if v >= 12:
        yield [f32(2, 3, 4), i64(2, 1)], {"batch_dims": 1}
        yield [f32(2, 3, 4), i64(2, 3, 1)], {"batch_dims": 2}
        yield [f32(2, 3, 4), i64(2, 5, 2)], {"batch_dims": 1}


@maker("Scatter", "ScatterElements")
@with_schema
def scatter(schema):
    v = schema.since_version
    for axis in (None, 1) + ((-1,) if v >= 11 else ()):
        yield [f32(3, 4), i64(2, 3), f32(2, 3)], {"axis": axis}
    if v >= 16:
        yield [f32(3, 4), i64(2, 3), f32(2, 3)], {"reduction": "add"}


@maker("ScatterND")
def scatter_nd(v):
    yield [f32(4, 5, 6), i64(2, 1), f32(2, 5, 6)],
    yield [f32(4, 5, 6), i64(7, 3), f32(7)],
    if v >= 16:
        yield [f32(4, 5, 6), i64(7, 2), f32(7, 6)], {"reduction": "mul"}


@maker("Compress")
def compress(v):
    yield [f32(3, 4), K([1, 0, 1], bool)], {"axis": 0}
    yield [f32(3, 4), K([1, 0, 1, 1, 0], bool)],
    yield [f32(3, 4), fill("bool", 3)], {"axis": 0 if v < 11 else -2}
    yield [f32(3, 4), K([0, 1], bool)], {"axis": 1}


@maker("OneHot")
def one_hot(v):
    pair = K([0, 1], np.float32)
    for axis in (None, 0, 1, -1) + ((-2,) if v >= 11 else ()):
        yield [i64(2, 3), K(5), pair], {"axis": axis}
    yield [i64(2, 3), K([5]), K([2, 3])],
    yield [i64(), K(4), pair],
    yield [f32(3), K(4.0, np.float32), pair],


@maker("NonMaxSuppression")
def nms(v):
    boxes, scores = np.abs(f32(1, 6, 4)), np.abs(f32(1, 2, 6))
    yield [boxes, scores, K([3])],
    yield [boxes, scores, K([30]), K([0.5], np.float32), K([0.0], np.float32)],
    yield [boxes, scores],
    yield [boxes, scores, K([0])],


@maker("Range")
def range_(v):
    for kind, a, b, c in ((np.int64, 1, 10, 3), (np.float32, 1.0, 2.0, 0.3), (np.int32, 10, 1, -2),
                          (np.int64, 5, 1, 1), (np.float64, 0.0, 1.0, 0.25), (np.int64, 0, 0, 1),
                          (np.float32, 10.0, 0.0, -0.7), (np.int16, 0, 7, 2)):
        yield [K(a, kind), K(b, kind), K(c, kind)],


@maker("Constant")
def constant(v):
    yield [], {"value": numpy_helper.from_array(f32(2, 3))}
    yield [], {"value": numpy_helper.from_array(np.array(3, np.int64))}
    if v >= 12:
        yield [], {"value_float": 1.5}
        yield [], {"value_floats": [1.5, 2.5]}
        yield [], {"value_int": 3}
        yield [], {"value_ints": [3, 4, 5]}
        yield [], {"value_string": "a"}
        yield [], {"value_strings": ["a", "b"]}


@maker("ConstantOfShape")
def constant_of_shape(v):
    yield [K([2, 3])],
    yield [K([])],
    yield [K([0, 3])],
    for kind in (np.int64, np.bool_, np.float16):
        yield [K([2, 3])], {"value": numpy_helper.from_array(np.ones(1, kind))}


@maker("RandomNormal", "RandomUniform")
def random(v):
    yield [], {"shape": [2, 3]}
    yield [], {"shape": [2, 3], "dtype": TensorProto.DOUBLE}


@maker("Multinomial")
def multinomial(v):
    yield [np.abs(f32(2, 5))], {"sample_size": 7}
    yield [np.abs(f32(2, 5))], {"dtype": TensorProto.INT64}


# -- quantised -------------------------------------------------------------------

@maker("QuantizeLinear", "DequantizeLinear")
@with_schema
def quantize(schema):
    v, de = schema.since_version, schema.name[0] == "D"
    kinds = ["uint8", "int8"] + (["float8e4m3fn"] if v >= 19 else []) + \
        (["int4", "int16"] if v >= 21 else []) + (["float4e2m1"] if v >= 23 else [])
    one = np.ones((), np.float32)
    for k in kinds:
        zero = np.zeros((), NUMPY[k])
        x = fill(k, 2, 3) if de else f32(2, 3)
        yield [x, one, zero],
        if v >= 13:
            yield [x, np.ones(3, np.float32), np.zeros(3, NUMPY[k])], {"axis": 1}
            yield [x, np.ones(3, np.float32), np.zeros(3, NUMPY[k])], {"axis": -1}
    yield [fill("int32", 2, 3) if de else f32(2, 3), one],
    if v >= 21:
        x = fill("int8", 4, 6) if de else f32(4, 6)
        yield [x, np.ones((4, 2), np.float32), np.zeros((4, 2), np.int8)], {"block_size": 3, "axis": 1}
        if not de:
            yield [x, one], {"output_dtype": TensorProto.INT16}
            yield [x, one], {"output_dtype": TensorProto.UINT4}
    if v >= 19:
        half = np.ones((), np.float16)
        yield [fill("uint8", 2, 3) if de else f32(2, 3).astype(np.float16), half],
    if v >= 23:
        yield [fill("uint8", 2, 3) if de else f32(2, 3), one], \
            {"output_dtype": TensorProto.FLOAT16} if de else {"precision": TensorProto.FLOAT}


# -- signals -----------------------------------------------------------------------

@maker("BlackmanWindow", "HammingWindow", "HannWindow")
def window(v):
    yield [K(10)],
    yield [K(10, np.int32)], {"periodic": 0, "output_datatype": TensorProto.DOUBLE}
    yield [K(0)], {"output_datatype": TensorProto.FLOAT16}


@maker("MelWeightMatrix")
def mel(v):
    yield [K(8), K(16), K(8000), K(0.0, np.float32), K(4000.0, np.float32)],
    yield [K(8, np.int32), K(17, np.int32), K(8000, np.int32), K(0.0, np.float32), K(4000.0, np.float32)], \
        {"output_datatype": TensorProto.DOUBLE}


@maker("DFT")
def dft(v):
    for last in (1, 2):
        x = f32(2, 10, 6, last)
        for axis in (1, 2) + ((-2, -3) if v >= 20 else ()):
            for one in (0, 1) if last == 1 else (0,):
                for n in (None, 4, 16):
                    length = [K(n)] if n else []
                    if v < 20:
                        yield [x] + length, {"axis": axis, "onesided": one}
                    else:
                        yield [x] + (length or [None]) + [K(axis)], {"onesided": one}
        yield [f32(2, 10, 6, 2)], {"inverse": 1}
        yield [f32(2, 10, 2)],
    if v >= 20:
        yield [f32(2, 10, 6, 2), K(8), K(1)], {"inverse": 1, "onesided": 1}
        yield [f32(2, 6, 2), None, K(1)], {"inverse": 1, "onesided": 1}


@maker("STFT")
def stft(v):
    for one in (None, 0, 1):
        yield [f32(1, 128, 1), K(8), np.ones(16, np.float32)], {"onesided": one}
        yield [f32(2, 100, 1), K(7), None, K(16)], {"onesided": one}
        yield [f32(1, 128, 1), K(8), np.ones(16, np.float32), K(16)], {"onesided": one}
    yield [f32(1, 128, 2), K(8), np.ones(15, np.float32)], {"onesided": 0}


# -- losses, text ----------------------------------------------------------------

@maker("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
@with_schema
def loss(schema):
    for reduction in ("none", "mean", "sum"):
        for shape in ((4, 5), (4, 5, 3), (4, 5, 2, 3)):
            t = i64(shape[0], *shape[2:], below=5)
            yield [f32(*shape), t], {"reduction": reduction}
            yield [f32(*shape), t, f32(5)], {"reduction": reduction, "ignore_index": 1}
            if schema.name[0] == "S":
                yield [f32(*shape), t], {"reduction": reduction}, 2


@maker("RegexFullMatch")
def regex(v):
    yield [fill("string", 2, 3)], {"pattern": "a.*"}


@maker("StringSplit")
def string_split(v):
    """Without a limit the number of parts depends on the text."""
    yield [fill("string", 2, 3)], {"maxsplit": 1}, 2
    yield [fill("string", 4)], {"delimiter": ",", "maxsplit": 1}, 2


@maker("StringNormalizer")
def string_normalizer(v):
    yield [np.array(["a", "b", "c"], object)], {"case_change_action": "UPPER"}
    yield [np.array([["a", "b", "c"]], object)], {"stopwords": ["b"], "is_case_sensitive": 1}


@maker("TfIdfVectorizer")
def tfidf(v):
    at = dict(max_gram_length=2, max_skip_count=0, min_gram_length=2, mode="TF", ngram_counts=[0, 4],
              ngram_indexes=[0, 1, 2, 3, 4, 5, 6], pool_int64s=[2, 3, 5, 4, 5, 6, 7, 8, 6, 7])
    yield [fill("int32", 12)], at
    yield [fill("int32", 2, 6)], dict(at, mode="IDF")


# -- sequences, optionals ----------------------------------------------------------

@maker("SequenceConstruct")
def sequence_construct(v):
    yield [f32(2, 3), f32(2, 3)],
    yield [f32(2, 3), f32(4, 3), f32(1, 3)],
    yield [fill("int64", 2)],


@maker("SequenceEmpty")
def sequence_empty(v):
    yield [],
    yield [], {"dtype": TensorProto.INT64}


@maker("SequenceInsert")
def sequence_insert(v):
    yield [Seq(f32(2, 3), f32(2, 3)), f32(2, 3)],
    yield [Seq(f32(2, 3), f32(2, 3)), f32(2, 3), K(0)],


@maker("SequenceErase")
def sequence_erase(v):
    yield [Seq(f32(2, 3), f32(2, 3))],
    yield [Seq(f32(2, 3), f32(2, 3)), K(-2)],


@maker("SequenceAt")
def sequence_at(v):
    yield [Seq(f32(2, 3), f32(2, 3)), K(1)],
    yield [Seq(fill("int64", 2), fill("int64", 2)), K(-1, np.int32)],


@maker("SequenceLength")
def sequence_length(v):
    yield [Seq(f32(2, 3), f32(2, 3))],


@maker("ConcatFromSequence")
def concat_from_sequence(v):
    """A sequence that is fed says nothing of its length; one made here does."""
    for axis, new in ((1, 1), (-1, 1), (0, 0), (-1, 0)):
        yield [Made(f32(2, 3), f32(2, 3))], {"axis": axis, "new_axis": new}


@maker("SplitToSequence")
def split_to_sequence(v):
    yield [f32(6, 4), K(2)],
    yield [f32(6, 4), K([3, 3])], {"axis": 0}
    yield [f32(6, 4)], {"axis": 1}
    yield [f32(6, 4)], {"axis": -1, "keepdims": 0}
    yield [f32(7, 4), K(3)],


@maker("Optional")
def optional(v):
    yield [f32(2, 3)],
    yield [Seq(f32(2, 3), f32(2, 3))],


@maker("OptionalGetElement", "OptionalHasElement")
@with_schema
def optional_of(schema):
    if schema.since_version >= 18:
        yield [f32(2, 3)],
        yield [Seq(f32(2, 3), f32(2, 3))],
        if schema.name == "OptionalHasElement":
            yield [],


# -- bodies ---------------------------------------------------------------------

def info(name, *shape, kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def body(nodes, inputs, outputs, name="body"):
    return helper.make_graph([helper.make_node(*n[:3], **(n[3] if len(n) > 3 else {})) for n in nodes],
                             name, inputs, outputs)


@maker("If")
def if_(v):
    one = numpy_helper.from_array(f32(2, 3))
    branch = [body([("Constant", [], [n], {"value": one})], [], [info(n, 2, 3)], n) for n in "ab"]
    yield [fill("bool", 1)], {"then_branch": branch[0], "else_branch": branch[1]}
    yield [K([True], bool)], {"then_branch": branch[0], "else_branch": branch[1]}


@maker("Loop")
def loop(v):
    b = body([("Identity", ["c"], ["d"]), ("Add", ["x", "x"], ["y"]), ("Identity", ["x"], ["z"])],
             [info("i", kind=TensorProto.INT64), info("c", kind=TensorProto.BOOL), info("x", 2, 3)],
             [info("d", kind=TensorProto.BOOL), info("y", 2, 3), info("z", 2, 3)])
    if v > 1:
        yield [K(5), K(True, bool), f32(2, 3)], {"body": b}, 2
        yield [K(5), None, f32(2, 3)], {"body": b}, 2
    yield [K(0), K(True, bool), f32(2, 3)], {"body": b}, 2


@maker("Scan")
def scan(v):
    b = body([("Add", ["s", "x"], ["t"]), ("Identity", ["t"], ["y"])],
             [info("s", 3), info("x", 3)], [info("t", 3), info("y", 3)])
    if v == 8:
        yield [None, f32(2, 3), f32(2, 5, 3)], {"body": b, "num_scan_inputs": 1}, 2
        return
    yield [f32(3), f32(5, 3)], {"body": b, "num_scan_inputs": 1}, 2
    yield [f32(3), f32(3, 5)], {"body": b, "num_scan_inputs": 1, "scan_input_axes": [1]}, 2
    yield [f32(3), f32(5, 3)], {"body": b, "num_scan_inputs": 1, "scan_output_axes": [1]}, 2
    if v >= 11:
        yield [f32(3), f32(3, 5)], {"body": b, "num_scan_inputs": 1, "scan_input_axes": [-1],
                                    "scan_output_axes": [-1], "scan_output_directions": [1]}, 2


@maker("SequenceMap")
def sequence_map(v):
    b = body([("Add", ["x", "x"], ["y"])], [info("x", 2, 3)], [info("y", 2, 3)])
    yield [Seq(f32(2, 3), f32(2, 3))], {"body": b}


# -- ai.onnx.ml --------------------------------------------------------------------

@maker("ArrayFeatureExtractor")
def array_feature(v):
    yield [f32(3, 4), K([0, 2])],
    yield [f32(3, 4), K([[1]])],
    yield [f32(4), K([0, 2])],


@maker("Binarizer", "Imputer", "Normalizer", "Scaler")
@with_schema
def ml_unary(schema):
    at = {"Binarizer": {"threshold": 0.5}, "Imputer": {"imputed_value_floats": [0.0], "replaced_value_float": 1.0},
          "Normalizer": {"norm": "L2"}, "Scaler": {"offset": [0.0], "scale": [2.0]}}[schema.name]
    yield [f32(2, 3)], at
    yield [f32(3)], at
    if schema.name in ("Normalizer", "Scaler"):
        yield [fill("int64", 2, 3)], at


@maker("FeatureVectorizer")
def feature_vectorizer(v):
    yield [f32(2, 3), f32(2, 4)], {"inputdimensions": [3, 4]}


@maker("LabelEncoder")
def label_encoder(v):
    if v == 1:
        yield [fill("string", 2, 3)], {"classes_strings": ["a", "b"]}
        yield [fill("int64", 2, 3)], {"classes_strings": ["a", "b", "c", "d"]}
        return
    yield [fill("int64", 2, 3)], {"keys_int64s": [1, 2], "values_floats": [1.0, 2.0]}
    yield [fill("int64", 2, 3)], {"keys_int64s": [1, 2], "values_strings": ["a", "b"]}
    yield [fill("string", 3)], {"keys_strings": ["a", "b"], "values_int64s": [1, 2]}
    yield [f32(3)], {"keys_floats": [1.0, 2.0], "values_int64s": [1, 2]}
    if v >= 4:
        yield [fill("double", 3)], {"keys_tensor": numpy_helper.from_array(np.array([1.0, 2.0])),
                                    "values_tensor": numpy_helper.from_array(np.array([1, 2], np.int16))}


@maker("CategoryMapper")
def category_mapper(v):
    at = {"cats_int64s": [1, 2], "cats_strings": ["a", "b"]}
    yield [fill("string", 2, 3)], at
    yield [fill("int64", 2, 3)], at


@maker("LinearClassifier", "SVMClassifier")
@with_schema
def classifier(schema):
    if schema.name[0] == "L":
        at = {"coefficients": [1.0] * 9, "intercepts": [0.0] * 3}
    else:
        at = {"coefficients": [1.0] * 6, "support_vectors": [1.0] * 9, "vectors_per_class": [1, 1, 1],
              "rho": [0.0] * 3, "kernel_type": "LINEAR", "kernel_params": [0.1, 0.0, 3.0]}
    yield [f32(2, 3)], dict(at, classlabels_ints=[0, 1, 2]), 2
    yield [f32(2, 3)], dict(at, classlabels_strings=["a", "b", "c"]), 2


@maker("LinearRegressor")
def linear_regressor(v):
    yield [f32(2, 3)], {"coefficients": [1.0] * 3}
    yield [f32(2, 3)], {"coefficients": [1.0] * 6, "targets": 2, "intercepts": [0.0] * 2}


@maker("SVMRegressor")
def svm_regressor(v):
    yield [f32(2, 3)], {"coefficients": [1.0, 2.0], "support_vectors": [1.0] * 6, "n_supports": 2,
                        "rho": [0.0], "kernel_type": "LINEAR", "kernel_params": [0.1, 0.0, 3.0]}


@maker("OneHotEncoder")
def one_hot_encoder(v):
    yield [fill("int64", 2, 3)], {"cats_int64s": [1, 2, 3]}
    yield [fill("string", 4)], {"cats_strings": ["a b", "b"]}


TREE = dict(nodes_treeids=[0, 0, 0], nodes_nodeids=[0, 1, 2], nodes_featureids=[0, 0, 0],
            nodes_values=[0.5, 0.0, 0.0], nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
            nodes_truenodeids=[1, 0, 0], nodes_falsenodeids=[2, 0, 0])


@maker("TreeEnsembleClassifier")
def tree_classifier(v):
    at = dict(TREE, class_treeids=[0, 0, 0], class_nodeids=[1, 2, 2], class_ids=[0, 1, 2],
              class_weights=[1.0, 1.0, 0.5])
    yield [f32(2, 3)], dict(at, classlabels_int64s=[0, 1, 2]), 2
    yield [f32(2, 3)], dict(at, classlabels_strings=["a", "b", "c"]), 2


@maker("TreeEnsembleRegressor")
def tree_regressor(v):
    at = dict(TREE, target_treeids=[0, 0], target_nodeids=[1, 2], target_ids=[0, 1], target_weights=[1.0, 2.0])
    yield [f32(2, 3)], dict(at, n_targets=2)
    if v < 5:
        yield [fill("double", 2, 3)], dict(at, n_targets=2)


@maker("TreeEnsemble")
def tree_ensemble(v):
    t = numpy_helper.from_array
    yield [f32(2, 3)], dict(n_targets=2, aggregate_function=1, post_transform=0, tree_roots=[0],
                            nodes_modes=t(np.array([0], np.uint8)), nodes_featureids=[0],
                            nodes_splits=t(np.array([0.5], np.float32)), nodes_truenodeids=[0],
                            nodes_trueleafs=[1], nodes_falsenodeids=[1], nodes_falseleafs=[1],
                            leaf_targetids=[0, 1], leaf_weights=t(np.array([1.0, 2.0], np.float32)))

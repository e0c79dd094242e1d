"""One row per ONNX operator: how a valid node of it is drawn.

A row gets the draw d and the model m, whose opset is drawn already, adds nodes
and names the results. `@row("Add Sub")` serves several operators; m.op is the
one that is drawn.
"""
import numpy as np
import onnx.defs
from onnx import helper

from differential_core import (BF16, BOOL, BOUND, F16, F32, F64, FLOATS, I8, I16, I32, I64,
                               INTS, NEWEST, U8, U16, U32, U64, Model, Reject, is_float)

ROWS = {}        # "Add", "com.microsoft.FusedConv": its row
VERSIONS = {}    # the opsets it is drawn for


def row(names, domain="", first=7, last=NEWEST):
    def register(function):
        for name in names.split():
            full = f"{domain}.{name}" if domain else name
            ROWS[full] = function
            known = [NEWEST - 4] if domain or name == "SimplifiedLayerNormalization" else sorted(
                {s.since_version for s in onnx.defs.get_all_schemas_with_history()
                 if s.name == name and s.domain == "" and s.since_version <= last})
            old = [v for v in known if v < first]
            VERSIONS[full] = ([max(first, old[-1])] if old else []) + \
                [v for v in known if v >= first]
            VERSIONS[full] = sorted(set(VERSIONS[full]), reverse=True)
        return function
    return register


def drawn(name, d):
    """The model of one draw of the row `name`."""
    opset = d.pick(VERSIONS[name])
    domain, _, op = name.rpartition(".")
    m = Model(d, opset, domain)
    m.op, m.label = op, name
    ROWS[name](d, m)
    return m


# -- one element -------------------------------------------------------------

def unary(d, m, dtypes=FLOATS, kind="special", **attrs):
    dtype = d.pick(dtypes)
    x = m.feed(d.data(d.shape(), dtype, kind))
    m.result(m.node(m.op, [x], **attrs))


@row("Relu Sigmoid Tanh Softplus Softsign HardSwish Mish Erf Exp Sin Cos Atan Sinh Cosh Asinh")
def _(d, m):
    kind = "special" if d.flag(30) else "normal"
    unary(d, m, [F32, F16, F64] + ([I32, I8] if m.op == "Relu" and m.opset >= 14 else []), kind)


@row("Floor Ceil Round Reciprocal Sqrt Log Tan IsNaN")
def _(d, m):
    unary(d, m, FLOATS, "normal" if m.op == "Tan" else "special")


@row("Asin Acos Atanh")
def _(d, m):
    unary(d, m, FLOATS, "unit")


@row("Acosh")
def _(d, m):
    x = d.data(d.shape(), d.pick(FLOATS), "positive")
    m.result(m.node(m.op, [m.feed(x + 1)]))


@row("Abs Neg Sign")
def _(d, m):
    signed = [t for t in INTS if t.kind == "i"]
    dtype = d.pick([F32, F64, F16] + (INTS if m.op != "Neg" else signed))
    special = is_float(dtype) and (m.op, dtype) != ("Sign", F16)
    unary(d, m, [dtype], "special" if special else "normal")


@row("Identity")
def _(d, m):
    unary(d, m, FLOATS + INTS + [BOOL, BF16], d.pick(["normal", "special", "wide"]))


@row("Not")
def _(d, m):
    unary(d, m, [BOOL])


@row("BitwiseNot")
def _(d, m):
    unary(d, m, INTS, "wide")


@row("IsInf", first=10)
def _(d, m):
    unary(d, m, [F32, F64], "special", detect_negative=d.pick([None, 0, 1]),
          detect_positive=d.pick([None, 0, 1]))


ALPHAS = [None, 0.5, 0.25, 1.0, 2.0, 0.01]


@row("Elu Celu LeakyRelu ThresholdedRelu")
def _(d, m):
    negative = [-0.5, 0.0] if m.op in ("LeakyRelu", "ThresholdedRelu") else []
    unary(d, m, [F32, F64, F16] if m.op != "Celu" else [F32], alpha=d.pick(ALPHAS + negative))


@row("Selu")
def _(d, m):
    unary(d, m, [F32, F64, F16], alpha=d.pick(ALPHAS), gamma=d.pick(ALPHAS))


@row("HardSigmoid")
def _(d, m):
    unary(d, m, [F32, F64, F16], alpha=d.pick(ALPHAS), beta=d.pick([None, 0.25, 0.0, -0.5, 1.0]))


@row("Shrink")
def _(d, m):
    unary(d, m, [F32, F64, I32, U8], "normal", lambd=d.pick([None, 1.0, 0.25, 2.0]),
          bias=d.pick([None, 0.0, 1.0, 0.5]))


@row("Gelu")
def _(d, m):
    unary(d, m, FLOATS, approximate=d.pick([None, "none", "tanh"]))


@row("Swish")
def _(d, m):
    unary(d, m, FLOATS, "normal", alpha=d.pick([None, 1.0, 0.5, 2.0]))


@row("Clip")
def _(d, m):
    low, high = d.pick([None, -1, 0, -2, 3]), d.pick([None, 1, 6, 2, -2])
    kind = "normal" if None in (low, high) else "special"
    if None not in (low, high) and low > high and m.opset < 11:
        low = high
    if m.opset < 11:
        return unary(d, m, [F32], kind, min=None if low is None else float(low),
                     max=None if high is None else float(high))
    dtype = d.pick([F32, F64, F16] + ([I32, I64, I8, U8, U64] if m.opset >= 12 else []))
    if dtype.kind == "u":
        low, high = low and abs(low), high and abs(high)
    x = m.feed(d.data(d.shape(), dtype, kind if is_float(dtype) else d.pick(["normal", "wide"])))
    inputs = [x] + [None if v is None else m.weight(np.array(v, dtype)) for v in (low, high)]
    while inputs[-1] is None:
        inputs.pop()
    m.result(m.node("Clip", inputs))


@row("PRelu")
def _(d, m):
    dtype = d.pick([F32, F64, F16])
    shape = d.shape(1, 4)
    slope = d.broadcastable(shape)
    m.result(m.node("PRelu", [m.feed(d.data(shape, dtype)), m.weight(d.data(slope, dtype))]))


@row("Dropout")
def _(d, m):
    x = m.feed(d.data(d.shape(), d.pick(FLOATS)))
    if m.opset < 12:
        return m.result(m.node("Dropout", [x], ratio=d.pick([None, 0.25])))
    inputs = [x] + ([m.weight(np.array(0.25, F32), 90)] if d.flag() else [])
    if len(inputs) == 2 and d.flag():
        inputs.append(m.const(np.array(False)))
    if d.flag(30):
        m.result(*m.node("Dropout", inputs, 2))
    else:
        m.result(m.node("Dropout", inputs))


CASTS = [F32, F16, F64, I32, I64, I8, U8, I16, U16, U32, U64, BOOL, BF16]


@row("Cast CastLike")
def _(d, m):
    source, target = d.pick(CASTS), d.pick(CASTS)
    if m.opset < 13 and BF16 in (source, target):
        raise Reject("no bfloat16 yet")
    kind = "normal"
    if target in FLOATS or target in (BOOL, BF16):
        kind = d.pick(["normal", "special", "wide"])
    elif target.kind == "u":
        kind = "positive"    # a negative float as an unsigned integer is anything
    elif source.kind in "iu":
        kind = "wide"
    x = m.feed(d.data(d.shape(), source, kind))
    if m.op == "Cast":
        return m.result(m.node("Cast", [x], to=onnx_code(target)))
    m.result(m.node("CastLike", [x, m.feed(d.data([1], target, "positive"))]))


def onnx_code(dtype):
    from differential_core import onnx_type
    return onnx_type(dtype)


@row("BitCast")
def _(d, m):
    source, target = d.pick([(F32, I32), (I32, F32), (F64, I64), (I64, U64), (F16, I16), (U8, I8), (U32, F32)])
    x = m.feed(d.data(d.shape(), source))
    m.result(m.node("BitCast", [x], to=onnx_code(target)))


# -- several operands --------------------------------------------------------

def operands(d, m, count, dtype, kinds=("normal",)):
    """Feeds that broadcast against each other."""
    shape = d.shape()
    shapes = [shape if d.flag(30) or m.opset < 8 else d.broadcastable(shape) for _ in range(count)]
    arrays = [d.data(s, dtype, d.pick(list(kinds))) for s in shapes]
    names = [m.feed(arrays[0])] + [m.weight(a, 30) for a in arrays[1:]]
    if d.flag(20):
        names.reverse()
    return names


@row("Add Sub Mul")
def _(d, m):
    dtype = d.pick([F32, F64, F16, I32, I64] + ([I8, U8, I16, U32, U64] if m.opset >= 14 else []))
    m.result(m.node(m.op, operands(d, m, 2, dtype, ["normal", "special" if is_float(dtype) else "wide"])))


@row("Div")
def _(d, m):
    dtype = d.pick([F32, F64, F16, I32, I64] + ([I8, U8, I16] if m.opset >= 14 else []))
    shape = d.shape()
    a = d.data(shape, dtype, d.pick(["normal", "special"]))
    b = d.data(d.broadcastable(shape), dtype, "normal")
    if not is_float(dtype):
        b = np.where(b == 0, np.array(3, dtype), b)
    m.result(m.node("Div", [m.feed(a), m.weight(b, 40)]))


@row("Mod")
def _(d, m):
    dtype = d.pick([I32, I64, I8, U8, I16, U16, U32, U64, F32, F64, F16])
    shape = d.shape()
    a = d.data(shape, dtype, d.pick(["normal", "wide"]))
    b = d.data(d.broadcastable(shape), dtype, "normal")
    b = np.where(b == 0, np.array(3, dtype), b)
    fmod = 1 if is_float(dtype) else d.pick([None, 0, 1])
    if fmod and dtype in (I64, U64):
        a = a % np.array(1 << 40, dtype)    # ONNX Runtime takes a double for it
    m.result(m.node("Mod", [m.feed(a), m.weight(b, 40)], fmod=fmod))


@row("Pow")
def _(d, m):
    if m.opset < 12:
        types = [(F32, F32), (F64, F64)]
    else:
        types = [(F32, F32), (F32, I32), (F32, I64), (F64, F64), (I32, I32), (I64, I64), (I64, F32), (I32, F32), (F64, F32)]
    a, b = d.pick(types)
    shape = d.shape()
    base = d.data(shape, a, "small" if not is_float(a) or not is_float(b) else "positive")
    top = d.data(d.broadcastable(shape), b, "positive" if not is_float(a) else "small")
    if not is_float(b) or not is_float(a):
        top = (np.abs(top) % 5).astype(b)
    if is_float(b) and not is_float(a):
        base = np.abs(base)
    m.result(m.node("Pow", [m.feed(base), m.weight(top)]))
    if is_float(a):
        m.rtol, m.atol = (1e-4, 1e-5) if a != F16 else (1e-2, 1e-2)


@row("Max Min")
def _(d, m):
    dtype = d.pick([F32, F64, F16] + ([I32, I64, U32, U64] if m.opset >= 12 else []))
    kinds = ["normal", "wide"] if not is_float(dtype) else ["normal", "special"]
    m.result(m.node(m.op, operands(d, m, d.pick([2, 1, 3, 4]), dtype, kinds)))


@row("Sum Mean")
def _(d, m):
    dtype = d.pick([F32, F64] if m.op == "Sum" else [F32])
    m.result(m.node(m.op, operands(d, m, d.pick([2, 1, 3, 4]), dtype)))


@row("Equal Less Greater LessOrEqual GreaterOrEqual")
def _(d, m):
    kinds = [F32, F64, I32, I64, F16]
    if m.op in ("Less", "Greater") and m.opset < 9:
        kinds = [F32, F64]
    if m.op == "Equal":
        kinds += [BOOL] + ([I8, U8] if m.opset >= 13 else [])
        kinds = kinds if m.opset >= 11 else [I32, I64, BOOL]
    dtype = d.pick(kinds)
    m.result(m.node(m.op, operands(d, m, 2, dtype, ["normal", "special" if is_float(dtype) else "wide"])))


@row("And Or Xor")
def _(d, m):
    m.result(m.node(m.op, operands(d, m, 2, BOOL)))


@row("BitwiseAnd BitwiseOr BitwiseXor")
def _(d, m):
    m.result(m.node(m.op, operands(d, m, 2, d.pick(INTS), ["normal", "wide"])))


@row("BitShift")
def _(d, m):
    dtype = d.pick([U8, U32, U64, U16])
    shape = d.shape()
    a = d.data(shape, dtype, d.pick(["normal", "wide"]))
    b = d.data(d.broadcastable(shape), dtype, "positive") % np.array(8, dtype)
    m.result(m.node("BitShift", [m.feed(a), m.weight(b.astype(dtype), 30)], direction=d.pick(["LEFT", "RIGHT"])))


@row("Where")
def _(d, m):
    dtype = d.pick(FLOATS[:2] + [I32, I64, U8, BOOL])
    shape = d.shape()
    shapes = [d.broadcastable(shape) for _ in range(3)]
    names = [m.feed(d.data(shapes[0], BOOL))]
    names += [m.weight(d.data(s, dtype, "special"), 30) for s in shapes[1:]]
    m.result(m.node("Where", names))


# -- along axes --------------------------------------------------------------

REDUCED = {"ReduceMax": ([F32, F64, I32, I64, I8, U8, F16, BOOL], 18),
           "ReduceMin": ([F32, F64, I32, I64, I8, U8, F16, BOOL], 18)}


@row("ReduceSum ReduceMean ReduceMax ReduceMin ReduceProd ReduceL1 ReduceL2 ReduceSumSquare "
     "ReduceLogSum ReduceLogSumExp")
def _(d, m):
    types = [F32, F64, I32, I64]
    if m.op in ("ReduceMax", "ReduceMin"):
        types = [F32, F64, I32, I64] + ([I8, U8] if m.opset >= 12 else []) + ([BOOL] if m.opset >= 20 else [])
    if m.op in ("ReduceLogSum", "ReduceLogSumExp"):
        types = [F32, F64]
    dtype = d.pick(types)
    shape = d.shape(0, 4, empty=6)
    kind = "positive" if m.op == "ReduceLogSum" else "small" if m.op == "ReduceProd" else "normal"
    if kind == "normal" and is_float(dtype) and d.flag(15) and m.op == "ReduceSum":
        kind = "special"    # ONNX Runtime's ReduceMax does not see a NaN
    x = m.feed(d.data(shape, dtype, kind))
    axes = None if d.flag(15) else d.axes(len(shape), min(len(shape), 1))
    if 0 in shape:
        # ONNX Runtime does not know negative axes here, nor the mean of nothing.
        axes = axes and sorted({a % len(shape) for a in axes})
        if m.op == "ReduceMean":
            raise Reject("the mean of nothing")
    keep = d.pick([None, 0, 1])
    by_input = m.opset >= (13 if m.op == "ReduceSum" else 18)
    if not by_input:
        if axes == []:
            axes = None
        return m.result(m.node(m.op, [x], axes=axes, keepdims=keep))
    if d.flag(15):
        axes = []
    inputs = [x] if axes is None else [x, m.ints(axes)]
    noop = d.pick([None, 0, 1])
    m.result(m.node(m.op, inputs, keepdims=keep, noop_with_empty_axes=noop))


@row("ArgMax ArgMin")
def _(d, m):
    shape = d.shape(1, 4, empty=0)
    x = m.feed(d.data(shape, d.pick([F32, F64, I32, I8, U8] if m.opset >= 13 else [F32, I32]),
                      d.pick(["normal", "small"])))
    last = d.pick([None, 0, 1]) if m.opset >= 12 else None
    m.result(m.node(m.op, [x], axis=d.pick([None, d.axis(len(shape))]), keepdims=d.pick([None, 0, 1]),
                    select_last_index=last))


@row("CumSum CumProd")
def _(d, m):
    shape = d.shape(1, 4)
    dtype = d.pick([F32, F64, I32, I64])
    x = m.feed(d.data(shape, dtype, "small"))
    axis = np.array(d.axis(len(shape)), d.pick([I64, I32]))
    m.result(m.node(m.op, [x, m.weight(axis, 90)], exclusive=d.pick([None, 0, 1]), reverse=d.pick([None, 0, 1])))


@row("Softmax LogSoftmax Hardmax")
def _(d, m):
    shape = d.shape(1, 4)
    dtype = d.pick([F32, F64, F16])
    x = m.feed(d.data(shape, dtype, "normal"))
    axis = None if d.flag(20) else d.axis(len(shape))
    if axis is None and m.opset < 13 and len(shape) < 2:
        axis = 0
    m.result(m.node(m.op, [x], axis=axis))


@row("TopK", first=10)
def _(d, m):
    shape = d.shape(1, 4)
    dtype = d.pick([F32, F64, I64, I32] if m.opset >= 11 else [F32])
    axis = None if d.flag(20) else d.axis(len(shape))
    size = shape[-1 if axis is None else axis]
    k = m.weight(np.array([d.int(0, size)], I64), 85)
    x = m.feed(d.data(shape, dtype, d.pick(["normal", "wide"])))
    largest = d.pick([None, 0, 1]) if m.opset >= 11 else None
    if k in m.feeds:
        m.flags |= BOUND
    m.result(*m.node("TopK", [x, k], 2, axis=axis, largest=largest))


@row("Unique")
def _(d, m):
    shape = d.shape(1, 3)
    axis = None if d.flag() else d.axis(len(shape))
    x = m.feed(d.data(shape, d.pick([F32, I64, F64, I8]), "small"))
    m.flags |= BOUND
    m.result(*m.node("Unique", [x], 4, axis=axis, sorted=d.pick([None, 0, 1])))


# -- products ----------------------------------------------------------------

@row("MatMul")
def _(d, m):
    dtype = d.pick([F32, F64, F16] + ([I32, I64] if m.opset >= 9 else []))
    batch = d.shape(0, 2, 6, empty=2)
    rows, inner, cols = d.dim(), d.dim(), d.dim()
    a = d.broadcastable(batch) + [rows, inner]
    b = d.broadcastable(batch) + [inner, cols]
    if d.flag(3):
        inner = 0    # ONNX Runtime forgets to broadcast, or to write, then
        a, b = batch + [rows, 0], batch + [0, cols]
        m.source = "reference"
    if d.flag(15):
        a = [inner]
    if d.flag(15):
        b = [inner]
    x, y = d.data(a, dtype), d.data(b, dtype, "unit" if is_float(dtype) else "small")
    m.result(m.node("MatMul", [m.feed(x), m.weight(y)]))
    full = np.broadcast_shapes(tuple(a[:-2]), tuple(b[:-2]))
    m.macs = int(np.prod(full)) * (rows if len(a) > 1 else 1) * inner * (cols if len(b) > 1 else 1)


@row("Gemm")
def _(d, m):
    dtype = d.pick([F32, F64, F16] + ([I32] if m.opset >= 9 else []))
    rows, inner, cols = d.dim(), d.dim(), d.dim()
    ta, tb = d.pick([None, 0, 1]), d.pick([None, 0, 1])
    x = d.data([inner, rows] if ta else [rows, inner], dtype)
    w = d.data([cols, inner] if tb else [inner, cols], dtype, "unit" if is_float(dtype) else "small")
    inputs = [m.feed(x), m.weight(w)]
    if m.opset < 11 or d.flag(70):
        c = d.pick([[cols], [rows, cols], [1, cols], [rows, 1], [], [1], [1, 1]])
        inputs.append(m.weight(d.data(c, dtype)))
    scalars = [None, 1.0, 0.5, 2.0, -1.0, 0.0] if is_float(dtype) else [None, 1.0, 2.0]
    m.result(m.node("Gemm", inputs, alpha=d.pick(scalars), beta=d.pick(scalars), transA=ta, transB=tb))
    m.macs = rows * inner * cols


EQUATIONS = ["ij,jk->ik", "ij->ji", "ij,ij->", "bij,bjk->bik", "i,j->ij", "ii->i", "ij->i", "bij,bkj->bik",
             "ij,jk", "...i,...i->...", "bnij,bnjk->bnik", "ab,bc,cd->ad", "ij,j->i", "bii->b", "...ij->...ji", "i,i,i->i"]


@row("Einsum")
def _(d, m):
    equation = d.pick(EQUATIONS)
    size = {}
    inputs = []
    lead = d.shape(0, 2, 6, empty=0)
    for term in equation.split("->")[0].split(","):
        shape = list(lead) if "..." in term else []
        for c in term.replace("...", ""):
            shape.append(size.setdefault(c, d.dim(5)))
        inputs.append(m.feed(d.data(shape, F32, "small")))
    m.result(m.node("Einsum", inputs, equation=equation))


# -- convolutions and pools --------------------------------------------------

def window(d, rank, size, dilations=True, most=4, half_pad=False):
    """Attributes of a window that fits into `size`; None where left out."""
    kernel = [d.int(1, most) for _ in range(rank)]
    dilation = [d.int(1, 2) for _ in range(rank)] if dilations and d.flag(30) else None
    auto = d.pick(["NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID"]) if d.flag(25) else None
    strides = [d.int(1, 3) for _ in range(rank)] if d.flag(60) else None
    pads = None
    if auto in (None, "NOTSET") and d.flag(60):
        pads = [d.int(0, (k - 1) if half_pad else k) for k in kernel * 2]
    for i in range(rank):
        reach = (kernel[i] - 1) * (dilation[i] if dilation else 1) + 1
        if size[i] + (pads[i] + pads[rank + i] if pads else 0) < reach and \
                auto not in ("SAME_UPPER", "SAME_LOWER"):
            raise Reject("the window is larger than the image")
    if dilation and auto in ("SAME_UPPER", "SAME_LOWER"):
        dilation = None    # ONNX Runtime and onnx.reference differ
    return kernel, dict(strides=strides, pads=pads, dilations=dilation, auto_pad=auto)


def image(d, rank, most=(5, 3, 2), high=9):
    """Spatial sizes."""
    top = {1: high, 2: 7, 3: 5}[rank]
    return [d.int(1, top) for _ in range(rank)]


@row("Conv")
def _(d, m):
    rank = d.pick([2, 1, 3])
    size = image(d, rank)
    kernel, attrs = window(d, rank, size, most=3 if rank > 1 else 4)
    group = d.pick([1, 1, 2, 3])
    per, out = d.pick([1, 2, 3]), d.pick([1, 2, 3])
    dtype = d.pick([F32, F32, F32, F16, F64])
    batch = d.pick([1, 2, 0]) if d.flag(20) else 1
    x = m.feed(d.data([batch, per * group] + size, dtype))
    w = d.data([out * group, per] + kernel, dtype, "unit")
    inputs = [x, m.weight(w)]
    if d.flag():
        inputs.append(m.weight(d.data([out * group], dtype)))
    y = m.node("Conv", inputs, group=group if group > 1 or d.flag() else None,
               kernel_shape=kernel if d.flag() else None, **attrs)
    m.result(y)
    m.count = lambda outs: outs[0].size * per * int(np.prod(kernel))


@row("ConvTranspose")
def _(d, m):
    rank = d.pick([2, 1, 3])
    size = [d.int(1, 4) for _ in range(rank)]
    kernel = [d.int(1, 3) for _ in range(rank)]
    strides = [d.int(1, 3) for _ in range(rank)] if d.flag(70) else None
    dilation = [d.int(1, 2) for _ in range(rank)] if d.flag(20) else None
    group, per, out = d.pick([1, 1, 2]), d.pick([1, 2, 3]), d.pick([1, 2, 3])
    attrs = dict(strides=strides, dilations=dilation, group=group if d.flag() or group > 1 else None)
    if d.flag() and strides:
        attrs["output_padding"] = [d.int(0, max(s, dil) - 1) for s, dil in zip(strides, dilation or [1] * rank)]
    full = [(n - 1) * (strides[i] if strides else 1) + (kernel[i] - 1) * (dilation[i] if dilation else 1) + 1
            for i, n in enumerate(size)]
    mode = d.below(4)
    if mode == 1:
        attrs["pads"] = [d.int(0, 1) for _ in range(2 * rank)]
    elif mode == 2:
        attrs["auto_pad"] = d.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif mode == 3:
        attrs["output_shape"] = [max(1, n - d.int(0, 1)) for n in full]
        attrs["auto_pad"] = d.pick([None, "SAME_UPPER", "SAME_LOWER"])
        attrs.pop("output_padding", None)
    if min(full) < 3 and mode == 1:
        raise Reject("padding eats the image")
    dtype = d.pick([F32, F32, F64])
    if dtype == F64 and mode == 2:    # the reference pads by less than nothing where ONNX Runtime does not
        attrs["strides"] = attrs["output_padding"] = None
    x = m.feed(d.data([d.pick([1, 2]), per * group] + size, dtype))
    inputs = [x, m.weight(d.data([per * group, out] + kernel, dtype, "unit"))]
    if d.flag() and (dtype == F32 or group == 1):    # the reference gives groups one bias
        inputs.append(m.weight(d.data([out * group], dtype)))
    m.result(m.node("ConvTranspose", inputs, kernel_shape=kernel if d.flag() else None, **attrs))


@row("MaxPool AveragePool LpPool")
def _(d, m):
    rank = d.pick([2, 1, 3] + [3] * (m.op == "LpPool"))    # few of three axes stay small
    size = image(d, rank)
    dilated = m.opset >= {"MaxPool": 10, "AveragePool": 19, "LpPool": 18}[m.op]
    kernel, attrs = window(d, rank, size, dilated, 3, half_pad=True)
    if m.opset >= {"MaxPool": 10, "AveragePool": 10, "LpPool": 18}[m.op] and \
            attrs["auto_pad"] in (None, "NOTSET"):
        attrs["ceil_mode"] = d.pick([None, 0, 1])
    if m.op == "AveragePool":
        attrs["count_include_pad"] = d.pick([None, 0, 1])
    if m.op == "LpPool":
        attrs["p"] = d.pick([None, 1, 2, 3])
    dtypes = [F32, F32, F64, F16] + ([I8, U8] if m.opset >= 12 and m.op == "MaxPool" else [])
    dtype = d.pick(dtypes) if m.op != "LpPool" else F32
    if attrs["auto_pad"] in ("SAME_UPPER", "SAME_LOWER") and (dtype != F32 or rank == 3 or m.op == "LpPool"):
        attrs["strides"] = None    # ONNX Runtime pads by less than nothing
    if m.op == "AveragePool" and dtype == F64:
        attrs["ceil_mode"] = None    # the reference then pads in front
    x = m.feed(d.data([d.pick([1, 2]), d.pick([1, 2, 3])] + size, dtype))
    if m.op == "MaxPool" and m.opset >= 8 and d.flag(30):
        attrs["storage_order"] = d.pick([None, 0, 1])
        m.result(*m.node(m.op, [x], 2, kernel_shape=kernel, **attrs))
    else:
        m.result(m.node(m.op, [x], kernel_shape=kernel, **attrs))


@row("GlobalAveragePool GlobalMaxPool GlobalLpPool")
def _(d, m):
    dtype = d.pick([F32, F32, F64, F16])
    x = m.feed(d.data([d.pick([1, 2]), d.pick([1, 2, 3])] + image(d, d.pick([2, 1, 3])), dtype))
    m.result(m.node(m.op, [x], p=d.pick([None, 1, 2, 3]) if m.op == "GlobalLpPool" else None))


@row("MaxUnpool")
def _(d, m):
    rank = d.pick([2, 1, 3])
    size = [d.int(1, 3) for _ in range(rank)]
    kernel = [d.int(1, 3) for _ in range(rank)]
    strides = [d.int(1, 3) for _ in range(rank)]
    shape = [1, d.pick([1, 2])] + size
    total = int(np.prod(shape[:2])) * int(np.prod([(n - 1) * s + k for n, s, k in zip(size, strides, kernel)]))
    planes, n = int(np.prod(shape[:2])), int(np.prod(size))
    plane = total // planes
    if plane < n:
        raise Reject("too small")
    at = (np.arange(n, dtype=I64) * (plane // n) + plane * np.arange(planes, dtype=I64)[:, None]).reshape(shape)
    inputs = [m.feed(d.data(shape)), m.feed(at)]
    m.result(m.node("MaxUnpool", inputs, kernel_shape=kernel, strides=strides))


@row("DeformConv")
def _(d, m):
    size, kernel = [d.int(2, 5) for _ in range(2)], [d.int(1, 3) for _ in range(2)]
    strides, pads = [d.int(1, 2) for _ in range(2)], [d.int(0, 1) for _ in range(4)]
    dilation = [d.int(1, 2) for _ in range(2)]
    group, offsets = d.pick([1, 2]), d.pick([1, 2])
    out = [(n + pads[i] + pads[i + 2] - (k - 1) * dil - 1) // s + 1
           for i, (n, k, dil, s) in enumerate(zip(size, kernel, dilation, strides))]
    if min(out) < 1:
        raise Reject("no output")
    channels = 2 * d.pick([1, 2])
    batch = d.pick([1, 2])
    taps = kernel[0] * kernel[1]
    inputs = [m.feed(d.data([batch, channels] + size)),
              m.weight(d.data([2 * group, channels // group] + kernel, F32, "unit")),
              m.feed(d.data([batch, offsets * taps * 2] + out, F32, "unit"))]
    if d.flag():
        inputs.append(m.weight(d.data([2 * group])))
    elif d.flag():
        inputs.append(None)
    if len(inputs) == 4 and d.flag():
        inputs.append(m.feed(d.data([batch, offsets * taps] + out, F32, "unit")))
    while inputs[-1] is None:
        inputs.pop()
    m.result(m.node("DeformConv", inputs, group=group, offset_group=offsets, strides=strides, pads=pads,
                    dilations=dilation, kernel_shape=kernel if d.flag() else None))


# -- norms -------------------------------------------------------------------

EPSILONS = [None, 1e-5, 0.1, 1e-3]


@row("BatchNormalization")
def _(d, m):
    shape = [d.pick([1, 2, 3]), d.pick([1, 2, 3])] + [d.int(1, 4) for _ in range(d.pick([2, 1, 0, 3]))]
    dtype = d.pick([F32, F32, F64])
    c = [shape[1]]
    inputs = [m.feed(d.data(shape, dtype))] + [m.weight(d.data(c, dtype)) for _ in range(3)]
    inputs.append(m.weight(d.data(c, dtype, "positive")))
    m.result(m.node(m.op, inputs, epsilon=d.pick(EPSILONS)))


@row("InstanceNormalization")
def _(d, m):
    shape = [d.pick([1, 2, 3]), d.pick([1, 2, 3])] + [d.int(1, 4) for _ in range(d.pick([2, 1, 3]))]
    inputs = [m.feed(d.data(shape))] + [m.weight(d.data([shape[1]])) for _ in range(2)]
    m.result(m.node(m.op, inputs, epsilon=d.pick(EPSILONS)))
    m.rtol, m.atol = 2e-3, 2e-3


@row("LayerNormalization RMSNormalization")
def _(d, m):
    shape = d.shape(1, 4, empty=0)
    axis = None if d.flag(20) else d.axis(len(shape))
    start = -1 if axis is None else axis
    tail = shape[start:]
    dtype = d.pick([F32, F32, F64, F16])
    inputs = [m.feed(d.data(shape, dtype)), m.weight(d.data(tail, dtype))]
    if m.op == "LayerNormalization" and d.flag(60):
        inputs.append(m.weight(d.data(tail, dtype)))
    outs = d.pick([1, 1, 3]) if m.op == "LayerNormalization" else 1
    names = m.node(m.op, inputs, outs, axis=axis, epsilon=d.pick(EPSILONS))
    m.result(*([names] if outs == 1 else names))
    m.rtol, m.atol = (2e-3, 2e-3) if dtype != F16 else (3e-2, 3e-2)


@row("GroupNormalization", first=21)
def _(d, m):
    groups = d.pick([1, 2, 3])
    channels = groups * d.pick([1, 2, 3])
    shape = [d.pick([1, 2]), channels] + [d.int(1, 4) for _ in range(d.pick([2, 1, 3]))]
    inputs = [m.feed(d.data(shape))] + [m.weight(d.data([channels])) for _ in range(2)]
    m.result(m.node(m.op, inputs, num_groups=groups, epsilon=d.pick(EPSILONS)))
    m.rtol, m.atol = 2e-3, 2e-3


@row("LRN")
def _(d, m):
    shape = [d.pick([1, 2]), d.int(1, 7)] + [d.int(1, 3) for _ in range(d.pick([2]))]
    m.result(m.node("LRN", [m.feed(d.data(shape))], size=d.pick([1, 3, 5, 7]), alpha=d.pick([None, 0.5, 2.0]),
                    beta=d.pick([None, 0.5, 1.0]), bias=d.pick([None, 2.0, 0.5])))


@row("LpNormalization")
def _(d, m):
    shape = d.shape(1, 4, empty=0)
    dtype = d.pick([F32, F64])
    x = d.data(shape, dtype)
    if d.flag(20):
        x = np.zeros_like(x)
    m.result(m.node(m.op, [m.feed(x)], axis=None if d.flag(20) else d.axis(len(shape)), p=d.pick([None, 1, 2])))


@row("MeanVarianceNormalization")
def _(d, m):
    shape = [d.pick([1, 2, 3]), d.int(1, 3), d.int(1, 4), d.int(1, 4)]
    axes = d.pick([None, [0, 2, 3], [1], [0, 1, 2, 3], [2, 3]])
    m.source = "reference"    # ONNX Runtime has no epsilon
    m.result(m.node(m.op, [m.feed(d.data(shape))], axes=axes))
    m.rtol, m.atol = 2e-3, 2e-3


# -- views and moves ---------------------------------------------------------

MOVED = [F32, I64, F64, F16, I32, U8, BOOL, I8, BF16]


def any_tensor(d, m, low=0, high=4, dtypes=MOVED, **how):
    dtype = d.pick(dtypes)
    shape = d.shape(low, high, **how)
    return m.feed(d.data(shape, dtype, "wide" if dtype == I64 else "normal")), shape, dtype


@row("Concat")
def _(d, m):
    dtype, shape = d.pick(MOVED), d.shape(1, 4, 30)
    axis = d.axis(len(shape))
    names = []
    for _ in range(d.int(1, 4)):
        part = list(shape)
        part[axis] = d.pick([1, 2, 3, 0])
        names.append(m.weight(d.data(part, dtype), 20))
    m.result(m.node("Concat", names, axis=axis))


@row("Split")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1)
    axis = None if d.flag(20) else d.axis(len(shape))
    size = shape[axis or 0]
    parts = d.int(1, 4)
    cuts = sorted(d.int(0, size) for _ in range(parts - 1))
    sizes = [b - a for a, b in zip([0] + cuts, cuts + [size])]
    if m.opset < 13:
        attr, inputs = sizes, [x]
    else:
        attr, inputs = None, [x, m.ints(sizes)]
    if d.flag(40):
        attr, inputs = None, [x]
        if m.opset < 18 and size % parts:
            raise Reject("uneven")
        if m.opset < 18 and size == 0:
            raise Reject("nothing to split")
        if m.opset >= 18 and (size < parts or -(-size // parts) * (parts - 1) >= size):
            raise Reject("a part of no elements")
    if inputs[-1] in m.feeds and len(inputs) == 2:
        m.flags |= BOUND
    count = parts if m.opset >= 18 and len(inputs) == 1 else None
    names = m.node("Split", inputs, parts, axis=axis, split=attr, num_outputs=count)
    m.result(*([names] if parts == 1 else names))


@row("Slice")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1)
    axes = d.axes(len(shape), 1)
    starts = [d.int(-shape[a] - 1, shape[a] + 1) if d.flag(80) else d.pick([0, 1 << 40, -(1 << 40)]) for a in axes]
    ends = [d.int(-shape[a] - 1, shape[a] + 1) if d.flag(80) else d.pick([1 << 62, -(1 << 62), 1 << 31]) for a in axes]
    if m.opset < 10:
        return m.result(m.node("Slice", [x], starts=starts, ends=ends, axes=axes))
    kind = I64
    inputs = [x, m.ints(starts, kind), m.ints(ends, kind)]
    plain = axes == list(range(len(axes)))
    if not plain or d.flag():
        inputs.append(m.ints(axes, kind))
    if d.flag() and len(inputs) == 4:
        inputs.append(m.ints([d.pick([1, -1, 2, -2, 3]) for _ in axes], kind))
    if any(i in m.feeds for i in inputs[1:]):
        m.flags |= BOUND
    m.result(m.node("Slice", inputs))


def factors(d, n, count):
    """`count` numbers whose product is n."""
    out = []
    for _ in range(count - 1):
        f = d.pick([k for k in range(1, n + 1) if n % k == 0])
        out.append(f)
        n //= f
    return out + [n]


@row("Reshape")
def _(d, m):
    x, shape, _ = any_tensor(d, m)
    n = int(np.prod(shape))
    allow = None
    if n == 0:
        target, allow = d.pick([([0], 1), ([0, 3], 1), (list(shape), 1)] if m.opset >= 14 else [(list(shape), None)])
    else:
        target = factors(d, n, d.int(1, 4)) if n > 1 or d.flag(80) else []
        for i, t in enumerate(target):
            if i < len(shape) and shape[i] == t and d.flag(30):
                target[i] = 0
        if target and d.flag(40):
            target[d.below(len(target))] = -1
    shape_in = m.ints(target)
    if shape_in in m.feeds:
        m.flags |= BOUND
    m.result(m.node("Reshape", [x, shape_in], allowzero=allow))


@row("Flatten")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1, 4, MOVED if m.opset >= 13 else [F32, F64])
    axis = d.int(0, len(shape))
    if m.opset >= 11 and d.flag(30) and axis < len(shape):
        axis -= len(shape)
    m.result(m.node("Flatten", [x], axis=None if d.flag(20) else axis))


@row("Transpose")
def _(d, m):
    x, shape, _ = any_tensor(d, m)
    perm, rest = [], list(range(len(shape)))
    while rest:
        perm.append(rest.pop(d.below(len(rest))))
    m.result(m.node("Transpose", [x], perm=None if d.flag(20) else perm))


@row("Expand")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 0, 4, most=12)
    target = [n if n != 1 else d.pick([1, 2, 3]) for n in shape]
    target = [1 if d.flag(20) else n for n in target]
    target = [d.pick([1, 2]) for _ in range(d.int(0, 2))] + target
    if d.flag(20):
        target = target[d.below(len(target) + 1):]
    s = m.ints(target)
    if s in m.feeds:
        m.flags |= BOUND
    m.result(m.node("Expand", [x, s]))


@row("Squeeze")
def _(d, m):
    x, shape, _ = any_tensor(d, m)
    ones = [i for i, n in enumerate(shape) if n == 1]
    axes = None if d.flag(30) else [a - len(shape) if d.flag(30) and m.opset >= 11 else a for a in ones if d.flag(70)]
    if not axes:
        axes = None
    if m.opset < 13:
        return m.result(m.node("Squeeze", [x], axes=axes))
    inputs = [x] if axes is None else [x, m.ints(axes)]
    m.result(m.node("Squeeze", inputs))
    m.flags |= BOUND if inputs[-1] != x and inputs[-1] in m.feeds else 0


@row("Unsqueeze")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 0, 3)
    rank = len(shape) + d.int(1, 3)
    axes = d.axes(rank, rank - len(shape), rank - len(shape))
    if m.opset < 11:
        axes = sorted(a % rank for a in axes)
    if m.opset < 13:
        return m.result(m.node("Unsqueeze", [x], axes=axes))
    a = m.ints(axes)
    m.flags |= BOUND if a in m.feeds else 0
    m.result(m.node("Unsqueeze", [x, a]))


@row("Tile")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1, 3, [F32, I64, F64, I32, U8, BOOL], most=12)
    r = m.ints([d.pick([1, 2, 3, 0] if d.flag(20) else [1, 2]) for _ in shape])
    m.flags |= BOUND if r in m.feeds else 0
    m.result(m.node("Tile", [x, r]))


@row("Pad")
def _(d, m):
    mode = d.pick([None, "constant", "reflect", "edge", "wrap"] if m.opset >= 19 else [None, "constant", "reflect", "edge"])
    x, shape, dtype = any_tensor(d, m, 1, 4, [F32, I64, F64, I32, U8, I8] if m.opset >= 13 else [F32], most=24, empty=0)
    axes = None
    if m.opset >= 18 and d.flag(30):
        axes = d.axes(len(shape), 1)
    sizes = [shape[a] for a in axes] if axes else shape
    rank = len(sizes)
    if mode == "reflect":
        pads = [d.int(0, n - 1) for n in sizes * 2]
    else:
        low = -1 if mode in (None, "constant") and min(sizes) > 2 else 0
        pads = [d.int(low, 2) for _ in range(2 * rank)]
        if mode == "wrap":
            pads = [min(p, n) for p, n in zip(pads, sizes * 2)]
    value = d.pick([None, 0, 3, -2 if dtype.kind != "u" else 2])
    if m.opset < 11:
        return m.result(m.node("Pad", [x], mode=mode, pads=pads, value=None if value is None else float(value)))
    p = m.ints(pads)
    inputs = [x, p, None if value is None else m.weight(np.array(value, dtype))]
    if axes:
        inputs.append(m.ints(axes))
    while inputs[-1] is None:
        inputs.pop()
    m.flags |= BOUND if p in m.feeds or (axes and inputs[-1] in m.feeds) else 0
    m.result(m.node("Pad", inputs, mode=mode))


@row("DepthToSpace SpaceToDepth")
def _(d, m):
    block = d.pick([1, 2, 3])
    n, c, h, w = d.pick([1, 2]), d.pick([1, 2]), d.pick([1, 2]), d.pick([1, 2])
    dtype = d.pick([F32, F64] + ([U8] if m.opset >= 13 else []))
    if m.op == "DepthToSpace":
        x = d.data([n, c * block * block, h, w], dtype)
        mode = d.pick([None, "DCR", "CRD"]) if m.opset >= 11 else None
        return m.result(m.node(m.op, [m.feed(x)], blocksize=block, mode=mode))
    m.result(m.node(m.op, [m.feed(d.data([n, c, h * block, w * block], dtype))], blocksize=block))


@row("Trilu")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 2, 4, [F32, I64, F64, BOOL])
    inputs = [x] + ([m.weight(np.array(d.int(-4, 4), I64), 85)] if d.flag(70) else [])
    m.result(m.node("Trilu", inputs, upper=d.pick([None, 0, 1])))


@row("ReverseSequence")
def _(d, m):
    t, b = d.int(1, 5), d.int(1, 4)
    first = d.flag()
    shape = ([b, t] if first else [t, b]) + d.shape(0, 2, 6, 0)
    lens = np.array([d.int(1, t) for _ in range(b)], I64)
    x = m.feed(d.data(shape, d.pick([F32, I64, F64, U8])))
    m.result(m.node(m.op, [x, m.weight(lens)], batch_axis=0 if first else d.pick([None, 1]), time_axis=1 if first else d.pick([None, 0])))


@row("CenterCropPad")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1, 3, [F32, I64], empty=0)
    axes = None if d.flag() else d.axes(len(shape), 1)
    n = len(axes) if axes else len(shape)
    m.result(m.node(m.op, [x, m.const(np.array([d.int(1, 6) for _ in range(n)], I64))], axes=axes))


@row("Col2Im")
def _(d, m):
    rank = d.pick([2, 1, 3])
    size = [d.int(1, 5) for _ in range(rank)]
    kernel, dil = [d.int(1, 3) for _ in range(rank)], [d.int(1, 2) for _ in range(rank)]
    stride, pads = [d.int(1, 2) for _ in range(rank)], [d.int(0, 1) for _ in range(2 * rank)]
    out = [(size[i] + pads[i] + pads[rank + i] - dil[i] * (kernel[i] - 1) - 1) // stride[i] + 1 for i in range(rank)]
    if min(out) < 1:
        raise Reject("no window")
    x = d.data([d.pick([1, 2]), d.pick([1, 2]) * int(np.prod(kernel)), int(np.prod(out))])
    if max(dil) > 1:
        m.source = "reference"    # ONNX Runtime forgets dilations of more than two axes
    m.result(m.node(m.op, [m.feed(x), m.const(np.array(size, I64)), m.const(np.array(kernel, I64))],
                    dilations=dil, strides=stride, pads=pads))


# -- indices -----------------------------------------------------------------

def indices(d, shape, size, dtype=I64):
    if size == 0:
        raise Reject("nothing to point at")
    n = int(np.prod(shape))
    at = [d.int(-size if d.flag(20) else 0, size - 1) for _ in range(min(n, 6))]
    return np.resize(np.array(at or [0], dtype), n).reshape(shape)


@row("Gather")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1, most=30)
    axis = None if d.flag(20) else d.axis(len(shape))
    at = indices(d, d.shape(0, 2, 6), shape[axis or 0], d.pick([I64, I32]))
    if m.opset < 11:
        at = np.abs(at) % shape[axis or 0]
    m.result(m.node("Gather", [x, m.weight(at)], axis=axis))


@row("GatherElements")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1, 3, most=30)
    axis = None if d.flag(20) else d.axis(len(shape))
    where = [d.int(1, n) if n else 0 for n in shape]
    where[axis or 0] = d.int(1, 4)
    if 0 in shape:
        raise Reject("nothing to point at")
    m.result(m.node(m.op, [x, m.weight(indices(d, where, shape[axis or 0], d.pick([I64, I32])))], axis=axis))


@row("GatherND")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1, 4, [F32, I64, F64], empty=0)
    batch = d.int(0, len(shape) - 1) if m.opset >= 12 else 0
    depth = d.int(1, len(shape) - batch)
    lead = shape[:batch] + d.shape(0 if batch else 1, 2, 4, 0)
    at = np.stack([indices(d, lead, shape[batch + i]) for i in range(depth)], -1)
    if m.opset < 12:
        at = np.abs(at)
        at = np.minimum(at, np.array([shape[i] - 1 for i in range(depth)]))
    m.result(m.node(m.op, [x, m.weight(at)], batch_dims=(batch or None)))


@row("ScatterElements Scatter")
def _(d, m):
    if m.op == "Scatter" and m.opset > 10:
        m.opset = 10
    dtype = d.pick([F32, I64, F64, I32])
    shape = d.shape(1, 3, 30, 0)
    axis = None if d.flag(20) else d.axis(len(shape))
    where = [d.int(1, n) for n in shape]
    reduction = None
    if m.opset >= 18:
        reduction = d.pick([None, "none", "add", "mul", "max", "min"])
    elif m.opset >= 16:
        reduction = d.pick([None, "none", "add", "mul"])
    size = shape[axis or 0]
    line = where[axis or 0]
    # Two writes to one place have no order, unless they are combined.
    order, rest = [], list(range(size))
    for _ in range(line):
        order.append(rest.pop(d.below(len(rest))))
    if reduction not in (None, "none"):
        order = [d.below(size) for _ in range(line)]
    at = np.array(order, d.pick([I64, I32])).reshape([line if i == (axis or 0) % len(shape) else 1 for i in range(len(shape))])
    at = np.broadcast_to(at, where).copy()
    if m.opset >= 11 and d.flag(30):
        at = at - np.array(size, at.dtype)
    inputs = [m.feed(d.data(shape, dtype)), m.weight(at), m.feed(d.data(where, dtype))]
    m.result(m.node(m.op, inputs, axis=axis, reduction=reduction))


@row("ScatterND")
def _(d, m):
    dtype = d.pick([F32, I64, F64])
    shape = d.shape(1, 3, 30, 0)
    depth = d.int(1, len(shape))
    reduction = d.pick([None, "add", "mul"] + (["max", "min"] if m.opset >= 18 else [])) if m.opset >= 16 else None
    places = int(np.prod(shape[:depth]))
    count = d.int(1, min(places, 4))
    rest = list(range(places))
    flat = [rest.pop(d.below(len(rest))) for _ in range(count)]
    if reduction:
        flat = [d.below(places) for _ in range(count)]
    at = np.stack(np.unravel_index(flat, shape[:depth]), -1).astype(I64)
    inputs = [m.feed(d.data(shape, dtype)), m.weight(at), m.feed(d.data([count] + shape[depth:], dtype))]
    m.result(m.node(m.op, inputs, reduction=reduction))


@row("Compress")
def _(d, m):
    x, shape, _ = any_tensor(d, m, 1, 3, [F32, I64, F64, U8], empty=0)
    axis = None if d.flag(30) else d.axis(len(shape))
    n = int(np.prod(shape)) if axis is None else shape[axis]
    keep = m.weight(d.data([d.int(1, n)], BOOL))
    m.flags |= BOUND
    m.result(m.node("Compress", [x, keep], axis=axis))


@row("NonZero")
def _(d, m):
    x, _, _ = any_tensor(d, m, 1, 3, [F32, I64, BOOL, I32, U8])
    m.flags |= BOUND
    m.result(m.node("NonZero", [x]))


@row("OneHot")
def _(d, m):
    kind, on = d.pick([I64, I32, F32]), d.pick([F32, I64, I32])
    depth = d.int(1, 5)
    shape = d.shape(1, 3, 12)
    at = (np.abs(d.data(shape, I64)) % (2 * depth)) - depth
    inputs = [m.feed(at.astype(kind)), m.weight(np.array(depth, d.pick([I64, F32])), 90), m.weight(np.array([d.pick([0, -1]), d.pick([1, 5])], on))]
    m.flags |= BOUND if inputs[1] in m.feeds else 0
    rank = len(shape) + 1
    m.result(m.node("OneHot", inputs, axis=None if d.flag(30) else d.axis(rank)))


@row("TensorScatter", first=24)
def _(d, m):
    batch, size, more = d.pick([1, 2]), d.int(2, 5), d.pick([1, 3])
    steps = d.int(1, size)
    dtype = d.pick([F32, F16, I64])
    heads = [d.pick([1, 2])] if d.flag() else []
    past = m.feed(d.data([batch] + heads + [size, more], dtype))
    update = m.feed(d.data([batch] + heads + [steps, more], dtype))
    inputs = [past, update]
    mode = d.pick([None, "linear", "circular"])
    if d.flag():
        top = size - 1 if mode == "circular" else size - steps
        inputs.append(m.weight(np.array([d.int(0, top) for _ in range(batch)], I64)))
    m.result(m.node(m.op, inputs, mode=mode, axis=d.pick([None, -2])))


# -- images ------------------------------------------------------------------

@row("Resize", first=10)
def _(d, m):
    rank = d.pick([4, 3, 5])
    shape = [1, d.pick([1, 2])] + [d.int(1, 5) for _ in range(rank - 2)]
    mode = d.pick([None, "nearest", "linear"] + (["cubic"] if m.opset >= 11 and rank == 4 else []))
    if rank == 5 and mode == "cubic":
        mode = None
    x = m.feed(d.data(shape, d.pick([F32, F32, F32, U8] if mode in (None, "nearest") else [F32])))
    target = shape[:2] + [d.int(1, 9) for _ in shape[2:]]
    factor = [1.0, 1.0] + [d.pick([2.0, 0.5, 1.5, 3.0, 0.75, 1.0]) for _ in shape[2:]]
    if any(int(n * f) < 1 for n, f in zip(shape, factor)):
        raise Reject("no output")
    if m.opset < 11:
        s = m.weight(np.array(factor, F32), 95)
        m.flags |= BOUND if s in m.feeds else 0
        return m.result(m.node("Resize", [x, s], mode=mode))
    coords = d.pick([None, "half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"] +
                    (["half_pixel_symmetric"] if m.opset >= 19 else []) + ["tf_crop_and_resize"])
    attrs = dict(mode=mode, coordinate_transformation_mode=coords)
    if mode in (None, "nearest"):
        attrs["nearest_mode"] = d.pick([None, "round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])
    if mode == "cubic":
        attrs["cubic_coeff_a"] = d.pick([None, -0.5, -0.75])
        attrs["exclude_outside"] = d.pick([None, 0, 1])
    if m.opset >= 18 and mode in ("linear", "cubic") and coords != "tf_crop_and_resize" and d.flag(25):
        attrs["antialias"] = 1
    axes = list(range(2, rank)) if m.opset >= 18 and d.flag(25) else None
    attrs["axes"] = axes
    roi = None
    n = len(axes) if axes else rank
    if coords == "tf_crop_and_resize":
        lead = 0 if axes else 2
        low = [0.0] * lead + [d.pick([0.0, 0.25, 0.5]) for _ in range(rank - 2)]
        high = [1.0] * lead + [d.pick([1.0, 0.75, 1.25, 0.625]) for _ in range(rank - 2)]
        roi = m.const(np.array(low + high, F32))
        attrs["extrapolation_value"] = d.pick([None, 3.0])
        m.source = "reference"    # ONNX Runtime crops no axis that keeps its size
    elif m.opset < 13:
        roi = m.const(np.zeros([0], F32))
    if d.flag():
        if coords == "align_corners":
            m.source = "reference"    # by scales, ONNX Runtime rounds the size
        if coords == "tf_crop_and_resize":
            m.source = None    # by scales, the reference does not
            if 1.0 in factor[2:]:
                raise Reject("ONNX Runtime crops no axis that keeps its size")
        s = m.const(np.array(factor[rank - n:], F32))
        m.result(m.node("Resize", [x, roi, s], **attrs))
    else:
        empty = m.const(np.zeros([0], F32)) if m.opset < 13 else None
        if m.opset >= 18 and coords != "tf_crop_and_resize":    # there the reference does not round sizes
            attrs["keep_aspect_ratio_policy"] = d.pick([None, "stretch", "not_larger", "not_smaller"])
        s = m.const(np.array(target[rank - n:], I64))
        m.result(m.node("Resize", [x, roi, empty, s], **attrs))
    m.rtol, m.atol = 1e-3, 1e-3


@row("Upsample", last=9)
def _(d, m):
    shape = [1, d.pick([1, 2])] + [d.int(1, 4) for _ in range(2)]
    scales = [1.0, 1.0] + [d.pick([2.0, 1.0, 3.0, 1.5]) for _ in shape[2:]]
    mode = d.pick([None, "nearest", "linear"])
    x = m.feed(d.data(shape))
    if m.opset < 9:
        return m.result(m.node("Upsample", [x], mode=mode, scales=scales))
    m.result(m.node("Upsample", [x, m.const(np.array(scales, F32))], mode=mode))


@row("GridSample", first=16)
def _(d, m):
    rank = d.pick([2, 3]) if m.opset >= 20 else 2
    new = m.opset >= 20
    modes = [None, "linear", "nearest", "cubic"] if new else [None, "bilinear", "nearest", "bicubic"]
    mode = d.pick(modes if rank == 2 else modes[:3])
    n = d.pick([1, 2])
    x = m.feed(d.data([n, d.pick([1, 2])] + [d.int(1, 5) for _ in range(rank)]))
    grid = m.feed(d.data([n] + [d.int(1, 3) for _ in range(rank)] + [rank], F32, "small" if d.flag(40) else "coord"))
    m.result(m.node(m.op, [x, grid], mode=mode, padding_mode=d.pick([None, "zeros", "border", "reflection"]), align_corners=d.pick([None, 0, 1])))
    m.rtol, m.atol = 1e-3, 1e-3


@row("AffineGrid", first=20)
def _(d, m):
    rank, n = d.pick([2, 3]), d.pick([1, 2])
    theta = m.feed(d.data([n, rank, rank + 1], d.pick([F32, F64]), "unit"))
    size = m.const(np.array([n, d.pick([1, 3])] + [d.int(2, 4) for _ in range(rank)], I64))
    m.result(m.node(m.op, [theta, size], align_corners=d.pick([None, 0, 1])))


@row("RoiAlign", first=10)
def _(d, m):
    n, rois = d.pick([1, 2]), d.int(1, 3)
    x = m.feed(d.data([n, d.pick([1, 2]), d.int(2, 6), d.int(2, 6)]))
    box = np.abs(d.data([rois, 4], F32, "small"))
    box[:, 2:] = box[:, :2] + box[:, 2:] + 0.5
    at = np.array([d.below(n) for _ in range(rois)], I64)
    attrs = dict(mode=d.pick([None, "avg", "max"]), output_height=d.pick([None, 1, 2, 3]), output_width=d.pick([None, 1, 2, 3]),
                 sampling_ratio=d.pick([None, 0, 1, 2, 3]), spatial_scale=d.pick([None, 1.0, 0.5, 2.0]))
    if m.opset >= 16:
        attrs["coordinate_transformation_mode"] = d.pick([None, "half_pixel", "output_half_pixel"])
    m.result(m.node(m.op, [x, m.feed(box.astype(F32)), m.feed(at)], **attrs))


@row("MaxRoiPool")
def _(d, m):
    n, rois = d.pick([1, 2]), d.int(1, 3)
    x = m.feed(d.data([n, d.pick([1, 2]), d.int(2, 6), d.int(2, 6)]))
    box = np.floor(np.abs(d.data([rois, 4], F32, "small")))
    box[:, 2:] = box[:, :2] + box[:, 2:]
    at = np.array([[d.below(n)] for _ in range(rois)], F32)
    m.result(m.node(m.op, [x, m.feed(np.concatenate([at, box], 1).astype(F32))], pooled_shape=[d.int(1, 3), d.int(1, 3)],
                    spatial_scale=d.pick([None, 1.0, 0.5])))


@row("NonMaxSuppression", first=10)
def _(d, m):
    n, boxes, classes = d.pick([1, 2]), d.int(1, 6), d.pick([1, 2])
    box = np.abs(d.data([n, boxes, 4]))
    box[..., 2:] = box[..., :2] + box[..., 2:] + 0.25
    score = np.abs(d.data([n, classes, boxes], F32, "unit"))
    score = (score + np.arange(boxes) / 1024).astype(F32)    # no ties
    inputs = [m.feed(box.astype(F32)), m.feed(score)]
    if d.flag(80):
        inputs.append(m.weight(np.array([d.pick([2, 1, 5, 0])], I64)))
        if d.flag(70):
            inputs.append(m.weight(np.array([d.pick([0.5, 0.25, 0.0, 0.75])], F32)))
            if d.flag():
                inputs.append(m.weight(np.array([d.pick([0.1, 0.5])], F32)))
    m.flags |= BOUND
    m.result(m.node(m.op, inputs, center_point_box=d.pick([None, 0, 1])))


# -- recurrent ---------------------------------------------------------------

@row("LSTM GRU RNN")
def _(d, m):
    gates = {"LSTM": 4, "GRU": 3, "RNN": 1}[m.op]
    steps, batch, size, hidden = d.int(1, 4), d.int(1, 3), d.int(1, 4), d.int(1, 4)
    direction = d.pick([None, "forward", "reverse", "bidirectional"])
    ways = 2 if direction == "bidirectional" else 1
    inputs = [m.feed(d.data([steps, batch, size])), m.weight(d.data([ways, gates * hidden, size], F32, "unit")),
              m.weight(d.data([ways, gates * hidden, hidden], F32, "unit"))]
    more = [m.weight(d.data([ways, 2 * gates * hidden], F32, "unit")) if d.flag() else None,
            m.weight(np.array([d.int(1, steps) for _ in range(batch)], I32)) if d.flag(30) else None,
            m.feed(d.data([ways, batch, hidden], F32, "unit")) if d.flag(40) else None]
    if m.op == "LSTM":
        more.append(m.feed(d.data([ways, batch, hidden], F32, "unit")) if d.flag(40) else None)
        more.append(m.weight(d.data([ways, 3 * hidden], F32, "unit")) if d.flag(20) else None)
    inputs += more
    while inputs[-1] is None:
        inputs.pop()
    attrs = dict(hidden_size=hidden, direction=direction, clip=d.pick([None, 0.5, 2.0]) if d.flag(20) else None)
    if m.op == "GRU":
        attrs["linear_before_reset"] = d.pick([None, 0, 1])
    if m.op == "LSTM" and d.flag(15):
        attrs["input_forget"] = d.pick([0, 1])
    if d.flag(25):
        per = {"LSTM": 3, "GRU": 2, "RNN": 1}[m.op]
        names = ["Tanh", "Sigmoid", "Relu", "HardSigmoid", "Softsign", "Softplus", "Elu", "LeakyRelu", "ScaledTanh", "Affine", "ThresholdedRelu"]
        if m.op == "LSTM":
            names.remove("Softplus")    # states grow, and above 88 ONNX Runtime gives infinity
        given = [d.pick(names[:4] if d.flag(70) else names) for _ in range(per * ways)]
        attrs["activations"] = given
        # What ONNX Runtime takes for 0 when it is left out is said: lists are shared in order.
        if set(given) & {"ScaledTanh", "Affine", "ThresholdedRelu"}:
            alpha = {"HardSigmoid": 0.25, "Elu": 0.5, "LeakyRelu": 0.125, "ScaledTanh": 0.75, "Affine": 0.5, "ThresholdedRelu": 0.25}
            beta = {"HardSigmoid": 0.25, "ScaledTanh": 0.5, "Affine": 0.125}
            attrs["activation_alpha"] = [alpha[n] for n in given if n in alpha]
            attrs["activation_beta"] = [beta[n] for n in given if n in beta] or None
    count = 3 if m.op == "LSTM" else 2
    m.result(*m.node(m.op, inputs, count, **attrs))
    m.rtol, m.atol = 1e-3, 1e-4


# -- shapes and constants ----------------------------------------------------

@row("Shape")
def _(d, m):
    x, shape, _ = any_tensor(d, m)
    start = end = None
    if m.opset >= 15:
        start, end = (None if d.flag(40) else d.int(-5, 5) for _ in range(2))
    if m.dtype[x] == BF16:    # where the reference is asked, which does not clamp
        start, end = (None if v is None or abs(v) > len(shape) else v for v in (start, end))
    m.result(m.node("Shape", [x], start=start, end=end))


@row("Size")
def _(d, m):
    m.result(m.node("Size", [any_tensor(d, m)[0]]))


@row("Range")
def _(d, m):
    dtype = d.pick([I64, F32, I32, F64, I16])
    start, count, delta = d.int(-5, 5), d.int(0, 8), d.pick([1, 2, -1, 3, -2])
    limit = start + count * delta
    if is_float(dtype):
        start, limit, delta = start / 4, limit / 4, delta / 4
    names = [m.weight(np.array(v, dtype), 80) for v in (start, limit, delta)]
    m.flags |= BOUND if m.feeds else 0
    if not m.feeds:
        m.result(m.node("Identity", [m.feed(d.data([1]))]))
    m.result(m.node("Range", names))


@row("ConstantOfShape")
def _(d, m):
    s = m.weight(np.array(d.shape(0, 3, 30), I64), 70)
    m.flags |= BOUND if m.feeds else 0
    value = None
    if d.flag(70):
        from onnx import numpy_helper
        value = numpy_helper.from_array(d.data([1], d.pick([F32, I64, I32, F64, U8, BOOL]), "special"))
    if not m.feeds:
        m.result(m.node("Identity", [m.feed(d.data([1]))]))
    m.result(m.node(m.op, [s], value=value))


@row("EyeLike")
def _(d, m):
    x = m.feed(d.data([d.int(1, 5), d.int(1, 5)], d.pick([F32, I64, F64, I32])))
    m.result(m.node(m.op, [x], dtype=onnx_code(d.pick([F32, F64, I64, I32])) if d.flag() else None, k=None if d.flag(30) else d.int(-4, 4)))


# -- quantized ---------------------------------------------------------------

def scale_of(d, shape=()):
    return (2.0 ** -np.array([d.int(1, 5) for _ in range(int(np.prod(shape)))])).reshape(shape).astype(F32)


def zero_of(d, dtype, shape=()):
    low = -3 if dtype.kind == "i" else 0
    return np.array([d.int(low, 5) for _ in range(int(np.prod(shape)))], dtype).reshape(shape)


@row("QuantizeLinear", first=10)
def _(d, m):
    dtype = d.pick([U8, I8] + ([I16, U16] if m.opset >= 21 else []))
    shape = d.shape(1, 4)
    axis = d.axis(len(shape)) if m.opset >= 13 and d.flag() else None
    per = [] if axis is None else [shape[axis]]
    inputs = [m.feed(d.data(shape, F32, d.pick(["normal", "special" if m.opset > 99 else "wide"]))), m.weight(scale_of(d, per))]
    if dtype != U8 or d.flag():
        inputs.append(m.weight(zero_of(d, dtype, per)))
    m.result(m.node(m.op, inputs, axis=axis))
    m.atol = m.rtol = 0.0


@row("DequantizeLinear", first=10)
def _(d, m):
    dtype = d.pick([U8, I8, I32] + ([I16, U16] if m.opset >= 21 else []))
    shape = d.shape(1, 4)
    axis = d.axis(len(shape)) if m.opset >= 13 and d.flag() else None
    per = [] if axis is None else [shape[axis]]
    block = None
    if m.opset >= 21 and axis is not None and d.flag(30) and dtype != I32 and min(shape) > 0:
        block = d.pick([1, 2, 3])
        per = list(shape)
        per[axis] = -(-shape[axis] // block)
    inputs = [m.weight(d.data(shape, dtype), 30), m.weight(scale_of(d, per))]
    if dtype != I32 and d.flag():
        inputs.append(m.weight(zero_of(d, dtype, per)))
    if not m.feeds:
        m.result(m.node("Identity", [m.feed(d.data([1]))]))
    m.result(m.node(m.op, inputs, axis=axis, block_size=block))


@row("DynamicQuantizeLinear", first=11)
def _(d, m):
    m.result(*m.node(m.op, [m.feed(d.data(d.shape(1, 3, empty=0)))], 3))
    m.rtol, m.atol = 1e-4, 1.0


@row("MatMulInteger", first=10)
def _(d, m):
    a, b = d.pick([(U8, I8), (U8, U8), (I8, I8)])
    lead = d.shape(0, 2, 4, 0)
    rows, inner, cols = d.dim(), d.dim(), d.dim()
    inputs = [m.feed(d.data(lead + [rows, inner], a)), m.weight(d.data([inner, cols], b))]
    if d.flag():
        inputs.append(m.weight(zero_of(d, a)))
        if d.flag():
            inputs.append(m.weight(zero_of(d, b, [cols] if d.flag(30) else [])))
    m.result(m.node(m.op, inputs))
    m.macs = int(np.prod(lead)) * rows * inner * cols


@row("QLinearMatMul", first=10)
def _(d, m):
    dtype = d.pick([U8, I8])
    rows, inner, cols = d.dim(), d.dim(), d.dim()
    per = [cols] if d.flag(30) else []
    inputs = [m.feed(d.data([rows, inner], dtype)), m.weight(scale_of(d)), m.weight(zero_of(d, dtype)),
              m.weight(d.data([inner, cols], dtype)), m.weight(scale_of(d, per)), m.weight(zero_of(d, dtype, per)),
              m.weight(scale_of(d)), m.weight(zero_of(d, dtype))]
    m.result(m.node(m.op, inputs))
    m.rtol, m.atol = 0.0, 1.0


@row("ConvInteger QLinearConv", first=10)
def _(d, m):
    rank = d.pick([2, 1])
    size = image(d, rank)
    kernel, attrs = window(d, rank, size, most=3)
    group, per, out = d.pick([1, 1, 2]), d.pick([1, 2, 3]), d.pick([1, 2, 3])
    a = d.pick([U8, U8, I8]) if m.op == "QLinearConv" else U8
    b = d.pick([U8, I8]) if a == U8 else I8
    x = m.feed(d.data([1, per * group] + size, a))
    w = m.weight(d.data([out * group, per] + kernel, b), 80)
    each = [out * group] if d.flag(30) else []
    if m.op == "ConvInteger":
        inputs = [x, w]
        if d.flag():
            inputs.append(m.weight(zero_of(d, a)))
            if d.flag():
                inputs.append(m.weight(zero_of(d, b)))
    else:
        inputs = [x, m.weight(scale_of(d)), m.weight(zero_of(d, a)), w, m.weight(scale_of(d, each)),
                  m.weight(np.zeros(each, b) if d.flag(50) or b == I8 else zero_of(d, b, [])[()] * np.ones(each, b)), m.weight(scale_of(d)), m.weight(zero_of(d, a))]
        if d.flag():
            inputs.append(m.weight(d.data([out * group], I32)))
        m.rtol, m.atol = 0.0, 1.0
    m.result(m.node(m.op, inputs, group=group if group > 1 else None, kernel_shape=kernel if d.flag() else None, **attrs))
    m.count = lambda outs: outs[0].size * per * int(np.prod(kernel))


# -- losses, signal ----------------------------------------------------------

@row("NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss", first=12)
def _(d, m):
    n, c = d.int(1, 4), d.int(1, 5)
    tail = d.shape(0, 2, 6, 0)
    dtype = d.pick([F32, F64])
    x = m.feed(d.data([n, c] + tail, dtype))
    at = indices(d, [n] + tail, c, d.pick([I64, I32]))
    inputs = [x, m.feed(np.abs(at) % c)]
    if d.flag():
        inputs.append(m.weight(d.data([c], dtype, "positive")))
    attrs = dict(reduction=d.pick([None, "none", "sum", "mean"]), ignore_index=d.pick([None, 0, 1, -1]))
    if m.op == "SoftmaxCrossEntropyLoss" and d.flag(40):
        return m.result(*m.node(m.op, inputs, 2, **attrs))
    m.result(m.node(m.op, inputs, **attrs))


@row("HannWindow HammingWindow BlackmanWindow", first=17)
def _(d, m):
    size = m.weight(np.array(d.int(1, 12), d.pick([I64, I32])), 70)
    m.flags |= BOUND if m.feeds else 0
    if not m.feeds:
        m.result(m.node("Identity", [m.feed(d.data([1]))]))
    m.result(m.node(m.op, [size], periodic=d.pick([None, 0, 1]), output_datatype=d.pick([None, 1, 11])))


@row("DFT", first=17)
def _(d, m):
    size = d.int(1, 9)
    lead = d.pick([1, 2])
    comps = d.pick([1, 2])
    dtype = d.pick([F32, F64])
    inverse = d.pick([None, 0, 1])
    onesided = d.pick([None, 0, 1]) if not inverse and comps == 1 else None
    x = m.feed(d.data([lead, size, comps], dtype))
    inputs = [x, m.const(np.array(d.int(1, 10), I64)) if d.flag(40) else None]
    axis = None
    if m.opset >= 20:
        inputs.append(m.const(np.array(d.pick([1, -2]), I64)) if d.flag() else None)
    else:
        axis = d.pick([None, 1])
    while inputs[-1] is None:
        inputs.pop()
    m.result(m.node(m.op, inputs, inverse=inverse, onesided=onesided, axis=axis))
    m.rtol, m.atol = 1e-3, 1e-3


@row("Det", first=11)
def _(d, m):
    n = d.int(1, 4)
    m.result(m.node("Det", [m.feed(d.data(d.shape(0, 2, 6) + [n, n], d.pick([F32, F64])))]))
    m.rtol, m.atol = 1e-3, 1e-2


@row("STFT", first=17)
def _(d, m):
    dtype = d.pick([F32, F64])
    frame = d.int(2, 6)
    size = frame + d.int(0, 6)
    parts = d.pick([1, 2])
    x = m.feed(d.data([d.pick([1, 2]), size, parts], dtype))
    step = m.const(np.array(d.int(1, 3), I64))
    window = m.weight(d.data([frame], dtype, "unit")) if d.flag() else None
    inputs = [x, step, window, m.const(np.array(frame, I64)) if window is None or d.flag() else None]
    while inputs[-1] is None:
        inputs.pop()
    m.result(m.node(m.op, inputs, onesided=d.pick([None, 0, 1]) if parts == 1 else 0))
    m.rtol, m.atol = 1e-3, 1e-3


@row("MelWeightMatrix", first=17)
def _(d, m):
    values = [d.int(1, 5), d.pick([16, 8, 32]), d.pick([8000, 16000])]
    inputs = [m.const(np.array(v, I64)) for v in values]
    inputs += [m.const(np.array(v, F32)) for v in (d.pick([0.0, 100.0]), d.pick([4000.0, 3000.0]))]
    m.result(m.node("Identity", [m.feed(d.data([1]))]))
    m.result(m.node(m.op, inputs, output_datatype=d.pick([None, 1, 11])))
    m.rtol, m.atol = 1e-3, 1e-3


# -- attention ---------------------------------------------------------------

@row("Attention", first=23)
def _(d, m):
    dtype = d.pick([F32, F32, F64])
    batch, heads, q, k, size, vsize = d.pick([1, 2]), d.pick([1, 2, 4]), d.int(1, 4), d.int(1, 4), d.dim(4), d.dim(4)
    groups = heads // 2 if heads > 1 and d.flag(25) else heads
    flat = d.flag(40)
    shapes = [[batch, heads, q, size], [batch, groups, k, size], [batch, groups, k, vsize]]
    attrs = {}
    if flat:
        shapes = [[batch, s[2], s[1] * s[3]] for s in shapes]
        attrs = dict(q_num_heads=heads, kv_num_heads=groups)
    inputs = [m.feed(d.data(s, dtype)) for s in shapes]
    past = d.int(1, 3) if d.flag(25) and not flat else 0
    mask = None
    if d.flag(50):
        total = k + past
        shape = d.pick([[q, total], [1, 1, q, total], [batch, 1, q, total], [batch, heads, q, total]])
        if d.flag():
            array = d.data(shape, BOOL)
            array[..., 0] = True
        else:
            array = d.data(shape, dtype)
        mask = m.feed(array)
    inputs.append(mask)
    if past:
        inputs += [m.feed(d.data([batch, groups, past, size], dtype)), m.feed(d.data([batch, groups, past, vsize], dtype))]
    while inputs[-1] is None:
        inputs.pop()
    attrs.update(is_causal=d.pick([None, 0, 1]), scale=d.pick([None, 0.5, 1.0]), softcap=d.pick([None, 2.0]) if d.flag(25) else None)
    if past and attrs["is_causal"]:
        m.source = "reference"    # ONNX Runtime lets the last query see every key
    outs = 3 if past else 1
    names = m.node("Attention", inputs, outs, **attrs)
    m.result(*([names] if outs == 1 else names))
    m.rtol, m.atol = 1e-3, 1e-3


@row("RotaryEmbedding", first=23)
def _(d, m):
    batch, heads, steps, half = d.pick([1, 2]), d.pick([1, 2]), d.int(1, 4), d.int(1, 4)
    flat, most = d.flag(), 6
    partial = half - 1 if half > 1 and d.flag(30) else 0
    rot = partial or half
    x = m.feed(d.data([batch, steps, heads * half * 2] if flat else [batch, heads, steps, half * 2]))
    if d.flag():
        at = np.array([[d.below(most) for _ in range(steps)] for _ in range(batch)], I64)
        inputs = [x] + [m.weight(d.data([most, rot], F32, "unit")) for _ in range(2)] + [m.feed(at)]
    else:
        inputs = [x] + [m.weight(d.data([batch, steps, rot], F32, "unit")) for _ in range(2)]
    m.result(m.node(m.op, inputs, interleaved=d.pick([None, 0, 1]), num_heads=heads if flat else d.pick([None, heads]),
                    rotary_embedding_dim=2 * partial if partial else d.pick([None, 0])))


# -- bodies ------------------------------------------------------------------

def info(name, dtype, shape):
    from onnx import helper
    return helper.make_tensor_value_info(name, onnx_code(dtype), shape)


@row("If")
def _(d, m):
    from onnx import helper
    shape, dtype = d.shape(0, 3), d.pick([F32, I64])
    x, c = m.feed(d.data(shape, dtype)), m.weight(np.array(d.flag()), 50)
    parts = []
    for i, op in enumerate([d.pick(["Add", "Mul", "Sub"]), d.pick(["Mul", "Sub"])]):
        node = helper.make_node(op, [x, x], [f"b{i}"])
        parts.append(helper.make_graph([node], f"body{i}", [], [helper.make_empty_tensor_value_info(f"b{i}") if False else info(f"b{i}", dtype, shape)]))
    m.result(m.node("If", [c], then_branch=parts[0], else_branch=parts[1]))


@row("Loop", first=11)
def _(d, m):
    from onnx import helper
    shape = d.shape(0, 2, 12, 0)
    trips, limit = d.int(0, 4), d.pick([None, 2])
    x = m.feed(d.data(shape, F32, "unit"))
    body = [helper.make_node(d.pick(["Add", "Sub"]), ["s", x], ["n"]), helper.make_node("Identity", ["n"], ["scan"])]
    if limit:
        body.append(helper.make_node("Less", ["i", "top"], ["more"]))
    else:
        body.append(helper.make_node("Identity", ["c"], ["more"]))
    extra = [helper.make_tensor("top", 7, [], [limit])] if limit else []
    g = helper.make_graph(body, "body", [info("i", I64, []), info("c", BOOL, []), info("s", F32, shape)],
                          [info("more", BOOL, []), info("n", F32, shape), info("scan", F32, shape)], extra)
    m.flags |= BOUND
    m.result(*m.node("Loop", [m.weight(np.array(trips, I64), 70), m.const(np.array(True)), m.feed(d.data(shape, F32))], 2, body=g))


@row("Scan", first=9)
def _(d, m):
    from onnx import helper
    shape, steps = d.shape(0, 2, 8, 0), d.int(1, 4)
    op = d.pick(["Add", "Mul", "Max"])
    g = helper.make_graph([helper.make_node(op, ["s", "x"], ["n"]), helper.make_node("Identity", ["n"], ["y"])], "body",
                          [info("s", F32, shape), info("x", F32, shape)], [info("n", F32, shape), info("y", F32, shape)])
    at = d.below(len(shape) + 1)
    to = d.below(len(shape) + 1)
    full = shape[:at] + [steps] + shape[at:]
    attrs = dict(scan_input_axes=[at] if at or d.flag() else None, scan_output_axes=[to] if to or d.flag() else None,
                 scan_input_directions=[d.below(2)] if d.flag() else None, scan_output_directions=[d.below(2)] if d.flag() else None)
    m.result(*m.node("Scan", [m.feed(d.data(shape, F32, "small")), m.feed(d.data(full, F32, "small"))], 2, body=g, num_scan_inputs=1, **attrs))


# -- com.microsoft -----------------------------------------------------------

MS = "com.microsoft"


@row("Gelu QuickGelu FastGelu BiasGelu", MS)
def _(d, m):
    shape = d.shape(1, 4, empty=0)
    inputs = [m.feed(d.data(shape))]
    if m.op == "BiasGelu" or (m.op == "FastGelu" and d.flag()):
        inputs.append(m.weight(d.data(shape[-1:])))
    m.result(m.node(m.op, inputs, alpha=d.pick([None, 1.0, 2.0]) if m.op == "QuickGelu" else None))
    m.rtol, m.atol = 1e-3, 2e-4


@row("FusedMatMul TransposeMatMul", MS)
def _(d, m):
    lead = d.shape(0, 2, 6, 0)
    rows, inner, cols = d.dim(), d.dim(), d.dim()
    ta, tb = (d.pick([None, 0, 1]) for _ in range(2))
    a = m.feed(d.data(lead + ([inner, rows] if ta else [rows, inner])))
    b = m.weight(d.data(lead + ([cols, inner] if tb else [inner, cols]), F32, "unit"))
    m.result(m.node(m.op, [a, b], transA=ta, transB=tb, alpha=d.pick([None, 0.5, 2.0])))


@row("FusedGemm", MS)
def _(d, m):
    rows, inner, cols = d.dim(), d.dim(), d.dim()
    ta, tb = (d.pick([None, 0, 1]) for _ in range(2))
    inputs = [m.feed(d.data([inner, rows] if ta else [rows, inner])), m.weight(d.data([cols, inner] if tb else [inner, cols], F32, "unit"))]
    if d.flag(70):
        inputs.append(m.weight(d.data(d.pick([[cols], [rows, cols], [1, cols]]))))
    act = d.pick(["Relu", "LeakyRelu", "Tanh", "Sigmoid"])
    m.result(m.node(m.op, inputs, transA=ta, transB=tb, alpha=d.pick([None, 0.5]), beta=d.pick([None, 2.0]), activation=act,
                    activation_alpha=0.25 if act == "LeakyRelu" else None))


@row("FusedConv", MS)
def _(d, m):
    size = image(d, 2)
    kernel, attrs = window(d, 2, size, most=3)
    group, per, out = d.pick([1, 1, 2]), d.pick([1, 2]), d.pick([1, 2])
    inputs = [m.feed(d.data([1, per * group] + size)), m.const(d.data([out * group, per] + kernel, F32, "unit"))]
    if d.flag():
        inputs.append(m.const(d.data([out * group])))
    act = d.pick(["Relu", "LeakyRelu", "Tanh", "Sigmoid", "Clip", "HardSigmoid"])
    extra = {"LeakyRelu": [0.25], "Clip": [0.0, 2.0], "HardSigmoid": [0.25, 0.5]}.get(act)
    m.result(m.node(m.op, inputs, group=group, activation=act, activation_params=extra, kernel_shape=kernel, **attrs))


@row("SkipLayerNormalization SkipSimplifiedLayerNormalization", MS)
def _(d, m):
    shape = [d.int(1, 2), d.int(1, 3), d.dim()]
    inputs = [m.feed(d.data(shape)), m.feed(d.data(shape)), m.weight(d.data(shape[-1:]))]
    if m.op == "SkipLayerNormalization" and d.flag():
        inputs.append(m.weight(d.data(shape[-1:])))
        if d.flag():
            inputs.append(m.weight(d.data(shape[-1:])))
    elif m.op != "SkipLayerNormalization" and d.flag():
        inputs.append(m.weight(d.data(shape[-1:])))
    m.result(m.node(m.op, inputs, epsilon=d.pick([None, 0.125])))
    m.rtol, m.atol = 2e-3, 2e-3


@row("QLinearAdd QLinearMul", MS)
def _(d, m):
    dtype = d.pick([U8, I8])
    shape = d.shape(empty=0)
    parts = []
    for s in (shape, d.broadcastable(shape)):
        parts += [m.feed(d.data(s, dtype)), m.const(scale_of(d)), m.const(zero_of(d, dtype))]
    m.result(m.node(m.op, parts + [m.const(scale_of(d)), m.const(zero_of(d, dtype))]))
    m.rtol, m.atol = 0.0, 1.0


@row("QLinearSigmoid QLinearLeakyRelu", MS)
def _(d, m):
    dtype = d.pick([U8, I8])
    x = m.feed(d.data(d.shape(1, 3, empty=0), dtype))
    inputs = [x, m.const(scale_of(d)), m.const(zero_of(d, dtype)), m.const(scale_of(d)), m.const(zero_of(d, dtype))]
    m.result(m.node(m.op, inputs, alpha=d.pick([None, 0.5]) if m.op == "QLinearLeakyRelu" else None))
    m.rtol, m.atol = 0.0, 1.0


@row("QLinearConcat", MS)
def _(d, m):
    dtype, shape = d.pick([U8, I8]), d.shape(1, 3, 20, 0)
    axis = d.below(len(shape))
    inputs = [m.const(scale_of(d)), m.const(zero_of(d, dtype))]
    for _ in range(d.int(1, 3)):
        part = list(shape)
        part[axis] = d.int(1, 3)
        inputs += [m.feed(d.data(part, dtype)), m.const(scale_of(d)), m.const(zero_of(d, dtype))]
    m.result(m.node(m.op, inputs, axis=axis))
    m.rtol, m.atol = 0.0, 1.0


@row("DynamicQuantizeMatMul MatMulIntegerToFloat", MS)
def _(d, m):
    rows, inner, cols = d.dim(), d.dim(), d.dim()
    b = d.pick([U8, I8])
    w = m.const(d.data([inner, cols], b))
    zero = m.const(zero_of(d, b)) if d.flag() else None
    bias = m.const(d.data([cols])) if d.flag() else None
    if m.op == "DynamicQuantizeMatMul":
        inputs = [m.feed(d.data([rows, inner])), w, m.const(scale_of(d)), zero, bias]
    else:
        a = d.pick([U8, I8]) if b == I8 else U8
        inputs = [m.feed(d.data([rows, inner], a)), w, m.const(scale_of(d)), m.const(scale_of(d)), m.const(zero_of(d, a)) if d.flag() else None, zero, bias]
    while inputs[-1] is None:
        inputs.pop()
    m.result(m.node(m.op, inputs))
    m.near, m.rtol = 2e-2, 2e-2


@row("MultiHeadAttention", MS)
def _(d, m):
    batch, heads, q, k, size = d.pick([1, 2]), d.pick([1, 2]), d.int(1, 4), d.int(1, 4), d.pick([2, 4])
    wide = heads * size
    inputs = [m.feed(d.data([batch, q, wide])), m.feed(d.data([batch, k, wide])), m.feed(d.data([batch, k, wide]))]
    inputs.append(m.const(d.data([3 * wide])) if d.flag(30) else None)
    while inputs[-1] is None:
        inputs.pop()
    attrs = dict(num_heads=heads, scale=d.pick([None, 0.5]), unidirectional=d.pick([None, 0]) if q != k else d.pick([None, 0, 1]))
    m.rtol, m.atol = 1e-3, 1e-3
    if not d.flag(30):
        return m.result(m.node(m.op, inputs, **attrs))
    # A past in a buffer that is longer than what counts of it. ONNX Runtime writes the
    # present onto it, so it is asked with a past of that length; and for the present
    # too, without which it reads memory that nobody wrote.
    past, room = d.int(0, 3), d.int(4, 7)
    if past + k > room:
        raise Reject("no room")
    buffers = [d.data([batch, heads, room, size]) for _ in range(2)]
    twin = Model(d, m.opset, MS)
    twin.names = 100
    twin.feeds, twin.consts = dict(m.feeds), dict(m.consts)
    inputs += [None] * (6 - len(inputs))
    twin.result(*twin.node(m.op, inputs + [twin.feed(b[:, :, :past].copy()) for b in buffers], 3, **attrs))
    m.result(m.node(m.op, inputs + [m.feed(b) for b in buffers] + [m.feed(np.array([past], I32))], **attrs))
    m.twin = twin


@row("MatMulNBits", MS)
def _(d, m):
    rows, cols, blocks = d.int(1, 3), d.int(1, 4), d.int(1, 2)
    block = 16
    inner = block * blocks - (d.int(0, 3) if d.flag(30) else 0)
    b = (np.abs(d.data([cols, blocks, block // 2], I32)) * 7 % 256).astype(U8)
    inputs = [m.feed(d.data([rows, inner])), m.const(b), m.const(np.abs(d.data([cols * blocks], F32, "unit")) + F32.type(0.125))]
    if d.flag():
        inputs.append(m.const((np.abs(d.data([cols * ((blocks + 1) // 2)], I32)) * 5 % 256).astype(U8)))
    m.result(m.node(m.op, inputs, K=inner, N=cols, bits=4, block_size=block))
    m.rtol, m.atol = 1e-3, 1e-2


@row("Pad Trilu Range GridSample ExpandDims UnfoldTensor", MS)
def _(d, m):
    if m.op == "Range":
        names = [m.const(np.array(v, F32)) for v in (0, d.int(1, 6), d.pick([1, 2, 0.5]))]
        m.result(m.node("Identity", [m.feed(d.data([1]))], domain=""))
        return m.result(m.node(m.op, names))
    if m.op == "ExpandDims":
        shape = d.shape(0, 3)
        return m.result(m.node(m.op, [m.feed(d.data(shape)), m.const(np.array(d.int(0, len(shape)), I32))]))
    if m.op == "Trilu":
        x = m.feed(d.data(d.shape(2, 4, empty=0), d.pick([F32, I64])))
        return m.result(m.node(m.op, [x] + ([m.const(np.array(d.int(-3, 3), I64))] if d.flag() else []), upper=d.pick([None, 0, 1])))
    if m.op == "Pad":
        shape = d.shape(1, 3, empty=0)
        pads = m.const(np.array([d.int(0, 2) for _ in range(2 * len(shape))], I64))
        return m.result(m.node(m.op, [m.feed(d.data(shape)), pads] + ([m.const(np.array([1.5], F32))] if d.flag() else []), mode=d.pick([None, "constant", "edge"])))
    if m.op == "GridSample":
        x = m.feed(d.data([1, 2, d.int(1, 4), d.int(1, 4)]))
        grid = m.feed(d.data([1, d.int(1, 3), d.int(1, 3), 2], F32, "coord"))
        return m.result(m.node(m.op, [x, grid], mode=d.pick([None, "bilinear", "nearest", "bicubic"]), padding_mode=d.pick([None, "zeros", "border", "reflection"]), align_corners=d.pick([None, 0, 1])))
    shape = d.shape(1, 3, empty=0)
    at = d.axis(len(shape))
    m.result(m.node(m.op, [m.feed(d.data(shape))], dim=at, size=d.int(1, shape[at]), step=d.int(1, 3)))


@row("QuantizeLinear DequantizeLinear", MS)
def _(d, m):
    shape = d.shape(1, 3, empty=0)
    dtype = d.pick([U8, I8])
    axis = d.axis(len(shape))
    per = [shape[axis]] if d.flag() else []
    x = m.feed(d.data(shape, F32 if m.op == "QuantizeLinear" else dtype))
    m.result(m.node(m.op, [x, m.const(scale_of(d, per)), m.const(zero_of(d, dtype, per))], axis=axis))


@row("RotaryEmbedding", MS)
def _(d, m):
    batch, heads, steps, half = d.pick([1, 2]), d.pick([1, 2]), d.int(1, 4), d.int(1, 4)
    x = m.feed(d.data([batch, heads, steps, half * 2] if d.flag() else [batch, steps, heads * half * 2]))
    most = 8
    at = np.array([0] if d.flag() else [[d.below(most) for _ in range(steps)] for _ in range(batch)], I64)
    tables = [m.const(d.data([most, half], F32, "unit")) for _ in range(2)]
    m.result(m.node(m.op, [x, m.feed(at)] + tables, interleaved=d.pick([None, 0, 1])))


@row("EmbedLayerNormalization", MS)
def _(d, m):
    batch, steps, size = d.pick([1, 2]), d.int(1, 4), d.dim(5)
    ids = m.feed(np.abs(d.data([batch, steps], I32)) % 5)
    parts = d.flag()
    inputs = [ids, m.feed(np.abs(d.data([batch, steps], I32)) % 2) if parts else None, m.const(d.data([5, size])), m.const(d.data([6, size])),
              m.const(d.data([2, size])) if parts else None, m.const(d.data([size])), m.const(d.data([size]))]
    m.result(*m.node(m.op, inputs, 2, epsilon=0.125)[:1])
    m.rtol, m.atol = 2e-3, 2e-3


@row("QGemm GatherND MatMulInteger16 NhwcMaxPool", MS)
def _(d, m):
    if m.op == "NhwcMaxPool":
        k = [d.int(1, 2), d.int(1, 2)]
        x = m.feed(d.data([1, d.int(2, 5), d.int(2, 5), d.pick([1, 2, 3])], d.pick([U8, I8])))
        return m.result(m.node(m.op, [x], kernel_shape=k, strides=[d.int(1, 2), d.int(1, 2)]))
    if m.op == "GatherND":
        shape = d.shape(2, 3, empty=0)
        at = np.stack([indices(d, [d.int(1, 3)], shape[0])], -1)
        return m.result(m.node(m.op, [m.feed(d.data(shape)), m.feed(at)]))
    if m.op == "MatMulInteger16":
        rows, inner, cols = d.dim(), d.dim(), d.dim()
        return m.result(m.node(m.op, [m.feed(d.data([rows, inner], I16)), m.feed(d.data([inner, cols], I16))]))
    if m.op == "QGemm":
        rows, inner, cols = d.dim(), d.dim(), d.dim()
        ta, tb = d.pick([0, 1]), d.pick([0, 1])
        a, b = U8, d.pick([U8, I8])
        x = m.feed(d.data([inner, rows] if ta else [rows, inner], a))
        w = m.const(d.data([cols, inner] if tb else [inner, cols], b))
        inputs = [x, m.const(scale_of(d)), m.const(zero_of(d, a)), w, m.const(scale_of(d)), m.const(zero_of(d, b)),
                  m.const(d.data([cols], I32)) if d.flag() else None]
        if d.flag():
            inputs += [m.const(scale_of(d)), m.const(zero_of(d, a))]
            m.rtol, m.atol = 0.0, 1.0
        while inputs[-1] is None:
            inputs.pop()
        return m.result(m.node(m.op, inputs, transA=ta, transB=tb, alpha=d.pick([1.0, 0.5])))


@row("SimplifiedLayerNormalization")
def _(d, m):
    shape = d.shape(1, 4, empty=0)
    axis = d.axis(len(shape))
    m.result(m.node(m.op, [m.feed(d.data(shape)), m.weight(d.data(shape[axis:]))], axis=axis, epsilon=d.pick([1e-5, 0.125])))
    m.rtol, m.atol = 2e-3, 2e-3


@row("QLinearAveragePool QLinearGlobalAveragePool QLinearSoftmax QLinearWhere", MS)
def _(d, m):
    dtype = d.pick([U8, I8])
    m.rtol, m.atol = 0.0, 1.0
    ends = [m.const(scale_of(d)), m.const(zero_of(d, dtype)), m.const(scale_of(d)), m.const(zero_of(d, dtype))]
    if m.op == "QLinearSoftmax":
        shape = d.shape(1, 3, empty=0)
        if 1 in shape:
            raise Reject("ONNX Runtime makes 0 of a softmax of one element")
        ends[2:] = [m.const(np.array(1 / 255, F32)), m.const(np.array(0 if dtype == U8 else -128, dtype))]
        return m.result(m.node(m.op, [m.feed(d.data(shape, dtype))] + ends, axis=d.axis(len(shape)), opset=13))
    if m.op == "QLinearWhere":
        shape = d.shape(empty=0)
        x, y = (m.feed(d.data(d.broadcastable(shape), dtype)) for _ in range(2))
        c = m.feed(d.data(d.broadcastable(shape), BOOL))
        return m.result(m.node(m.op, [c, x, ends[0], ends[1], y, ends[2], ends[3], m.const(scale_of(d)), m.const(zero_of(d, dtype))]))
    last = d.flag(30)
    size = image(d, 2)
    c = d.pick([1, 2, 3])
    x = m.feed(d.data([1] + (size + [c] if last else [c] + size), dtype))
    if m.op == "QLinearGlobalAveragePool":
        return m.result(m.node(m.op, [x] + ends, channels_last=int(last)))
    kernel, attrs = window(d, 2, size, False, 3, half_pad=True)
    if attrs["auto_pad"] in ("SAME_UPPER", "SAME_LOWER"):
        attrs["strides"] = None    # ONNX Runtime pads by less than nothing
    m.result(m.node(m.op, [x] + ends, kernel_shape=kernel, channels_last=int(last), count_include_pad=d.pick([None, 0, 1]), **attrs))


@row("Attention", MS)
def _(d, m):
    batch, heads, steps, size, wide = d.pick([1, 2]), d.pick([1, 2]), d.int(1, 4), d.pick([1, 2, 4]), d.dim(4)
    hidden = heads * size
    inputs = [m.feed(d.data([batch, steps, wide])), m.const(d.data([wide, 3 * hidden], F32, "unit")), m.const(d.data([3 * hidden]))]
    if d.flag(40):
        kind = d.below(2)
        keep = np.array([d.int(1, steps) for _ in range(batch)], I32)
        if kind:
            keep = (np.arange(steps)[None] < keep[:, None]).astype(I32)
        inputs.append(m.feed(keep))
    m.result(m.node(m.op, inputs, num_heads=heads, unidirectional=d.pick([None, 0, 1]), scale=d.pick([None, 0.5])))
    m.rtol, m.atol = 1e-3, 1e-3


@row("GroupQueryAttention", MS)
def _(d, m):
    batch, groups, each, steps, size = d.pick([1, 2]), d.pick([1, 2]), d.pick([1, 2]), d.int(1, 4), 8
    heads = groups * each
    past = d.int(0, 3)
    total = past + steps
    inputs = [m.feed(d.data([batch, steps, heads * size])), m.feed(d.data([batch, steps, groups * size])), m.feed(d.data([batch, steps, groups * size])),
              m.feed(d.data([batch, groups, past, size])), m.feed(d.data([batch, groups, past, size])),
              m.const(np.full([batch], total - 1, I32)), m.const(np.array(total, I32))]
    m.result(*m.node(m.op, inputs, 3, num_heads=heads, kv_num_heads=groups, scale=d.pick([None, 0.5]), local_window_size=d.pick([None, 2])))
    m.rtol, m.atol = 1e-3, 1e-3


@row("ConvTransposeWithDynamicPads", MS)
def _(d, m):
    size, k = [d.int(2, 4), d.int(2, 4)], [d.int(2, 3), d.int(2, 3)]
    x = m.feed(d.data([1, 2] + size))
    m.result(m.node(m.op, [x, m.const(d.data([2, d.pick([1, 2])] + k, F32, "unit")), m.const(np.array([d.int(0, 1) for _ in range(4)], I64))],
                    strides=[d.int(1, 2), d.int(1, 2)], kernel_shape=k))


@row("GatherBlockQuantized", MS)
def _(d, m):
    rows, blocks, block = d.int(1, 4), d.int(1, 2), 16
    x = (np.abs(d.data([rows, blocks * block // 2], I32)) * 7 % 256).astype(U8)
    inputs = [m.const(x), m.feed(indices(d, [d.int(1, 4)], rows)), m.const(np.abs(d.data([rows, blocks], F32, "unit")) + F32.type(0.125))]
    m.result(m.node(m.op, inputs, bits=4, block_size=block, gather_axis=0, quantize_axis=1))


@row("MoE MatMulBnb4 DynamicQuantizeLSTM QAttention", MS)
def _(d, m):
    if m.op == "QAttention":
        batch, heads, steps, size, wide = d.pick([1, 2]), d.pick([1, 2]), d.int(1, 3), d.pick([2, 4]), d.dim(4)
        hidden = heads * size
        b = d.pick([U8, I8])
        inputs = [m.feed(d.data([batch, steps, wide], U8)), m.const(d.data([wide, 3 * hidden], b)), m.const(d.data([3 * hidden])),
                  m.const(scale_of(d)), m.const(scale_of(d)), None, m.const(zero_of(d, U8)), m.const(zero_of(d, b))]
        m.result(m.node(m.op, inputs, num_heads=heads, unidirectional=d.pick([None, 0, 1])))
        m.rtol, m.atol = 1e-3, 1e-2
        return
    if m.op == "DynamicQuantizeLSTM":
        steps, batch, size, hidden = d.int(1, 3), d.int(1, 2), d.int(1, 4), d.int(1, 4)
        b = d.pick([U8, I8])
        inputs = [m.feed(d.data([steps, batch, size])), m.const(d.data([1, size, 4 * hidden], b)), m.const(d.data([1, hidden, 4 * hidden], b)),
                  m.const(d.data([1, 8 * hidden], F32, "unit")) if d.flag() else None, None, None, None, None,
                  m.const(scale_of(d, [1]) / 8), m.const(np.zeros([1], b)), m.const(scale_of(d, [1]) / 8), m.const(np.zeros([1], b))]
        m.result(*m.node(m.op, inputs, 3, hidden_size=hidden))
        m.rtol, m.atol = 3e-2, 3e-2
        return
    if m.op == "MatMulBnb4":
        rows, cols, inner, block = d.int(1, 3), d.int(1, 3), 16, 16
        b = (np.abs(d.data([cols * inner // 2], I32)) * 7 % 256).astype(U8)
        inputs = [m.feed(d.data([rows, inner])), m.const(b), m.const(np.abs(d.data([cols], F32, "unit")) + F32.type(0.125))]
        m.result(m.node(m.op, inputs, K=inner, N=cols, block_size=block, quant_type=d.pick([0, 1])))
        m.rtol, m.atol = 1e-3, 1e-2
        return
    if m.op == "MoE":
        rows, wide, inner, experts = d.int(1, 3), d.dim(4), d.dim(4), d.int(2, 3)
        inputs = [m.feed(d.data([rows, wide])), m.feed((d.data([rows, experts]) + np.arange(experts) / 64).astype(F32)), m.const(d.data([experts, inner, wide], F32, "unit")), None,
                  m.const(d.data([experts, wide, inner], F32, "unit"))]
        m.result(m.node(m.op, inputs, k=d.int(1, 2), activation_type=d.pick(["relu", "gelu", "silu", "identity"]), normalize_routing_weights=d.pick([0, 1])))
        m.rtol, m.atol = 1e-3, 1e-3


ML = "ai.onnx.ml"


@row("Normalizer Scaler OneHotEncoder ArrayFeatureExtractor FeatureVectorizer", ML)
def _(d, m):
    rows, cols = d.int(1, 3), d.int(1, 4)
    x = d.data([rows, cols], F32)
    if m.op == "Normalizer":
        return m.result(m.node(m.op, [m.feed(x)], norm=d.pick(["MAX", "L1", "L2"])))
    if m.op == "Scaler":
        n = d.pick([1, cols])
        return m.result(m.node(m.op, [m.feed(x)], offset=d.data([n]).tolist(), scale=d.data([n], F32, "positive").tolist()))
    if m.op == "OneHotEncoder":
        x = np.abs(d.data(d.shape(0, 3), I64)) % 6
        return m.result(m.node(m.op, [m.feed(x.astype(d.pick([I64, F32, F64])))], cats_int64s=[3, 0, 1, 2][:d.int(1, 4)],
                               zeros=d.pick([1, None])))
    if m.op == "FeatureVectorizer":
        return m.result(m.node(m.op, [m.feed(x), m.feed(d.data([rows, 2]))], inputdimensions=[cols, 2]))
    m.result(m.node(m.op, [m.feed(x), m.feed(np.array([d.below(cols) for _ in range(d.int(1, 3))], I64))]))


@row("TfIdfVectorizer")
def _(d, m):
    mode = d.pick(["TF", "IDF", "TFIDF"])
    weights = None if d.flag() else [1.0, 2.0, 0.5, 3.0]
    x = (np.abs(d.data([d.int(1, 8)] if d.flag() else [d.int(1, 2), d.int(1, 6)], I64)) % 4)
    m.result(m.node(m.op, [m.feed(x)], mode=mode, min_gram_length=d.pick([1, 2]), max_gram_length=2, max_skip_count=d.pick([0, 1]),
                    ngram_counts=[0, 2], ngram_indexes=[0, 1, 2, 3], pool_int64s=[2, 3, 1, 2, 0, 3], weights=weights))


PREVIEW = "ai.onnx.preview.training"    # cleave calls it ai.onnx.preview


@row("Adagrad Adam Momentum", PREVIEW)
def _(d, m):
    m.label = m.op
    shape = d.shape(1, 2, empty=0)
    states = {"Adagrad": 1, "Adam": 2, "Momentum": 1}[m.op]
    inputs = [m.feed(np.array(0.125, F32)), m.feed(np.array(d.int(0, 3), I64)), m.feed(d.data(shape)), m.feed(d.data(shape))]
    inputs += [m.feed(d.data(shape, F32, "positive")) for _ in range(states)]
    attrs = {"Adagrad": dict(decay_factor=0.5, epsilon=0.125, norm_coefficient=0.25), "Adam": dict(alpha=0.5, beta=0.25, epsilon=0.125, norm_coefficient=0.25, norm_coefficient_post=0.125),
             "Momentum": dict(alpha=0.5, beta=0.25, norm_coefficient=0.125, mode=d.pick(["standard", "nesterov"]))}[m.op]
    m.result(*m.node(m.op, inputs, 1 + states, **attrs))
    m.source, m.cast = "reference", F32    # some of its results are float64


# -- sequences and optionals -------------------------------------------------

@row("SequenceConstruct SequenceInsert SequenceErase SequenceAt SequenceLength ConcatFromSequence SequenceEmpty", first=11)
def _(d, m):
    """Made of tensors, edited, and read as tensors again."""
    shape, dtype = d.shape(1, 3, 12, 0), d.pick([F32, I64])
    parts = [m.feed(d.data(shape, dtype)) for _ in range(d.int(1, 3))]
    n = len(parts)
    if m.op == "SequenceEmpty":
        s, n = m.node("SequenceEmpty", [], dtype=onnx_code(dtype)), 0
        for p in parts:
            s, n = m.node("SequenceInsert", [s, p]), n + 1
    else:
        s = m.node("SequenceConstruct", parts)
    if m.op == "SequenceInsert" or d.flag(20):
        at = [] if d.flag(30) else [m.ints(d.int(-n, n))]
        s, n = m.node("SequenceInsert", [s, m.feed(d.data(shape, dtype))] + at), n + 1
    if (m.op == "SequenceErase" or d.flag(20)) and n > 1:
        at = [] if d.flag(30) else [m.ints(d.int(-n, n - 1))]
        s, n = m.node("SequenceErase", [s] + at), n - 1
    m.flags |= BOUND
    kind = {"SequenceAt": 0, "SequenceLength": 1, "ConcatFromSequence": 2}.get(m.op, d.below(3))
    if kind == 0:
        return m.result(m.node("SequenceAt", [s, m.ints(d.int(-n, n - 1))]))
    if kind == 1:
        return m.result(m.node("SequenceLength", [s]))
    new = d.pick([None, 0, 1])
    m.result(m.node("ConcatFromSequence", [s], axis=d.below(len(shape)), new_axis=new))


@row("SplitToSequence", first=11)
def _(d, m):
    shape = d.shape(1, 3, 24, 0)
    axis = d.axis(len(shape))
    size = shape[axis]
    inputs, keep, parts = [m.feed(d.data(shape, d.pick([F32, I64])))], None, size
    kind = d.below(3)
    if kind == 1:
        each = d.int(1, size)
        inputs.append(m.const(np.array(each, I64)))
        parts = -(-size // each)
    elif kind == 2:
        cut = d.int(0, size)
        inputs.append(m.const(np.array([cut, size - cut], I64)))
        parts = 2
    else:
        keep = d.pick([None, 0, 1])
    s = m.node(m.op, inputs, axis=axis, keepdims=keep)
    m.flags |= BOUND
    m.result(m.node("SequenceAt", [s, m.ints(d.int(-parts, parts - 1))]), m.node("SequenceLength", [s]))


@row("Optional OptionalGetElement OptionalHasElement", first=15)
def _(d, m):
    x = m.feed(d.data(d.shape(0, 3), d.pick([F32, I64])))
    o = m.node("Optional", [x])
    m.flags |= BOUND
    if m.op == "OptionalHasElement":
        return m.result(m.node(m.op, [o]))
    m.result(m.node("OptionalGetElement", [o]))


@row("LabelEncoder", ML)
def _(d, m):
    keys = list(range(-2, 4))
    if d.flag():
        attrs = dict(keys_int64s=keys, values_floats=[k * 0.5 + 1 for k in keys], default_float=d.pick([None, 7.5]))
        x = d.data(d.shape(1, 2), I64, "small")
    else:
        attrs = dict(keys_floats=[k * 0.5 for k in keys], values_int64s=[k * 3 for k in keys], default_int64=d.pick([None, 77]))
        x = d.data(d.shape(1, 2), F32, "small")
    m.result(m.node(m.op, [m.feed(x)], **attrs))


@row("Imputer", ML)
def _(d, m):
    """Values per column, one, or another number of them, of which the first counts."""
    dtype, cols = d.pick([F32, I64]), d.int(1, 4)
    x = d.data([d.int(1, 4), cols] if d.flag(80) else [cols], dtype, "small")
    n = d.pick([1, cols, 2])
    if dtype == I64:
        attrs = dict(imputed_value_int64s=[100 + i for i in range(n)], replaced_value_int64=int(x.flat[0]))
    else:
        missing = d.pick([float(x.flat[0]), float("nan")])
        if np.isnan(missing):
            x.flat[d.below(x.size)] = np.nan
        attrs = dict(imputed_value_floats=[100.5 + i for i in range(n)], replaced_value_float=missing)
    m.result(m.node(m.op, [m.feed(x)], **attrs))


# -- linear models and support vectors ------------------------------------------

TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]


def few(d, n):
    """So many coefficients of two binary places, no sum of which is nearly 0."""
    return [d.below(17) / 4 - 2 + 1 / 64 for _ in range(n)]


@row("LinearRegressor LinearClassifier", ML)
def _(d, m):
    cols, n = d.int(1, 4), d.int(1, 4)
    shape = [d.int(1, 4), cols] if d.flag(80) else [cols]
    how = d.pick(TRANSFORMS)
    if m.op == "LinearRegressor":
        given = d.pick([None, few(d, n), few(d, 1)])
        return m.result(m.node(m.op, [m.feed(d.data(shape, F32, "small"))], coefficients=few(d, n * cols), intercepts=given,
                               targets=n, post_transform=how))
    x = m.feed(d.data(shape, d.pick([F32, F64, I32, I64]), "small"))
    m.result(*m.node(m.op, [x], 2, coefficients=few(d, n * cols), intercepts=few(d, n), classlabels_ints=[5, 7, 2, 9][:max(n, 2)],
                     multi_class=d.pick([0, 1]), post_transform=how))


@row("SVMRegressor SVMClassifier", ML)
def _(d, m):
    cols, kernel = d.int(1, 4), d.pick(["LINEAR", "POLY", "RBF", "SIGMOID"])
    shape = [d.int(1, 4), cols] if d.flag(80) else [cols]
    attrs = dict(kernel_type=kernel, kernel_params=[0.25, 0.5, d.pick([2.0, 3.0])])
    if m.op == "SVMRegressor":
        n = d.int(0, 4)
        attrs.update(n_supports=n, one_class=d.pick([0, 1]), coefficients=few(d, n or cols), rho=few(d, 1))
        if n:
            attrs.update(support_vectors=few(d, n * cols))
        return m.result(m.node(m.op, [m.feed(d.data(shape, F32, "small"))], **attrs))
    n = d.int(2, 4)
    pairs = n * (n - 1) // 2
    attrs.update(classlabels_ints=[5, 7, 2, 9][:n], post_transform=d.pick(TRANSFORMS))
    if d.flag(80):
        per = [d.int(1, 3) for _ in range(n)]
        attrs.update(vectors_per_class=per, support_vectors=few(d, sum(per) * cols), coefficients=few(d, (n - 1) * sum(per)),
                     rho=few(d, pairs))
        if d.flag():
            attrs.update(prob_a=[-0.5 - abs(a) for a in few(d, pairs)], prob_b=few(d, pairs))
    else:
        attrs.update(coefficients=few(d, n * cols), rho=few(d, 1))
    x = m.feed(d.data(shape, d.pick([F32, F64, I32, I64]), "small"))
    m.result(*m.node(m.op, [x], 2, **attrs))
    m.rtol, m.atol = 1e-3, 1e-3    # probabilities are found in steps, the last of which may be one more


# -- trees -------------------------------------------------------------------

MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


class Trees:
    """Random trees over `features`: branches in one list, leaves in another; a child
    is a branch (its place) or a leaf (-1 - its place)."""

    def __init__(self, d, features, depth=3):
        self.d, self.features = d, features
        self.branches, self.leaves, self.roots = [], 0, []
        self.mode = d.pick(MODES) if d.flag(60) else None
        for _ in range(d.int(1, 3)):
            self.roots.append(self.grow(depth, True))

    def grow(self, depth, root=False):
        d = self.d
        if depth == 0 or (not root and d.flag(30)):
            self.leaves += 1
            return -self.leaves
        at = len(self.branches)
        b = dict(feature=d.below(self.features), value=d.below(17) / 4 - 2, mode=self.mode or d.pick(MODES), nan=int(d.flag(30)))
        self.branches.append(b)
        b["yes"], b["no"] = self.grow(depth - 1), self.grow(depth - 1)
        return at

    def older(self):
        """Lists of nodes, and for each leaf the numbers of its tree and node."""
        lists = {k: [] for k in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids", "missing_value_tracks_true")}
        place = {}

        def walk(tree, at):
            i = sum(t == tree for t in lists["treeids"])
            b = self.branches[at] if at >= 0 else dict(feature=0, value=0.0, mode="LEAF", nan=0)
            for k, v in zip(lists, (tree, i, b["feature"], b["value"], b["mode"], 0, 0, b["nan"])):
                lists[k].append(v)
            if at < 0:
                place[-1 - at] = (tree, i)
                return i
            n = len(lists["treeids"]) - 1
            lists["truenodeids"][n] = walk(tree, b["yes"])
            lists["falsenodeids"][n] = walk(tree, b["no"])
            return i
        for tree, root in enumerate(self.roots):
            walk(tree, root)
        return {f"nodes_{k}": v for k, v in lists.items()}, place


def tree_rows(d, features, dtypes):
    x = d.data([d.int(1, 5), features], d.pick(dtypes), "small")
    if is_float(x.dtype) and d.flag(30):
        x.flat[d.below(x.size)] = np.nan
    return x


@row("TreeEnsembleRegressor TreeEnsembleClassifier", ML)
def _(d, m):
    features = d.int(1, 4)
    trees = Trees(d, features)
    attrs, place = trees.older()
    classes = m.op == "TreeEnsembleClassifier"
    n = d.int(3, 4) if classes else d.int(1, 3)
    binary = classes and d.flag(30)
    if binary:
        n = 1
    every = classes or d.flag(70)    # leaves have weights for every target
    weights = [(t, i, k, d.below(17) / 4 - (0 if binary and trees.leaves % 2 else 2)) for leaf, (t, i) in sorted(place.items())
               for k in (range(n) if every else [d.below(n)])]
    kind = "class" if classes else "target"
    for name, column in zip(("treeids", "nodeids", "ids", "weights"), zip(*weights)):
        attrs[f"{kind}_{name}"] = list(column)
    x = m.feed(tree_rows(d, features, [F32, F64, I64] if classes else [F32, F64]))
    if every and d.flag(30):
        attrs["base_values"] = [0.25 * (i + 1) for i in range(n)]
    if classes:
        attrs["post_transform"] = d.pick(["NONE", "LOGISTIC"] + ([] if binary else ["SOFTMAX", "SOFTMAX_ZERO"]))
        attrs["classlabels_int64s"] = [5, 7, 2, 9][:max(n, 2)]
        return m.result(*m.node(m.op, [x], 2, **attrs))
    attrs["aggregate_function"] = d.pick(["SUM", "AVERAGE", "MIN", "MAX"])
    attrs["post_transform"] = d.pick(["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"]) if every and n > 1 else "NONE"
    m.result(m.node(m.op, [x], n_targets=n, **attrs))


@row("TreeEnsemble", ML)
def _(d, m):
    """Version 5; a set may be asked for instead of a comparison."""
    m.versions[ML] = 5
    features, n, dtype = d.int(1, 4), d.int(1, 3), d.pick([F32, F64])
    trees = Trees(d, features)
    codes, members = [MODES.index(b["mode"]) for b in trees.branches], []
    for i in range(len(codes)):
        if d.flag(15):
            codes[i] = 6
            members += [d.below(8) / 4 + 0.25 for _ in range(d.int(1, 3))] + [np.nan]    # at 0 the reference ends a set
            m.source, m.cast = "reference", dtype    # ONNX Runtime takes members for integers

    def child(key):
        return [b[key] if b[key] >= 0 else -1 - b[key] for b in trees.branches], [int(b[key] < 0) for b in trees.branches]
    (yes, yes_leaf), (no, no_leaf) = child("yes"), child("no")
    nan = [b["nan"] for b in trees.branches]
    m.result(m.node(m.op, [m.feed(tree_rows(d, features, [dtype]))], n_targets=n, tree_roots=trees.roots,
                    aggregate_function=d.pick([1, 0] if members else [1, 0, 2, 3]), post_transform=0,
                    nodes_modes=np.array(codes, U8), nodes_featureids=[b["feature"] for b in trees.branches],
                    nodes_splits=np.array([b["value"] for b in trees.branches], dtype), nodes_truenodeids=yes, nodes_trueleafs=yes_leaf,
                    nodes_falsenodeids=no, nodes_falseleafs=no_leaf, nodes_missing_value_tracks_true=nan if d.flag() else None,
                    membership_values=np.array(members, dtype) if members else None,
                    leaf_targetids=[d.below(n) for _ in range(trees.leaves)],
                    leaf_weights=np.array([d.below(17) / 4 - 2 for _ in range(trees.leaves)], dtype)))


# -- others -------------------------------------------------------------------

@row("DynamicQuantizeLSTM", "com.microsoft")
def _(d, m):
    """x (L,N,I), W (D,I,4H), R (D,H,4H) in bytes, a scale and a zero point for each
    direction. One row: of several, ONNX Runtime may round states apart."""
    length, size, hidden = d.int(1, 4), d.int(1, 5), d.int(1, 4)
    direction = d.pick(["forward", "reverse", "bidirectional"])
    ways, kind = 2 if direction == "bidirectional" else 1, d.pick([I8, U8])

    def packed(rows):
        return m.const(d.data([ways, rows, 4 * hidden], kind))
    zero = np.full(ways, 0 if kind == I8 else 16, kind)
    inputs = [m.feed(d.data([length, 1, size], F32, "small")), packed(size), packed(hidden)]
    inputs += [m.const(d.data([ways, 8 * hidden], F32, "unit")) if d.flag() else None, None]
    inputs += [m.feed(d.data([ways, 1, hidden], F32, "unit")) if d.flag() else None for _ in range(2)] + [None]
    inputs += [m.const(np.full(ways, 0.0625, F32)), m.const(zero), m.const(np.full(ways, 0.03125, F32)), m.const(zero)]
    m.result(*m.node(m.op, inputs, 3, hidden_size=hidden, direction=direction))
    m.rtol, m.atol = 1e-3, 5e-3    # a number between two steps may go either way


@row("LinearAttention", first=27, last=27)
def _(d, m):
    """Heads that share keys too; decay and rate where the rule has them."""
    batch, steps, kv, share, dk, dv = (d.int(1, 3) for _ in range(6))
    rule = d.pick([None, "linear", "gated", "delta", "gated_delta"])

    def rows(size, low=False):
        x = d.data([batch, steps, size], F32, "small")
        return m.feed(-np.abs(x) if low else x)
    inputs = [rows(kv * share * dk), rows(kv * dk), rows(kv * dv)]
    inputs.append(m.feed(d.data([batch, kv, dk, dv], F32, "small")) if d.flag() else None)
    inputs.append(rows(kv * d.pick([1, dk]), True) if rule in (None, "gated", "gated_delta") else None)
    inputs.append(rows(d.pick([1, kv])) if rule in (None, "delta", "gated_delta") else None)
    m.result(*m.node(m.op, inputs, 2, q_num_heads=kv * share, kv_num_heads=kv, update_rule=rule,
                     scale=d.pick([None, 0.5]), chunk_size=d.pick([None, 2])))
    m.source = "reference"
    m.rtol, m.atol = 1e-3, 1e-3


@row("FlexAttention", "ai.onnx.preview")
def _(d, m):
    """Of graphs between the steps, a sum and a product."""
    m.opset = NEWEST
    batch, groups, per = d.int(1, 2), d.int(1, 2), d.int(1, 2)
    length, keys, size, wide = d.int(1, 4), d.int(1, 4), d.int(1, 4), d.int(1, 4)
    dtype = d.pick([F32, F64, F16])
    code = 11 if dtype == F64 else 1

    def graph(op, value):
        info = helper.make_tensor_value_info
        node = helper.make_node(op, ["s", "c"], ["t"])
        stored = helper.make_tensor("c", code, [], [value])
        return helper.make_graph([node], op, [info("s", code, [None] * 4)], [info("t", code, [None] * 4)], [stored])
    q, k, v = (m.feed(d.data(s, dtype, "small")) for s in
               ([batch, groups * per, length, size], [batch, groups, keys, size], [batch, groups, keys, wide]))
    m.result(m.node(m.op, [q, k, v], scale=d.pick([None, 0.25]), score_mod=graph("Mul", 0.5) if d.flag() else None,
                    prob_mod=graph("Add", 0.25) if d.flag() else None))
    m.source = "reference"

"""Chains of two to six operators, drawn so that they fuse: a product or a
convolution, then what runs in its epilogue, norms, casts, views, broadcasts."""
import numpy as np

from differential_core import F16, F32, F64, I8, I64, U8, Model, Reject

STARTS, STEPS = [], []
WIDE = 12    # percent that fill the vectors of oneDNN
OPSETS = [17, 13, 20, 11, 22, 9]


def start(function):
    STARTS.append(function)
    return function


def step(weight=1, rank=None):
    """A step of the chain: fn(d, m, x) -> y, for values of that rank."""
    def register(function):
        STEPS.extend([(rank, function)] * weight)
        return function
    return register


def known(m, name, shape, dtype=None):
    m.shape[name] = list(shape)
    m.dtype[name] = dtype or F32
    return name


def like(m, y, x):
    return known(m, y, m.shape[x], m.dtype[x])


def drawn(d):
    m = Model(d, d.pick(OPSETS))
    m.label = "chain"
    x = d.pick(STARTS)(d, m)
    m.main = [x]
    for _ in range(d.int(1, 5)):
        rank = len(m.shape[x])
        fits = [f for r, f in STEPS if r in (None, rank)]
        y = d.pick(fits)(d, m, x)
        if d.flag(8):
            m.result(x)    # read by the next step, and a result as well
        x = y
        m.main.append(x)
    m.result(x)
    m.turned = d.flag(10)    # cleave gets the nodes in another order
    half = F16 in m.dtype.values()
    m.rtol, m.near = (2e-2, 2e-2) if half else (1e-3, 2e-4)
    return m


# -- starts ------------------------------------------------------------------

@start
def conv(d, m):
    rank = d.pick([2, 2, 2, 1, 3])
    size = [d.int(1, 6 if rank < 3 else 4) for _ in range(rank)]
    batch, group, per, out = d.pick([1, 2, 3]), d.pick([1, 1, 1, 2, 4]), d.pick([1, 2, 3]), d.pick([1, 2, 4])
    if d.flag(WIDE):
        batch = d.pick([1, 2, 8])    # eight are cut and laid out otherwise than two
        per, out, group = d.pick([8, 16, 17, 32]), d.pick([8, 16, 24, 13]), 1
        size = [d.int(3, 12 if rank < 3 else 4) for _ in range(rank)]
    x = m.feed(d.data([batch, group * per] + size))
    m.start_in = x
    return conv_on(d, m, x, out * group, group)


def conv_on(d, m, x, out, group=1):
    shape = m.shape[x]
    rank = len(shape) - 2
    kernel = [d.pick([1, 3, 2]) for _ in range(rank)]
    pads = [d.pick([k // 2, 0, 1]) for k in kernel] * 2
    strides = [d.pick([1, 1, 2]) for _ in range(rank)]
    size = [(n + pads[i] + pads[rank + i] - kernel[i]) // strides[i] + 1
            for i, n in enumerate(shape[2:])]
    if min(size) < 1:
        raise Reject("no output")
    w = d.data([out, shape[1] // group] + kernel, F32, "unit")
    inputs = [x, m.const(w)] + ([m.const(d.data([out]))] if d.flag() else [])
    y = m.node("Conv", inputs, strides=strides, pads=pads, group=group, kernel_shape=kernel)
    return known(m, y, [shape[0], out] + size)


@start
def gemm(d, m):
    rows, inner, cols = d.pick([1, 2, 3, 5]), d.dim(), d.dim()
    if d.flag(WIDE):
        rows, inner, cols = d.pick([8, 9, 16, 33]), d.pick([8, 17, 32]), d.pick([8, 16, 19])
    x = m.feed(d.data([rows, inner]))
    turned = d.flag()
    w = d.data([cols, inner] if turned else [inner, cols], F32, "unit")
    inputs = [x, m.weight(w, 85)]
    if m.opset < 11 or d.flag(70):
        inputs.append(m.weight(d.data(d.pick([[cols], [rows, cols], [1, cols], []])), 85))
    m.start_in = x
    y = m.node("Gemm", inputs, transB=int(turned), alpha=d.pick([None, 0.5]), beta=d.pick([None, 2.0]))
    return known(m, y, [rows, cols])


@start
def matmul(d, m):
    lead = d.pick([[], [2], [1, 3], [2, 2]])
    rows, inner, cols = d.dim(5), d.dim(), d.dim()
    if d.flag(WIDE):
        rows, inner, cols = d.pick([8, 9, 16]), d.pick([8, 17, 32]), d.pick([8, 16, 19])
    a = m.feed(d.data(lead + [rows, inner]))
    b = d.data((lead if d.flag(40) else []) + [inner, cols], F32, "unit")
    m.start_in = a
    return known(m, m.node("MatMul", [a, m.weight(b, 75)]), lead + [rows, cols])


@start
def plain(d, m):
    x = m.feed(d.data(d.shape(1, 4, empty=1), d.pick([F32, F32, F16, F64])))
    m.start_in = x
    return x


@start
def transposed(d, m):
    size = [d.int(1, 3), d.int(1, 3)]
    cin, cout = d.pick([1, 2]), d.pick([1, 2, 3])
    batch = d.pick([1, 2])
    x = m.feed(d.data([batch, cin] + size))
    w = m.const(d.data([cin, cout, 2, 2], F32, "unit"))
    m.start_in = x
    s = d.pick([1, 2])
    y = m.node("ConvTranspose", [x, w], strides=[s, s])
    return known(m, y, [batch, cout] + [(n - 1) * s + 2 for n in size])


@start
def quantized(d, m):
    """As quantizing tools write it: integers between, floats around. All numbers
    are multiples of powers of two, so that every sum is exact."""
    if m.opset < 13:
        raise Reject("no axis yet")
    kind = d.pick([U8, I8])
    low = 0 if kind == U8 else -4

    def pair(x, shape, scale):
        s, z = m.const(np.array(scale, F32)), m.const(np.array(d.int(low, low + 8), kind))
        y = m.node("DequantizeLinear", [m.node("QuantizeLinear", [x, s, z]), s, z])
        return known(m, y, shape)
    conv = d.flag(60)
    x_scale = d.pick([0.125, 0.25])
    if not conv:
        shape = d.pick([[], [], [2]]) + [d.pick([1, 2, 3]), d.dim(5)]
        x = m.feed(d.data(shape))
        m.start_in = x
        y = quantized_product(d, m, pair(x, shape, x_scale), x_scale)
    else:
        group, per = d.pick([(1, 1), (1, 2), (1, 3), (3, 1), (4, 1), (2, 2)])
        shape = [d.pick([1, 1, 2]), group * per, d.int(1, 7), d.pick([1, 2, 4, 7, 18, 35])]
        x = m.feed(d.data(shape))
        m.start_in = x
        y = quantized_conv(d, m, pair(x, shape, x_scale), group, x_scale)
    if d.flag(40):
        y = like(m, m.node("Relu", [y]), y)
    elif d.flag(20) and m.opset >= 11:
        y = like(m, m.node("Clip", [y, m.const(np.array(-0.5, F32)), m.const(np.array(2, F32))]), y)
    y = pair(y, m.shape[y], d.pick([0.25, 0.5, 1.0]))
    for _ in range(d.below(4)):
        y = d.pick(BETWEEN)(d, m, y)
        y = pair(y, m.shape[y], d.pick([0.25, 0.5, 1.0]))
    return y


def quantized_weight(d, m, shape, x_scale, channels):
    """(weight, bias or None), dequantised; one scale, or one per output."""
    out = shape[channels]
    per = [out] if d.flag() else []
    s = d.pick([0.0625, 0.125])
    w = m.node("DequantizeLinear", [m.const(d.data(shape, I8)), m.const(np.full(per, s, F32)),
                                    m.const(np.zeros(per, I8))], axis=channels)
    if not d.flag():
        return w, None
    b = m.node("DequantizeLinear", [m.const(d.data([out], np.dtype("int32"))),
                                    m.const(np.full(per, s * x_scale, F32))], axis=0)
    return w, b


def quantized_product(d, m, x, x_scale):
    shape, out = m.shape[x], d.pick([1, 2, 3, 17])
    if len(shape) > 2 or d.flag():
        w, b = quantized_weight(d, m, [shape[-1], out], x_scale, 1)
        y = known(m, m.node("MatMul", [x, w]), shape[:-1] + [out])
        return y if b is None else like(m, m.node("Add", [y, b]), y)
    w, b = quantized_weight(d, m, [out, shape[1]], x_scale, 0)
    y = m.node("Gemm", [x, w] + ([] if b is None else [b]), transB=1)
    return known(m, y, [shape[0], out])


def quantized_conv(d, m, x, group, x_scale):
    shape = m.shape[x]
    out = group * d.pick([1, 1, 2, 5])
    kernel, pad, stride = d.pick([1, 3, 3, 5, 2]), d.pick([0, 1, 2]), d.pick([1, 1, 2, 3])
    size = [(n + 2 * pad - kernel) // stride + 1 for n in shape[2:]]
    if min(size) < 1 or pad >= kernel > 1:
        raise Reject("no output")
    w, b = quantized_weight(d, m, [out, shape[1] // group, kernel, kernel], x_scale, 0)
    y = m.node("Conv", [x, w] + ([] if b is None else [b]), group=group, pads=[pad] * 4, strides=[stride] * 2)
    return known(m, y, [shape[0], out] + size)


def between_move(d, m, x):
    shape, perm = m.shape[x], []
    for i in range(len(shape)):
        perm.insert(d.below(i + 1), i)
    return known(m, m.node("Transpose", [x], perm=perm), [shape[i] for i in perm])


def between_flat(d, m, x):
    n = int(np.prod(m.shape[x]))
    return known(m, m.node("Reshape", [x, m.const(np.array([n, 1], I64))]), [n, 1])


def between_function(d, m, x):
    """Exact on a grid."""
    op, attrs = d.pick([("Relu", {}), ("Abs", {}), ("Neg", {}), ("LeakyRelu", dict(alpha=0.5))])
    return like(m, m.node(op, [x], **attrs), x)


def between_two(d, m, x):
    """With itself, with a function of itself, or with weights."""
    op = d.pick(["Add", "Mul"])
    other = x
    if d.flag(40):
        other = m.node("Relu", [x])
    elif d.flag(60):
        shape = m.shape[x][-1:] if d.flag() else m.shape[x]
        s, z = m.const(np.array(0.125, F32)), m.const(np.array(3, U8))
        other = m.node("DequantizeLinear", [m.const(d.data(shape, U8)), s, z])
    return like(m, m.node(op, [x, other]), x)


def between_cat(d, m, x):
    s, z = m.const(np.array(d.pick([0.5, 0.25]), F32)), m.const(np.array(2, U8))
    axis = d.below(len(m.shape[x]))
    shape = list(m.shape[x])
    other = m.node("DequantizeLinear", [m.node("QuantizeLinear", [x, s, z]), s, z])
    shape[axis] *= 2
    return known(m, m.node("Concat", [x, other], axis=axis), shape)


def between_pool(d, m, x):
    shape = m.shape[x]
    if len(shape) != 4 or min(shape[2:]) < 2:
        return between_function(d, m, x)
    stride, pad = d.pick([1, 2]), d.pick([0, 1])
    size = [(n + 2 * pad - 3) // stride + 1 for n in shape[2:]]
    if min(size) < 1:
        return between_function(d, m, x)
    y = m.node("MaxPool", [x], kernel_shape=[3, 3], strides=[stride] * 2, pads=[pad] * 4)
    return known(m, y, shape[:2] + size)


BETWEEN = [between_move, between_flat, between_function, between_function, between_two, between_cat, between_pool]


# -- what runs behind a product ----------------------------------------------

def number(d, m, x, values=(0.5, 2.0, -1.0, 3.0, 0.25, 0.0, 1.0)):
    """A constant for x: one number, or one per channel."""
    shape, dtype = m.shape[x], m.dtype[x]
    kind = d.below(4)
    if kind < 2 or not shape:
        return m.const(np.full([] if kind == 0 else [1], d.pick(list(values)), dtype))
    if kind == 2 and len(shape) > 2:
        return m.const(d.data([shape[1]] + [1] * (len(shape) - 2), dtype))
    return m.const(d.data(shape[-1:], dtype))


@step(8)
def linear(d, m, x):
    op = d.pick(["Mul", "Add", "Sub", "Div"])
    c = number(d, m, x)
    if op == "Div":
        m.consts[c] = np.where(m.consts[c] == 0, np.array(2, m.dtype[c]), m.consts[c])
    swap = d.flag(20) and op != "Div"
    return like(m, m.node(op, [c, x] if swap else [x, c]), x)


@step(6)
def activation(d, m, x):
    ops = [("Relu", {}), ("LeakyRelu", dict(alpha=d.pick([0.5, 0.01, 2.0, -0.5]))), ("Sigmoid", {}), ("Tanh", {}),
           ("Elu", dict(alpha=d.pick([1.0, 0.5]))), ("HardSigmoid", dict(alpha=d.pick([0.2, 0.5]), beta=d.pick([0.5, 0.25]))),
           ("Abs", {}), ("Neg", {}), ("Softplus", {}), ("Selu", {})]
    if m.opset >= 14:
        ops.append(("HardSwish", {}))
    if m.opset >= 18:
        ops.append(("Mish", {}))
    if m.opset >= 20:
        ops.append(("Gelu", dict(approximate=d.pick(["none", "tanh"]))))
    op, attrs = d.pick(ops)
    return like(m, m.node(op, [x], **attrs), x)


@step(4)
def clip(d, m, x):
    low, high = d.pick([0.0, -1.0, 0.5, None]), d.pick([6.0, 1.0, 2.5, None])
    if m.opset < 11:
        return like(m, m.node("Clip", [x], min=low, max=high), x)
    inputs = [x] + [None if v is None else m.const(np.array(v, m.dtype[x])) for v in (low, high)]
    while inputs[-1] is None:
        inputs.pop()
    return like(m, m.node("Clip", inputs), x)


@step(3)
def other_operand(d, m, x):
    """A second tensor, of the same shape or one that broadcasts to it."""
    shape = [1 if d.flag(25) else n for n in m.shape[x]]
    shape = shape[d.below(len(shape) + 1) if d.flag(25) else 0:]
    other = m.weight(d.data(shape, m.dtype[x]), 30)
    op = d.pick(["Add", "Mul", "Sub", "Max", "Min"])
    return like(m, m.node(op, [x, other] if not d.flag(25) else [other, x]), x)


@step(3)
def residual(d, m, x):
    """An earlier value of the same shape."""
    same = [v for v in [m.start_in, *m.main] if m.shape[v] == m.shape[x] and m.dtype[v] == m.dtype[x]]
    op = d.pick(["Add", "Mul", "Sub", "Max"])
    other = d.pick(same) if same else x
    return like(m, m.node(op, [other, x] if d.flag() else [x, other]), x)


@step(2)
def gate(d, m, x):
    """x * f(x): SiLU, and hard-swish as exporters spell it."""
    if d.flag():
        return like(m, m.node("Mul", [x, m.node("Sigmoid", [x])]), x)
    t = m.dtype[x]
    y = m.node("Add", [x, m.const(np.array(3, t))])
    y = m.node("Clip", [y, m.const(np.array(0, t)), m.const(np.array(6, t))]) if m.opset >= 11 \
        else m.node("Clip", [y], min=0.0, max=6.0)
    y = m.node("Mul", [x, y])
    return like(m, m.node("Div", [y, m.const(np.array(6, t))]), x)


@step(1)
def erf_gelu(d, m, x):
    t = m.dtype[x]
    y = m.node("Erf", [m.node("Div", [x, m.const(np.array(1.4142135, t))])])
    y = m.node("Mul", [x, m.node("Add", [y, m.const(np.array(1, t))])])
    return like(m, m.node("Mul", [y, m.const(np.array(0.5, t))]), x)


@step(1)
def power(d, m, x):
    if d.flag():
        return like(m, m.node("Sqrt", [m.node("Abs", [x])]), x)
    return like(m, m.node("Pow", [x, m.const(np.array(2, m.dtype[x]))]), x)


@step(1)
def passing(d, m, x):
    return like(m, m.node(d.pick(["Identity", "Dropout"]), [x]), x)


@step(2)
def cast(d, m, x):
    target = d.pick([F32, F16, F64])
    from differential_core import onnx_type
    y = m.node("Cast", [x], to=onnx_type(target))
    return known(m, y, m.shape[x], target)


# -- norms, pools, second products -------------------------------------------

@step(3, 4)
def batch_norm(d, m, x):
    c = [m.shape[x][1]]
    if m.dtype[x] != F32 or 0 in m.shape[x]:
        raise Reject("float32 alone")
    inputs = [x] + [m.const(d.data(c)) for _ in range(3)] + [m.const(d.data(c, F32, "positive"))]
    return like(m, m.node("BatchNormalization", inputs, epsilon=d.pick([1e-5, 0.1])), x)


@step(1)
def softmax(d, m, x):
    if not m.shape[x]:
        raise Reject("no axis")
    rank = len(m.shape[x])
    return like(m, m.node("Softmax", [x], axis=rank - 1 if m.opset < 13 else d.pick([-1, 0, rank - 1])), x)


@step(1)
def layer_norm(d, m, x):
    """In one node, or in the nine that exporters make of it."""
    shape, t = m.shape[x], m.dtype[x]
    if not shape or t != F32 or 0 in shape:
        raise Reject("float32 alone")
    scale, shift = m.const(d.data(shape[-1:])), m.const(d.data(shape[-1:]))
    if m.opset >= 17 and d.flag():
        return like(m, m.node("LayerNormalization", [x, scale, shift], axis=-1, epsilon=0.125), x)
    if m.opset >= 18:
        mean = m.node("ReduceMean", [x, m.const(np.array([-1], I64))])
    else:
        mean = m.node("ReduceMean", [x], axes=[-1] if m.opset >= 11 else [len(shape) - 1])
    centred = m.node("Sub", [x, mean])
    square = m.node("Pow", [centred, m.const(np.array(2, F32))])
    if m.opset >= 18:
        var = m.node("ReduceMean", [square, m.const(np.array([-1], I64))])
    else:
        var = m.node("ReduceMean", [square], axes=[-1] if m.opset >= 11 else [len(shape) - 1])
    root = m.node("Sqrt", [m.node("Add", [var, m.const(np.array(0.125, F32))])])
    y = m.node("Mul", [m.node("Div", [centred, root]), scale])
    return like(m, m.node("Add", [y, shift]), x)


@step(2, 4)
def pool(d, m, x):
    shape = m.shape[x]
    if m.dtype[x] != F32 or 0 in shape:
        raise Reject("float32 alone")
    kind = d.pick(["MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool"])
    if kind.startswith("Global"):
        return known(m, m.node(kind, [x]), shape[:2] + [1, 1])
    k = [min(2, n) for n in shape[2:]]
    y = m.node(kind, [x], kernel_shape=k, strides=k)
    return known(m, y, shape[:2] + [n // a for n, a in zip(shape[2:], k)])


@step(2, 4)
def second_conv(d, m, x):
    if m.dtype[x] != F32 or 0 in m.shape[x]:
        raise Reject("float32 alone")
    depthwise = d.flag(30)
    return conv_on(d, m, x, m.shape[x][1] if depthwise else d.pick([1, 2, 3]), m.shape[x][1] if depthwise else 1)


@step(2)
def second_matmul(d, m, x):
    shape = m.shape[x]
    if len(shape) < 2 or m.dtype[x] != F32 or 0 in shape:
        raise Reject("float32 alone")
    cols = d.dim(5)
    y = m.node("MatMul", [x, m.const(d.data([shape[-1], cols], F32, "unit"))])
    known(m, y, shape[:-1] + [cols])
    return like(m, m.node("Add", [y, m.const(d.data([cols]))]), y) if d.flag() else y


# -- views -------------------------------------------------------------------

@step(2)
def transpose(d, m, x):
    rest, perm = list(range(len(m.shape[x]))), []
    while rest:
        perm.append(rest.pop(d.below(len(rest))))
    return known(m, m.node("Transpose", [x], perm=perm), [m.shape[x][p] for p in perm], m.dtype[x])


@step(2)
def reshape(d, m, x):
    shape = m.shape[x]
    n = int(np.prod(shape))
    if n == 0:
        raise Reject("empty")
    target = d.pick([[n], [1, n], [n, 1]] + ([shape[:1] + [n // shape[0]]] if shape else []) +
                    ([[1] + shape] if len(shape) < 4 else []))
    return known(m, m.node("Reshape", [x, m.const(np.array(target, I64))]), target, m.dtype[x])


@step(1)
def flatten(d, m, x):
    shape = m.shape[x]
    if not shape or m.dtype[x] != F32:
        raise Reject("float32 alone")
    axis = d.int(0, len(shape))
    out = [int(np.prod(shape[:axis])), int(np.prod(shape[axis:]))]
    return known(m, m.node("Flatten", [x], axis=axis), out)


@step(1)
def part(d, m, x):
    shape = m.shape[x]
    if not shape or m.opset < 10:
        raise Reject("no axis")
    axis = d.below(len(shape))
    low = d.int(0, shape[axis])
    high = d.int(low, shape[axis])
    out = list(shape)
    out[axis] = high - low
    if out[axis] == 0:
        raise Reject("empty")
    inputs = [x] + [m.const(np.array([v], I64)) for v in (low, high, axis)]
    return known(m, m.node("Slice", inputs), out, m.dtype[x])


@step(1)
def joined(d, m, x):
    shape = m.shape[x]
    if not shape:
        raise Reject("no axis")
    axis = d.below(len(shape))
    out = list(shape)
    out[axis] *= 2
    y = m.node("Concat", [x, x if d.flag() else m.node("Relu", [x])], axis=axis)
    return known(m, y, out, m.dtype[x])


@step(2)
def mean(d, m, x):
    shape = m.shape[x]
    if not shape or m.dtype[x] == F16 or 0 in shape:
        raise Reject("no axis")
    axes, keep = [d.below(len(shape))], d.pick([1, 0])
    if len(shape) > 2 and d.flag():
        axes = list(range(2, len(shape)))    # as a network pools at its end
    out = [1 if i in axes else n for i, n in enumerate(shape) if keep or i not in axes]
    if m.opset >= 18:
        y = m.node("ReduceMean", [x, m.const(np.array(axes, I64))], keepdims=keep)
    else:
        y = m.node("ReduceMean", [x], axes=axes, keepdims=keep)
    return known(m, y, out, m.dtype[x])


# -- what exporters take apart, and what only looks like it -------------------

def half_of(m, t, value):
    return m.const(np.array(value, t))


@step(2)
def tanh_gelu(d, m, x):
    """0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))); one in three is off."""
    t = m.dtype[x]
    third, root, power = 0.044715, 0.7978845608, 3
    if d.flag(33):
        third, root, power = d.pick([(0.05, root, 3), (third, 0.75, 3), (third, root, 2)])
    cube = m.node("Pow", [x, half_of(m, t, power)])
    u = m.node("Mul", [m.node("Add", [x, m.node("Mul", [cube, half_of(m, t, third)])]), half_of(m, t, root)])
    gate_ = m.node("Add", [m.node("Tanh", [u]), half_of(m, t, 1)])
    y = m.node("Mul", [m.node("Mul", [x, half_of(m, t, 0.5)]), gate_])
    return like(m, y, x)


@step(2)
def rms_norm(d, m, x):
    """x / sqrt(mean(x^2) + eps) times a weight, over the last axis or another."""
    shape, t = m.shape[x], m.dtype[x]
    if not shape or t != F32 or 0 in shape or m.opset < 13 or m.opset >= 18:
        raise Reject("float32 alone")
    axis = -1 if not d.flag(25) else d.below(len(shape))
    mean_ = m.node("ReduceMean", [m.node("Pow", [x, half_of(m, t, 2)])], axes=[axis])
    root = m.node("Sqrt", [m.node("Add", [mean_, half_of(m, t, 0.125)])])
    y = m.node("Div", [x, root]) if d.flag() else m.node("Mul", [m.node("Reciprocal", [root]), x])
    weight = m.const(d.data(shape[-1:] if not d.flag(20) else [1] * len(shape)))
    return like(m, m.node("Mul", [y, weight] if d.flag() else [weight, y]), x)


@step(3, 3)
def attention(d, m, x):
    """x (B, S, E) attends to itself: projections together or apart, scales and
    masks anywhere, heads by transposes; now and then a form that is none."""
    b, s, e = m.shape[x]
    if m.dtype[x] != F32 or 0 in (b, s, e) or m.opset < 13:
        raise Reject("float32 alone")
    h, size = d.pick([1, 2, 3]), d.pick([1, 2, 4])

    def shaped(v, dims):
        return m.node("Reshape", [v, m.const(np.array(dims, I64))])

    def project(width):
        y = m.node("MatMul", [x, m.const(d.data([e, width], F32, "unit"))])
        return m.node("Add", [y, m.const(d.data([width]))]) if d.flag() else y
    if d.flag():
        whole = m.node("Transpose", [shaped(project(3 * h * size), [b, s, 3, h, size])], perm=[2, 0, 3, 1, 4])
        q, k, v = (m.node("Gather", [whole, m.const(np.array(i, I64))], axis=0) for i in range(3))
    else:
        q, k, v = (m.node("Transpose", [shaped(project(h * size), [b, s, h, size])], perm=[0, 2, 1, 3])
                   for _ in range(3))
    place = d.below(4)
    scale = m.const(np.array(d.pick([0.5, 0.25, 0.7]), F32))
    q = m.node("Mul", [q, scale]) if place == 1 else q
    k = m.node("Transpose", [k], perm=[0, 1, 3, 2])
    k = m.node("Div", [k, scale]) if place == 2 else k
    scores = m.node("MatMul", [q, k])
    scores = m.node("Mul", [scores, scale]) if place == 3 else scores
    for _ in range(d.pick([0, 1, 1, 2])):
        dims = [1 if d.flag(40) else n for n in (b, h, s, s)]
        kind = d.below(3)
        if kind == 0:
            scores = m.node("Add", [scores, m.weight(d.data(dims), 60)])
        else:
            keep = d.data(dims) > -0.5
            low = m.const(np.array(d.pick([-np.inf, -1e9, -10.0]), F32))
            scores = m.node("Where", [m.const(keep), scores, low] if kind == 1 else [m.const(~keep), low, scores])
    scores = m.node("Mul", [scores, scale]) if d.flag(10) else scores
    p = m.node("Softmax", [scores], axis=d.pick([-1, -1, -1, 3, 2]))
    y = m.node("Transpose", [m.node("MatMul", [p, v])], perm=[0, 2, 1, 3])
    if d.flag(8):
        m.result(known(m, p, [b, h, s, s]))
    return known(m, shaped(y, [b, s, h * size]), [b, s, h * size])


@step(1, 4)
def grouped_norm(d, m, x):
    """A group norm by way of an instance norm."""
    shape = m.shape[x]
    groups = [g for g in (1, 2, 3, 4) if shape[1] and shape[1] % g == 0]
    if m.dtype[x] != F32 or 0 in shape or not groups:
        raise Reject("float32 alone")
    g = d.pick(groups)
    y = m.node("Reshape", [x, m.const(np.array([shape[0], g, -1], I64))])
    one = m.const(np.full([g], d.pick([1, 1, 1, 2]), F32))
    y = m.node("InstanceNormalization", [y, one, m.const(np.zeros([g], F32))], epsilon=0.125)
    y = m.node("Reshape", [y, m.const(np.array(shape, I64))])
    y = m.node("Mul", [y, m.const(d.data([shape[1], 1, 1]))])
    return like(m, m.node("Add", [y, m.const(d.data([shape[1], 1, 1]))]), x)


@step(1)
def rolled(d, m, x):
    shape = m.shape[x]
    if not shape or m.opset < 10 or 0 in shape:
        raise Reject("no axis")
    axis = d.below(len(shape))
    n = shape[axis]
    at = d.int(0, n)
    upto = at if not d.flag(20) else d.int(0, n)

    def cut_(low, high):
        return m.node("Slice", [x] + [m.const(np.array([v], I64)) for v in (low, high, axis)])
    if at == n or upto == 0:
        raise Reject("empty")
    out = list(shape)
    out[axis] = n - at + upto
    return known(m, m.node("Concat", [cut_(at, n), cut_(0, upto)], axis=axis), out, m.dtype[x])

"""One row per function of PyTorch: how a valid call of it is drawn.

A row gets the draw d and returns a Call. The call becomes a torch.fx graph that
the live bridge takes; eager PyTorch is the truth. Layouts are drawn as views in
the graph: what the function reads may be a transposed or sliced tensor.
"""
import math
import operator
import os
import sys
import types
import warnings

import numpy as np

from differential_core import BF16, BOUND, ROOT, Answer, Reject

sys.path.insert(0, os.path.join(os.environ.get("CLEAVE_BUILD", os.path.join(ROOT, "build")), "python"))
import torch
import torch.fx
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

import cleave
from cleave._cleave import from_fx

warnings.simplefilter("ignore")
torch.set_num_threads(1)
torch.set_grad_enabled(False)

ROWS = {}
BACKENDS = [("plain C", "ref"), ("fast kernels", "cpu")] + [("oneDNN", "onednn")] * ("onednn" in cleave._cleave.backends())
f32, f64, f16, bf16 = torch.float32, torch.float64, torch.float16, torch.bfloat16
i8, i16, i32, i64, u8, boolean = torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8, torch.bool
FLOATS, INTS = [f32, f32, f64, f16, bf16], [i64, i32, i8, u8, i16]
NUMPY = {f32: "f4", f64: "f8", f16: "f2", bf16: "f4", i8: "i1", i16: "i2", i32: "i4", i64: "i8", u8: "u1", boolean: "?"}
CLOSE = {f64: 1e-7, f32: 5e-5, f16: 8e-3, bf16: 6e-2}


class Call:
    """fn(*args, **kwargs); a string is a method of the first argument. `macs`:
    what torch counts is compared; `close`: in place of the usual tolerance."""

    def __init__(self, fn, *args, macs=False, close=None, bound=False, **kwargs):
        self.fn, self.args, self.kwargs = fn, list(args), kwargs
        self.macs, self.close, self.bound = macs, close, bound

    def run(self, args=None, kwargs=None):
        args, kwargs = args or self.args, kwargs if kwargs is not None else self.kwargs
        if isinstance(self.fn, str):
            return getattr(args[0], self.fn)(*args[1:], **kwargs)
        return self.fn(*args, **kwargs)

    def text(self):
        name = f"Tensor.{self.fn}" if isinstance(self.fn, str) else getattr(self.fn, "__name__", None) or repr(self.fn)
        shown = [shape_text(a) for a in self.args] + [f"{k}={shape_text(v)}" for k, v in self.kwargs.items()]
        return f"{name}({', '.join(shown)})"


def shape_text(a):
    if isinstance(a, torch.Tensor):
        return f"{str(a.dtype)[6:]}{list(a.shape)}"
    if isinstance(a, (list, tuple)):
        return "[" + ", ".join(map(shape_text, a)) + "]"
    return repr(a)


def row(names):
    def register(function):
        for name in names.split():
            ROWS["torch." + name] = (name, function)
        return function
    return register


def drawn(full, d):
    name, function = ROWS[full]
    return function(d, name) if function.__code__.co_argcount == 2 else function(d)


def T(d, shape=None, dtype=None, kind="normal"):
    shape = d.shape() if shape is None else shape
    dtype = dtype or d.pick(FLOATS)
    a = torch.from_numpy(np.ascontiguousarray(d.data(shape, np.dtype(NUMPY[dtype]), kind)))
    return a.reshape(shape).to(dtype)


# -- running a call ----------------------------------------------------------

def flat(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [t for v in value if v is not None for t in flat(v)]
    raise Reject(f"a result of type {type(value).__name__}")


def graph_of(call, d):
    """(torch.fx graph, tensors that it reads)."""
    g, feeds = torch.fx.Graph(), []

    def place(a):
        node = g.placeholder(f"x{len(feeds)}")
        feeds.append(a)
        node.meta["val"] = a
        return node

    def lift(a):
        if not isinstance(a, torch.Tensor):
            return a
        if a.dim() > 1 and d.flag(12):    # as a view of a transposed tensor
            i = d.below(a.dim() - 1)
            node = g.call_method("transpose", (place(a.transpose(i, i + 1).contiguous()), i, i + 1))
            node.meta["val"] = a
            return node
        return place(a)

    def lifted(v):
        if isinstance(v, (list, tuple)):
            return type(v)([lifted(x) for x in v]) if type(v) in (list, tuple) else v
        return lift(v)
    args = tuple(lifted(a) for a in call.args)
    kwargs = {k: lifted(v) for k, v in call.kwargs.items()}
    if isinstance(call.fn, str):
        node = g.call_method(call.fn, args, kwargs)
    elif isinstance(call.fn, torch.nn.Module):
        node = g.call_module("own", args, kwargs)
    else:
        node = g.call_function(call.fn, args, kwargs)
    return g, node, feeds


def module_of(call, g):
    """What the bridge reads: a module is there with its weights."""
    if isinstance(call.fn, torch.nn.Module):
        return torch.fx.GraphModule({"own": call.fn}, g)
    return types.SimpleNamespace(graph=g)


def near(got, want, close):
    if tuple(got.shape) != tuple(want.shape) or got.dtype != want.dtype:
        return f"is {str(got.dtype)[6:]}{list(got.shape)}, expected {str(want.dtype)[6:]}{list(want.shape)}"
    if not want.dtype.is_floating_point:
        bad = got != want
    else:
        bound = close if close is not None else CLOSE[want.dtype]
        a, b = got.double(), want.double()
        size = torch.nan_to_num(b, 0, 0, 0).abs().max().clamp(min=1) if b.numel() else 1
        bad = ~(((a - b).abs() <= bound * (b.abs() + size / 4)) | (a == b) | (a.isnan() & b.isnan()))
    if not bad.any():
        return ""
    at = int(bad.flatten().nonzero()[0])
    return f"element {at} is {got.flatten()[at].item():.9g}, expected {want.flatten()[at].item():.9g}"


def array(t):
    if t.dtype == bf16:
        return t.float().numpy().astype(BF16)
    return t.contiguous().numpy()


def tolerance(call):
    """(rtol, atol), as near() has them."""
    floats = [t for t in call.want if t.is_floating_point()]
    if not floats:
        return 0.0, 0.0
    bound = call.close if call.close is not None else max(CLOSE[t.dtype] for t in floats)
    size = max([1.0] + [torch.nan_to_num(t.double(), 0, 0, 0).abs().max().item() for t in floats if t.numel()])
    return bound, min(bound * size / 4, 1e30)


def flags(call):
    return BOUND if call.bound else 0


def ask(full, d):
    """(Answer, call): what cleave makes of the call, against what torch does."""
    call = drawn(full, d)
    try:
        if call.macs:
            with FlopCounterMode(display=False) as counter:
                result = call.run()
            call.macs = counter.get_total_flops() // 2
        else:
            result = call.run()
    except (RuntimeError, IndexError, ValueError, TypeError, NotImplementedError) as e:
        raise Reject(f"torch: {e}") from None
    want = flat(result)
    if sum(t.numel() for t in want) > 4000 or any(t.is_complex() for t in want):
        raise Reject("too large")
    g, node, feeds = graph_of(call, d)
    node.meta["val"] = result
    if isinstance(call.fn, torch.nn.MultiheadAttention):    # no weights were asked for
        node = g.call_function(operator.getitem, (node, 0))
        node.meta["val"] = result[0]
    g.output(node)
    call.feeds, call.want = feeds, want
    try:
        graph = from_fx(module_of(call, g), "case")
    except cleave.Error as e:
        return Answer("refuse", str(e)), call
    call.graph = graph
    ops = sorted({n["op"] for n in graph.nodes()})
    if "unknown" in ops:
        return Answer("refuse", "unknown operator", ops), call
    if call.macs is not False:
        counted = graph.profile()["total_macs"]
        if counted != call.macs:
            return Answer("wrong", f"{counted} MACs, expected {call.macs}", ops), call
    used = False
    for name, backend in BACKENDS:
        if backend == "onednn" and any(t.is_floating_point() and not t.isfinite().all() for t in feeds):
            continue
        try:
            model = graph.compile(backend, threads=1)
            used = used or any(p[0] != "cpu" for p in model.parts())
            got = model.run(feeds)
        except cleave.Error as e:
            return Answer("refuse" if backend == "ref" else "wrong", f"{name}: {e}", ops), call
        if len(got) != len(want):
            return Answer("wrong", f"{name}: {len(got)} results, expected {len(want)}", ops), call
        for i, (a, b) in enumerate(zip(got, want)):
            why = near(torch.from_dlpack(a), b, call.close)
            if why:
                return Answer("wrong", f"{name}: output {i} {why}", ops, used), call
    return Answer("ok", "", ops, used), call


# -- one element -------------------------------------------------------------

@row("relu relu6 selu celu silu mish logsigmoid hardswish hardsigmoid softsign tanhshrink")
def _(d, name):
    return Call(getattr(F, name), T(d, kind="special" if d.flag(20) else "normal"))


@row("elu leaky_relu hardtanh softplus threshold hardshrink softshrink gelu rrelu")
def _(d, name):
    x = T(d)
    args = {"elu": [d.pick([1.0, 0.5, 2.0])], "leaky_relu": [d.pick([0.01, 0.5, -0.5])],
            "hardtanh": [d.pick([-1.0, -2.0, 0.0]), d.pick([1.0, 2.0])], "softplus": [d.pick([1, 2, 0.5]), d.pick([20, 1])],
            "threshold": [d.pick([0.5, -1.0]), d.pick([2.0, 0.0])], "hardshrink": [d.pick([0.5, 1.0])],
            "softshrink": [d.pick([0.5, 1.0])], "gelu": [], "rrelu": []}[name]
    kwargs = {"approximate": d.pick(["none", "tanh"])} if name == "gelu" else {}
    return Call(getattr(F, name), x, *(args if d.flag(70) else []), **kwargs)


@row("prelu")
def _(d):
    shape = d.shape(1, 4, empty=0)
    channels = shape[1] if len(shape) > 1 else 1
    n = d.pick([1, channels])
    dtype = d.pick([f32, f64])
    return Call(F.prelu, T(d, shape, dtype), T(d, [n], dtype))


@row("sigmoid tanh neg abs sign floor ceil trunc square reciprocal sqrt rsqrt exp exp2 expm1 log log2 log10 log1p "
     "sin cos tan atan sinh cosh asinh erf erfc isnan isinf isfinite logical_not round")
def _(d, name):
    """Integers, too: most become floats."""
    dtype = d.pick(FLOATS + [i64, i32, u8, i8, boolean])
    if name == "neg" and dtype == boolean:
        dtype = f32
    kind = "normal"
    if dtype.is_floating_point:
        kind = "special" if d.flag(25) and name not in ("tan", "sin", "cos", "sign") else "normal"
        if name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt") and d.flag(70):
            kind = "positive"
    elif name in ("exp", "sinh", "cosh", "exp2", "expm1", "tan"):
        kind = "small"
    close = 2e-4 if name in ("tan", "exp", "sinh", "cosh", "exp2", "expm1") and dtype not in (f16, bf16) else None
    return Call(getattr(torch, name), T(d, dtype=dtype, kind=kind), close=close)


@row("erfinv lgamma digamma")
def _(d, name):
    """Away from the poles, where the last bit of x shows."""
    x = T(d, dtype=d.pick([f32, f32, f64]))
    return Call(getattr(torch, name), x / 8 if name == "erfinv" else x.abs() + 0.375, close=2e-4 if x.dtype == f32 else 1e-6)


@row("asin acos atanh")
def _(d, name):
    return Call(getattr(torch, name), T(d, kind="unit"))


@row("acosh")
def _(d):
    x = T(d, kind="positive")
    return Call(torch.acosh, (x + 1).to(x.dtype))


@row("bitwise_not")
def _(d):
    return Call(torch.bitwise_not, T(d, dtype=d.pick(INTS + [boolean]), kind="wide"))


@row("to type float half double int long bool bfloat16")
def _(d, name):
    source = d.pick([f32, f64, f16, bf16, i64, i32, i8, u8, boolean])
    target = d.pick([f32, f64, f16, bf16, i64, i32, i8, u8, boolean])
    x = T(d, dtype=source, kind="positive" if u8 in (target, source) else "normal")
    return Call(name, x, target) if name in ("to", "type") else Call(name, x)


# -- several operands --------------------------------------------------------

def pair(d, dtypes, kind="normal", mixed=True):
    """Two operands that broadcast, of types that promote; or one and a number."""
    shape = d.shape()
    a, b = d.pick(dtypes), d.pick(dtypes) if mixed and d.flag(40) else None
    x = T(d, shape, a, kind)
    if d.flag(25):
        n = d.pick([2, 0.5, -3, 1, -1.5, 3])
        if not a.is_floating_point and a != boolean and d.flag(60):
            n = int(n) or 2
        if a == u8:
            n = abs(n)
        return x, n
    y = T(d, d.broadcastable(shape), b or a, kind)
    return (y, x) if d.flag(20) else (x, y)


EVERY = FLOATS + [i64, i32, u8, i8, boolean]


@row("mul maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor")
def _(d, name):
    x, y = pair(d, EVERY, "special" if d.flag(15) and name not in ("mul",) else "normal")
    if name in ("maximum", "minimum", "logical_and", "logical_or", "logical_xor") and not isinstance(y, torch.Tensor):
        y = torch.tensor(y)
    return Call(getattr(torch, name), x, y)


@row("add sub")
def _(d, name):
    x, y = pair(d, FLOATS + [i64, i32, u8, i8])
    if d.flag(30):
        whole = not (x.is_floating_point() or (isinstance(y, torch.Tensor) and y.is_floating_point()))
        return Call(getattr(torch, name), x, y, alpha=d.pick([2, -1, 3]) if whole else d.pick([2, 0.5, -1]))
    return Call(getattr(torch, name), x, y)


def nonzero(y):
    if isinstance(y, torch.Tensor):
        return torch.where(y == 0, torch.ones_like(y), y)
    return y


@row("div floor_divide remainder fmod true_divide")
def _(d, name):
    x, y = pair(d, FLOATS + [i64, i32, i8, u8])
    if name != "true_divide":
        y = nonzero(y)
    if name == "div":
        return Call(torch.div, x, y, rounding_mode=d.pick([None, "floor", "trunc"]))
    return Call(getattr(torch, name), x, y)


@row("pow")
def _(d):
    x = T(d, dtype=d.pick(FLOATS + [i64, i32]), kind="positive")
    if d.flag(60):
        n = d.pick([2, 0.5, 3, 1, 0, 2.5, -1, -0.5])
        if not x.is_floating_point() and isinstance(n, int):
            n = abs(n)
        return Call(torch.pow, x, n, close=None if x.dtype in (f16, bf16) else 2e-4)
    y = T(d, d.broadcastable(list(x.shape)), d.pick([x.dtype, i64, f32]), "small")
    if not y.is_floating_point():
        y = y.abs()
    return Call(torch.pow, x, y, close=None if x.dtype in (f16, bf16) else 2e-4)


@row("atan2")
def _(d):
    x, y = pair(d, FLOATS)
    return Call(torch.atan2, x, y if isinstance(y, torch.Tensor) else torch.tensor(float(y)))


@row("bitwise_and bitwise_or bitwise_xor")
def _(d, name):
    x, y = pair(d, [i64, i32, u8, i8, boolean])
    if not isinstance(y, torch.Tensor):
        y = int(y) if x.dtype != boolean else bool(y)
    return Call(getattr(torch, name), x, y)


@row("addcmul addcdiv")
def _(d, name):
    shape, dtype = d.shape(), d.pick(FLOATS)
    c = T(d, d.broadcastable(shape), dtype, "positive")
    return Call(getattr(torch, name), T(d, shape, dtype), T(d, d.broadcastable(shape), dtype), c, value=d.pick([1, 0.5, -2]))


@row("lerp")
def _(d):
    shape, dtype = d.shape(), d.pick(FLOATS)
    weight = d.pick([0.25, 0.5, 2.0]) if d.flag() else T(d, d.broadcastable(shape), dtype, "unit")
    return Call(torch.lerp, T(d, shape, dtype), T(d, d.broadcastable(shape), dtype), weight)


@row("clamp")
def _(d):
    shape, dtype = d.shape(), d.pick(FLOATS[:3] + [i64, i32, u8])
    if d.flag(70):
        low, high = d.pick([None, 0, 1, -2]), d.pick([2, None, 3])
        if dtype == u8 and low:
            low = abs(low)
        if dtype.is_floating_point and d.flag(30):
            low = 0.5
        return Call(torch.clamp, T(d, shape, dtype), low, high if low is not None else 2)
    return Call(torch.clamp, T(d, shape, dtype), T(d, d.broadcastable(shape), dtype), T(d, d.broadcastable(shape), dtype))


@row("clamp_min clamp_max")
def _(d, name):
    return Call(getattr(torch, name), T(d), d.pick([0, 1, -1.5]))


@row("where")
def _(d):
    shape = d.shape()
    a, b = d.pick(EVERY), d.pick(EVERY)
    x, y = T(d, d.broadcastable(shape), a), T(d, d.broadcastable(shape), b)
    if d.flag(20):
        y = d.pick([0.0, -1.5])
        x = x if x.is_floating_point() else x.float()
    return Call(torch.where, T(d, d.broadcastable(shape), boolean), x, y)


@row("masked_fill")
def _(d):
    shape = d.shape()
    x = T(d, shape, d.pick(EVERY[:-1]))
    return Call("masked_fill", x, T(d, d.broadcastable(shape), boolean), d.pick([0, 2, 1]))


# -- along axes --------------------------------------------------------------

def dims(d, rank):
    return d.axes(rank, 1) if rank else []


@row("sum mean prod")
def _(d, name):
    x = T(d, d.shape(0, 4, empty=5), d.pick(FLOATS + ([] if name == "mean" else [i64, i32, u8, boolean])), "small")
    close = None if x.dtype not in (f16, bf16) else 0.1
    if d.flag(25):
        return Call(getattr(torch, name), x, close=close)
    if not x.dim():
        return Call(getattr(torch, name), x, -1, close=close)
    dim = d.axis(x.dim()) if name == "prod" or d.flag(30) else dims(d, x.dim())
    kwargs = {"keepdim": True} if d.flag() else {}
    if d.flag(15):
        kwargs["dtype"] = d.pick([f64, f32])
    return Call(getattr(torch, name), x, dim, close=close, **kwargs)


@row("amax amin any all logsumexp count_nonzero")
def _(d, name):
    types = {"any": [boolean, f32, i64], "all": [boolean, f32, i64], "logsumexp": [f32, f64], "count_nonzero": [f32, i64, boolean]}.get(name, FLOATS[:3] + [i64, i32])
    x = T(d, d.shape(1, 4, empty=2), d.pick(types), "special" if name in ("amax", "amin") and d.flag(15) else "small")
    dim = d.axis(x.dim()) if d.flag(40) or name in ("any", "all") else dims(d, x.dim())
    kwargs = {"keepdim": True} if d.flag() and name != "count_nonzero" else {}
    return Call(getattr(torch, name), x, dim, **kwargs)


@row("max min median")
def _(d, name):
    x = T(d, d.shape(1, 4, empty=0), d.pick([f32, f64, i64, i32]))
    if d.flag(30):
        return Call(getattr(torch, name), x)
    # Of equal numbers any place may come: values alone are compared there.
    x = x.flatten().argsort(stable=True).reshape(x.shape).to(x.dtype) if d.flag(70) else x
    if x.unique().numel() < x.numel():
        return Call(torch.amax, x, d.axis(x.dim()))
    return Call(getattr(torch, name), x, d.axis(x.dim()), **({"keepdim": True} if d.flag() else {}))


def distinct(d, shape, dtype):
    n = int(np.prod(shape))
    step = d.pick([1, 3, 5, 7, 11])
    while n and math.gcd(step, n) > 1:
        step += 1
    order = (torch.arange(n) * step + d.int(0, 9)) % max(n, 1)
    return (order - n // 2).reshape(shape).to(dtype)


@row("argmax argmin")
def _(d, name):
    x = distinct(d, d.shape(1, 4, empty=0), d.pick([f32, f64, i64]))
    if d.flag(25):
        return Call(getattr(torch, name), x)
    return Call(getattr(torch, name), x, d.axis(x.dim()), **({"keepdim": True} if d.flag() else {}))


@row("kthvalue topk sort argsort")
def _(d, name):
    x = distinct(d, d.shape(1, 4, empty=0), d.pick([f32, f64, i64, i32]))
    dim = d.axis(x.dim())
    if name == "kthvalue":
        return Call(torch.kthvalue, x, d.int(1, x.shape[dim]), dim, d.flag())
    if name == "topk":
        return Call(torch.topk, x, d.int(0, x.shape[dim]), dim, d.flag())
    return Call(getattr(torch, name), x, dim=dim, descending=d.flag())


@row("norm")
def _(d):
    x = T(d, d.shape(1, 4, empty=0), d.pick([f32, f64]))
    p = d.pick([2, 1, 3, float("inf"), 0, 0.5, float("-inf")])
    if d.flag(30):
        return Call(torch.norm, x, p)
    return Call(torch.norm, x, p, dims(d, x.dim()), d.flag())


@row("linalg_vector_norm")
def _(d):
    x = T(d, d.shape(1, 4, empty=0), d.pick([f32, f64]))
    return Call(torch.linalg.vector_norm, x, d.pick([2, 1, 3, float("inf"), 0, float("-inf")]), dims(d, x.dim()) if d.flag(70) else None, d.flag())


@row("var std")
def _(d, name):
    x = T(d, d.shape(1, 4, empty=0), d.pick([f32, f64]))
    if d.flag(25):
        return Call(getattr(torch, name), x)
    kwargs = {"correction": d.pick([1, 0, 2])} if d.flag() else {"unbiased": d.flag()}
    return Call(getattr(torch, name), x, dims(d, x.dim()), keepdim=d.flag(), **kwargs)


@row("cumsum cumprod logcumsumexp cummax cummin")
def _(d, name):
    types = [f32, f64] if name == "logcumsumexp" else [f32, f64, i64, i32] + ([boolean, u8] if name in ("cumsum",) else [])
    x = T(d, d.shape(1, 4), d.pick(types), "small")
    return Call(getattr(torch, name), x, d.axis(x.dim()))


@row("softmax log_softmax softmin")
def _(d, name):
    x = T(d, d.shape(1, 4))
    kwargs = {"dtype": d.pick([f32, f64])} if d.flag(15) else {}
    return Call(getattr(F, name), x, d.axis(x.dim()), close=2e-4 if x.dtype in (f32, f64) else None, **kwargs)


@row("glu")
def _(d):
    shape = d.shape(1, 4, 30)
    at = d.axis(len(shape))
    shape[at] *= 2
    return Call(F.glu, T(d, shape), at)


# -- products ----------------------------------------------------------------

@row("matmul")
def _(d):
    dtype = d.pick([f32, f32, f64, f16, i64])
    batch = d.shape(0, 2, 6, empty=1)
    rows, inner, cols = d.dim(), d.dim(), d.dim()
    a = [inner] if d.flag(15) else d.broadcastable(batch) + [rows, inner]
    b = [inner] if d.flag(15) else d.broadcastable(batch) + [inner, cols]
    return Call(torch.matmul, T(d, a, dtype), T(d, b, dtype, "unit" if dtype.is_floating_point else "small"),
                macs=dtype.is_floating_point and min(len(a), len(b)) > 1)


@row("mm bmm mv dot addmm baddbmm")
def _(d, name):
    dtype = d.pick([f32, f32, f64])
    n, rows, inner, cols = d.dim(3), d.dim(), d.dim(), d.dim()
    a, b = [rows, inner], [inner, cols]
    if name in ("bmm", "baddbmm"):
        a, b = [n] + a, [n] + b
    if name == "mv":
        b = [inner]
    if name == "dot":
        a = b = [inner]
    x, y = T(d, a, dtype), T(d, b, dtype, "unit")
    if name in ("addmm", "baddbmm"):
        out = a[:-1] + [cols]
        kwargs = dict(beta=d.pick([1, 0.5, 0, -1]), alpha=d.pick([1, 2, 0.25])) if d.flag() else {}
        return Call(getattr(torch, name), T(d, d.broadcastable(out), dtype), x, y, macs=True, **kwargs)
    return Call(getattr(torch, name), x, y, macs=name in ("mm", "bmm"))


@row("linear bilinear")
def _(d, name):
    dtype = d.pick([f32, f32, f64])
    lead, n, out = d.shape(0, 3, 12), d.dim(), d.dim()
    bias = [T(d, [out], dtype)] if d.flag() else []
    if name == "linear":
        return Call(F.linear, T(d, lead + [n], dtype), T(d, [out, n], dtype, "unit"), *bias, macs=True)
    lead, k = d.shape(1, 2, 6, 0), d.dim()
    return Call(F.bilinear, T(d, lead + [n], dtype), T(d, lead + [k], dtype), T(d, [out, n, k], dtype, "unit"), *bias)


@row("histc")
def _(d):
    low = d.pick([0.0, -1.0, -2.0])
    return Call(torch.histc, T(d, d.shape(), d.pick([f32, f64])), d.int(1, 6), low, low + d.pick([1.0, 2.5]))


@row("_grouped_mm")
def _(d):
    """Rows of a, in groups that end at `offs`, times one matrix each; sizes of 16 bytes."""
    groups, inner, cols = d.int(1, 3), d.pick([4, 8]), d.pick([4, 8])
    ends = np.cumsum([4 * d.int(0, 2) for _ in range(groups)]).astype("i4")
    if ends[-1] == 0:
        raise Reject("no rows")
    return Call(torch._grouped_mm, T(d, [int(ends[-1]), inner], f32, "unit"), T(d, [groups, inner, cols], f32, "unit"),
                offs=torch.from_numpy(ends))


@row("einsum outer cdist")
def _(d, name):
    dtype = d.pick([f32, f64])
    n, m, k = d.dim(5), d.dim(5), d.dim(5)
    if name == "outer":
        return Call(torch.outer, T(d, [n], dtype), T(d, [m], dtype))
    if name == "cdist":
        lead = d.shape(0, 1, 3, 0)
        return Call(torch.cdist, T(d, lead + [n, k], dtype), T(d, lead + [m, k], dtype), p=d.pick([2.0, 1.0, 3.0, float("inf")]), close=1e-3)
    eq, shapes = d.pick([("ij,jk->ik", ([n, m], [m, k])), ("bij,bkj->bik", ([2, n, m], [2, k, m])), ("ii->i", ([n, n],)),
                         ("ij->ji", ([n, m],)), ("i,j->ij", ([n], [m])), ("...ij,...jk->...ik", ([2, n, m], [m, k])), ("ij,ij->", ([n, m], [n, m]))])
    return Call(torch.einsum, eq, *[T(d, s, dtype) for s in shapes])


def conv_args(d, rank, most=6):
    group, per, out = d.pick([1, 1, 2, 3]), d.pick([1, 2, 3]), d.pick([1, 2, 3])
    kernel = [d.int(1, 3) for _ in range(rank)]
    size = [d.int(2, most) for _ in range(rank)]
    return group, per, out, kernel, size


def per_axis(d, rank, low, high):
    return d.int(low, high) if d.flag() else [d.int(low, high) for _ in range(rank)]


@row("conv1d conv2d conv3d")
def _(d, name):
    rank = int(name[4])
    group, per, out, kernel, size = conv_args(d, rank, 6 if rank < 3 else 4)
    dtype = d.pick([f32, f32, f64, bf16])
    lead = [] if d.flag(20) else [d.pick([1, 2])]
    bias = T(d, [out * group], dtype) if d.flag() else None
    padding = d.pick(["same", "valid"]) if d.flag(20) else per_axis(d, rank, 0, 2)
    stride = 1 if padding == "same" else per_axis(d, rank, 1, 2)
    return Call(getattr(F, name), T(d, lead + [per * group] + size, dtype), T(d, [out * group, per] + kernel, dtype, "unit"), bias,
                stride, padding, per_axis(d, rank, 1, 2), group, macs=True, close=0.1 if dtype == bf16 else None)


@row("conv_transpose1d conv_transpose2d conv_transpose3d")
def _(d, name):
    rank = int(name[14])
    group, per, out, kernel, size = conv_args(d, rank, 3)
    dtype = d.pick([f32, f32, f64])
    lead = [] if d.flag(20) else [d.pick([1, 2])]
    bias = T(d, [out * group], dtype) if d.flag() else None
    stride = per_axis(d, rank, 1, 3)
    least = stride if isinstance(stride, int) else min(stride)
    return Call(getattr(F, name), T(d, lead + [per * group] + size, dtype), T(d, [per * group, out] + kernel, dtype, "unit"), bias,
                stride, d.int(0, 1), d.int(0, least - 1), group, per_axis(d, rank, 1, 2), macs=True)


@row("scaled_dot_product_attention")
def _(d):
    dtype = d.pick([f32, f32, f64])
    lead, h = [d.pick([1, 2])] if d.flag(80) else [], d.pick([1, 2, 4])
    q, k, e, v = d.int(1, 4), d.int(1, 5), d.dim(5), d.dim(5)
    groups = h // 2 if h > 1 and d.flag(20) else h
    kwargs = {}
    kind = d.below(4)
    if kind == 1:
        kwargs["attn_mask"] = T(d, d.pick([[q, k], lead + [1, q, k], lead + [h, q, k]]), dtype)
    elif kind == 2:
        mask = T(d, [q, k], boolean)
        mask[:, 0] = True
        kwargs["attn_mask"] = mask
    elif kind == 3:
        kwargs["is_causal"] = True
    if groups != h:
        kwargs["enable_gqa"] = True
    if d.flag(30):
        kwargs["scale"] = d.pick([0.5, 1.0])
    return Call(F.scaled_dot_product_attention, T(d, lead + [h, q, e], dtype), T(d, lead + [groups, k, e], dtype), T(d, lead + [groups, k, v], dtype), close=2e-4, **kwargs)


# -- norms and pools ---------------------------------------------------------

@row("batch_norm instance_norm group_norm")
def _(d, name):
    dtype = d.pick([f32, f32, f64])
    groups = d.pick([1, 2, 3])
    c = groups * d.pick([1, 2])
    shape = [d.int(1, 3), c] + [d.int(2, 4) for _ in range(d.pick([2, 1, 3] if name == "instance_norm" else [2, 1, 0, 3]))]
    w, b = (T(d, [c], dtype) if d.flag(70) else None for _ in range(2))
    x = T(d, shape, dtype)
    eps = d.pick([1e-5, 0.1])
    if name == "group_norm":
        return Call(F.group_norm, x, groups, w, b, eps, close=1e-3)
    if name == "instance_norm":
        return Call(F.instance_norm, x, weight=w, bias=b, eps=eps, close=1e-3)
    return Call(F.batch_norm, x, T(d, [c], dtype), T(d, [c], dtype, "positive"), w, b, False, 0.1, eps, close=1e-3)


@row("layer_norm rms_norm")
def _(d, name):
    dtype = d.pick([f32, f32, f64])
    shape = d.shape(1, 4, empty=0)
    tail = shape[d.below(len(shape)):]
    w = T(d, tail, dtype) if d.flag(70) else None
    if name == "rms_norm":
        return Call(F.rms_norm, T(d, shape, dtype), tail, w, d.pick([None, 0.1]), close=1e-3)
    return Call(F.layer_norm, T(d, shape, dtype), tail, w, T(d, tail, dtype) if d.flag() else None, d.pick([1e-5, 0.1]), close=2e-3)


@row("local_response_norm normalize")
def _(d, name):
    if name == "normalize":
        x = T(d, d.shape(1, 4, empty=0), d.pick([f32, f64]))
        return Call(F.normalize, x, d.pick([2.0, 1.0, 3.0, float("inf")]), d.axis(x.dim()))
    x = T(d, [d.pick([1, 2]), d.int(1, 5)] + [d.int(1, 3) for _ in range(d.pick([2, 1, 3]))], f32)
    return Call(F.local_response_norm, x, d.int(1, 5), d.pick([1e-4, 0.5]), d.pick([0.75, 0.5]), d.pick([1.0, 2.0]), close=1e-3)


@row("max_pool1d max_pool2d max_pool3d avg_pool1d avg_pool2d avg_pool3d")
def _(d, name):
    rank = int(name[8])
    lead = ([] if d.flag(20) else [d.pick([1, 2])]) + [d.pick([1, 2, 3])]
    size = [d.int(2, 7 if rank < 3 else 4) for _ in range(rank)]
    kernel = per_axis(d, rank, 1, 3)
    least = kernel if isinstance(kernel, int) else min(kernel)
    stride = None if d.flag(30) else per_axis(d, rank, 1, 3)
    x = T(d, lead + size, d.pick([f32, f32, f64]))
    pad = d.int(0, least // 2)
    if name.startswith("max"):
        return Call(getattr(F, name), x, kernel, stride, pad, per_axis(d, rank, 1, 2) if d.flag(30) else 1, d.flag())
    kwargs = {"divisor_override": d.pick([None, 2])} if rank > 1 and d.flag(30) else {}
    return Call(getattr(F, name), x, kernel, stride, pad, d.flag(), d.flag(), **kwargs)


@row("adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d")
def _(d, name):
    rank = int(name[17])
    lead = ([] if d.flag(20) else [d.pick([1, 2])]) + [d.pick([1, 2])]
    size = [d.int(1, 7 if rank < 3 else 4) for _ in range(rank)]
    out = [d.pick([1, 2, 3, 5]) if rank == 1 or d.flag(90) else None for _ in range(rank)]
    return Call(getattr(F, name), T(d, lead + size, f32), out[0] if rank == 1 else out)


# -- views and moves ---------------------------------------------------------

MOVED = [f32, i64, f64, bf16, boolean, u8, i32]


def moved(d, low=0, high=4, **how):
    return T(d, d.shape(low, high, **how), d.pick(MOVED))


@row("cat stack")
def _(d, name):
    shape = d.shape(1, 3, 20)
    at = d.axis(len(shape)) if name == "cat" else d.axis(len(shape) + 1)
    parts, types = [], [d.pick(MOVED)] * 2 if d.flag(80) else [f32, i64]
    for i in range(d.int(1, 3)):
        one = list(shape)
        if name == "cat":
            one[at] = d.pick([1, 2, 3, 0])
        parts.append(T(d, one, types[i % 2]))
    return Call(getattr(torch, name), parts, at)


@row("split chunk unbind tensor_split")
def _(d, name):
    x = moved(d, 1)
    at = d.axis(x.dim())
    n = x.shape[at]
    if name == "unbind":
        if not 0 < n < 6:
            raise Reject("that many")
        return Call(torch.unbind, x, at)
    if name == "split":
        if d.flag():
            return Call(torch.split, x, d.int(1, max(n, 1)), at)
        cut = d.int(0, n)
        return Call(torch.split, x, [cut, n - cut], at)
    return Call(getattr(torch, name), x, d.int(1, 4), at)


@row("getitem")
def _(d):
    x = moved(d, 1)
    index = []
    for n in x.shape[:d.int(1, x.dim())]:
        kind = d.below(4)
        if kind == 0 or n == 0:
            index.append(slice(None))
        elif kind == 1:
            index.append(slice(d.pick([None, 0, 1, -2]), d.pick([None, -1, 2, 9]), d.pick([None, 2])))
        elif kind == 2:
            index.append(d.int(-n, n - 1))
        else:
            index.append(None)
    return Call(operator.getitem, x, tuple(index))


@row("index")
def _(d):
    x = moved(d, 1, 3, empty=0)
    at = T(d, d.shape(1, 2, 4, 0), i64).abs() % x.shape[0]
    index = [at]
    if x.dim() > 1 and d.flag():
        index.append(d.pick([slice(None), (T(d, list(at.shape), i64).abs() % x.shape[1])]))
    return Call(operator.getitem, x, tuple(index))


@row("narrow select")
def _(d, name):
    x = moved(d, 1, empty=0)
    at = d.axis(x.dim())
    n = x.shape[at]
    first = d.int(0, n - 1)
    if name == "select":
        return Call("select", x, at, first - n if d.flag(30) else first)
    return Call("narrow", x, at, first, d.int(0, n - first))


def factored(d, n, count):
    out = []
    for _ in range(count - 1):
        f = d.pick([k for k in range(1, n + 1) if n % k == 0])
        out.append(f)
        n //= f
    return out + [n]


@row("reshape view flatten unflatten permute transpose movedim squeeze unsqueeze")
def _(d, name):
    x = moved(d, 1 if name in ("flatten", "unflatten") else 0)
    rank = x.dim()
    if name in ("reshape", "view"):
        if x.numel() == 0:
            raise Reject("empty")
        shape = factored(d, x.numel(), d.int(1, 4))
        if d.flag(30):
            shape[d.below(len(shape))] = -1
        return Call(name, x, shape)
    if name == "flatten":
        a = d.int(0, rank - 1)
        return Call(torch.flatten, x, a, d.int(a, rank - 1))
    if name == "unflatten":
        at = d.axis(rank)
        if x.shape[at] == 0:
            raise Reject("empty")
        return Call("unflatten", x, at, factored(d, x.shape[at], d.int(1, 3)))
    if name == "permute":
        order, rest = [], list(range(rank))
        while rest:
            order.append(rest.pop(d.below(len(rest))))
        return Call(torch.permute, x, order)
    if name in ("transpose", "movedim"):
        if not rank:
            raise Reject("no axis")
        return Call(getattr(torch, name), x, d.axis(rank), d.axis(rank))
    if name == "unsqueeze":
        return Call(torch.unsqueeze, x, d.axis(rank + 1))
    if d.flag(30) or not rank:
        return Call(torch.squeeze, x)
    return Call(torch.squeeze, x, d.axis(rank) if d.flag() else tuple(dims(d, rank)))


@row("expand repeat tile roll flip repeat_interleave")
def _(d, name):
    x = moved(d, 1, 3, most=12)
    rank = x.dim()
    if name == "expand":
        return Call("expand", x, [d.pick([1, 2])] * d.int(0, 1) + [d.pick([2, 3, -1]) if n == 1 else d.pick([n, -1]) for n in x.shape])
    if name in ("repeat", "tile"):
        return Call(name, x, [d.int(1, 2) for _ in range(rank + d.int(0, 1) if name == "repeat" else d.int(1, rank + 1))])
    if name == "roll":
        if d.flag(20):
            return Call(torch.roll, x, d.int(-3, 3))
        axes = d.axes(rank, 1)
        return Call(torch.roll, x, [d.int(-5, 5) for _ in axes], axes)
    if name == "flip":
        return Call(torch.flip, x, d.axes(rank, 1))
    return Call(torch.repeat_interleave, x, d.int(1, 3), d.axis(rank) if d.flag(70) else None)


@row("unfold_method diagonal tril triu contiguous")
def _(d, name):
    x = moved(d, 2, 4, empty=0)
    if name == "contiguous":
        return Call("contiguous", x)
    if name == "unfold_method":
        at = d.axis(x.dim())
        return Call("unfold", x, at, d.int(1, x.shape[at]), d.int(1, 3))
    if name == "diagonal":
        a, b = 0, 1
        if d.flag() and x.dim() > 2:
            a, b = d.pick([(0, 2), (-1, -2), (2, 1)])
        return Call(torch.diagonal, x, d.int(-2, 2), a, b)
    return Call(getattr(torch, name), x, d.int(-3, 3))


@row("pad")
def _(d):
    mode = d.pick(["constant", "reflect", "replicate", "circular"])
    if mode == "constant":
        x = T(d, d.shape(1, 4, 24, 0), d.pick([f32, f64, i64]))
        n = d.int(1, x.dim())
        pads = [d.int(-1 if min(x.shape) > 2 else 0, 2) for _ in range(2 * n)]
        return Call(F.pad, x, pads, "constant", d.pick([0, 2, -1]))
    n = d.pick([1, 2, 3])
    size = [d.int(2, 4) for _ in range(n)]
    x = T(d, ([d.pick([1, 2])] if d.flag(70) or mode == "circular" else []) + [d.pick([1, 2])] + size, f32)
    pads = [d.int(0, size[-1 - i // 2] - 1) for i in range(2 * n)]
    return Call(F.pad, x, pads, mode)


@row("unfold fold")
def _(d, name):
    kernel = [d.int(1, 3), d.int(1, 3)]
    dil, pad, stride = d.int(1, 2), d.int(0, 1), d.int(1, 2)
    size = [d.int(3, 6), d.int(3, 6)]
    n = [(size[i] + 2 * pad - dil * (kernel[i] - 1) - 1) // stride + 1 for i in range(2)]
    lead = [] if d.flag(20) else [d.pick([1, 2])]
    c = d.pick([1, 2])
    if name == "unfold":
        return Call(F.unfold, T(d, lead + [c] + size, f32), kernel, dil, pad, stride)
    if min(n) < 1:
        raise Reject("no window")
    return Call(F.fold, T(d, lead + [c * kernel[0] * kernel[1], n[0] * n[1]], f32), size, kernel, dil, pad, stride)


@row("pixel_shuffle pixel_unshuffle channel_shuffle")
def _(d, name):
    r = d.pick([1, 2, 3])
    lead = d.shape(0, 2, 4, 0) if name != "channel_shuffle" else [d.pick([1, 2])]
    c, h, w = d.pick([1, 2]), d.pick([1, 2]), d.pick([1, 2])
    shape = {"pixel_shuffle": [c * r * r, h, w], "pixel_unshuffle": [c, h * r, w * r], "channel_shuffle": [c * r, h, w]}[name]
    return Call(getattr(F, name), T(d, lead + shape, f32), r)


@row("meshgrid")
def _(d):
    return Call(torch.meshgrid, *[T(d, [d.int(1, 4)], f32) for _ in range(d.int(1, 3))], indexing=d.pick(["ij", "xy"]))


# -- indices -----------------------------------------------------------------

def places(d, shape, size):
    return T(d, shape, i64).abs() % max(size, 1)


@row("gather take_along_dim index_select take index_add scatter scatter_add")
def _(d, name):
    dtype = d.pick([f32, f64, i64])
    shape = d.shape(1, 3, 24, 0)
    x, at = T(d, shape, dtype), d.axis(len(shape))
    if name == "take":
        return Call(torch.take, x, places(d, d.shape(0, 2, 6), x.numel()))
    if name == "index_select":
        return Call(torch.index_select, x, at, places(d, [d.int(0, 4)], shape[at]))
    if name == "index_add":
        n = d.int(1, 4)
        source = list(shape)
        source[at] = n
        return Call(torch.index_add, x, at, places(d, [n], shape[at]), T(d, source, dtype), alpha=d.pick([1, 2]))
    where = [d.int(1, n) for n in shape]
    if name == "take_along_dim":
        where = list(shape)
    if name in ("gather", "take_along_dim"):
        where[at] = d.int(1, 4)
        index = places(d, where, shape[at])
        return Call(torch.gather, x, at, index) if name == "gather" else Call(torch.take_along_dim, x, index, at)
    index = places(d, where, shape[at])
    if name == "scatter":
        line = torch.arange(where[at] % len(shape) if False else where[at]).reshape([-1 if i == at % len(shape) else 1 for i in range(len(shape))])
        index = line.expand(where).contiguous()
        return Call(torch.scatter, x, at, index, d.pick([2, 0]) if d.flag(30) else T(d, where, dtype))
    return Call(torch.scatter_add, x, at, index, T(d, where, dtype))


@row("index_put slice_scatter select_scatter masked_scatter")
def _(d, name):
    x = T(d, d.shape(1, 3, 24, 0), d.pick([f32, i64]))
    n = x.shape[0]
    if name == "index_put":
        k = d.int(1, n)
        return Call(torch.index_put, x, (torch.arange(k),), T(d, [k] + list(x.shape[1:]), x.dtype), d.flag(30))
    at = d.axis(x.dim())
    if name == "select_scatter":
        shape = list(x.shape)
        size = shape.pop(at)
        return Call(torch.select_scatter, x, T(d, shape, x.dtype), at, d.int(0, size - 1))
    if name == "slice_scatter":
        shape = list(x.shape)
        low = d.int(0, shape[at] - 1)
        high = d.int(low, shape[at])
        step = d.pick([1, 2])
        shape[at] = len(range(low, high, step))
        return Call(torch.slice_scatter, x, T(d, shape, x.dtype), at, low, high, step)
    mask = T(d, list(x.shape), boolean)
    return Call(torch.masked_scatter, x, mask, T(d, [max(1, int(mask.sum()))], x.dtype))


@row("masked_select nonzero")
def _(d, name):
    x = T(d, d.shape(1, 3), d.pick([f32, i64, boolean]))
    if name == "nonzero":
        return Call(torch.nonzero, x, bound=True)
    return Call(torch.masked_select, x, T(d, d.broadcastable(list(x.shape)), boolean), bound=True)


@row("embedding one_hot embedding_bag bucketize searchsorted")
def _(d, name):
    n, e = d.int(1, 6), d.dim(5)
    if name == "embedding":
        return Call(F.embedding, places(d, d.shape(0, 3, 8), n), T(d, [n, e], f32), d.pick([None, 0]))
    if name == "one_hot":
        return Call(F.one_hot, places(d, d.shape(0, 2, 8), n), n)
    if name == "embedding_bag":
        mode = d.pick(["mean", "sum", "max"])
        if d.flag():
            return Call(F.embedding_bag, places(d, [d.int(1, 3), d.int(1, 4)], n), T(d, [n, e], f32), mode=mode)
        k = d.int(1, 6)
        offsets = torch.tensor(sorted([0] + [d.int(0, k) for _ in range(d.int(0, 2))]))
        return Call(F.embedding_bag, places(d, [k], n), T(d, [n, e], f32), offsets, mode=mode)
    edges = torch.tensor([-2.0, -0.5, 0.0, 1.5, 3.0][:d.int(1, 5)])
    x = T(d, d.shape(0, 3), f32)
    right = d.flag()
    if name == "bucketize":
        return Call(torch.bucketize, x, edges, right=right)
    return Call(torch.searchsorted, edges, x, right=right)


# -- images ------------------------------------------------------------------

@row("interpolate")
def _(d):
    rank = d.pick([2, 1, 3])
    mode = d.pick(["nearest", "nearest-exact", {1: "linear", 2: "bilinear", 3: "trilinear"}[rank]] + (["bicubic"] if rank == 2 else []))
    x = T(d, [1, d.pick([1, 2])] + [d.int(1, 5) for _ in range(rank)], f32)
    kwargs = dict(mode=mode)
    if "nearest" not in mode and d.flag():
        kwargs["align_corners"] = d.flag()
    if d.flag():
        return Call(F.interpolate, x, size=[d.int(1, 7) for _ in range(rank)], close=1e-3, **kwargs)
    kwargs["scale_factor"] = d.pick([2.0, 1.5, 0.75, 3.0, 1.7])
    if d.flag(20) and "nearest" not in mode:
        kwargs["recompute_scale_factor"] = True
    return Call(F.interpolate, x, close=1e-3, **kwargs)


@row("grid_sample")
def _(d):
    rank = d.pick([2, 3])
    n = d.pick([1, 2])
    x = T(d, [n, d.pick([1, 2])] + [d.int(1, 4) for _ in range(rank)], f32)
    grid = T(d, [n] + [d.int(1, 3) for _ in range(rank)] + [rank], f32, "small" if d.flag(40) else "coord")
    return Call(F.grid_sample, x, grid, d.pick(["bilinear", "nearest"] + (["bicubic"] if rank == 2 else [])),
                d.pick(["zeros", "border", "reflection"]), d.flag(), close=1e-3)


# -- numbers out of nothing --------------------------------------------------

@row("full_like zeros_like ones_like")
def _(d, name):
    x = moved(d)
    kwargs = {"dtype": d.pick([f32, i64, f64])} if d.flag(30) else {}
    return Call(torch.full_like, x, d.pick([2, 0, 1]), **kwargs) if name == "full_like" else Call(getattr(torch, name), x, **kwargs)


@row("new_zeros new_ones new_full")
def _(d, name):
    args = [d.shape(0, 3)] + ([2] if name == "new_full" else [])
    return Call(name, moved(d), *args)


@row("arange linspace full zeros ones")
def _(d, name):
    if name == "arange":
        a, b, s = d.int(-3, 3), d.int(4, 9), d.pick([1, 2, 0.5, 3])
        return Call(torch.arange, a, b, s)
    if name == "linspace":
        return Call(torch.linspace, d.int(-3, 3), d.int(-3, 9), d.int(0, 7))
    shape = d.shape(0, 3)
    return Call(torch.full, shape, d.pick([2, 0.5, 1])) if name == "full" else Call(getattr(torch, name), shape, dtype=d.pick([f32, i64]))


@row("fake_quantize_per_tensor_affine fake_quantize_per_channel_affine")
def _(d, name):
    x = T(d, d.shape(1, 4, empty=0), f32)
    low, high = d.pick([(-128, 127), (0, 255), (-8, 7)])
    if name.endswith("tensor_affine"):
        return Call(torch.fake_quantize_per_tensor_affine, x, d.pick([0.25, 0.5, 0.125]), d.int(max(low, -3), 3), low, high)
    at = d.below(x.dim())
    n = x.shape[at]
    scale = torch.tensor([2.0 ** -d.int(1, 4) for _ in range(n)])
    zero = torch.tensor([d.int(max(low, -3), 3) for _ in range(n)], dtype=i32)
    return Call(torch.fake_quantize_per_channel_affine, x, scale, zero, at, low, high)


@row("dropout")
def _(d):
    return Call(F.dropout, T(d), 0.5, False)


# -- modules -----------------------------------------------------------------

def filled(d, module, kind="unit"):
    """With weights on the grid, in eval mode."""
    for name, p in [*module.named_parameters(), *module.named_buffers()]:
        if p.dtype.is_floating_point:
            p.copy_(T(d, list(p.shape), f32, "positive" if "var" in name else kind))
    return module.eval()


@row("nn.MultiheadAttention")
def _(d):
    heads, each, q, k, batch = d.pick([1, 2]), d.pick([1, 2, 4]), d.int(1, 3), d.int(1, 4), d.int(1, 2)
    first, wide = d.flag(), heads * each
    m = filled(d, torch.nn.MultiheadAttention(wide, heads, bias=not d.flag(30), batch_first=first))
    x = T(d, [batch, q, wide] if first else [q, batch, wide], f32)
    y = T(d, [batch, k, wide] if first else [k, batch, wide], f32)
    return Call(m, x, y, y, need_weights=False, close=1e-3)


@row("nn.Conv2d nn.ConvTranspose2d nn.Linear nn.BatchNorm2d nn.LayerNorm nn.GroupNorm nn.PReLU nn.Embedding nn.Bilinear nn.InstanceNorm2d")
def _(d, name):
    nn, kind = torch.nn, name[3:]
    c = d.pick([2, 4])
    image = [d.pick([1, 2]), c, d.int(2, 5), d.int(2, 5)]
    if kind == "Conv2d":
        m = nn.Conv2d(c, d.pick([2, 4]), d.int(1, 3), d.int(1, 2), d.int(1, 2), groups=d.pick([1, 2]), bias=d.flag())
    elif kind == "ConvTranspose2d":
        m = nn.ConvTranspose2d(c, d.pick([2, 4]), d.int(1, 3), d.int(1, 2), groups=d.pick([1, 2]), bias=d.flag())
    elif kind == "Linear":
        m = nn.Linear(image[3], d.dim(), bias=d.flag())
    elif kind == "BatchNorm2d":
        m = nn.BatchNorm2d(c, affine=d.flag(70))
    elif kind == "InstanceNorm2d":
        m = nn.InstanceNorm2d(c, affine=d.flag(70))
    elif kind == "LayerNorm":
        m = nn.LayerNorm(image[d.pick([3, 2]):], elementwise_affine=d.flag(70))
    elif kind == "GroupNorm":
        m = nn.GroupNorm(2, c, affine=d.flag(70))
    elif kind == "PReLU":
        m = nn.PReLU(d.pick([1, c]))
        image[3] = d.pick([c, 3])
    elif kind == "Embedding":
        return Call(filled(d, nn.Embedding(5, d.dim())), places(d, d.shape(0, 2, 8), 5))
    else:
        m = nn.Bilinear(image[3], image[3], d.dim(3), bias=d.flag())
        return Call(filled(d, m), T(d, image[2:], f32), T(d, image[2:], f32))
    return Call(filled(d, m), T(d, image, f32), close=2e-3)

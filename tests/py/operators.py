"""Every row of aten.def: captured by torch.fx and run by cleave, the operator
gives what PyTorch gives, with arguments that are not the defaults.
timeout: 900

A call that our kernels cannot take must say so; one that runs must be right.
CASES are by row; a row without one fails, as does a row of which nothing runs
unless it is listed as counted only."""
import operator
import os
import re

from py_check import check, equal, main

import cleave
from cleave._cleave import from_fx
from tv import torch, torchvision
from torch import nn
from torch.fx.passes.shape_prop import ShapeProp
from torch.nn import functional as F

torch.set_num_threads(1)
torch.manual_seed(0)
aten = torch.ops.aten
ROWS = re.findall(r'^(FN|MODULE)\("([^"]+)"', open(os.path.join(
    os.environ["CLEAVE_ROOT"], "src", "formats", "aten", "aten.def")).read(), re.M)

x = torch.randn(2, 6, 8, 8)
y = torch.randn(2, 6, 8, 8)
m = torch.randn(5, 7)
v = torch.randn(7)
q = torch.randn(2, 4, 5, 8)
n8 = torch.randint(0, 7, (5,))
seq = torch.randn(2, 6, 11)
vol = torch.randn(2, 4, 5, 6, 7)
ints = torch.randint(-9, 9, (4, 5))
pos = torch.rand(4, 5) + 0.1
unit = torch.rand(4, 5) * 1.6 - 0.8
flags = torch.rand(4, 5) > 0.5
w6 = torch.randn(6)

FNS = {}      # row: [(function, inputs)]
MODULES = {}  # row: [(module, inputs)]


def fn(names, call, *inputs):
    for name in names.split():
        FNS.setdefault(name, []).append((call, inputs))


def same_name(names, where, *inputs, **options):
    """One call of each function under its own name."""
    for name in names.split():
        def call(*a, f=getattr(where, name)):
            return f(*a, **options)
        fn(name, call, *inputs)


def method(names, *inputs, args=(), **options):
    for name in names.split():
        def call(a, *rest, name=name):
            return getattr(a, name)(*rest, *args, **options)
        fn(name, call, *inputs)


def overload(name, op, *inputs, args=(), **options):
    fn(name, lambda *a: op(*a, *args, **options), *inputs)


def mod(cls, make, *inputs):
    MODULES.setdefault(cls, []).append((make, inputs))


# -- products ----------------------------------------------------------------
for d, a, k in ((1, seq, (3,)), (2, x, (3, 2)), (3, vol, (3, 2, 1))):
    c = a.shape[1]
    f, t = getattr(F, f"conv{d}d"), getattr(F, f"conv_transpose{d}d")
    w, b = torch.randn(4, c // 2, *k), torch.randn(4)
    fn(f"conv{d}d", lambda a, w, b, f=f: f(a, w, b, 2, 1, 1, 2), a, w, b)
    fn(f"conv{d}d", lambda a, w, f=f: f(a, w, stride=1, dilation=2, padding=1,
                                         groups=2), a, w)
    fn(f"conv{d}d", lambda a, w, f=f: f(a, w, padding="same", groups=2), a, w)
    fn(f"conv{d}d", lambda a, w, f=f: f(a, w, padding="valid", groups=2), a, w)
    fn(f"_convolution_mode.{d}d", lambda a, w, b, d=d: aten._convolution_mode(
        a, w, b, [1] * d, "same", [1] * d, 2), a, w, b)
    wt = torch.randn(c, 3, *k)
    fn(f"conv_transpose{d}d", lambda a, w, t=t: t(
        a, w, stride=2, padding=1, output_padding=1, groups=2), a, wt)
    fn(f"conv_transpose{d}d", lambda a, w, t=t: t(a, w, dilation=2), a, wt)
fn("_native_multi_head_attention",
   lambda a, w, b, p, c: aten._native_multi_head_attention(
       a, a, a, 8, 2, w, b, p, c, need_weights=False)[0],
   torch.randn(2, 5, 8), torch.randn(24, 8), torch.randn(24),
   torch.randn(8, 8), torch.randn(8))
fn("linear", F.linear, x, torch.randn(5, 8), torch.randn(5))
same_name("matmul", torch, x, y)
fn("imatmul", operator.imatmul, torch.randn(3, 3), torch.randn(3, 3))
same_name("mm", torch, m, torch.randn(7, 3))
same_name("bmm", torch, torch.randn(2, 3, 4), torch.randn(2, 4, 5))
same_name("addmm", torch, torch.randn(3), m, torch.randn(7, 3), beta=0.5,
          alpha=2)
same_name("baddbmm", torch, torch.randn(2, 3, 5), torch.randn(2, 3, 4),
          torch.randn(2, 4, 5), beta=0.25, alpha=-1)
same_name("mv", torch, m, v)
same_name("dot", torch, v, v)
fn("bilinear", F.bilinear, m, m, torch.randn(2, 7, 7))
same_name("outer", torch, v, torch.randn(3))
fn("einsum", lambda a, b: torch.einsum("bik,bkj->bji", a, b),
   torch.randn(2, 3, 4), torch.randn(2, 4, 5))
for p in (2.0, 1.0, 3.0, float("inf")):
    fn("cdist", lambda a, b, p=p: torch.cdist(a, b, p=p), m, m + 1)
sdpa = F.scaled_dot_product_attention
fn("scaled_dot_product_attention", sdpa, q, q, q)
fn("scaled_dot_product_attention",
   lambda a, k: sdpa(a, a, a, attn_mask=k), q, torch.rand(5, 5) > 0.4)
fn("scaled_dot_product_attention",
   lambda a, k: sdpa(a, a, a, k, scale=0.3), q, torch.randn(5, 5))
fn("scaled_dot_product_attention", lambda a: sdpa(a, a, a, is_causal=True), q)
fn("scaled_dot_product_attention",
   lambda a, b: sdpa(a, b, b, enable_gqa=True), q, torch.randn(2, 2, 5, 8))

# -- norms -------------------------------------------------------------------
rv = torch.rand(6) + 0.5
fn("batch_norm", lambda a, mean, var, w, b: F.batch_norm(
    a, mean, var, w, b, eps=0.1), x, w6, rv, w6 + 1, w6)
fn("batch_norm", lambda a, mean, var: F.batch_norm(a, mean, var), x, w6, rv)
fn("batch_norm", lambda a, mean, var: F.batch_norm(a, mean, var,
                                                   training=True), x, w6, rv)
overload("aten.batch_norm", aten.batch_norm.default, x, w6, w6, w6, rv,
         args=(False, 0.1, 0.2, True))
fn("_native_batch_norm_legit_no_training", lambda *a:
   aten._native_batch_norm_legit_no_training.default(*a, 0.1, 0.2)[0], x, w6,
   w6, w6, rv)
fn("layer_norm", lambda a, w, b: F.layer_norm(a, (8,), w, b, 0.1), x,
   torch.randn(8), torch.randn(8))
fn("layer_norm", lambda a, w: F.layer_norm(a, (8, 8), w), x, torch.randn(8, 8))
fn("native_layer_norm", lambda a: aten.native_layer_norm.default(
    a, [8], None, None, 0.3)[0], x)
fn("native_layer_norm", lambda a: aten.native_layer_norm.default(
    a, [8], None, None, 0.3), x)
fn("group_norm", lambda a, w, b: F.group_norm(a, 3, w, b, 0.1), x, w6, w6)
fn("rms_norm", lambda a, w: F.rms_norm(a, (8,), w, 0.1), x, torch.randn(8))
fn("rms_norm", lambda a: F.rms_norm(a * 1e-3, (8,)), x)
fn("instance_norm", lambda a, w, b: F.instance_norm(
    a, weight=w, bias=b, eps=0.1), x, w6, w6)
fn("instance_norm", lambda a, mean, var: F.instance_norm(
    a, mean, var, use_input_stats=False), x, w6, rv)
overload("aten.instance_norm", aten.instance_norm.default, x,
         args=(None, None, None, None, True, 0.1, 0.2, True))
fn("normalize", lambda a: F.normalize(a, p=3.0), x)
fn("normalize", lambda a: F.normalize(a, dim=2), x)
fn("normalize", lambda a: F.normalize(a, eps=10.0), x)
fn("local_response_norm", lambda a: F.local_response_norm(
    a, 3, alpha=0.5, beta=0.6, k=2.0), x)

# -- activations -------------------------------------------------------------
same_name("relu relu6 silu mish sigmoid hardswish hardsigmoid selu tanh "
          "softsign tanhshrink logsigmoid gelu celu softplus hardshrink "
          "softshrink elu leaky_relu hardtanh glu", F, x * 4)
overload("log_sigmoid", aten.log_sigmoid.default, x)
same_name("relu relu6 silu mish hardswish hardsigmoid selu", F, x * 4,
          inplace=True)
fn("gelu", lambda a: F.gelu(a, approximate="tanh"), x)
fn("hardtanh", lambda a: F.hardtanh(a, -0.5, 2.0), x)
fn("leaky_relu", lambda a: F.leaky_relu(a, 0.3), x)
fn("rrelu", lambda a: F.rrelu(a, 0.1, 0.4), x)
fn("fake_quantize_per_tensor_affine", lambda a: torch.fake_quantize_per_tensor_affine(a, 0.1, 3, 0, 15), x)
fn("fake_quantize_per_tensor_affine", lambda a, s, z: torch.fake_quantize_per_tensor_affine(a, s, z, 0, 15), x,
   torch.tensor(0.2), torch.tensor(3, dtype=torch.int32))
fn("fake_quantize_per_channel_affine", lambda a, s, z: torch.fake_quantize_per_channel_affine(a, s, z, 1, 0, 15), x,
   w6.abs() + 0.1, torch.arange(6, dtype=torch.int32))
fn("rrelu", lambda a: F.rrelu(a, training=True), x)
fn("elu", lambda a: F.elu(a, 0.4), x)
overload("aten.elu", aten.elu.default, x, args=(0.4,))
overload("aten.elu", aten.elu.default, x, args=(0.4, 2.0, 3.0))
fn("celu", lambda a: F.celu(a, alpha=0.4), x)
fn("softplus", lambda a: F.softplus(a, 3.0, 2.0), x)
fn("_threshold", lambda a: F.threshold(a, 0.3, 7.0), x)
overload("threshold", aten.threshold.default, x, args=(0.3, 7.0))
fn("hardshrink", lambda a: F.hardshrink(a, 0.9), x)
fn("softshrink", lambda a: F.softshrink(a, 0.9), x)
fn("prelu", F.prelu, x, w6)
fn("prelu", F.prelu, torch.randn(2, 6, 5, 6), w6)
fn("glu", lambda a: F.glu(a, 1), x)
for name in ("softmax", "log_softmax"):
    f = getattr(F, name)
    fn(name, lambda a, f=f: f(a, 1), x)
    fn(name, lambda a, f=f: f(a, dim=-2), x)
    fn(name, lambda a, f=f: f(a, -1, dtype=torch.float64), x)
    fn(name, lambda a, f=f: f(a), m)
    overload("_" + name, getattr(aten, "_" + name).default, x, args=(2, False))
fn("softmin", lambda a: F.softmin(a, 1), x)
fn("softmin", lambda a: F.softmin(a, dim=-1, dtype=torch.float64), x)

# -- elementwise -------------------------------------------------------------
same_name("add sub mul div true_divide floor_divide remainder fmod maximum "
          "minimum atan2 eq ne lt le gt ge rsub", torch, x, y[:, :, :1])
same_name("add sub mul div floor_divide remainder fmod pow eq lt rsub", torch,
          x.abs(), 3)
same_name("add sub mul div floor_divide remainder pow", torch, ints, 2)
same_name("floor_divide remainder fmod", torch, ints, torch.tensor(3))
# operands take their common type first: a tensor of no axes that of the other
for number in (torch.tensor(-32), torch.tensor(300), torch.tensor(0.5)):
    for bytes_ in (torch.uint8, torch.int8):
        few = torch.tensor([29, 5, 100, 0]).to(bytes_)
        same_name("eq ne lt le gt ge", torch, few, number)
        same_name("eq ne lt le gt ge", torch, number, few)
same_name("eq ne lt le gt ge floor_divide remainder", torch, torch.tensor([1.0, 2.0]),
          torch.tensor(1.00000001, dtype=torch.float64))
same_name("eq lt ge", torch, torch.tensor([2**24 + 1], dtype=torch.int32), torch.tensor([2.0**24]))
same_name("eq ge remainder fmod floor_divide", torch, torch.tensor([0.1, 0.2]).half(), 0.1)
same_name("eq ge add mul", torch, torch.tensor([0.1, 0.2], dtype=torch.float64), 0.1)
same_name("add sub rsub", torch, x, y, alpha=3)
same_name("multiply subtract divide", torch, x, y)
same_name("subtract", torch, x, y, alpha=3)
same_name("divide", torch, x, y, rounding_mode="floor")
same_name("diff", torch, m)
same_name("diff", torch, ints, dim=0)
same_name("diff", torch, flags)
fn("diff", lambda a: torch.diff(a, dim=-1, prepend=a[..., :1] - 1, append=a[..., :2]), m)
fn("diff", lambda a: torch.diff(a, n=2), m)
same_name("div", torch, x, y, rounding_mode="floor")
same_name("div", torch, x, y, rounding_mode="trunc")
same_name("div", torch, ints - 5, 2, rounding_mode="trunc")
same_name("div", torch, ints - 5, 2, rounding_mode="floor")
fn("div", lambda a: (a * 3).div_(2, rounding_mode="trunc") + a, x)
fn("div", lambda a: (a * 3).div_(2, rounding_mode="floor") + a, x)
same_name("truediv floordiv mod", operator, x, 0.75)
same_name("iadd isub imul itruediv", operator, x, y)
same_name("iand ior and_ or_", operator, ints, ints + 1)
fn("and __and__", lambda a, b: a & b, flags, ~flags)
fn("or __or__", lambda a, b: a | b, flags, flags)
same_name("bitwise_and bitwise_or bitwise_xor", torch, ints, ints + 3)
same_name("logical_and logical_or logical_xor", torch, flags, ints)
same_name("pow", torch, pos, -1.5)
fn("pow", lambda a: 2.0 ** a, unit)
fn("rsub", lambda a: 1 - a, x)
fn("where", torch.where, flags, unit, pos)
fn("where", lambda c, a: torch.where(c, a, 2.0), flags, unit)
same_name("masked_fill", torch, unit, flags, -7.0)
same_name("clamp clip", torch, x, -0.5, 0.25)
same_name("clamp", torch, x, max=0.25)
fn("clamp", lambda a, b: torch.clamp(a, min=b), x, y)
same_name("clamp_min clamp_max", torch, x, 0.1)
same_name("addcmul addcdiv", torch, pos, unit, pos + 1, value=-0.5)
same_name("lerp", torch, unit, pos, 0.3)
same_name("lerp", torch, unit, pos, pos)
same_name("neg abs sin cos erf sign floor ceil trunc square exp exp2 expm1 "
          "tan sinh cosh erfc isnan isinf isfinite round asinh atan "
          "logical_not", torch, x)
same_name("neg abs sign square bitwise_not", torch, ints)
same_name("log sqrt rsqrt log2 log10 log1p reciprocal", torch, pos)
same_name("asin acos atanh", torch, unit)
same_name("acosh", torch, pos + 1)
same_name("round", torch, x, decimals=1)
fn("invert", lambda a: ~a, ints)
method("to", x, args=(torch.float64,))
method("to", ints, dtype=torch.float32)
method("to", x * 5, args=(torch.int32,))
method("type", x * 5, args=(torch.int64,))
method("type_as", ints, x)
method("float double half bfloat16 long int bool", ints)
overload("_to_copy", aten._to_copy.default, x, dtype=torch.float64)

# -- reductions --------------------------------------------------------------
same_name("sum mean prod amax amin any all count_nonzero var std norm argmax "
          "argmin", torch, x)
for name in "sum mean prod amax amin logsumexp var std norm".split():
    f = getattr(torch, name)
    fn(name, lambda a, f=f: f(a, dim=2, keepdim=True), x)
    if name not in ("prod",):
        fn(name, lambda a, f=f: f(a, dim=(1, -1)), x)
same_name("sum mean", torch, x, dim=1, dtype=torch.float64)
same_name("sum prod", torch, ints, dim=1)
same_name("any all", torch, flags, dim=1, keepdim=True)
same_name("count_nonzero", torch, ints, dim=1)
same_name("var std", torch, x, dim=1, correction=0)
same_name("var std", torch, x, dim=1, unbiased=False, keepdim=True)
method("var std", x, args=(1, False))
method("var std", x, args=(False,))
for name in ("var", "std"):
    overload(f"aten.{name}.default", getattr(aten, name).default, m,
             args=(False,))
for p in (1, 3, "fro", float("inf"), 0):
    fn("norm", lambda a, p=p: torch.norm(a, p, dim=1), m)
    if p != "fro":
        fn("linalg_vector_norm", lambda a, p=p: torch.linalg.vector_norm(
            a, p, dim=1, keepdim=True), m)
overload("linalg_vector_norm", aten.linalg_vector_norm.default, m,
         args=(3, [1], True))
same_name("argmax argmin", torch, x, dim=1, keepdim=True)
same_name("cumsum cumprod", torch, m, dim=1)
same_name("cumsum", torch, ints, dim=0, dtype=torch.float32)
edge = torch.tensor([[1.0, float("nan"), 0, 2], [3, 3, -1, 3],
                     [float("inf"), -float("inf"), 0, -0.0]])
same_name("cummax cummin logcumsumexp", torch, m, dim=1)
same_name("cummax cummin logcumsumexp", torch, edge, dim=-1)
same_name("cummax cummin", torch, ints, 0)
for a in (m, x, ints, edge):
    same_name("median", torch, a)
    same_name("median", torch, a, 1)
    fn("median", lambda a: torch.median(a, dim=0, keepdim=True), a)
    fn("median", lambda a: a.median(-1)[0], a)
    fn("kthvalue", lambda a: torch.kthvalue(a, 3)[0], a)
    fn("kthvalue", lambda a: a.kthvalue(2, dim=0, keepdim=True)[0], a)
# torch promises no place among equal values.
same_name("kthvalue", torch, m, 3)
same_name("kthvalue", torch, x, 2, dim=0, keepdim=True)
overload("median", aten.median.dim, m, args=(1, True))
overload("kthvalue", aten.kthvalue.default, m, args=(2, 0))
fn("topk", lambda a: torch.topk(a, 3, dim=0), m)
fn("topk", lambda a: torch.topk(a, 3, largest=False)[0], m)
same_name("sort", torch, m)
fn("sort", lambda a: torch.sort(a, 0, True), m)
fn("sort", lambda a: torch.sort(a, dim=1, descending=True, stable=True), m)
same_name("argsort", torch, m)
same_name("argsort", torch, m, dim=0, descending=True)
for name in ("max", "min"):
    f = getattr(torch, name)
    fn(f"{name}.1", f, m)
    fn(f"{name}.2", f, m, m.flip(0))
    fn(f"{name}.dim", lambda a, f=f: f(a, 1)[0], m)
    fn(f"{name}.dim", lambda a, f=f: f(a, dim=0, keepdim=True)[0], m)
    fn(f"{name}.dim", lambda a, f=f: f(a, 1), m)
    fn(f"{name}.dim", lambda a, f=getattr(aten, name).dim: f(a, 0)[0], m)

# -- pools -------------------------------------------------------------------
for d, a in ((1, seq), (2, x), (3, vol)):
    most, mean = getattr(F, f"max_pool{d}d"), getattr(F, f"avg_pool{d}d")
    fn(f"max_pool{d}d", lambda a, f=most: f(a, 3, 2, 1), a)
    fn(f"max_pool{d}d", lambda a, f=most: f(a, 2), a)
    fn(f"max_pool{d}d", lambda a, f=most: f(
        a, 2, stride=2, dilation=2, ceil_mode=True), a)
    fn(f"avg_pool{d}d", lambda a, f=mean: f(a, 3, 2, 1), a)
    fn(f"avg_pool{d}d", lambda a, f=mean: f(
        a, 3, stride=2, padding=1, count_include_pad=False), a)
    fn(f"avg_pool{d}d", lambda a, f=mean: f(a, 3, 2, 1, True), a)
    if d > 1:
        fn(f"avg_pool{d}d", lambda a, f=mean: f(a, 2, divisor_override=3), a)
        overload(f"max_pool{d}d_with_indices",
                 getattr(aten, f"max_pool{d}d_with_indices").default, a,
                 args=([3] * d, [2] * d, [1] * d))
        op = getattr(aten, f"max_pool{d}d_with_indices").default
        fn(f"max_pool{d}d_with_indices", lambda a, op=op, d=d: op(
            a, [3] * d, [2] * d)[0], a)
    for kind in ("avg", "max"):
        f = getattr(F, f"adaptive_{kind}_pool{d}d")
        fn(f"adaptive_{kind}_pool{d}d", lambda a, f=f: f(a, 3), a)
        fn(f"adaptive_{kind}_pool{d}d", lambda a, f=f: f(a, 1), a)
        if d == 2:
            fn(f"adaptive_{kind}_pool2d", lambda a, f=f: f(a, (None, 2)), a)
overload("_adaptive_avg_pool2d", aten._adaptive_avg_pool2d.default, x,
         args=([3, 2],))

# -- layout ------------------------------------------------------------------
for name in ("cat", "concat", "concatenate"):
    f = getattr(torch, name)
    fn(name, lambda a, b, f=f: f((a, b), dim=1), x, y)
    fn(name, lambda a, b, f=f: f([a, b], -1), x, y)
fn("stack", lambda a, b: torch.stack([a, b], dim=2), x, y)
fn("chunk", lambda a: torch.chunk(a, 3, dim=3), x)
fn("split", lambda a: torch.split(a, 4, dim=1), x)
fn("split", lambda a: a.split([1, 2, 3], dim=1)[2], x)
fn("split", lambda a: torch.split(a, split_size_or_sections=3, dim=2), x)
overload("split_with_sizes", aten.split_with_sizes.default, x,
         args=([1, 5], 1))
fn("tensor_split", lambda a: torch.tensor_split(a, 3, dim=3), x)
fn("unbind", lambda a: torch.unbind(a, 1), m)
fn("flatten", lambda a: torch.flatten(a, 1, 2), x)
method("view", x, args=(2, -1))
method("view", x, args=(torch.int32,))
method("reshape", x, args=((6, 2, 64),))
method("unflatten", x, args=(1, (2, 3)))
method("unflatten", x, args=(-1, (2, -1)))
same_name("unflatten", torch, x, dim=1, sizes=(3, 2))
method("view_as reshape_as", x, torch.empty(4, 3, 64))
overload("_unsafe_view", aten._unsafe_view.default, x, args=([12, 64],))
method("ravel", x)
method("expand", w6[:, None], args=(-1, 4))
method("expand_as", w6, torch.empty(3, 6))
same_name("broadcast_to", torch, w6, (2, 6))
for index in ((slice(None), 2), (slice(1, 5, 2),), (..., slice(2, None)), 1,
              (slice(None), None), (slice(0, -1), 3), (..., None), slice(None),
              (slice(None), -1), (None, 1, ..., slice(1, 3)), (..., 0)):
    fn("getitem", lambda a, i=index: a[i], x)
fn("getitem", lambda a, i: a[i], m, n8.clamp(max=4))
fn("getitem", lambda a, i: a[:, i], m, n8)
fn("getitem", lambda a, i, j: a[i, j], m, n8.clamp(max=4), n8)
fn("getitem", lambda a, i: a[i, 2], m, n8.clamp(max=4))
fn("getitem", lambda a, i: a[:, :, i], x, n8)
fn("getitem", lambda a, i: a[i], ints, flags)
fn("getitem", lambda a: a[:, [1, 2]], m)
for args in ((2, 1, 5), (3, 0, 9223372036854775807, 3), (0,), (1, None, 4),
             (2, -3)):
    overload("slice", aten.slice.Tensor, x, args=args)
same_name("narrow", torch, x, 2, 1, 3)
same_name("select", torch, x, 1, -2)
method("permute", x, args=(0, 2, 3, 1))
same_name("permute", torch, x, (3, 1, 0, 2))
same_name("transpose", torch, x, 1, 3)
same_name("transpose", torch, x, dim0=0, dim1=-1)
same_name("swapaxes", torch, x, 1, 2)
method("t", m)
overload("numpy_T", aten.numpy_T.default, m)
overload("mT", aten.mT.default, x[:, :, :5])
same_name("movedim", torch, torch.randn(3, 3, 3), 0, 2)
same_name("squeeze", torch, x[:, :1])
same_name("squeeze", torch, x[:, :1, :1], 2)
same_name("unsqueeze", torch, x, -2)
method("contiguous clone detach", x)
overload("lift_fresh_copy", aten.lift_fresh_copy.default, x)
overload("alias", aten.alias.default, x)
fn("identity", nn.Identity(), x)
method("copy_", x, y)
FNS["copy"] = FNS.pop("copy_")
fn("copy", lambda a, b: a.copy_(b), x, ints[0, 0])
same_name("diagonal", torch, x, offset=1, dim1=1, dim2=3)
same_name("diagonal", torch, m)
same_name("diagonal", torch, x, -2, 2, 3)
same_name("roll", torch, x, shifts=(3, -1), dims=(1, 2))
same_name("roll", torch, x, 5)
method("flip", x, args=(1, 3))
same_name("flip", torch, x, (0,))
method("repeat", m, args=(2, 1, 3))
same_name("tile", torch, m, (2, 3))
same_name("tile", torch, m, (2,))
same_name("repeat_interleave", torch, m, 3, dim=1)
same_name("repeat_interleave", torch, m, 2)
fn("repeat_interleave", lambda a, b: torch.repeat_interleave(a, b, dim=0), m,
   torch.tensor([1, 2, 1, 0, 3]))
for mode in ("constant", "reflect", "replicate", "circular"):
    fn("pad", lambda a, mode=mode: F.pad(a, (2, 1, 0, 3), mode), x)
fn("pad", lambda a: F.pad(a, (1, 2, 0, 1, 2, 0), value=1.5), x)
fn("pad", lambda a: F.pad(a, (-1, 2)), x)
overload("constant_pad_nd", aten.constant_pad_nd.default, x,
         args=([1, 2, 3, 0], 4.0))
for d, a in ((1, seq), (2, x), (3, vol)):
    for kind in ("reflection", "replication"):
        overload(f"{kind}_pad{d}d", getattr(aten, f"{kind}_pad{d}d").default, a,
                 args=(list(range(2 * d))[::-1] if d < 3 else [1, 2, 2, 1, 0, 3],))
fn("unfold", lambda a: F.unfold(a, (3, 2), 2, 1, (2, 1)), x)
overload("im2col", aten.im2col.default, x,
         args=([3, 2], [1, 1], [1, 0], [2, 1]))
method("unfold", x, args=(2, 3, 2))
FNS["aten.unfold"] = [FNS["unfold"].pop()]
cols = F.unfold(x, (3, 2), 2, 1, (2, 1))
fn("fold", lambda a: F.fold(a, (8, 8), (3, 2), 2, 1, (2, 1)), cols)
overload("col2im", aten.col2im.default, cols,
         args=([8, 8], [3, 2], [2, 2], [1, 1], [2, 1]))
same_name("pixel_shuffle", F, torch.randn(1, 8, 3, 3), 2)
same_name("pixel_unshuffle channel_shuffle", F, x, 2)
same_name("tril triu", torch, x, 2)
same_name("tril triu", torch, x, diagonal=-1)
for how in ("ij", "xy"):
    fn("meshgrid", lambda a, b, how=how: torch.meshgrid(a, b, indexing=how), v,
       w6)
fn("meshgrid", lambda a, b: torch.meshgrid([a, b], indexing="ij"), v, w6)

# -- indexing ----------------------------------------------------------------
fn("embedding", lambda i, w: F.embedding(i, w), n8, torch.randn(9, 3))
fn("embedding", lambda i, w: F.embedding(i, w, max_norm=0.5), n8,
   torch.randn(9, 3))
overload("aten.embedding", aten.embedding.default, torch.randn(9, 3), n8)
at = torch.randint(0, 5, (3, 7))
same_name("gather", torch, m, 0, at)
same_name("index_select", torch, m, 1, n8)
fn("index", lambda a, i: aten.index.Tensor(a, [None, i]), m, n8)
fn("_unsafe_index", lambda a, i: aten._unsafe_index.Tensor(a, [None, i]), m, n8)
fn("index", lambda a, i: aten.index.Tensor(a, [i]), m, n8.clamp(max=4))
once = torch.stack([torch.randperm(5)[:3] for _ in range(7)], 1)
same_name("scatter", torch, m, 0, once, torch.randn(3, 7))
fn("scatter", lambda a, i: torch.scatter(a, 0, i, 2), m, at)
fn("scatter", lambda a, i, s: torch.scatter(a, 0, i, s, reduce="add"), m, at,
   torch.randn(3, 7))
same_name("scatter_add", torch, m, 0, at, torch.randn(3, 7))
fn("index_put", lambda a, i: aten.index_put.default(a, [i], torch.zeros(7)), m,
   n8.clamp(max=4))
overload("slice_scatter", aten.slice_scatter.default, x, torch.zeros(2, 6, 3, 8),
         args=(2, 1, 7, 2))
overload("select_scatter", aten.select_scatter.default, x,
         torch.zeros(2, 8, 8), args=(1, 3))
same_name("masked_select", torch, unit, flags)
same_name("nonzero", torch, flags)
same_name("one_hot", F, n8, 9)
same_name("take_along_dim", torch, m, at, dim=0)
same_name("take", torch, m, torch.tensor([[0, 34, -1], [7, 3, 3]]))
same_name("index_add", torch, m, 0, torch.tensor([4, 0, 4]), torch.randn(3, 7))
same_name("index_add", torch, m, 1, torch.tensor([2, 2]), torch.randn(5, 2),
          alpha=-0.5)
same_name("index_add", torch, ints, 0, torch.tensor([1, 1]), ints[:2], alpha=3)
overload("index_add", aten.index_add.default, m, 0, torch.tensor([4, 0, 4]),
         torch.randn(3, 7))
same_name("masked_scatter", torch, unit, flags, torch.randn(20))
same_name("masked_scatter", torch, unit, flags[:1], torch.randn(4, 5))
steps = torch.tensor([-1.0, -0.5, 0, 0, 0.5, 1])
at_steps = torch.cat([unit.flatten(), steps, torch.tensor(
    [float("nan"), float("inf"), -float("inf")])])
same_name("histc", torch, at_steps, 5, -1.0, 2.0)
fn("grouped_mm _grouped_mm", lambda a, b, ends:
   torch._grouped_mm(a, b, offs=ends), torch.rand(16, 8), torch.rand(2, 8, 16),
   torch.tensor([8, 16], dtype=torch.int32))
same_name("bucketize", torch, at_steps, steps)
same_name("bucketize", torch, ints, torch.tensor([-3, 0, 4]))
same_name("bucketize", torch, at_steps, steps, right=True)
same_name("bucketize", torch, at_steps, steps, out_int32=True)
same_name("searchsorted", torch, steps, at_steps)
same_name("searchsorted", torch, pos.sort(1)[0], unit)
same_name("searchsorted", torch, steps, at_steps, side="left")
same_name("searchsorted", torch, steps, at_steps, side="right")
table, bags = torch.randn(9, 3), torch.randint(0, 9, (4, 5))
starts = torch.tensor([0, 2, 2, 5])
for how, mode in enumerate(("sum", "mean", "max")):
    fn("embedding_bag", lambda i, w, m=mode: F.embedding_bag(i, w, mode=m),
       bags, table)
    fn("embedding_bag", lambda i, w, o, m=mode: F.embedding_bag(
        i, w, o, mode=m), bags.flatten(), table, starts)
    for name in ("aten.embedding_bag", "_embedding_bag",
                 "_embedding_bag_forward_only"):
        op = getattr(aten, name.replace("aten.", "")).default
        fn(name, lambda w, i, o, op=op, h=how: op(w, i, o, False, h)[0],
           table, bags.flatten(), starts)
    mod("EmbeddingBag", nn.EmbeddingBag(9, 3, mode=mode), bags)
    mod("EmbeddingBag", nn.EmbeddingBag(9, 3, mode=mode), bags.flatten(), starts)
fn("embedding_bag", F.embedding_bag, bags, table)
fn("embedding_bag", lambda i, w, s: F.embedding_bag(
    i, w, mode="sum", per_sample_weights=s), bags, table, torch.randn(4, 5))
fn("embedding_bag", lambda i, w, o, s: F.embedding_bag(
    i, w, o, mode="sum", per_sample_weights=s), bags.flatten(), table, starts,
   torch.randn(20))
fn("embedding_bag", lambda i, w: F.embedding_bag(i, w, padding_idx=3), bags,
   table)
fn("embedding_bag", lambda i, w, o: F.embedding_bag(
    i, w, o, include_last_offset=True), bags.flatten(), table,
   torch.tensor([0, 3, 20]))
fn("aten.embedding_bag", lambda w, i, o, s: aten.embedding_bag.padding_idx(
    w, i, o, False, 0, False, s, False, None)[0], table, bags.flatten(), starts,
   torch.randn(20))
mod("EmbeddingBag", nn.EmbeddingBag(9, 3, padding_idx=2), bags)


# -- made --------------------------------------------------------------------

class Made:
    """a + target(...): tracing would call a function without tensors."""

    def __init__(self, target, *args, **options):
        self.target, self.args, self.options = target, args, options

    def __call__(self, a):
        return a + self.target(*self.args, **self.options)

    def trace(self):
        graph = torch.fx.Graph()
        a = graph.placeholder("a")
        made = graph.call_function(self.target, self.args, self.options)
        graph.output(graph.call_function(torch.add, (a, made)))
        return torch.fx.GraphModule({}, graph)


fn("arange.1", Made(torch.arange, 7), m)
fn("arange.1", Made(torch.arange, 7, dtype=torch.float64), m)
fn("arange", Made(torch.arange, 1, 15, 2), m)
fn("arange", Made(torch.arange, 0.5, 4.0, 0.5), m)
fn("linspace", Made(torch.linspace, -1, 2, 7), m)
fn("linspace", Made(torch.linspace, start=-1, end=2, steps=7), m)
fn("zeros", Made(torch.zeros, 5, 7), m)
fn("ones", Made(torch.ones, (5, 7), dtype=torch.int64), m)
fn("full", Made(torch.full, (5, 7), 3.5), m)
fn("full", Made(torch.full, (5, 7), fill_value=3), m)
fn("scalar_tensor", Made(aten.scalar_tensor.default, 2.5), m)
fn("tensor", Made(torch.tensor, 2.5), m)
fn("as_tensor", Made(torch.as_tensor, 2.5), m)
fn("tensor", Made(torch.tensor, [1.0, 2, 3, 4, 5, 6, 7]), m)
fn("rand", Made(torch.rand, 5, 7), m)
fn("randn", Made(torch.randn, 5, 7), m)
fn("empty", lambda a: a + torch.mul(torch.empty_like(a), 0), m)
for name in ("zeros", "ones"):
    fn(f"new_{name}", lambda a, n=f"new_{name}": a + getattr(a, n)((5, 7)), m)
    fn(f"{name}_like", lambda a, f=getattr(torch, f"{name}_like"): a + f(a), m)
fn("new_empty", lambda a: a + a.new_empty(7).fill_(2.0), m)
fn("empty_like", lambda a: a + torch.empty_like(a).zero_(), m)
fn("zero", lambda a: a.clone().zero_() + 1, m)
fn("fill", lambda a: a.clone().fill_(2.5) + 1, m)
fn("new_full", lambda a: a + a.new_full((5, 7), 3.5), m)
fn("full_like", lambda a: a + torch.full_like(a, -2.5), m)
fn("full_like", lambda a: a + torch.full_like(a, 3, dtype=torch.int64), m)


class Put(Made):
    """A copy of a with rows of it set, as torch.compile writes it."""

    def __call__(self, a, b):
        a = a.clone()
        a[1:3] = b
        return a

    def trace(self):
        graph = torch.fx.Graph()
        a, b = graph.placeholder("a"), graph.placeholder("b")
        a = graph.call_method("clone", (a,))
        graph.call_function(operator.setitem, (a, slice(1, 3), b))
        graph.output(a)
        return torch.fx.GraphModule({}, graph)


fn("setitem", Put(None), m, v)
hidden = torch.zeros(1, 2, 3)
for name, gates, state in (("lstm", 4, 2), ("gru", 3, 1), ("rnn_tanh", 1, 1),
                           ("rnn_relu", 1, 1)):
    fn(name, lambda a, h, w, r, f=getattr(torch, name), state=state: f(
        a, [h, h] if state == 2 else h, [w, r], False, 1, 0.0, False, False,
        True), torch.randn(2, 5, 8), hidden, torch.randn(3 * gates, 8),
       torch.randn(3 * gates, 3))
for name in ("rand_like", "randn_like"):
    fn(name, lambda a, f=getattr(torch, name): a + f(a), m)

# -- sampling ----------------------------------------------------------------
for a, modes in ((seq, ("nearest", "linear", "nearest-exact")),
                 (x, ("nearest", "bilinear", "bicubic", "nearest-exact", "area")),
                 (vol, ("nearest", "trilinear"))):
    for mode in modes:
        for corners in (None, True) if "linear" in mode or "cubic" in mode \
                else (None,):
            for scale in (1.7, 2, 0.6):
                fn("interpolate", lambda a, m=mode, c=corners, s=scale:
                   F.interpolate(a, scale_factor=s, mode=m, align_corners=c), a)
            fn("interpolate", lambda a, m=mode, c=corners: F.interpolate(
                a, size=5, mode=m, align_corners=c), a)
fn("interpolate", lambda a: F.interpolate(
    a, scale_factor=(1.3, 2.1), mode="bilinear",
    recompute_scale_factor=True), x)
fn("interpolate", lambda a: F.interpolate(
    a, scale_factor=(1.3, 2.1), mode="bilinear"), x)
fn("interpolate", lambda a: F.interpolate(a, size=(5, 4), mode="bilinear",
                                          antialias=True), x)
for name, a in (("upsample_nearest1d", seq), ("upsample_nearest2d", x),
                ("upsample_nearest3d", vol), ("_upsample_nearest_exact1d", seq),
                ("_upsample_nearest_exact2d", x),
                ("_upsample_nearest_exact3d", vol)):
    d, op = a.dim() - 2, getattr(aten, name)
    overload(name, op.vec, a, args=(None, [1.7] * d))
    overload(name, op.default, a, args=([9] * d,))
    overload(name, op.default, a, args=([9] * d, *[1.6] * d))
for name, a in (("upsample_linear1d", seq), ("upsample_bilinear2d", x),
                ("upsample_bicubic2d", x), ("upsample_trilinear3d", vol)):
    d, op = a.dim() - 2, getattr(aten, name)
    overload(name, op.vec, a, args=(None, True, [1.7] * d))
    overload(name, op.vec, a, args=(None, False, [1.7] * d))
    overload(name, op.default, a, args=([9] * d, True))
    overload(name, op.default, a, args=([9] * d, False, *[1.6] * d))
grid = torch.rand(2, 4, 5, 2) * 2.6 - 1.3
grid3 = torch.rand(vol.shape[0], 3, 4, 5, 3) * 2.6 - 1.3
for how, mode in enumerate(("bilinear", "nearest", "bicubic")):
    for edge, padding in enumerate(("zeros", "border", "reflection")):
        for corners in (False, True):
            fn("grid_sample", lambda a, g, m=mode, p=padding, c=corners:
               F.grid_sample(a, g, mode=m, padding_mode=p, align_corners=c),
               x, grid)
            overload("grid_sampler", aten.grid_sampler.default, x, grid,
                     args=(how, edge, corners))
            overload("grid_sampler_2d", aten.grid_sampler_2d.default, x, grid,
                     args=(how, edge, corners))
            if mode != "bicubic":
                overload("grid_sampler_3d", aten.grid_sampler_3d.default, vol,
                         grid3, args=(how, edge, corners))


@torch.fx.wrap
def roi_align(a, b, size):
    return torchvision.ops.roi_align(a, b, size)


boxes = torch.tensor([[0, 0, 0, 5, 5], [1, 1, 2, 7, 6.5], [0, 2, 2, 3, 3.0]])
for aligned in (False, True):
    overload("roi_align.7", torch.ops.torchvision.roi_align.default, x, boxes,
             args=(0.5, 3, 2, 2, aligned))
fn("roi_align", lambda a, b: roi_align(a, b, 3), x, boxes)
corners = torch.rand(20, 2) * 8
overload("nms", torch.ops.torchvision.nms.default,
         torch.cat([corners, corners + 4], 1), torch.rand(20), args=(0.3,))
same_name("dropout dropout2d dropout3d alpha_dropout", F, x, 0.5,
          training=False)
same_name("dropout1d", F, seq, 0.5, training=False)
same_name("dropout", F, x, 0.5)
overload("feature_dropout", aten.feature_dropout.default, x, args=(0.5, False))
fn("stochastic_depth", lambda a: torchvision.ops.stochastic_depth(
    a, 0.5, "row", training=False), x)

# -- modules -----------------------------------------------------------------
for d, a in ((1, seq), (2, x), (3, vol)):
    c = a.shape[1]
    for options in ({"stride": 2, "padding": 1, "groups": 2, "bias": False},
                    {"dilation": 2, "padding": "same"},
                    {"padding": 1, "padding_mode": "reflect"}):
        mod(f"Conv{d}d", getattr(nn, f"Conv{d}d")(c, 4, 3, **options), a)
    mod(f"ConvTranspose{d}d", getattr(nn, f"ConvTranspose{d}d")(
        c, 4, 3, stride=2, padding=1, output_padding=1, groups=2), a)
    norm = getattr(nn, f"BatchNorm{d}d")
    for options in ({"eps": 0.3}, {"affine": False},
                    {"track_running_stats": False}):
        made = norm(c, **options)
        if made.running_mean is not None:
            made.running_mean.normal_(), made.running_var.uniform_(0.5, 2)
        mod(f"BatchNorm{d}d", made.eval(), a)
    mod(f"BatchNorm{d}d", norm(c).train(), a)
    mod(f"InstanceNorm{d}d", getattr(nn, f"InstanceNorm{d}d")(
        c, affine=True, eps=0.2), a)
    mod(f"InstanceNorm{d}d", getattr(nn, f"InstanceNorm{d}d")(
        c, track_running_stats=True).eval(), a)
    for options in ({"stride": 2, "padding": 1, "ceil_mode": True},
                    {"dilation": 2}, {"return_indices": True}):
        mod(f"MaxPool{d}d", getattr(nn, f"MaxPool{d}d")(3, **options), a)
    for options in ({"stride": 2, "padding": 1}, {"ceil_mode": True},
                    {"padding": 1, "count_include_pad": False}):
        mod(f"AvgPool{d}d", getattr(nn, f"AvgPool{d}d")(3, **options), a)
    for kind in ("Avg", "Max"):
        mod(f"Adaptive{kind}Pool{d}d",
            getattr(nn, f"Adaptive{kind}Pool{d}d")(3), a)
    edges = [1, 0, 2, 1, 0, 1][:2 * d]
    for kind in ("Zero", "Reflection", "Replication"):
        mod(f"{kind}Pad{d}d", getattr(nn, f"{kind}Pad{d}d")(edges), a)
    mod(f"ConstantPad{d}d", getattr(nn, f"ConstantPad{d}d")(edges, 2.5), a)
    mod(f"Dropout{d}d", getattr(nn, f"Dropout{d}d")().eval(), a)
mod("AvgPool2d", nn.AvgPool2d(2, divisor_override=3), x)
mod("Linear", nn.Linear(8, 3), x)
mod("NonDynamicallyQuantizableLinear",
    nn.modules.linear.NonDynamicallyQuantizableLinear(8, 3), x)
mod("Bilinear", nn.Bilinear(7, 7, 2), m, m)
mod("LayerNorm", nn.LayerNorm((8, 8), eps=0.2), x)
mod("GroupNorm", nn.GroupNorm(2, 6, eps=0.2), x)
mod("RMSNorm", nn.RMSNorm(8, eps=0.2), x)
mod("RMSNorm", nn.RMSNorm(8), x * 1e-3)
mod("LocalResponseNorm", nn.LocalResponseNorm(3, 0.5, 0.6, 2.0), x)
tokens = torch.randn(2, 5, 8)
for options in ({"batch_first": True}, {}, {"bias": False}, {"kdim": 8},
                {"add_zero_attn": True}, {"add_bias_kv": True}):
    mod("MultiheadAttention", nn.MultiheadAttention(8, 2, **options).eval(),
        tokens, tokens, tokens)
for cls in ("ReLU ReLU6 SiLU Mish Hardswish Hardsigmoid SELU Sigmoid Tanh "
            "LogSigmoid Softsign Tanhshrink GELU").split():
    mod(cls, getattr(nn, cls)(), x * 4)
mod("ReLU", nn.ReLU(inplace=True), x)
mod("GELU", nn.GELU("tanh"), x)
mod("LeakyReLU", nn.LeakyReLU(0.3), x)
mod("ELU", nn.ELU(0.3), x)
mod("CELU", nn.CELU(0.3), x)
mod("PReLU", nn.PReLU(6, init=0.4), x)
mod("PReLU", nn.PReLU(), x)
mod("Softplus", nn.Softplus(3, 2), x)
mod("Hardtanh", nn.Hardtanh(-0.5, 2), x)
mod("Hardshrink", nn.Hardshrink(0.9), x)
mod("RReLU", nn.RReLU(0.1, 0.4).eval(), x)
mod("Softshrink", nn.Softshrink(0.9), x)
mod("Threshold", nn.Threshold(0.3, 7), x)
mod("GLU", nn.GLU(1), x)
mod("Softmax", nn.Softmax(1), x)
mod("Softmax", nn.Softmax(), m)
mod("LogSoftmax", nn.LogSoftmax(2), x)
mod("Softmin", nn.Softmin(2), x)
mod("Embedding", nn.Embedding(9, 3, padding_idx=2), n8)
mod("Embedding", nn.Embedding(9, 3, max_norm=0.5), n8)
mod("Dropout", nn.Dropout().eval(), x)
mod("Dropout", nn.Dropout().train(), x)
mod("AlphaDropout", nn.AlphaDropout().eval(), x)
mod("Identity", nn.Identity(), x)
mod("Flatten", nn.Flatten(2), x)
mod("Unflatten", nn.Unflatten(1, (2, 3)), x)
mod("Unflatten", nn.Unflatten(2, (2, -1)), x)
mod("PixelShuffle", nn.PixelShuffle(2), torch.randn(1, 8, 3, 3))
mod("PixelUnshuffle", nn.PixelUnshuffle(2), x)
mod("ChannelShuffle", nn.ChannelShuffle(3), x)
for options in ({"scale_factor": 1.7, "mode": "bilinear"},
                {"size": 11, "mode": "bicubic", "align_corners": True},
                {"scale_factor": (2.0, 1.4)}):
    mod("Upsample", nn.Upsample(**options), x)
mod("UpsamplingBilinear2d", nn.UpsamplingBilinear2d(scale_factor=1.6), x)
mod("UpsamplingNearest2d", nn.UpsamplingNearest2d(scale_factor=1.6), x)
mod("Fold", nn.Fold((8, 8), (3, 2), 2, 1, (2, 1)), cols)
mod("Unfold", nn.Unfold((3, 2), 2, 1, (2, 1)), x)
mod("LSTM", nn.LSTM(8, 3, batch_first=True), tokens)
mod("GRU", nn.GRU(8, 3), tokens)

# -- what torch dispatches where functions are taken apart ------------------
fn("_scaled_dot_product_flash_attention_for_cpu", lambda a:
   aten._scaled_dot_product_flash_attention_for_cpu.default(a, a, a, 0.0, True)[0], q)
for name in ("native_batch_norm", "_native_batch_norm_legit"):
    fn(name, lambda *a, f=getattr(aten, name).default: f(*a, False, 0.1, 0.2)[0],
       x, w6, w6 + 1, w6, w6.abs() + 1)
fn("native_group_norm", lambda a, b, c: aten.native_group_norm.default(
    a, b, c, 2, 6, 64, 3, 1e-3)[0], x, w6, w6 + 1)
fn("log_sigmoid_forward",
   lambda a: aten.log_sigmoid_forward.default(a)[0], m)
for nd in (1, 2, 3):
    image, kernel = torch.randn(2, 4, *[7] * nd), torch.randn(4, 2, *[3] * nd)
    for turned, more in ((False, 0), (True, 1)):
        fn(f"convolution.{'transposed' if turned else ''}{nd}d",
           lambda a, b, c, turned=turned, more=more, nd=nd: aten.convolution.default(
               a, b, c, [2] * nd, [1] * nd, [1] * nd, turned, [more] * nd, 2),
           image, kernel, torch.randn(4))
overload("_prelu_kernel", aten._prelu_kernel.default, x, w6.reshape(6, 1, 1))
overload("_safe_softmax", aten._safe_softmax.default, m, args=(1,))
for name in ("var_mean", "std_mean"):
    fn(name, lambda a, f=getattr(aten, name).correction:
       f(a, [1], correction=1, keepdim=True)[0], x)
overload("_cdist_forward", aten._cdist_forward.default, torch.randn(2, 4, 6),
         torch.randn(2, 5, 6), args=(2.0, None))
for many in (torch.tensor([True, False]), torch.ones(3, dtype=torch.bool)):
    overload("_is_all_true", aten._is_all_true.default, many)
    overload("_is_any_true", aten._is_any_true.default, many)
overload("_adaptive_avg_pool3d", aten._adaptive_avg_pool3d.default, vol,
         args=([2, 3, 4],))
fn("unsafe_split", lambda a: aten.unsafe_split.Tensor(a, 3, 1)[1], x)
fn("unsafe_split_with_sizes",
   lambda a: aten.unsafe_split_with_sizes.default(a, [1, 5], 1)[1], x)
fn("unbind_copy", lambda a: aten.unbind_copy.int(a, 1)[2], x)
overload("view_copy", aten.view_copy.default, x, args=([2, 6, 64],))
overload("_reshape_alias", aten._reshape_alias.default, x,
         args=([2, 6, 64], [384, 64, 1]))
overload("expand_copy", aten.expand_copy.default, v, args=([3, 7],))
overload("slice_copy", aten.slice_copy.Tensor, x, args=(1, 1, 5, 2))
overload("select_copy", aten.select_copy.int, x, args=(1, 2))
overload("permute_copy", aten.permute_copy.default, x, args=([0, 2, 3, 1],))
overload("transpose_copy", aten.transpose_copy.int, x, args=(1, 3))
overload("t_copy", aten.t_copy.default, m)
overload("squeeze_copy", aten.squeeze_copy.dim, x[:, :1], args=(1,))
overload("unsqueeze_copy", aten.unsqueeze_copy.default, x, args=(1,))
overload("detach_copy", aten.detach_copy.default, m)
overload("alias_copy", aten.alias_copy.default, m)
fn("bernoulli", lambda a: torch.bernoulli(a), torch.ones(3, 4))
fn("multinomial", lambda a: torch.multinomial(a, 1), torch.eye(4))

# Rows that no kernel runs, and those of modules that torch.nn has not.
COUNTED_ONLY = """narrow log_sigmoid_forward _prelu_kernel _safe_softmax
var_mean std_mean bernoulli multinomial movedim tensor_split setitem rand randn rand_like
randn_like roi_align masked_select nonzero nms rnn_relu
LSTM GRU""".split()
# The last three have no kernel for the CPU in torch.
ABSENT = {"LayerNorm2d", "StochasticDepth", "deform_conv2d", "_scaled_mm",
          "_scaled_dot_product_flash_attention",
          "_scaled_dot_product_efficient_attention"}
# What only a recording sees, what is drawn, and numbers that no kernel takes:
# captured in apart.py, record.py, odd.py and given.py.
RECORDED = """vdot _sparse_mm _pack_padded_sequence _pad_packed_sequence randint randperm
normal aten.normal_.default uniform exponential randint_like eye _fft_r2c _fft_c2c _fft_c2r
view_as_complex view_as_real real imag complex polar angle _conj conj_physical resolve_conj
resolve_neg as_strided hann_window hamming_window blackman_window
_jagged_to_padded_dense_forward _padded_dense_to_jagged_forward unfold_backward to_sparse
to_sparse_csr _to_sparse_csr to_sparse_csc _to_sparse_csc to_sparse_bsr _to_sparse_bsr
to_sparse_bsc _to_sparse_bsc
to_padded_tensor _nested_tensor_from_tensor_list
_to_sparse to_dense _to_dense _sparse_addmm _int_mm _weight_int8pack_mm aten.lstm.data
aten.gru.data aten.rnn_tanh.data aten.rnn_relu.data quantize_per_tensor dequantize fmax fmin
bitwise_left_shift bitwise_right_shift nanmedian mode unique unique_consecutive _unique _unique2
unique_dim unique_dim_consecutive scatter_reduce index_reduce nonzero_static
bincount linalg_lstsq lu_unpack resize fractional_max_pool2d fractional_max_pool3d
linalg_cholesky_ex linalg_cholesky cholesky cholesky_inverse linalg_lu_factor_ex linalg_lu
_linalg_det _linalg_slogdet linalg_inv_ex linalg_inv inverse linalg_qr geqrf
linalg_householder_product _linalg_eigh linalg_eig linalg_eigvals _linalg_eigvals _linalg_svd
linalg_pinv linalg_matrix_exp _linalg_solve_ex linalg_solve_triangular triangular_solve
_cholesky_solve_helper cholesky_solve linalg_lu_solve lgamma digamma erfinv i0 special_entr
special_erfcx special_ndtri special_log_ndtr special_i0e special_i1 special_i1e
special_bessel_j0 special_bessel_j1 signbit polygamma hypot copysign nextafter gcd lcm igamma
igammac special_zeta special_xlog1py ldexp __lshift__ __rshift__ __ilshift__ __irshift__ random
cauchy log_normal geometric poisson binomial _standard_gamma _sample_dirichlet
_upsample_bilinear2d_aa _upsample_bicubic2d_aa bartlett_window kaiser_window""".split()


# -- the comparison ----------------------------------------------------------

class Holder(nn.Module):
    def __init__(self, module):
        super().__init__()
        self.own = module

    def forward(self, *args):
        return self.own(*args)


def flat(value):
    if isinstance(value, (tuple, list)):
        return [t for item in value for t in flat(item)]
    return [value] if isinstance(value, torch.Tensor) else []


def close(got, want):
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.is_floating_point:
        return torch.allclose(got.double(), want.double(), 1e-4, 1e-4,
                              equal_nan=True)
    return torch.equal(got, want)


def run(graph, backend, inputs, want):
    """Empty when it is right, the reason when it does not run."""
    try:
        model = graph.compile(backend)
        outputs = [torch.from_dlpack(t) for t in model.run(
            [t.clone().contiguous() for t in inputs])]
    except (cleave.Error, ValueError) as e:
        return str(e)
    check(len(outputs) == len(want) and
          all(close(a, b) for a, b in zip(outputs, want)),
          f"{backend or 'ref'} computes other numbers")
    return ""


def trace(call, inputs, n):
    """The call as a torch.fx graph of n tensors."""
    if isinstance(call, Made):
        return call.trace()
    names = ", ".join(f"t{i}" for i in range(n))
    scope = {"call": call, "inputs": inputs, "tensors": torch.Tensor}
    if isinstance(call, nn.Module):
        exec(f"def forward(self, {names}): return self.own({names})", scope)
        one = type("One", (Holder,), {"forward": scope["forward"]})(call)
        return torch.fx.symbolic_trace(one)
    exec(f"""def traced({names}):
        rest = iter([{names}])
        return call(*[next(rest) if isinstance(a, tensors) else a
                      for a in inputs])""", scope)
    return torch.fx.symbolic_trace(scope["traced"])


def compare(call, inputs):
    """[reason of not running] of the plain kernels and of oneDNN."""
    tensors = [t for t in inputs if isinstance(t, torch.Tensor)]
    module = trace(call, inputs, len(tensors))
    with torch.no_grad():
        want = flat(call(*[t.clone() if isinstance(t, torch.Tensor) else t
                           for t in inputs]))
        ShapeProp(module).propagate(*[t.clone() for t in tensors])
    graph = from_fx(module, "case")
    return [run(graph, b, tensors, want) for b in BACKENDS]


BACKENDS = [None] + ["onednn"] * ("onednn" in cleave._cleave.backends())


class Resized(nn.Module):
    """Some planes of a, resized: how many there are is data."""

    def __init__(self, **options):
        super().__init__()
        self.up = nn.Upsample(**options)

    def forward(self, a, keep):
        return self.up(a[keep].unsqueeze(0))


def test_resize_of_a_size_by_data():
    a, keep = torch.randn(6, 4, 5), torch.tensor([1, 0, 1, 1, 0, 1]).bool()
    for options in ({"scale_factor": 1.7, "mode": "bilinear"},
                    {"scale_factor": 1.7, "mode": "bilinear",
                     "align_corners": True},
                    {"size": 7, "mode": "bilinear"},
                    {"scale_factor": 1.3, "mode": "bicubic"},
                    {"scale_factor": 1.6, "mode": "nearest"},
                    {"scale_factor": 1.6, "mode": "nearest-exact"}):
        module = torch.fx.symbolic_trace(Resized(**options))
        ShapeProp(module).propagate(a, torch.ones(6).bool())
        with torch.no_grad():
            want = [Resized(**options)(a, keep)]
        graph = from_fx(module, "resized")
        for backend in BACKENDS:
            equal(run(graph, backend, [a, keep], want), "", str(options))


def test_rows():
    for kind, name in ROWS:
        cases = (FNS if kind == "FN" else MODULES).get(name, [])
        check(cases or name in ABSENT or name in RECORDED, f"{kind} {name} has no case")
        ran = 0
        for i, (call, inputs) in enumerate(cases):
            import py_check
            before = py_check.failed
            try:
                reasons = compare(call, inputs)
            except Exception as e:
                check(False, f"{name} {i}: {type(e).__name__}: {e}")
                continue
            ran += not all(reasons)
            if py_check.failed > before:
                print(f"   ... {kind} {name}, case {i}")
            if os.environ.get("VERBOSE"):
                print(kind, name, i, reasons)
        if cases:
            equal(ran > 0, name not in COUNTED_ONLY, f"{kind} {name} runs")


main(globals())

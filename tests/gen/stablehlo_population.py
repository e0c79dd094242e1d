#!/usr/bin/env python3
"""Small functions of jax, lowered to text, opened and run by the command.

    python -m venv V; V/bin/pip install jax
    V/bin/python tests/gen/stablehlo_population.py [-o FOLDER] [NAME ...]

Each is lowered by jax.jit(f).lower(..).as_text(), run by `cleave run --params
none` on the arguments that were drawn, and compared with what jax computes on
the CPU: number, shapes and values of all results. One line per function that
is not the same; the last line counts. The exit is 1 when one differs.
"""
import argparse
import functools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

os.environ["JAX_PLATFORMS"] = "cpu"
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, nn

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("CLEAVE", str(ROOT / "build" / "cli" / "cleave"))
rng = np.random.default_rng(11)
CASES = {}


def draw(*shape, lo=-2.0, hi=2.0, dtype=np.float32):
    return rng.uniform(lo, hi, shape).astype(dtype)


def ints(*shape, lo=0, hi=10, dtype=np.int32):
    return rng.integers(lo, hi, shape).astype(dtype)


def case(name, f, *args):
    assert name not in CASES, name
    CASES[name] = (f, args)


X, Y = draw(4, 6), draw(4, 6)
P = draw(4, 6, lo=0.1, hi=3)
U = draw(4, 6, lo=-0.9, hi=0.9)
I, J = ints(4, 6, lo=-20, hi=20), ints(4, 6, lo=1, hi=7)
B = ints(4, 6, hi=2).astype(bool)
V = draw(8)

# -- one operand ----------------------------------------------------------------
for name in """abs negative exp exp2 expm1 sin cos tan arctan sinh cosh tanh arcsinh square sign floor ceil rint trunc
        round isnan isinf isfinite cbrt deg2rad signbit nan_to_num positive sinc i0""".split():
    case("jnp." + name, getattr(jnp, name), X)
for name in "log log2 log10 log1p sqrt reciprocal".split():
    case("jnp." + name, getattr(jnp, name), P)
for name in "arcsin arccos arctanh".split():
    case("jnp." + name, getattr(jnp, name), U)
case("jnp.arccosh", jnp.arccosh, P + 1)
case("lax.rsqrt", lax.rsqrt, P)
case("lax.erf", lax.erf, X)
case("lax.erfc", lax.erfc, X)
case("lax.erf_inv", lax.erf_inv, U)
case("lax.lgamma", lax.lgamma, P)
case("lax.digamma", lax.digamma, P)
case("lax.integer_pow", lambda x: lax.integer_pow(x, 5), X)
case("lax.logistic", lax.logistic, X)
case("lax.is_finite", lambda x: lax.is_finite(x / (x - x[0, 0])), X)
case("lax.round_even", lambda x: lax.round(x * 4, lax.RoundingMethod.TO_NEAREST_EVEN), X)
case("lax.reduce_precision", lambda x: lax.reduce_precision(x, 5, 10), X)
for name in """relu relu6 sigmoid softplus silu log_sigmoid leaky_relu hard_sigmoid hard_silu hard_tanh elu celu selu
        gelu glu mish squareplus soft_sign sparse_plus sparse_sigmoid logsumexp softmax log_softmax standardize
        identity""".split():
    case("nn." + name, getattr(nn, name), X)
case("nn.gelu_exact", lambda x: nn.gelu(x, approximate=False), X)
case("nn.one_hot", lambda i: nn.one_hot(i, 7), J)

# -- two operands ---------------------------------------------------------------
for name in """add subtract multiply divide maximum minimum arctan2 hypot logaddexp logaddexp2 copysign fmod remainder
        mod floor_divide equal not_equal less less_equal greater greater_equal heaviside nextafter fmax fmin
        true_divide""".split():
    case("jnp." + name, getattr(jnp, name), X, Y)
case("jnp.power", jnp.power, P, Y)
case("jnp.float_power_int", lambda x: x ** 3, X)
case("jnp.divmod", jnp.divmod, X, P)
case("jnp.where", jnp.where, B, X, Y)
case("jnp.clip", lambda x: jnp.clip(x, -1, 1), X)
case("jnp.select", lambda x, y: jnp.select([x > 1, y > 1], [x, y], 0.0), X, Y)
case("jnp.isclose", lambda x: jnp.isclose(x, x + 1e-9), X)
case("lax.nextafter", lambda x: lax.nextafter(x, x + 1), X)

# -- integers and bits ----------------------------------------------------------
for name in "bitwise_and bitwise_or bitwise_xor floor_divide remainder gcd lcm".split():
    case("int." + name, getattr(jnp, name), I, J)
case("int.not", jnp.bitwise_not, I)
case("int.left_shift", jnp.left_shift, I, J)
case("int.right_shift", jnp.right_shift, I, J)
case("int.right_shift_logical", lax.shift_right_logical, I, J)
case("int.unsigned_shift", lambda a: (a << 3) ^ (a >> 7), ints(5, hi=2**31 - 1, dtype=np.uint32))
case("int.population_count", lax.population_count, I)
case("int.clz", lax.clz, J)
case("int.power", lambda a: a ** 3, J)
case("int.bool", lambda a, b: (a & b, a | b, a ^ b, ~a), B, ~B[::-1])
case("int.int8", lambda a: a + a, ints(6, lo=-100, hi=100, dtype=np.int8))
case("int.convert", lambda x, i: (x.astype(jnp.int32), i.astype(jnp.float32), x > 0, (x > 0).astype(jnp.float32),
                                  x.astype(jnp.float16).astype(jnp.float32), x.astype(jnp.bfloat16).astype(jnp.float32),
                                  i.astype(jnp.int8), i.astype(jnp.uint8)), X, I)
case("int.bitcast", lambda x: lax.bitcast_convert_type(x, jnp.int32), X)

# -- shapes ---------------------------------------------------------------------
case("jnp.arange", lambda x: jnp.arange(10) + x[0, 0], X)
case("jnp.linspace", lambda x: jnp.linspace(0, 1, 7) * x[0, 0], X)
case("lax.iota", lambda x: lax.broadcasted_iota(jnp.float32, (4, 6), 1) + x, X)
case("jnp.eye", lambda x: jnp.eye(4) @ x, X)
case("jnp.reshape", lambda x: x.reshape(3, 8), X)
case("jnp.transpose", lambda x: x.reshape(2, 2, 6).transpose(2, 0, 1), X)
case("jnp.moveaxis", lambda x: jnp.moveaxis(x.reshape(2, 2, 6), 0, -1), X)
case("jnp.flip", jnp.flip, X)
case("jnp.flip0", lambda x: jnp.flip(x, 0), X)
case("jnp.rot90", jnp.rot90, X)
case("jnp.roll", lambda x: jnp.roll(x, (1, 2), (0, 1)), X)
case("jnp.tile", lambda x: jnp.tile(x, (2, 3)), X)
case("jnp.repeat", lambda x: jnp.repeat(x, 3, 0), X)
case("jnp.concatenate", lambda x, y: jnp.concatenate([x, y], 1), X, Y)
case("jnp.stack", lambda x, y: jnp.stack([x, y], 1), X, Y)
case("jnp.split", lambda x: jnp.split(x, 3, 1), X)
case("jnp.pad_edge", lambda x: jnp.pad(x, 2, mode="edge"), X)
case("jnp.pad_reflect", lambda x: jnp.pad(x, 2, mode="reflect"), X)
case("jnp.pad_wrap", lambda x: jnp.pad(x, 1, mode="wrap"), X)
case("lax.pad_interior", lambda x: lax.pad(x, jnp.float32(1), ((1, 0, 2), (-1, 2, 1))), X)
case("jnp.squeeze", lambda x: jnp.squeeze(x[None, :, None]), X)
case("jnp.broadcast", lambda x: jnp.broadcast_to(x[:, None], (4, 3, 6)), X)
case("jnp.tril", jnp.tril, X)
case("jnp.triu", lambda x: jnp.triu(x, 1), X)
case("jnp.diag", lambda v: jnp.diag(v), V)
case("jnp.diagonal", lambda x: jnp.diagonal(x), X)
case("jnp.meshgrid", lambda v: jnp.meshgrid(v, v[:3]), V)
case("jnp.outer", jnp.outer, V, V)
case("jnp.kron", jnp.kron, X[:2, :2], Y[:2, :3])
case("jnp.strided", lambda x: x[1::2, ::-2], X)
case("jnp.array_split", lambda x: jnp.array_split(x, 4, 1), X)

# -- reductions and scans -------------------------------------------------------
for name in "sum mean prod max min std var median ptp argmax argmin any all count_nonzero nansum nanmax".split():
    case("reduce." + name, functools.partial(getattr(jnp, name), axis=1), X)
    if name not in ("ptp",):
        case("reduce_all." + name, getattr(jnp, name), X)
for name in "cumsum cumprod".split():
    case("jnp." + name, functools.partial(getattr(jnp, name), axis=1), X)
for name in "cummax cummin cumsum cumprod cumlogsumexp".split():
    case("lax." + name, functools.partial(getattr(lax, name), axis=1), X)
case("lax.cumsum_reverse", lambda x: lax.cumsum(x, 0, reverse=True), X)
case("lax.reduce_odd", lambda x: lax.reduce(x, jnp.float32(1), lambda a, b: a + 2 * b, (1,)), X)
case("lax.reduce_and", lambda b: lax.reduce_and(b, (0,)), B)
case("lax.reduce_xor", lambda b: lax.reduce_xor(b, (0,)), I)
case("lax.reduce_bits", lambda b: (lax.reduce_or(b, (1,)), lax.reduce_and(b, (0,))), I)
case("jnp.quantile", lambda x: jnp.quantile(x, 0.3, axis=1), X)
case("jnp.percentile", lambda x: jnp.percentile(x, 70), X)
case("jnp.average", lambda x, p: jnp.average(x, axis=0, weights=p), X, P)
case("jnp.norm", lambda x: jnp.linalg.norm(x, axis=1), X)
case("jnp.cov", jnp.cov, X)
case("jnp.corrcoef", jnp.corrcoef, X)
case("jnp.diff", lambda x: jnp.diff(x, axis=1), X)
case("jnp.gradient", lambda x: jnp.gradient(x, axis=0), X)
case("jnp.trapezoid", lambda x: jnp.trapezoid(x), X)
case("jnp.convolve", lambda v: jnp.convolve(v, v[:3]), V)
case("jnp.histogram", lambda x: jnp.histogram(x, bins=5, range=(-2, 2))[0], X)
case("jnp.bincount", lambda j: jnp.bincount(j.reshape(-1), length=10), J)
case("jnp.digitize", lambda x: jnp.digitize(x, jnp.array([-1., 0., 1.])), X)
case("jnp.interp", lambda v: jnp.interp(v, jnp.arange(-3., 4.), jnp.arange(7.) ** 2), V)
case("jnp.polyval", lambda v: jnp.polyval(jnp.array([1., -2., 3.]), v), V)

# -- order and places -----------------------------------------------------------
case("jnp.sort", lambda x: jnp.sort(x), X)
case("jnp.sort0", lambda x: jnp.sort(x, 0), X)
case("jnp.argsort", lambda x: jnp.argsort(x, 1), X)
case("jnp.sort_down", lambda x: jnp.sort(x, descending=True), X)
case("jnp.sort_int", lambda i: jnp.sort(i, 1), I)
case("lax.sort_pair", lambda x, y: lax.sort((x, y), dimension=1, num_keys=1), X, Y)
case("lax.sort_keys", lambda i, y: lax.sort((i % 3, y), dimension=1, num_keys=2), I, Y)
case("jnp.lexsort", lambda i, y: jnp.lexsort((y, i % 3)), I[0], Y[0])
case("lax.top_k", lambda x: lax.top_k(x, 3), X)
case("lax.approx_max_k", lambda x: lax.approx_max_k(x, 2), X)
case("jnp.searchsorted", lambda v, x: jnp.searchsorted(jnp.sort(v), x), V, X)
case("jnp.unique", lambda j: jnp.unique(j, size=6, fill_value=0), J)
case("jnp.nonzero", lambda b: jnp.nonzero(b, size=8, fill_value=0), B)
case("jnp.take", lambda x, i: jnp.take(x, i, axis=1), X, ints(3, hi=6))
case("jnp.take_fill", lambda x, i: jnp.take(x, i, axis=1), X, ints(3, lo=4, hi=9))
case("jnp.take_wrap", lambda x, i: jnp.take(x, i, axis=1, mode="wrap"), X, ints(3, lo=-9, hi=9))
case("jnp.take_along_axis", lambda x: jnp.take_along_axis(x, jnp.argsort(x, 1), 1), X)
case("jnp.fancy", lambda x, i, j: x[i, j], X, ints(5, hi=4), ints(5, hi=6))
case("jnp.fancy2", lambda x, i: x[i][:, i], X, ints(3, hi=4))
case("jnp.at_set", lambda x, i: x.at[i].set(7.0), X, np.array([0, 2], np.int32))
case("jnp.at_add", lambda x, i: x.at[i].add(1.0), X, ints(5, hi=4))
case("jnp.at_mul", lambda x, i: x.at[:, i].multiply(2.0), X, ints(3, hi=6))
case("jnp.at_max", lambda x, i, u: x.at[i].max(u), X, ints(3, hi=4), draw(3, 6))
case("jnp.at_min", lambda x, i, u: x.at[i].min(u), X, ints(3, hi=4), draw(3, 6))
case("jnp.at_point", lambda x, i, j: x.at[i, j].add(1.0), X, ints(7, hi=4), ints(7, hi=6))
case("jnp.at_slice", lambda x, y: x.at[1:3, 2:5].set(y[:2, :3]), X, Y)
case("jnp.at_outside", lambda x, i: x.at[i].add(1.0), X, ints(5, lo=2, hi=8))
case("jnp.at_outside_set", lambda x, i: x.at[i].set(5.0), X, np.array([1, 6], np.int32))
case("lax.dynamic_slice", lambda x, k: lax.dynamic_slice(x, (k, k), (2, 3)), X, np.int32(1))
case("lax.dynamic_slice_clamped", lambda x, k: lax.dynamic_slice(x, (k, k), (2, 3)), X, np.int32(9))
case("lax.dynamic_update_slice", lambda x, y, k: lax.dynamic_update_slice(x, y[:2, :2], (k, 1)), X, Y, np.int32(1))
case("lax.dynamic_update_clamped", lambda x, y, k: lax.dynamic_update_slice(x, y[:2, :2], (k, 1)), X, Y, np.int32(5))
case("lax.dynamic_index", lambda x, k: lax.dynamic_index_in_dim(x, k, 1), X, np.int32(3))
case("lax.scatter_apply", lambda x, i: x.at[i].apply(jnp.tanh), X, np.array([0, 2], np.int32))
case("jax.segment_sum", lambda x, i: jax.ops.segment_sum(x, i, 5), X, ints(4, hi=5))
case("jnp.embedding_grad", lambda w, i: jax.grad(lambda w: (w[i] ** 2).sum())(w), X, ints(6, hi=4))

# -- products, convolutions, pools ------------------------------------------------
case("jnp.matmul", jnp.matmul, draw(2, 3, 4), draw(2, 4, 5))
case("jnp.vdot", jnp.vdot, V, V)
case("jnp.tensordot", lambda a, b: jnp.tensordot(a, b, 2), draw(2, 3, 4), draw(3, 4, 5))
case("jnp.einsum", lambda a, b: jnp.einsum("bij,bkj->bki", a, b), draw(2, 3, 4), draw(2, 5, 4))
case("jnp.einsum3", lambda a, b, c: jnp.einsum("ij,jk,kl->il", a, b, c), draw(2, 3), draw(3, 4), draw(4, 5))
case("jnp.einsum_diag", lambda a: jnp.einsum("bii->bi", a), draw(2, 4, 4))
case("jnp.cross", jnp.cross, draw(5, 3), draw(5, 3))
case("lax.conv", lambda x, w: lax.conv(x, w, (1, 1), "SAME"), draw(1, 3, 8, 8), draw(4, 3, 3, 3))
case("lax.conv1d", lambda x, w: lax.conv_general_dilated(x, w, (2,), "VALID"), draw(2, 3, 16), draw(4, 3, 5))
case("lax.conv3d", lambda x, w: lax.conv_general_dilated(x, w, (1, 1, 1), "SAME"), draw(1, 2, 4, 5, 6), draw(3, 2, 2, 3, 2))
case("lax.conv_depthwise", lambda x, w: lax.conv_general_dilated(
    x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=4), draw(1, 8, 8, 4), draw(3, 3, 1, 8))
case("lax.conv_dilated", lambda x, w: lax.conv_general_dilated(x, w, (1, 1), ((2, 2), (0, 1)), rhs_dilation=(2, 3)), draw(1, 3, 12, 12), draw(4, 3, 3, 3))
case("lax.conv_transpose", lambda x, w: lax.conv_transpose(x, w, (2, 2), "SAME"), draw(1, 6, 6, 3), draw(4, 4, 3, 5))
case("lax.conv_grad", lambda x, w: jax.grad(lambda x, w: (lax.conv(x, w, (2, 2), "SAME") ** 2).sum(), (0, 1))(x, w), draw(2, 3, 8, 8), draw(4, 3, 3, 3))
case("lax.max_pool", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "SAME"), draw(1, 7, 7, 3))
case("lax.avg_pool", lambda x: lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 2, 2, 1), "VALID") / 9, draw(1, 8, 8, 3))
case("lax.max_pool_grad", jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2).sum()), draw(1, 6, 6, 2))
case("image.resize_linear", lambda x: jax.image.resize(x, (1, 9, 7, 2), "linear"), draw(1, 4, 5, 2))
case("image.resize_nearest", lambda x: jax.image.resize(x, (1, 8, 10, 2), "nearest"), draw(1, 4, 5, 2))
case("image.resize_cubic", lambda x: jax.image.resize(x, (1, 8, 9, 2), "cubic"), draw(1, 4, 5, 2))
case("fft.rfft", lambda v: jnp.abs(jnp.fft.rfft(v)), V)
case("lax.complex", lambda x, y: jnp.abs(lax.complex(x, y) * lax.complex(y, x)), X, Y)
case("linalg.cholesky", lambda x: jnp.linalg.cholesky(x @ x.T + 4 * jnp.eye(4)), X)
case("linalg.solve", lambda x, y: jnp.linalg.solve(x[:, :4] + 4 * jnp.eye(4), y), X, Y)
case("linalg.inv", lambda x: jnp.linalg.inv(x[:, :4] + 4 * jnp.eye(4)), X)
case("linalg.det", lambda x: jnp.linalg.det(x[:3, :3]), X)
case("linalg.triangular", lambda x, y: jax.scipy.linalg.solve_triangular(jnp.tril(x[:, :4]) + 3 * jnp.eye(4), y, lower=True), X, Y)
case("linalg.matrix_power", lambda x: jnp.linalg.matrix_power(x[:, :4], 3), X)

# -- control ----------------------------------------------------------------------
case("lax.scan", lambda x: lax.scan(lambda c, r: (c * 0.5 + r.sum(), c + 1), jnp.float32(1), x), X)
case("lax.scan_reverse", lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x, reverse=True), X)
case("lax.scan_unroll", lambda x: lax.scan(lambda c, r: (c + r, c * r), x[0], x, unroll=2), X)
case("lax.fori", lambda x: lax.fori_loop(0, 7, lambda i, a: a * 0.9 + i * x[0], x[1]), X)
case("lax.while", lambda x: lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 1.1), (0, x)), X)
case("lax.while_data", lambda x: lax.while_loop(lambda s: s.sum() < 30, lambda s: s + 0.25, jnp.abs(x)), X)
case("lax.cond", lambda x, k: lax.cond(k > 1, lambda x: x + 1, lambda x: x * 2, x), X, np.int32(2))
case("lax.switch", lambda x, k: lax.switch(k, [lambda x: x, lambda x: x * 2, lambda x: x.sum() + x], x), X, np.int32(2))
case("lax.map", lambda x: lax.map(lambda r: r * r.sum(), x), X)
case("lax.associative_scan", lambda x: lax.associative_scan(jnp.maximum, x), X)
case("lax.nested_loops", lambda x: lax.fori_loop(0, 3, lambda i, a: lax.fori_loop(0, i + 1, lambda j, b: b + x[j], a), x[0]), X)
case("jax.vmap_cond", lambda x: jax.vmap(lambda r: lax.cond(r.sum() > 0, jnp.sin, jnp.cos, r))(x), X)
case("jax.vmap_slice", lambda x, i: jax.vmap(lambda r, j: lax.dynamic_slice(r, (j,), (2,)))(x, i), X, ints(4, hi=7))
case("jax.checkpoint", lambda x: jax.checkpoint(lambda x: jnp.tanh(x @ x.T))(x), X)
case("jax.custom_jvp", lambda x: nn.relu(jax.jit(nn.silu)(x)), X)
case("jax.grad_softmax", jax.grad(lambda x: (nn.softmax(x) ** 2).sum()), X)
case("jax.jacfwd", jax.jacfwd(lambda v: jnp.tanh(v) * v.sum()), V)
case("jax.hessian", jax.hessian(lambda v: (v ** 3).sum() * v[0]), V[:4])
case("random.uniform", lambda x: jax.random.uniform(jax.random.key(3), (3, 4)) + x[0, 0], X)
case("random.normal", lambda x: jax.random.normal(jax.random.key(3), (3, 4)) + x[0, 0], X)
case("random.bernoulli", lambda x: jax.random.bernoulli(jax.random.key(3), 0.4, (3, 4)) * x[0, 0], X)
case("random.categorical", lambda x: jax.random.categorical(jax.random.key(5), x), X)
case("random.permutation", lambda x: jax.random.permutation(jax.random.key(5), x), X)
case("random.dropout", lambda x: jnp.where(jax.random.bernoulli(jax.random.key(1), 0.5, x.shape), x / 0.5, 0), X)


# -- networks ---------------------------------------------------------------------
def mlp(p, x):
    for w, b in p[:-1]:
        x = nn.relu(x @ w + b)
    return nn.log_softmax(x @ p[-1][0] + p[-1][1])


def cnn(p, x):
    d = ("NHWC", "HWIO", "NHWC")
    for w, b in p["conv"]:
        x = nn.relu(lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=d) + b)
        x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ p["out"]


def layer_norm(x, g, b):
    m = x.mean(-1, keepdims=True)
    return (x - m) * lax.rsqrt(((x - m) ** 2).mean(-1, keepdims=True) + 1e-5) * g + b


def block(p, x, heads=2, causal=True):
    n, s, d = x.shape
    y = layer_norm(x, *p["ln1"])
    q, k, v = ((y @ p[w]).reshape(n, s, heads, -1).transpose(0, 2, 1, 3) for w in ("q", "k", "v"))
    a = q @ k.swapaxes(-1, -2) / np.sqrt(d // heads)
    if causal:
        a = jnp.where(jnp.tril(jnp.ones((s, s), bool)), a, -1e9)
    y = (nn.softmax(a) @ v).transpose(0, 2, 1, 3).reshape(n, s, d)
    x = x + y @ p["o"]
    return x + nn.gelu(layer_norm(x, *p["ln2"]) @ p["up"]) @ p["down"]


def lstm(p, x):
    def step(c, row):
        h, s = c
        i, f, g, o = jnp.split(row @ p["w"] + h @ p["u"] + p["b"], 4, -1)
        s = nn.sigmoid(f) * s + nn.sigmoid(i) * jnp.tanh(g)
        h = nn.sigmoid(o) * jnp.tanh(s)
        return (h, s), h
    z = jnp.zeros((x.shape[1], p["u"].shape[0]))
    return lax.scan(step, (z, z), x)


def rope(x):
    n, s, h, d = x.shape
    t = jnp.arange(s)[:, None] * (1e4 ** (-jnp.arange(0, d, 2) / d))
    a, b = x[..., ::2], x[..., 1::2]
    c, s = jnp.cos(t)[:, None], jnp.sin(t)[:, None]
    return jnp.stack([a * c - b * s, a * s + b * c], -1).reshape(x.shape)


def moe(p, x):
    gates, who = lax.top_k(nn.softmax(x @ p["gate"]), 2)
    mix = (nn.one_hot(who, 4) * gates[..., None]).sum(1)
    return jnp.einsum("ne,ned->nd", mix, jnp.einsum("nd,edf->nef", x, p["experts"]))


def generate(p, start):
    def step(c, _):
        buffer, at = c
        logits = p[buffer[at]]
        nxt = jnp.argmax(logits).astype(jnp.int32)
        return (lax.dynamic_update_slice(buffer, nxt[None], (at + 1,)), at + 1), nxt
    return lax.scan(step, (jnp.zeros(8, jnp.int32).at[0].set(start), 0), None, length=6)


def weights(d):
    return {"ln1": (draw(d), draw(d)), "ln2": (draw(d), draw(d)), "q": draw(d, d), "k": draw(d, d), "v": draw(d, d),
            "o": draw(d, d), "up": draw(d, 4 * d), "down": draw(4 * d, d)}


MLP = [(draw(6, 16), draw(16)), (draw(16, 16), draw(16)), (draw(16, 5), draw(5))]
case("net.mlp", mlp, MLP, X)
case("net.mlp_grad", lambda p, x: jax.grad(lambda p: -mlp(p, x)[:, 0].mean())(p), MLP, X)
case("net.sgd", lambda p, x: jax.tree.map(lambda w, g: w - 0.1 * g, p, jax.grad(lambda p: -mlp(p, x)[:, 0].mean())(p)), MLP, X)
CNN = {"conv": [(draw(3, 3, 3, 8), draw(8)), (draw(3, 3, 8, 8), draw(8))], "out": draw(4 * 4 * 8, 5)}
case("net.cnn", cnn, CNN, draw(2, 16, 16, 3))
case("net.cnn_grad", lambda p, x: jax.grad(lambda p: cnn(p, x).sum())(p), CNN, draw(2, 16, 16, 3))
case("net.block", block, weights(16), draw(2, 5, 16))
case("net.block_grad", lambda p, x: jax.grad(lambda p: block(p, x).mean())(p), weights(8), draw(1, 4, 8))
case("net.blocks_scanned", lambda p, x: lax.scan(lambda x, p: (block(p, x), None), x, p)[0],
     jax.tree.map(lambda a: np.stack([a, a * 0.5]), weights(16)), draw(2, 5, 16))
case("net.lstm", lstm, {"w": draw(4, 32), "u": draw(8, 32), "b": draw(32)}, draw(5, 2, 4))
case("net.rope", rope, draw(1, 6, 2, 8))
case("net.moe", moe, {"gate": draw(6, 4), "experts": draw(4, 6, 6)}, X)
case("net.generate", generate, draw(12, 12), np.int32(3))
case("net.attention", lambda q, k, v: nn.dot_product_attention(q, k, v, is_causal=True), draw(1, 6, 2, 8), draw(1, 6, 2, 8), draw(1, 6, 2, 8))
case("net.attention_gqa", lambda q, k, v: nn.dot_product_attention(q, k, v), draw(1, 6, 4, 8), draw(1, 6, 2, 8), draw(1, 6, 2, 8))
case("net.batch_norm", lambda x, g, b: (x - x.mean((0, 1, 2))) / jnp.sqrt(x.var((0, 1, 2)) + 1e-5) * g + b, draw(2, 5, 5, 4), draw(4), draw(4))
case("net.group_norm", lambda x: nn.standardize(x.reshape(2, 5, 5, 2, 4), (1, 2, 4)).reshape(x.shape), draw(2, 5, 5, 8))


def flatten(tree):
    return [np.asarray(a) for a in jax.tree.leaves(tree)]


def command(*words):
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}")
    return done.stdout


def check(name, folder, keep):
    """What differs, or None."""
    f, args = CASES[name]
    text = jax.jit(f).lower(*args).as_text()
    path = os.path.join(keep or folder, name + ".mlir")
    pathlib.Path(path).write_text(text)
    want = flatten(jax.jit(f)(*args))
    got = json.loads(command("profile", path, "--params", "none", "--json", "--quiet"))
    unknown = got["coverage"]["unknown_ops"]
    if unknown:
        return "unknown " + " ".join(sorted(set(unknown)))
    shapes = [list(o["shape"]) for o in got["outputs"]]
    if shapes != [list(w.shape) for w in want]:
        return f"shapes {shapes}, jax has {[list(w.shape) for w in want]}"
    words = []
    for i, a in enumerate(flatten(args)):
        np.save(f"{folder}/{i}.npy", a)
        words += ["--input", f"{got['inputs'][i]['name']}={folder}/{i}.npy"] if i < len(got["inputs"]) else []
    command("run", path, "--params", "none", "--output", f"{folder}/out.npz", "--quiet", *words)
    with np.load(f"{folder}/out.npz") as z:
        out = {k: z[k] for k in z.files}
    worst = 0.0
    for o, w in zip(got["outputs"], want):
        g = out[o["name"]]
        if str(g.dtype) != str(w.dtype) and not (w.dtype.itemsize == 2 and w.dtype.kind == "V"):
            return f"type {g.dtype}, jax has {w.dtype}"
        w = w.astype(np.float64)
        g = g.astype(np.float64)
        if not np.array_equal(np.isfinite(g), np.isfinite(w)):
            return "numbers that are not finite elsewhere"
        both = np.isfinite(w)
        if w.size and both.any():
            worst = max(worst, float(np.abs(g - w)[both].max() / max(1.0, np.abs(w[both]).max())))
    return f"differs by {worst:.1e}" if worst > 1e-4 else None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-o", help="keep the texts in this folder")
    p.add_argument("names", nargs="*")
    a = p.parse_args()
    if a.o:
        os.makedirs(a.o, exist_ok=True)
    names = [n for n in CASES if not a.names or n in a.names]
    same = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            try:
                said = check(name, folder, a.o)
            except Exception as e:
                said = (str(e).strip().splitlines() or [repr(e)])[-1][:220]
        same += said is None
        if said:
            print(f"{name}: {said}", flush=True)
    print(f"{same} of {len(names)} functions as jax")
    return same != len(names)


if __name__ == "__main__":
    sys.exit(main())

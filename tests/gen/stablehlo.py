#!/usr/bin/env python3
"""StableHLO texts with values by jax, for tests/test_stablehlo.c.

    python -m venv V; V/bin/pip install jax flax; V/bin/python tests/gen/stablehlo.py

Writes tests/data/stablehlo/NAME.mlir, NAME.npz (arguments in0.. and results
out0.. as jax computes them on the CPU) and truth.csv: parameters, and the
multiplications of products and convolutions counted on jax's own program
(jaxpr), loops times their trips. A transposed convolution counts its input's
elements times the kernel: zeros between them are not multiplied. One that has
strides, too, is an ordinary one over zeros.
"""
import csv, os, sys
os.environ['JAX_PLATFORMS'] = 'cpu'
import jax, jax.numpy as jnp, numpy as np
from jax import lax, export
import flax.linen as nn

OUT = os.path.join(os.path.dirname(__file__), '..', 'data', 'stablehlo')
ROWS = []


def prod(xs):
    n = 1
    for x in xs:
        n *= int(x)
    return n


def macs_of(jaxpr):
    """Products and convolutions of a jaxpr, by the sizes of its values."""
    n = 0
    for eq in jaxpr.eqns:
        name, p = eq.primitive.name, eq.params
        if name == 'dot_general':
            (lc, _), _ = p['dimension_numbers']
            n += prod(eq.outvars[0].aval.shape) * prod(
                eq.invars[0].aval.shape[i] for i in lc)
        elif name == 'conv_general_dilated':
            d, k = p['dimension_numbers'], eq.invars[1].aval.shape
            taps = prod(k) // k[d.rhs_spec[0]]
            turned = max(p['lhs_dilation'] or (1,)) > 1 and max(p['window_strides']) == 1
            at = eq.invars[0] if turned else eq.outvars[0]
            out = eq.outvars[0].aval.shape
            if at is eq.invars[0]:
                x = at.aval.shape
                places = prod(x[i] for i in d.lhs_spec[2:]) * x[d.lhs_spec[0]]
                n += places * prod(k[i] for i in d.rhs_spec[2:]) * k[d.rhs_spec[1]] * k[d.rhs_spec[0]]
            else:
                n += prod(out) * taps
        times = p.get('length', 1) if name == 'scan' else 1
        if name == 'while':
            times = None
        for v in p.values():
            for sub in (v if isinstance(v, (tuple, list)) else [v]):
                inner = getattr(sub, 'jaxpr', sub if hasattr(sub, 'eqns') else None)
                if inner is not None and hasattr(inner, 'eqns'):
                    m = macs_of(inner)
                    if times is None and m:
                        raise SystemExit('a while with products: count it by hand')
                    n += m * (times or 1)
    return n


def save(name, f, *args, params=None, text=None, keep=True, loc=False):
    """Lowers f(*args); params: pytree that is the first argument."""
    os.makedirs(OUT, exist_ok=True)
    jitted = jax.jit(f)
    if text is None:
        text = jitted.lower(*args).as_text(debug_info=loc)
    text = clean(text)
    with open(os.path.join(OUT, name + '.mlir'), 'w') as o:
        o.write(text)
    flat = jax.tree.leaves(args)
    outs = jax.tree.leaves(jitted(*args))
    arrays = {}
    for i, x in enumerate(flat):
        arrays[f'in{i}'] = np.asarray(x)
    for i, x in enumerate(outs):
        arrays[f'out{i}'] = np.asarray(x)
    for k, v in arrays.items():
        if v.dtype == jnp.bfloat16:
            arrays[k] = v.astype(np.float32)
    if keep:
        np.savez(os.path.join(OUT, name + '.npz'), **arrays)
    n = sum(prod(x.shape) for x in jax.tree.leaves(params)) if params is not None else 0
    ROWS.append([name, n, macs_of(jax.make_jaxpr(f)(*args).jaxpr)])


def clean(text):
    """Without the machine's paths."""
    lines = []
    for line in text.split('\n'):
        if '.py":' in line and line.startswith('#loc'):
            head, rest = line.split('loc("', 1)
            path, tail = rest.split('"', 1)
            line = f'{head}loc("{os.path.basename(path)}"{tail}'
        lines.append(line)
    return '\n'.join(lines)


rng = np.random.default_rng(5)


def arr(*shape, lo=-2.0, hi=2.0, dtype=np.float32):
    return jnp.asarray(rng.uniform(lo, hi, shape).astype(dtype))


def ints(*shape, lo=0, hi=10, dtype=np.int32):
    return jnp.asarray(rng.integers(lo, hi, shape).astype(dtype))


# -- operations -----------------------------------------------------------------

def elementwise(x, p):
    u = p * 0.2 - 0.5
    return (jnp.abs(x), jnp.cbrt(x), jnp.ceil(x), jnp.cos(x), jnp.exp(x), jnp.expm1(x), jnp.floor(x),
            jnp.isfinite(x / (x - x[0, 0])), jnp.log(p), jnp.log1p(p), lax.logistic(x), -x,
            lax.round(x * 4, lax.RoundingMethod.AWAY_FROM_ZERO),
            lax.round(x * 4, lax.RoundingMethod.TO_NEAREST_EVEN), lax.rsqrt(p), jnp.sign(x), jnp.sin(x),
            jnp.sqrt(p), jnp.tan(x), jnp.tanh(x), lax.erf(x), lax.erfc(x), jnp.square(x), jnp.arcsin(u),
            jnp.arccos(u), jnp.arctan(x), jnp.sinh(x), jnp.cosh(x), jnp.arcsinh(x), jnp.arccosh(p + 1),
            jnp.arctanh(u), jnp.isinf(x / 0), lax.reduce_precision(x, 5, 10),
            lax.bitcast_convert_type(x, jnp.int32), x.astype(jnp.int32), x.astype(jnp.float16).astype(jnp.float32))


def binary(x, y, p):
    return (x + y, x - y, x * y, x / y, jnp.maximum(x, y), jnp.minimum(x, y), p ** y, lax.rem(x, y),
            jnp.arctan2(x, y), x == y, x != y, x < y, x <= y, x > y, x >= y, jnp.where(x > y, x, y),
            jnp.clip(x, -1, 1), lax.clamp(jnp.float32(-0.5), x, jnp.float32(0.5)), jnp.mod(x, y), x // y)


def integers(a, b, u):
    t, f = a > b, a > 3
    return (a + b, a - b, a * b, lax.div(a, b), lax.rem(a, b), a // b, a % b, a & b, a | b, a ^ b, ~a, a << 2,
            a >> 1, lax.shift_right_logical(a - 20, jnp.int32(3)), u >> 3, u << 5, u * u, t & f, t | f, t ^ f,
            ~t, jnp.maximum(a, b), -a, jnp.abs(a - 8), jnp.sign(a - 5), a.astype(jnp.float32), t.astype(jnp.int32),
            jnp.where(t, a, b), lax.max(a, b), jnp.sum(a), jnp.max(a, 1), jnp.prod(a[:2, :2]), jnp.any(t, 0),
            jnp.all(f, 1), jnp.cumsum(a, 0))


def shapes(x, y):
    return (x.reshape(4, 6), x.T, jnp.broadcast_to(x[0], (3, 4)), x[None, :, None], x[1:5:2, ::-1],
            jnp.concatenate([x, y], 1), jnp.stack([x[:2], x[2:4]]), jnp.pad(x, ((1, 2), (0, 3))),
            lax.pad(x, jnp.float32(7), ((1, 0, 2), (-1, 2, 1))), jnp.flip(x, 0), jnp.arange(12.).reshape(3, 4),
            lax.iota(jnp.int32, 5), lax.broadcasted_iota(jnp.int32, (3, 4), 1), jnp.tile(x, (1, 2)), jnp.roll(x, 1, 0),
            lax.broadcast_in_dim(x, (4, 2, 6), (2, 0)), jnp.eye(3), jnp.tril(x), jnp.zeros((2, 3)), jnp.repeat(x, 2, 1),
            jnp.full((2, 2), 3, jnp.int32), jnp.expand_dims(x, 2).squeeze(2), jnp.diagonal(x[:4]), jnp.trace(x[:4]),
            jnp.meshgrid(x[0], y[1]), jnp.split(x, 2))


def products(a, b, c, d, v):
    e = jnp.einsum
    return (a @ b, a @ v, v @ b, jnp.dot(v, v), e('bqhd,bkhd->bhqk', c, d), e('bhqk,bkhd->bqhd', e('bqhd,bkhd->bhqk', c, d), d),
            e('bshd,hde->bse', c, d[0].transpose(1, 2, 0)), e('ij,jkl->ikl', a, b.reshape(5, 2, 3)), e('ij,kj->ik', a, a),
            e('i,j->ij', v, v), e('bij->b', d[..., 0]), jnp.tensordot(c, d, ((1, 2), (1, 2))),
            lax.dot(a.astype(jnp.bfloat16), b.astype(jnp.bfloat16), preferred_element_type=jnp.float32),
            lax.dot(a.astype(jnp.int8), b.astype(jnp.int8), preferred_element_type=jnp.int32), jnp.outer(v, v), e('ijk,ijk->ij', c[0], d[0]))


def convs(x, w, wt, wd, w1, x1, x3, w3, xn, wn):
    d = ('NHWC', 'HWIO', 'NHWC')
    c = lax.conv_general_dilated
    return (c(x, w, (1, 1), 'SAME', dimension_numbers=d), c(x, w, (2, 2), 'VALID', dimension_numbers=d),
            c(x, w, (1, 2), ((1, 0), (2, 1)), rhs_dilation=(2, 1), dimension_numbers=d),
            c(x, wd, (1, 1), 'SAME', dimension_numbers=d, feature_group_count=4),
            lax.conv_transpose(x, wt, (2, 2), 'SAME'), lax.conv_transpose(x, wt, (2, 3), 'VALID'),
            lax.conv_transpose(x, wt.transpose(0, 1, 3, 2), (2, 2), 'SAME', transpose_kernel=True),
            c(x1, w1, (2,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC')),
            c(x3, w3, (1, 1, 1), 'SAME', dimension_numbers=('NDHWC', 'DHWIO', 'NDHWC')),
            c(xn, wn, (1, 1), 'SAME'), c(x, w, (2, 2), ((1, 2), (0, 3)), lhs_dilation=(3, 3), dimension_numbers=d),
            c(x, w, (1, 1), ((-1, 0), (0, -1)), dimension_numbers=d),
            c(jnp.concatenate([x, x]), w, (1, 1), 'SAME', dimension_numbers=d, batch_group_count=2),
            lax.conv_with_general_padding(xn, wn, (1, 1), ((1, 1), (1, 1)), None, None))


def conv_gradients(x, w):
    d = ('NHWC', 'HWIO', 'NHWC')
    f = lambda x, w: jnp.sum(lax.conv_general_dilated(x, w, (2, 2), 'SAME', dimension_numbers=d) ** 2)
    return jax.grad(f, (0, 1))(x, w)


def reductions(x):
    odd = lax.reduce(x, jnp.float32(1), lambda a, b: a + 2 * b, (1,))
    both = lax.reduce((x, x * 2), (jnp.float32(0), jnp.float32(1)),
                      lambda a, b: (a[0] + b[0], a[1] * b[1] + a[0]), (0, 2))
    return (x.sum(), x.sum(0), x.mean((1, 2)), x.max(1), x.min((0, 2)), x.prod(2), jnp.any(x > 1, 0), jnp.all(x > -2, 1),
            x.argmax(1), x.argmin(2), jnp.argmax(x), odd, both, x.var(1), jax.nn.logsumexp(x, 2), jax.nn.softmax(x),
            jnp.cumsum(x, 1), jnp.cumprod(x, 0), lax.cummax(x, 2), lax.cumsum(x, 1, reverse=True), jnp.median(x[0, 0]),
            lax.reduce_max(x, (0,)), jnp.linalg.norm(x))


def pools(x):
    return (nn.max_pool(x, (2, 2), (2, 2)), nn.max_pool(x, (3, 3), (2, 2), 'SAME'), nn.avg_pool(x, (2, 2), (2, 2)),
            nn.avg_pool(x, (3, 3), (1, 1), 'SAME', count_include_pad=False), lax.reduce_window(x, jnp.inf, lax.min, (1, 2, 2, 1), (1, 1, 1, 1), 'VALID'),
            lax.reduce_window(x, 0.0, lax.add, (1, 3, 1, 2), (1, 2, 1, 1), 'VALID'),
            lax.reduce_window(x, 1.0, lax.mul, (1, 2, 2, 1), (1, 1, 1, 1), 'VALID'),
            lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 1, 1, 1), 'VALID', window_dilation=(1, 2, 2, 1)),
            lax.reduce_window((x * 3).astype(jnp.int32), 0, lax.add, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME'),
            lax.reduce_window(x, 0.0, lax.add, (1, 2, 2, 1), (1, 1, 1, 1), ((0, 0), (1, 1), (1, 1), (0, 0)), base_dilation=(1, 2, 1, 1)))


def indexing(x, i, k, u):
    return (x[i], x[:, i % 5], x[i, i % 5], jnp.take(x, i, 1, mode='clip'), jnp.take_along_axis(x, jnp.argsort(x, 1), 1),
            x.at[i].set(1.0), x.at[i].add(u), x.at[i, 0].add(2.0), x.at[:, i % 5].multiply(2.0), x.at[1:3, 2:4].set(9.0),
            lax.dynamic_slice(x, (k, 1), (2, 3)), lax.dynamic_slice(x, (k, k), (3, 2)), lax.dynamic_update_slice(x, x[:2, :2], (k, 1)),
            lax.dynamic_update_slice(x, x[:2], (k, 0)), lax.dynamic_index_in_dim(x, k, 1), x[k], x[k, k], jnp.take(x.reshape(-1), i),
            jax.vmap(lambda r, j: r[j])(x[:3], i), jax.nn.one_hot(i, 6), x[-1], x[..., -2:], jnp.searchsorted(jnp.sort(x[0]), u[0]),
            x.at[i].max(u), lax.gather(x, i[:, None], lax.GatherDimensionNumbers((1, 2), (), (0,)), (2, 3)))


def sorting(x, y):
    k, v = lax.sort((x, y), dimension=1, num_keys=1)
    return (jnp.sort(x), jnp.sort(x, 0), jnp.argsort(x), jnp.argsort(x, 0), lax.top_k(x, 3), -jnp.sort(-x), jnp.sort(x, descending=True),
            k, v, jnp.flip(jnp.argsort(x, 1), 1))


def control(x, k, t):
    def body(c, row):
        return c * 0.5 + row.sum(), c + 1
    return (lax.scan(body, jnp.float32(1), x), lax.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 1.1), (0, x)),
            lax.cond(k > 1, lambda x: x + 1, lambda x: x * 2, x), lax.switch(k, [lambda x: x, lambda x: x * 2, lambda x: x * 3, lambda x: x - 1], x),
            lax.fori_loop(0, 7, lambda i, a: a + i * x[0], x[1]), lax.map(lambda r: r * r.sum(), x),
            lax.while_loop(lambda s: s[1].sum() < t, lambda s: (s[0] + 1, s[1] + 0.25), (0, jnp.abs(x))),
            lax.scan(lambda c, r: (c + r, c), x[0], x, reverse=True), lax.associative_scan(jnp.add, x),
            lax.fori_loop(0, 3, lambda i, a: lax.cond(i > 1, lambda a: a * 2, lambda a: a + x[0, 0], a), x))


def randoms(x):
    k = jax.random.key(7)
    return jax.random.uniform(k, (3, 4)), jax.random.bits(k, (5,)), jax.random.split(jax.random.PRNGKey(1), 3), jax.random.permutation(jax.random.PRNGKey(3), 6), x * 2


def constants(x):
    big = np.arange(24, dtype=np.float32).reshape(4, 6) / 7
    return (x @ big, x[:, 0] + np.float32(np.inf), x[:, 1] * np.arange(3, dtype=np.float32), np.array([True, False, True] * 5) & (x[0, 0] > -9),
            jnp.asarray(np.array([1.5, -2.25], np.float16)).astype(jnp.float32) + x[0, 0], np.array([2**31 - 1, -2**31], np.int32) + (x[0, :2] > 9),
            jnp.ones((3,), jnp.bfloat16).astype(jnp.float32) * x[:, 2], np.linspace(0, 1, 1000, dtype=np.float32)[None] * x[:1, :1])


# -- networks -------------------------------------------------------------------

class MLP(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.gelu(nn.Dense(16)(x))
        x = nn.LayerNorm()(x)
        return nn.log_softmax(nn.Dense(5)(x))


class Block(nn.Module):
    width: int
    stride: int = 1

    @nn.compact
    def __call__(self, x):
        s = (self.stride, self.stride)
        y = nn.Conv(self.width, (3, 3), s, use_bias=False)(x)
        y = nn.relu(nn.BatchNorm(use_running_average=True)(y))
        y = nn.Conv(self.width, (3, 3), use_bias=False)(y)
        y = nn.BatchNorm(use_running_average=True)(y)
        if x.shape != y.shape:
            x = nn.Conv(self.width, (1, 1), s, use_bias=False, name='downsample')(x)
        return nn.relu(x + y)


class ResNet(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(8, (7, 7), (2, 2), use_bias=False)(x)
        x = nn.relu(nn.BatchNorm(use_running_average=True)(x))
        x = nn.max_pool(x, (3, 3), (2, 2), 'SAME')
        x = Block(8)(x)
        x = Block(16, 2)(x)
        return nn.Dense(10)(x.mean((1, 2)))


class Depthwise(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width, stride in ((8, 2), (16, 1)):
            c = x.shape[-1]
            x = nn.relu6(nn.Conv(c, (3, 3), (stride, stride), feature_group_count=c)(x))
            x = nn.swish(nn.GroupNorm(4)(nn.Conv(width, (1, 1))(x)))
        x = nn.ConvTranspose(4, (2, 2), (2, 2))(x)
        return nn.avg_pool(x, (2, 2), (2, 2))


class Transformer(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.LayerNorm()(x)
        y = nn.MultiHeadDotProductAttention(num_heads=2)(y, y, mask=nn.make_causal_mask(jnp.ones(x.shape[:2])))
        x = x + y
        y = nn.Dense(32)(nn.LayerNorm()(x))
        return x + nn.Dense(x.shape[-1])(nn.gelu(y))


class Language(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        emb = nn.Embed(20, 16)
        x = emb(tokens) + self.param('position', nn.initializers.normal(), (tokens.shape[1], 16))
        x = Transformer()(x)
        return emb.attend(nn.RMSNorm()(x))


class ViT(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(16, (4, 4), (4, 4))(x)
        x = x.reshape(x.shape[0], -1, 16)
        cls = self.param('cls', nn.initializers.zeros, (1, 1, 16))
        x = jnp.concatenate([jnp.tile(cls, (x.shape[0], 1, 1)), x], 1)
        x = x + self.param('pos', nn.initializers.normal(), (1, x.shape[1], 16))
        x = Transformer()(x)
        return nn.Dense(7)(nn.LayerNorm()(x)[:, 0])


class Mixer(nn.Module):
    @nn.compact
    def __call__(self, x):
        x = nn.Conv(12, (4, 4), (4, 4))(x)
        x = x.reshape(x.shape[0], -1, 12)
        y = nn.LayerNorm()(x).swapaxes(1, 2)
        y = nn.Dense(x.shape[1])(nn.gelu(nn.Dense(8)(y))).swapaxes(1, 2)
        x = x + y
        x = x + nn.Dense(12)(nn.gelu(nn.Dense(24)(nn.LayerNorm()(x))))
        return nn.Dense(5)(x.mean(1))


class LSTM(nn.Module):
    @nn.compact
    def __call__(self, x):
        y = nn.RNN(nn.LSTMCell(8))(x)
        y = nn.RNN(nn.GRUCell(6))(y)
        return nn.Dense(3)(y[:, -1])


class Scanned(nn.Module):
    """Layers with stacked weights, as large models are written."""
    @nn.compact
    def __call__(self, x):
        class Layer(nn.Module):
            @nn.compact
            def __call__(self, c, _):
                return nn.tanh(nn.Dense(c.shape[-1])(c)), None
        stack = nn.scan(Layer, variable_axes={'params': 0}, split_rngs={'params': True}, length=5)
        x, _ = stack()(x, None)
        return x


def network(name, model, x, loc=True):
    v = model.init(jax.random.key(1), x)
    # Not all zeros and ones: biases and statistics must matter.
    leaves, tree = jax.tree.flatten(v)
    leaves = [l + arr(*l.shape, lo=0.05, hi=0.3) for l in leaves]
    v = jax.tree.unflatten(tree, leaves)
    save(name, model.apply, v, x, params=v['params'], loc=loc)
    return model, v, x


def exported(name, model, v, x, spec):
    (b,) = export.symbolic_shape(spec)
    e = export.export(jax.jit(model.apply))(v, jax.ShapeDtypeStruct((b,) + x.shape[1:], x.dtype))
    save(name, model.apply, v, x, params=v['params'], text=str(e.mlir_module()))


def main():
    for f in os.listdir(OUT) if os.path.isdir(OUT) else []:
        if f.endswith(('.npz', '.csv')) or (f.endswith('.mlir') and not f.startswith('hand_')):
            os.unlink(os.path.join(OUT, f))
    x = arr(6, 4)
    save('elementwise', elementwise, arr(3, 5), arr(3, 5, lo=0.1))
    save('binary', binary, arr(3, 5), arr(3, 5), arr(3, 5, lo=0.1))
    save('integers', integers, ints(3, 4, lo=1), ints(3, 4, lo=1, hi=5), ints(5, hi=2**31 - 1, dtype=np.uint32))
    save('shapes', shapes, x, arr(6, 4))
    save('products', products, arr(4, 5), arr(5, 6), arr(2, 3, 2, 4), arr(2, 3, 2, 4), arr(5))
    save('convs', convs, arr(1, 8, 9, 4), arr(3, 3, 4, 6), arr(3, 3, 4, 5), arr(3, 3, 1, 8), arr(3, 4, 5), arr(2, 10, 4),
         arr(1, 4, 5, 6, 2), arr(2, 3, 2, 2, 3), arr(1, 3, 6, 7), arr(4, 3, 3, 3))
    save('conv_gradients', conv_gradients, arr(2, 6, 6, 3), arr(3, 3, 3, 4))
    save('reductions', reductions, arr(3, 4, 5))
    save('pools', pools, arr(1, 8, 9, 3))
    save('indexing', indexing, arr(6, 5), ints(3, hi=5), jnp.int32(2), arr(3, 5))
    save('sorting', sorting, arr(4, 7), arr(4, 7))
    save('control', control, arr(4, 3), jnp.int32(2), jnp.float32(30))
    save('randoms', randoms, arr(2, 2))
    save('constants', constants, arr(3, 4))
    mlp = network('mlp', MLP(), arr(4, 8))
    exported('mlp_exported', *mlp, 'batch')
    save('mlp_plain', mlp[0].apply, mlp[1], mlp[2], params=mlp[1]['params'])
    closed = lambda x: mlp[0].apply(mlp[1], x)
    save('mlp_constants', closed, mlp[2], params=mlp[1]['params'])
    network('resnet', ResNet(), arr(1, 32, 32, 3))
    network('depthwise', Depthwise(), arr(1, 12, 12, 4))
    network('transformer', Transformer(), arr(2, 6, 16))
    network('language', Language(), ints(2, 6, hi=20))
    network('vit', ViT(), arr(1, 16, 16, 3))
    network('mixer', Mixer(), arr(1, 16, 16, 3))
    network('lstm', LSTM(), arr(2, 5, 4))
    network('scanned', Scanned(), arr(3, 6))
    with open(os.path.join(OUT, 'truth.csv'), 'w') as o:
        w = csv.writer(o, lineterminator='\n')
        w.writerow(['name', 'params', 'macs'])
        w.writerows(ROWS)


if __name__ == '__main__':
    main()

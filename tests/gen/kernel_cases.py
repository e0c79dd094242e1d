#!/usr/bin/env python3
"""Writes tests/data/kernels.txt: operators with small inputs and what PyTorch
makes of them, one block each, in the form that tests/ops_case.h reads."""
import torch
import torch.nn.functional as F

torch.manual_seed(1)


def rnd(*shape):
    return (torch.randn(shape) * 100).round() / 100


def ints(high, *shape):
    return torch.randint(0, high, shape)


def text(t):
    if t is None:
        return "-"
    name = str(t.dtype).replace("torch.", "")
    dims = ",".join(str(d) for d in t.shape)
    flat = t.flatten().tolist()
    if t.is_floating_point():
        items = ["%.7g" % v for v in flat]
    else:
        items = [str(int(v)) for v in flat]
    return "%s[%s]{%s}" % (name, dims, ",".join(items))


def case(op, ins, outs):
    if isinstance(outs, torch.Tensor):
        outs = [outs]
    print(op)
    print("< " + " ".join(text(t) for t in ins))
    print("> " + " ".join(text(t) for t in outs))
    print()


x, y, z = rnd(2, 3, 4), rnd(2, 3, 4), rnd(2, 3, 4).abs() + 1
case("addcmul value=0.5", [x, y, z], torch.addcmul(x, y, z, value=0.5))
case("addcdiv value=0.5", [x, y, z], torch.addcdiv(x, y, z, value=0.5))
case("addcmul", [x, y[:1], z[:, :1]], torch.addcmul(x, y[:1], z[:, :1]))
case("lerp", [x, y, z], torch.lerp(x, y, z))
case("lerp value=0.25", [x, y], torch.lerp(x, y, 0.25))
m = rnd(3, 4) > 0
case("masked_fill value=-1.5", [x, m], x.masked_fill(m, -1.5))
case("glu axis=2", [x], F.glu(x, 2))
case("glu axis=0", [x], F.glu(x, 0))
case("softmin axis=1", [x], F.softmin(x, 1))
case("lp_norm axis=-1 p=2", [x], F.normalize(x, 2, -1))
case("lp_norm axis=1 p=1", [x], F.normalize(x, 1, 1))
a, b, c = rnd(3, 4), rnd(4, 2), rnd(2)
case("addmm alpha=2.0 beta=0.5", [c, a, b], torch.addmm(c, a, b, beta=0.5, alpha=2))
a, b, c = rnd(2, 3, 4), rnd(2, 4, 2), rnd(2, 3, 2)
case("baddbmm", [c, a, b], torch.baddbmm(c, a, b))
case("mv", [a[0], c.flatten()[:4]], torch.mv(a[0], c.flatten()[:4]))
case("dot", [c.flatten(), c.flatten()], torch.dot(c.flatten(), c.flatten()))
a, b = rnd(2, 3, 4), rnd(2, 2, 4)
case("cdist", [a, b], torch.cdist(a, b))
case("cdist", [a, b[:1]], torch.cdist(a, b[:1]))
case("cdist", [a[0], b[0]], torch.cdist(a[0], b[0]))
case("var axes=[1]", [x], x.var(1))
case("std axes=[0,2] keepdim=1", [x], x.std((0, 2), keepdim=True))
case("var", [x], x.var())
q = ints(3, 3, 4)
case("count_nonzero axes=[1]", [q], torch.count_nonzero(q, 1))
case("stack axis=0", [x[0], x[1]], torch.stack([x[0], x[1]]))
case("stack axis=-1", [x[0], x[1]], torch.stack([x[0], x[1]], -1))
p = rnd(1, 8, 2, 3)
case("pixel_shuffle block=2", [p], F.pixel_shuffle(p, 2))
case("pixel_shuffle block=2", [p[0]], F.pixel_shuffle(p[0], 2))
p = rnd(1, 2, 4, 6)
case("pixel_unshuffle block=2", [p], F.pixel_unshuffle(p, 2))
p = rnd(2, 6, 2, 2)
case("channel_shuffle groups=3", [p], torch.channel_shuffle(p, 3))
case("repeat_interleave repeats=2 axis=1", [x[0]], x[0].repeat_interleave(2, 1))
case("repeat_interleave repeats=[1,0,3] axis=0", [x[0]],
     x[0].repeat_interleave(torch.tensor([1, 0, 3]), 0))
case("repeat_interleave repeats=2", [x[0]], x[0].repeat_interleave(2))
u, v = rnd(3), rnd(4)
case("meshgrid", [u, v], torch.meshgrid(u, v, indexing="ij"))
case('meshgrid mode="xy"', [u, v], torch.meshgrid(u, v, indexing="xy"))
p = rnd(1, 2, 3, 4)
case("unfold kernel=[2,2] padding=[0,1] stride=[1,2]", [p],
     F.unfold(p, 2, padding=(0, 1), stride=(1, 2)))
i, j = ints(3, 2, 2), ints(4, 2)
k = ints(3, 5)
case("index", [x[0], k], x[0][k])
case("index", [x[0], i, j], x[0][i, j])
case("index", [x, None, i], x[:, i])
case("index", [x, j % 2, None, j], x[j % 2, :, j])
case("index", [x[0], m], x[0][m])
case("index", [x, None, torch.tensor([True, False, True])], x[:, [True, False, True]])
r = rnd(1, 1, 3, 4)
case('interpolate mode="nearest" size=[5,3]', [r], F.interpolate(r, (5, 3)))
case('interpolate mode="nearest-exact" size=[5,3]', [r],
     F.interpolate(r, (5, 3), mode="nearest-exact"))
for kind in ("bilinear", "bicubic"):
    case('interpolate mode="%s" size=[5,3]' % kind, [r],
         F.interpolate(r, (5, 3), mode=kind))
    case('interpolate mode="%s" size=[5,7] coordinates="align_corners"' % kind, [r],
         F.interpolate(r, (5, 7), mode=kind, align_corners=True))
    case('interpolate mode="%s" scales=[1.5,1.75]' % kind, [r],
         F.interpolate(r, scale_factor=(1.5, 1.75), mode=kind))
case('interpolate mode="linear" size=[7]', [r[0]], F.interpolate(r[0], 7, mode="linear"))
grid = rnd(1, 2, 3, 2) * 0.8
for kind in ("bilinear", "nearest", "bicubic"):
    for corners in (0, 1):
        case('grid_sample mode="%s" align_corners=%d' % (kind, corners), [r, grid],
             F.grid_sample(r, grid, mode=kind, align_corners=bool(corners)))
s = rnd(2, 3, 3)
case("det", [s], torch.det(s))
for eq, ops in (("ij,jk->ik", [rnd(2, 3), rnd(3, 4)]), ("bij,bjk", [rnd(2, 2, 3), rnd(2, 3, 2)]),
                ("ii->i", [rnd(3, 3)]), ("...ij->...ji", [rnd(2, 3, 2)]),
                ("i,j->ij", [rnd(3), rnd(2)]), ("bhqd,bhkd->bhqk", [rnd(1, 2, 2, 3), rnd(1, 2, 3, 3)])):
    case('einsum equation="%s"' % eq, ops, torch.einsum(eq, *ops))

p = rnd(1, 8, 6)
case("fold output_size=[3,4] kernel=[2,2]", [p], F.fold(p, (3, 4), 2))
p = rnd(1, 4, 6)
case("fold output_size=[4,4] kernel=[2,2] padding=[0,1] stride=[2,2]", [p],
     F.fold(p, (4, 4), 2, padding=(0, 1), stride=2))
case("masked_select", [x, m], x.masked_select(m))
case("diagonal", [x], x.diagonal())
case("diagonal offset=1 axes=[1,2]", [x], x.diagonal(1, 1, 2))
case("diagonal offset=-1 axes=[2,0]", [x], x.diagonal(-1, 2, 0))
case("bitwise_not", [q], torch.bitwise_not(q))
case("bitwise_not", [m], torch.bitwise_not(m))
pool = rnd(1, 2, 3, 3)
case("max_pool2d kernel=[2,2] stride=[1,1]", [pool],
     F.max_pool2d(pool, 2, 1, return_indices=True))
values, places = F.max_pool2d(pool, 2, 2, return_indices=True)
case("max_unpool kernel=[2,2] stride=[2,2] output_size=[3,3]", [values, places],
     F.max_unpool2d(values, places, 2, 2, output_size=(3, 3)))
for first in (False, True):
    mha = torch.nn.MultiheadAttention(4, 2, batch_first=first).eval()
    with torch.no_grad():
        for w in mha.parameters():
            w.copy_(rnd(*w.shape) * 0.5)
        s, t = rnd(2, 3, 4), rnd(2, 3, 4)
        blocked = rnd(3 if first else 2, 3 if first else 2) > 1
        ins = [s, t, t, mha.in_proj_weight, mha.in_proj_bias, mha.out_proj.weight,
               mha.out_proj.bias]
        op = "multi_head_attention heads=2" + (' layout="batch"' if first else "")
        case(op, ins, mha(s, t, t))
        blocked.fill_diagonal_(False)
        case(op, ins + [blocked], mha(s, t, t, attn_mask=blocked))


x, i, u = rnd(4, 5), torch.tensor([3, 0, 3]), rnd(3, 5)
case("index_add axis=0", [x, i, u], x.index_add(0, i, u))
case("index_add axis=1", [x, i, u.T[:4].contiguous()], x.index_add(1, i, u.T[:4]))
case("index_put", [x, i[:2], u[:2]], x.index_put((i[:2],), u[:2]))
case("index_put", [x, None, i[:2], u[0, :1]], torch.stack(
    [x[:, c] if c not in (3, 0) else u[0, :1].expand(4) for c in range(5)], 1))
case("index_put", [x, i, torch.tensor([1, 2, 4]), u[0, :3]],
     x.index_put((i, torch.tensor([1, 2, 4])), u[0, :3]))
hit = x > 0
case("index_put", [x, hit, torch.tensor(7.0)], x.index_put((hit,), torch.tensor(7.0)))
src = rnd(20)
case("masked_scatter", [x, hit, src], x.masked_scatter(hit, src))
case("select_scatter axis=1 index=2", [x, u[0, :4]], x.select_scatter(u[0, :4], 1, 2))
case("slice_scatter axis=0 start=1 step=2", [x, u[:2]], x.slice_scatter(u[:2], 0, 1, 4, 2))
t = torch.tensor([[0, 19], [7, 3]])
case("take", [x, t], x.take(t))
j = torch.tensor([[4, 0]])
case("take_along axis=1", [x, j], torch.take_along_dim(x, j, 1))
case("take_along axis=0", [x, torch.tensor([[3, 1, 1, 0, 2]])],
     torch.take_along_dim(x, torch.tensor([[3, 1, 1, 0, 2]]), 0))
case("take_along", [x, i], torch.take_along_dim(x, i))
table, bags = rnd(6, 3), ints(6, 2, 4)
for mode in ("sum", "mean", "max"):
    case('embedding_bag mode="%s"' % mode, [table, bags], F.embedding_bag(bags, table, mode=mode))
off, flat = torch.tensor([0, 3, 3]), bags.flatten()[:5]
case('embedding_bag mode="mean"', [table, flat, off], F.embedding_bag(flat, table, off, mode="mean"))
w = rnd(5)
case('embedding_bag mode="sum"', [table, flat, off, w],
     F.embedding_bag(flat, table, off, mode="sum", per_sample_weights=w))
v = rnd(3, 4)
v[1] = v[1, 0]
for axis in (0, 1):
    case("cummax axis=%d" % axis, [v], torch.cummax(v, axis))
    case("cummin axis=%d" % axis, [v], torch.cummin(v, axis))
    case("logcumsumexp axis=%d" % axis, [v], torch.logcumsumexp(v, axis))
    case("median axis=%d" % axis, [x], torch.median(x, axis))
    case("kthvalue axis=%d k=2" % axis, [x], torch.kthvalue(x, 2, axis))
case("median", [x], torch.median(x))
edges = torch.tensor([-1.0, 0.0, 0.5, 2.0])
at = torch.cat([edges, rnd(4)]).reshape(2, 4)
case("bucketize", [at, edges], torch.bucketize(at, edges))
p, q = rnd(2, 3), rnd(2, 4)
w, b = rnd(5, 3, 4), rnd(5)
case("bilinear", [p, q, w, b], F.bilinear(p, q, w, b))
case("bilinear", [p, q, w], F.bilinear(p, q, w))
s = rnd(1, 9)
case("sliding_window axis=1 size=4 step=2", [s], s.unfold(1, 4, 2))
case("sliding_window axis=0 size=2 step=1", [x], x.unfold(0, 2, 1))
for corners in (0, 1):
    t = rnd(2, 2, 3)
    case("affine_grid size=[2,1,3,4] align_corners=%d" % corners, [t],
         F.affine_grid(t, (2, 1, 3, 4), align_corners=bool(corners)))
    t = rnd(1, 3, 4)
    case("affine_grid size=[1,1,2,3,2] align_corners=%d" % corners, [t],
         F.affine_grid(t, (1, 1, 2, 3, 2), align_corners=bool(corners)))


def deform_conv(x, w, offset, bias, mask, stride, pad):
    """A convolution over samples: grid_sample picks each tap's plane."""
    n, c, h, wd = x.shape
    _, _, kh, kw = w.shape
    oh, ow = offset.shape[2:]
    sets = offset.shape[1] // (2 * kh * kw)
    off = offset.reshape(n, sets, kh * kw, 2, oh, ow)
    base_y = torch.arange(oh)[:, None] * stride - pad
    base_x = torch.arange(ow)[None, :] * stride - pad
    cols = torch.zeros(n, c, kh * kw, oh, ow)
    for s in range(sets):
        part = slice(s * c // sets, (s + 1) * c // sets)
        for t in range(kh * kw):
            py = base_y + t // kw + off[:, s, t, 0]
            px = base_x + t % kw + off[:, s, t, 1]
            grid = torch.stack([(2 * px + 1) / wd - 1, (2 * py + 1) / h - 1], -1)
            got = F.grid_sample(x[:, part], grid, align_corners=False, padding_mode="zeros")
            if mask is not None:
                got = got * mask.reshape(n, sets, kh * kw, oh, ow)[:, s, t][:, None]
            cols[:, part, t] = got
    g = c // w.shape[1]
    cols = cols.reshape(n, g, w.shape[1] * kh * kw, oh * ow)
    wt = w.reshape(g, w.shape[0] // g, -1)
    y = torch.einsum("gok,ngkl->ngol", wt, cols).reshape(n, w.shape[0], oh, ow)
    return y if bias is None else y + bias[None, :, None, None]


x, w = rnd(1, 4, 4, 4), rnd(2, 4, 2, 2)
o, b = rnd(1, 8, 3, 3), rnd(2)
case("deform_conv2d", [x, w, o, b], deform_conv(x, w, o, b, None, 1, 0))
w, o, m = rnd(2, 2, 2, 2), rnd(1, 16, 3, 3), rnd(1, 8, 3, 3)
case("deform_conv2d groups=2 stride=2 padding=1", [x, w, o, None, m],
     deform_conv(x, w, o, None, m, 2, 1))

q, k, v = rnd(2, 2, 3, 4), rnd(2, 2, 5, 4), rnd(2, 2, 5, 3)
for shape in ((3, 5), (2, 1, 1, 5), (1, 2, 3, 5), (2, 1, 3, 5), (2, 3, 5)):
    m = rnd(*shape) > -1
    m[..., 0] = True
    case("scaled_dot_product_attention", [q, k, v, m], F.scaled_dot_product_attention(q, k, v, attn_mask=m))
past_k, past_v = rnd(2, 2, 2, 4), rnd(2, 2, 2, 3)
all_k, all_v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
y = F.scaled_dot_product_attention(q, all_k, all_v)
m = rnd(3, 7)
with_mask = F.scaled_dot_product_attention(q, all_k, all_v, attn_mask=m)


def flat(t):
    return t.transpose(1, 2).flatten(2)


case("attention heads=2 kv_heads=2", [flat(q), flat(k), flat(v), m, past_k, past_v],
     [flat(with_mask), all_k, all_v])
q4 = rnd(2, 4, 3, 4)
case("attention heads=4 kv_heads=2", [flat(q4), flat(k), flat(v)],
     [flat(F.scaled_dot_product_attention(q4, k, v, enable_gqa=True))])

x = rnd(3, 4)
case("rrelu min=0.1 max=0.4", [x], F.rrelu(x, 0.1, 0.4))
case("rrelu", [x], F.rrelu(x))
case("fake_quantize scale=0.1 zero_point=3 min=0 max=15", [x],
     torch.fake_quantize_per_tensor_affine(x, 0.1, 3, 0, 15))
scales, zeros = rnd(4).abs() + 0.1, ints(7, 4).to(torch.int32)
case("fake_quantize axis=1 min=-8 max=7", [x, scales, zeros],
     torch.fake_quantize_per_channel_affine(x, scales, zeros, 1, -8, 7))
case("fake_quantize axis=0 min=-128 max=127", [x, scales[:3], zeros[:3]],
     torch.fake_quantize_per_channel_affine(x, scales[:3], zeros[:3], 0, -128, 127))

mha = torch.nn.MultiheadAttention(4, 2, batch_first=True).eval()
with torch.no_grad():
    for w in mha.parameters():
        w.copy_(rnd(*w.shape) * 0.5)
    s, mask = rnd(2, 3, 4), rnd(4, 3, 3)  # one mask per batch entry and head
    case('multi_head_attention heads=2 layout="batch"',
         [s, s, s, mha.in_proj_weight, mha.in_proj_bias, mha.out_proj.weight, mha.out_proj.bias, mask],
         mha(s, s, s, attn_mask=mask))

x, w, b = rnd(2, 5, 4), rnd(4, 1, 3, 3), rnd(4)  # without a batch
case("conv2d groups=2 padding=1 stride=2", [x, w, b],
     F.conv2d(x, w, b, stride=2, padding=1, groups=2))
w = rnd(2, 3, 2, 2)
case("conv_transpose2d stride=2", [x[:, :2], w], F.conv_transpose2d(x[:, :2], w, stride=2))

# Attributes left out mean what PyTorch means by leaving them out.
r = rnd(1, 3, 6, 6)
case("avg_pool2d kernel=3 padding=1", [r], F.avg_pool2d(r, 3, padding=1))
case("avg_pool2d kernel=3 stride=2 padding=1 count_include_pad=0", [r],
     F.avg_pool2d(r, 3, 2, 1, count_include_pad=False))
case("avg_pool2d kernel=4 stride=3 padding=1 ceil=1", [r], F.avg_pool2d(r, 4, 3, 1, True))
case("max_pool2d kernel=3 padding=1", [r], F.max_pool2d(r, 3, padding=1))
case("max_pool2d kernel=2", [r], list(F.max_pool2d(r, 2, return_indices=True)))
case("leaky_relu", [r], F.leaky_relu(r))
case("softplus", [r], F.softplus(r))
case("hardsigmoid", [r], F.hardsigmoid(r))
w, b, m, v = r[0, :, 0, 0], r[0, :, 0, 1], r[0, :, 0, 2], r[0, :, 0, 3].abs()
case("batch_norm", [r, w, b, m, v], F.batch_norm(r, m, v, w, b))
case("layer_norm", [r], F.layer_norm(r, (6,)))
case("softmax", [r], F.softmax(r, -1))
case("gelu", [r], F.gelu(r))
case("sort", [r], list(torch.sort(r)))
case("flatten", [r], torch.flatten(r))
case("scaled_dot_product_attention", [r, r, r], F.scaled_dot_product_attention(r, r, r))

# Slopes go along the channels, also where the last axis has as many.
x, w = rnd(2, 3, 3, 3), rnd(3)
case("prelu axis=1", [x, w], F.prelu(x, w))
case("prelu axis=1", [x[0], w], F.prelu(x[0], w))
case("prelu axis=1", [x[0, 0, 0], w[:1]], F.prelu(x[0, 0, 0], w[:1]))

# Bounds broadcast with what they bound.
low, high = rnd(3), rnd(2, 1)
case("clamp", [x[0, 0, 0, 0], low, high], torch.clamp(x[0, 0, 0, 0], low, high))
case("clamp", [x[:1, 0], low, None], torch.clamp(x[:1, 0], min=low))

# -- products in groups, histograms ---
x, w, ends = rnd(5, 4), rnd(3, 4, 2), torch.tensor([1, 1, 5], dtype=torch.int32)
case("grouped_matmul", [x, w, ends], torch.cat([x[:1] @ w[0], x[1:] @ w[2]]))
case("grouped_matmul", [w, x.T.contiguous()[:2], ends],
     torch.cat([w[0] @ x.T[:2, :1], w[2] @ x.T[:2, 1:]], 1))
case("grouped_matmul", [x.T.contiguous(), x, ends],
     torch.stack([x.T[:, :1] @ x[:1], torch.zeros(4, 4), x.T[:, 1:] @ x[1:]]))
case("grouped_matmul", [w, w.mT.contiguous()], w @ w.mT)
x = rnd(40)
case("histogram bins=5 min=-1.0 max=1.5", [x], torch.histc(x, 5, -1, 1.5))
case("histogram bins=7", [x], torch.histc(x, 7))
case("histogram bins=3", [x[:1]], torch.histc(x[:1], 3))

# An infinite weight meets the image alone, not the padding. (PyTorch's own way for
# one group makes NaN there; ONNX Runtime does not.)
x, w = torch.ones(4, 5, 5), torch.ones(4, 1, 3, 3)
w[0, 0, 1, 0] = float("inf")
case("conv2d padding=1 groups=4", [x, w], F.conv2d(x, w, padding=1, groups=4))

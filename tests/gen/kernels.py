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
    case('interpolate mode="%s" size=[5,7] align_corners=1' % kind, [r],
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

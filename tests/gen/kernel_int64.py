#!/usr/bin/env python3
"""Writes tests/data/kernels_int64.txt: operators on integers that no double
holds, and what PyTorch (int64) and NumPy (uint64, and where PyTorch has no such
operator) make of them, in the form that tests/ops_case.h reads. Where neither has an operator,
it is computed with exact fractions."""
import os
import sys
from fractions import Fraction

import numpy as np
import torch
import torch.nn.functional as F

sys.stdout = open(os.path.join(os.path.dirname(__file__), "..", "data", "kernels_int64.txt"), "w")


def text(t):
    if t is None:
        return "-"
    a = t.numpy() if isinstance(t, torch.Tensor) else np.asarray(t)
    items = [repr(float(v)) if a.dtype.kind == "f" else str(int(v)) for v in a.flatten()]
    return "%s[%s]{%s}" % (a.dtype.name, ",".join(map(str, a.shape)), ",".join(items))


def case(op, ins, outs):
    outs = outs if isinstance(outs, (list, tuple)) else [outs]
    print(op)
    print("< " + " ".join(text(t) for t in ins))
    print("> " + " ".join(text(t) for t in outs))
    print()


B = 2**53
LOW, HIGH = -(2**63), 2**63 - 1
x = torch.tensor([[B + 1, B + 3, -B - 1], [B, HIGH, LOW], [B + 2, -B - 3, 7]])
y = torch.tensor([[B, B + 3, -B], [B + 1, HIGH - 1, LOW + 1], [B + 1, -B - 4, -3]])
v = torch.tensor([B + 3, B + 1, B + 2, B + 1, -B - 1, -B])
i = torch.tensor([2, 0, 1, 0, 2])

# One number from two.
for name, fn in {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum,
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "floor_divide": torch.floor_divide, "remainder": torch.remainder, "fmod": torch.fmod,
    "bitwise_and": torch.bitwise_and, "bitwise_or": torch.bitwise_or, "bitwise_xor": torch.bitwise_xor,
}.items():
    case(name, [x, y], fn(x, y))
case("add value=%d" % (B + 1), [v], v + (B + 1))
case("lt value=%d" % (B + 2), [v], v < B + 2)
case("pow", [torch.tensor([3, -3, 2]), torch.tensor([39, 35, 62])], torch.tensor([3, -3, 2]) ** torch.tensor([39, 35, 62]))
case("shift_right", [x, torch.tensor([1, 3, 63])], x >> torch.tensor([1, 3, 63]))
case("shift_left", [x, torch.tensor([1, 3, 62])], x << torch.tensor([1, 3, 62]))
case("bitwise_not", [x], ~x)

# One from one.
for name, fn in {"neg": torch.neg, "abs": torch.abs, "sign": torch.sign, "square": torch.square, "relu": torch.relu,
                 "logical_not": torch.logical_not}.items():
    case(name, [x], fn(x))
case("clamp min=%d max=%d" % (-B - 1, B + 1), [v], v.clamp(-B - 1, B + 1))
case("clamp", [v, torch.tensor(-B - 1), torch.tensor(B + 1)], v.clamp(-B - 1, B + 1))
case("clamp max=%d" % (B + 2), [x], x.clamp(max=B + 2))

# Moved.
m = torch.tensor([True, False, True])
case("where", [m, x, y], torch.where(m, x, y))
case("masked_fill value=%d" % (B + 1), [x, m], x.masked_fill(m, B + 1))
padded = np.pad(x.numpy(), ((0, 1), (1, 0)), constant_values=B + 1)  # torch pads with a double
case("pad padding=[0,1,1,0] value=%d" % (B + 1), [x], padded)
case("pad", [x, torch.tensor([0, 1, 1, 0]), torch.tensor(B + 1)], padded)
case("full shape=[2] value=%d" % (B + 1), [], torch.full((2,), B + 1))
case("full_like value=%d" % (B + 1), [x], torch.full_like(x, B + 1))
case("range start=%d end=%d step=3" % (B + 1, B + 12), [], torch.arange(B + 1, B + 12, 3))
case("range", [torch.tensor(B + 5), torch.tensor(B - 2), torch.tensor(-3)], torch.arange(B + 5, B - 2, -3))
d = torch.arange(B + 1, B + 17).reshape(1, 4, 2, 2)
case("pixel_shuffle block=2", [d], F.pixel_shuffle(d, 2))
n, c, h, w = 1, 1, 2, 2
case("depth_to_space block=2", [d],
     d.reshape(n, 2, 2, c, h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c, 2 * h, 2 * w))
s = d.reshape(1, 1, 4, 4)
case("space_to_depth block=2", [s], s.reshape(1, 1, 2, 2, 2, 2).permute(0, 3, 5, 1, 2, 4).reshape(1, 4, 2, 2))
case("one_hot", [torch.tensor([1, 0]), torch.tensor(2), torch.tensor([-B - 1, B + 1])],
     torch.tensor([[-B - 1, B + 1], [B + 1, -B - 1]]))
case("reverse_sequence", [x, torch.tensor([2, 3, 1])], torch.stack(
    [torch.cat([x[:k, j].flip(0), x[k:, j]]) for j, k in enumerate([2, 3, 1])], 1))
case('interpolate mode="nearest" size=[4,6]', [d[:, :, :, :]],
     d.repeat_interleave(2, 2).repeat_interleave(3, 3))
case("tril", [x], x.tril())
case("unfold kernel=[2,2]", [s], F.unfold((s - B).double(), 2).long() + B)

# Along axes.
case("sum axes=[1]", [x], x.sum(1))
case("sum", [v], v.sum())
case("prod axes=[1]", [x], x.prod(1))
case("max axes=[1]", [x], x.amax(1))
case("min axes=[0]", [x], x.amin(0))
case("sum_square axes=[1]", [x], (x * x).sum(1))
case("norm p=1 axes=[0]", [v], v.abs().sum(0))
case("mean axes=[1]", [torch.tensor([[B + 1, B + 3], [-B - 1, -B - 3]])], torch.tensor([B + 2, -B - 2]))
case("argmax axis=0", [v], v.argmax(0))
case("argmin axis=1", [x], x.argmin(1))
case("cumsum axis=0", [v], v.cumsum(0))
case("cumprod axis=1", [x], x.cumprod(1))
case("cummax axis=0", [v], list(v.cummax(0)))
case("cummin axis=0", [v], list(v.cummin(0)))
case("sort", [v], list(v.sort(stable=True)))
case("argsort", [v], v.argsort(stable=True))
case("topk k=3", [v], [v[[0, 2, 1]], torch.tensor([0, 2, 1])])
case("kthvalue k=3", [v[[0, 1, 2, 4, 5]]], list(v[[0, 1, 2, 4, 5]].kthvalue(3)))
case("median axis=0", [v[[0, 1, 2, 4, 5]]], list(v[[0, 1, 2, 4, 5]].median(0)))
case("bucketize", [v, torch.tensor([-B - 1, B, B + 1, B + 2])], torch.bucketize(v, torch.tensor([-B - 1, B, B + 1, B + 2])))
pool, where = F.max_pool2d(torch.arange(16.0).reshape(1, 1, 4, 4), 2, return_indices=True)
case("max_pool2d kernel=[2,2] stride=[2,2]", [s], [s.flatten()[where], where])
big = s.flatten()[where]
case("max_unpool kernel=[2,2] stride=[2,2]", [big, where],
     torch.zeros(16, dtype=torch.int64).scatter(0, where.flatten(), big.flatten()).reshape(1, 1, 4, 4))

# Combined at indices.
u = torch.tensor([B + 1, -B - 1, 1, 3, B + 5])
base = torch.tensor([B + 2, B + 1, -B - 2])
for name, how in {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}.items():
    case('scatter_elements axis=0 reduction="%s"' % name, [base, i, u], base.scatter_reduce(0, i, u, how))
case("scatter_add axis=0", [base, i, u], base.scatter_add(0, i, u))
case('scatter_nd reduction="max"', [base, i[:3].reshape(3, 1), u[:3]], base.scatter_reduce(0, i[:3], u[:3], "amax"))
case("index_add axis=0", [base, i, u], base.index_add(0, i, u))
case("fold output_size=[2,2] kernel=[1,2] padding=[0,1]", [torch.arange(B + 1, B + 13).reshape(1, 2, 6)],
     torch.tensor([[[[2 * B + 9, 2 * B + 11], [2 * B + 15, 2 * B + 17]]]]))

# Products.
a, b = torch.tensor([[B + 1, 1], [1, 3]]), torch.tensor([[1, 3], [1, -1]])
case("matmul", [a, b], a @ b)
case("gemm trans_b=1", [a, b, base[:2]], a @ b.T + base[:2])
case("addmm alpha=2.0 beta=3.0", [base[:2], a, b], torch.addmm(base[:2], a, b, alpha=2, beta=3))
case('einsum equation="ij,jk->ki"', [a, b], torch.einsum("ij,jk->ki", a, b))
case("addcmul value=3", [a, b, b], torch.addcmul(a, b, b, value=3))
case("add_n", [a, b, b], a + b + b)
case("prelu", [x, torch.tensor([3])], torch.where(x < 0, 3 * x, x))

e = torch.tensor([[[B + 1, 3], [-5, 7]]])
case("bilinear", [a, b, e], F.bilinear(a, b, e))
image = torch.arange(B + 1, B + 33).reshape(1, 2, 4, 4)
kernel = torch.arange(-5, 11).reshape(2, 2, 2, 2)
case("conv2d", [image, kernel, base[:2]], F.conv2d(image, kernel, base[:2]))
case("conv2d stride=[2,1] padding=[1,0] dilation=[1,2] groups=2", [image, kernel[:, :1]],
     F.conv2d(image, kernel[:, :1], stride=(2, 1), padding=(1, 0), dilation=(1, 2), groups=2))
case("conv1d padding=[1]", [image.reshape(1, 2, 16), kernel[:, :, 0]],
     F.conv1d(image.reshape(1, 2, 16), kernel[:, :, 0], padding=1))
case("conv3d", [image.reshape(1, 2, 2, 2, 4), kernel.reshape(1, 2, 2, 2, 2)],
     F.conv3d(image.reshape(1, 2, 2, 2, 4), kernel.reshape(1, 2, 2, 2, 2)))
case("conv_transpose2d stride=[2,2]", [image, kernel, base[:2]], F.conv_transpose2d(image, kernel, base[:2], stride=2))
case("avg_pool2d kernel=[2,2] stride=[2,2]", [image], F.avg_pool2d(image, 2))
case("avg_pool2d kernel=[3,3] stride=[1,1] padding=[1,1] count_include_pad=0", [-image],
     F.avg_pool2d(-image, 3, 1, 1, count_include_pad=False))
case("avg_pool2d kernel=[3,3] stride=[1,1] padding=[1,1] count_include_pad=1", [-image], F.avg_pool2d(-image, 3, 1, 1))
case("threshold threshold=5.0 value=-1.0", [x], F.threshold(x, 5, -1))
case("hardtanh min=-%d.0 max=%d.0" % (2**60, 2**60), [x], F.hardtanh(x, -(2**60), 2**60))


# What neither PyTorch nor NumPy has for these types: by exact fractions.
def cut(fraction):
    return fraction.numerator // fraction.denominator if fraction >= 0 else -(-fraction.numerator // fraction.denominator)


def means(rows):
    return [cut(Fraction(sum(r), len(r))) for r in rows]


def between(row, size):
    """Linear interpolation at half pixels; places and weights as doubles have them."""
    found = []
    for j in range(size):
        at = (j + 0.5) / (size / len(row)) - 0.5
        low = int(np.floor(at))
        w = Fraction(at) - low
        pick = [row[min(max(k, 0), len(row) - 1)] for k in (low, low + 1)]
        found.append(cut(pick[0] * (1 - w) + pick[1] * w))
    return found


case("adaptive_avg_pool1d output_size=[3]", [v.reshape(1, 1, 6)],
     torch.tensor(means([v.tolist()[k:k + 2] for k in (0, 2, 4)])).reshape(1, 1, 3))
case("mean_n", [v, v.flip(0), v.roll(1)], torch.tensor(means(zip(v.tolist(), v.flip(0).tolist(), v.roll(1).tolist()))))
near = torch.tensor([B + 1, B + 4, B + 2, B + 9])
for line in near, -near:
    case('interpolate mode="linear" size=[7]', [line.reshape(1, 1, 4)],
         torch.tensor(between(line.tolist(), 7)).reshape(1, 1, 7))

# Unsigned, above 2^63.
p = np.array([2**63 + 1, 2**64 - 1, 5, 2**63], dtype=np.uint64)
q = np.array([2**63 + 2, 3, 2**64 - 1, 2**63], dtype=np.uint64)
for name, fn in {
    "maximum": np.maximum, "minimum": np.minimum, "lt": np.less, "le": np.less_equal, "gt": np.greater,
    "ge": np.greater_equal, "eq": np.equal, "floor_divide": np.floor_divide, "remainder": np.remainder,
    "fmod": np.fmod,
}.items():
    case(name, [p, q], fn(p, q))
three = np.array([3], dtype=np.uint64)
case("shift_right", [p, three], p >> three)
case("abs", [p], np.abs(p))
case("sign", [p], np.sign(p))
case("relu", [p], p)
case("clamp", [p, np.uint64(2**63), np.uint64(2**63 + 1)], np.clip(p, np.uint64(2**63), np.uint64(2**63 + 1)))
case("max axes=[0]", [p], p.max())
case("min axes=[0]", [p], p.min())
case("argmax axis=0", [p], np.array(p.argmax()))
case("sort", [p], [np.sort(p), np.argsort(p)])
case("where", [np.array([True, False, True, False]), p, q], np.where([True, False, True, False], p, q))
case('cast dtype="float64"', [p], p.astype(np.float64))
case('cast dtype="uint64"', [np.array([-1, B + 1])], np.array([-1, B + 1]).astype(np.uint64))
case('cast dtype="int64"', [p], p.astype(np.int64))

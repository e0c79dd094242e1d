#!/usr/bin/env python3
"""Writes tests/data/count_ops.csv: single operators as other tools count them.

    tests/gen/count_ops.py > tests/data/count_ops.csv

A case is an operator of cleave with its attributes (key=value;key=1,2) and input
shapes, and the same as a PyTorch module or function, which fvcore,
FlopCounterMode and ultralytics-thop then count. An empty cell: that tool has no
answer here (it stops, or PyTorch takes it apart). fvcore's kind is empty where it
counts nothing.
"""
import csv
import logging
import sys
import warnings

import torch
from fvcore.nn import FlopCountAnalysis
from thop import profile
from torch import nn
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)


class Call(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def einsum(equation):
    return Call(lambda *x: torch.einsum(equation, *x))


# operator, attributes, input shapes (weights too; "-": absent), module
CASES = [
    ("conv1d", "stride=2;padding=1", "2x4x9 6x4x3 6", nn.Conv1d(4, 6, 3, 2, 1)),
    ("conv2d", "groups=2", "2x4x9x8 6x2x3x3 6", nn.Conv2d(4, 6, 3, groups=2)),
    ("conv3d", "padding=1", "1x2x5x6x7 3x2x3x3x3",
     nn.Conv3d(2, 3, 3, padding=1, bias=False)),
    ("conv_transpose1d", "stride=2", "2x4x9 4x6x3 6",
     nn.ConvTranspose1d(4, 6, 3, 2)),
    ("conv_transpose2d", "stride=2;groups=2", "2x4x5x6 4x3x3x3 6",
     nn.ConvTranspose2d(4, 6, 3, 2, groups=2)),
    ("conv_transpose3d", "", "1x2x3x4x5 2x3x2x2x2 3",
     nn.ConvTranspose3d(2, 3, 2)),
    ("linear", "", "3x4x5 6x5 6", nn.Linear(5, 6)),
    ("linear", "", "4x5 6x5", nn.Linear(5, 6, bias=False)),
    ("matmul", "", "4x5 5x6", Call(torch.matmul)),
    ("matmul", "", "2x3x4x5 2x3x5x6", Call(torch.matmul)),
    ("matmul", "", "2x3x4x5 5x6", Call(torch.matmul)),
    ("matmul", "", "4x5 2x3x5x6", Call(torch.matmul)),
    ("bmm", "", "3x4x5 3x5x6", Call(torch.bmm)),
    ("addmm", "", "6 4x5 5x6", Call(torch.addmm)),
    ("baddbmm", "", "3x4x6 3x4x5 3x5x6", Call(torch.baddbmm)),
    ("mv", "", "4x5 5", Call(torch.mv)),
    ("bilinear", "", "3x4 3x5 6x4x5 6", nn.Bilinear(4, 5, 6)),
    ("einsum", "equation=abc,abd->acd", "2x3x4 2x3x5",
     einsum("abc,abd->acd")),
    ("einsum", "equation=xyz,xwz->xwy", "2x3x4 2x5x4",
     einsum("xyz,xwz->xwy")),
    ("einsum", "equation=ij,jk->ik", "30x40 40x50", einsum("ij,jk->ik")),
    ("einsum", "equation=ij,jk->ik", "123x457 457x89", einsum("ij,jk->ik")),
    ("einsum", "equation=bhid,bhjd->bhij", "2x3x17x8 2x3x19x8",
     einsum("bhid,bhjd->bhij")),
    ("einsum", "equation=ij,ij->ij", "7x9 7x9", einsum("ij,ij->ij")),
    ("einsum", "equation=ij->i", "7x9", einsum("ij->i")),
    ("einsum", "equation=i,j->ij", "7 9", einsum("i,j->ij")),
    ("einsum", "equation=ij,jk->i", "7x9 9x4", einsum("ij,jk->i")),
    ("einsum", "equation=...ij,...jk->...ik", "2x3x4x5 2x3x5x6",
     einsum("...ij,...jk->...ik")),
    ("einsum", "equation=ij,jk", "7x9 9x4", einsum("ij,jk")),
    ("einsum", "equation=ij,jk,kl->il", "8x90 90x7 7x60",
     einsum("ij,jk,kl->il")),
    ("einsum", "equation=ij,jk,kl,lm->im", "10x20 20x30 30x5 5x40",
     einsum("ij,jk,kl,lm->im")),
    ("einsum", "equation=i,j,k->ijk", "5 6 7", einsum("i,j,k->ijk")),
    ("einsum", "equation=ai,bi,ci->abc", "6x3 7x3 8x3",
     einsum("ai,bi,ci->abc")),
    ("einsum", "equation=ab,cd,ef->", "4x5 6x7 8x9", einsum("ab,cd,ef->")),
    ("scaled_dot_product_attention", "", "2x3x7x8 2x3x9x8 2x3x9x4",
     Call(F.scaled_dot_product_attention)),
    ("multi_head_attention", "heads=2;layout=batch",
     "3x5x8 3x5x8 3x5x8 24x8 24 8x8 8", nn.MultiheadAttention(
         8, 2, batch_first=True)),
    ("multi_head_attention", "heads=4", "5x3x8 6x3x8 6x3x8 24x8 24 8x8 8",
     nn.MultiheadAttention(8, 4)),
    ("batch_norm", "", "2x6x5 6 6 6 6", nn.BatchNorm1d(6)),
    ("batch_norm", "", "2x6x5x4 - - 6 6", nn.BatchNorm2d(6, affine=False)),
    ("layer_norm", "axis=-1", "2x5x6 6 6", nn.LayerNorm(6)),
    ("layer_norm", "axis=-1", "2x5x6",
     nn.LayerNorm(6, elementwise_affine=False)),
    ("group_norm", "groups=3", "2x6x5x4 6 6", nn.GroupNorm(3, 6)),
    ("group_norm", "groups=2", "2x6x5", nn.GroupNorm(2, 6, affine=False)),
    ("instance_norm", "", "2x6x5x4", nn.InstanceNorm2d(6)),
    ("instance_norm", "", "2x6x5x4 6 6", nn.InstanceNorm2d(6, affine=True)),
    ("rms_norm", "axis=-1", "2x5x6 6", nn.RMSNorm(6)),
    ("adaptive_avg_pool1d", "output_size=3", "2x4x8", nn.AdaptiveAvgPool1d(3)),
    ("adaptive_avg_pool2d", "output_size=3,2", "2x4x8x7",
     nn.AdaptiveAvgPool2d((3, 2))),
    ("adaptive_avg_pool3d", "output_size=2", "1x2x5x6x7",
     nn.AdaptiveAvgPool3d(2)),
    ("avg_pool1d", "kernel=3;stride=2;padding=1", "2x4x9",
     nn.AvgPool1d(3, 2, 1)),
    ("avg_pool2d", "kernel=3;stride=2;padding=1;count_include_pad=0",
     "2x4x9x8", nn.AvgPool2d(3, 2, 1, count_include_pad=False)),
    ("avg_pool2d", "kernel=3;stride=2;ceil=1", "1x2x8x8",
     nn.AvgPool2d(3, 2, ceil_mode=True)),
    ("avg_pool3d", "kernel=2,3,3;stride=1", "1x2x5x6x7",
     nn.AvgPool3d((2, 3, 3), 1)),
    ("max_pool2d", "kernel=2", "1x2x8x8", nn.MaxPool2d(2)),
    ("interpolate", "mode=nearest;size=8,10", "1x2x4x5",
     nn.Upsample((8, 10))),
    ("interpolate", "mode=bilinear;size=8,10", "1x2x4x5",
     nn.Upsample((8, 10), mode="bilinear")),
    ("interpolate", "mode=bicubic;size=8,10", "1x2x4x5",
     nn.Upsample((8, 10), mode="bicubic")),
    ("interpolate", "mode=linear;size=9", "1x2x4",
     nn.Upsample(9, mode="linear")),
    ("interpolate", "mode=nearest;size=9", "1x2x4", nn.Upsample(9)),
    ("interpolate", "mode=trilinear;size=4,5,6", "1x2x2x3x4",
     nn.Upsample((4, 5, 6), mode="trilinear")),
    ("grid_sample", "mode=bilinear", "1x2x4x5 1x6x7x2", Call(F.grid_sample)),
    ("softmax", "axis=1", "3x4x5", nn.Softmax(1)),
    ("log_softmax", "axis=-1", "3x4x5", nn.LogSoftmax(-1)),
    ("softmin", "axis=0", "3x4", nn.Softmin(0)),
    ("prelu", "", "2x3x4 1", nn.PReLU()),
    ("relu", "", "2x3", nn.ReLU()),
    ("relu6", "", "2x3", nn.ReLU6()),
    ("gelu", "", "2x3", nn.GELU()),
    ("embedding", "", "7x3 4i", nn.Embedding(7, 3)),
    ("lstm", "hidden=7", "3x2x5 28x5 28x7 28 28", nn.LSTM(5, 7)),
    ("lstm", "hidden=7;layers=2;bidirectional=1;bias=0", "3x2x5",
     nn.LSTM(5, 7, 2, bias=False, bidirectional=True)),
    ("lstm", "hidden=7;proj=4;layers=2", "3x2x5", nn.LSTM(5, 7, 2, proj_size=4)),
    ("gru", "hidden=7;layers=2", "3x2x5", nn.GRU(5, 7, 2)),
    ("gru", "hidden=7;bidirectional=1;layout=batch", "3x2x5",
     nn.GRU(5, 7, bidirectional=True, batch_first=True)),
    ("rnn", "hidden=7;layers=3", "3x2x5", nn.RNN(5, 7, 3)),
    ("add", "", "2x3 2x3", Call(torch.add)),
]


def inputs_of(op, shapes, module):
    """The tensors to call with: a module has its weights already."""
    named = shapes.split()
    if op == "embedding":
        return (torch.zeros(4, dtype=torch.long),)
    if not isinstance(module, Call):
        live = 3 if op == "multi_head_attention" else 2 if op == "bilinear" else 1
        named = named[:live]
    return tuple(torch.rand([int(n) for n in s.split("x")]) for s in named)


def fvcore_count(module, inputs):
    try:
        analysis = FlopCountAnalysis(module, inputs)
        kinds = {k: v for k, v in analysis.by_operator().items()}
    except Exception:
        return "", ""
    if len(kinds) > 1:
        return "", ""      # taken apart: more than one operator
    return (*kinds.keys(), "")[0], int(sum(kinds.values()))


def torch_count(module, inputs):
    with FlopCounterMode(display=False) as counter:
        module(*inputs)
    return counter.get_total_flops()


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["op", "attrs", "inputs", "fvcore_kind", "fvcore", "torch",
                  "thop"])
    for op, attrs, shapes, module in CASES:
        module.eval()
        inputs = inputs_of(op, shapes, module)
        with sdpa_kernel(SDPBackend.MATH):
            out.writerow([op, attrs, shapes, *fvcore_count(module, inputs),
                          torch_count(module, inputs),
                          int(profile(module, inputs, verbose=False)[0])])


if __name__ == "__main__":
    main()

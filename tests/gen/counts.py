#!/usr/bin/env python3
"""Writes tests/data/counts.csv: what other tools count for torchvision's models.

    tests/gen/counts.py > tests/data/counts.csv

One line per model of tests/data/fvcore_torchvision.csv, at its input: the total
of torch.utils.flop_counter.FlopCounterMode, of ultralytics-thop, and the
operators that fvcore has no rule for, each with how often it occurs (in-place
operators by their plain name; models over 5 GMACs are left out, for time).
Evaluation mode; attention by its math path: the CPU kernel for fused attention
is one that FlopCounterMode does not know, so it would count nothing there.

Models are given as arguments to look at some only.
"""
import collections
import csv
import json
import logging
import pathlib
import sys
import warnings

from tv import torch, torchvision
from fvcore.nn import FlopCountAnalysis
from thop import profile
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
DATA = pathlib.Path(__file__).parent.parent / "data"
for filler in vars(torch.nn.init).copy():
    if filler.endswith("_") and not filler.startswith("_"):
        setattr(torch.nn.init, filler, lambda tensor, *_, **__: tensor)


def build(name):
    options = {}
    if name.startswith(("fcn", "deeplabv3", "lraspp")):
        options["weights_backbone"] = None
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    return torchvision.models.get_model(name, weights=None, **options).eval()


def torch_count(model, x):
    with FlopCounterMode(display=False) as counter:
        model(x)
    return counter.get_total_flops()


def thop_count(model, x):
    return int(profile(model, inputs=(x,), verbose=False)[0])


def fvcore_unsupported(name, shape):
    """fvcore traces, which needs real tensors."""
    found = collections.Counter()
    analysis = FlopCountAnalysis(build(name), torch.zeros(shape))
    analysis.total()
    for op, n in analysis.unsupported_ops().items():
        found[op.removeprefix("aten::").rstrip("_")] += n
    return json.dumps(dict(sorted(found.items())))


def main(only):
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["model", "input", "torch", "thop", "fvcore_unsupported"])
    for row in csv.DictReader(open(DATA / "fvcore_torchvision.csv")):
        if only and row["model"] not in only:
            continue
        model = build(row["model"]).to("meta")
        shape = [int(n) for n in row["input"].split("x")]
        x = torch.empty(shape, device="meta")
        small = int(row["macs_conv_matmul"]) < 5e9
        with sdpa_kernel(SDPBackend.MATH), torch.no_grad():
            out.writerow([
                row["model"], row["input"], torch_count(model, x),
                thop_count(model, x),
                fvcore_unsupported(row["model"], shape) if small else ""])
        sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])

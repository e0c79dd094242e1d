"""rtdetr.py - checkpoints of RT-DETR against the live networks of ultralytics.

    $(tools/pyenv --gen) tests/gen/rtdetr.py [--side 320]

Each network gets random weights, none of them zero, is saved by torch.save and
read by the command. Parameters are sum(p.numel()), multiplications half of what
FlopCounterMode counts; predictions must be those of torch within 1e-4. Scores
that are equal may come in another order, so rows are compared as a set and those
that moved are counted. Exits 1 when anything differs.
"""
import argparse
import glob
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

from tv import torch
from torch.utils.flop_counter import FlopCounterMode
from ultralytics.nn.tasks import RTDETRDetectionModel

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("CLEAVE", str(ROOT / "build" / "cli" / "cleave"))
NETWORKS = [("rtdetr-l", False), ("rtdetr-l", True), ("rtdetr-x", False),
            ("rtdetr-resnet50", False), ("rtdetr-resnet101", False)]


def make(name, fused):
    torch.manual_seed(3)
    model = RTDETRDetectionModel(name + ".yaml", verbose=False).eval()
    with torch.no_grad():
        for p in model.model[-1].parameters():
            p.add_(torch.randn_like(p) * 0.02)
    return model.fuse(verbose=False) if fused else model


def compare(name, fused, side, folder):
    model, path = make(name, fused), os.path.join(folder, "model.pt")
    torch.save({"model": model, "epoch": -1}, path)
    x = torch.rand(1, 3, side, side)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        want = model(x)[0].numpy()[0]
    np.save(os.path.join(folder, "x.npy"), x.numpy())
    common = [path, "--input-shape", f"1,3,{side},{side}"]
    got = json.loads(subprocess.check_output([COMMAND, "profile", *common, "--json"]))
    out = tempfile.mkdtemp(dir=folder)
    subprocess.run([COMMAND, "run", *common, "--input", os.path.join(folder, "x.npy"), "--output", out, "--quiet"],
                   check=True, stdout=subprocess.DEVNULL)
    run = np.load(glob.glob(out + "/*.npy")[0])[0]
    counts = (sum(p.numel() for p in model.parameters()), counter.get_total_flops() // 2)
    same = counts == (got["total_params"], got["total_macs"]) and not got["coverage"]["unknown"]
    alone = int((np.abs(run[:, None] - want[None]).max(-1).min(1) > 1e-4).sum())
    moved = int((np.abs(run - want).max(1) > 1e-4).sum())
    print(f"{name}{' fused' if fused else ''}: {counts[0]} parameters, {counts[1]} MACs, "
          f"{'the same' if same else 'NOT THE SAME'}; {alone} of {len(run)} predictions differ, {moved} moved; "
          f"scores within {np.abs(run[:, 4] - want[:, 4]).max():.1e}", flush=True)
    return same and not alone


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--side", type=int, default=320)
    side = parser.parse_args().side
    with tempfile.TemporaryDirectory() as folder:
        return 0 if all([compare(*n, side, folder) for n in NETWORKS]) else 1


if __name__ == "__main__":
    sys.exit(main())

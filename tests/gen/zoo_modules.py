#!/usr/bin/env python3
"""Writes tests/data/zoo_modules.csv: the modules of timm's networks that compute.

    tests/gen/zoo_modules.py [--cleave PATH] [--paths NAME] > zoo_modules.csv

For each name of timm in `cleave models`: how many modules compute when the live
network runs once on the meta device, and the FNV-1a (64 bits) of their sorted
lines "path\\n". A module computes when an operator runs in it, or below it, that
does more than move numbers. --paths prints the lines behind a hash.
"""
import argparse
import json
import subprocess
import sys

import zoo_truth
from zoo_truth import torch
from torch.utils._python_dispatch import TorchDispatchMode

MOVES = set("""
_to_copy _unsafe_view alias arange as_strided cat clone constant_pad_nd copy_
detach empty expand full index lift_fresh permute repeat reshape select slice
split split_with_sizes squeeze stack t transpose unbind unsqueeze
upsample_nearest2d view zeros
""".split())


class Watch(TorchDispatchMode):
    """The paths of all modules that compute."""

    def __init__(self, model):
        super().__init__()
        self.names = {id(m): n for n, m in model.named_modules()}
        self.inside, self.paths = [], set()
        for module in model.modules():
            module.register_forward_pre_hook(self.enter)
            module.register_forward_hook(self.leave)

    def enter(self, module, _):
        self.inside.append(self.names[id(module)])

    def leave(self, *_):
        self.inside.pop()

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket.__name__ not in MOVES:
            parts = self.inside[-1].split(".") if self.inside else []
            self.paths |= {".".join(parts[:i + 1]) for i in range(len(parts))}
        return func(*args, **(kwargs or {}))


def computing(name, inputs):
    model, args = zoo_truth.timm(name, inputs)
    model.eval().requires_grad_(False)
    with torch.device("meta"), torch.no_grad(), Watch(model) as watch:
        model(*args)
    return sorted(p + "\n" for p in watch.paths - {""})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave",
                        default=zoo_truth.ROOT / "build/cli/cleave")
    parser.add_argument("--paths", metavar="NAME")
    options = parser.parse_args()
    if options.paths:
        sys.stdout.writelines(computing(
            options.paths, zoo_truth.inputs(options.cleave, options.paths)))
        return
    print("name,modules,hash")
    for m in json.loads(subprocess.check_output(
            [options.cleave, "models", "--json"]))["models"]:
        if m["source"] == "timm":
            lines = computing(m["name"],
                              zoo_truth.inputs(options.cleave, m["name"]))
            print(f"{m['name']},{len(lines)},{zoo_truth.fnv1a(lines):016x}",
                  flush=True)


if __name__ == "__main__":
    main()

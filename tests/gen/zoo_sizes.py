#!/usr/bin/env python3
"""Writes tests/data/zoo_sizes.csv: which sizes the live models take.

    tests/gen/zoo_sizes.py [--cleave PATH] [--draws N] [NAME...] > zoo_sizes.csv

Without names, one network of each family and number of operators. Sizes of the
first input are drawn (from a seed): small ones, some near the default, some that
no stride divides. Each row is a name, the shape, parameters and MACs of the live
model there (half of what FlopCounterMode counts), or "refused" where it raises.
Rows are what `cleave profile NAME --input-shape ...` is compared with. The file
holds eight draws for each family and four for every name, sorted.
"""
import argparse
import csv
import json
import pathlib
import random
import subprocess
import sys

import zoo_truth
from tv import torch
from torch.utils.flop_counter import FlopCounterMode

ROOT = pathlib.Path(__file__).resolve().parents[2]


def draw(rng, n, most):
    """A size near n, or a small one."""
    way = rng.randrange(6)
    if way == 0:
        return rng.randint(1, 16)
    if way == 1:
        return rng.randint(8, min(most, 80))
    if way == 2:
        return min(most, 32 * rng.randint(1, 6))
    if way == 3:
        return min(most, 32 * rng.randint(1, 6) + rng.choice((-1, 1, 16)))
    if way == 4:
        return min(most, n)
    return rng.randint(16, min(most, 200))


def shape(rng, inputs):
    """The first input with other sizes; its batch and channels stay."""
    own = list(inputs[0]["shape"])
    most = 1200 if len(own) == 2 else 260
    if len(own) == 2:
        return own[:1] + [draw(rng, own[1], most)]
    if len(own) == 3:  # bands stay
        at = own.index(max(own))
        return own[:at] + [draw(rng, own[at], most)] + own[at + 1:]
    if len(own) == 5:
        return own[:2] + [rng.choice((1, 2, 3, 7, 8, 16))] + 2 * [
            draw(rng, own[3], 160)]
    if rng.randrange(3):
        side = draw(rng, own[-1], most)
        return own[:-2] + [side, side]
    return own[:-2] + [draw(rng, n, most) for n in own[-2:]]


def ask(model, args):
    """MACs, "refused", or None where meta tensors cannot tell."""
    counter = FlopCounterMode(display=False)
    try:
        with torch.device("meta"), counter, torch.no_grad():
            model(**args) if isinstance(args, dict) else model(*args)
    except NotImplementedError:
        return None
    except Exception as e:
        return None if "meta" in str(e).lower() else "refused"
    return counter.get_total_flops() // 2


def built(m, inputs, dims):
    """torchvision's ViT is built for one size of image, the others for all."""
    if m["source"] == "torchvision" and m["family"] == "vit":
        from tv import torchvision
        if dims[2] != dims[3]:
            return None, None
        try:
            model = torchvision.models.get_model(m["name"], image_size=dims[2])
        except Exception:
            return None, None
        return model.to("meta"), zoo_truth.images(inputs)
    return zoo_truth.HOMES[m["source"]](m["name"], inputs)


def resized(args, shape):
    """The arguments with the first of another shape."""
    if isinstance(args, dict):
        first = next(iter(args))
        made = {**args, first: torch.zeros(shape, device="meta",
                                           dtype=args[first].dtype)}
        if shape[1:] == list(args[first].shape[1:]):
            return made
        return {k: v if k == first or "mask" not in k else
                torch.zeros(shape, device="meta", dtype=v.dtype)
                for k, v in made.items()}
    return tuple(torch.zeros(shape, device="meta") for _ in args)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", default=ROOT / "build/cli/cleave")
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    listed = json.loads(subprocess.check_output(
        [options.cleave, "models", "--json"]))["models"]
    chosen = {}
    for m in sorted(listed, key=lambda m: m["macs"]):
        chosen.setdefault((m["family"], m["task"], len(m["input_shape"])), m)
    wanted = [m for m in listed if m["name"] in options.names] or [
        m for m in listed if m in chosen.values()]
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["name", "input", "params", "macs"])
    for m in wanted:
        inputs = zoo_truth.inputs(options.cleave, m["name"])
        model, args = built(m, inputs, inputs[0]["shape"])
        model.eval().requires_grad_(False)
        rng = random.Random(m["name"])
        for _ in range(options.draws):
            dims = shape(rng, inputs)
            own = model
            if m["family"] == "vit":
                own = built(m, inputs, dims)[0]
            macs = ask(own.eval(), resized(args, dims)) if own else "refused"
            params = sum(p.numel() for p in own.parameters()) if own else 0
            if macs is not None:
                out.writerow([m["name"], "x".join(map(str, dims)), params, macs])
        sys.stdout.flush()


if __name__ == "__main__":
    main()

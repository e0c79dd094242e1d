#!/usr/bin/env python3
"""Writes tests/data/modules.txt: the module and weight names of torchvision, of
diffusers and of what zoo_written.py holds.

    tests/gen/modules.py > tests/data/modules.txt

One line per model (images, video, segmentation, then the others): its name; how many leaf
modules it has, and the FNV-1a (64 bits) of their sorted lines "path params\\n";
how many weights, and the same of their lines "name 64x3x7x7\\n". Weights are the
state dict, without the counters that batch norms keep while training. With a
model's name as argument the lines themselves are printed, to see where a
difference comes from.

An empty Sequential is no module of its own: nothing runs in it.
"""
import sys
import warnings

import zoo_written
from tv import torch, torchvision

warnings.filterwarnings("ignore")
for filler in vars(torch.nn.init).copy():
    if filler.endswith("_") and not filler.startswith("_"):
        setattr(torch.nn.init, filler, lambda tensor, *_, **__: tensor)


def fnv1a(lines):
    h = 0xCBF29CE484222325
    for byte in "".join(sorted(lines)).encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def build(name):
    if name in zoo_written.NAMES:
        return zoo_written.build(name)
    options = {"aux_logits": False} if name == "googlenet" else {}
    if name in torchvision.models.list_models(torchvision.models.segmentation):
        options = {"weights_backbone": None}
    return torchvision.models.get_model(name, weights=None, **options)


def leaves(model):
    for path, module in model.named_modules():
        if any(module.children()) or isinstance(module, torch.nn.Sequential):
            continue
        count = sum(p.numel() for p in module.parameters())
        yield f"{path} {count}\n"


def weights(model):
    for name, value in model.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            yield f"{name} {'x'.join(map(str, value.shape))}\n"


def main():
    if len(sys.argv) > 1:
        model = build(sys.argv[1])
        sys.stdout.writelines(sorted(leaves(model)) + sorted(weights(model)))
        return
    models = torchvision.models
    for name in (models.list_models(models) + models.list_models(models.video)
                 + models.list_models(models.segmentation)
                 + zoo_written.NAMES):
        model = build(name)
        fields = [name]
        for lines in (list(leaves(model)), list(weights(model))):
            fields += [str(len(lines)), f"{fnv1a(lines):016x}"]
        print(" ".join(fields))


main()

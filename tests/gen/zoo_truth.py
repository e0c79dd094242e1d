#!/usr/bin/env python3
"""Writes tests/data/zoo.csv: every built-in model, measured at its home.

    tests/gen/zoo_truth.py [--missing] [--cleave PATH] [SOURCE...] > zoo.csv
    tests/gen/zoo_truth.py --weights NAME      the lines behind a hash

Names and inputs come from `cleave models --json`; all else is the live model of
the package that a name comes from (torchvision, ultralytics): parameters are sum(p.numel()), MACs half of what FlopCounterMode counts
in one evaluation, weights the state dict, as the number of its entries and the
FNV-1a (64 bits) of its sorted lines "name 64x3x7x7\\n". Counters of batch norms
are left out. Models are built and run on the meta device: shapes without contents.

Names of other sources than those asked for keep the rows they have; with
--missing all names do that have one.
"""
import argparse
import csv
import json
import pathlib
import subprocess
import sys
import warnings

from tv import torch, torchvision as tv
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
for filler in vars(torch.nn.init).copy():
    if filler.endswith("_") and not filler.startswith("_"):
        setattr(torch.nn.init, filler, lambda tensor, *_, **__: tensor)
ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ["name", "params", "macs", "weights", "hash"]


def fnv1a(lines):
    h = 0xCBF29CE484222325
    for byte in "".join(sorted(lines)).encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def weights(model):
    for name, value in model.state_dict().items():
        if not name.endswith("num_batches_tracked"):
            yield f"{name} {'x'.join(map(str, value.shape))}\n"


# -- homes: name and input shapes to a model and the arguments of its forward


def images(inputs):
    return (torch.empty(inputs[0], device="meta"),)


def ultralytics(name, inputs):
    from ultralytics.nn import tasks
    from ultralytics.utils import LOGGER
    from ultralytics.nn.modules import head
    LOGGER.setLevel("ERROR")
    head.Detect.bias_init = lambda self: None  # reads what is not there
    kind, classes = tasks.DetectionModel, None
    for tail, cls, nc in (("-seg", tasks.SegmentationModel, None),
                          ("-pose", tasks.PoseModel, 1),
                          ("-obb", tasks.OBBModel, 15),
                          ("-cls", tasks.ClassificationModel, 1000)):
        if tail in name:
            kind, classes = cls, nc
    if name.startswith(("yolov3", "yolov5")):
        name = name.removesuffix("u")
    if name.endswith("6") and name.startswith("yolov5"):
        name = name[:-1] + "-p6"
    if name.startswith("rtdetr"):
        kind = tasks.RTDETRDetectionModel
    with torch.device("meta"):
        model = kind(name + ".yaml", nc=classes, verbose=False)
    last = model.model[-1]
    if hasattr(last, "nl"):
        first = 4 if "-p2" in name else 16 if "tiny" in name else 8
        last.stride = [first << i for i in range(last.nl)]
    return model, images(inputs)


def torchvision(name, inputs):
    options = {"aux_logits": False} if name == "googlenet" else {}
    if name in tv.models.list_models(tv.models.segmentation):
        options = {"weights_backbone": None}
    model = tv.models.get_model(name, weights=None, **options)
    return model.to("meta"), images(inputs)


HOMES = {"torchvision": torchvision, "ultralytics": ultralytics}


def measure(source, name, inputs):
    model, args = HOMES[source](name, inputs)
    model.eval()
    with torch.device("meta"):
        counter = FlopCounterMode(display=False)
        with counter, torch.no_grad():
            model(**args) if isinstance(args, dict) else model(*args)
    lines = list(weights(model))
    flops = counter.get_total_flops()
    assert flops % 2 == 0, name
    return {"name": name, "params": sum(p.numel() for p in model.parameters()),
            "macs": flops // 2, "weights": len(lines),
            "hash": f"{fnv1a(lines):016x}"}, lines


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", default=ROOT / "build/cli/cleave")
    parser.add_argument("--weights", metavar="NAME")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()
    listed = json.loads(subprocess.check_output(
        [options.cleave, "models", "--json"]))["models"]
    if options.weights:
        m = next(m for m in listed if m["name"] == options.weights)
        sys.stdout.writelines(sorted(measure(
            m["source"], m["name"], [m["input_shape"]])[1]))
        return
    table = ROOT / "tests/data/zoo.csv"
    old = {}
    if table.exists():
        with open(table, newline="") as f:
            old = {row["name"]: row for row in csv.DictReader(f)}
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    for m in listed:
        wanted = not options.sources or m["source"] in options.sources
        wanted &= not (options.missing and m["name"] in old)
        if m["source"] in HOMES and wanted:
            out.writerow(measure(m["source"], m["name"],
                                 [m["input_shape"]])[0])
            sys.stdout.flush()
        elif m["name"] in old:
            out.writerow(old[m["name"]])


main()

"""Models of torchvision, transformers and ultralytics, captured.
timeout: 3600

tests/data/live_models.csv has what others count of each (the script that wrote
it is tests/gen/live_models.py): parameters and MACs must be the same, FLOPs
under fvcore's rules within 0.1 % of fvcore's, and no operator unknown. With
CLEAVE_SLOW=1 every model; otherwise one of each kind."""
import csv
import importlib.util
import os
import re

from py_check import check, equal, main, skip

import live_models
from cleave import live
from cleave.torch import capture

DATA = os.path.join(os.environ["CLEAVE_ROOT"], "tests", "data")
SLOW = bool(os.environ.get("CLEAVE_SLOW"))
QUICK = """torchvision:mobilenet_v3_small torchvision:vit_b_32
    torchvision:swin_t torchvision:quantized_shufflenet_v2_x0_5
    transformers:distilbert transformers:llama transformers:segformer
    yolov8n.yaml""".split()
# Buffers of Swin V2, tables of coordinates, are among a file's weights.
OTHER_PARAMS = re.compile("swin_v2")


def rows():
    with open(os.path.join(DATA, "live_models.csv")) as f:
        return {r["model"]: r for r in csv.DictReader(f)}


def package_of(name):
    return "ultralytics" if name.endswith(".yaml") else name.partition(":")[0]


def compare(name, row):
    model, inputs = live_models.make(name)
    found = capture(model, inputs, name=name)
    profile = found.graph.profile()
    what = f"{name} ({found.method})"
    equal(profile["total_params"], int(row["params_torch"]),
          f"{what} parameters")
    equal(profile["total_macs"], int(row["macs_torch"]), f"{what} MACs")
    equal(profile["coverage"]["unknown_ops"], [], f"{what} unknown")
    if row["fvcore_theirs"]:
        theirs = int(row["fvcore_theirs"])
        ours = found.graph.profile(count="fvcore")["total_flops"]
        check(abs(ours - theirs) <= 0.001 * theirs,
              f"{what}: {ours} and fvcore's {theirs}")


def test_captured():
    for name, row in rows().items():
        if not SLOW and name not in QUICK:
            continue
        if not importlib.util.find_spec(package_of(name)):
            skip(f"no {package_of(name)}")
        else:
            compare(name, row)


def test_export():
    """A file that torch.onnx.export writes costs what the module does."""
    row = rows()["torchvision:shufflenet_v2_x0_5"]
    model, inputs = live_models.make("torchvision:shufflenet_v2_x0_5")
    file = live_models.onnx_of(model, inputs)
    equal(file["total_params"], int(row["params_torch"]), "ONNX parameters")
    equal(file["total_macs"], int(row["macs_torch"]), "ONNX MACs")


def test_table():
    """What the table says: the captures are what others count; zoo and ONNX in
    the parameters that evaluation reads."""
    table = rows()
    for name, row in table.items():
        equal((row["params"], row["macs"]),
              (row["params_torch"], row["macs_torch"]), name)
        for other in ("zoo", "onnx"):
            if not row[f"macs_{other}"]:
                continue
            equal(row["macs"], row[f"macs_{other}"], f"{name} MACs, {other}")
            if other == "zoo" or not OTHER_PARAMS.search(name):
                equal(live_models.read(row), live_models.read(row, f"_{other}"),
                      f"{name} parameters, {other}")
    vision = [r for n, r in table.items() if n.startswith("torchvision:")]
    check(sum(bool(r["macs"]) for r in vision) >= 0.99 * len(vision) > 100,
          "99 % of torchvision")
    check(sum(n.startswith("transformers:") for n in table) >= 13,
          "BERT, ViT, DETR and ten more")


def test_published_yolo():
    """Parameters, and MACs where nothing but convolutions is counted."""
    table = rows()
    with open(os.path.join(DATA, "yolo_published.csv")) as f:
        for row in csv.DictReader(f):
            ours = table.get(row["model"] + ".yaml")
            if ours and row["state"] == "unfused":
                equal(ours["params"], row["params"], row["model"])
            elif ours and row["model"].startswith("yolov8"):
                equal(f"{int(ours['macs']) / 1e9:.2f}", row["gmacs"],
                      f"{row['model']} GMACs")


main(globals())

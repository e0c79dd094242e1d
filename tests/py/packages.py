"""Models of transformers and ultralytics: parameters and MACs.
timeout: 1500

Parameters are sum(p.numel()), MACs half of torch's FlopCounterMode, with
attention as two products (its CPU kernel is not counted otherwise). With
CLEAVE_SLOW=1 more models, and every size of YOLO."""
import importlib.util
import os

from py_check import check, equal, main, skip

from cleave import live
from cleave.torch import capture
from tv import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

SLOW = bool(os.environ.get("CLEAVE_SLOW"))


def compare(name):
    model, inputs = live.make(name)
    if isinstance(inputs, tuple):
        inputs = torch.rand(inputs)
    found = capture(model, inputs, name=name, warmup=name.startswith("yolo"))
    profile = found.graph.profile()
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        model.eval()(inputs) if isinstance(inputs, torch.Tensor) else \
            model.eval()(**inputs)
    equal(profile["total_params"], sum(p.numel() for p in model.parameters()
                                       if p.requires_grad or True),
          f"{name} parameters ({found.method})")
    equal(profile["total_macs"], counter.get_total_flops() // 2,
          f"{name} MACs ({found.method})")
    unknown = sorted(set(profile["coverage"]["unknown_ops"]))
    print(name, found.method, "unknown:", unknown)


def test_transformers():
    if not importlib.util.find_spec("transformers"):
        return skip("no transformers")
    names = live.TRANSFORMERS if SLOW else ("bert", "vit", "gpt2")
    for name in names:
        if name != "detr" or importlib.util.find_spec("timm"):
            compare(f"transformers:{name}")


def test_yolo():
    if not importlib.util.find_spec("ultralytics"):
        return skip("no ultralytics")
    for name in [n for n in live.names() if n.endswith(".yaml")] if SLOW \
            else ["yolov8n.yaml"]:
        compare(name)


main(globals())

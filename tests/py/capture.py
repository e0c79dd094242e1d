"""Live torchvision models cost what the built-in ones do; bad models are told.
timeout: 1500

With CLEAVE_SLOW=1 every built-in torchvision model is captured."""
import inspect
import os

from py_check import check, equal, main, raises

import cleave
from cleave.torch import CaptureError, abbreviate, capture
from tv import torch, torchvision
from torch import nn

QUICK = """alexnet resnet18 resnet50 mobilenet_v2 mobilenet_v3_small vgg11
squeezenet1_1 shufflenet_v2_x1_0 mnasnet0_5 googlenet regnet_y_400mf
efficientnet_b0 convnext_tiny
inception_v3 vit_b_16""".split()
# MACs only: attention of ViT is one module in torch.nn, and torch.export sees
# Swin's masks being made.
APART = ("vit_", "swin_")


def on_meta(name):
    """Without weights: costs do not need them."""
    make = torchvision.models.get_model_builder(name)
    options = {"weights": None}
    if name in ("googlenet", "inception_v3"):
        options["init_weights"] = False
    if name == "googlenet":    # the zoo has it without the heads for training
        options["aux_logits"] = False
    if "weights_backbone" in inspect.signature(make).parameters:
        options["weights_backbone"] = None
    try:
        with torch.device("meta"):
            return make(**options).eval()
    except NotImplementedError:    # computes its widths with tensors
        return make(**options).to("meta").eval()


def test_live_is_zoo():
    zoo = set(cleave.models())
    names = [n for n in torchvision.models.list_models() if n in zoo]
    for name in names if os.environ.get("CLEAVE_SLOW") else QUICK:
        want = cleave.profile(name)
        shape = want["inputs"][0]["shape"]
        got = capture(on_meta(name), torch.empty(shape, device="meta"),
                      name=name).graph.profile()
        keys = ["total_params", "total_macs"]
        if not name.startswith(APART):
            keys.append("total_flops")
        for key in keys:
            equal(got[key], want[key], f"{name} {key}")
        equal(got["coverage"]["unknown_ops"], [], f"{name} unknown")


def test_every_method():
    """Four ways to the same graph, and the model stays as it was."""
    model = torchvision.models.resnet18()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    want = cleave.profile("resnet18")
    for method in cleave.torch.METHODS:
        got = capture(model, torch.rand(1, 3, 224, 224), methods=(method,))
        profile = got.graph.profile()
        equal(got.method, method, "method")
        for key in ("total_params", "total_macs", "total_flops"):
            equal(profile[key], want[key], f"{method} {key}")
    check(model.training, "training mode kept")
    check(all(torch.equal(v, before[k])
              for k, v in model.state_dict().items()), "weights kept")


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 4)

    def forward(self, batch, scale=1.0, extra=None):
        x = self.fc(batch["x"]) * scale
        return {"y": x, "z": [x + 1]}


class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.LazyLinear(4)
        self.seen = None

    def forward(self, x):
        if self.seen is None:
            self.seen = x.shape[0]
        return self.fc(x)


class Broken(nn.Module):
    """Breaks Dynamo's graph in two."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x):
        x = self.a(x)
        if x.sum() > 1e9:
            return x
        return self.b(x)


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.head = nn.Linear(8, 10, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(self.table(x))


def test_kinds_of_model():
    p = capture(Named(), {"batch": {"x": torch.rand(2, 8)}, "scale": 2.0}) \
        .graph.profile()
    equal((p["total_params"], p["total_macs"]), (36, 64), "nested inputs")
    model = Lazy()
    got = capture(model, torch.rand(2, 6))
    equal(got.graph.profile()["total_params"], 28, "lazy module")
    check(model.seen is None and model.fc.has_uninitialized_params(),
          "lazy module untouched")
    got = capture(Broken(), torch.rand(2, 8))
    equal(got.method, "dynamo", "graph breaks")
    check(set(got.failures) == {"fx", "strict", "export"}, got.failures)
    check(len(got.modules) >= 2, "partitions")
    equal(got.graph.profile()["total_params"], 144, "parameters of both")
    for method in cleave.torch.METHODS:
        got = capture(Tied(), torch.zeros(1, 3, dtype=torch.long),
                      methods=(method,))
        equal(got.graph.profile()["total_params"], 80, f"tied, {method}")
    p = capture(lambda x: torch.relu(x @ x), torch.rand(4, 4)).graph.profile()
    equal(p["total_macs"], 64, "a function")


class Raises(nn.Module):
    def forward(self, x):
        raise RuntimeError("no such luck")


def test_bad_models():
    with raises(CaptureError, "no such luck"):
        capture(Raises(), torch.rand(1))
    with raises(CaptureError, "shapes"):
        capture(nn.Linear(4, 4), torch.rand(1, 5))
    with raises(CaptureError, "fails on these inputs"):
        capture(nn.Linear(4, 4), None)
    with raises(CaptureError, "no torch module"):
        capture(3, torch.rand(1))


def test_names():
    for name, want in (
            ("layer1.0.conv1", "layer1.0.conv1"),
            ("g__model___model_0_conv", "model.0.conv"),
            ("getattr_getattr_L__yolo_model___model_23_cv3_0___0_____0___conv",
             "model.23.cv3.0[0][0].conv"),
            ("model.model.4.conv", "model.4.conv")):
        equal(abbreviate(name), want, "abbreviate")
    check(len(abbreviate("a" * 100)) == 48 and "..." in abbreviate("a" * 100),
          "long names are cut")


main(globals())

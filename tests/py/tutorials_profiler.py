"""Code as the notes on the unified profiler have it: the same imports, calls and
commands. A test's number is that of the block; block 1 is the order in which
ways to trace are tried.
timeout: 600"""
import contextlib
import importlib.util
import io
import os
import subprocess
import sys

from py_check import check, equal, main, skip

from tv import torch, torchvision
from torch import nn

import cleave

SHIM = os.path.join(os.environ["CLEAVE_ROOT"], "python", "compat", "cli")


def run(*args):
    return subprocess.run([sys.executable, *args], capture_output=True,
                          text=True)


def profiler(*args):
    return run(os.path.join(SHIM, "profile_graph_v2.py"), *args)


def totals(text):
    """(parameters, MACs) of what the profiler printed."""
    rows = [line for line in text.splitlines()
            if line.startswith(("  Parameters:", "  MACs:"))]
    return tuple(int(r[r.index("(") + 1:-1].replace(",", "")) for r in rows)


def test_01_order():
    equal(cleave.torch.METHODS[:4], ("fx", "strict", "export", "dynamo"),
          "order; what no tracer takes is recorded after them")


def test_02_commands():
    """The three sections, beside torchvision's published figures."""
    out = profiler("--model", "resnet18")
    equal(totals(out.stdout), (11689512, 1814073344), out.stderr)
    for title in ("Module ", "Model Summary:", "Bottleneck Analysis:"):
        check(f"\n{title}" in f"\n{out.stdout}", title)
    out = profiler("--model", "mobilenet_v2", "--showshape")
    equal(totals(out.stdout), (3504872, 300774272), out.stderr)
    check("Output shape" in out.stdout and "[1, 1280, 7, 7]" in out.stdout,
          "shapes")
    out = profiler("--model", "efficientnet_b0", "--input-shape", "1", "3",
                   "384", "384")
    equal(totals(out.stdout)[0], 5288548, out.stderr)
    check("[1, 3, 384, 384]" in out.stdout, "shape")
    out = profiler("--list")
    check("resnet18" in out.stdout.split(), "list")


def test_03_yolo():
    if importlib.util.find_spec("ultralytics") is None:
        return skip("ultralytics is not installed")
    out = profiler("--model", "yolov8n.pt")
    equal(totals(out.stdout), (3157200, 4371993600), out.stderr)
    check("note: no file 'yolov8n.pt', and nothing is downloaded: this is "
          "yolov8n.yaml with random weights" in out.stderr, out.stderr)
    cleave.vision.declare()
    from ultralytics import YOLO
    net = YOLO("yolov8n.yaml")
    with torch.no_grad():
        next(net.model.parameters()).fill_(0.125)
    net.save("yolov8n.pt")
    model, _ = cleave.live.make("yolov8n.pt")
    check(bool((next(model.parameters()) == 0.125).all()), "its weights")
    out = profiler("--model", "yolov8n.pt")
    equal(totals(out.stdout), (3157200, 4371993600), out.stderr)
    check("no file" not in out.stderr, out.stderr)
    check("captured by strict; fx failed: " in out.stderr, out.stderr)
    if os.environ.get("CLEAVE_SLOW"):
        out = profiler("--model", "yolov8s.pt", "--showshape")
        equal(totals(out.stdout), (11166560, 14301312000), out.stderr)
        out = profiler("--model", "yolo11m.pt", "--input-shape", "1", "3",
                       "640", "640")
        equal(totals(out.stdout), (20114688, 34052224000), out.stderr)


class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 3)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.conv1(x)
        x = self.bn1(x)
        return self.relu(x)


def printed(call, *args, **kwargs):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        found = call(*args, **kwargs)
    return found, out.getvalue()


def test_04_custom_model():
    from cli.profile_graph_v2 import MODEL_REGISTRY, profile_model
    found, text = printed(profile_model, MyModel(),
                          input_shape=(1, 3, 224, 224), model_name="MyModel")
    equal(found["total_params"], 64 * 27 + 64 + 128, "parameters")
    equal(found["total_macs"], 64 * 27 * 222 * 222, "MACs")
    check(text.startswith("Traced with fx\n\nModule ") and "\nMyModel " in text,
          text)
    MODEL_REGISTRY['my_model'] = lambda: MyModel()
    equal(printed(profile_model, 'my_model')[0]["total_macs"],
          found["total_macs"], "registered")


def test_05_06_names():
    from cli.profile_graph_v2 import abbreviate_name
    for name, want in (
            ("layer1.0.conv1", "layer1.0.conv1"),
            ("g__model___model_0_conv", "model.0.conv"),
            ("getattr_getattr_L__yolo_model___model_23_cv3_0___0_____0___conv",
             "model.23.cv3.0[0][0].conv")):
        equal(abbreviate_name(name), want, "abbreviate")


class Warmed(nn.Module):
    """Makes its anchors when it is first called, as YOLO does."""

    def __init__(self):
        super().__init__()
        self.fc, self.anchors = nn.Linear(8, 4), None

    def forward(self, x):
        if self.anchors is None:
            self.anchors = torch.arange(4.0)
        return self.fc(x) + self.anchors


def test_07_warm_up():
    """After the warm-up the graph is that of all later calls."""
    model = Warmed()
    found = cleave.capture(model, torch.rand(2, 8))
    equal([n["op"] for n in found.graph.nodes()], ["linear", "add"], "warm")
    check(model.anchors is None, "the model is as it was")


def test_08_09_older_commands():
    new = profiler("--model", "resnet18")
    old = run(os.path.join(SHIM, "profile_graph.py"), "--model", "resnet18")
    check(old.stdout.startswith("=" * 80 + "\nGRAPH PROFILE: ResNet-18\n") and
          "  Total FLOPs:          3.64 G\n" in old.stdout and
          "  FLOPs:                 3.64 G " in new.stdout,
          "each in its own layout")
    equal(run(os.path.join(SHIM, "profile_graph.py"), "--model", "resnet18",
              "--showshape").stdout, profiler("--model", "resnet18",
              "--showshape").stdout, "the newer flags")


def test_10_python():
    from cli.profile_graph import show_table
    from cli.profile_graph_v2 import profile_model
    old, text = printed(show_table, 'resnet18', show_shapes=True)
    new, same = printed(profile_model, 'resnet18', show_shapes=True)
    equal((old, text), (new, same), "both tools")
    equal(new["total_params"], 11689512, "parameters")
    check("Output shape" in text and "[1, 64, 112, 112]" in text, "shapes")


def test_live_command():
    with open("mine.py", "w") as f:
        f.write("import torch\ndef net():\n    return torch.nn.Linear(8, 4)\n")
    out = run("-m", "cleave", "profile", "mine:net", "--input-shape", "2,8",
              "--json", "--save-graph", "saved.py")
    check('"total_macs": 64' in out.stdout, out.stdout[:300])
    equal(run("saved.py").stdout, "1 (2, 4)\n", "saved graph")
    out = run("-m", "cleave", "partition", "mine:net", "--input-shape", "2,8")
    check(out.returncode == 0 and "linear" in out.stdout, out.stderr)
    for words, text in ((("mine:missing", "--input-shape", "2,8"), "missing"),
                        (("mine:net", "--input-shape", "2,9"), "shapes"),
                        (("mine:net",), "needs --input-shape"),
                        (("nowhere:net",), "nowhere")):
        out = run("-m", "cleave", "profile", *words)
        check(out.returncode == 3 and text in out.stderr and
              len(out.stderr.splitlines()) == 1, f"{words}: {out}")


main(globals())

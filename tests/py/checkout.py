"""The tutorials' tools by the paths that the README names, run from the root of
the checkout as a user does, with nothing on the path.
timeout: 900"""
import importlib.util
import json
import os
import re
import subprocess
import sys

from py_check import check, equal, main, skip

ROOT = os.environ["CLEAVE_ROOT"]
BUILD = os.environ["CLEAVE_BUILD"]
HERE = os.getcwd()

MINE = '''
import torch.nn as nn

class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        return self.net(x)

MODEL_REGISTRY['my_model'] = lambda: MyModel()
'''


def run(path, *args, cwd=ROOT):
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run([sys.executable, os.path.join(ROOT, path), *args],
                          capture_output=True, text=True, cwd=cwd, env=env)


def there():
    """The paths find the extension in the checkout's own build folder."""
    if os.path.realpath(BUILD) != os.path.realpath(f"{ROOT}/build"):
        skip("this build is not the checkout's build/")
        return False
    return True


def test_profile_graph():
    if not there():
        return
    out = run("cli/profile_graph.py", "--model", "resnet50")
    equal((out.returncode, out.stderr), (0, ""), "exit")
    # 177 nodes as torch.fx counts, 8.2 GFLOPs
    for line in ("=" * 80 + "\nGRAPH PROFILE: ResNet-50\n" + "=" * 80,
                 "\nModel Summary:\n  Total Operators:      177\n"
                 "  Total FLOPs:          8.22 G\n  Total Memory: ",
                 "(FLOPs/Byte)\n\nOperation Breakdown:\n  Conv2D: ",
                 "\nBottleneck Analysis:\n  Compute-bound: ", " (AI > 50)\n",
                 "\nLayer Details (Top 10 by FLOPs):\n  conv1: "):
        check(line in out.stdout, f"no {line!r} in {out.stdout}")
    check(re.search(r"conv1: +236\.03 M FLOPs, 3\.85 MB, AI=61\.3 "
                    r"\(compute-bound\)", out.stdout), out.stdout)
    short = len(out.stdout.splitlines())
    out = run("cli/profile_graph.py", "--model", "resnet50", "--verbose")
    check(len(out.stdout.splitlines()) == short - 10 + 175 and
          "\nLayer Details:\n" in out.stdout, "every layer")
    out = run("cli/profile_graph.py", "--model", "efficientnet_b4",
              "--input-shape", "1,3,380,380")
    check("GRAPH PROFILE: EfficientNet-B4" in out.stdout, out.stderr)
    check("GRAPH PROFILE: ResNet-18" in run("cli/profile_graph.py").stdout,
          "the default model")


def test_profile_json():
    if not there():
        return
    path = os.path.join(HERE, "profile.json")
    out = run("cli/profile_graph.py", "--model", "mobilenet_v2", "--output",
              path)
    equal((out.returncode, out.stdout), (0, ""), out.stderr)
    with open(path) as f:
        p = json.load(f)
    equal(p["model"], "mobilenet_v2", "model")
    layer = p["layers"][0]
    equal([type(layer[k]) for k in ("name", "type", "flops", "memory",
                                    "arithmetic_intensity", "bottleneck")],
          [str, str, int, int, float, str], "a layer")
    check(layer["bottleneck"] in ("compute-bound", "balanced", "memory-bound",
                                  "bandwidth-bound"), layer["bottleneck"])
    equal(sum(l["flops"] for l in p["layers"]), p["total_flops"], "FLOPs")
    equal(sum(l["memory"] for l in p["layers"]), p["total_memory"], "memory")
    path = os.path.join(HERE, "profile.csv")
    run("cli/profile_graph.py", "--model", "mobilenet_v2", "--output", path)
    with open(path) as f:
        check(len(f.readlines()) > 150, "CSV")


def test_registry():
    """A file of the current folder, and lines in the script itself."""
    if not there():
        return
    with open("my_model.py", "w") as f:
        f.write(MINE)
    for tool in ("cli/profile_graph.py", "cli/profile_graph_v2.py"):
        out = run(tool, "--model", "my_model", cwd=HERE)
        equal((out.returncode, out.stderr), (0, ""), tool)
        check("my_model" in out.stdout and re.search(
            r"10\.84 M", out.stdout), out.stdout)    # 2 * 4*222*222*27 + bias
    code = ("import sys; sys.path.insert(0, sys.argv[1])\n"
            "from cli.profile_graph import MODEL_REGISTRY, main\n"
            "from cli.profile_graph_v2 import main as newer\n"
            "import torch.nn as nn\n"
            "MODEL_REGISTRY['other'] = lambda: nn.Conv2d(3, 4, 3)\n"
            "main(['--model', 'other']); newer(['--model', 'other'])")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    out = subprocess.run([sys.executable, "-c", code, ROOT], text=True,
                         capture_output=True, env=env)
    check(out.stdout.count("10.84 M") > 6 and not out.stderr, out.stderr)


def test_other_tools():
    if not there():
        return
    check("resnet18" in run("cli/discover_models.py").stdout.split(), "models")
    out = run("cli/profile_graph_v2.py", "--model", "resnet18", "--showshape")
    check("Output shape" in out.stdout, out.stderr)
    check("resnet18" in run("cli/profile_graph_v2.py",
                            "--list").stdout.split(), "list")
    out = run("experiments/dynamo/basic_dynamo_tracing.py", "simple")
    check("Partitions: 1   Operators: 6   Parameters: 5,418" in out.stdout,
          out.stderr)
    out = run("experiments/dynamo/huggingface_complex_models.py", "--help")
    check("--save-graph" in out.stdout, out.stderr)
    out = run("experiments/YOLO/yolo_profiler.py", "--model", "resnet18")
    check("Model Summary:" in out.stdout, out.stderr)
    if importlib.util.find_spec("fvcore") is None:
        return skip("fvcore is not installed")
    out = run("cli/profile_graph_with_fvcore.py", "--model", "resnet18")
    check("FLOP COMPARISON: Our Estimator vs fvcore" in out.stdout and
          "100.00%" in out.stdout, out.stderr)


def test_errors():
    if not there():
        return
    for tool in ("cli/profile_graph.py", "cli/profile_graph_v2.py"):
        out = run(tool, "--model", "resnt50")
        equal((out.returncode, out.stdout, out.stderr), (3, "", "cleave: no "
              "model or file 'resnt50'; did you mean 'resnet50', 'resnet50d' "
              "or 'resnet18'?\n"), tool)
    out = run("cli/profile_graph.py", "--input-shape", "1,3,0,224")
    equal((out.returncode, out.stderr), (3, "cleave: dimensions are 1 or "
          "more\n"), "shape")


def test_torchvision_imports():
    """Whatever torch it was built for, after cleave.torch it imports."""
    for text in ("import cleave.torch, torchvision; print(torchvision.ops.nms)",
                 "from cleave import vision; print(vision.load().ops.nms)"):
        out = subprocess.run([sys.executable, "-c", text], capture_output=True,
                             text=True)
        check(out.returncode == 0 and "nms" in out.stdout, out.stderr[-300:])


main(globals())

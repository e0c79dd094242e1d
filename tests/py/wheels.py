"""Both distributions, built and installed into a bare environment: cleave alone
brings no other name, with cleave-compat the tutorials' code runs as it stands,
and `pip install -e` does the same from the sources.
timeout: 1500"""
import os
import subprocess
import sys
import sysconfig
import zipfile

from py_check import check, equal, main, skip

ROOT = os.environ["CLEAVE_ROOT"]
COMPAT = os.path.join(ROOT, "python", "compat")
PYTHON = os.path.join("env", "bin", "python")
NAMES = ("graphs", "cli", "torch_neuronx")


def run(*words):
    """The command's result, with nothing of this test's own paths."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    return subprocess.run(words, capture_output=True, text=True, env=env)


def pip(*words):
    return run(PYTHON, "-m", "pip", "--disable-pip-version-check", *words)


def python(code):
    out = run(PYTHON, "-W", "ignore", "-c", code)
    return out.stdout.strip() or out.stderr.strip().rpartition("\n")[2]


def built(source, folder):
    """The files of a wheel, None where pip cannot get what builds it."""
    out = pip("wheel", "-q", "--no-deps", f"-Cbuild-dir={folder}", "-w", "out",
              source)
    if "No matching distribution" in out.stderr:
        return None
    equal(out.returncode, 0, out.stderr[-2000:])
    name = sorted(os.listdir("out"), key=lambda f: os.path.getmtime(
        os.path.join("out", f)))[-1]
    with zipfile.ZipFile(os.path.join("out", name)) as wheel:
        return {n.partition("/")[0] for n in wheel.namelist()}


def install(*words):
    out = pip("install", "-q", "--no-deps", *words)
    equal(out.returncode, 0, out.stderr[-2000:])


# The last example of the note on partitioning, and a call of each other name.
TUTORIAL = """
import torch, torch_neuronx, torch.nn as nn
from torch.fx import symbolic_trace
from torch.fx.passes.shape_prop import ShapeProp
from graphs.characterize.graph_partitioner import GraphPartitioner
from graphs.characterize.concurrency_analyzer import ConcurrencyAnalyzer
from graphs.transform.partitioning import FusionPartitioner
from graphs.analysis.unified_analyzer import UnifiedAnalyzer
from cli.profile_graph import show_table
from cli.profile_graph_v2 import profile_model
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 8)
    def forward(self, x):
        return torch.sort(torch.log_softmax(torch.relu(self.fc(x)), 1))[0]
n, x = Net().eval(), torch.rand(2, 8)
config = torch_neuronx.PartitionerConfig(
    min_operator_percentage_threshold=0.75,
    ops_to_partition=set(["aten::log_softmax"]))
net = torch_neuronx.trace(n, x, backend="all-but:sort", partitioner_config=config)
fx_graph = symbolic_trace(n)
ShapeProp(fx_graph).propagate(x)
report = GraphPartitioner().partition(fx_graph)
print(net.devices, torch.allclose(net(x), n(x), 1e-4, 1e-4),
      report.total_subgraphs, ConcurrencyAnalyzer().analyze(report).num_stages,
      len(FusionPartitioner().partition(fx_graph).subgraphs) > 0,
      UnifiedAnalyzer().analyze_model("resnet18").profile["total_params"])
"""
PRINTED = "['NEURON', 'CPU'] True 4 4 True 11689512"


def test_wheels():
    run(sys.executable, "-m", "venv", "env")
    if not os.path.exists(PYTHON):
        return skip("no venv")
    files = built(ROOT, "obj")
    if files is None:
        return skip("pip finds no meson-python")
    equal(files, {"cleave", "cleave-0.1.0.dist-info"}, "cleave's wheel")
    equal(built(COMPAT, "obj-compat"),
          {"graphs", "cli", "torch_neuronx.py",
           "cleave_compat-0.1.0.dist-info"}, "cleave-compat's wheel")

    wheels = sorted(os.path.join("out", f) for f in os.listdir("out"))
    equal(len(wheels), 2, wheels)
    install(wheels[0])
    equal(python("import cleave; print(cleave.profile('resnet18')"
                 "['total_params'])"), "11689512", "cleave alone")
    for name in NAMES:
        equal(python(f"import {name}"),
              f"ModuleNotFoundError: No module named '{name}'", "no such name")
    equal(run(os.path.join("env", "bin", "cleave"), "version").returncode, 0,
          "the command")

    install(wheels[1])
    with open(os.path.join(run(
            PYTHON, "-c", "import site; print(site.getsitepackages()[0])"
            ).stdout.strip(), "torch.pth"), "w") as f:
        f.write(sysconfig.get_path("purelib") + "\n")    # of this test's own
    equal(python(TUTORIAL), PRINTED, "both installed")
    check("cleave==0.1.0" in python(
        "import importlib.metadata as m; print(m.requires('cleave-compat'))"),
        "needs cleave")

    equal(pip("uninstall", "-q", "-y", "cleave", "cleave-compat").returncode, 0,
          "uninstalled")
    install("-Cbuild-dir=obj", "-e", ROOT)
    install("-Cbuild-dir=obj-compat", "-e", COMPAT)
    equal(python("import cleave; print(cleave.__file__)"),
          os.path.join(ROOT, "python", "cleave", "__init__.py"), "-e .")
    equal(python(TUTORIAL), PRINTED, "both from their sources")


main(globals())

"""The package without PyTorch: built-in models, files, errors, the command."""
import json
import os
import subprocess
import sys

from py_check import check, equal, main, raises

import cleave

ROOT = os.environ["CLEAVE_ROOT"]
COMMAND = os.path.join(os.environ["CLEAVE_BUILD"], "cli", "cleave")


def command(*args):
    return subprocess.run([COMMAND, *args], capture_output=True, text=True)


def test_same_as_command():
    for verb, ours in (("profile", cleave.Graph.profile),
                       ("partition", cleave.Graph.partition),
                       ("concurrency", cleave.Graph.concurrency),
                       ("memory", cleave.Graph.memory)):
        want = json.loads(command(verb, "resnet18", "--json").stdout)
        got = ours(cleave.load("resnet18"))
        shared = [k for k in want if k in got]
        check(len(shared) > 5, f"{verb}: few keys")
        for key in shared:
            if key != "batches":
                equal(got[key], want[key], f"{verb} {key}")


def test_options():
    equal(cleave.profile("resnet18", batch=4)["total_macs"],
          4 * cleave.profile("resnet18")["total_macs"], "batch 4")
    equal(cleave.profile("resnet18", input_shape=(2, 3, 64, 64))["inputs"][0]
          ["shape"], [2, 3, 64, 64], "input_shape")
    fvcore = cleave.profile("resnet18", count="fvcore")["total_flops"]
    check(fvcore < cleave.profile("resnet18")["total_flops"], "count")
    check("resnet18" in cleave.models(), "models")


def test_counts():
    g = cleave.load("resnet18")
    for count in ("full", "fvcore"):
        got, want = g.counts(count), g.profile(count=count)
        equal(got["total"], want["total_flops"], f"{count}: total")
        equal(sum(got["by_operator"].values()), got["total"],
              f"{count}: by operator")
        equal(got["by_module"][""], got["total"], f"{count}: the root module")
        equal(got["by_node"], {layer["name"]: layer["flops"]
                               for layer in want["layers"]}, f"{count}: nodes")
    check("conv" in g.counts("fvcore")["by_operator"], "fvcore's name")
    check("conv2d" in g.counts()["by_operator"], "our name")
    with raises(ValueError, "convention"):
        g.counts("guess")


def test_capability():
    g = cleave.load("resnet18")
    cut = g.partition("capability", backend="all-but:max_pool2d")
    equal(cut["total_subgraphs"], 3, "one operator in between")
    equal(cut["support"]["unsupported"][0]["op"], "max_pool2d", "unsupported")
    cut = g.partition("capability", backend="null", cpu_ops={"aten::linear"})
    equal(cut["total_subgraphs"], 2, "cpu_ops")
    with raises(ValueError, "3"):
        g.partition("capability", backend="all-but:max_pool2d",
                    max_subgraph_count=2)
    with raises(LookupError, "nonesuch"):
        g.partition("capability", backend="nonesuch")


def test_errors():
    with raises(LookupError, "resnet18"):
        cleave.load("resnet1")
    with raises(ValueError, "--strategy takes op|fusion"):
        cleave.load("resnet18").partition("magic")
    with raises(ValueError, "convention"):
        cleave.profile("resnet18", count="guess")
    with raises(ValueError, "dimensions"):
        cleave.profile("resnet18", input_shape=(0, 3, 224, 224))
    with raises(TypeError, "input_shape"):
        cleave.load("resnet18", (1, 3, 224, 224))
    with raises(ValueError, "data type"):
        cleave.load("resnet18", dtype="fp7")


def test_without_torch():
    """With torch hidden the package works; live models say what to install."""
    code = """
import sys, time
sys.modules['torch'] = None
start = time.perf_counter()
import cleave
print(time.perf_counter() - start)
print(cleave.profile('resnet18')['total_params'])
try:
    cleave.profile(object(), 1)
except cleave.Error as e:
    print(e)
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True,
                         text=True)
    lines = out.stdout.splitlines()
    equal(out.stderr, "", "stderr")
    equal(lines[1:2], ["11689512"], "parameters")
    check("pip install torch" in lines[2], lines)
    check(float(lines[0]) < 1, f"import took {lines[0]} s")


def test_import_loads_the_extension_alone():
    code = """
import sys
before = set(sys.modules)
import cleave
print(sorted(set(sys.modules) - before))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True,
                         text=True)
    equal(out.stdout.strip(), "['cleave', 'cleave._cleave']", out.stderr)


def test_command_in_process():
    run = [sys.executable, "-m", "cleave"]
    ours = subprocess.run([*run, "profile", "resnet18"], capture_output=True,
                          text=True)
    equal(ours.stdout, command("profile", "resnet18").stdout, "same text")
    bad = subprocess.run([*run, "profile", "resnet1"], capture_output=True,
                         text=True)
    want = command("profile", "resnet1")
    equal((bad.stderr, bad.returncode), (want.stderr, want.returncode), "error")


main(globals())

"""python -m cleave fvcore: the comparison with the real fvcore, and what it says
when there is nothing to compare.
timeout: 600"""
import contextlib
import importlib.util
import io
import re
import subprocess
import sys

from py_check import check, equal, main, skip

from tv import torch, torchvision
from cleave.__main__ import main as command

FACTORIES = """
import torch

class Complex(torch.nn.Module):
    def forward(self, x):
        return torch.fft.fft(x).abs()

class Fails(torch.nn.Module):
    def forward(self, x):
        raise RuntimeError("not today")

def net():
    return torch.nn.Linear(8, 4), torch.rand(2, 8)

def bare():
    return torch.nn.Linear(8, 4)

def broken():
    raise RuntimeError("cannot be made")

def fails():
    return Fails(), torch.rand(2, 8)

def uncounted():
    return Complex(), torch.rand(2, 8)
"""


def run(*words):
    """Exit code, standard output, standard error."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = command(["fvcore", *words])
    return code, out.getvalue(), err.getvalue()


def test_table():
    if importlib.util.find_spec("fvcore") is None:
        return skip("fvcore is not installed")
    code, out, err = run("--models", "resnet18,mobilenet_v2")
    equal((code, err), (0, ""), "code")
    check("FLOP COMPARISON: Our Estimator vs fvcore" in out and re.search(
        r"Model +Our FLOPs +fvcore FLOPs +Difference +Accuracy", out), out)
    for row in (r"resnet18 +1\.819 G +1\.819 G +\+0 +100\.00%",
                r"mobilenet_v2 +314\.193 M +314\.193 M +\+0 +100\.00%"):
        check(re.search(row, out), f"{row}: {out}")


def test_errors():
    """One line for each model that cannot be compared; the others go on."""
    if importlib.util.find_spec("fvcore") is None:
        return skip("fvcore is not installed")
    with open("factories.py", "w") as f:
        f.write(FACTORIES)
    for name, text in (
            ("nonesuch", "torchvision has no model 'nonesuch'"),
            ("factories:missing", "no model 'factories:missing': "),
            ("nowhere:net", "no model 'nowhere:net': No module named"),
            ("factories:bare", "'factories:bare' comes without inputs"),
            ("factories:broken", "making 'factories:broken' failed: "
             "RuntimeError: cannot be made"),
            ("factories:fails", "Fails fails on these inputs: RuntimeError: "
             "not today")):
        code, out, err = run("--models", f"{name},factories:net")
        equal(code, 3, name)
        check(err.startswith("cleave: ") and text in err and
              err.count("\n") == 1, f"{name}: {err!r}")
        check(re.search(r"factories:net +64 +64 +\+0 +100\.00%", out), out)
    code, out, err = run("--model", "factories:uncounted")
    check("factories:uncounted" in out, out + err)


def test_without_fvcore():
    code = ("import sys; sys.modules['{0}'] = None; from cleave.__main__ "
            "import main; sys.exit(main(['fvcore']))")
    for package in ("fvcore", "torch"):
        ran = subprocess.run([sys.executable, "-c", code.format(package)],
                             capture_output=True, text=True)
        equal((ran.returncode, ran.stdout), (3, ""), package)
        equal(ran.stderr, f"cleave: this needs {package}: pip install "
              f"{package}\n", "what to install")


def test_usage():
    ran = subprocess.run([sys.executable, "-m", "cleave", "fvcore", "--bogus"],
                         capture_output=True, text=True)
    equal(ran.returncode, 2, "usage")
    check("unrecognized arguments: --bogus" in ran.stderr and
          "Traceback" not in ran.stderr, ran.stderr)


main(globals())

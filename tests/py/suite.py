"""The test suite of the installed onnx package, executed: tests/test_onnx_run.c
runs what tests/gen/onnx_suite.py writes, and docs/onnx-suite.md says how it ends.
timeout: 900"""
import os
import subprocess

import onnx
import onnx_suite
from py_check import check, main, skip

VERSION = "1.23.2"


def test_suite():
    if onnx.__version__ != VERSION:
        skip(f"onnx {VERSION} is not installed")
        return
    onnx_suite.main("suite")
    test = os.path.join(os.environ["CLEAVE_BUILD"], "tests", "test_onnx_run")
    out = subprocess.run([test], capture_output=True, text=True, cwd=os.environ["CLEAVE_ROOT"],
                         env=dict(os.environ, CLEAVE_SUITE=os.path.abspath("suite")))
    check(out.returncode == 0, out.stdout[-2000:])


main(globals())

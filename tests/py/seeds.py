"""docs/seeds.md: every test that its tables name exists, every block of code has
one; and the partitioner's tutorial as the program that it tells a user to save
and run.
timeout: 900"""
import os
import re
import shutil
import subprocess
import sys

from py_check import check, equal, main

ROOT = os.environ["CLEAVE_ROOT"]


def test_table():
    with open(f"{ROOT}/docs/seeds.md") as f:
        page = f.read()
    named = re.findall(r"`(\w+)\.(test_\w+)`", page)
    check(len(named) > 50, f"{len(named)} tests are named")
    for file, test in sorted(set(named)):
        with open(f"{ROOT}/tests/py/{file}.py") as f:
            check(f"def {test}(" in f.read(), f"no {file}.{test}")
    for line in page.splitlines():
        if line.startswith("| ") and "---" not in line and "promise" not in line \
                and line.count("|") == 3:
            check("`test" in line or ".test_" in line or ".py`" in line or
                  "no promise" in line, f"unproven: {line}")


def test_partitioner_as_a_script():
    shutil.copy(f"{ROOT}/tests/data/seeds/partitioner.py",
                "simple_partition_example.py")
    ran = subprocess.run([sys.executable, "simple_partition_example.py"],
                         capture_output=True, text=True)
    equal((ran.returncode, ran.stderr), (0, ""), "it runs")
    # 2 * 16*32*32 * 27 + bias; torchvision's 1.814 GMACs; 147 taps, 112 x 112
    for line in ("1. conv1 (conv2d)\n   FLOPs: 901,120\n   Memory: 77.8 KB\n"
                 "   Threads: 16,384\n",
                 "Name: conv1\nType: conv2d\nFLOPs: 0.236 GFLOPs (6.5%)\n",
                 "Bottleneck: compute_bound\n",
                 "  Batch: 1 64 12544 802,816 False True\n",
                 "Dependencies: 0 operations\n", "Bottlenecks: 69\n",
                 "Stage 1: 1 operations: conv1\n",
                 "Batch size 32:   64x theoretical speedup\n",
                 "Acyclic: True\nStatus: FITS\nOverall: SUITABLE\n"
                 "Zero: {'flatten'}; unknown: 0; conv: 20\n"):
        check(line in ran.stdout, f"no {line!r} in {ran.stdout[-3000:]}")


main(globals())

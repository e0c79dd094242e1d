"""Memory runs out for the extension at every request in turn: calls of the
Python module work or raise MemoryError or cleave's error, and work again
afterwards.
timeout: 900"""
import array
import ctypes
import os
import sys
import tempfile

from py_check import check, equal, main, skip

ROOT = os.environ["CLEAVE_ROOT"]
LIBRARY = os.path.join(os.environ["CLEAVE_BUILD"], "tests", "libstarving.so")
MODEL = os.path.join(ROOT, "tests/data/onnx_capability/branches.onnx")
TRIES = 400  # requests of one call that fail, evenly spread

if LIBRARY not in os.environ.get("LD_PRELOAD", ""):
    if not os.path.exists(LIBRARY):
        skip("tests/starving.c was not built")
        main({})
    os.environ["LD_PRELOAD"] = LIBRARY
    os.execv(sys.executable, [sys.executable, *sys.argv])

import cleave
from cleave import _cleave

starving = ctypes.CDLL(LIBRARY)
starving.starving_at.restype = ctypes.c_long
starving.starving_at.argtypes = [ctypes.c_long]
starving.starving_module.argtypes = [ctypes.c_size_t] * 2


def module_range():
    """Where the code of the extension lies."""
    ends = []
    with open("/proc/self/maps") as maps:
        for line in maps:
            if line.rstrip().endswith(os.path.realpath(_cleave.__file__)):
                ends += [int(x, 16) for x in line.split()[0].split("-")]
    return min(ends), max(ends)


g = cleave.load(MODEL)
folder = tempfile.TemporaryDirectory()
parts = os.path.join(folder.name, "parts")
x = memoryview(array.array("f", [0.5] * 512)).cast("B").cast("f", (32, 16))
model = g.compile()
_cleave.main(["cleave", "partition", MODEL, "-s", "fusion", "-q", "-o", parts])


def lines():
    return _cleave.main(["cleave", "profile", MODEL, "-o",
                         os.path.join(folder.name, "out.json")])


CALLS = [
    ("load", lambda: cleave.load(MODEL)),
    ("load of the zoo", lambda: cleave.load("alexnet", batch=2)),
    ("profile", lambda: g.profile()),
    ("counts", lambda: g.counts()),
    ("op", lambda: g.partition("op")),
    ("fusion", lambda: g.partition("fusion")),
    ("capability", lambda: g.partition("capability",
                                       backend="all-but:topk")),
    ("placement", lambda: g.partition("placement", hardware="t4", curve=2)),
    ("pipeline", lambda: g.partition("pipeline", stages=2)),
    ("concurrency", lambda: g.concurrency(streams=2)),
    ("memory", lambda: g.memory("fusion", True)),
    ("map", lambda: g.map(["h100", "t4"])),
    ("validate", lambda: g.validate()),
    ("diagnose", lambda: g.diagnose(10**6)),
    ("check", lambda: g.check(budget={"macs": "1G"})),
    ("compare", lambda: g.compare("alexnet")),
    ("sweep", lambda: g.sweep([1, 2])),
    ("export", lambda: g.export(os.path.join(folder.name, "m.onnx"))),
    ("compile", lambda: g.compile()),
    ("run", lambda: model(x)),
    ("run of the command", lambda: g.run(random=True, text=True)),
    ("verify", lambda: cleave.verify(parts)),
    ("hardware", lambda: cleave.hardware("h100")),
    ("main", lines),
]
if _cleave.has_backend("onednn"):
    CALLS.append(("onednn", lambda: g.compile("onednn", 1)(x)))


def starve(call):
    """Lets requests of the call fail in turn; returns how many it makes."""
    starving.starving_at(0)
    call()
    n = starving.starving_at(0)
    for at in range(1, n + 1, 1 + n // TRIES):
        starving.starving_at(at)
        try:
            call()
        except (MemoryError, cleave.Error):
            pass
        finally:
            starving.starving_at(0)
    return n


def test_every_call():
    starving.starving_module(*module_range())
    for name, call in CALLS:
        before = repr(call()) if name in ("profile", "counts") else None
        n = starve(call)
        check(n > 0, f"{name} takes no memory")
        print(f"{name}: {n} requests")
        if before:
            equal(repr(call()), before, f"{name} afterwards")


main(globals())

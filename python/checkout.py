"""Scripts at the paths the tutorials name (cli/*.py, experiments/*/*.py), run
from a checkout that is built but not installed:

    import checkout
    checkout.become(globals())

The script of python/compat with the same name runs in its place."""
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILT = os.path.join(ROOT, "build", "python")
COMPAT = os.path.join(ROOT, "python", "compat")


def become(names):
    """Executes python/compat/PATH in the namespace of the script ROOT/PATH."""
    if not os.path.exists(os.path.join(BUILT, "cleave", "_cleave.abi3.so")):
        _stop("nothing is built in build/python: run `make` first")
    sys.path[:0] = [p for p in (BUILT, COMPAT) if p not in sys.path]
    path = os.path.join(COMPAT, os.path.relpath(
        os.path.abspath(names["__file__"]), ROOT))
    with open(path) as source:
        code = compile(source.read(), path, "exec")
    try:
        exec(code, names)
    except ModuleNotFoundError as e:
        if e.name != "torch":
            raise
        _stop("this needs PyTorch: pip install torch")


def _stop(why):
    print(f"cleave: {why}", file=sys.stderr)
    sys.exit(3)

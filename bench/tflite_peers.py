"""`cleave profile FILE` on a TFLite file of 100 MB, against what the interpreter
needs before it runs the same file: opening it and allocate_tensors, as it comes
(with XNNPACK) and without delegates. Processor time of one process each, without
starting Python; the best of a few runs on both sides.

    python bench/tflite_peers.py [FILE]

Without FILE, a ResNet-50 of Keras with drawn weights is converted.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "gen"))
try:
    from ai_edge_litert.interpreter import Interpreter, OpResolverType
except ImportError as e:
    print(f"SKIP tflite_peers: {e}")
    sys.exit(0)

CLEAVE = os.path.join(os.environ.get("CLEAVE_BUILD", str(ROOT / "build")), "cli", "cleave")
BOUND, RUNS = 100, 5


def children():
    t = resource.getrusage(resource.RUSAGE_CHILDREN)
    return t.ru_utime + t.ru_stime


def allocate(path, kind):
    t = time.process_time()
    Interpreter(model_path=path, num_threads=1, experimental_op_resolver_type=kind).allocate_tensors()
    return time.process_time() - t


def convert(folder):
    import tflite_nets

    path = os.path.join(folder, "ResNet50.tflite")
    net, shape = tflite_nets.build("ResNet50")
    tflite_nets.convert(net, shape, "float", path)
    return path


def measure(path):
    kinds = {"allocate_tensors": OpResolverType.AUTO,
             "without delegates": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}
    peers, ours = {k: [] for k in kinds}, []
    for _ in range(RUNS):
        for name, kind in kinds.items():
            peers[name].append(allocate(path, kind))
        t = children()
        subprocess.run([CLEAVE, "profile", path, "--depth", "1"], check=True, stdout=subprocess.DEVNULL)
        ours.append(children() - t)
    return {k: min(v) for k, v in peers.items()}, max(min(ours), 1e-6)


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[1] if len(sys.argv) > 1 else convert(folder)
        peers, ours = measure(path)
        size = os.path.getsize(path) / 1e6
    ratio = peers["allocate_tensors"] / ours
    print(f"tflite of {size:.0f} MB: " + ", ".join(f"{k} {t * 1e3:.1f} ms" for k, t in peers.items()) +
          f", cleave profile {ours * 1e3:.1f} ms: {ratio:.0f} times (bound {BOUND}), "
          f"{peers['without delegates'] / ours:.1f} times without delegates")
    sys.exit(ratio < BOUND)


if __name__ == "__main__":
    main()

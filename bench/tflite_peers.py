"""Opening, inferring and profiling a TFLite file of 100 MB, against what the
interpreter needs before it runs the same file: opening it and allocate_tensors,
as it comes (with XNNPACK) and without delegates. Processor time; the peer's calls
in a process that runs already, ours in one (bench/load) and as the whole process
`cleave profile FILE --depth 1`. Best and median of many, all files warm.

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
LOAD = os.path.join(os.path.dirname(CLEAVE), "..", "bench", "load")
BOUND, RUNS, OURS = 100, 15, 60


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


def middle(times):
    return sorted(times)[len(times) // 2]


def command(path):
    t = children()
    subprocess.run([CLEAVE, "profile", path, "--depth", "1"], check=True, stdout=subprocess.DEVNULL)
    return max(children() - t, 1e-6)


def in_process(path):
    """Best and median of bench/load."""
    return [float(x) for x in subprocess.check_output([LOAD, path, str(OURS)]).split()]


def ratios(peer, calls, processes):
    """Best over best, and median over median, of a call and of a process."""
    return (f"one call {calls[0] * 1e3:.3f} ms, {min(peer) / calls[0]:.0f} times (medians "
            f"{middle(peer) / calls[1]:.0f}); whole process {min(processes) * 1e3:.2f} ms, "
            f"{min(peer) / min(processes):.0f} times (medians {middle(peer) / middle(processes):.0f})")


def main():
    kinds = {"allocate_tensors": OpResolverType.AUTO,
             "without delegates": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES}
    with tempfile.TemporaryDirectory() as folder:
        path = sys.argv[1] if len(sys.argv) > 1 else convert(folder)
        size = os.path.getsize(path) / 1e6
        peers = {name: [allocate(path, kind) for _ in range(RUNS)] for name, kind in kinds.items()}
        calls, processes = in_process(path), [command(path) for _ in range(OURS)]
    print(f"tflite of {size:.0f} MB, cleave against:")
    for name, times in peers.items():
        print(f"  {name} {min(times) * 1e3:.1f} ms: {ratios(times, calls, processes)}")
    print(f"  (bound: one call, allocate_tensors as it comes, {BOUND} times)")
    sys.exit(min(peers["allocate_tensors"]) / calls[0] < BOUND)


if __name__ == "__main__":
    main()

"""Opening, inferring and profiling a torch.export archive of 100 MB, against
torch.export.load of the same file: at least 100 times, in processor time, the
peer's call in a process that runs already, ours in one (bench/load) and as the
whole process `cleave profile FILE --depth 1`. The best of many on both sides.
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
    from tv import torch, torchvision
except ImportError as e:
    print(f"SKIP pt2_peers: {e}")
    sys.exit(0)

CLEAVE = os.path.join(os.environ.get("CLEAVE_BUILD", str(ROOT / "build")), "cli", "cleave")
LOAD = os.path.join(os.path.dirname(CLEAVE), "..", "bench", "load")
BOUND, RUNS, OURS = 100, 5, 60


def children():
    t = resource.getrusage(resource.RUSAGE_CHILDREN)
    return t.ru_utime + t.ru_stime


def main():
    model = torchvision.models.resnet50(weights=None).eval()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "resnet50.pt2")
        torch.export.save(torch.export.export(model, (torch.randn(1, 3, 224, 224),)), path)
        size = os.path.getsize(path) / 1e6
        torch.export.load(path)    # whatever is done once
        peer, ours = [], []
        for _ in range(RUNS):
            t = time.process_time()
            torch.export.load(path)
            peer.append(time.process_time() - t)
        for _ in range(OURS):
            t = children()
            subprocess.run([CLEAVE, "profile", path, "--depth", "1"], check=True, stdout=subprocess.DEVNULL)
            ours.append(max(children() - t, 1e-6))
        call = float(subprocess.check_output([LOAD, path, str(OURS)]).split()[0])
    ratio = min(peer) / min(ours)
    print(f"pt2 of {size:.0f} MB: torch.export.load {min(peer) * 1e3:.0f} ms, cleave in one call {call * 1e3:.2f} ms, "
          f"{min(peer) / call:.0f} times; whole process {min(ours) * 1e3:.2f} ms, {ratio:.0f} times (bound {BOUND})")
    sys.exit(ratio < BOUND)


if __name__ == "__main__":
    main()

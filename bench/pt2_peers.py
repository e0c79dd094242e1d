"""`cleave profile FILE` on a torch.export archive of 100 MB, against
torch.export.load of the same file: at least 100 times, in processor time of one
process each, without starting Python. The best of a few runs on both sides.
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
BOUND, RUNS = 100, 5


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
            t = children()
            subprocess.run([CLEAVE, "profile", path, "--depth", "1"], check=True, stdout=subprocess.DEVNULL)
            ours.append(children() - t)
    ratio = min(peer) / max(min(ours), 1e-6)
    print(f"pt2 of {size:.0f} MB: torch.export.load {min(peer) * 1e3:.0f} ms, cleave profile {min(ours) * 1e3:.1f} ms, "
          f"{ratio:.0f} times (bound {BOUND})")
    sys.exit(ratio < BOUND)


if __name__ == "__main__":
    main()

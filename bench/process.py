"""process.py - `cleave profile resnet50 --json` as a whole process, against

  - fvcore's FlopCountAnalysis(resnet50).total() alone, with the model built and
    PyTorch imported before the clock starts: at least 100 times faster;
  - starting `python3 -c pass`: faster.

Each figure is the fastest of many runs, taken in turns.
"""
import os
import shutil
import sys
import time
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../tests/gen"))
from tv import torch, torchvision  # noqa: E402
from fvcore.nn import FlopCountAnalysis  # noqa: E402

warnings.filterwarnings("ignore")


def run(command):
    """Seconds from starting a process to its end; its output is dropped."""
    drop = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0)
            for fd in (1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=drop)
    _, status = os.waitpid(pid, 0)
    seconds = time.perf_counter() - start
    if status != 0:
        sys.exit(f"process: {' '.join(command)} failed")
    return seconds


def fvcore(model, image):
    start = time.perf_counter()
    analysis = FlopCountAnalysis(model, image)
    analysis.unsupported_ops_warnings(False).uncalled_modules_warnings(False)
    analysis.total()
    return time.perf_counter() - start


def main():
    cleave = [os.path.join(os.environ["CLEAVE_BUILD"], "cli/cleave"),
              "profile", "resnet50", "--json"]
    python = [shutil.which("python3"), "-c", "pass"]
    model = torchvision.models.resnet50(weights=None).eval()
    image = torch.zeros(1, 3, 224, 224)
    ours, peer, start = [], [], []
    for _ in range(10):
        ours += [run(cleave) for _ in range(20)]
        start += [run(python) for _ in range(2)]
        peer.append(fvcore(model, image))
    best = min(ours)
    slower, startup = min(peer) / best, min(start) / best
    print(f"process: {1e3 * best:.2f} ms; fvcore takes {slower:.0f} times "
          f"as long (at least 100)")
    print(f"process: starting Python takes {startup:.1f} times as long "
          f"(at least 1)")
    return slower < 100 or startup < 1


sys.exit(main())

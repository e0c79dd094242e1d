"""Capture over torch's own tracing, and analysis against fvcore's.

Bounds: the bridge adds at most 10 % to torch's tracing with shapes; analysis
of a captured graph is at least 1000 times faster than fvcore's."""
import os
import sys
import time

root, build = os.environ["CLEAVE_ROOT"], os.environ["CLEAVE_BUILD"]
sys.path[:0] = [build + "/python", root + "/python", root + "/tests/gen"]

from tv import torch, torchvision

import cleave._cleave as engine
from cleave.torch import propagate


def best(run, times):
    def once():
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
    return min(once() for _ in range(times))


model = torchvision.models.resnet50(weights=None).eval()
x = torch.rand(1, 3, 224, 224)
trace = lambda: propagate(torch.fx.symbolic_trace(model), x)
module = trace()
tracing = best(trace, 3)
bridge = best(lambda: engine.from_fx(module, "resnet50"), 5)
graph = engine.from_fx(module, "resnet50")
analysis = best(lambda: graph.profile(text=True), 20)
failed = bridge > 0.1 * tracing
print(f"capture resnet50: {100 * bridge / tracing:.1f} % over torch's tracing "
      "(<= 10 %)")
try:
    import logging
    from fvcore.nn import FlopCountAnalysis
    logging.getLogger("fvcore").setLevel(logging.ERROR)
    theirs = best(lambda: FlopCountAnalysis(model, x).total(), 1)
    print(f"analysis resnet50: {theirs / analysis:.0f} x fvcore's (>= 1000 x)")
    failed = failed or theirs < 1000 * analysis
except ImportError:
    print("SKIP no fvcore")
sys.exit(failed)

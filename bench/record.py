"""Recording a run over the run itself, on tensors without data.

Bound: over a dozen networks, the median of record / forward pass is at most 1.5.
Both take attention apart (torch's fused path is off in both), and run in turn;
the times are the processor's, the best of five."""
import os
import statistics
import sys
import time

root, build = os.environ["CLEAVE_ROOT"], os.environ["CLEAVE_BUILD"]
sys.path[:0] = [build + "/python", root + "/tests/gen"]

from tv import torch, torchvision
from torch._subclasses.fake_tensor import FakeTensorMode

from cleave.record import record

NETWORKS = """alexnet resnet18 resnet50 mobilenet_v3_large efficientnet_b0
vit_b_16 swin_t swin_v2_t convnext_tiny densenet121 regnet_y_400mf
maxvit_t""".split()


def forward(model, x):
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        model(mode.from_tensor(x))


def seconds(run):
    start = time.process_time()
    run()
    return time.process_time() - start


torch.backends.mha.set_fastpath_enabled(False)
torch.set_grad_enabled(False)
ratios = {}
for name in NETWORKS:
    model = torchvision.models.get_model(name, weights=None).eval()
    x = torch.rand(1, 3, 224, 224)
    turns = [(seconds(lambda: forward(model, x)),
              seconds(lambda: record(model, (x,), {}))) for _ in range(5)]
    plain, recorded = (min(t) for t in zip(*turns))
    ratios[name] = recorded / plain
    print(f"record: {name} {ratios[name]:.2f} times the forward pass, "
          f"{1e3 * recorded:.0f} ms")
middle = statistics.median(ratios.values())
print(f"record: median {middle:.2f} (at most 1.5), worst "
      f"{max(ratios.values()):.2f} ({max(ratios, key=ratios.get)})")
sys.exit(middle > 1.5)

"""Recording a run over the run itself, on tensors without data.

Bound: over thirty networks, the median of record / forward pass is at most 1.5.
Both take attention apart (torch's fused path is off in both), and run in turn;
the times are the processor's, the best of three."""
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
maxvit_t vgg11 vgg16_bn squeezenet1_1 mobilenet_v2 mobilenet_v3_small
mnasnet0_5 shufflenet_v2_x0_5 shufflenet_v2_x1_0 efficientnet_b3
efficientnet_v2_s regnet_x_400mf regnet_y_1_6gf resnext50_32x4d
wide_resnet50_2 resnet34 densenet169 convnext_small vit_b_32""".split()
TURNS = 3


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
              seconds(lambda: record(model, (x,), {}))) for _ in range(TURNS)]
    plain, recorded = (min(t) for t in zip(*turns))
    ratios[name] = recorded / plain
    print(f"record: {name} {ratios[name]:.2f} times the forward pass, "
          f"{1e3 * recorded:.0f} ms")
middle = statistics.median(ratios.values())
print(f"record: median {middle:.2f} (at most 1.5), worst "
      f"{max(ratios.values()):.2f} ({max(ratios, key=ratios.get)})")
sys.exit(middle > 1.5)

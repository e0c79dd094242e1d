"""Traced models compute what eager PyTorch does, within 1e-4, with operators
drawn at random forced to the CPU; every supported partition runs in cleave.
timeout: 1800

Twenty of them: torchvision's families, a segmentation net, transformers, YOLO,
small ones of our own. MODELS=a,b picks some. A line per model says how many
partitions ran in cleave."""
import importlib.util
import os
import random

from py_check import check, main, skip

import cleave.neuron as torch_neuronx
from tv import torch, torchvision
from torch import nn

torch.set_num_threads(1)
image = torch.rand(1, 3, 64, 64)


def vision(name, x=image, **options):
    def make():
        return torchvision.models.get_model(name, weights=None, **options), x
    return make


def segmentation():
    return torchvision.models.segmentation.lraspp_mobilenet_v3_large(
        weights=None, weights_backbone=None), image


def vit():
    return torchvision.models.VisionTransformer(64, 16, 4, 4, 64, 128), image


def bert():
    from transformers import BertConfig, BertModel
    config = BertConfig(hidden_size=64, num_hidden_layers=2,
                        num_attention_heads=4, intermediate_size=96)
    tokens = torch.randint(0, 1000, (2, 16))
    mask = torch.ones_like(tokens)
    mask[1, 10:] = 0
    return BertModel(config), {"input_ids": tokens, "attention_mask": mask}


def yolo():
    from ultralytics.nn.tasks import DetectionModel, yaml_model_load
    return DetectionModel(yaml_model_load("yolov8n.yaml"), verbose=False), image


class Gated(nn.Module):
    """Branches, a gate, uneven resizing, softmax over channels."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(3, 8, 1)
        self.up = nn.Upsample(scale_factor=1.5, mode="bilinear")
        self.norm = nn.GroupNorm(2, 8)

    def forward(self, x):
        y = self.a(x).tanh() * torch.sigmoid(self.b(x))
        y = nn.functional.pad(self.norm(y), (1, 2, 0, 1), mode="replicate")
        return torch.softmax(self.up(y), 1)[:, :, ::2]


class Sequence(nn.Module):
    """Embedding, attention with a mask, a tied head."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(50, 32)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)

    def forward(self, tokens, mask):
        x = self.layer(self.table(tokens), src_key_padding_mask=mask)
        return x @ self.table.weight.T


def sequence():
    mask = torch.zeros(2, 9, dtype=torch.bool)
    mask[1, 6:] = True
    return Sequence(), (torch.randint(0, 50, (2, 9)), mask)


NETS = {
    **{n: vision(n) for n in """alexnet resnet18 squeezenet1_1 mobilenet_v2
       mobilenet_v3_small shufflenet_v2_x0_5 mnasnet0_5 regnet_y_400mf
       efficientnet_b0 densenet121 convnext_tiny swin_t""".split()},
    "vgg11": vision("vgg11", num_classes=10),
    "googlenet": vision("googlenet", init_weights=False),
    "inception_v3": vision("inception_v3", torch.rand(1, 3, 96, 96),
                           init_weights=False),
    "vit": vit, "lraspp": segmentation, "bert": bert, "yolov8n": yolo,
    "gated": lambda: (Gated(), image), "sequence": sequence,
}
NEEDS = {"bert": "transformers", "yolov8n": "ultralytics"}


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors(v)] \
        if isinstance(value, (tuple, list)) else []


def call(net, inputs):
    with torch.no_grad():
        if isinstance(inputs, dict):
            return tensors(net(**inputs))
        return tensors(net(*inputs) if isinstance(inputs, tuple)
                       else net(inputs))


def trace(name, chance):
    torch.manual_seed(0)
    model, inputs = NETS[name]()
    model.eval()
    call(model, inputs)    # sets what the first call sets
    want = call(model, inputs)
    kinds = sorted(torch_neuronx.analyze(model, inputs)["supported_operators"])
    forced = set(chance.sample(kinds, min(len(kinds), chance.randint(1, 3))))
    net = torch_neuronx.trace(
        model, inputs, partitioner_config=torch_neuronx.PartitionerConfig(
            ops_to_partition=forced, model_support_percentage_threshold=0),
        backend=torch_neuronx._default_backend())
    got = call(net, inputs)
    ran = [r for d, r, _ in net.runtimes() if d == "NEURON"]
    print(f"{name}: {len(net.devices)} partitions, {ran.count('cleave')} of "
          f"{len(ran)} supported ones in cleave; on the CPU too "
          f"{', '.join(sorted(forced))}", flush=True)
    return got, want, net.runtimes()


def test_models():
    chance = random.Random(7)
    picked = os.environ.get("MODELS")
    for name in picked.split(",") if picked else NETS:
        if name in NEEDS and not importlib.util.find_spec(NEEDS[name]):
            skip(f"{name}: no {NEEDS[name]}")
            continue
        got, want, runs = trace(name, chance)
        check(len(got) == len(want), f"{name}: {len(got)} outputs")
        for a, b in zip(got, want):
            off = (a.double() - b.double()).abs().max().item()
            check(off <= 1e-4 * max(1, b.abs().max().item()),
                  f"{name}: off by {off}")
        check(all(r == "cleave" for d, r, _ in runs if d == "NEURON"),
              f"{name}: {sorted({w for _, _, w in runs if w})}")


main(globals())

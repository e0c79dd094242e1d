#!/usr/bin/env python3
"""The multi-layer perceptrons of a partitioner's application note, as ONNX.

Writes tests/data/onnx_capability/: log-softmax then sort (sort_end), sort after
the first layer (sort_middle), and two parallel linear-sort-linear branches
(branches), each with an input (.x.npy) and what PyTorch makes of it (.y.npy).
Layers are narrow so that the files are small; the operators are those of the
note. ONNX writes torch.sort as TopK over the whole axis.
"""
import os
import sys
import warnings

import numpy
import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self, middle):
        super().__init__()
        self.middle = middle
        self.fc1, self.fc2, self.fc3 = nn.Linear(28, 24), nn.Linear(24, 16), nn.Linear(16, 10)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.fc1(x))
        if self.middle:
            x, _ = torch.sort(x)
        x = self.relu(self.fc2(x))
        x = torch.log_softmax(self.fc3(x), dim=1)
        if not self.middle:
            x, _ = torch.sort(x)
        return x


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a1, self.a2 = nn.Linear(16, 16), nn.Linear(16, 16)
        self.b1, self.b2 = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x):
        a = self.a2(torch.sort(self.a1(x))[0])
        b = self.b2(torch.sort(self.b1(x))[0])
        return a + b


def main():
    folder = os.path.join(os.path.dirname(__file__), "..", "data", "onnx_capability")
    os.makedirs(folder, exist_ok=True)
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    for name, model, width in [("sort_end", Mlp(False), 28), ("sort_middle", Mlp(True), 28),
                               ("branches", Branches(), 16)]:
        path = os.path.join(folder, name + ".onnx")
        x = torch.rand(32, width)
        torch.onnx.export(model.eval(), (x,), path, dynamo=False)
        numpy.save(path.replace(".onnx", ".x.npy"), x.numpy())
        numpy.save(path.replace(".onnx", ".y.npy"), model(x).detach().numpy())
        print(path, os.path.getsize(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())

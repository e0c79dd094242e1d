#!/usr/bin/env python3
"""The multi-layer perceptrons of a partitioner's application note, as ONNX.

Writes tests/data/onnx_capability/: log-softmax then sort (sort_end), sort after
the first layer (sort_middle), and two parallel linear-sort-linear branches
(branches), each with an input (.x.npy) and what PyTorch makes of it (.y.npy).
Layers are narrow so that the files are small; the operators are those of the
note. ONNX writes torch.sort as TopK over the whole axis.

Then graphs that partitioners are known to get wrong: the crossed pair, whose
neighbours must not merge (crossed_pair); two resolutions that read each other, as
in HRNet (exchange); a constant read on both devices (shared_constant); an
operator with several results that are picked one by one (getitem); two draws of
random numbers that must not be swapped (random_order).
"""
import os
import sys
import warnings

import numpy
import onnx
import torch
from onnx import TensorProto, helper
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


def write(folder, name, nodes, outputs, constants=(), shape=(4, 8)):
    """Nodes are (operator, inputs, outputs, attributes), an input left out is -,
    and the graph's own input is x."""
    made = [helper.make_node(op, [w.strip("-") for w in i.split()], o.split(), name=o.split()[0],
                             **a) for op, i, o, a in nodes]
    graph = helper.make_graph(
        made, name, [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
        list(constants))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    model = onnx.shape_inference.infer_shapes(model)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(folder, name + ".onnx"))


def exchange():
    """Two branches, one at half the size, that read each other four times; on
    every second exchange the lower passes a Sin."""
    half = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [("Relu", "x", "a0", {}), ("MaxPool", "x", "b0", half)]
    for k in range(4):
        low = f"s{k}" if k % 2 else f"b{k}"
        nodes += [("Sin", f"b{k}", low, {})] if k % 2 else []
        nodes += [("MaxPool", f"a{k}", f"down{k}", half),
                  ("Resize", f"{low} - - sizes", f"up{k}", {"mode": "nearest"}),
                  ("Add", f"a{k} up{k}", f"a{k + 1}", {}),
                  ("Add", f"{low} down{k}", f"b{k + 1}", {})]
    return nodes


def known_wrong(folder):
    write(folder, "crossed_pair", [
        ("Relu", "x", "n0", {}), ("Neg", "x", "n1", {}), ("Sin", "n0", "n2", {}),
        ("Sin", "n1", "n3", {}), ("Add", "n0 n3", "n4", {}), ("Add", "n1 n2", "n5", {}),
    ], ["n4", "n5"])
    write(folder, "exchange", exchange(), ["a4", "b4"],
          [helper.make_tensor("sizes", TensorProto.INT64, [4], [1, 2, 8, 8])], (1, 2, 8, 8))
    write(folder, "shared_constant", [
        ("Add", "x w", "a", {}), ("Sin", "a", "b", {}), ("Mul", "b w", "c", {}),
        ("Relu", "c", "d", {}), ("Add", "d w", "e", {}),
    ], ["e"], [helper.make_tensor("w", TensorProto.FLOAT, [4, 8], [0.5] * 32)])
    write(folder, "getitem", [
        ("Split", "x", "p0 p1", {"axis": 1}), ("Identity", "p0", "i0", {}),
        ("Identity", "p1", "i1", {}), ("Identity", "i1", "i2", {}), ("Relu", "i0", "r0", {}),
        ("Add", "r0 i2", "s", {}), ("Split", "s", "q0 q1", {"axis": 1}),
        ("Identity", "q0", "i3", {}), ("Mul", "i3 q1", "y", {}),
    ], ["y"])
    write(folder, "random_order", [
        ("RandomNormalLike", "x", "r0", {}), ("Relu", "x", "a", {}),
        ("Bernoulli", "a", "r1", {}), ("RandomUniformLike", "x", "r2", {}),
        ("Add", "r0 r1", "s", {}), ("Add", "s r2", "y", {}),
    ], ["y"])


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
    known_wrong(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

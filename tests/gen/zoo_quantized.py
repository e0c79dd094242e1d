#!/usr/bin/env python3
"""Quantised networks of the zoo against torchvision's.

    tests/gen/zoo_quantized.py > tests/data/zoo_quantized.csv
    tests/gen/zoo_quantized.py --run [--cleave PATH] [NAME...]

Writes the bytes of int8 weights and of biases of every quantised network. With
--run, weights, scales and zero points of the live network, whose floats are
random, are copied into what `cleave export` writes, and the results of `cleave
run` are compared with torch's: the largest difference is printed in steps of the
last scale. Both round to integers at every layer, so that one or two steps are
equal; more is a failure.
"""
import argparse
import pathlib
import subprocess
import sys
import tempfile

import numpy
import onnx
from onnx import numpy_helper

from tv import torch, torchvision as tv

ROOT = pathlib.Path(__file__).resolve().parents[2]
RUN = ["quantized_resnet18", "quantized_shufflenet_v2_x0_5", "quantized_googlenet"]


def build(name):
    """The network without the heads of training."""
    torch.manual_seed(0)
    torch.backends.quantized.engine = "fbgemm"
    options = ({"aux_logits": False} if name.endswith(("googlenet", "inception_v3"))
               else {})
    return tv.models.get_model(name, weights=None, quantize=True, **options).eval()


def entries(model):
    """Names and tensors of the state dict; a linear layer has a pair of them."""
    for name, value in model.state_dict(keep_vars=True).items():
        if isinstance(value, tuple):
            for i, part in enumerate(value):
                yield f"{name}.{i}", part
        elif isinstance(value, torch.Tensor):
            yield name, value


def bytes_of(name):
    return sum(v.numel() * v.element_size() for n, v in entries(build(name))
               if not n.endswith(("scale", "zero_point")))


def fill(model, live):
    """Copies a live network into a file; biases become integers."""
    state, values = dict(entries(live)), {}
    stored = {t.name: t for t in model.graph.initializer}

    def put(name, value):
        old = numpy_helper.to_array(stored[name])
        new = numpy.broadcast_to(numpy.asarray(value), old.shape)
        new = new.reshape(old.shape).astype(old.dtype)
        stored[name].CopyFrom(numpy_helper.from_array(new, name))
        values[name] = new

    for name, value in state.items():
        if name not in stored:  # of sums that are not there
            assert ".skip_add." in name, name
        elif value.dtype == torch.qint8:
            put(name, value.int_repr().numpy())
            layer = name.removesuffix(".weight").removesuffix(
                "._packed_params._packed_params.0")
            one = value.qscheme() == torch.per_tensor_affine
            put(layer + ".weight.scale", value.q_scale() if one
                else value.q_per_channel_scales().numpy())
            put(layer + ".weight.zero_point", value.q_zero_point() if one
                else value.q_per_channel_zero_points().numpy())
        elif name.endswith(("scale", "zero_point")):
            put(name, value.detach().numpy())
    for node in model.graph.node:
        if node.op_type == "QLinearConv":
            step = values[node.input[1]].reshape(-1)[0] * values[node.input[4]]
            bias = state[node.input[8]].detach().numpy()
            put(node.input[8], numpy.round(bias / step))


def compare(cleave, name, folder):
    live, side = build(name), 299 if "inception" in name else 224
    subprocess.check_call([cleave, "export", name, "--weights", "zeros", "-q",
                           "-o", str(folder / "own.onnx")])
    model = onnx.load(str(folder / "own.onnx"))
    fill(model, live)
    onnx.save(model, str(folder / "model.onnx"))
    x = torch.rand(1, 3, side, side, generator=torch.Generator().manual_seed(1))
    numpy.save(folder / "x.npy", x.numpy())
    with torch.no_grad():
        want = live(x).numpy()
    subprocess.check_call(
        [cleave, "run", str(folder / "model.onnx"), "-q", "-i",
         f"x={folder / 'x.npy'}", "-o", str(folder / "out.npz")],
        stdout=subprocess.DEVNULL)
    with numpy.load(folder / "out.npz") as out:
        got = out[out.files[0]]
    steps = numpy.diff(numpy.unique(want))
    assert len(steps), "all of torch's results are equal"
    return float(numpy.abs(got - want).max() / steps.min())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", default=ROOT / "build/cli/cleave")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    failed = 0
    if not options.run:
        print("name,bytes")
        for name in tv.models.list_models(tv.models.quantization):
            print(f"{name},{bytes_of(name)}", flush=True)
        return
    for name in options.names or RUN:
        with tempfile.TemporaryDirectory() as folder:
            steps = compare(options.cleave, name, pathlib.Path(folder))
        failed += not steps < 2.5
        print(f"{name} {steps:.3g} steps{'' if steps < 2.5 else ' FAILED'}",
              flush=True)
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()

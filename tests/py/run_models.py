"""Whole networks: what cleave run computes equals ONNX Runtime.

Each model is written as ONNX with random weights and run on the same random
input by ONNX Runtime and by cleave: oneDNN alone, oneDNN with operators forced
to the CPU, and plain C kernels alone (small models; all with CLEAVE_SLOW=1).
Outputs must agree within 1e-3 of the largest magnitude.
"""
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime

BUILD = os.environ.get("CLEAVE_BUILD", "build")
CLEAVE = os.path.join(BUILD, "cli", "cleave")
SLOW = bool(os.environ.get("CLEAVE_SLOW"))
SMALL = ["squeezenet1_1", "shufflenet_v2_x0_5", "mnasnet0_5", "mobilenet_v3_small", "mobilenet_v2"]
MORE = ["alexnet", "resnet18", "resnet34", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "vgg11", "vgg16_bn",
        "densenet121", "googlenet", "inception_v3", "mobilenet_v3_large", "mnasnet1_0", "efficientnet_b0",
        "efficientnet_b1", "efficientnet_v2_s", "regnet_x_400mf", "regnet_y_400mf", "convnext_tiny", "vit_b_32",
        "swin_t", "swin_v2_t", "maxvit_t"]
LIST = SMALL + MORE if SLOW else SMALL


def run(path, x, folder, *flags):
    subprocess.run([CLEAVE, "run", path, "--input", x, "--output", folder, "--quiet", *flags], check=True,
                   stdout=subprocess.DEVNULL)
    return [np.load(os.path.join(folder, f)) for f in sorted(os.listdir(folder))]


def compare(got, want, what):
    assert len(got) == len(want), f"{what}: {len(got)} outputs, expected {len(want)}"
    for y in want:
        near = min((float(np.abs(g - y).max() / np.abs(y).max()) for g in got if g.shape == y.shape), default=np.inf)
        assert near < 1e-3, f"{what}: relative error {near:.3g}"


def test(model, folder):
    path, x = os.path.join(folder, "m.onnx"), os.path.join(folder, "x.npy")
    subprocess.run([CLEAVE, "export", model, "-o", path, "--weights", "random:1"], check=True)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = session.get_inputs()[0]
    data = np.random.default_rng(0).standard_normal(feed.shape, dtype=np.float32)
    np.save(x, data)
    want = session.run(None, {feed.name: data})
    ways = [("onednn", ["--backend", "onednn"]), ("mixed", ["--backend", "onednn", "--cpu-ops", "relu,mul,add"])]
    if SLOW or model in SMALL:
        ways.append(("ref", ["--backend", "ref"]))
    for what, flags in ways:
        compare(run(path, x, os.path.join(folder, what), *flags), want, f"{model} {what}")


bad = 0
for name in sys.argv[1:] or LIST:
    with tempfile.TemporaryDirectory() as place:
        try:
            test(name, place)
            print(f"ok {name}", flush=True)
        except Exception as e:
            bad += 1
            print(f"FAIL {name}: {str(e)[:300]}", flush=True)
n = len(sys.argv[1:] or LIST)
print(f"# {n - bad} passed, {bad} failed, 0 skipped")
sys.exit(bad > 0)

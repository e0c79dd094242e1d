"""Whole networks: what cleave run computes equals ONNX Runtime.
timeout: 1800

Each torchvision model is exported from PyTorch with random weights and run on
the same input by ONNX Runtime and by cleave in three ways: plain C kernels
alone, oneDNN, and oneDNN with operators forced to the CPU. Outputs must agree
within 1e-3 of the largest magnitude. Images are small, so that plain C is
quick. All models with CLEAVE_SLOW=1, a few without.
"""
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

try:
    import onnxruntime
    from tv import torch, torchvision
except ImportError as e:
    print(f"SKIP whole networks: {e}")
    print("# 0 passed, 0 failed, 1 skipped")
    sys.exit(0)

BUILD = os.environ.get("CLEAVE_BUILD", "build")
CLEAVE = os.path.join(BUILD, "cli", "cleave")
FEW = ["squeezenet1_1", "resnet18", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x0_5", "efficientnet_b0"]
MORE = ["alexnet", "resnet34", "resnet50", "resnext50_32x4d", "wide_resnet50_2", "vgg11", "densenet121",
        "googlenet", "inception_v3", "mobilenet_v3_large", "mnasnet0_5", "mnasnet1_0", "efficientnet_b1",
        "efficientnet_v2_s", "regnet_x_400mf", "regnet_y_400mf", "convnext_tiny", "vit_b_32", "swin_t", "swin_v2_t",
        "maxvit_t", "fcn_resnet50"]
SIDE = {"alexnet": 224, "vgg11": 224, "inception_v3": 96, "vit_b_32": 224, "maxvit_t": 224}    # 64 for all others
WAYS = {"ref": ["--backend", "ref"], "onednn": ["--backend", "onednn"],
        "mixed": ["--backend", "onednn", "--cpu-ops", "relu,hardtanh,mul,add,softmax"]}


def build(name):
    torch.manual_seed(0)
    none = {"googlenet": {"init_weights": False}, "inception_v3": {"init_weights": False},
            "fcn_resnet50": {"weights_backbone": None}}
    model = torchvision.models.get_model(name, weights=None, **none.get(name, {})).eval()
    with torch.no_grad():
        for p in model.parameters():
            if p.abs().max() == 0:    # a head that starts at zero says nothing
                p.normal_(0, 0.05)
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.1)
                m.running_var.uniform_(0.5, 1.5)
    return model


def export(name, path):
    side = SIDE.get(name, 64)
    x = torch.randn(1, 3, side, side)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(build(name), (x,), path, input_names=["x"], output_names=["y"], dynamo=False,
                          verbose=False)
    return x.numpy()


def run(path, x, folder, flags):
    done = subprocess.run([CLEAVE, "run", path, "--input", x, "--output", folder, "--quiet", *flags],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr.strip()
    return np.load(os.path.join(folder, "y.npy"))


def test(name, folder):
    path, x = os.path.join(folder, "m.onnx"), os.path.join(folder, "x.npy")
    data = export(name, path)
    np.save(x, data)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    want = session.run(["y"], {"x": data})[0]
    scale = float(np.abs(want).max())
    assert np.isfinite(scale) and scale > 0
    said = []
    for way, flags in WAYS.items():
        got = run(path, x, os.path.join(folder, way), flags)
        assert got.shape == want.shape, f"{way}: shape {got.shape}, expected {want.shape}"
        error = float(np.abs(got - want).max()) / scale
        assert error < 1e-3, f"{way}: relative error {error:.3g}"
        said.append(f"{way} {error:.1e}")
    return ", ".join(said)


names = sys.argv[1:] or FEW + (MORE if os.environ.get("CLEAVE_SLOW") else [])
bad = 0
for name in names:
    with tempfile.TemporaryDirectory() as place:
        try:
            print(f"ok {name}: {test(name, place)}", flush=True)
        except Exception as e:
            bad += 1
            print(f"FAIL {name}: {str(e)[:300]}", flush=True)
print(f"# {len(names) - bad} passed, {bad} failed, 0 skipped")
sys.exit(bad > 0)

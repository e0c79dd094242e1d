"""Whole networks in every file of PyTorch: live = .pt2 = TorchScript, and
ultralytics' checkpoints as torch counts and computes them.
timeout: 3600

Parameters are those of the module, multiply-accumulates those of the live
capture and of torch's own counter; what `run` computes from the .pt2, the traced
and the scripted module is within 1e-4 of torch. All networks with CLEAVE_SLOW=1, a
few without; tests/gen/run_torch_files.py has more, at their usual sizes.
"""
import json
import os
import subprocess
import sys
import tempfile
import warnings

import numpy as np

try:
    from tv import torch, torchvision
    import cleave.torch
except ImportError as e:
    print(f"SKIP files of PyTorch: {e}")
    print("# 0 passed, 0 failed, 1 skipped")
    sys.exit(0)
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

warnings.simplefilter("ignore")
os.environ.setdefault("YOLO_VERBOSE", "False")
CLEAVE = os.path.join(os.environ.get("CLEAVE_BUILD", "build"), "cli", "cleave")
SLOW = os.environ.get("CLEAVE_SLOW") == "1"
FEW = ["resnet18", "mobilenet_v3_small", "swin_t", "small_vit"]
MORE = ["alexnet", "squeezenet1_1", "vgg11", "densenet121", "googlenet", "inception_v3", "shufflenet_v2_x0_5",
        "mobilenet_v2", "mnasnet0_5", "efficientnet_b0", "regnet_y_400mf", "convnext_tiny", "vit_b_32", "swin_v2_t",
        "maxvit_t", "resnext50_32x4d"]
SIDE = {"alexnet": 224, "vgg11": 224, "inception_v3": 96, "vit_b_32": 224, "maxvit_t": 224}    # 64 for all others
YOLO_FEW = ["yolov8n", "yolo11n+"]    # + is fused
YOLO_MORE = ["yolov8n+", "yolov8n-seg", "yolo11n-pose", "yolo11n-obb", "yolov8n-cls", "yolov10n", "yolo12n", "yolov9t",
             "yolov5n", "yolov3-tiny", "yolov6n", "yolov9c", "yolov9e", "yolov8n-ghost", "yolov3-spp", "yolo11x"]


def call(*words):
    done = subprocess.run([CLEAVE, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr.strip()
    return done.stdout


def profile(path, *words):
    got = json.loads(call("profile", path, "--json", *words))
    return got["total_params"], got["total_macs"]


def liven(model):
    with torch.no_grad():
        for m in model.modules():
            if isinstance(m, torch.nn.BatchNorm2d):
                m.running_mean.normal_(0, 0.1)
                m.running_var.uniform_(0.5, 1.5)
    return model.eval()


def error(path, x, want, folder, *words):
    data, out = os.path.join(folder, "x.npy"), os.path.join(folder, "out")
    np.save(data, x.numpy())
    call("run", path, "--input", data, "--output", out, "--quiet", *words)
    got = [np.load(os.path.join(out, f)) for f in sorted(os.listdir(out))]
    return min(float(np.abs(g - want).max() / np.abs(want).max()) for g in got if g.shape == want.shape)


def network(name):
    if name == "small_vit":  # scripted, it asks for devices and kinds of tensors
        model = torchvision.models.VisionTransformer(64, 16, 2, 4, 64, 128, num_classes=10)
        torch.nn.init.normal_(model.heads.head.weight)
        return model
    none = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return torchvision.models.get_model(name, weights=None, **none)


def test_network(name, folder):
    torch.manual_seed(0)
    torch.backends.mha.set_fastpath_enabled(False)  # torch's counter does not see it
    model = liven(network(name))
    side = SIDE.get(name, 64)
    x = torch.randn(1, 3, side, side)
    with torch.no_grad(), FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        want = model(x)
    live = cleave.torch.capture(model, (x,)).graph.profile()
    params = sum(p.numel() for p in model.parameters())
    expected = (params, live["total_macs"])
    assert counter.get_total_flops() // 2 == live["total_macs"], "live capture"
    pt2, traced, scripted = (os.path.join(folder, f) for f in ("m.pt2", "t.pt", "s.pt"))
    torch.export.save(torch.export.export(model, (x,)), pt2)
    assert profile(pt2) == expected, f".pt2 {profile(pt2)}, not {expected}"
    shape = ("--input-shape", f"1,3,{side},{side}")
    torch.jit.trace(model, x).save(traced)
    used = profile(traced, *shape)
    assert used[1] == expected[1], f"traced {used}, not {expected}"
    torch.jit.script(model).save(scripted)
    assert profile(scripted, *shape)[1] == expected[1], f"scripted {profile(scripted, *shape)}, not {expected}"
    e = [error(pt2, x, want.numpy(), folder)] + [error(f, x, want.numpy(), folder, *shape) for f in (traced, scripted)]
    assert max(e) < 1e-4, "run differs by " + " ".join(f"{each:.1e}" for each in e)
    return f"{params} parameters, {live['total_macs']} MACs, run {max(e):.1e}"


def test_yolo(name, folder):
    from ultralytics import YOLO
    torch.manual_seed(0)
    model = liven(YOLO(name.rstrip("+") + ".yaml").model)
    if name.endswith("+"):
        model = model.fuse(verbose=False)
    path, x = os.path.join(folder, "m.pt"), torch.rand(1, 3, 64, 64)
    torch.save({"model": model}, path)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        want = model(x)
    while isinstance(want, (tuple, list)):
        want = want[0]
    expected = (sum(p.numel() for p in model.parameters()), counter.get_total_flops() // 2)
    shape = ("--input-shape", "1,3,64,64")
    assert profile(path, *shape) == expected, f"{profile(path, *shape)}, not {expected}"
    e = error(path, x, want.numpy(), folder, *shape)
    assert e < 1e-4, f"run differs by {e:.1e}"
    return f"{expected[0]} parameters, {expected[1]} MACs, run {e:.1e}"


def main():
    passed = failed = skipped = 0
    work = [(test_network, n) for n in FEW + (MORE if SLOW else [])]
    work += [(test_yolo, n) for n in YOLO_FEW + (YOLO_MORE if SLOW else [])]
    for test, name in work:
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"ok {name}: {test(name, folder)}", flush=True)
                passed += 1
            except ModuleNotFoundError as e:    # ultralytics comes with tools/pyenv --gen alone
                print(f"SKIP {name}: {e}", flush=True)
                skipped += 1
            except Exception as e:    # every network is reported
                print(f"FAIL {name}: {e}", flush=True)
                failed += 1
    print(f"# {passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(failed > 0)


main()

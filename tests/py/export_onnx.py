"""Other readers' word on the ONNX files that cleave writes.

Every file must pass onnx.checker; ten models are run in ONNX Runtime with random
weights, and the shapes that come out must be those that cleave states.
"""
import json
import os
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

BUILD = os.environ.get("CLEAVE_BUILD", "build")
CLEAVE = os.path.join(BUILD, "cli", "cleave")
RUN = ["alexnet", "resnet18", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x1_0",
       "mnasnet0_5", "efficientnet_b0", "regnet_x_400mf", "googlenet", "vit_b_32", "swin_t", "convnext_tiny"]
if os.environ.get("CLEAVE_SLOW"):
    CHECK = subprocess.run([CLEAVE, "models", "--names"], capture_output=True, text=True).stdout.split()
else:
    CHECK = ["densenet121", "inception_v3", "vgg11", "maxvit_t", "swin_v2_t", "s3d", "r3d_18", "fcn_resnet50",
             "lraspp_mobilenet_v3_large", "regnet_y_400mf"]


def export(model, path, *flags):
    subprocess.run([CLEAVE, "export", model, "-o", path, *flags], check=True)


def test_runs(model, folder):
    path = os.path.join(folder, model + ".onnx")
    export(model, path, "--weights", "random:1")
    onnx.checker.check_model(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = {i.name: np.random.default_rng(0).random(i.shape, dtype=np.float32) for i in session.get_inputs()}
    got = session.run(None, feed)
    said = json.loads(subprocess.run([CLEAVE, "profile", model, "--json"], capture_output=True).stdout)
    assert [list(y.shape) for y in got] == [o["shape"] for o in said["outputs"]], "other shapes"
    assert all(np.isfinite(y).all() for y in got), "not finite"
    os.unlink(path)


def test_checks(model, folder):
    for opset in (17, 21):
        path = os.path.join(folder, model + ".onnx")
        export(model, path, "--weights", "zeros", "--opset", str(opset))
        onnx.checker.check_model(path)
        os.unlink(path)


passed = failed = 0
with tempfile.TemporaryDirectory() as folder:
    for test, models in ((test_runs, RUN), (test_checks, CHECK)):
        for model in models:
            try:
                test(model, folder)
                passed += 1
            except Exception as e:  # every model is reported
                failed += 1
                print(f"FAIL {test.__name__} {model}: {str(e)[:300]}")
print(f"# {passed} passed, {failed} failed, 0 skipped")
sys.exit(failed != 0)

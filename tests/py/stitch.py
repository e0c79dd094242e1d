"""The parts of a cut, run one after another in ONNX Runtime, give what the whole
model gives. Zoo models have weights drawn from a seed, the same in both."""
import json
import os
import subprocess
import sys
import tempfile

import numpy
import onnxruntime

MODELS = [
    ("alexnet", "all-but:max_pool2d"), ("resnet18", "all-but:add"),
    ("squeezenet1_1", "all-but:cat"), ("mobilenet_v2", "all-but:relu6"),
    ("mobilenet_v3_small", "nvidia-dla"), ("shufflenet_v2_x0_5", "all-but:cat"),
    ("googlenet", "all-but:max_pool2d"), ("densenet121", "all-but:avg_pool2d"),
    ("mnasnet0_5", "all-but:add"), ("regnet_y_400mf", "all-but:sigmoid"),
]
TOLERANCE = 1e-4  # of the largest output; parts may be fused differently


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def stitched(folder, known):
    with open(os.path.join(folder, "manifest.json")) as f:
        manifest = json.load(f)
    for part in manifest["partitions"]:
        run = session(os.path.join(folder, part["onnx"]))
        names = [o.name for o in run.get_outputs()]
        feed = {i.name: known[i.name] for i in run.get_inputs()}
        known.update(zip(names, run.run(names, feed)))
    return known, len(manifest["partitions"])


def check(model, backend, folder):
    whole, parts = os.path.join(folder, "whole.onnx"), os.path.join(folder, "parts")
    subprocess.run(["cleave", "export", model, "-o", whole], check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["cleave", "partition", model, "-s", "capability", "--backend", backend,
                    "-o", parts], check=True, stdout=subprocess.DEVNULL)
    run = session(whole)
    rng = numpy.random.default_rng(0)
    feed = {i.name: rng.standard_normal(i.shape).astype(numpy.float32)
            for i in run.get_inputs()}
    names = [o.name for o in run.get_outputs()]
    want = run.run(names, feed)
    known, n = stitched(parts, dict(feed))
    worst = 0.0
    for name, value in zip(names, want):
        scale = float(numpy.abs(value).max())
        assert numpy.isfinite(value).all() and scale > 0
        worst = max(worst, float(numpy.abs(known[name] - value).max()) / scale)
    return n, worst


def main():
    failed = 0
    for model, backend in MODELS:
        with tempfile.TemporaryDirectory() as folder:
            n, worst = check(model, backend, folder)
        ok = worst <= TOLERANCE
        failed += not ok
        print(f"{'ok' if ok else 'FAIL'} {model}: {n} parts, largest difference {worst:.1e}")
    print(f"# {len(MODELS) - failed} passed, {failed} failed, 0 skipped")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

"""Latency of cleave run against ONNX Runtime: same file, 2 threads.

Prints, per model: median milliseconds of each and their ratio, load to first
result, and peak memory. Runs alternate in rounds; the median of rounds counts.
Weights that a file lacks are drawn. BACKEND names one; without, `run` chooses.

    bench/run_ort.py [MODEL or FILE.onnx...]
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

CLEAVE = os.path.join(os.environ.get("CLEAVE_BUILD", "build"), "cli", "cleave")
MODELS = ["resnet50", "mobilenet_v2", "efficientnet_b0", "densenet121", "vgg16", "vit_b_16", "convnext_tiny"]
ROUNDS, RUNS = 3, 10
THREADS = int(os.environ.get("THREADS", "2"))


def ort(path, x):
    """In a process of its own, so that its memory is its own."""
    import numpy as np
    import onnxruntime
    o = onnxruntime.SessionOptions()
    o.intra_op_num_threads = THREADS
    data = np.load(x)
    feed = {n: data[n] for n in data.files}
    t = time.perf_counter()
    s = onnxruntime.InferenceSession(path, o, providers=["CPUExecutionProvider"])
    s.run(None, feed)
    first = time.perf_counter() - t
    times = []
    for _ in range(RUNS):
        t = time.perf_counter()
        s.run(None, feed)
        times.append(time.perf_counter() - t)
    print(json.dumps({"median": sorted(times)[RUNS // 2], "first": first,
                      "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


def child(args):
    t = time.perf_counter()
    p = subprocess.Popen(args, stdout=subprocess.PIPE)
    out = p.stdout.read()
    _, status, use = os.wait4(p.pid, 0)
    if status:
        raise RuntimeError(f"{args[0]} failed")
    return json.loads(out), use.ru_maxrss * 1024, time.perf_counter() - t


def fill(source, path):
    """Writes the model of a file whose weights are not there, with drawn ones."""
    import numpy as np
    import onnx
    draw = np.random.default_rng(1)
    model = onnx.load(source, load_external_data=False)
    # whose root is taken: a negative one would make everything NaN
    variances = {n.input[4] for n in model.graph.node if n.op_type == "BatchNormalization"}
    for t in model.graph.initializer:
        if t.data_location != onnx.TensorProto.EXTERNAL:
            continue
        kind = onnx.helper.tensor_dtype_to_np_dtype(t.data_type)
        if t.name.endswith("scale"):
            data = np.full(tuple(t.dims), 0.02, kind)
        elif np.issubdtype(kind, np.floating):
            data = (0.05 * draw.standard_normal(tuple(t.dims))).astype(kind)
            data = 1 + abs(data) if t.name in variances else data
        else:
            data = draw.integers(0, 9, tuple(t.dims)).astype(kind)
        t.CopyFrom(onnx.numpy_helper.from_array(data, t.name))
    onnx.save(model, path)


def bench(model, folder):
    import numpy as np
    path, x = os.path.join(folder, "m.onnx"), os.path.join(folder, "x.npz")
    if model.endswith(".onnx"):
        fill(model, path)
    else:
        subprocess.run([CLEAVE, "export", model, "-o", path, "--weights", "random:1", "--quiet"], check=True)
    said = json.loads(subprocess.run([CLEAVE, "profile", path, "--json"], capture_output=True).stdout)
    draw = np.random.default_rng(0)
    np.savez(x, **{i["name"]: draw.standard_normal(i["shape"]).astype(i["dtype"]) if "float" in i["dtype"] else
                   draw.integers(0, 9, i["shape"]).astype(i["dtype"]) for i in said["inputs"]})
    ours, theirs, first, peak = [], [], [], [0, 0]
    run = [CLEAVE, "run", path, "--input", x, "--threads", str(THREADS), "--json", "--quiet"]
    run += ["--backend", os.environ["BACKEND"]] if "BACKEND" in os.environ else []
    for _ in range(ROUNDS):
        a, mem, _ = child(run + ["--repeat", str(RUNS), "--warmup", "1"])
        b, _, _ = child([sys.executable, __file__, "--ort", path, x])
        _, _, whole = child(run)
        ours.append(a["median_seconds"])
        theirs.append(b["median"])
        first.append((whole, b["first"]))
        peak = [max(peak[0], mem), max(peak[1], b["peak"])]
    a, b = sorted(ours)[ROUNDS // 2], sorted(theirs)[ROUNDS // 2]
    f, g = (sorted(v[i] for v in first)[ROUNDS // 2] for i in (0, 1))
    print(f"{os.path.basename(model):32} cleave {a * 1e3:8.1f} ms  ort {b * 1e3:8.1f} ms  ratio {a / b:5.2f}   first {f * 1e3:7.0f} "
          f"{g * 1e3:7.0f} ms  {f / g:5.2f}   peak {peak[0] / 1e6:6.0f} {peak[1] / 1e6:6.0f} MB  "
          f"{peak[0] / peak[1]:5.2f}", flush=True)


if len(sys.argv) > 1 and sys.argv[1] == "--ort":
    ort(sys.argv[2], sys.argv[3])
else:
    for name in sys.argv[1:] or MODELS:
        with tempfile.TemporaryDirectory() as place:
            try:
                bench(name, place)
            except (RuntimeError, subprocess.CalledProcessError, json.JSONDecodeError, TypeError) as e:
                print(f"{os.path.basename(name):32} {e}", flush=True)

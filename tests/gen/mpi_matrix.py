"""Networks cut into 2 to 6 stages, each run by that many MPI ranks here: the outputs
equal one process bit for bit, and ONNX Runtime's of the whole model to 1e-3.

    mpi_matrix.py [--build DIR] [--mpirun mpirun] [--networks a,b] [--runs N]

Convolutional networks, transformers and detectors are the zoo's; recurrent networks
and U-Nets, whose links skip stages, are torch's. --runs N does not walk the matrix
but runs so many jobs in a row, all kinds in turn, and says how long the longest took."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
ZOO = {  # name: shape of an image, or None
    "resnet18": "1,3,64,64", "densenet121": "1,3,64,64", "googlenet": "1,3,64,64",
    "mobilenet_v3_small": "1,3,64,64", "deit-tiny-patch16-224": None, "bert-mini": None,
    "yolov8n": "1,3,128,128", "yolo11n": "1,3,128,128"}
TORCH = {"unet_plain": (1, 3, 64, 64), "unet_time": (1, 4, 32, 32), "rnn": None, "crnn": (1, 1, 32, 64)}
LONGEST = 120  # seconds of one job


def torch_file(name, path):
    """Writes the network and its inputs; what the file's own name says is kept."""
    import torch
    import run_networks as nets
    torch.manual_seed(1)
    make = nets.diffusion_make if name.startswith("unet") else nets.recurrent_make
    model, inputs = make(name)
    if TORCH[name]:
        first = next(iter(inputs))
        inputs[first] = torch.randn(TORCH[name])
    torch.onnx.export(model.eval(), tuple(inputs.values()), path, input_names=list(inputs),
                      dynamo=False, opset_version=18)
    return {k: v.numpy() for k, v in inputs.items()}


def zoo_file(name, path, cleave):
    import onnxruntime as ort
    shape = ["--input-shape", ZOO[name]] if ZOO[name] else []
    subprocess.run([cleave, "export", name, "-o", path, "--weights", "random:1", "-q", *shape], check=True)
    draw = np.random.default_rng(1)
    feeds = {}
    for i in ort.InferenceSession(path, providers=["CPUExecutionProvider"]).get_inputs():
        feeds[i.name] = (draw.integers(0, 2, i.shape) if "int" in i.type
                         else draw.standard_normal(i.shape).astype(np.float32))
    return feeds


def prepare(name, folder, cleave):
    import onnxruntime as ort
    path = f"{folder}/{name}.onnx"
    feeds = torch_file(name, path) if name in TORCH else zoo_file(name, path, cleave)
    np.savez(f"{folder}/{name}.npz", **feeds)
    s = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    np.savez(f"{folder}/{name}.want.npz", **dict(zip([o.name for o in s.get_outputs()], s.run(None, feeds))))
    return path


def mpirun(a, n, folder):
    said = subprocess.run([a.mpirun, "--version"], capture_output=True, text=True).stdout
    if "Open MPI" not in said:
        return [a.mpirun, "-n", str(n)]
    return [a.mpirun, "--oversubscribe", "--allow-run-as-root", "--mca", "btl_vader_single_copy_mechanism", "none",
            "--mca", "orte_tmpdir_base", folder, "-n", str(n)]


def differs(got, want):
    """The largest difference, relative to the largest number of each output."""
    worst = 0.0
    for name in want.files:
        a, b = got[name].astype(np.float64), want[name].astype(np.float64)
        if a.shape != b.shape:
            return float("inf")
        worst = max(worst, float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) if b.size else 0.0)
    return worst


def run(a, name, n, folder, micro):
    """Runs one job. Returns its ranks, its seconds, and what is wrong or ''."""
    parts, out = f"{folder}/{name}-{n}", f"{folder}/out.npz"
    if not os.path.isdir(parts):
        subprocess.run([a.cleave, "partition", f"{folder}/{name}.onnx", "-s", "pipeline", "--stages", str(n),
                        "-o", parts, "-q"], check=True, stdout=subprocess.DEVNULL)
    n = len(json.load(open(f"{parts}/manifest.json"))["partitions"])  # a short network has fewer
    begun = time.monotonic()
    schedule = ("gpipe", "1f1b")[n % 2]
    try:
        r = subprocess.run([*mpirun(a, n, folder), a.cleave_mpi, "run", parts, "--input", f"{folder}/{name}.npz",
                            "--threads", "1", "--micro-batches", str(micro), "--schedule", schedule,
                            f"--verify={folder}/{name}.onnx", "-o", out], capture_output=True, text=True,
                           timeout=LONGEST)
    except subprocess.TimeoutExpired:
        return n, LONGEST, "HUNG"
    took = time.monotonic() - begun
    if r.returncode or "equal, bit for bit" not in r.stdout:
        said = [x for x in r.stderr.splitlines() if "cleave-mpi:" in x] or [r.stderr[-300:]]
        return n, took, f"exit {r.returncode}: {said[0]}"
    joined, want = np.load(out), np.load(f"{folder}/{name}.want.npz")
    far = 0.0
    for b in range(micro):
        got = {k: np.split(joined[k], micro)[b] for k in joined.files}
        far = max(far, differs(got, want))
    return n, took, "" if far < 1e-3 else f"{far:.3g} from ONNX Runtime"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default=str(ROOT / "build"))
    p.add_argument("--mpirun", default="mpirun")
    p.add_argument("--networks", default=",".join([*ZOO, *TORCH]))
    p.add_argument("--stages", default="2,3,4,5,6")
    p.add_argument("--runs", type=int, default=0)
    a = p.parse_args()
    a.cleave, a.cleave_mpi = f"{a.build}/cli/cleave", f"{a.build}/mpi/cleave-mpi"
    names, stages = a.networks.split(","), [int(x) for x in a.stages.split(",")]
    bad, times = 0, []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            prepare(name, folder, a.cleave)
        cases = [(name, n) for name in names for n in stages]
        for i in range(a.runs or len(cases)):
            name, n = cases[(i * 7 if a.runs else i) % len(cases)]
            n, took, wrong = run(a, name, n, folder, 1 + i % 4)
            times.append(took)
            bad += bool(wrong)
            if a.runs and i % 20 == 19:
                print(f"{i + 1} jobs, {bad} wrong, the longest {max(times):.1f} s", flush=True)
            if wrong or not a.runs:
                print(f"{name:32} {n} ranks  {took:6.2f} s  {wrong or 'equal'}", flush=True)
    print(f"{len(times) - bad} of {len(times)} jobs equal, the longest took {max(times):.1f} s")
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())

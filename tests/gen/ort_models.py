"""Runs the ONNX files of ONNX Runtime's own tests with cleave and with ONNX Runtime.

    python tests/gen/ort_models.py REPOSITORY [--build DIR] [--only TEXT] [--list]

REPOSITORY is a git directory of microsoft/onnxruntime; the files are those under
onnxruntime/test/testdata of its newest commit. Inputs are drawn: small numbers for
floats, 0 and 1 for integers; sizes that a file leaves open are 2, or 1 where 2 does
not run. ONNX Runtime runs without its optimisations, in a process of its own that
has a minute. Each file is run on plain C, on the fast kernels and on oneDNN, and
ends as one of

    equal      both run, and every output agrees within 1e-3 of its size
    reference  an output does not agree, but is what ONNX's reference implementation
               gives: ONNX Runtime computes float16 in float32 from node to node, the
               reference rounds each result to the type that the file states
    wrong      both run, an output does not agree with either
    refused    ONNX Runtime runs it, cleave says in one line why it does not
    crash      cleave ends by a signal
    slow       cleave takes more than a minute
    random     the same, of a model that draws random numbers
    neither    ONNX Runtime does not run it either
    absent     the repository holds no bytes of it
"""
import argparse
import collections
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort
from onnx.external_data_helper import ExternalDataInfo
from onnx.reference import ReferenceEvaluator

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = "onnxruntime/test/testdata"
KINDS = {"tensor(float)": "f4", "tensor(double)": "f8", "tensor(float16)": "f2", "tensor(int64)": "i8",
         "tensor(int32)": "i4", "tensor(int8)": "i1", "tensor(uint8)": "u1", "tensor(int16)": "i2",
         "tensor(uint16)": "u2", "tensor(uint32)": "u4", "tensor(uint64)": "u8", "tensor(bool)": "?"}
WHO = {"plain C": "ref", "cpu": "cpu", "oneDNN": "onednn"}
SECONDS = 60


def git(repository, *args):
    """What git prints; None when it fails."""
    out = subprocess.run(["git", "--git-dir", repository, *args], capture_output=True)
    return out.stdout if out.returncode == 0 else None


def files_of(repository):
    names = git(repository, "ls-tree", "-r", "--name-only", "HEAD", FOLDER).decode().split("\n")
    return sorted(n for n in names if n.endswith(".onnx"))


def drawn(info, size, names, rng):
    """An array for an input; one size for every dimension of a name."""
    shape = [d if isinstance(d, int) and d >= 0 else names.setdefault(d, size) if d else size for d in info.shape]
    kind = np.dtype(KINDS[info.type])
    if kind.kind == "f":
        return rng.uniform(-1, 1, shape).astype(kind)
    return rng.integers(0, 2, shape).astype(kind)


def truth(path):
    """(inputs, outputs by name) of ONNX Runtime; None: it does not run."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception:
        return None
    for size in (2, 1):
        rng = np.random.default_rng(0)
        try:
            names = {}
            feeds = {i.name: drawn(i, size, names, rng) for i in session.get_inputs()}
            return feeds, dict(zip([o.name for o in session.get_outputs()], session.run(None, feeds)))
        except Exception:
            continue
    return None


def apart(function, *args):
    """What the function returns in a process of its own; None when that process
    dies, or takes more than a minute."""
    mine, its = multiprocessing.Pipe(False)
    child = multiprocessing.Process(target=lambda: its.send(function(*args)))
    child.start()
    its.close()
    try:
        return mine.recv() if mine.poll(SECONDS) else None
    except EOFError:
        return None
    finally:
        child.kill()
        child.join()


def in_order(model):
    """The model with each node behind those that it reads."""
    known = {""} | {v.name for v in [*model.graph.input, *model.graph.initializer]}
    left, done = list(model.graph.node), []
    while left:
        ready = next((n for n in left if known.issuperset(n.input)), left[0])
        left.remove(ready)
        done.append(ready)
        known.update(ready.output)
    del model.graph.node[:]
    model.graph.node.extend(done)
    return model


def reference(path, feeds):
    """The outputs by name of ONNX's reference implementation; None: it does not run."""
    try:
        model = in_order(onnx.load(path))
        return dict(zip([o.name for o in model.graph.output], ReferenceEvaluator(model).run(None, feeds)))
    except Exception:
        return None


def beside(repository, name, data, folder):
    """Writes the files of weights that the model names."""
    for t in onnx.external_data_helper._get_all_tensors(onnx.ModelProto.FromString(data)):
        if onnx.external_data_helper.uses_external_data(t):
            place = ExternalDataInfo(t).location
            found = git(repository, "show", f"HEAD:{os.path.dirname(name)}/{place}")
            if found and "/" not in place:
                with open(os.path.join(folder, place), "wb") as f:
                    f.write(found)


def draws(data):
    """Whether the model, or a body of it, draws random numbers."""
    text = str(onnx.ModelProto.FromString(data))
    return any(f'op_type: "{op}' in text for op in ("Dropout", "BiasDropout", "Random", "Bernoulli", "Multinomial"))


def read_output(folder, name):
    """The output as cleave wrote it; None: not as an array."""
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    path = os.path.join(folder, plain + ".npy")
    return np.load(path) if os.path.exists(path) else None


def differs(got, want):
    """Why two arrays are not the same; "" if they are."""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.dtype.kind not in "fiub" or want.size == 0:
        return ""
    a, b = got.astype("f8"), want.astype("f8")
    finite = np.isfinite(b)
    scale = max(np.abs(b[finite]).max(initial=0), 1e-3)
    same = np.where(finite, np.abs(a - b) <= 1e-3 * scale, (a == b) | (np.isnan(a) & np.isnan(b)))
    if same.all():
        return ""
    at = int(np.flatnonzero(~same)[0])
    return f"element {at} is {a.flat[at]:.6g}, expected {b.flat[at]:.6g}"


def judged(cleave, path, feeds, outs, folder, more):
    """(ending, why) of one run of cleave."""
    npz = os.path.join(folder, "in.npz")
    np.savez(npz, **feeds)
    command = [cleave, "run", path, "--output", os.path.join(folder, "out"), *more]
    if feeds:
        command += ["--input", npz]
    try:
        out = subprocess.run(command, capture_output=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return "slow", "a minute"
    if out.returncode < 0 or out.returncode > 3:
        return "crash", f"ended with {out.returncode}"
    if out.returncode:
        return "refused", out.stderr.decode().strip().split("\n")[0].replace(path, "FILE")
    for name, want in outs.items():
        if not isinstance(want, np.ndarray) or want.dtype.kind not in "fiub":
            continue    # sequences, maps and texts
        got = read_output(os.path.join(folder, "out"), name)
        why = differs(got, want) if got is not None else ""
        if why:
            return "wrong", f"{name}: {why}"
    return "equal", ""


def ending(cleave, path, data, told, folder, more):
    """(ending, why) of one file; `told` is what ONNX Runtime says of it."""
    if not told:
        return ("neither" if data else "absent"), ""
    feeds, outs = told
    how, why = judged(cleave, path, feeds, outs, folder, more)
    if how == "wrong" and draws(data):
        return "random", why
    if how == "wrong":
        other = apart(reference, path, feeds)
        if other and judged(cleave, path, feeds, other, folder, more)[0] == "equal":
            return "reference", why
    return how, why


def main():
    p = argparse.ArgumentParser()
    p.add_argument("repository")
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--only", default="")
    p.add_argument("--list", action="store_true", help="say how each file ended")
    args = p.parse_args()
    cleave = os.path.join(args.build, "cli", "cleave")
    ended = {who: collections.Counter() for who in WHO}
    for name in files_of(args.repository):
        if args.only not in name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            data = git(args.repository, "show", f"HEAD:{name}")
            with open(path, "wb") as f:
                f.write(data or b"")
            try:
                beside(args.repository, name, data or b"", folder)
            except Exception:
                pass    # no model: both say so
            told = apart(truth, path) if data else None
            for who, backend in WHO.items():
                how, why = ending(cleave, path, data, told, folder, ["--backend", backend])
                ended[who][how] += 1
                if args.list or how in ("wrong", "crash"):
                    print(f"{how:9} {who:8} {name.removeprefix(FOLDER + '/')}: {why}", flush=True)
    for who, counts in ended.items():
        print(f"{who}: {sum(counts.values())} files; " + ", ".join(f"{n} {how}" for how, n in sorted(counts.items())))


if __name__ == "__main__":
    sys.exit(main())

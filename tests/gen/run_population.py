"""Exports the population of networks that `cleave run` is measured on.

    run_population.py -o FOLDER [--half tune|held|fresh] [--group G,...] [--only TEXT] [--batch N] [--list]

Each network has the random weights of its own initialisation and is exported by
both exporters of torch, where they export; quantised files are made by ONNX
Runtime's own tools, zoo models by `cleave export`. FOLDER/tune gets two families
of five, by a hash of the family's name, FOLDER/held the rest: one half to look at
while cleave changes, one to report on. Beside NAME.onnx stands NAME.npz, its
inputs. FOLDER/README lists what is there and what did not export, with the
reason. Files that exist are left as they are, so a run can be broken off.

Each network is made in a process of its own, with limits on time and size.
The tables of networks are in run_networks.py."""
import argparse
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings

import run_fresh
import run_networks

HALVES = ("tune", "held", "fresh")
TUNE_SHARE = 0.4
MAX_SECONDS = 420
MAX_BYTES = 400e6
BATCH = 1
CLEAVE = os.path.join(os.environ.get("CLEAVE_BUILD", "build"), "cli", "cleave")


def half_of(family):
    return "tune" if hashlib.sha256(family.encode()).digest()[0] < TUNE_SHARE * 256 else "held"


# -- making one file ----------------------------------------------------------

def jitter(model):
    """Moves parameters that are constant at the start (norms, biases, layer scales),
    so that an error in them shows."""
    import torch
    draw = torch.Generator().manual_seed(1)
    for name, p in list(model.named_parameters()) + list(model.named_buffers()):
        if not p.is_floating_point() or p.numel() < 2 or (p != p.flatten()[0]).any():
            continue
        if name.endswith("running_var"):
            p.data.mul_(0.8 + 0.4 * torch.rand(p.shape, generator=draw))
        elif isinstance(p, torch.nn.Parameter) or name.endswith("running_mean"):
            p.data.add_(0.05 * torch.randn(p.shape, generator=draw))


def save_inputs(path, feed):
    import numpy as np
    import onnx
    graph = onnx.load(path, load_external_data=False).graph
    names = [i.name for i in graph.input]
    missing = [n for n in names if n not in feed]
    if not names:
        raise ValueError("the file takes no inputs")
    if missing:
        raise ValueError(f"inputs {missing} of the file are none of {list(feed)}")
    np.savez(path[:-len("onnx")] + "npz", **{n: feed[n] for n in names})


def export(make, path, exporter, batch=0, open_axes=None):
    """Exports make() -> (module, {input name: tensor}), whose batch is one."""
    import torch
    torch.manual_seed(0)
    model, inputs = make()
    batch = batch or BATCH
    if batch > 1:
        inputs = {n: v.repeat(batch, *[1] * (v.dim() - 1)) for n, v in inputs.items()}
    model = model.eval()
    jitter(model)
    args, part = tuple(inputs.values()), path + ".part"
    with torch.no_grad():
        if exporter == "dynamo":
            torch.onnx.export(model, args, part, input_names=list(inputs), dynamo=True,
                              external_data=False, verbose=False)
        else:
            torch.onnx.export(model, args, part, input_names=list(inputs), dynamo=False, opset_version=18,
                              dynamic_axes={n: a for n, a in (open_axes or {}).items() if n in inputs})
    if os.path.getsize(part) > MAX_BYTES:
        size = os.path.getsize(part)
        os.remove(part)
        raise ValueError(f"{size / 1e6:.0f} MB")
    os.rename(part, path)
    save_inputs(path, {n: v.numpy() for n, v in inputs.items()})


def export_zoo(name, path):
    import numpy as np
    subprocess.run([CLEAVE, "export", name, "-o", path, "--weights", "random:1", "--batch", str(BATCH), "--quiet"],
                   check=True)
    said = json.loads(subprocess.run([CLEAVE, "profile", path, "--json"], capture_output=True).stdout)
    draw = np.random.default_rng(0)
    save_inputs(path, {i["name"]: draw.standard_normal(i["shape"]).astype(i["dtype"])
                       if "float" in i["dtype"] else draw.integers(0, 9, i["shape"]).astype(i["dtype"])
                       for i in said["inputs"]})


def export_quantised(make, quantise, path, **way):
    """Exports make() and has quantise(source, path) write what is kept."""
    plain = path + ".float.onnx"
    try:
        export(make, plain, "script", **way)
        quantise(plain, path)
        os.rename(plain[:-len("onnx")] + "npz", path[:-len("onnx")] + "npz")
    finally:
        for left in (plain, plain[:-len("onnx")] + "npz"):
            if os.path.exists(left):
                os.remove(left)


def fresh_jobs(folder):
    for group, family, name, make, way in run_fresh.fresh():
        path = os.path.join(folder, "fresh", f"{group}-{name}.onnx")
        more = dict(batch=way.batch, open_axes=way.open_axes)
        if way.convert:
            yield group, family, path, lambda m=make, c=way.convert, p=path, o=more: export_quantised(m, c, p, **o)
        else:
            yield group, family, path, lambda m=make, e=way.exporter, p=path, o=more: export(m, p, e, **o)


def jobs(folder):
    """Yields (group, family, file, function) in the order in which they are made."""
    def exported(exporter):
        for group, family, name, make in run_networks.networks():
            path = os.path.join(folder, half_of(family), f"{group}-{name}.{exporter}.onnx")
            yield group, family, path, lambda m=make, p=path: export(m, p, exporter)
    yield from exported("script")  # the quick one first
    for family, name, make, quantise in run_networks.quantised():
        path = os.path.join(folder, half_of(family), f"quant-{name}.onnx")
        yield "quant", family, path, lambda m=make, q=quantise, p=path: export_quantised(m, q, p)
    said = json.loads(subprocess.run([CLEAVE, "models", "--json"], capture_output=True).stdout)
    for m in run_networks.zoo(said):
        path = os.path.join(folder, half_of(m["family"]), f"zoo-{m['name']}.onnx")
        yield "zoo", m["family"], path, lambda m=m, p=path: export_zoo(m["name"], p)
    yield from exported("dynamo")
    yield from fresh_jobs(folder)


# -- each in a process --------------------------------------------------------

def in_child(work, log):
    """Runs work() in a forked process; returns "" or why it failed."""
    pid = os.fork()
    if pid == 0:
        out = os.open(log, os.O_CREAT | os.O_TRUNC | os.O_WRONLY)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.setsid()
        code = 1
        try:
            work()
            code = 0
        except BaseException as e:  # whatever an exporter raises is its answer
            lines = [t for t in str(e).splitlines() if t.strip()] or [""]
            sys.stderr.write(f"\n{type(e).__name__}: {lines[0]}")
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    until = time.time() + MAX_SECONDS
    while time.time() < until:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            if status == 0:
                return ""
            with open(log, errors="replace") as f:
                lines = f.read().splitlines() or [""]
            return lines[-1][:200] if os.WIFEXITED(status) else f"signal {os.WTERMSIG(status)}"
        time.sleep(0.05)
    os.killpg(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return f"not done in {MAX_SECONDS} s"


def write_readme(folder, failures):
    lines = ["Files of tests/gen/run_population.py: NAME.onnx with its inputs NAME.npz.", ""]
    for half in HALVES:
        there = sorted(f for f in os.listdir(os.path.join(folder, half)) if f.endswith(".onnx"))
        lines += [f"{half}: {len(there)} files"]
        for f in there:
            size = os.path.getsize(os.path.join(folder, half, f)) / 1e6
            lines.append(f"  {f:60} {size:8.1f} MB")
    lines += ["", f"not exported: {len(failures)}"] + [f"  {f:60} {why}" for f, why in sorted(failures.items())]
    with open(os.path.join(folder, "README.part"), "w") as out:
        out.write("\n".join(lines) + "\n")
    os.rename(os.path.join(folder, "README.part"), os.path.join(folder, "README"))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-o", "--output", required=True)
    p.add_argument("--half", choices=HALVES)
    p.add_argument("--group", default="")
    p.add_argument("--only", default="")
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--again", action="store_true", help="try again what failed before")
    p.add_argument("--list", action="store_true")
    a = p.parse_args()
    global BATCH
    BATCH = a.batch
    for half in HALVES:
        os.makedirs(os.path.join(a.output, half), exist_ok=True)
    warnings.simplefilter("ignore")
    if not a.list:  # once, for all children
        import tv  # noqa: F401
        import onnx, onnxruntime, onnxscript, timm, torch, transformers  # noqa: E401, F401
        torch.set_num_threads(1)
    record = os.path.join(a.output, "failures.json")
    failures = json.load(open(record)) if os.path.exists(record) else {}
    for group, family, path, work in jobs(a.output):
        name = os.path.basename(path)
        if (a.group and group not in a.group.split(",")) or a.only not in name:
            continue
        if a.half and os.path.basename(os.path.dirname(path)) != a.half:
            continue
        if a.list:
            print(f"{path[len(a.output):]:60} {family}")
            continue
        if os.path.exists(path[:-len("onnx")] + "npz") or (name in failures and not a.again):
            continue
        t = time.time()
        why = in_child(work, os.path.join(a.output, "log"))
        failures.pop(name, None)
        if why:
            failures[name] = why
            for left in (path, path + ".part"):
                if os.path.exists(left):
                    os.remove(left)
        print(f"{path[len(a.output):]:60} {time.time() - t:6.1f} s  {why}", flush=True)
        with open(record, "w") as f:
            json.dump(failures, f, indent=1)
        write_readme(a.output, failures)


if __name__ == "__main__":
    main()

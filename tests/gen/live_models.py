"""live_models.py - captures every model that packages can make, and compares.

    tests/gen/live_models.py -o FILE.csv [--onnx] [MODEL ...]

One line per model (torchvision's whole list, then `python -m cleave --list`'s
of transformers and ultralytics): what the capture counts beside what others do
on the live module. Lines that FILE has already are kept, so a run may be broken
off and taken up again; models given by name are done anew.

    params_torch   sum of p.numel()
    macs_torch     half of FlopCounterMode's count; attention as two products,
                   since the CPU kernel for it is one that counts nothing there
    fvcore_theirs  the real fvcore's total; empty where it fails
    *_zoo          the built-in model of that name, at the same input
    *_onnx         what cleave reads from torch.onnx.export's file; with --onnx,
                   for the models named, whose lines must be there
"""
import argparse
import csv
import gc
import logging
import os
import sys
import tempfile
import time
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from tv import torch, torchvision
sys.path[:] = [p for p in sys.path if p != HERE]    # it hides `kernels`

import cleave
from cleave import fvcore, live
from cleave.torch import _arguments, capture
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

FIELDS = ["model", "input", "method", "partitions", "params", "params_torch",
          "params_zoo", "params_onnx", "macs", "macs_torch", "macs_zoo",
          "macs_onnx", "fvcore", "fvcore_theirs", "unknown", "seconds", "note"]
DETECTION = ("rcnn", "retinanet", "fcos", "ssd", "raft")


def names():
    found = [f"torchvision:{n}" for n in torchvision.models.list_models()]
    return found + [n for n in live.names() if n.endswith(".yaml") or
                    n.startswith("transformers:")]


def make(name):
    """The model and its inputs. Weights are left as they lie in memory, but
    where the way through the model depends on them."""
    torch.manual_seed(0)
    fillers = {k: v for k, v in vars(torch.nn.init).items()
               if k.endswith("_") and not k.startswith("_")}
    if not any(d in name for d in DETECTION):
        for k in fillers:
            setattr(torch.nn.init, k, lambda tensor, *_, **__: tensor)
    try:
        model, inputs = live.make(name, weights=not name.startswith("transformers:"))
    finally:
        for k, v in fillers.items():
            setattr(torch.nn.init, k, v)
    return model.eval(), inputs


def call(model, inputs):
    args, kwargs = _arguments(inputs, None)
    with torch.no_grad():
        return model(*args, **kwargs)


def needs_data(model, inputs):
    """Whether a model without memory looks at numbers."""
    try:
        call(model, inputs)
    except Exception as e:
        return "meta tensors" in str(e)


def torch_macs(model, inputs):
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with sdpa_kernel(SDPBackend.MATH), \
                FlopCounterMode(display=False) as counter:
            call(model, inputs)
    finally:
        torch.backends.mha.set_fastpath_enabled(True)
    return counter.get_total_flops() // 2


def zoo_of(name, shape):
    bare = name.split(":")[-1].removesuffix(".yaml")
    if bare not in cleave.models():
        return None
    return cleave.profile(bare, input_shape=shape)


def onnx_of(model, inputs):
    args, kwargs = _arguments(inputs, None)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.onnx")
        torch.onnx.export(model, args, path, kwargs=kwargs, dynamo=True,
                          optimize=False, verbose=False)
        return cleave.profile(path)


def shapes(inputs):
    return " ".join("x".join(map(str, t.shape)) or "scalar"
                    for t in pytree.tree_leaves(inputs)
                    if isinstance(t, torch.Tensor))


def attempt(row, what, run):
    try:
        return run()
    except Exception as e:
        reason = (str(e).strip().splitlines() or [type(e).__name__])[0][:160]
        row["note"] = f"{row.get('note', '')}{what}: {reason}; "


def measure(name):
    row = {"model": name}
    made = attempt(row, "make", lambda: make(name))
    if not made:
        return row
    model, inputs = made
    row["input"] = shapes(inputs)
    if needs_data(model, inputs):
        model, inputs = live.make(name, weights=True)
    row["params_torch"] = sum(p.numel() for p in model.parameters())
    start = time.perf_counter()
    got = attempt(row, "capture", lambda: capture(model, inputs, name=name))
    if got:
        profile = got.graph.profile()
        row.update(method=got.method, partitions=len(got.modules),
                   params=profile["total_params"], macs=profile["total_macs"],
                   fvcore=got.graph.profile(count="fvcore")["total_flops"],
                   unknown=" ".join(sorted(set(
                       profile["coverage"]["unknown_ops"]))),
                   seconds=f"{time.perf_counter() - start:.1f}")
    row["macs_torch"] = attempt(row, "torch", lambda: torch_macs(model, inputs))
    if next(model.parameters()).device.type != "meta":    # it needs data
        row["fvcore_theirs"] = attempt(row, "fvcore",
                                       lambda: fvcore.count(model, inputs))
    leaf = pytree.tree_leaves(inputs)[0]
    zoo = attempt(row, "zoo", lambda: zoo_of(name, tuple(leaf.shape)))
    if zoo:
        row.update(params_zoo=zoo["total_params"], macs_zoo=zoo["total_macs"])
    return row


def add_onnx(name, row):
    """The ONNX columns of a row that is there already."""
    model, inputs = make(name)
    file = attempt(row, "onnx", lambda: onnx_of(model, inputs))
    if file:
        row.update(params_onnx=file["total_params"],
                   macs_onnx=file["total_macs"])
    return row


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    done = {}
    if os.path.exists(options.output):
        done = {r["model"]: r for r in csv.DictReader(open(options.output))}
    for name in options.models or [n for n in names() if n not in done]:
        done[name] = row = add_onnx(name, done[name]) if options.onnx else \
            measure(name)
        print({k: v for k, v in row.items() if v not in (None, "")}, flush=True)
        order = {n: i for i, n in enumerate(names())}
        with open(options.output + ".new", "w") as out:
            table = csv.DictWriter(out, FIELDS, lineterminator="\n")
            table.writeheader()
            table.writerows(sorted(done.values(), key=lambda r: order.get(
                r["model"], len(order))))
        os.replace(options.output + ".new", options.output)
        del row
        gc.collect()


if __name__ == "__main__":
    main()

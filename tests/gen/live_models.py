"""live_models.py - captures every model that packages can make, and compares.

    tests/gen/live_models.py -o FILE.csv [--onnx] [--limit SECONDS] [MODEL ...]
    tests/gen/live_models.py -o FILE.csv --table > docs/live-models.md

One line per model (torchvision's whole list, then `python -m cleave --list`'s
of transformers and ultralytics): what the capture counts beside what others do
on the live module. Lines that FILE has already are kept, so a run may be broken
off and taken up again; models given by name are done anew. What takes longer
than the limit is broken off and said so.

    params_torch   sum of p.numel()
    unused         parameters that evaluation never reads (heads for training)
    macs_torch     half of FlopCounterMode's count; attention as two products,
                   since the CPU kernel for it is one that counts nothing there
    fvcore_theirs  the real fvcore's total; empty where it fails
    *_zoo          the built-in model of that name, at the same input
    *_onnx         what cleave reads from torch.onnx.export's file; with --onnx,
                   for the models whose lines are there and have none
"""
import argparse
import csv
import gc
import logging
import os
import signal
import sys
import tempfile
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

FIELDS = ["model", "input", "method", "partitions", "params", "unused",
          "params_torch", "params_zoo", "unused_zoo", "params_onnx", "macs", "macs_torch", "macs_zoo",
          "macs_onnx", "fvcore", "fvcore_theirs", "unknown", "note"]
# Of the large ones two small layers: counting them needs their data.
SMALL = {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 2,
         "num_attention_heads": 8, "num_key_value_heads": 4}
LARGE = ("transformers:gpt_neox", "transformers:llama", "transformers:mistral",
         "transformers:qwen2")
DETECTION = ("rcnn", "retinanet", "fcos", "ssd", "raft")
LIMIT = 600


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
        if name in LARGE:
            from transformers import AutoConfig
            model, inputs = live.from_config(AutoConfig.for_model(
                name.partition(":")[2], **SMALL), weights=True)
        else:
            model, inputs = live.make(name, weights=True)
    finally:
        for k, v in fillers.items():
            setattr(torch.nn.init, k, v)
    return model.eval(), inputs


def call(model, inputs):
    args, kwargs = _arguments(inputs, None)
    with torch.no_grad():
        return model(*args, **kwargs)


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
    with tempfile.TemporaryDirectory(dir=os.getcwd()) as folder:
        path = os.path.join(folder, "m.onnx")
        torch.onnx.export(model, args, path, kwargs=kwargs, dynamo=True,
                          optimize=False, verbose=False)
        return cleave.profile(path)


def shapes(inputs):
    return " ".join("x".join(map(str, t.shape)) or "scalar"
                    for t in pytree.tree_leaves(inputs)
                    if isinstance(t, torch.Tensor))


def too_long(*_):
    raise TimeoutError(f"not done in {LIMIT} s")


def attempt(row, what, run):
    signal.alarm(LIMIT)
    try:
        return run()
    except Exception as e:
        reason = (str(e).strip().splitlines() or [type(e).__name__])[0][:160]
        row["note"] = f"{row.get('note', '')}{what}: {reason}; "
    finally:
        signal.alarm(0)


def measure(name):
    row = {"model": name}
    made = attempt(row, "make", lambda: make(name))
    if not made:
        return row
    model, inputs = made
    row["input"] = shapes(inputs)
    row["params_torch"] = sum(p.numel() for p in model.parameters())
    got = attempt(row, "capture", lambda: capture(model, inputs, name=name))
    if got:
        profile = got.graph.profile()
        row.update(method=got.method, partitions=len(got.modules),
                   params=profile["total_params"],
                   unused=profile["unused_params"], macs=profile["total_macs"],
                   fvcore=got.graph.profile(count="fvcore")["total_flops"],
                   unknown=" ".join(sorted(set(
                       profile["coverage"]["unknown_ops"]))))
    row["macs_torch"] = attempt(row, "torch", lambda: torch_macs(model, inputs))
    row["fvcore_theirs"] = attempt(row, "fvcore",
                                   lambda: fvcore.count(model, inputs))
    leaf = pytree.tree_leaves(inputs)[0]
    zoo = attempt(row, "zoo", lambda: zoo_of(name, tuple(leaf.shape)))
    if zoo:
        row.update(params_zoo=zoo["total_params"],
                   unused_zoo=zoo["unused_params"], macs_zoo=zoo["total_macs"])
    return row


def add_onnx(name, row):
    """The ONNX columns of a row that is there already."""
    row["note"] = "".join(n + "; " for n in row["note"].split("; ")
                          if n and not n.startswith("onnx: "))
    model, inputs = make(name)
    file = attempt(row, "onnx", lambda: onnx_of(model, inputs))
    if file:
        row.update(params_onnx=file["total_params"],
                   macs_onnx=file["total_macs"])
    return row


HEAD = """# Live models, captured

Written by `tests/gen/live_models.py` with torch {torch}, torchvision {vision},
transformers {transformers}, ultralytics {ultralytics}; models have random weights,
and nothing is downloaded. Every number is beside one from outside: parameters
beside `sum(p.numel())`, MACs beside half of torch's FlopCounterMode (attention as
two products), FLOPs under `--count fvcore` beside the real fvcore's.

{totals}

`=` says that the number is the same, to the last digit; empty is not measured:
the zoo has no such model, or the export failed or was not tried (detectors,
transformers, YOLO). What differs or failed:

{notes}

| model | input | method | params | MACs | torch | zoo | ONNX | fvcore |
|-------|-------|--------|-------:|-----:|:-----:|:---:|:----:|:------:|
"""


def same(row, ours, theirs):
    """= or by how much they differ; empty where one is missing."""
    if not row[ours] or not row[theirs]:
        return ""
    return difference(int(row[ours]), int(row[theirs]))


def difference(a, b):
    return "=" if a == b else f"{100 * (a - b) / b:+.3f} %"


def read(row, source=""):
    """The parameters that evaluation reads: heads for training are part of a
    live model, not of its ONNX file, and of some models in the zoo."""
    return int(row["params" + source]) - int(row.get("unused" + source) or 0)


def both(row, other):
    """MACs and parameters against another source."""
    macs = same(row, "macs", f"macs_{other}")
    if other == "torch":
        params = same(row, "params", "params_torch")
    else:
        params = macs and difference(read(row), read(row, "_" + other))
    return macs if macs == params else f"{macs}, params {params}"


def totals(table):
    for package, what in (("torchvision:", "torchvision"),
                          ("transformers:", "transformers"),
                          ("yolo", "YOLOv5, v8 and 11")):
        rows = [r for r in table if r["model"].startswith(package)]
        yield (f"- {what}: {sum(bool(r['macs']) for r in rows)} of {len(rows)} "
               f"captured; as torch counts "
               f"{sum(both(r, 'torch') == '=' for r in rows)}; "
               f"as fvcore within 0.1 % "
               f"{sum(close(r) for r in rows)} of "
               f"{sum(bool(r['fvcore_theirs']) for r in rows)}"
               + (f"; as the zoo {sum(both(r, 'zoo') == '=' for r in rows)} of "
                  f"{sum(bool(r['macs_zoo']) for r in rows)}; MACs as the ONNX "
                  f"export {sum(same(r, 'macs', 'macs_onnx') == '=' for r in rows)}"
                  f" of {sum(bool(r['macs_onnx']) for r in rows)}"
                  if package == "torchvision:" else ""))


def close(row):
    return bool(row["fvcore_theirs"]) and abs(
        int(row["fvcore"]) - int(row["fvcore_theirs"])) <= \
        0.001 * int(row["fvcore_theirs"])


def notes(table):
    heads = ", ".join(f"{r['model'].partition(':')[2]} {int(r['unused']):,}"
                      for r in table if int(r["unused"] or 0))
    yield ("- parameters are those of the live model, `sum(p.numel())`. Zoo and "
           "ONNX are compared\n  in those that evaluation reads: heads for "
           "training, `unused_params`, are not in\n  ONNX files, nor in the "
           "zoo's googlenet, which is the published one (6,624,904).\n  "
           f"They are: {heads}.")
    yield ("- an ONNX file does not tell parameters from buffers: Swin V2's "
           "tables of coordinates\n  (450 numbers a block) count there.")
    yield ("- `llama`, `mistral`, `qwen2`, `gpt_neox` have two layers of width "
           "512 here.")
    for row in table:
        if row["note"]:
            yield f"- `{row['model']}`: {row['note'].rstrip('; ')}"
        if row["unknown"]:
            yield f"- `{row['model']}`: unknown: {row['unknown']}"


def print_table(table):
    import transformers
    import ultralytics
    print(HEAD.format(torch=torch.__version__.split("+")[0],
                      vision=torchvision.__version__.split("+")[0],
                      transformers=transformers.__version__,
                      ultralytics=ultralytics.__version__,
                      totals="\n".join(totals(table)),
                      notes="\n".join(notes(table))), end="")
    for r in table:
        parts = int(r["partitions"] or 0)
        method = r["method"] + (f", {parts} parts" if parts > 1 else "")
        print(f"| {r['model']} | {r['input']} | {method} | "
              f"{int(r['params'] or 0):,} | {int(r['macs'] or 0):,} | "
              f"{both(r, 'torch')} | {both(r, 'zoo')} | {both(r, 'onnx')} | "
              f"{same(r, 'fvcore', 'fvcore_theirs')} |")


def main():
    global LIMIT
    parser = argparse.ArgumentParser()
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--onnx", action="store_true")
    parser.add_argument("--table", action="store_true")
    parser.add_argument("--limit", type=int, default=LIMIT)
    parser.add_argument("models", nargs="*")
    options = parser.parse_args()
    LIMIT = options.limit
    signal.signal(signal.SIGALRM, too_long)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    done = {}
    if os.path.exists(options.output):
        done = {r["model"]: r for r in csv.DictReader(open(options.output))}
    if options.table:
        return print_table(list(done.values()))
    todo = [n for n, r in done.items() if not r["macs_onnx"] and
            "onnx: " not in r["note"]] if options.onnx else \
        [n for n in names() if n not in done]
    for name in options.models or todo:
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

"""every_format.py - one network, every format: the counts must be the same.

    PYTHONPATH=build/python tests/gen/every_format.py -o FILE.csv [MODEL ...]
    tests/gen/every_format.py -o FILE.csv --table        rows for docs/formats.md

Each network (random weights, nothing is downloaded) is captured live, written
by torch.onnx.export (dynamo and legacy), torch.export.save and torch.jit.save,
and each is counted by the command `cleave profile`; the zoo's model of that
name beside them. Parameters are also torch's own sum(p.numel()). Lines that
FILE has already are kept, so a run may be broken off and taken up again.
"""
import argparse
import csv
import json
import logging
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import warnings
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("CLEAVE", str(ROOT / "build" / "cli" / "cleave"))
FORMATS = ["live", "dynamo", "legacy", "pt2", "script", "zoo"]
FIELDS = (["model", "input", "torch_params"] +
          [f"{f}_{n}" for f in FORMATS for n in ("params", "macs")] + ["note"])
LIMIT = 150
# Where files without weights are kept, if anywhere; smaller entries stay whole.
KEEP = os.environ.get("KEEP")
SMALL_ENTRY = 1024

VISION = """alexnet vgg11 vgg16_bn resnet18 resnet50 resnext50_32x4d wide_resnet50_2 squeezenet1_0
    squeezenet1_1 densenet121 googlenet inception_v3 mobilenet_v2 mobilenet_v3_small mobilenet_v3_large
    shufflenet_v2_x1_0 mnasnet1_0 efficientnet_b0 efficientnet_v2_s regnet_y_400mf regnet_x_800mf
    convnext_tiny vit_b_32 swin_t swin_v2_t maxvit_t fcn_resnet50 deeplabv3_mobilenet_v3_large
    lraspp_mobilenet_v3_large""".split()
DENSE = ["fcn_resnet50", "deeplabv3_mobilenet_v3_large", "lraspp_mobilenet_v3_large"]
TIMM = """resnet26d seresnet50 ghostnet_100 hardcorenas_a tf_efficientnet_lite0 mobilevit_s
    deit_tiny_patch16_224 mixer_s32_224 convmixer_768_32 poolformer_s12 coat_lite_tiny
    xcit_nano_12_p16_224 levit_128s pvt_v2_b0 edgenext_xx_small fastvit_t8 repvgg_a0
    efficientformer_l1 nfnet_l0 cait_xxs24_224""".split()
WORDS = """bert distilbert roberta albert gpt2 electra mobilebert vit deit""".split()
YOLO = ["yolov8n.yaml", "yolov8n-seg.yaml", "yolov8n-cls.yaml", "yolo11n.yaml", "yolov5n.yaml", "yolov9t.yaml"]
# Nothing is folded: norms stay beside convolutions, constants where they are.
AS_IT_IS = {"dynamo": {"optimize": False},
            "legacy": {"do_constant_folding": False, "training": "PRESERVE"}}
# Two layers of these: the counts say as much, and exporting is quicker.
SMALL = {"num_hidden_layers": 2, "n_layer": 2, "n_layers": 2}


def names():
    return ([f"torchvision:{n}" for n in VISION] + [f"timm:{n}" for n in TIMM] +
            [f"transformers:{n}" for n in WORDS] + YOLO)


def quick():
    """Packages are there before the clock runs, and nothing is drawn when a model
    is made: no count depends on its weights."""
    import cleave.torch
    import timm
    import torch
    from tv import torchvision
    for k in dir(torch.nn.init):
        if k.endswith("_") and not k.startswith("_"):
            setattr(torch.nn.init, k, lambda tensor, *_, **__: tensor)


def make(name):
    """The network in evaluation and its inputs. No two weights are equal: the
    legacy exporter writes equal ones once. Language models are called by
    position, which that exporter cannot do with theirs."""
    import torch
    model, inputs = make_any(name)
    with torch.no_grad():
        for i, p in enumerate(model.parameters()):
            p.fill_(1e-3 + i * 1e-6)
        for b in model.buffers():
            if b.is_floating_point():
                b.fill_(1.0)
    if name.startswith("transformers:"):
        class ByPosition(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.model = model

            def forward(self, x):
                return self.model(x)
        return ByPosition().eval(), inputs
    return model, inputs


def make_any(name):
    import torch
    package, _, bare = name.rpartition(":")
    if package == "timm":
        import timm
        model = timm.create_model(bare, pretrained=False)
        size = model.default_cfg.get("input_size", (3, 224, 224))
        return model.eval(), (torch.zeros(1, *size),)
    if package == "transformers":
        from transformers import AutoConfig, AutoModel
        config = AutoConfig.for_model(bare)
        for k, v in SMALL.items():
            if hasattr(config, k):
                setattr(config, k, v)
        config.use_cache = False
        config.return_dict = False
        model = AutoModel.from_config(config, attn_implementation="eager")
        if hasattr(config, "vocab_size") and not hasattr(config, "image_size"):
            return model.eval(), (torch.ones(1, 32, dtype=torch.long),)
        return model.eval(), (torch.zeros(1, 3, 224, 224),)
    if name.endswith(".yaml"):
        from ultralytics.nn.tasks import (ClassificationModel, DetectionModel,
                                          SegmentationModel)
        cls = (SegmentationModel if "-seg" in name else
               ClassificationModel if "-cls" in name else DetectionModel)
        size = 224 if "-cls" in name else 640
        model = cls(name, verbose=False).eval()
        for m in model.modules():
            if hasattr(m, "export"):
                m.export = True
        return model, (torch.zeros(1, 3, size, size),)
    from tv import torchvision
    size = 299 if bare == "inception_v3" else 256 if bare == "swin_v2_t" else 224
    options = {"weights_backbone": None} if bare in DENSE else {"aux_logits": False} if bare == "googlenet" else {}
    return torchvision.models.get_model(bare, weights=None, **options).eval(), (torch.zeros(1, 3, size, size),)


def counted(*args):
    run = subprocess.run([COMMAND, "profile", *args, "--json"], capture_output=True, text=True)
    if run.returncode:
        raise RuntimeError(run.stderr.strip().splitlines()[-1])
    got = json.loads(run.stdout)
    return got["total_params"], got["total_macs"], got["coverage"]["unknown_ops"]


def live(model, inputs, name):
    from cleave.torch import capture
    got = capture(model, inputs, name=name).graph.profile()
    return got["total_params"], got["total_macs"], got["coverage"]["unknown_ops"]


def written(kind, model, inputs, folder, name):
    import torch
    path = os.path.join(folder, kind + {"pt2": ".pt2", "script": ".pt"}.get(kind, ".onnx"))
    shape = ["--input-shape", ",".join(map(str, inputs[0].shape))]
    with torch.no_grad():
        if kind == "pt2":
            torch.export.save(torch.export.export(model, inputs), path)
        elif kind == "script":
            torch.jit.save(torch.jit.trace(model, inputs, check_trace=False, strict=False), path)
        else:
            options = dict(AS_IT_IS[kind])
            if "training" in options:
                options["training"] = getattr(torch.onnx.TrainingMode, options["training"])
            torch.onnx.export(model, inputs, path, dynamo=kind == "dynamo", verbose=False, **options)
    got = counted(path, *(shape if kind == "script" else []))
    if KEEP:
        keep(path, name, kind)
    for f in os.listdir(folder):
        os.unlink(os.path.join(folder, f))
    return got


def keep(path, name, kind):
    """Writes the file without its weights into KEEP."""
    import onnx
    from onnx_strip import strip
    target = os.path.join(KEEP, f"{name.replace(':', '-')}.{kind}{os.path.splitext(path)[1]}")
    if path.endswith(".onnx"):
        return onnx.save_model(strip(onnx.load(path, load_external_data=False)), target)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(target, "w") as new:
        for entry in old.infolist():
            if entry.filename.endswith(".debug_pkl"):
                continue
            data = old.read(entry)
            raw = re.search(r"/(data|constants|data/weights|data/constants)/[^/.]*$", entry.filename)
            packed = zipfile.ZIP_STORED if raw else zipfile.ZIP_DEFLATED
            new.writestr(entry.filename, b"" if raw and len(data) > SMALL_ENTRY else data, compress_type=packed)


def zoo(name, shape):
    bare = name.rpartition(":")[2].removesuffix(".yaml")
    if bare.startswith("yolov5"):
        bare += "u"
    if "transformers" in name or "timm" in name:
        return None
    run = subprocess.run([COMMAND, "profile", bare, "--json", "--input-shape", shape], capture_output=True, text=True)
    if run.returncode:
        return None
    got = json.loads(run.stdout)
    return got["total_params"], got["total_macs"], []


def too_long(*_):
    raise TimeoutError(f"not done in {LIMIT} s")


def measure(name):
    row = {"model": name, "note": ""}
    signal.signal(signal.SIGALRM, too_long)

    def attempt(what, run):
        signal.alarm(LIMIT)
        try:
            got = run()
            if got is not None and what in FORMATS:
                row[what + "_params"], row[what + "_macs"] = got[:2]
                if got[2]:
                    row["note"] += f"{what}: unknown {' '.join(sorted(set(got[2])))}; "
            return got
        except BaseException as e:
            if isinstance(e, KeyboardInterrupt):
                raise
            text = (str(e).strip().splitlines() or [type(e).__name__])[0][:140]
            row["note"] += f"{what}: {text}; "
        finally:
            signal.alarm(0)

    made = attempt("make", lambda: make(name))
    if not made:
        return row
    model, inputs = made
    shape = ",".join(map(str, inputs[0].shape))
    row["input"] = shape.replace(",", "x")
    row["torch_params"] = sum(p.numel() for p in model.parameters())
    with tempfile.TemporaryDirectory() as folder:
        attempt("live", lambda: live(model, inputs, name))
        for kind in ("pt2", "script", "legacy", "dynamo"):
            if name.endswith(".yaml"):  # keeps tensors of the last capture
                model, inputs = make(name)
            attempt(kind, lambda: written(kind, model, inputs, folder, name))
        attempt("zoo", lambda: zoo(name, shape))
    return row


def table(rows):
    """One line per network; a format's cell is `=` or its two numbers."""
    print("| network | input | params | MACs | " + " | ".join(FORMATS[1:]) + " |")
    print("|---|---|---:|---:|" + ":-:|" * len(FORMATS[1:]))
    for r in rows:
        want = (r["live_params"], r["live_macs"])
        cells = []
        for f in FORMATS[1:]:
            got = (r[f + "_params"], r[f + "_macs"])
            cells.append("" if not got[0] else "=" if got == want else
                         " / ".join("=" if a == b else a for a, b in zip(got, want)))
        print(f"| {r['model']} | {r['input']} | {want[0]} | {want[1]} | " + " | ".join(cells) + " |")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("-o", required=True)
    p.add_argument("--table", action="store_true")
    p.add_argument("models", nargs="*")
    a = p.parse_args()
    rows = {}
    if os.path.exists(a.o):
        rows = {r["model"]: r for r in csv.DictReader(open(a.o))}
    if a.table:
        return table(rows.values())
    quick()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    for name in a.models or names():
        if name in rows and not a.models:
            continue
        row = measure(name)
        rows[name] = {k: str(row.get(k, "")) for k in FIELDS}
        with open(a.o, "w") as o:
            w = csv.DictWriter(o, FIELDS, lineterminator="\n")
            w.writeheader()
            w.writerows(rows.values())
        print(name, rows[name]["note"], file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
    main()

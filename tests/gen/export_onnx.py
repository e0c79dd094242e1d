"""export_onnx.py - writes tests/data/onnx: torchvision models as ONNX files.

Each model goes through both exporters of PyTorch (the TorchScript one and
the one on torch.export), then onnx_strip.py removes the weights. The figures
in manifest.csv are measured on the live module, never on the file:

    params        sum of p.numel() over its parameters
    macs          FlopCounterMode / 2: convolutions and matrix products, with
                  attention on its plain path
    initializers  numbers held by the file's initializers, counted by onnx

    export_onnx.py [-o FOLDER] [MODEL ...]        (all models by default)
"""
import argparse
import io
import sys
import warnings
import zlib

import onnx
import onnx_strip
from onnx_folder import Folder, default_folder
from tv import torch, torchvision

IMAGE = (1, 3, 224, 224)
CLIP = (1, 3, 8, 112, 112)
AUX = {"aux_logits": False}
BARE = {"weights_backbone": None}

# model: (input shape, arguments of the builder). Auxiliary heads stay out:
# evaluation never touches them, so no exporter writes them.
MODELS = {
    "alexnet": (IMAGE, {}),
    "squeezenet1_0": (IMAGE, {}),
    "squeezenet1_1": (IMAGE, {}),
    "resnet18": (IMAGE, {}),
    "mobilenet_v2": (IMAGE, {}),
    "mobilenet_v3_small": (IMAGE, {}),
    "mnasnet1_0": (IMAGE, {}),
    "shufflenet_v2_x1_0": (IMAGE, {}),
    "googlenet": (IMAGE, {"init_weights": False, **AUX}),
    "efficientnet_b0": (IMAGE, {}),
    "regnet_x_400mf": (IMAGE, {}),
    "vit_b_32": (IMAGE, {}),
    "vgg11": (IMAGE, {}),
    "vgg16": (IMAGE, {}),
    "vgg16_bn": (IMAGE, {}),
    "vgg19_bn": (IMAGE, {}),
    "resnet34": (IMAGE, {}),
    "resnet50": (IMAGE, {}),
    "resnet101": (IMAGE, {}),
    "resnext50_32x4d": (IMAGE, {}),
    "wide_resnet50_2": (IMAGE, {}),
    "densenet121": (IMAGE, {}),
    "inception_v3": ((1, 3, 299, 299), {"init_weights": False, **AUX}),
    "mobilenet_v3_large": (IMAGE, {}),
    "efficientnet_b1": ((1, 3, 240, 240), {}),
    "efficientnet_b4": ((1, 3, 380, 380), {}),
    "efficientnet_v2_s": ((1, 3, 384, 384), {}),
    "regnet_y_400mf": (IMAGE, {}),
    "regnet_y_1_6gf": (IMAGE, {}),
    "convnext_tiny": (IMAGE, {}),
    "convnext_small": (IMAGE, {}),
    "vit_b_16": (IMAGE, {}),
    "swin_t": (IMAGE, {}),
    "swin_v2_t": ((1, 3, 256, 256), {}),
    "maxvit_t": (IMAGE, {}),
    "fcn_resnet50": (IMAGE, {"aux_loss": False, **BARE}),
    "deeplabv3_resnet50": (IMAGE, {"aux_loss": False, **BARE}),
    "lraspp_mobilenet_v3_large": (IMAGE, BARE),
    "r3d_18": (CLIP, {}),
    "mc3_18": (CLIP, {}),
    "s3d": ((1, 3, 16, 224, 224), {}),
    "ssdlite320_mobilenet_v3_large": ((3, 320, 320), BARE),
    "fasterrcnn_resnet50_fpn": ((3, 224, 224), BARE),
    "fasterrcnn_mobilenet_v3_large_320_fpn": ((3, 320, 320), BARE),
    "maskrcnn_resnet50_fpn": ((3, 224, 224), BARE),
    "keypointrcnn_resnet50_fpn": ((3, 224, 224), BARE),
    "retinanet_resnet50_fpn": ((3, 224, 224), BARE),
}

# The TorchScript exporter writes older opsets, so some files use them.
OPSETS = {"alexnet": 9, "squeezenet1_0": 11, "vgg11": 12, "resnet34": 13,
          "mobilenet_v2": 14, "resnet50": 15, "resnet101": 18, "vit_b_16": 20}

# torch.export's exporter folds batch norm when it optimises, as it does by
# default; these keep it, and the shape arithmetic of an unoptimised graph.
UNOPTIMISED = ("alexnet", "squeezenet1_0", "resnet18", "mobilenet_v2",
               "googlenet")

def detector(shape):
    """Detection models take a list of images, without a batch dim."""
    return len(shape) == 3


def shaken(model):
    """The model in evaluation mode, no two weights equal: the TorchScript
    exporter merges equal tensors, and a fresh model is full of them."""
    with torch.no_grad():
        for t in [*model.parameters(), *model.buffers()]:
            if t.is_floating_point():
                t.add_(torch.rand_like(t), alpha=1e-3)
    return model.eval()


def build(name):
    torch.manual_seed(0)
    shape, args = MODELS[name]
    model = torchvision.models.get_model(name, weights=None, **args)
    x = torch.rand(shape)
    return shaken(model), ([x],) if detector(shape) else (x,)


def measure(model, args):
    """MACs of one forward pass."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode
    torch.backends.mha.set_fastpath_enabled(False)
    with FlopCounterMode(display=False) as count, torch.no_grad():
        with sdpa_kernel(SDPBackend.MATH):
            model(*args)
    return count.get_total_flops() // 2


def export_legacy(model, args, name, **more):
    """Batch norm is kept: without PRESERVE it is folded into convolutions."""
    out = io.BytesIO()
    torch.onnx.export(model, args, out, dynamo=False,
                      opset_version=OPSETS.get(name, 17),
                      training=torch.onnx.TrainingMode.PRESERVE, **more)
    return onnx.load_from_string(out.getvalue()), ""


def export_dynamo(model, args, name, **more):
    plain = name in UNOPTIMISED
    folded = not plain and any("BatchNorm" in type(m).__name__
                               for m in model.modules())
    program = torch.onnx.export(model, args, dynamo=True, verbose=False,
                                optimize=not plain, **more)
    note = "unoptimised" if plain else "batch norm folded" if folded else ""
    return program.model_proto, note


def export(folder, name, kinds):
    """Writes one model by both exporters; a failure is told, not hidden."""
    shape = MODELS[name][0]
    model, args = build(name)
    row = {"model": name, "input": "x".join(map(str, shape)), "note": "",
           "params": sum(p.numel() for p in model.parameters())}
    if detector(shape):
        row["macs"], row["note"] = "", "work depends on the boxes found"
    else:
        row["macs"] = measure(model, args)
    for kind in kinds:
        if kind == "dynamo" and detector(shape):
            continue    # torch.export refuses control flow that needs data
        run = export_legacy if kind == "legacy" else export_dynamo
        try:
            proto, note = run(model, args, name)
        except Exception as e:
            reason = (str(e).strip().splitlines() or [""])[0]
            print(f"{name}.{kind}: FAILED {type(e).__name__}: {reason:.200}")
            continue
        note = "; ".join(n for n in (row["note"], note) if n)
        folder.add(proto, {**row, "file": f"{name}.{kind}.onnx",
                           "exporter": kind, "note": note}, **kept(name))


def kept(name):
    """Which shapes and which form of module scope the file keeps."""
    coin = zlib.crc32(name.encode())
    return {"value_info": coin & 1,
            "scopes": onnx_strip.SCOPES[coin >> 1 & 1:][:1]}


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("-o", default=default_folder())
    p.add_argument("--only", choices=("legacy", "dynamo"))
    p.add_argument("models", nargs="*", default=[])
    a = p.parse_args()
    warnings.filterwarnings("ignore")
    folder = Folder(a.o)
    kinds = [a.only] if a.only else ["legacy", "dynamo"]
    for name in a.models or MODELS:
        if name not in MODELS:
            sys.exit(f"unknown model {name}")
        export(folder, name, kinds)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Writes tests/data/zoo.csv: every built-in model, measured at its home.

    tests/gen/zoo_truth.py [--missing] [--cleave PATH] [SOURCE...] > zoo.csv
    tests/gen/zoo_truth.py --weights NAME      the lines behind a hash

Names and inputs come from `cleave models --json`; all else is the live model of
the package that a name comes from (torchvision, ultralytics, transformers,
timm, diffusers): parameters are sum(p.numel()), MACs half of what FlopCounterMode counts
in one evaluation, weights the state dict, as the number of its entries and the
FNV-1a (64 bits) of its sorted lines "name 64x3x7x7\\n". Counters of batch norms
are left out. Models are built and run on the meta device: shapes without contents.

Names of other sources than those asked for keep the rows they have; with
--missing all names do that have one.
"""
import argparse
import csv
import functools
import json
import pathlib
import subprocess
import sys
import warnings

import zoo_hub
import zoo_quantized
import zoo_written
from tv import torch, torchvision as tv
from torch.utils.flop_counter import FlopCounterMode

warnings.filterwarnings("ignore")
torch.set_num_threads(1)
for filler in vars(torch.nn.init).copy():
    if filler.endswith("_") and not filler.startswith("_"):
        setattr(torch.nn.init, filler, lambda tensor, *_, **__: tensor)
ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ["name", "params", "macs", "weights", "hash"]


def fnv1a(lines):
    h = 0xCBF29CE484222325
    for byte in "".join(sorted(lines)).encode():
        h = (h ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return h


def weights(model):
    """A weight that has several names counts by its first."""
    seen = set()
    for name, value in zoo_quantized.entries(model):
        if not name.endswith("num_batches_tracked") and id(value) not in seen:
            seen.add(id(value))
            yield f"{name} {'x'.join(map(str, value.shape))}\n"


def yes(read):
    """Models ask whether a mask is all ones: a meta tensor says yes."""
    return lambda self: True if self.is_meta else read(self)


torch.Tensor.__bool__ = yes(torch.Tensor.__bool__)
torch.Tensor.item = yes(torch.Tensor.item)


# -- homes: name and input shapes to a model and the arguments of its forward


def images(inputs):
    return (torch.empty(inputs[0]["shape"], device="meta"),)


def ultralytics(name, inputs):
    from ultralytics.nn import tasks
    from ultralytics.utils import LOGGER
    from ultralytics.nn.modules import head
    LOGGER.setLevel("ERROR")
    head.Detect.bias_init = lambda self: None  # reads what is not there
    kind, classes = tasks.DetectionModel, None
    for tail, cls, nc in (("-seg", tasks.SegmentationModel, None),
                          ("-pose", tasks.PoseModel, 1),
                          ("-obb", tasks.OBBModel, 15),
                          ("-cls", tasks.ClassificationModel, 1000)):
        if tail in name:
            kind, classes = cls, nc
    if name.startswith(("yolov3", "yolov5")):
        name = name.removesuffix("u")
    if name.endswith("6") and name.startswith("yolov5"):
        name = name[:-1] + "-p6"
    if name.startswith("rtdetr"):
        kind = tasks.RTDETRDetectionModel
    with torch.device("meta"):
        model = kind(name + ".yaml", nc=classes, verbose=False)
    last = model.model[-1]
    if hasattr(last, "nl"):
        first = 4 if "-p2" in name else 16 if "tiny" in name else 8
        last.stride = [first << i for i in range(last.nl)]
    return model, images(inputs)


def detect(model, images):
    """A detector without what depends on its images: as many proposals and
    detections as it keeps at most, of any place."""
    frames, _ = model.transform(list(images))
    maps = list(model.backbone(frames.tensors).values())
    if not hasattr(model, "rpn"):
        return model.head(maps)
    model.rpn.head(maps)
    heads, found = model.roi_heads, len(images) * model.roi_heads.detections_per_img
    boxes = len(images) * model.rpn.post_nms_top_n()
    heads.box_predictor(heads.box_head(torch.empty(boxes, 256, 7, 7)))
    if heads.has_mask():
        heads.mask_predictor(heads.mask_head(torch.empty(found, 256, 14, 14)))
    if heads.has_keypoint():
        heads.keypoint_predictor(
            heads.keypoint_head(torch.empty(found, 256, 14, 14)))


def detector(name, inputs):
    """As it is trained: batch norms of the body are frozen."""
    api = tv.models._api.WeightsEnum
    kept = api.get_state_dict, torch.nn.Module.load_state_dict
    api.get_state_dict = lambda *_, **__: {}
    torch.nn.Module.load_state_dict = lambda *_, **__: None
    try:
        model = tv.models.get_model(name, weights="DEFAULT")
    finally:
        api.get_state_dict, torch.nn.Module.load_state_dict = kept
    model.forward = functools.partial(detect, model)
    return model.to("meta"), images(inputs)


def measure_quantized(name, inputs):
    """Parameters are int8 weights and biases; MACs those of the float network."""
    model = zoo_quantized.build(name)
    lines = list(weights(model))
    learned = [v for n, v in zoo_quantized.entries(model)
               if not n.endswith(("scale", "zero_point"))]
    row = measure("torchvision", name.removeprefix("quantized_"), inputs)[0]
    return {**row, "name": name, "params": sum(v.numel() for v in learned),
            "weights": len(lines), "hash": f"{fnv1a(lines):016x}"}, lines


def torchvision(name, inputs):
    if name in tv.models.list_models(tv.models.detection):
        return detector(name, inputs)
    options = {"aux_logits": False} if name == "googlenet" else {}
    if name in tv.models.list_models(tv.models.segmentation):
        options = {"weights_backbone": None}
    model = tv.models.get_model(name, weights=None, **options)
    pair = name in tv.models.list_models(tv.models.optical_flow)
    return model.to(torch.device("meta")), images(inputs) * (1 + pair)


# What differs from a config's defaults: bert-large is BertConfig(**sizes(..)).
def sizes(layers, heads, width, hidden, **more):
    return dict(num_hidden_layers=layers, num_attention_heads=heads,
                hidden_size=width, intermediate_size=hidden, **more)


def roberta(*args, **more):
    return sizes(*args, max_position_embeddings=514, type_vocab_size=1,
                 layer_norm_eps=1e-5, **more)


BASE, LARGE = (12, 12, 768, 3072), (24, 16, 1024, 4096)
MANY = dict(vocab_size=119547)
TEXTS = {
    "bert-tiny": ("Bert", sizes(2, 2, 128, 512)),
    "bert-mini": ("Bert", sizes(4, 4, 256, 1024)),
    "bert-small": ("Bert", sizes(4, 8, 512, 2048)),
    "bert-medium": ("Bert", sizes(8, 8, 512, 2048)),
    "bert-base-uncased": ("Bert", {}),
    "bert-base-cased": ("Bert", dict(vocab_size=28996)),
    "bert-base-multilingual-cased": ("Bert", MANY),
    "bert-large-uncased": ("Bert", sizes(*LARGE)),
    "bert-large-cased": ("Bert", sizes(*LARGE, vocab_size=28996)),
    "all-MiniLM-L6-v2": ("Bert", sizes(6, 12, 384, 1536)),
    "all-MiniLM-L12-v2": ("Bert", sizes(12, 12, 384, 1536)),
    "roberta-base": ("Roberta", roberta(*BASE)),
    "roberta-large": ("Roberta", roberta(*LARGE)),
    "distilroberta-base": ("Roberta", roberta(6, *BASE[1:])),
    "xlm-roberta-base": ("XLMRoberta", roberta(*BASE, vocab_size=250002)),
    "xlm-roberta-large": ("XLMRoberta", roberta(*LARGE, vocab_size=250002)),
    "distilbert-base-uncased": ("DistilBert", {}),
    "distilbert-base-cased": ("DistilBert", dict(vocab_size=28996)),
    "distilbert-base-multilingual-cased": ("DistilBert", MANY),
    "albert-base-v2": ("Albert", sizes(*BASE)),
    "albert-large-v2": ("Albert", sizes(*LARGE)),
    "albert-xlarge-v2": ("Albert", sizes(24, 16, 2048, 8192)),
    "albert-xxlarge-v2": ("Albert", sizes(12, 64, 4096, 16384)),
    "electra-small-discriminator": ("Electra", {}),
    "electra-base-discriminator":
        ("Electra", sizes(*BASE, embedding_size=768)),
    "electra-large-discriminator":
        ("Electra", sizes(*LARGE, embedding_size=1024)),
}


def vit(patch, size, *widths):
    return sizes(*widths, patch_size=patch, image_size=size, num_labels=1000)


TINY, SMALL = (12, 3, 192, 768), (12, 6, 384, 1536)
VIT, TEACHER = "ViTForImageClassification", "DeiTForImageClassificationWithTeacher"
IMAGES = {
    **{f"vit-{n}-patch{p}-{s}": ("ViT", VIT, vit(p, s, *w))
       for n, w in (("base", BASE), ("large", LARGE))
       for p, s in ((16, 224), (16, 384), (32, 384))},
    **{f"deit-{n}-patch16-224": ("ViT", VIT, vit(16, 224, *w))
       for n, w in (("tiny", TINY), ("small", SMALL), ("base", BASE))},
    **{f"deit-{n}-distilled-patch16-{s}": ("DeiT", TEACHER, vit(16, s, *w))
       for n, w, s in (("tiny", TINY, 224), ("small", SMALL, 224),
                       ("base", BASE, 224), ("base", BASE, 384))},
    **{f"dinov2-{n}": ("Dinov2", "Dinov2Model", vit(14, 518, *w))
       for n, w in (("small", SMALL), ("base", BASE), ("large", LARGE))},
}


def timm(name, inputs):
    import timm as home
    with torch.device("meta"):
        return home.create_model(name), images(inputs)


def named(inputs):
    return {i["name"]: torch.zeros(i["shape"], device="meta",
                                   dtype=getattr(torch, i["dtype"]))
            for i in inputs}


def transformers(name, inputs):
    import transformers as hf
    if name in zoo_hub.HUB:
        return zoo_hub.build(name), named(inputs)
    if name in IMAGES:
        kind, model, options = IMAGES[name]
        config = getattr(hf, kind + "Config")(**options)
        with torch.device("meta"):
            return getattr(hf, model)(config), images(inputs)
    kind, options = TEXTS[name]
    config = getattr(hf, kind + "Config")(**options)
    with torch.device("meta"):
        return getattr(hf, kind + "Model")(config), named(inputs)


def diffusers(name, inputs):
    return zoo_written.diffusers(name), named(inputs)


def written(name, inputs):
    args = named(inputs)
    return zoo_written.written(name), args if len(args) > 1 else images(inputs)


HOMES = {"diffusers": diffusers, "dlrm": written, "hifi-gan": written,
         "mlperf-tiny": written, "timm": timm, "torchvision": torchvision,
         "transformers": transformers, "ultralytics": ultralytics}


def measure(source, name, inputs):
    if name.startswith("quantized_"):
        return measure_quantized(name, inputs)
    model, args = HOMES[source](name, inputs)
    model.eval().requires_grad_(False)
    with torch.device("meta"):
        counter = FlopCounterMode(display=False)
        with counter, torch.no_grad():
            model(**args) if isinstance(args, dict) else model(*args)
    lines = list(weights(model))
    flops = counter.get_total_flops()
    assert flops % 2 == 0, name
    return {"name": name, "params": sum(p.numel() for p in model.parameters()),
            "macs": flops // 2, "weights": len(lines),
            "hash": f"{fnv1a(lines):016x}"}, lines


def inputs(cleave, name):
    """Name, shape and dtype of each."""
    return json.loads(subprocess.check_output(
        [cleave, "profile", name, "--json"]))["inputs"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", default=ROOT / "build/cli/cleave")
    parser.add_argument("--weights", metavar="NAME")
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()
    listed = json.loads(subprocess.check_output(
        [options.cleave, "models", "--json"]))["models"]
    if options.weights:
        m = next(m for m in listed if m["name"] == options.weights)
        sys.stdout.writelines(sorted(measure(
            m["source"], m["name"], inputs(options.cleave, m["name"]))[1]))
        return
    table = ROOT / "tests/data/zoo.csv"
    old = {}
    if table.exists():
        with open(table, newline="") as f:
            old = {row["name"]: row for row in csv.DictReader(f)}
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    out.writeheader()
    for m in listed:
        wanted = not options.sources or m["source"] in options.sources
        wanted &= not (options.missing and m["name"] in old)
        if m["source"] in HOMES and wanted:
            out.writerow(measure(m["source"], m["name"],
                                 inputs(options.cleave, m["name"]))[0])
            sys.stdout.flush()
        elif m["name"] in old:
            out.writerow(old[m["name"]])


if __name__ == "__main__":
    main()

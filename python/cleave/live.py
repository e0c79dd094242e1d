"""Models by name that only Python can make: factories, torchvision, YOLO from
ultralytics, transformers from a config. Nothing is downloaded, and weights are
random: costs do not depend on them."""
import importlib.util
import inspect
import os
import sys

from cleave._cleave import Error, Graph, models

# name: (class of transformers, its config, token or image input)
TRANSFORMERS = {
    "bert": ("BertModel", "BertConfig", "tokens"),
    "distilbert": ("DistilBertModel", "DistilBertConfig", "tokens"),
    "roberta": ("RobertaModel", "RobertaConfig", "tokens"),
    "gpt2": ("GPT2Model", "GPT2Config", "tokens"),
    "t5": ("T5EncoderModel", "T5Config", "tokens"),
    "vit": ("ViTModel", "ViTConfig", "image"),
    "deit": ("DeiTModel", "DeiTConfig", "image"),
    "swin": ("SwinModel", "SwinConfig", "image"),
    "dinov2": ("Dinov2Model", "Dinov2Config", "image"),
    "detr": ("DetrModel", "DetrConfig", "detection"),
}
SAVE_GRAPH = {}    # what --save-graph asked for, until the model is open


def arguments(argv):
    """What the command itself takes; None when all is done already.

    --list lists models; --save-graph FILE keeps the captured graph as Python.
    """
    SAVE_GRAPH.pop("path", None)
    if argv == ["--list"] or argv[1:] == ["--list"]:
        print("\n".join(names()))
        return None
    out, words = [], iter(argv)
    for word in words:
        if word == "--save-graph":
            SAVE_GRAPH["path"] = next(words, None)
        elif word.startswith("--save-graph="):
            SAVE_GRAPH["path"] = word.split("=", 1)[1]
        else:
            out.append(word)
    return out


def names():
    """Built-in models, then those the installed packages can make."""
    found = list(models())
    if importlib.util.find_spec("torchvision"):
        try:
            found += [f"torchvision:{n}" for n in _torchvision().list_models()]
        except Exception:    # its operators do not fit this torch
            pass
    if importlib.util.find_spec("transformers"):
        found += [f"transformers:{n}" for n in TRANSFORMERS]
    if importlib.util.find_spec("ultralytics"):
        found += [f"yolo{v}{s}.yaml" for v in ("v5", "v8", "11")
                  for s in "nsmlx"]
    return found


def open_model(name, shapes, batch):
    """The Graph of a live model; None when the command should open it."""
    made = make(name)
    if made is None:
        return None
    from cleave.torch import capture
    model, inputs = made
    result = capture(model, _inputs(inputs, shapes, batch), name=name)
    for method, why in result.failures.items():
        print(f"cleave: note: {method} failed: {why}", file=sys.stderr)
    if SAVE_GRAPH.get("path"):
        from cleave.dynamo import write_graphs
        write_graphs(result.modules, SAVE_GRAPH["path"])
    return result.graph


def make(name):
    """(module, shape or inputs) of a live model, None if it is no such name."""
    kind, colon, rest = name.partition(":")
    base = os.path.basename(name)
    if base.startswith("yolo") and base.endswith((".yaml", ".pt")):
        if base.endswith(".pt") and os.path.exists(name):
            return None
        return _yolo(name[:name.rindex(".")] + ".yaml"), (1, 3, 640, 640)
    if not colon or os.path.exists(name):
        return None
    _need("torch")
    if kind == "torchvision":
        return _from_torchvision(rest)
    if kind == "transformers":
        return _from_transformers(rest)
    sys.path.insert(0, os.getcwd())
    try:
        factory = importlib.import_module(kind)
        for part in rest.split("."):
            factory = getattr(factory, part)
    except (ImportError, AttributeError) as e:
        raise LookupError(f"no model '{name}': {e}") from None
    finally:
        sys.path.pop(0)
    made = factory() if callable(factory) and not hasattr(
        factory, "state_dict") or isinstance(factory, type) else factory
    return made if isinstance(made, tuple) else (made, None)


def _need(package):
    if importlib.util.find_spec(package) is None:
        raise Error(f"this model needs {package}: pip install {package}")


def _inputs(default, shapes, batch):
    import torch
    if shapes:
        made = {name: torch.rand(dims) for name, dims in shapes}
        return made if None not in made else tuple(made.values())
    if default is None:
        raise Error("a live model needs --input-shape")
    if not all(isinstance(n, int) for n in default):
        return default
    return torch.rand((batch or default[0], *default[1:]))


def _torchvision():
    _need("torchvision")
    import torchvision.models
    return torchvision.models


def _from_torchvision(name):
    library = _torchvision()
    try:
        make = library.get_model_builder(name)
    except (ValueError, KeyError):
        raise LookupError(f"torchvision has no model '{name}'") from None
    options = {"weights": None}
    if "weights_backbone" in inspect.signature(make).parameters:
        options["weights_backbone"] = None    # it would be downloaded
    model = make(**options)
    side = 299 if "inception" in name else 224
    return model, (1, 3, side, side)


def _from_transformers(name):
    import torch
    _need("transformers")
    import transformers
    if name not in TRANSFORMERS:
        raise LookupError(f"no transformers model '{name}'; there are "
                          + ", ".join(TRANSFORMERS))
    cls, config, kind = TRANSFORMERS[name]
    settings = getattr(transformers, config)()
    if name == "detr":    # the backbone of its own, without a download
        settings.use_pretrained_backbone = False
    model = getattr(transformers, cls)(settings)
    if kind == "tokens":
        tokens = torch.zeros((1, 128), dtype=torch.long)
        return model, {"input_ids": tokens,
                       "attention_mask": torch.ones_like(tokens)}
    side = getattr(settings, "image_size", 224)
    side = side if isinstance(side, int) else 224
    return model, {"pixel_values": torch.rand(1, 3, side, side)}


def _yolo(name):
    _need("torch")
    _need("ultralytics")
    from ultralytics.nn.tasks import DetectionModel, yaml_model_load
    return DetectionModel(yaml_model_load(name), verbose=False)

"""Models by name that only Python can make: factories, torchvision, YOLO from
ultralytics, transformers from a config. Nothing is downloaded, and weights are
random or absent: costs do not depend on them."""
import contextlib
import importlib.util
import os
import sys

from cleave._cleave import Error, models

# Types of transformers' AutoModel that are tested; others may work too.
TRANSFORMERS = """albert bart beit bert clip convnext deit detr dinov2
    distilbert electra gpt2 gpt_neox llama mistral mobilevit modernbert opt
    qwen2 resnet roberta segformer swin t5 vit whisper""".split()
# Inputs of torchvision's models that are not one image of 224 x 224: what the
# name begins with, the shape of a tensor, how many.
SHAPES = (("inception", (1, 3, 299, 299), 1),
          ("quantized_inception", (1, 3, 299, 299), 1),
          ("raft", (1, 3, 512, 512), 2), ("s3d", (1, 3, 16, 224, 224), 1),
          ("mvit", (1, 3, 16, 224, 224), 1),
          ("swin3d", (1, 3, 16, 224, 224), 1),
          ("r3d", (1, 3, 16, 112, 112), 1), ("mc3", (1, 3, 16, 112, 112), 1),
          ("r2plus1d", (1, 3, 16, 112, 112), 1))
# Detectors take a list of images; what the name contains, the side of one.
DETECTORS = (("320", 320), ("ssd300", 300), ("rcnn", 800), ("retinanet", 800),
             ("fcos", 800))
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
    return ["profile", *out] if out and out[0] == "--model" else out


def names():
    """Built-in models, then those the installed packages can make."""
    found = list(models())
    if _there("torchvision"):
        with contextlib.suppress(Error):    # it does not fit this torch
            found += [f"torchvision:{n}" for n in _torchvision().list_models()]
    if _there("transformers"):
        found += [f"transformers:{n}" for n in TRANSFORMERS]
    if _there("ultralytics"):
        found += [f"yolo{v}{s}.yaml" for v in ("v5", "v8", "11")
                  for s in "nsmlx"]
    return found


def open_model(name, shapes, batch):
    """The Graph of a live model; None when the command should open it."""
    made = make(name)
    if made is None:
        return None
    result = captured(name, *made, shapes, batch)
    for method, why in result.failures.items():
        print(f"cleave: note: captured by {result.method}; {method} failed: "
              f"{why}", file=sys.stderr)
    for why in result.breaks:
        print(f"cleave: note: the graph breaks, and what runs in between is "
              f"not counted: {why}", file=sys.stderr)
    if SAVE_GRAPH.get("path"):
        from cleave.dynamo import write_graphs
        write_graphs(result.modules, SAVE_GRAPH["path"])
    return result.graph


def captured(name, model, inputs, shapes=(), batch=0):
    """The Capture of what make() made. A model that looks at its data, but not
    while it is exported, goes without memory; any other is made again."""
    from cleave.torch import EXPORTS, CaptureError, capture
    sized = _resized(inputs, shapes, batch)
    try:
        return capture(model, sized, name=name)
    except CaptureError as e:
        if "meta tensors" not in str(e):
            raise
    try:
        return capture(model, sized, name=name, methods=EXPORTS, warmup=False)
    except CaptureError:
        model, inputs = make(name, weights=True)
        return capture(model, _resized(inputs, shapes, batch), name=name)


def make(name, weights=False):
    """(module, inputs) of a live model, None if it is no such name.

    Without weights, models of packages are made on the meta device where that
    goes: the largest takes no memory."""
    kind, colon, rest = name.partition(":")
    base = os.path.basename(name)
    if base.startswith("yolo") and base.endswith((".yaml", ".pt")):
        return _yolo(name)
    if os.path.exists(name) or name in models():
        return None
    if not colon:
        kind, rest = _package_of(name), name
    if kind is None:
        return None
    _need("torch")
    if kind == "torchvision":
        return _from_torchvision(rest, weights)
    if kind == "transformers":
        return _from_transformers(rest, weights)
    return _from_factory(name, kind, rest)


def _package_of(name):
    """Whose model a bare name is."""
    if name in TRANSFORMERS and _there("transformers"):
        return "transformers"
    if name.isidentifier() and _there("torchvision") and _there("torch"):
        with contextlib.suppress(Error):
            if name in _torchvision().list_models():
                return "torchvision"
    return None


def _there(package):
    return package in sys.modules or \
        importlib.util.find_spec(package) is not None


def _need(package):
    if not _there(package):
        raise Error(f"this model needs {package}: pip install {package}")


def _from_factory(name, module, path):
    """package.module:factory, a function, class or module made already; it may
    come with its inputs: (module, inputs)."""
    sys.path.insert(0, os.getcwd())
    try:
        made = importlib.import_module(module)
        for part in path.split("."):
            made = getattr(made, part)
        if isinstance(made, type) or not hasattr(made, "state_dict"):
            made = made()
    except (ImportError, AttributeError) as e:
        raise LookupError(f"no model '{name}': {e}") from None
    except Exception as e:
        raise Error(f"making '{name}' failed: {type(e).__name__}: {e}"
                    ) from None
    finally:
        sys.path.pop(0)
    return made if isinstance(made, tuple) else (made, None)


# -- inputs ------------------------------------------------------------------

def _resized(inputs, shapes, batch):
    """The inputs with what --input-shape and --batch say; tensors that had the
    same shape as one that is named (a mask beside its tokens) follow it."""
    import torch
    from torch.utils import _pytree as pytree
    if isinstance(inputs, tuple) and all(isinstance(n, int) for n in inputs):
        inputs = torch.rand(inputs)
    if inputs is None:
        made = {name: torch.rand(dims) for name, dims in shapes}
        if not made:
            raise Error("a live model needs --input-shape")
        return made if None not in made else tuple(
            torch.rand(dims) for _, dims in shapes)
    leaves, tree = pytree.tree_flatten_with_path(inputs)
    paths, tensors = [p for p, _ in leaves], [t for _, t in leaves]
    free = iter(range(len(tensors)))
    for name, dims in shapes:
        at = next((i for i, p in enumerate(paths)
                   if p and getattr(p[-1], "key", None) == name), None) \
            if name else next(free, None)
        if at is None:
            raise Error(f"the model has no input '{name}'" if name else
                        "more shapes than the model has inputs")
        was = tensors[at].shape
        tensors = [_like(t, dims) if t.shape == was else t for t in tensors]
    if batch and isinstance(inputs, list):    # a list of images
        return tensors[:1] * batch
    if batch:
        tensors = [_like(t, (batch, *t.shape[1:])) for t in tensors]
    return pytree.tree_unflatten(tensors, tree)


def _like(tensor, shape):
    import torch
    make = torch.rand if tensor.is_floating_point() else torch.ones
    return make(tuple(shape), dtype=tensor.dtype, device=tensor.device)


def _on_meta(make):
    """A module without memory; with it, where making needs numbers."""
    import torch
    try:
        with torch.device("meta"):
            return make()
    except Exception:
        return make()


# -- packages ----------------------------------------------------------------

def _torchvision():
    _need("torchvision")
    _need("torch")
    from cleave import vision
    try:
        return vision.load().models
    except Exception as e:
        raise Error(f"torchvision does not import: {_line(e)}") from None


def _line(e):
    """What was raised, as one line."""
    return " ".join(f"{type(e).__name__}: {e}".split())


def _imported(package, name):
    """A package that may import torchvision, whose operators are declared."""
    _need(package)
    _need("torch")
    from cleave import vision
    vision.declare()
    try:
        return importlib.import_module(name)
    except Exception as e:
        raise Error(f"{package} does not import: {_line(e)}") from None


def _from_torchvision(name, weights):
    import inspect
    import torch
    library = _torchvision()
    try:
        make = library.get_model_builder(name)
    except (ValueError, KeyError):
        raise LookupError(f"torchvision has no model '{name}'") from None
    takes = inspect.signature(make).parameters
    options = {"weights": None}
    if "weights_backbone" in takes:
        options["weights_backbone"] = None    # it would be downloaded
    if "init_weights" in takes or name in ("googlenet", "inception_v3"):
        options["init_weights"] = False       # which takes minutes
    for part, side in DETECTORS:
        if part in name:
            return make(**options), [torch.rand(3, side, side)]
    model = make(**options) if weights else _on_meta(lambda: make(**options))
    device = next(model.parameters()).device
    shape, n = next((s[1:] for s in SHAPES if name.startswith(s[0])),
                    ((1, 3, 224, 224), 1))
    inputs = tuple(torch.rand(shape, device=device) for _ in range(n))
    return model, inputs if n > 1 else inputs[0]


def _from_transformers(name, weights):
    AutoConfig = _imported("transformers", "transformers").AutoConfig
    try:
        config = AutoConfig.for_model(name)
    except ValueError:
        raise LookupError(f"no transformers model '{name}'; there are "
                          + ", ".join(TRANSFORMERS)) from None
    if name == "detr":    # its own backbone needs timm and a download
        config = type(config)(
            use_timm_backbone=False, use_pretrained_backbone=False,
            backbone=None, backbone_config=AutoConfig.for_model(
                "resnet", out_features=["stage4"]))
    return from_config(config, weights)


def from_config(config, weights=False):
    """(module, inputs) of a configuration of transformers."""
    AutoModel = _imported("transformers", "transformers").AutoModel
    config.use_cache = False    # torch.export knows no cache among outputs
    make = lambda: AutoModel.from_config(config)
    try:
        model = make() if weights else _on_meta(make)
    except Exception as e:
        raise Error(f"transformers cannot make {config.model_type}: "
                    f"{str(e).strip()}") from None
    return model, _inputs_of(model)


def _inputs_of(model):
    """What the forward of a transformers model is called with."""
    import inspect
    import torch
    device = next(model.parameters()).device
    takes, config = inspect.signature(model.forward).parameters, model.config
    own = getattr(config, "vision_config", None) or config
    side = getattr(own, "image_size", None) or 224
    h, w = side if isinstance(side, (list, tuple)) else (side, side)
    mels = getattr(config, "num_mel_bins", 80)
    tokens = torch.ones((1, 64), dtype=torch.long, device=device)
    made = {"input_ids": tokens,
            "pixel_values": torch.rand(
                (1, getattr(own, "num_channels", 3), h, w), device=device),
            "input_features": torch.rand((1, mels, 3000), device=device),
            "decoder_input_ids": tokens[:, :16]}
    return {name: made[name] for name in takes if name in made}


def _yolo(name):
    """A YOLO of ultralytics: of a .pt file the weights in it; without the file,
    which ultralytics would download, the same network from its .yaml."""
    tasks = _imported("ultralytics", "ultralytics.nn.tasks")
    import torch
    inputs = torch.rand(1, 3, 640, 640)
    if name.endswith(".pt") and os.path.exists(name):
        return _yolo_weights(tasks, name), inputs
    known = name[:name.rindex(".")] + ".yaml"
    try:
        with contextlib.redirect_stdout(sys.stderr):
            model = tasks.DetectionModel(tasks.yaml_model_load(known),
                                         verbose=False)
    except FileNotFoundError:
        raise LookupError(f"ultralytics has no model '{known}'" if
                          known == name else f"no file '{name}', and "
                          f"ultralytics has no model '{known}'") from None
    if known != name:
        print(f"cleave: note: no file '{name}', and nothing is downloaded: this "
              f"is {known} with random weights, whose costs are the same",
              file=sys.stderr)
    return model, inputs


def _yolo_weights(tasks, path):
    try:
        with contextlib.redirect_stdout(sys.stderr):
            model = tasks.load_checkpoint(path)[0] \
                if hasattr(tasks, "load_checkpoint") \
                else tasks.attempt_load_one_weight(path)[0]
    except Exception as e:
        raise Error(f"ultralytics cannot read '{path}': {_line(e)}") from None
    return model.float()

"""cleave: what a neural network costs, how to cut it, and how to run it.

    import cleave
    cleave.profile("resnet50")["total_flops"]          # a built-in model
    cleave.load("model.onnx").partition("fusion")      # a file
    cleave.profile(my_module, torch.randn(1, 3, 224, 224))   # a live module

Everything is computed by the C library; results are dicts, the same as the
command's JSON. PyTorch is needed for live modules only.
"""
from cleave._cleave import (Error, Graph, Model, Result, Tensor,
                            __version__, hardware, models, verify)
from cleave._cleave import open as _open

__all__ = ["Error", "Graph", "Model", "Result", "Tensor", "capture",
           "hardware", "load", "models", "open", "profile", "summary", "verify",
           "__version__"]


def load(model, inputs=None, kwargs=None, **options):
    """A Graph of a built-in model (its name), a model file (its path) or a
    live torch module (with the inputs to call it with).

    Options for names and paths: input_shape, batch, dtype, dims, loop, ops; for
    live modules those of capture.
    """
    import os
    if isinstance(model, Graph):
        return model
    if isinstance(model, (str, os.PathLike)):
        if inputs is not None or kwargs is not None:
            raise TypeError("load: inputs are for live modules: a name or a "
                            "file takes input_shape=")
        return _opened(os.fspath(model), options)
    return capture(model, inputs, kwargs, **options).graph


open = load


def _opened(name, options):
    """A built-in model or a file; refusals say how to go on."""
    from cleave import refusal
    refusal.options("load", options, ("input_shape", "batch", "dtype", "dims",
                                      "loop", "ops"))
    if options.get("batch") == 0:
        raise ValueError("load: batch=0 is no batch: give a whole number above "
                         "0")
    try:
        return _open(name, **options)
    except (LookupError, OSError, TypeError, ValueError, Error) as e:
        text = e.args[0] if e.args else str(e)
        way = ""
        if isinstance(e, LookupError) and "did you mean" not in text:
            way = ": cleave.models() lists names, a file needs its path"
        elif isinstance(e, (TypeError, ValueError)):
            way = f" in {options}: as in input_shape=(1, 3, 224, 224), " \
                "batch=8, dtype='float16'"
        raise type(e)(f"load: {text}{way}") from None


def capture(model, inputs=None, kwargs=None, *, input_size=None, dtypes=None,
            device=None, ops=None, progress=None, **options):
    """cleave.torch.capture: the graph of a live module, and how it was got.

    input_size  a shape, or several, instead of inputs; with dtypes= and device=
    ops         {operator: callback (inputs, outputs)}: what operators cost
    progress    says on stderr what takes longer than a second; None: if that is
                a terminal
    """
    torch = _with_torch()
    from cleave import handles, refusal, waiting
    refusal.options("capture", options, ("name", "methods", "warmup",
                                         "dynamic_shapes", "dims"))
    refusal.arguments(inputs, kwargs)
    refusal.capturing(options.get("name"), options.get("dims"))
    if "methods" in options:
        options["methods"] = refusal.methods(options["methods"], torch.METHODS)
    if input_size is not None:
        from cleave.torchinfo import make_inputs
        if inputs is not None:
            raise TypeError("capture: inputs and input_size= say the same "
                            "twice: give one of them")
        inputs = make_inputs(input_size, dtypes, device)
    elif dtypes is not None or device is not None:
        raise TypeError("capture: dtypes= and device= are of tensors that "
                        "input_size= makes: give it, or such inputs")
    with waiting.said(f"capturing {type(model).__name__}", progress):
        found = torch.capture(model, inputs, kwargs, **options)
    if ops is not None:
        handles.apply(found.graph, ops)
    return found


def profile(model, inputs=None, kwargs=None, *, count="full", **options):
    """Costs of every operator of a model, as a dict; see load for models."""
    return load(model, inputs, kwargs, **options).profile(count=count)


def summary(model, *args, **options):
    """cleave.torchinfo.summary: the modules of a model as a table, in the shape
    of torchinfo."""
    _with_torch()
    from cleave.torchinfo import summary as made
    return made(model, *args, **options)


def _with_torch():
    """cleave.torch, or one line about what is missing."""
    try:
        from cleave import torch
    except ModuleNotFoundError as e:
        if e.name != "torch":
            raise
        raise Error(str(e)) from None
    return torch


def __getattr__(name):
    """cleave.torch and the like are imported when they are first named."""
    if name not in ("dynamo", "fvcore", "handles", "live", "neuron", "notebook",
                    "torch", "torchinfo", "vision"):
        raise AttributeError(f"module 'cleave' has no attribute '{name}'")
    import importlib
    return importlib.import_module(f"cleave.{name}")

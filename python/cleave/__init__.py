"""cleave: what a neural network costs, how to cut it, and how to run it.

    import cleave
    cleave.profile("resnet50")["total_flops"]          # a built-in model
    cleave.load("model.onnx").partition("fusion")      # a file
    cleave.profile(my_module, torch.randn(1, 3, 224, 224))   # a live module

Everything is computed by the C library; results are dicts, the same as the
command's JSON. PyTorch is needed for live modules only.
"""
from cleave._cleave import (Error, Graph, Model, Tensor, __version__,
                            hardware, models, verify)
from cleave._cleave import open as _open

__all__ = ["Error", "Graph", "Model", "Tensor", "capture", "hardware", "load",
           "models", "open", "profile", "verify", "__version__"]


def load(model, inputs=None, kwargs=None, **options):
    """A Graph of a built-in model (its name), a model file (its path) or a
    live torch module (with the inputs to call it with).

    Options for names and paths: input_shape, batch, dtype, dims, loop, ops.
    """
    import os
    if isinstance(model, Graph):
        return model
    if isinstance(model, (str, os.PathLike)):
        if inputs is not None or kwargs is not None:
            raise TypeError("inputs are for live modules; a name or a file "
                            "takes input_shape=")
        return _open(os.fspath(model), **options)
    return capture(model, inputs, kwargs, **options).graph


open = load


def capture(model, inputs=None, kwargs=None, **options):
    """cleave.torch.capture: the graph of a live module, and how it was got."""
    try:
        from cleave.torch import capture as torch_capture
    except ModuleNotFoundError as e:
        if e.name != "torch":
            raise
        raise Error(str(e)) from None
    return torch_capture(model, inputs, kwargs, **options)


def profile(model, inputs=None, kwargs=None, *, count="full", **options):
    """Costs of every operator of a model, as a dict; see load for models."""
    return load(model, inputs, kwargs, **options).profile(count=count)


def __getattr__(name):
    """cleave.torch and the like are imported when they are first named."""
    if name not in ("dynamo", "fvcore", "live", "neuron", "torch",
                    "vision"):
        raise AttributeError(f"module 'cleave' has no attribute '{name}'")
    import importlib
    return importlib.import_module(f"cleave.{name}")

#!/usr/bin/env python3
"""Costs of a model: python cli/profile_graph.py --model resnet50 [--verbose]"""
import sys

import cleave
from cleave.__main__ import main as command

MODEL_REGISTRY = {}    # name: function that makes a module


def profile_model(model, input_shape=None, show_shapes=False, model_name=None,
                  verbose=True):
    """Prints the profile of a module, or of a model by name; returns it."""
    graph = _graph_of(model, input_shape, model_name)
    print(graph.profile(text=True, verbose=verbose, shapes=show_shapes))
    return graph.profile()


def show_table(model, show_shapes=False, input_shape=None):
    """profile_model by the older tool's name."""
    return profile_model(model, input_shape, show_shapes)


def _graph_of(model, input_shape, model_name):
    shape = tuple(input_shape) if input_shape else None
    if not isinstance(model, str):
        return _capture(model, shape or (1, 3, 224, 224), model_name)
    if model in MODEL_REGISTRY:
        return _capture(MODEL_REGISTRY[model](), shape or (1, 3, 224, 224),
                        model_name or model)
    from cleave import live
    graph = live.open_model(model, [(None, shape)] if shape else [], 0)
    return graph or cleave.load(model, input_shape=shape)


def _capture(module, shape, name):
    import torch
    result = cleave.capture(module, torch.randn(*shape), name=name)
    for method, why in result.failures.items():
        print(f"{method} failed: {why}")
    print(f"Traced with {result.method}\n")
    return result.graph


def arguments(argv):
    """The command's arguments: --input-shape 1 3 224 224 is one word there."""
    out = []
    for word in argv:
        if out and word.isdigit() and "--input-shape" in out[-2:]:
            if out[-1] == "--input-shape":
                out.append(word)
            else:
                out[-1] += "," + word
        else:
            out.append(word)
    if out == ["--list"]:
        return out
    if not any(w.split("=")[0] == "--model" for w in out):
        out += ["--model", "resnet18"]
    return ["profile", *out]


def main(argv=None):
    return command(arguments(sys.argv[1:] if argv is None else list(argv)))


if __name__ == "__main__":
    sys.exit(main())

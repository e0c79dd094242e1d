#!/usr/bin/env python3
"""Costs of a model: python cli/profile_graph.py --model resnet50 [--verbose]

A model of one's own is a line MODEL_REGISTRY['my_model'] = lambda: MyModel(),
here or in a file my_model.py of the current folder, and then --model my_model."""
import argparse
import json
import os
import runpy
import sys

import cleave
from cleave import live
from cleave._cleave import main as command, open as open_named

MODEL_REGISTRY = {}    # name: function that makes a module
SHAPE = (1, 3, 224, 224)
# What a family is called in a heading, by what its names begin with.
FAMILIES = (("resnet", "ResNet-"), ("mobilenet_", "MobileNet-"), ("vgg", "VGG-"),
            ("efficientnet_", "EfficientNet-"), ("densenet", "DenseNet-"))
WORDS = {"relu": "ReLU", "relu6": "ReLU6", "gelu": "GELU", "silu": "SiLU",
         "sdpa": "SDPA", "lstm": "LSTM", "gru": "GRU", "rnn": "RNN"}


def profile_model(model, input_shape=None, show_shapes=False, model_name=None,
                  verbose=True):
    """Prints the profile of a module, or of a model by name; returns it."""
    graph = _graph_of(model, input_shape, model_name)
    print(graph.profile(text=True, verbose=verbose, shapes=show_shapes))
    return graph.profile()


def show_table(model, show_shapes=False, input_shape=None):
    """profile_model by the older tool's name."""
    return profile_model(model, input_shape, show_shapes)


# -- models ------------------------------------------------------------------

def _graph_of(model, input_shape, model_name):
    shape = tuple(input_shape) if input_shape else None
    if not isinstance(model, str):
        return _capture(model, shape, model_name)
    return open_model(model, [(None, shape)] if shape else [], 0) or \
        open_named(model, input_shape=shape)


def open_model(name, shapes, batch):
    """The graph of a registered model, or of one that Python alone can make."""
    if name not in MODEL_REGISTRY and os.path.exists(f"{name}.py"):
        runpy.run_path(f"{name}.py", {"MODEL_REGISTRY": MODEL_REGISTRY}, name)
    if name not in MODEL_REGISTRY:
        return live.open_model(name, shapes, batch)
    shape = tuple(shapes[0][1]) if shapes else SHAPE
    return _capture(MODEL_REGISTRY[name](),
                    (batch, *shape[1:]) if batch else shape, name)


def _capture(module, shape, name):
    import torch
    result = cleave.capture(module, torch.randn(*(shape or SHAPE)), name=name)
    for method, why in result.failures.items():
        print(f"{method} failed: {why}")
    print(f"Traced with {result.method}\n")
    return result.graph


# -- the older tool's layout -------------------------------------------------

def _report(p, verbose):
    """Lines of a profile (the command's JSON as a dict)."""
    total = p["total_flops"] or 1
    yield from ("=" * 80, f"GRAPH PROFILE: {_title(p['model'])}", "=" * 80, "",
                "Model Summary:",
                f"  Total Operators:      {p['graph_nodes']}",
                f"  Total FLOPs:          {_short(p['total_flops'])}",
                f"  Total Memory:         {_short(p['total_memory'], 'B')}",
                f"  Arithmetic Intensity: {p['arithmetic_intensity']:.1f} "
                "(FLOPs/Byte)", "", "Operation Breakdown:")
    types = sorted(p["op_types"].items(), key=lambda t: -t[1]["flops"])
    width = max((len(_type(t)) for t, _ in types), default=0) + 1
    for name, t in types:
        yield (f"  {_type(name) + ':':<{width}} {t['flops'] / total:>5.1%} "
               f"({t['count']} ops, {_short(t['flops'])} FLOPs)")
    compute = p["bottleneck_flops"]["compute_bound"] / total
    yield from ("", "Bottleneck Analysis:",
                f"  Compute-bound: {compute:>6.1%} (AI > 50)",
                f"  Memory-bound:  {1 - compute:>6.1%} (AI < 50)", "")
    layers, heading = p["layers"], "Layer Details"
    if not verbose:
        layers = sorted(layers, key=lambda l: -l["flops"])[:10]
        heading += " (Top 10 by FLOPs)"
    yield f"{heading}:"
    width = max((len(l["name"]) for l in layers), default=0) + 1
    for l in layers:
        yield (f"  {l['name'] + ':':<{width}} {_short(l['flops'])} FLOPs, "
               f"{_short(l['memory'], 'B')}, AI={l['arithmetic_intensity']:.1f} "
               f"({l['bottleneck'].replace('_', '-')})")


def _title(name):
    for start, family in FAMILIES:
        if name.startswith(start):
            return family + name[len(start):].upper()
    return name


def _type(name):
    """batch_norm as BatchNorm, conv2d as Conv2D."""
    said = "".join(WORDS.get(w, w[:1].upper() + w[1:])
                   for w in name.split("_"))
    return said[:-1] + "D" if said.endswith(("1d", "2d", "3d")) else said


def _short(n, of=""):
    for size, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K")):
        if n >= size:
            return f"{n / size:.2f} {unit}{of}"
    return f"{n} {of}".rstrip()


def _write(graph, path):
    """The whole profile as JSON, the bottlenecks spelled as in the layout."""
    p = graph.profile()
    for layer in p["layers"]:
        layer["bottleneck"] = layer["bottleneck"].replace("_", "-")
    with open(path, "w") as out:
        json.dump(p, out, indent=2)
        out.write("\n")


# -- the command -------------------------------------------------------------

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
    return out


def unified(argv=None):
    """The newer tool: our own layout, with every flag of `cleave profile`."""
    words = arguments(sys.argv[1:] if argv is None else list(argv))
    if words == ["--list"]:
        print("\n".join([*MODEL_REGISTRY, *live.names()]))
        return 0
    if not any(w.split("=")[0] == "--model" for w in words):
        words += ["--model", "resnet18"]
    sys.stdout.flush()
    rest = live.arguments(["profile", *words])
    return command(["cleave", *rest], capture=open_model)


def main(argv=None):
    """The older tool: its four arguments give its layout; with any other this
    is the newer one."""
    words = arguments(sys.argv[1:] if argv is None else list(argv))
    parser = argparse.ArgumentParser(prog="profile_graph.py", add_help=False)
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--input-shape")
    parser.add_argument("--output")
    parser.add_argument("--verbose", action="store_true")
    options, rest = parser.parse_known_args(words)
    csv = options.output and not options.output.endswith(".json")
    if rest or csv:
        return unified(words)
    try:
        shape = options.input_shape and \
            [int(n) for n in options.input_shape.replace("x", ",").split(",")]
        graph = _graph_of(options.model, shape, None)
        if options.output:
            _write(graph, options.output)
        else:
            print("\n".join(_report(graph.profile(), options.verbose)))
    except BrokenPipeError:    # whoever read it has seen enough
        return 3
    except (cleave.Error, LookupError, ValueError, OSError) as e:
        text = str(e.args[0]) if isinstance(e, LookupError) else str(e)
        print(f"cleave: {text}", file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())

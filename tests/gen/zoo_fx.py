#!/usr/bin/env python3
"""Writes tests/data/zoo_fx.csv: how many nodes torch.fx has for built-in models.

    tests/gen/zoo_fx.py [--cleave PATH] [SOURCE...] > tests/data/zoo_fx.csv
    tests/gen/zoo_fx.py --nodes NAME      the nodes themselves

Each model is the live one of its home (zoo_truth.py), traced by
torch.fx.symbolic_trace as it is; one that fx cannot trace has no row. Some nodes
are no work on tensors, and each column after the count is how many of a kind
there are:

    sizes   questions for a shape, arithmetic with the answers, assertions
    reads   parameters and buffers that a function is given
    picks   x[0] of a function with several results
    idle    in timm's networks: nn.Identity outside of a Sequential, dropouts
            that drop nothing
"""
import argparse
import csv
import json
import operator
import pathlib
import subprocess
import sys
import warnings

import zoo_truth
from tv import torch

warnings.filterwarnings("ignore")
ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS = ["name", "nodes", "sizes", "reads", "picks", "idle"]
SEVERAL = {"chunk", "split", "unbind", "tensor_split"}


def trace(source, name, cleave):
    model, args = zoo_truth.HOMES[source](name, zoo_truth.inputs(cleave, name))
    return model, torch.fx.symbolic_trace(model.eval()).graph


def is_size(node, sizes):
    """A question for a shape, or arithmetic with answers alone."""
    if node.op == "call_method":
        return node.target in ("size", "dim", "numel")
    if node.op != "call_function":
        return False
    if node.target is getattr:
        return node.args[1] in ("shape", "dtype", "device", "ndim")
    if node.target is torch._assert:
        return True
    return bool(node.all_input_nodes) and all(
        n in sizes for n in node.all_input_nodes)


def called(node):
    return getattr(node.target, "__name__", node.target)


def is_idle(node, model):
    module = model.get_submodule(node.target)
    above = model.get_submodule(node.target.rpartition(".")[0])
    return (isinstance(module, torch.nn.Dropout) and module.p == 0) or (
        isinstance(module, torch.nn.Identity)
        and not isinstance(above, torch.nn.Sequential))


def kind(node, sizes, model, source):
    if is_size(node, sizes):
        return "sizes"
    if node.op == "get_attr":
        return "reads"
    if node.op == "call_module":
        return "idle" if source == "timm" and is_idle(node, model) else None
    if node.target is operator.getitem:
        of = node.args[0]
        whole = of.op == "call_module" and isinstance(
            model.get_submodule(of.target), torch.nn.MultiheadAttention)
        return "picks" if whole or called(of) in SEVERAL else None
    return None


def count(model, graph, source):
    sizes, kinds = set(), []
    for node in graph.nodes:
        kinds.append(kind(node, sizes, model, source))
        if kinds[-1] == "sizes":
            sizes.add(node)
    return {"nodes": len(kinds), **{k: kinds.count(k) for k in COLUMNS[2:]}}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", default=ROOT / "build/cli/cleave")
    parser.add_argument("--nodes", metavar="NAME")
    parser.add_argument("sources", nargs="*")
    options = parser.parse_args()
    listed = json.loads(subprocess.check_output(
        [options.cleave, "models", "--json"]))["models"]
    out = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    if not options.nodes:
        out.writeheader()
    for m in listed:
        if options.nodes not in (None, m["name"]) or (
                options.sources and m["source"] not in options.sources):
            continue
        try:
            model, graph = trace(m["source"], m["name"], options.cleave)
        except Exception:  # whatever a model does that fx does not know
            continue
        if options.nodes:
            print(graph)
        else:
            out.writerow({"name": m["name"], **count(model, graph, m["source"])})
            sys.stdout.flush()


if __name__ == "__main__":
    main()

"""Graph extraction through torch.compile, partition by partition.

    extractor = trace_model_with_dynamo(model, example_input)
    for module in extractor.graph_modules: ...
    save_graph_to_file(extractor, "graph.py")
"""
import os
import re
from collections import Counter

from cleave._cleave import from_fx
from cleave.torch import (CaptureError, Collector, _arguments, _name_of,
                          _parameters, _quiet, _reason, _workable)

import torch
import torch.fx
from torch.fx.passes.shape_prop import _extract_tensor_metadata

KINDS = ("placeholder", "get_attr", "call_function", "call_method",
         "call_module", "output")


class DynamoGraphExtractor(Collector):
    """A backend for torch.compile that keeps every graph it is given. Making
    one lets Dynamo into LSTM, GRU and RNN, which it otherwise leaves out
    (torch._dynamo.config.allow_rnn)."""

    def __init__(self, verbose=False, analyze_memory=True):
        super().__init__()
        torch._dynamo.config.allow_rnn = True
        self.verbose, self.analyze_memory = verbose, analyze_memory
        self.model = None      # where trace_model_with_dynamo made the call
        self._given = {}       # placeholder: (path, weight), as Dynamo said

    @property
    def graph_modules(self):
        return self.modules

    def __call__(self, module, inputs):
        self._note_weights(module, inputs)
        for node in module.graph.nodes:
            value = node.meta.get("example_value")
            if isinstance(value, torch.Tensor):
                node.meta.setdefault("tensor_meta",
                                     _extract_tensor_metadata(value))
        run = super().__call__(module, inputs)
        if self.verbose:
            self.print_partition(len(self.modules))
        return run

    def _note_weights(self, module, inputs):
        """Dynamo passes a model's tensors as inputs; sources say whose they
        are: L['self']._modules['0']._parameters['weight']."""
        nodes = (n for n in module.graph.nodes if n.op == "placeholder")
        for node, value in zip(nodes, inputs):
            argument = node.meta.get("grapharg")
            source = getattr(getattr(argument, "source", None), "name", "")
            source = source() if callable(source) else source
            if isinstance(value, torch.nn.Parameter) or "_buffers" in source:
                path = re.findall(r"_\w+\['([^']+)'\]", source)
                self._given[node] = (".".join(path) or node.name, value)

    def _weights(self):
        return self.weights(self.model) if self.model is not None \
            else self._given

    def graphs(self):
        """A cleave.Graph per partition."""
        weights = self._weights()
        return [from_fx(m, f"partition {i}", weights)
                for i, m in enumerate(self.modules, 1)]

    def operation_statistics(self):
        """{node kind: {target: how many}} over all partitions."""
        found = {kind: Counter() for kind in KINDS}
        for module in self.modules:
            for node in module.graph.nodes:
                target = getattr(node.target, "__name__", str(node.target))
                found[node.op][target] += 1
        return {kind: dict(c) for kind, c in found.items() if c}

    def print_partition(self, number):
        module = self.modules[number - 1]
        kinds = Counter(n.op for n in module.graph.nodes)
        print(f"Graph Partition {number}\n{'=' * 18}")
        for kind in KINDS:
            if kinds[kind]:
                print(f"  {kind:<14} {kinds[kind]:>5}")

    def print_summary(self):
        if not self.modules:
            print("Partitions: 0   (nothing was compiled: call the compiled "
                  "model first)")
            return
        owned = _parameters(self.model) if self.model is not None else 0
        graph = from_fx(list(self.modules), "model", self._weights(), owned)
        total = graph.profile()
        print(f"Partitions: {len(self.modules)}   "
              f"Operators: {total['operators']}   "
              f"Parameters: {total['total_params']:,}   "
              f"FLOPs: {total['total_flops']:,}")
        if self.analyze_memory:
            peak = max(g.memory()["peak_bytes"] for g in self.graphs())
            print(f"Peak activation memory: {peak / 1e6:,.3f} MB")


def trace_model_with_dynamo(model, example_input, verbose=False,
                            analyze_memory=True, fullgraph=False):
    """Runs the model once under torch.compile; returns the extractor."""
    args, kwargs = _arguments(example_input, None)
    work = _workable(model)
    torch._dynamo.reset()
    with torch.no_grad(), _quiet(), \
            torch._dynamo.config.patch(allow_rnn=True):
        extractor = DynamoGraphExtractor(verbose, analyze_memory)
        extractor.model = work
        try:
            torch.compile(work, backend=extractor, fullgraph=fullgraph,
                          dynamic=False)(*args, **kwargs)
        except Exception as e:
            raise CaptureError(f"{_name_of(model)} fails on these inputs: "
                               f"{_cause(e)}") from None
    torch._dynamo.reset()
    return extractor


def _cause(e):
    """What the model raised, where Dynamo passes it on in a long text."""
    found = re.search(r"got (\w+)\((['\"])(.*?)\2\)", str(e))
    return f"{found[1]}: {found[3]}" if found else \
        f"{type(e).__name__}: {_reason(e)}"


def analyze_memory_timeline(graph, owner=None):
    """[(step, operator, live bytes)] of a torch.fx graph with shapes."""
    module = graph if isinstance(graph, torch.fx.GraphModule) else \
        owner or torch.fx.GraphModule(torch.nn.Module(), graph)
    found = from_fx(module, "graph")
    memory, nodes = found.memory(), found.nodes()
    return [(i, nodes[n]["torch"] or nodes[n]["name"], size) for i, (n, size)
            in enumerate(zip(memory["order"], memory["timeline"]))]


def save_graph_to_file(extractor, path):
    """Writes the graphs as a Python file that runs by itself."""
    if not isinstance(extractor, (list, tuple)) and \
            not hasattr(extractor, "graph_modules"):
        raise TypeError(f"save_graph_to_file: a {type(extractor).__name__} "
                        "holds no graphs: give what trace_model_with_dynamo "
                        "returned")
    write_graphs(getattr(extractor, "graph_modules", extractor), path)


# -- graphs as source --------------------------------------------------------

HEADER = '''"""Graphs captured from a model; weights and inputs are random.

Run it: every partition is called once and its output shapes are printed.
"""
import math
import operator

import torch
from torch import device, inf, nan
from torch.nn import *


def _put(root, path, value):
    """Sets root.a.b = value, making modules on the way."""
    *parts, last = path.split(".")
    for part in parts:
        if not hasattr(root, part):
            root.add_module(part, torch.nn.Module())
        root = getattr(root, part)
    setattr(root, last, value)


def _tensor(shape, dtype):
    if dtype.is_floating_point:
        return torch.rand(shape, dtype=dtype)
    return torch.zeros(shape, dtype=dtype)


def _shapes(value):
    if isinstance(value, torch.Tensor):
        return tuple(value.shape)
    if isinstance(value, (tuple, list)):
        return [_shapes(v) for v in value]
    return value

'''

FOOTER = '''
if __name__ == "__main__":
    with torch.no_grad():
        for i, cls in enumerate(PARTITIONS, 1):
            partition = cls().eval()
            print(i, _shapes(partition(*partition.inputs())))
'''


def write_graphs(modules, path):
    modules = list(modules)
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    names = [f"Partition{i}" for i in range(1, len(modules) + 1)]
    with open(path, "w") as out:
        out.write(HEADER)
        for name, module in zip(names, modules):
            out.write(_class_of(name, module))
        out.write(f"\nPARTITIONS = [{', '.join(names)}]\n{FOOTER}")


def _class_of(name, module):
    lines = ["", "", f"class {name}(torch.nn.Module):",
             "    def __init__(self):", "        super().__init__()"]
    made = set()
    for node in module.graph.nodes:
        if node.op not in ("call_module", "get_attr") or node.target in made:
            continue
        made.add(node.target)
        value = module.get_submodule(node.target) if node.op == "call_module" \
            else _attribute(module, node.target)
        text = repr(value).replace("\n", " ") if node.op == "call_module" \
            else _tensor_source(value)
        lines.append(f"        _put(self, {node.target!r}, {text})")
    lines += ["", "    def inputs(self):", "        return ("]
    for node in module.graph.nodes:
        if node.op == "placeholder":
            lines.append(f"            {_tensor_source(_value(node))},"
                         f"    # {node.name}")
    lines += ["        )", ""]
    graph = torch.fx.Graph()    # without the calling convention of export
    graph.output(graph.graph_copy(module.graph, {}))
    code = graph.python_code("self").src
    lines += ["    " + l if l else "" for l in code.strip().splitlines()]
    return "\n".join(lines) + "\n"


def _attribute(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


def _value(node):
    for key in ("val", "example_value", "tensor_meta"):
        if key in node.meta:
            return node.meta[key]
    return None


def _tensor_source(value):
    if hasattr(value, "shape") and hasattr(value, "dtype"):
        return f"_tensor({tuple(int(n) for n in value.shape)}, {value.dtype})"
    return repr(value)

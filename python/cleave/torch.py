"""Graphs of live PyTorch modules.

capture() tries, in this order, what torch offers, and keeps why each failed:

    fx       torch.fx.symbolic_trace, shapes from fake tensors
    strict   torch.export with strict=True (Dynamo)
    export   torch.export with strict=False
    dynamo   torch.compile with a backend that collects every partition

The module is copied first, sharing its parameters, so neither a warm-up that
sets attributes nor eval() is seen by the caller.
"""
import contextlib
import copy
import inspect
import io
import logging
import re
import warnings

import torch
import torch.fx
from torch.utils import _pytree as pytree

from cleave._cleave import Error, from_fx

METHODS = ("fx", "strict", "export", "dynamo")


class CaptureError(Error):
    """No method could capture the model; .failures says why."""

    def __init__(self, text, failures=None):
        super().__init__(text)
        self.failures = failures or {}


class Capture:
    """A captured model.

    graph     cleave.Graph of all of it
    modules   the torch.fx.GraphModules it came from: one, or one per partition
    method    which of METHODS worked
    failures  {method: reason} of those tried before
    """

    def __init__(self, name, method, modules, weights, failures, total=0):
        self.name, self.method = name, method
        self.modules, self.weights, self.failures = modules, weights, failures
        self.graph = from_fx(list(modules), name, weights, total)

    @property
    def unknown(self):
        """Operators whose cost nobody knows, by torch's names."""
        return self.graph.profile()["coverage"]["unknown_ops"]

    @property
    def module(self):
        return self.modules[0]

    def partition_graphs(self):
        """One Graph per module, for models that broke into several."""
        return [from_fx(m, f"{self.name}#{i}", self.weights)
                for i, m in enumerate(self.modules, 1)]

    def __repr__(self):
        n = len(self.modules)
        return (f"<Capture of {self.name!r} by {self.method}, "
                f"{n} partition{'s' * (n > 1)}>")


def capture(model, inputs=None, kwargs=None, *, name=None, methods=METHODS,
            warmup=True):
    """The graph of a module or function called with these inputs.

    inputs   a tensor, a tuple of positional arguments, or a dict of named ones
    kwargs   named arguments besides
    """
    args, kwargs = _arguments(inputs, kwargs)
    if isinstance(model, torch.fx.GraphModule) and _has_shapes(model):
        return Capture(name or _name_of(model), "given", [model], None, {})
    work = _workable(model)
    if warmup:
        work = _warm_up(model, work, args, kwargs)
    failures, best = {}, None
    for method in methods:
        try:
            with torch.no_grad(), _quiet():
                modules, weights = _BY_NAME[method](work, args, kwargs)
            found = Capture(name or _name_of(model), method, modules, weights,
                            failures, _parameters(work))
        except Exception as e:    # whatever torch raises: the next one is tried
            failures[method] = _reason(e)
            continue
        if best is None or len(found.unknown) < len(best.unknown):
            best = found
        if not found.unknown:
            break
        failures[method] = "does not see into " + ", ".join(
            sorted(set(found.unknown)))
    if best is not None:
        failures.pop(best.method, None)
        return best
    raise CaptureError(
        f"cannot capture {_name_of(model)}: " +
        "; ".join(f"{m}: {why}" for m, why in failures.items()), failures)


# -- arguments and the module ------------------------------------------------

def _arguments(inputs, kwargs):
    if inputs is None:
        args = ()
    elif isinstance(inputs, tuple):
        args = inputs
    elif hasattr(inputs, "keys"):    # a dict, or what a tokenizer returns
        return (), {**dict(inputs), **(kwargs or {})}
    else:
        args = (inputs,)
    return args, dict(kwargs or {})


def _name_of(model):
    name = getattr(model, "__name__", None) or type(model).__name__
    return getattr(model, "_get_name", lambda: name)()


def _has_shapes(module):
    return all("val" in n.meta or "tensor_meta" in n.meta or
               "example_value" in n.meta
               for n in module.graph.nodes if n.op == "placeholder")


class _Function(torch.nn.Module):
    """A plain function as a module."""

    def __init__(self, fn):
        super().__init__()
        self.fn = fn

    def forward(self, *args, **kwargs):
        return self.fn(*args, **kwargs)


def _workable(model):
    """The module in eval mode, with parameters of the original but attributes
    and buffers of its own."""
    if not isinstance(model, torch.nn.Module):
        if not callable(model):
            raise CaptureError(f"a {type(model).__name__} is no torch module")
        return _Function(model)
    lazy = torch.nn.parameter.UninitializedTensorMixin
    memo = {id(p): p for p in model.parameters() if not isinstance(p, lazy)}
    try:
        return copy.deepcopy(model, memo).eval()
    except Exception as e:
        raise CaptureError(f"cannot copy {_name_of(model)}: {_reason(e)}"
                           ) from None


def _warm_up(model, work, args, kwargs):
    """One forward pass: lazy modules and buffers come into being."""
    try:
        with torch.no_grad():
            work(*args, **kwargs)
    except Exception as e:
        raise CaptureError(f"{_name_of(model)} fails on these inputs: "
                           f"{type(e).__name__}: {_reason(e)}") from None
    return work


def _reason(e):
    """The first telling line of what torch raised."""
    lines = [l.strip() for l in str(e).splitlines() if l.strip()]
    text = lines[0] if lines else type(e).__name__
    return text if len(text) <= 200 else text[:197] + "..."


class _quiet:
    """Torch warns and logs about what it cannot trace; reasons are kept."""

    def __enter__(self):
        self.warnings = warnings.catch_warnings()
        self.warnings.__enter__()
        warnings.simplefilter("ignore")
        self.was = logging.root.manager.disable
        logging.disable(logging.ERROR)
        self.prints = contextlib.redirect_stderr(io.StringIO())
        self.prints.__enter__()

    def __exit__(self, *error):
        self.prints.__exit__(*error)
        logging.disable(self.was)
        self.warnings.__exit__(*error)


# -- the methods: (module, args, kwargs) -> graph modules, weights -----------

def _by_fx(model, args, kwargs):
    if isinstance(model, _Function):
        model = model.fn
    forward = model.forward if isinstance(model, torch.nn.Module) else model
    bound = inspect.signature(forward).bind(*args, **kwargs)
    given = bound.arguments
    if not all(isinstance(v, torch.Tensor) for v in given.values()):
        raise TypeError("arguments are not all tensors")
    rest = {p.name: p.default
            for p in inspect.signature(forward).parameters.values()
            if p.name not in given and p.default is not p.empty}
    module = torch.fx.symbolic_trace(model, rest or None)
    return [propagate(module, *given.values(), *rest.values())], None


def propagate(module, *args):
    """Shapes and types on every node, computed without data."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp
    FakeTensorProp(module, FakeTensorMode(allow_non_fake_inputs=True)
                   ).propagate(*args)
    return module


def _by_export(strict):
    def export(model, args, kwargs):
        program = torch.export.export(model, args, kwargs, strict=strict)
        return [program.graph_module], _weights_of(program, model)
    return export


def _weights_of(program, model):
    """{placeholder: (path, tensor)}; the model's own tensors, so that ties
    stay ties."""
    own = {path: t for path, t in _tensors(model)}
    nodes = {n.name: n for n in program.graph.nodes if n.op == "placeholder"}
    weights = {}
    for spec in program.graph_signature.input_specs:
        if spec.target is None or spec.arg.name not in nodes:
            continue
        tensor = own.get(spec.target)
        if tensor is None:
            tensor = program.state_dict.get(spec.target)
        if tensor is None:
            tensor = program.constants.get(spec.target)
        if isinstance(tensor, torch.Tensor):
            weights[nodes[spec.arg.name]] = (spec.target, tensor)
    return weights


def _parameters(model):
    lazy = torch.nn.parameter.UninitializedTensorMixin
    return sum(p.numel() for p in model.parameters()
               if not isinstance(p, lazy))


def _tensors(model):
    yield from model.named_parameters(remove_duplicate=False)
    yield from model.named_buffers(remove_duplicate=False)


class Collector:
    """A torch.compile backend that keeps every graph and runs it as it is."""

    def __init__(self):
        self.modules, self.inputs = [], []

    def __call__(self, module, inputs):
        self.modules.append(module)
        self.inputs.append(list(inputs))
        return module.forward

    def weights(self, model):
        """Placeholders that are tensors of the model."""
        paths = {id(t): (path, t) for path, t in _tensors(model)}
        return {node: paths[id(t)]
                for module, inputs in zip(self.modules, self.inputs)
                for node, t in zip((n for n in module.graph.nodes
                                    if n.op == "placeholder"), inputs)
                if id(t) in paths}


def _by_dynamo(model, args, kwargs):
    torch._dynamo.reset()
    collector = Collector()
    try:
        torch.compile(model, backend=collector, dynamic=False)(*args, **kwargs)
    finally:
        torch._dynamo.reset()
    if not collector.modules:
        raise RuntimeError("torch.compile found no graph")
    return collector.modules, collector.weights(model)


_BY_NAME = {"fx": _by_fx, "strict": _by_export(True),
            "export": _by_export(False), "dynamo": _by_dynamo}


# -- names -------------------------------------------------------------------

def abbreviate(name, width=48):
    """A Dynamo name as a path: g__model___model_0_conv is model.0.conv."""
    short = re.sub(r"^(getattr_)+", "", name)
    if short != name or re.match(r"(L__|g__)", short):
        short = re.sub(r"^[Lg]__\w+?___", "", short)
        short = re.sub(r"_{2,3}(\d+)_{2,3}(?=_|[A-Za-z]|$)", r"[\1]", short)
        short = re.sub(r"_(\d+)(?=_|\[|$)", r".\1", short)
        short = re.sub(r"(?<=\d)_(?=[A-Za-z])", ".", short)
        short = re.sub(r"\](?=[A-Za-z])", "].", short)
    short = re.sub(r"\bmodel\.model\.", "model.", short)
    if len(short) > width:
        keep = (width - 3) // 2
        short = f"{short[:width - 3 - keep]}...{short[-keep:]}"
    return short

"""A model cut by what an accelerator supports, and run: the calls of
torch_neuronx's graph partitioner, over cleave.

    config = PartitionerConfig(max_subgraph_count=3)
    net = trace(model, inputs, partitioner_config=config)
    net(inputs)

The cut is the C library's, limits and all: the fewest subgraphs there can be
(docs/capability.md). Supported subgraphs run in cleave's own runtime, everything else in PyTorch; a subgraph
that the runtime cannot compile, or computes differently from PyTorch on the
example inputs, runs in PyTorch too, and the log says so.

Export writes the sizes of the example inputs into the graph. So a call with other
sizes, types or plain arguments is traced again, and what was traced is kept.
"""
import concurrent.futures
import functools
import inspect
import logging
import resource
import time
from collections import Counter
from numbers import Real
from types import SimpleNamespace

from cleave._cleave import __version__, close, from_fx, has_backend
from cleave.torch import (CaptureError, _arguments, _quiet, _reason, _warm_up,
                          _workable)  # first: it says that torch is missing
from cleave.apart import RUN_PARTS, take_apart

import torch
import torch.fx
from torch.fx.passes.shape_prop import ShapeProp
from torch.fx.passes.split_module import split_module
from torch.utils import _pytree as pytree

__all__ = ["DataParallel", "PartitionerConfig", "Subgraph", "Traced", "analyze",
           "dynamic_batch", "load", "save", "trace"]
logger = logging.getLogger("Neuron")
TOLERANCE = 1e-4
CALLS = 7     # of a subgraph, to see whether PyTorch is faster
ENOUGH = .3   # seconds of such calls, after which two of each will do
HOPELESS = 10 # times as long at the first call
PLAIN = 3     # times as long, and no more calls are needed to see it
PLANS = 16    # kept of one traced model; calls of more kinds run in PyTorch
HALVES = (torch.float16, torch.bfloat16)


class _Console(logging.StreamHandler):
    """Lines as torch_neuronx prints them, until the program sets up logging."""

    def filter(self, record):
        return not logging.root.handlers


def _say_to_console():
    if not logger.handlers:
        logger.addHandler(_Console())
        logger.handlers[0].setFormatter(
            logging.Formatter("Neuron: %(message)s"))


@functools.cache
def _runtime():
    """oneDNN where its plugin is installed, else None: plain C kernels."""
    return "onednn" if has_backend("onednn") else None


def _default_backend(flat=None):
    """What is asked where no accelerator is named. oneDNN takes single
    precision alone, so it is not asked about halves."""
    made = (n.meta.get("val") for n in flat.module.graph.nodes) if flat else ()
    halves = any(t.dtype in HALVES for t in made if isinstance(t, torch.Tensor))
    return not halves and _runtime() or \
        "all-but:sort,argsort,topk,kthvalue,median,unique,nonzero,nms"


def _collection(name, value, kinds, wanted):
    if value is not None and not isinstance(value, kinds):
        raise TypeError(f"PartitionerConfig: {name} is a "
                        f"{type(value).__name__}: give {wanted}")


class PartitionerConfig:
    """How to partition; all by keyword.

    trace_kwargs            {"backend": name} of the accelerator
    model_support_percentage_threshold, or min_operator_percentage_threshold
                            min_support of docs/capability.md, which says what
                            these limits mean
    min_subgraph_size       -1: any
    max_subgraph_count      -1: any
    ops_to_partition        {"aten::log_softmax"} that run on the CPU anyway
    analyze_parameters      compiler_workdir, additional_ignored_ops, max_workers
    """

    def __init__(self, *, trace_kwargs=None,
                 model_support_percentage_threshold=None,
                 min_operator_percentage_threshold=None, min_subgraph_size=-1,
                 max_subgraph_count=-1, ops_to_partition=None,
                 analyze_parameters=None):
        given = [t for t in (model_support_percentage_threshold,
                             min_operator_percentage_threshold)
                 if t is not None]
        if len(given) == 2 and given[0] != given[1]:
            raise ValueError("model_support_percentage_threshold and "
                             "min_operator_percentage_threshold differ")
        threshold = given[0] if given else 0.5
        if not isinstance(threshold, Real) or not 0 <= threshold <= 1:
            raise ValueError("PartitionerConfig: the support threshold is a "
                             f"share: 0 to 1, not {threshold!r}")
        for name, n in (("min_subgraph_size", min_subgraph_size),
                        ("max_subgraph_count", max_subgraph_count)):
            if not isinstance(n, int) or n != -1 and n < 1:
                raise ValueError(f"PartitionerConfig: {name} is -1 or at least "
                                 f"1: give a whole number, not {n!r}")
        _collection("ops_to_partition", ops_to_partition, (set, frozenset, list,
                    tuple), "a set of names, {'aten::sort'}")
        _collection("trace_kwargs", trace_kwargs, dict, "a dict of options")
        _collection("analyze_parameters", analyze_parameters, dict,
                    "a dict of options")
        unknown = set(analyze_parameters or ()) - {
            "compiler_workdir", "additional_ignored_ops", "max_workers"}
        if unknown:
            raise ValueError("analyze_parameters has no "
                             + ", ".join(sorted(unknown)))
        self.trace_kwargs = dict(trace_kwargs or {})
        self.model_support_percentage_threshold = threshold
        self.min_subgraph_size = min_subgraph_size
        self.max_subgraph_count = max_subgraph_count
        self.ops_to_partition = set(ops_to_partition or ())
        self.analyze_parameters = dict(analyze_parameters or {})

    @property
    def min_operator_percentage_threshold(self):
        return self.model_support_percentage_threshold

    def _limits(self):
        """The arguments of Graph.split that say the same."""
        return {"cpu_ops": self.ops_to_partition, "some_support": True,
                "min_support": self.model_support_percentage_threshold,
                "min_subgraph_size": max(self.min_subgraph_size, 0),
                "max_subgraph_count": max(self.max_subgraph_count, 0)}


# -- the flat graph ----------------------------------------------------------

class _Flat:
    """An exported model whose arguments are a flat list of tensors."""

    def __init__(self, model, args, kwargs):
        work, self.written = _warmed_up(model, args, kwargs)
        program = _exported(work, args, kwargs)
        self.out_spec = program.call_spec.out_spec
        self.module = _flat_module(program)
        if _holds_others(self.module.graph) or \
                not _without_writes(self.module):
            with torch.no_grad(), _quiet():
                program = program.run_decompositions({})
            self.module = _flat_module(program)
        take_apart(self.module.graph, RUN_PARTS)
        self.module.recompile()
        self.inputs = pytree.tree_flatten((args, kwargs))[0]
        self.graph = from_fx(self.module, type(model).__name__)

    def split(self, backend, limits):
        """Devices of the subgraphs, and {node's name: its subgraph}."""
        number = {n: i for i, n in enumerate(self.module.graph.nodes)}
        devices, places = self.graph.split(
            [(n.name, [number[a] for a in n.all_input_nodes]) for n in number],
            backend, "neuron", **limits)
        return [d.upper() for d in devices], {
            n.name: place for n, place in zip(number, places)}


def _holds_others(graph):
    """Whether operators hold graphs of their own (autocast), or stand for one
    sample of many (vmap): such a graph cannot be cut as it is."""
    return any(isinstance(n.target, torch._ops.HigherOrderOperator) or
               "_batch_dim" in str(n.target) for n in graph.nodes)


def _state_of(module):
    """What a forward pass may change: buffers, numbers and sizes of lists."""
    found = {path: b.detach().clone() for path, b in module.named_buffers()
             if b.layout is torch.strided and not b.is_quantized}
    for path, m in module.named_modules():
        for key, value in vars(m).items():
            if isinstance(value, (bool, int, float, str)):
                found[path, key] = value
            elif isinstance(value, (list, dict)) and key[0] != "_":
                found[path, key] = len(value)
    return found


def _changed(was, now):
    """The name of something whose value is another now, or None."""
    for key, value in was.items():
        other = now.get(key)
        same = type(value) is type(other) and (
            value.shape == other.shape and bool(
                ((value == other) | (value != value)).all())
            if isinstance(value, torch.Tensor) else value == other)
        if not same:
            return key if isinstance(key, str) else ".".join(filter(None, key))
    return None


def _warmed_up(model, args, kwargs):
    """A copy of the model that has run once, and the name of what every run
    changes in it, or None. What the first run alone sets up is no such thing."""
    work, call = _workable(model), SimpleNamespace(args=args, kwargs=kwargs)
    was = _state_of(work)
    _warm_up(model, work, call)
    now = _state_of(work)
    written = _changed(was, now)
    if written:
        _warm_up(model, work, call)
        written = _changed(now, _state_of(work))
    if written:
        _put_back(work, was)
    return work, written


def _put_back(module, state):
    with torch.no_grad():
        for path, buffer in module.named_buffers():
            if path in state and buffer.shape == state[path].shape:
                buffer.copy_(state[path])


def _exported(work, args, kwargs):
    failures = {}
    for strict in (False, True):
        try:
            with torch.no_grad(), _quiet():
                return torch.export.export(work, args, kwargs, strict=strict)
        except Exception as e:
            failures["strict" if strict else "export"] = _reason(e)
    raise CaptureError("cannot export the model: " + "; ".join(
        f"{m}: {why}" for m, why in failures.items()), failures)


def _flat_module(program):
    module = program.module()
    module.graph._codegen = torch.fx.graph.CodeGen()
    for node in list(module.graph.nodes):
        if node.op == "call_module" and not node.users:    # guards
            module.graph.erase_node(node)
    return module


def _without_writes(module):
    """Makes operators in place (relu_) into ones that return a new tensor;
    False where that is not enough: views of what is written."""
    place = {n: i for i, n in enumerate(module.graph.nodes)}
    for node in place:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            continue
        source, base = node.args[0], schema.name.split("::")[1]
        packet = getattr(torch.ops.aten, base[:-1], None)
        plain = getattr(packet, node.target._overloadname, None)
        if plain is None or base[-1] != "_" or _is_view(source) or \
                any(_is_view(user) for user in source.users):
            return False
        node.target = plain
        for user in list(source.users):
            if place[user] > place[node]:
                user.replace_input_with(source, node)
    return True


def _is_view(node):
    """Whether the result may share memory with an argument."""
    schema = getattr(node.target, "_schema", None)
    return schema is not None and not schema.is_mutable and any(
        r.alias_info is not None for r in schema.returns)


def _kind(node):
    """aten::linear, as TorchScript spells operators."""
    op = node["op"] if node["op"] != "unknown" else node["origin"]
    return "aten::" + op.removeprefix("aten.").split(".")[0]


# -- analyze -----------------------------------------------------------------

def analyze(func, example_inputs, compiler_workdir=None,
            additional_ignored_ops=frozenset(), max_workers=4,
            is_hf_transformers=False, cleanup=False, *, backend=None):
    """Which operators the backend supports: a dict in torch_neuronx's form."""
    inputs = _arguments(example_inputs, None)
    flat = _Flat(func, *inputs)
    return _analysis(flat, backend or _default_backend(flat))[0]


def _analysis(flat, backend):
    support = flat.graph.partition("capability", backend=backend)["support"]
    nodes = flat.graph.nodes()
    first = {_kind(n): n for n in reversed(nodes)}
    found = {
        "cleave_version": __version__,
        "backend": backend,
        "support_percentage": f"{support['percentage']:.2f}%",
        "supported_operators": {
            _kind(row): row["count"] for row in support["supported_ops"]},
        "unsupported_operators": [
            {"kind": _kind(row), "failureAt": backend,
             "call": _call(first.get(_kind(row))), "reason": row["reason"],
             "opGraph": first.get(_kind(row), {}).get("name", "")}
            for row in support["unsupported"]],
    }
    return found, support


def _call(node):
    """model.py(28), where the model calls it."""
    file, _, line = (node or {}).get("source", "").rpartition(":")
    return f"{file}({line}): {node['name']}" if file else ""


# -- trace -------------------------------------------------------------------

def trace(func, example_inputs, *positional, partitioner_config=None,
          backend=None, compiler_workdir=None, compiler_args=None, **kwargs):
    """A module that runs func's supported subgraphs in cleave."""
    _say_to_console()
    config = partitioner_config
    if positional:
        raise TypeError("trace takes func and example_inputs by place, the rest "
                        "by name: partitioner_config=...")
    if config is not None and not isinstance(config, PartitionerConfig):
        raise TypeError("partitioner_config is a PartitionerConfig")
    options = {"backend": backend, "compiler_workdir": compiler_workdir,
               "compiler_args": compiler_args, **kwargs}
    for key, value in (config.trace_kwargs if config else {}).items():
        options[key] = options.get(key) or value
    backend = options.pop("backend")
    options.pop("compiler_workdir")    # nothing is left on disk
    if options.pop("compiler_args"):
        raise ValueError(f"backend {backend or _default_backend()} takes no "
                         "compiler_args")
    if options:
        raise TypeError(f"trace has no option '{sorted(options)[0]}'")
    args, named = _arguments(example_inputs, None)
    return Traced(_Source(func, backend, config), args, named)


class _Source:
    """What is traced, and how: enough to trace it for other inputs.

    A model that writes to itself, as a cache does, has one state, which all its
    calls share: the copy that runs in PyTorch."""

    def __init__(self, func, backend, config):
        self.func, self.backend, self.config = func, backend, config

    @functools.cached_property
    def eager(self):
        """The model in eval mode, as every plan has it."""
        return _workable(self.func)

    def plan(self, args, named):
        random = torch.random.get_rng_state()
        try:
            return self._planned(args, named)
        finally:
            torch.random.set_rng_state(random)

    def _planned(self, args, named):
        _check_tensors(self.func, (args, named))
        flat, config = _Flat(self.func, args, named), self.config
        backend = self.backend or _default_backend(flat)
        logger.info("Analyzing Operator Support...")
        report, support = _analysis(flat, backend)
        _log_support(report, support)
        if config is None:
            devices, place = _split_whole(flat, backend)
        else:
            devices, place = flat.split(backend, config._limits())
            logger.info("Model Support percentage of %.2f%% above threshold of "
                        "%.2f%%", support["percentage"],
                        100 * config.model_support_percentage_threshold)
        if not devices:
            raise ValueError("the model has no operators to partition")
        if devices == ["NEURON"]:
            logger.info("Model operator support is 100%; tracing entire model.")
        logger.info("Num Partitions: %d\n", len(devices))
        if flat.written:
            self.eager    # as it is now
            return Plan(flat, devices, place, None)
        eager = None if self.backend else lambda: self.eager(*args, **named)
        return Plan(flat, devices, place, eager)


def _held(func, inputs):
    """All tensors that a call reads."""
    own = [*func.parameters(), *func.buffers()] \
        if isinstance(func, torch.nn.Module) else []
    return [t for t in [*pytree.tree_leaves(inputs), *own]
            if isinstance(t, torch.Tensor)]


def _split_whole(flat, backend):
    """Without a partitioner the backend must support all of the model."""
    try:
        return flat.split(backend, {"min_support": 1})
    except ValueError as e:
        raise ValueError(f"{e}; pass a partitioner_config to run what "
                         f"{backend} does not support on the CPU") from None


def _check_tensors(func, inputs):
    """Only tensors with numbers in this machine's memory can be run."""
    for tensor in _held(func, inputs):
        if tensor.is_quantized:
            raise ValueError("quantized tensors cannot be traced")
        if tensor.device.type != "cpu":
            raise ValueError("trace runs the model: its tensors must be on the "
                             f"CPU, not on '{tensor.device.type}'")


def _log_support(report, support):
    logger.info("The following operations are currently supported:")
    for kind in report["supported_operators"]:
        logger.info(kind)
    if report["unsupported_operators"]:
        logger.info("The following operations are currently not supported:")
        for op in report["unsupported_operators"]:
            logger.info("%s, %s", op["kind"], op["call"] or op["reason"])
    logger.info("%.2f%% of arithmetic operations (%d of %d) are supported",
                support["percentage"], support["supported"], support["total"])


class Plan(torch.nn.Module):
    """A partitioned model for inputs of one kind; takes them as a flat list.

    With `eager`, a call of the model as it was, each subgraph and the whole run
    where they take the least time on the example inputs."""

    def __init__(self, flat, devices, place, eager):
        super().__init__()
        self.out_spec, self.devices = flat.out_spec, devices
        self.parts = split_module(flat.module, flat.module,
                                  lambda node: place[node.name])
        _log_partitions(flat, place, self.devices)
        for node in self.parts.graph.nodes:
            if node.op != "call_module":
                continue
            number = int(node.target.rpartition("_")[2])
            if self.devices[number] == "NEURON":
                self.parts.add_submodule(node.target,
                                         Subgraph(self.parts, node,
                                                  eager is not None))
        self.eval()
        self.whole, self.in_eager = None, False
        if flat.written:
            why = f"PyTorch keeps '{flat.written}', which every call changes"
            self._leave_to_torch(flat, why, True)
            return
        with torch.no_grad():    # compiles and checks each subgraph
            self.parts(*flat.inputs)
        for part in self.parts.children():
            if isinstance(part, Subgraph):
                part.checked = True
        if eager is not None:
            self._check_speed(flat, eager)

    def _check_speed(self, flat, eager):
        """Leaves all of it to PyTorch where that is faster than its parts: the
        graph that was exported, or the model as it was."""
        whole = _whole(flat)
        with torch.no_grad():
            parts, graph, model = _seconds((lambda: self.parts(*flat.inputs),
                                            lambda: whole(*flat.inputs), eager))
        if min(graph, model) < parts:
            self._leave_to_torch(flat, "PyTorch is faster than all parts",
                                 model < graph)

    def _leave_to_torch(self, flat, why, in_eager):
        self.in_eager = in_eager
        self.whole = _whole(flat)    # a copy from a file has no other
        for part in self.parts.children():
            if isinstance(part, Subgraph):
                part.leave_to_torch(why)

    def forward(self, *flat):
        with torch.no_grad():
            out = (self.whole or self.parts)(*flat)
        return pytree.tree_unflatten(list(out), self.out_spec)


def _whole(flat):
    """All of the graph, as PyTorch runs it."""
    whole = torch.fx.GraphModule(flat.module, flat.module.graph).eval()
    whole._tracer_cls = None    # torch.export's cannot read a file
    return whole


class Traced(torch.nn.Module):
    """A partitioned model; calls like the original, can be saved and loaded.

    Its plan is for inputs like the example's. Those of another kind (sizes,
    types, plain arguments) are traced when they first come, unless it was
    loaded: then there is nothing to trace."""

    def __init__(self, source, args, named):
        super().__init__()
        self.call = _Call(getattr(source.func, "forward", source.func), args,
                          named)
        self.plan = source.plan(args, named)
        leaves = pytree.tree_leaves((args, named))
        self.kind = _kind_of(leaves)
        self.shapes = [tuple(t.shape) for t in leaves
                       if isinstance(t, torch.Tensor)]
        # Plans for other inputs have the weights of the first, so they are no
        # submodules.
        self._source, self._plans = source, {}
        self._plain = {}    # plans of calls that took no more than tensors
        self.eval()

    @property
    def devices(self):
        return self.plan.devices

    @property
    def parts(self):
        return self.plan.parts

    def forward(self, *args, **kwargs):
        plain = _plain_kind(args, kwargs)
        plan = self._plain.get(plain)
        if plan is not None:    # such a call was here before
            return self._run(plan, args, kwargs, (*args, *kwargs.values()))
        flat, spec = pytree.tree_flatten((args, kwargs))
        as_given = spec == self.call.spec
        if not as_given:
            args, kwargs = self.call.arranged(args, kwargs)
            flat = pytree.tree_leaves((args, kwargs))
        kind = _kind_of(flat)
        if kind != self.kind and kind not in self._plans:
            self._plans[kind] = self._trace_again(args, kwargs, flat)
        plan = self.plan if kind == self.kind else self._plans[kind]
        if as_given and plain is not None and plan is not None:
            self._plain[plain] = plan
        return self._run(plan, args, kwargs, flat)

    def _run(self, plan, args, kwargs, flat):
        if plan is not None and not (plan.in_eager and self._source):
            return plan(*flat)
        with torch.no_grad():
            return self._source.eager(*args, **kwargs)

    def _trace_again(self, args, kwargs, flat):
        """A plan, or None where PyTorch runs it."""
        if self._source is None:
            shapes = [tuple(t.shape) for t in flat
                      if isinstance(t, torch.Tensor)]
            raise ValueError("the model was traced for inputs of shape "
                             f"{self.shapes}, not {shapes}, and was loaded: "
                             "trace it again for others")
        if len(self._plans) >= PLANS:
            return None
        try:
            return self._source.plan(args, kwargs)
        except (CaptureError, ValueError) as e:
            if isinstance(e, CaptureError) and not e.failures:
                raise    # it does not run on these inputs at all
            logger.warning("Inputs of another kind run in PyTorch: %s",
                           _reason(e))
            return None

    def runtimes(self):
        """[(device, "cleave" or "torch", why)] of each partition."""
        found = []
        for number, device in enumerate(self.devices):
            part = getattr(self.parts, f"submod_{number}", None)
            ours = isinstance(part, Subgraph) and not part.why
            found.append((device, "cleave" if ours else "torch",
                          getattr(part, "why", "")))
        return found

    def save(self, path):
        torch.save(self, path)

    def __getstate__(self):
        return {**self.__dict__, "_source": None, "_plans": {}, "_plain": {}}


def _kind_of(flat):
    """What a plan depends on: types and shapes, and what is no tensor."""
    return tuple((a.dtype, tuple(a.shape)) if isinstance(a, torch.Tensor)
                 else repr(a) for a in flat)


def _plain_kind(args, kwargs):
    """The kind of a call of tensors by place or name, in a fifth of the time
    that _kind_of and pytree take; None of other calls."""
    kind = [*kwargs]
    for a in (*args, *kwargs.values()):
        if type(a) is not torch.Tensor:
            return None
        kind += a.dtype, a.shape
    return tuple(kind)


def save(model, path):
    """Writes a traced model, as torch.jit.save does."""
    if not isinstance(model, Traced):
        raise TypeError(f"a {type(model).__name__} is not a traced model")
    model.save(path)


def load(path):
    """Reads what save wrote. Only open files that you trust: they hold code."""
    model = torch.load(path, weights_only=False)
    if not isinstance(model, (Traced, DataParallel)):
        raise TypeError(f"{path} does not hold a traced model")
    return model


def dynamic_batch(model):
    """A traced model takes any batch as it is: others are traced when they
    come."""
    if not isinstance(model, Traced):
        raise TypeError(f"a {type(model).__name__} is not a traced model")
    return model


class DataParallel(torch.nn.Module):
    """Cuts the inputs along `dim`, one part per device, runs the parts at the
    same time and puts the outputs together. Devices are threads here:
    device_ids=[0, 1] or 2 means two."""

    def __init__(self, model, device_ids=None, dim=0,
                 set_dynamic_batching=True):
        super().__init__()
        if not isinstance(model, Traced):
            raise TypeError(f"a {type(model).__name__} is not a traced model")
        if not isinstance(device_ids, (int, list, tuple, type(None))):
            raise TypeError(f"DataParallel: device_ids is a "
                            f"{type(device_ids).__name__}: give a list of "
                            "numbers, or how many there are")
        count = device_ids if isinstance(device_ids, int) else \
            len(device_ids) if device_ids is not None else 2
        if count < 1:
            raise ValueError("device_ids names no device")
        self.model, self.dim, self.num_workers = model, dim, count
        self.dynamic = set_dynamic_batching

    def forward(self, *args):
        tensors = [a for a in args if isinstance(a, torch.Tensor)]
        if not all(-a.dim() <= self.dim < a.dim() for a in tensors):
            raise IndexError(f"DataParallel: an input of shape "
                             f"{tuple(tensors[0].shape)} has no dim {self.dim}: "
                             "give the dim of the batch")
        sizes = {a.shape[self.dim] for a in tensors}
        if not sizes:
            raise TypeError("DataParallel: no input is a tensor: give what the "
                            "model takes")
        if len(sizes) != 1:
            raise ValueError(f"the inputs differ along dim {self.dim}: "
                             f"{sorted(sizes)}")
        parts = min(self.num_workers, *sizes) or 1
        if not self.dynamic and any(s % parts for s in sizes):
            raise ValueError(f"{sorted(sizes)[0]} rows on {parts} devices, and "
                             "dynamic batching is off")
        cut = [a.chunk(parts, self.dim) if isinstance(a, torch.Tensor)
               else [a] * parts for a in args]
        calls = list(zip(*cut))
        outs = [self.model(*calls[0])]    # one is traced before the others
        with concurrent.futures.ThreadPoolExecutor(parts) as pool:
            outs += pool.map(lambda call: self.model(*call), calls[1:])
        leaves = [pytree.tree_flatten(out) for out in outs]
        joined = [torch.cat(same, self.dim) if isinstance(same[0], torch.Tensor)
                  else same[0] for same in zip(*(flat for flat, _ in leaves))]
        return pytree.tree_unflatten(joined, leaves[0][1])


class _Call:
    """How the original is called: arguments by place or by name, in any mix
    that means the same as the example's."""

    def __init__(self, forward, args, kwargs):
        try:
            kinds = inspect.signature(forward).parameters.values()
            self.names = [p.name for p in kinds if p.kind is p.POSITIONAL_OR_KEYWORD]
        except (TypeError, ValueError):
            self.names = []
        self.places, self.keys = len(args), list(kwargs)
        self.spec = pytree.tree_structure((args, kwargs))

    def arranged(self, args, kwargs):
        """The same call as the example's: what went by place there, by name."""
        if len(args) == 1 and not self.places and not kwargs and \
                hasattr(args[0], "keys"):
            args, kwargs = (), dict(args[0])    # the dict it was traced with
        named = {**dict(zip(self.names, args)), **kwargs}
        if len(args) <= len(self.names) and \
                len(named) == len(args) + len(kwargs) and \
                set(named) == {*self.names[:self.places], *self.keys}:
            args = tuple(named[n] for n in self.names[:self.places])
            kwargs = {k: named[k] for k in self.keys}
        if pytree.tree_structure((args, kwargs)) != self.spec:
            raise ValueError("the inputs differ in structure from those the "
                             "model was traced with")
        return args, kwargs


def _log_partitions(flat, place, devices):
    torch_kind = {n["torch"]: _kind(n) for n in flat.graph.nodes()}
    for number, device in enumerate(devices):
        logger.info("Creating Partition #%d for device: Device.%s",
                    number + 1, device)
        logger.info("The following operators will be included in this "
                    "partition:")
        counts = Counter()
        for node in flat.module.graph.nodes:
            if place[node.name] != number or node.name not in torch_kind:
                continue
            own = sum(a.op == "get_attr" for a in node.all_input_nodes)
            counts["prim::GetAttr"] += own + (own > 0)
            counts["prim::Constant"] += _constants(node)
            counts[torch_kind[node.name]] += 1
        for kind, count in counts.items():
            if count:
                logger.info("%s:%d", kind, count)


def _constants(node):
    schema = getattr(node.target, "_schema", None)
    return sum("Tensor" not in str(a.type) for a in schema.arguments) \
        if schema else 0


class Subgraph(torch.nn.Module):
    """One partition in cleave's runtime, or in torch where that cannot.

    It is compiled when it is first called, with the weights it is given; until
    it is `checked` its results are compared with torch's, and, to `choose`
    where it runs, the time it takes."""

    def __init__(self, parent, node, choose):
        super().__init__()
        self.choose = choose
        self.torch_module = parent.get_submodule(node.target)
        self.weights = {i: str(a.target) for i, a in enumerate(node.args)
                        if a.op == "get_attr"}    # argument number: path
        self.model, self.why, self.checked = None, "", False
        self.kind = None    # of the arguments it was compiled for

    def forward(self, *args):
        if self.why:
            return self.torch_module(*args)
        kind = _kind_of(a for i, a in enumerate(args) if i not in self.weights)
        if self.kind is None:
            self.kind = kind
        if kind != self.kind:    # compiled for other shapes
            return self.torch_module(*args)
        if not self.checked:
            return self._first(args)
        if self.model is None:
            self.model = self._compiled(args)
        return self._run(args)

    def _first(self, args):
        start = _processor()
        wanted = self.torch_module(*args)
        theirs = _processor() - start
        try:
            self.model = self._compiled(args)
            start = _processor()
            got = self._run(args)
            ours = _processor() - start
            if self.choose and ours > HOPELESS * (theirs + .01):
                raise _Slower("PyTorch is much faster")
            for a, b in zip(_as_list(got), _as_list(wanted)):
                if not close(a, b.detach().contiguous(), TOLERANCE):
                    raise ValueError("the runtime computes other numbers")
            self._check_speed(args)
        except _Slower as e:
            self.leave_to_torch(str(e))
        except Exception as e:    # whatever it was, torch can run it
            self.leave_to_torch(_reason(e))
            logger.warning("A partition runs in PyTorch: %s", self.why)
        return wanted

    def leave_to_torch(self, why):
        self.model, self.why = None, why

    def _check_speed(self, args):
        if not self.choose:
            return
        ours, theirs = _seconds((lambda: self._run(args),
                                 lambda: self.torch_module(*args)))
        if ours > theirs:
            raise _Slower(f"PyTorch is faster: {1e6 * theirs:.0f} and "
                          f"{1e6 * ours:.0f} us")

    def _compiled(self, args):
        nodes = list(self.torch_module.graph.nodes)
        holders = [n for n in nodes if n.op == "placeholder"]
        if not all("val" in n.meta or "tensor_meta" in n.meta for n in nodes
                   if n.op == "call_function"):    # read from a file
            ShapeProp(self.torch_module).propagate(*args)
        for node, value in zip(holders, args):
            node.meta["val"] = value
        try:
            return from_fx(self.torch_module, "subgraph", {
                holders[i]: (path, args[i])
                for i, path in self.weights.items()}).compile(_runtime())
        finally:
            for node in holders:    # the tensors are the caller's
                node.meta.pop("val", None)

    def _run(self, args):
        made = self.model.run([a.detach().contiguous()
                               for i, a in enumerate(args)
                               if i not in self.weights])
        made = [torch.from_dlpack(t) for t in made]
        return made[0] if len(made) == 1 else tuple(made)

    def __getstate__(self):
        return {**self.__dict__, "model": None}


class _Slower(Exception):
    """PyTorch takes less time for a subgraph."""


def _processor():
    """Seconds of the processor: what one thread takes, whoever else runs. A
    limit on them makes time.process_time coarse, and not this."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _seconds(runs):
    """The best time of each, run in turn."""
    clock = _processor if torch.get_num_threads() == 1 else time.perf_counter
    best, began = [float("inf")] * len(runs), clock()
    for turn in range(CALLS):
        if turn >= 2 and (clock() - began > ENOUGH or
                          max(best) > PLAIN * min(best)):
            break
        for i, run in enumerate(runs):
            start = clock()
            run()
            best[i] = min(best[i], clock() - start)
    return best


def _as_list(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]

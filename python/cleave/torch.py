"""Graphs of live PyTorch modules.

capture() tries, in this order, what torch offers, and keeps why each failed:

    fx       torch.fx.symbolic_trace, shapes from fake tensors
    strict   torch.export with strict=True (Dynamo)
    export   torch.export with strict=False
    dynamo   torch.compile with a backend that collects every partition
    record   one run, written down as it happens (record.py)

The module is copied first, sharing its parameters, so neither a warm-up that
sets attributes nor eval() is seen by the caller.
"""
import contextlib
import copy
import functools
import inspect
import io
import logging
import os
import re
import sys
import warnings

try:
    import torch
except ModuleNotFoundError:
    raise ModuleNotFoundError("live models need PyTorch: pip install torch",
                              name="torch") from None
import torch.fx
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from cleave import refusal, vision
from cleave._cleave import Error, from_fx

vision.declare()    # a model may come with torchvision's operators

_OURS = (os.path.dirname(torch.__file__) + os.sep, __file__,
         os.path.join(os.path.dirname(__file__), "record.py"))
_LAZY = torch.nn.parameter.UninitializedTensorMixin
METHODS = ("fx", "strict", "export", "dynamo", "record")
EXPORTS = ("strict", "export")    # those that keep symbols in shapes


class CaptureError(Error):
    """No method could capture the model; .failures says why."""

    def __init__(self, text, failures=None):
        super().__init__(refusal.said(text))
        self.failures = failures or {}


class Capture:
    """A captured model.

    graph     cleave.Graph of all of it
    modules   the torch.fx.GraphModules it came from: one, or one per partition
    method    which of METHODS worked
    failures  {method: reason} of those tried before
    dims      {name: size} of the dimensions that dynamic_shapes= named
    breaks    why Dynamo's graph broke: what ran in between is not in it
    reads     of a recording, the (file, line) where data became a number: the
              graph is the one path that these inputs took
    """

    breaks = reads = ()

    def __init__(self, name, method, modules, weights, failures, total=0,
                 dims=None):
        self.dims = dims or {}
        self.name, self.method = name, method
        self.modules, self.weights, self.failures = modules, weights, failures
        self.graph = from_fx(list(modules), name, weights, total)

    @functools.cached_property
    def unknown(self):
        """Operators whose cost nobody knows, by torch's names."""
        return self.graph.profile()["coverage"]["unknown_ops"]

    @property
    def lost(self):
        """Breaks that may have left operators out; sizes, numbers and printing
        leave out none."""
        return [why for why in self.breaks
                if not re.search(r"item\(\)|Dynamic shape|builtin", why)]

    @property
    def module(self):
        return self.modules[0]

    def partition_graphs(self):
        """One Graph per module, for models that broke into several."""
        return [from_fx(m, f"{self.name}#{i}", self.weights)
                for i, m in enumerate(self.modules, 1)]

    def __repr__(self):
        n = len(self.modules)
        path = ", one path" if self.method == "record" else ""
        return (f"<Capture of {self.name!r} by {self.method}, "
                f"{n} partition{'s' * (n > 1)}{path}>")


def capture(model, inputs=None, kwargs=None, *, name=None, methods=None,
            warmup=True, dynamic_shapes=None, dims=None):
    """The graph of a module or function called with these inputs.

    inputs          a tensor, a tuple of positional arguments, or a dict of
                    named ones
    kwargs          named arguments besides
    methods         which of METHODS to try; all by default
    dynamic_shapes  as torch.export takes them; the names of the dimensions
                    stay with the inputs
    dims            {name: size} of such dimensions, instead of the inputs' own
    """
    args, kwargs = _arguments(inputs, kwargs)
    given = _given(model, args, kwargs, name)
    if given is not None:
        return given
    if isinstance(model, torch.export.ExportedProgram):
        model, name = model.module(), name or "ExportedProgram"
    call = _Call(model, args, kwargs, dynamic_shapes, dims)
    methods = methods or (EXPORTS if dynamic_shapes else METHODS)
    work = _workable(model)
    with _Untouched(work, (args, kwargs)) as untouched:
        if warmup:
            with untouched.watch():
                _warm_up(model, work, call)
        return _first_that_works(model, work, call, methods, name)


def _given(model, args, kwargs, name):
    """The graph that a program or a GraphModule is, where it was made for
    inputs of these shapes; else None."""
    if isinstance(model, torch.export.ExportedProgram):
        own = model.graph_signature.user_inputs
        nodes = [n for n in model.graph.nodes
                 if n.op == "placeholder" and n.name in own]
        return _given_program(model, name) \
            if _takes(nodes, args, kwargs) else None
    if not isinstance(model, torch.fx.GraphModule) or not _has_shapes(model):
        return None
    nodes = [n for n in model.graph.nodes if n.op == "placeholder"]
    return Capture(name or _name_of(model), "given", [_unguarded(model)], None,
                   {}) if _takes(nodes, args, kwargs) else None


def _takes(nodes, args, kwargs):
    """Whether placeholders have the shapes of these inputs, or there are none
    to compare."""
    made = [_shape_of(n) for n in nodes]
    here = [tuple(t.shape) for t in pytree.tree_leaves((args, kwargs))
            if isinstance(t, torch.Tensor) and not t.is_nested]
    return not here or here == [m for m in made if m is not None]


def _shape_of(node):
    """The sizes that a placeholder's example had; None where it is no
    tensor."""
    found = next((node.meta[k] for k in ("val", "example_value", "tensor_meta")
                  if k in node.meta), None)
    return None if not hasattr(found, "shape") else tuple(
        d.node.hint if isinstance(d, torch.SymInt) else d for d in found.shape)


def _unguarded(module):
    """A module without the calls by which torch.export checks inputs."""
    guards = [n for n in module.graph.nodes
              if n.op == "call_module" and not n.users and
              type(module.get_submodule(n.target)).__name__ == "GuardsFn"]
    if not guards:
        return module
    graph = copy.deepcopy(module.graph)
    for node in list(graph.nodes):
        if node.name in {g.name for g in guards}:
            graph.erase_node(node)
    return torch.fx.GraphModule(module, graph)


def _given_program(program, name):
    """A program that is exported already: its graph, for the inputs it was made
    with."""
    modules, weights = _of_program(copy.deepcopy(program), torch.nn.Module())
    total = sum(program.state_dict[p].numel()
                for p in program.graph_signature.parameters)
    return Capture(name or "ExportedProgram", "given", modules, weights, {},
                   total)


def _first_that_works(model, work, call, methods, name):
    """The methods in order; one that leaves operators it cannot see into gives
    way to another that leaves fewer."""
    failures, best = {}, None
    for method in methods:
        call.breaks, call.reads = [], []
        try:
            with torch.no_grad(), _quiet():
                modules, weights = _BY_NAME[method](work, call)
            found = Capture(name or _name_of(model), method, modules, weights,
                            failures, _parameters(work), call.dims())
        except Exception as e:    # whatever torch raises: the next one is tried
            failures[method] = _reason(e)
            continue
        found.breaks, found.reads = call.breaks, call.reads
        if best is None or _holes(found) < _holes(best):
            best = found
        if not any(_holes(found)):
            break
        hidden = sorted(set(found.unknown + found.lost))
        failures[method] = "does not see into " + \
            (", ".join(hidden) or "code that it does not compile")
    if best is not None:
        failures.pop(best.method, None)
        if best.method == "dynamo" and "record" in failures:
            warnings.warn(f"{best.name}: Dynamo's graph, which may leave out "
                          f"what it does not compile; {failures['record']}")
        return best
    raise CaptureError(
        f"cannot capture {_name_of(model)}: " +
        "; ".join(f"{m}: {why}" for m, why in failures.items()), failures)


def _holes(found):
    """A graph that names what it does not know is better than one without. Of
    Dynamo's nobody can tell: it leaves out frames that it does not compile."""
    return found.method == "dynamo", bool(found.lost), len(found.unknown)


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
    if isinstance(model, torch.nn.Module):
        return model._get_name()
    return getattr(model, "__name__", None) or type(model).__name__


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
        if isinstance(model, type):
            raise CaptureError(f"{model.__name__} is a class: make one of it")
        if isinstance(model, str):
            raise CaptureError(f"{model!r} is a name")
        if not callable(model):
            raise CaptureError(f"a {type(model).__name__} is no torch module")
        return _Function(model)
    memo = {id(p): p for p in model.parameters() if not isinstance(p, _LAZY)}
    memo.update({id(b): _copied(b) for b in model.buffers()
                 if isinstance(b, _LAZY)})
    try:
        work = copy.deepcopy(model, memo)
    except Exception:    # a generator, a lock, a tensor with history
        work = _shallow(model, {})
    try:
        return work.eval()
    except NotImplementedError:    # an exported program has one mode
        return work


def _copied(buffer):
    """A buffer of its own; one that is not made yet has no numbers to copy."""
    if isinstance(buffer, _LAZY):
        return torch.nn.UninitializedBuffer(device=buffer.device,
                                            dtype=buffer.dtype)
    return None if buffer is None else buffer.clone()


def _shallow(module, done):
    """A module of its own with submodules and buffers of its own; any other
    attribute is the original's."""
    if id(module) not in done:
        done[id(module)] = own = module.__new__(type(module))
        own.__dict__.update(module.__dict__)
        own._parameters = dict(module._parameters)
        own._buffers = {k: _copied(b) for k, b in module._buffers.items()}
        own._modules = {k: m if m is None else _shallow(m, done)
                        for k, m in module._modules.items()}
    return done[id(module)]


def _warm_up(model, work, call):
    """One forward pass: lazy modules and buffers come into being."""
    compiles = "torch._dynamo" in sys.modules
    try:
        with torch.no_grad(), as_written():
            work(*call.args, **call.kwargs)
    except Exception as e:
        if not compiles and "torch._dynamo" in sys.modules:
            return _warm_up(model, work, call)    # it compiled some of itself
        kind, why = type(e).__name__, _reason(e)
        raise CaptureError(f"{_name_of(model)} fails on these inputs: " + (
            why if why.startswith(kind) else f"{kind}: {why}")) from None


def as_written():
    """What torch.compile wraps runs as it is written, where modes see it."""
    if "torch._dynamo" not in sys.modules:    # which takes long to load
        return contextlib.nullcontext()
    return torch.compiler.set_stance("force_eager")


class _Untouched:
    """Gives back what a forward pass changes besides its copy of the module:
    the random state, parameters and their gradients, which the copy shares,
    and inputs."""

    def __init__(self, work, inputs):
        own = [p for p in work.parameters() if not isinstance(p, _LAZY)]
        self.grads = [(p, p.grad) for p in own if p.is_leaf]
        leaves = [t for t in pytree.tree_leaves(inputs)
                  if isinstance(t, torch.Tensor)]
        held = [*own, *(g for _, g in self.grads if g is not None), *leaves]
        self.params = {t.untyped_storage().data_ptr(): t for t in held
                       if t.device.type == "cpu" and
                       t.layout is torch.strided and not t.is_nested}
        self.saved = {}

    def __enter__(self):
        self.random = torch.random.get_rng_state()
        return self

    def watch(self):
        """Parameters about to be written are kept as they were."""
        return _Writes(self)

    def before_write(self, tensor):
        at = tensor.untyped_storage().data_ptr()
        if at in self.params and at not in self.saved:
            self.saved[at] = self.params[at].detach().clone()

    def __exit__(self, *error):
        torch.random.set_rng_state(self.random)
        with torch.no_grad():
            for at, value in self.saved.items():
                self.params[at].data.copy_(value)
        for parameter, grad in self.grads:
            if parameter.grad is not grad:
                parameter.grad = grad


class _Writes(TorchDispatchMode):
    supports_higher_order_operators = True

    def __init__(self, untouched):
        super().__init__()
        self.untouched = untouched

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        schema = getattr(func, "_schema", None)
        if schema is not None and schema.is_mutable:
            for tensor in pytree.tree_leaves((args, kwargs)):
                if isinstance(tensor, torch.Tensor):
                    self.untouched.before_write(tensor)
        return func(*args, **(kwargs or {}))


class _Call:
    """A call and which dimensions of its inputs have names."""

    def __init__(self, model, args, kwargs, dynamic_shapes, dims):
        self.args, self.kwargs, self.spec = args, kwargs, dynamic_shapes
        self.names = []    # {axis: name} of each tensor, in order
        self.breaks = []   # why Dynamo's graph broke
        self.reads = []    # where a recording read data
        if dims and not dynamic_shapes:
            raise CaptureError("dims= binds names of dynamic_shapes=")
        if not dynamic_shapes:
            return
        forward = getattr(model, "forward", model)
        bound = inspect.signature(forward).bind(*args, **kwargs).arguments
        spec = dynamic_shapes
        if not isinstance(spec, dict):
            spec = dict(zip(bound, spec))
        known = set()
        for key, value in bound.items():
            self._walk(value, spec.get(key), known)
        unknown = set(dims or ()) - known
        if unknown:
            raise CaptureError(
                f"no dimension '{sorted(unknown)[0]}'; there are "
                + ", ".join(sorted(known)))
        if dims:
            self._resize(dims)

    def _walk(self, value, spec, known):
        """Pairs tensors with the names of their axes, in pytree's order."""
        if isinstance(value, torch.Tensor):
            axes = dict(enumerate(spec)) if isinstance(spec, (tuple, list)) \
                else spec or {}
            names = {i: d.__name__ for i, d in axes.items()
                     if hasattr(d, "__name__")}
            self.names.append(names)
            known.update(names.values())
        elif isinstance(value, dict):
            for key in value:
                self._walk(value[key], (spec or {}).get(key), known)
        elif isinstance(value, (tuple, list)):
            for i, item in enumerate(value):
                self._walk(item, spec[i] if spec else None, known)

    def _resize(self, dims):
        """Inputs of the sizes that are asked for, with the same numbers."""
        leaves, tree = pytree.tree_flatten((self.args, self.kwargs))
        names = iter(self.names)
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, torch.Tensor):
                continue
            for axis, name in next(names).items():
                if name in dims:
                    at = torch.arange(dims[name], device=leaf.device)
                    leaf = leaf.index_select(axis, at % leaf.shape[axis])
            leaves[i] = leaf
        self.args, self.kwargs = pytree.tree_unflatten(leaves, tree)

    def dims(self):
        tensors = [t for t in pytree.tree_leaves((self.args, self.kwargs))
                   if isinstance(t, torch.Tensor)]
        return {name: t.shape[axis] for t, names in zip(tensors, self.names)
                for axis, name in names.items()}

    def name_inputs(self, program):
        """Notes the names on the placeholders; the walker reads them."""
        users = [s.arg.name for s in program.graph_signature.input_specs
                 if s.kind.name == "USER_INPUT"]
        nodes = {n.name: n for n in program.graph.nodes}
        tensors = [nodes[n] for n in users if n in nodes and
                   isinstance(nodes[n].meta.get("val"), torch.Tensor)]
        for node, names in zip(tensors, self.names):
            node.meta["dim_names"] = [
                names.get(i) for i in range(node.meta["val"].dim())]


def _reason(e):
    """The first telling line of what torch raised."""
    lines = [l.strip() for l in str(e).splitlines() if l.strip()]
    if lines and "TorchScript interpreter" in lines[0]:
        at = next((i for i, l in enumerate(lines) if "<--- HERE" in l), 1)
        lines = [l for l in lines if "Error: " in l][-1:] or \
            [f"TorchScript fails at `{lines[at - 1]}`"]    # it says no more
    text = lines[0] if lines else type(e).__name__
    if " " not in text and lines:    # only the name of something
        text = f"{type(e).__name__}: {text}"
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


# -- the methods: (module, call) -> graph modules, weights -------------------

def _by_fx(model, call):
    args, kwargs = call.args, call.kwargs
    if isinstance(model, _Function):
        model = model.fn
    forward = model.forward if isinstance(model, torch.nn.Module) else model
    bound = inspect.signature(forward).bind(*args, **kwargs)
    given = bound.arguments
    if not all(isinstance(v, torch.Tensor) for v in given.values()):
        raise TypeError("arguments are not all tensors")
    if any(type(m).__module__.startswith("torch.ao.nn.quantized")
           for m in getattr(model, "modules", list)()):
        raise TypeError("quantised layers keep their weights to themselves")
    if getattr(model, "_forward_pre_hooks", None) or \
            getattr(model, "_forward_hooks", None):
        raise TypeError("torch.fx passes by the hooks of the model itself")
    rest = {p.name: p.default
            for p in inspect.signature(forward).parameters.values()
            if p.name not in given and p.default is not p.empty}
    tracer = _Tracer()
    graph = tracer.trace(model, rest or None)
    module = torch.fx.GraphModule(tracer.root, graph)
    return [propagate(module, *given.values(), *rest.values())], None


class _Tracer(torch.fx.Tracer):
    """torch.fx's own; each call keeps the line of the model it is on."""

    def is_leaf_module(self, module, path):
        """A layer whose weights are computed, or that calls a hook, does more
        than its name says."""
        more = module._forward_pre_hooks or module._forward_hooks or \
            torch.nn.utils.parametrize.is_parametrized(module) or \
            isinstance(module, torch.nn.MultiheadAttention) and (
                module.bias_k is not None or module.add_zero_attn or
                not module._qkv_same_embed_dim)
        return not more and super().is_leaf_module(module, path)

    def create_node(self, *args, **kwargs):
        node = super().create_node(*args, **kwargs)
        if node.op.startswith("call"):
            note_line(node)
        return node


def dense(tensor):
    """A nested tensor as its rows lie in memory, one after the other; any
    other as it is."""
    return tensor._values if tensor.is_nested and \
        tensor.layout is torch.jagged else tensor


def shape_of(tensor):
    """Sizes; of a nested tensor of the strided layout, all rows one after the
    other, or its numbers where rows differ in more than their count."""
    if not tensor.is_nested or tensor.layout is torch.jagged:
        return tuple(dense(tensor).shape)
    first, *rest = tensor._nested_tensor_size().tolist() or [[]]
    if first and all(one[1:] == first[1:] for one in rest):
        return sum(one[0] for one in (first, *rest)), *first[1:]
    return tensor.numel(),


def line_of_model():
    """File and line of the model's code that is running, or None."""
    frame = sys._getframe(1)
    while frame and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame and (frame.f_code.co_filename, frame.f_lineno)


def note_line(node):
    """Keeps the line on a node, in the form of torch's own stack traces."""
    line = line_of_model()
    if line:
        node.meta["stack_trace"] = 'File "%s", line %d' % line


def propagate(module, *args):
    """Shapes and types on every node, computed without data; with it where an
    operator goes only that way (a custom one, a quantised one)."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.passes.fake_tensor_prop import FakeTensorProp
    from torch.fx.passes.shape_prop import ShapeProp
    try:
        FakeTensorProp(module, FakeTensorMode(allow_non_fake_inputs=True)
                       ).propagate(*args)
    except Exception:
        for node in module.graph.nodes:
            node.meta.pop("val", None)
        ShapeProp(module).propagate(*args)
    return module


def _by_export(strict):
    def export(model, call):
        program = torch.export.export(model, call.args, call.kwargs,
                                      strict=strict, dynamic_shapes=call.spec)
        call.name_inputs(program)
        return _of_program(program, model)
    return export


def _of_program(program, model):
    from cleave.apart import take_apart, words_of_program
    words = words_of_program(program.graph)
    if words:
        program = program.run_decompositions(words)
    take_apart(program.graph)
    return [program.graph_module], _weights_of(program, model)


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
    return sum(p.numel() for p in model.parameters()
               if not isinstance(p, _LAZY))


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


def _by_dynamo(model, call):
    torch._dynamo.reset()
    collector = Collector()
    breaks = torch._dynamo.utils.counters["graph_break"]
    breaks.clear()
    try:
        torch.compile(model, backend=collector, dynamic=False)(
            *call.args, **call.kwargs)
        call.breaks = [_reason(why) for why in breaks]
    finally:
        torch._dynamo.reset()
    if not collector.modules:
        raise RuntimeError("torch.compile found no graph")
    return collector.modules, collector.weights(model)


def _by_record(model, call):
    from cleave.record import record
    recorder = record(model, call.args, call.kwargs)
    call.reads = recorder.reads
    return [recorder.module()], None


_BY_NAME = {"fx": _by_fx, "strict": _by_export(True),
            "export": _by_export(False), "dynamo": _by_dynamo,
            "record": _by_record}


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

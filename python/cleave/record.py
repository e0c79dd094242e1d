"""The fifth way to a graph: run the model once and write down what runs.

Two modes stand between the model and torch. The lower one sees every ATen
operator that is dispatched; the upper one keeps some functions whole (a
convolution, a linear layer, an LSTM) that torch would take apart first. Each
becomes a node of a torch.fx graph; hooks tell which module it belongs to.

The graph is one path: a loop appears as often as it ran, a branch as it was
taken. `reads` lists the lines where the model turned data into a number, which
are the places where another input may take another path.
"""
import contextlib
import functools
import inspect
import operator
import threading

import torch
import torch.fx
from torch.nested._internal.nested_tensor import NestedTensor
from torch.nn.modules import module as hooks
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakTensorKeyDictionary

from cleave.apart import FUNCTIONS, take_apart, words_of_torch
from cleave.packed import CELLS, unpacked
from cleave.torch import (as_written, dense, line_of_model, note_line,
                          shape_of)

_aten = torch.ops.aten

# Functions that stay whole: what torch makes of them differs by machine.
_WHOLE = frozenset("""conv1d conv2d conv3d conv_transpose1d conv_transpose2d
conv_transpose3d linear bilinear scaled_dot_product_attention lstm gru rnn_tanh
rnn_relu layer_norm group_norm batch_norm instance_norm rms_norm
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d dropout""".split())
# Operators that hand their input on as it is.
_SAME = {_aten.detach.default, _aten.alias.default, _aten.lift_fresh.default,
         _aten.lift.default}
# Operators that ask for a property.
_ASKS = {_aten._nested_tensor_size.default, _aten._nested_tensor_strides.default,
         _aten._nested_tensor_storage_offsets.default}
# Operators that make memory without contents: nodes only where they are read.
_EMPTY = {_aten.empty.memory_format, _aten.empty_like.default,
          _aten.new_empty.default, _aten.empty_strided.default}
# What a graph holds as it is; other objects are left out of it.
_PLAIN = (bool, int, float, complex, str, type(None), type(...), slice,
          torch.dtype, torch.device, torch.layout, torch.memory_format,
          torch.SymInt, torch.SymFloat, torch.SymBool)


@functools.cache
def _pieces_of(func, types):
    """What runs in place of an operator; None: it runs as it is."""
    if isinstance(func, torch._ops.HigherOrderOperator):
        return FUNCTIONS.get(func.name())
    if any(issubclass(t, NestedTensor) for t in types):
        return lambda *args, **kwargs: NestedTensor.__torch_dispatch__(
            func, types, args, kwargs)
    return CELLS.get(func._schema.name) or (
        func.decompose if _composite(func) else words_of_torch(func))


def _composite(func):
    """Whether torch takes the operator apart before it runs. Where autograd is
    passed by (inference mode, functions of functions) it comes as it is."""
    return func.namespace == "aten" and \
        func._schema.name.removeprefix("aten::") not in _WHOLE and \
        func.has_kernel_for_dispatch_key(
            torch._C.DispatchKey.CompositeImplicitAutograd)


@functools.cache
def _label(func):
    """What torch.fx would call a node of this function."""
    return torch.fx.Graph()._target_to_str(func)


# Quantised numbers as they lie in memory.
_STORED = {torch.qint8: torch.int8, torch.quint8: torch.uint8,
           torch.qint32: torch.int32}


class Type:
    """What a graph needs to know of a tensor; the tensor itself may go."""

    __slots__ = ("shape", "dtype")

    def __init__(self, tensor):
        self.shape = shape_of(tensor)
        self.dtype = _STORED.get(tensor.dtype, tensor.dtype)


def _attention_of_nested(query, key, value, *args, **kwargs):
    """(batch, heads, rows, width), sequence by sequence."""
    made = [torch.nn.functional.scaled_dot_product_attention(
        *one, *args, **kwargs).transpose(0, 1)
        for one in zip(query.unbind(), key.unbind(), value.unbind())]
    if query.layout is not torch.jagged:
        return torch.nested.as_nested_tensor(made).transpose(1, 2)
    return torch.nested.nested_tensor_from_jagged(
        torch.cat(made), query.offsets()).transpose(1, 2)


def _memory_of(tensor):
    """The memory a tensor lies in; None where it has none of its own."""
    try:
        return tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):
        return None


def _type_of(value):
    if isinstance(value, torch.Tensor):
        return Type(value)
    if isinstance(value, (tuple, list)):
        return tuple(_type_of(v) for v in value)
    return value


class Recorder(TorchDispatchMode):
    """Builds a torch.fx graph of what is dispatched while it is entered."""

    supports_higher_order_operators = True

    def __init__(self, model, fakes=None):
        super().__init__()
        self._fakes = fakes    # the mode that makes tensors without data
        self.graph, self.reads = torch.fx.Graph(), []
        self._nodes = WeakTensorKeyDictionary()
        self._tensors = {}    # path: tensor, of the weights that are read
        self._paths = WeakTensorKeyDictionary()
        self._places = [("", type(model))]
        self._paused = False
        self._thread = threading.get_ident()
        self._elsewhere = None    # a module that another thread called
        self._memory = None    # {where a weight lies: it}, when it is asked for
        for path, tensor in (*model.named_parameters(), *model.named_buffers()):
            self._paths.setdefault(tensor, path)
        self._names = {m: name for name, m in model.named_modules()}

    @classmethod
    def _should_skip_dynamo(cls):
        """Nothing is compiled while we record (as_written), so that torch need
        not wrap every call below."""
        return False

    def module(self):
        """What was written down, with the weights it reads."""
        for node in reversed(self.graph.nodes):
            if node.target in _EMPTY and not node.users:
                self.graph.erase_node(node)
        take_apart(self.graph)
        known = set(self._paths.values())
        return torch.fx.GraphModule(
            {path: t if path in known or not isinstance(t, torch.nn.Parameter)
             else t.detach()    # of no module: not the model's parameter
             for path, t in self._tensors.items()}, self.graph)

    def input(self, tensor, name):
        node = self.graph.placeholder(name)
        node.meta["val"] = Type(tensor)
        self._nodes[dense(tensor)] = node

    def output(self, results):
        if inspect.isgenerator(results):
            raise TypeError("forward is a generator: nothing has run yet")
        if self._elsewhere is not None:
            raise RuntimeError(f"a {self._elsewhere} runs in another thread, "
                               "where nothing is written down")
        self.graph.output(tuple(
            self._node_of(t) for t in pytree.tree_leaves(results)
            if isinstance(t, torch.Tensor)))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self._paused or func.namespace == "prim" or func in _ASKS:
            return func(*args, **kwargs)
        pieces = _pieces_of(func, tuple(types))
        if pieces:
            with self:
                return pieces(*args, **kwargs)
        out = func(*args, **kwargs)
        self._write_down(func, args, kwargs, out)
        return out

    def whole(self, func, args, kwargs):
        """A call that stays one node, whatever it dispatches."""
        self._paused = True
        try:
            out = func(*args, **kwargs)
        finally:
            self._paused = False
        self._write_down(_overload(func, args), args, kwargs, out)
        return out

    def _write_down(self, func, args, kwargs, out):
        if func is _aten._local_scalar_dense.default:
            self.reads.append(line_of_model())
            return
        if func in _SAME:
            self._nodes[out] = self._node_of(args[0])
            return
        if not isinstance(out, torch.Tensor) and not any(
                isinstance(t, torch.Tensor) for t in pytree.tree_leaves(out)):
            return
        if isinstance(func, torch._ops.OpOverload):
            func, args, kwargs = unpacked(func, args) or (func, args, kwargs)
        node = self.graph.call_function(func, self._named(args),
                                        self._named(kwargs), name=_label(func))
        path, cls = self._places[-1]
        node.meta["val"] = _type_of(out)
        node.meta["nn_module_stack"] = {path: (path, cls)}
        note_line(node)
        if isinstance(out, torch.Tensor):
            self._nodes[out] = node
        else:
            self._several(node, out)

    def _several(self, node, out):
        for i, one in enumerate(out):
            if isinstance(one, (tuple, list)):
                self._several(self._item(node, i, one), one)
            elif isinstance(one, torch.Tensor):
                self._nodes[one] = self._item(node, i, one)

    def _item(self, node, i, one):
        item = self.graph.call_function(operator.getitem, (node, i))
        item.meta["val"] = _type_of(one)
        return item

    def _named(self, values):
        """Arguments with nodes for tensors. Numbers, types and texts stay as
        they are; None stands for any other object (a generator)."""
        if isinstance(values, torch.Tensor):
            return self._node_of(values)
        kind = type(values)
        if kind is tuple or kind is list:
            return kind(map(self._named, values))
        if kind is dict:
            return {key: self._named(value) for key, value in values.items()}
        if isinstance(values, _PLAIN):
            return values
        return None if pytree.tree_is_leaf(values) else \
            pytree.tree_map(self._named, values)

    def _node_of(self, tensor):
        tensor = dense(tensor)
        node = self._nodes.get(tensor)
        if node is None:
            own = self._weight_behind(tensor)
            node = self._weight(tensor) if own is None else \
                self._view_of(own, tensor)
            self._nodes[tensor] = node
        return node

    def _weight(self, tensor):
        """A node for a tensor that no operator here made."""
        path = self._paths.get(tensor) or f"_constant{len(self._tensors)}"
        self._tensors[path] = tensor
        node = self.graph.get_attr(path)
        node.meta["val"] = Type(tensor)
        return node

    def _weight_behind(self, tensor):
        """The weight in whose memory this tensor lies, None where it is in none
        or is the weight: autograd and attributes hold views of weights that no
        operator here made."""
        if tensor in self._paths:
            return None
        if self._memory is None:
            as_fake = self._fakes.from_tensor if self._fakes else lambda t: t
            self._memory = {_memory_of(one): t for t in self._paths.keys()
                            for one in (t, as_fake(t))}
            self._memory.pop(None, None)
        return self._memory.get(_memory_of(tensor))

    def _view_of(self, weight, tensor):
        node = self._node_of(weight)
        if (weight.shape, weight.stride()) == (tensor.shape, tensor.stride()):
            return node
        view = self.graph.call_function(_aten.as_strided.default, (
            node, list(tensor.shape), list(tensor.stride()),
            tensor.storage_offset()))
        view.meta["val"] = Type(tensor)
        return view

    # -- modules -------------------------------------------------------------

    @contextlib.contextmanager
    def modules_seen(self):
        """Calls of modules are noticed, whoever makes them."""
        enter = hooks.register_module_forward_pre_hook(self._enter_module)
        leave = hooks.register_module_forward_hook(self._leave_module,
                                                   always_call=True)
        try:
            yield
        finally:
            enter.remove()
            leave.remove()

    def _enter_module(self, module, args):
        if threading.get_ident() != self._thread:
            self._elsewhere = type(module).__name__
            return
        name = self._names.get(module, self._places[-1][0])
        self._places.append((name, type(module)))

    def _leave_module(self, module, args, out):
        if len(self._places) > 1 and threading.get_ident() == self._thread:
            self._places.pop()


class _Whole(TorchFunctionMode):
    """Hands the functions that stay whole to the recorder."""

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs, name = kwargs or {}, getattr(func, "__name__", "")
        if name not in _WHOLE or _of_others(func) or \
                torch._C._functorch.maybe_current_level() is not None:
            return func(*args, **kwargs)
        nested = bool(args) and isinstance(args[0], torch.Tensor) and \
            args[0].is_nested
        if nested and name == "scaled_dot_product_attention":
            with self:
                return _attention_of_nested(*args, **kwargs)
        if any(issubclass(t, NestedTensor) for t in types):
            return func(*args, **kwargs)
        return self.recorder.whole(func, args, kwargs)


def _of_others(func):
    """Whether a function is an operator of another library than ATen."""
    return isinstance(func, torch._ops.OpOverloadPacket) and \
        not func._qualified_op_name.startswith("aten::")


def _overload(func, args):
    """The ATen operator of a recurrent function, whose two forms share a name;
    any other function is itself."""
    name = func.__name__
    if name in ("lstm", "gru", "rnn_tanh", "rnn_relu"):
        packed = isinstance(args[3], (tuple, list))
        return getattr(getattr(_aten, name), "data" if packed else "input")
    return func


def _run(model, args, kwargs, fakes=None):
    recorder = Recorder(model, fakes)
    tensors = [t for t in pytree.tree_leaves((args, kwargs))
               if isinstance(t, torch.Tensor)]
    for i, tensor in enumerate(tensors):
        recorder.input(tensor, f"input_{i}" if i else "input")
    fast = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with as_written(), recorder.modules_seen(), recorder, \
                _Whole(recorder):
            results = model(*args, **kwargs)
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    recorder.output(results)
    return recorder


def _on_fakes(model, args, kwargs):
    """Without data: costs no memory and little time."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        args, kwargs = pytree.tree_map_only(torch.Tensor, mode.from_tensor,
                                            (args, kwargs))
        return _run(model, args, kwargs, mode)


def record(model, args, kwargs):
    """The Recorder of one run: on tensors without data where the model allows,
    on real ones where it looks at the data."""
    try:
        return _on_fakes(model, args, kwargs)
    except Exception:    # it reads data, or has an operator without a fake
        return _run(model, args, kwargs)

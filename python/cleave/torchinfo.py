"""A model's modules as a table, in the shape of torchinfo:

    stats = cleave.summary(model, input_size=(1, 3, 224, 224),
                           col_names=("output_size", "num_params", "mult_adds"))
    print(stats)                  # or the last line of a notebook's cell
    stats.total_params, stats.trainable_params, stats.total_mult_adds

The model is called once, on a copy; hooks see which modules run and what they
return. What is counted of that is counted in C: by torchinfo's rules, so that
figures compare (`total_mult_adds`), and by ours (`total_macs`)."""
import functools
import html
import sys

from cleave import torch as _bridge
from cleave._cleave import Error, module_costs

import torch
from torch.nn.modules import module as all_modules
from torch.utils import _pytree as pytree

COLUMNS = {"kernel_size": "Kernel Shape", "input_size": "Input Shape",
           "output_size": "Output Shape", "num_params": "Param #",
           "params_percent": "Param %", "mult_adds": "Mult-Adds",
           "trainable": "Trainable", "frozen_params": "Frozen #"}
_RUN = ("input_size", "output_size", "mult_adds")    # columns of a forward pass
ROWS = ("ascii_only", "depth", "var_names")
MODES = ("eval", "train")


class LayerInfo:
    """One call of a module, or a module that was not called."""

    def __init__(self, name, module, depth, parent):
        self.var_name, self.module, self.depth = name, module, depth
        self.parent_info, self.children = parent, []
        self.class_name = getattr(module, "original_name", None) or \
            type(module).__name__
        self.layer_id, self.depth_index = id(module), None
        self.is_leaf_layer = not list(module.children())
        self.is_recursive = self.executed = False
        self.input_size, self.output_size, self.itemsize = [], [], 0
        self.macs = self.output_bytes = self.num_params = 0
        self.trainable_params = self.param_bytes = 0

    def __repr__(self):
        return f"{self.class_name}: {self.depth}"

    @property
    def kernel_size(self):
        size = getattr(self.module, "kernel_size", None)
        return list(size) if isinstance(size, (tuple, list)) else size

    @property
    def trainable(self):
        if not self.num_params:
            return "--"
        if self.trainable_params == self.num_params:
            return "True"
        return "Partial" if self.trainable_params else "False"

    def leftover(self, name):
        """What is its own and of no module below (children are all of those)."""
        return getattr(self, name) - sum(
            getattr(c, name) if c.is_leaf_layer else c.leftover(name)
            for c in self.children if not c.is_recursive)

    def _call(self):
        """What module_costs takes."""
        return (self.class_name, self.output_size, self.itemsize,
                [(n, p.numel(), p.numel() * p.element_size(), p.requires_grad)
                 for n, p in self.module.named_parameters()
                 if not isinstance(p, _bridge._LAZY)])


class ModelStatistics:
    """What summary() found; a table as text and in notebooks."""

    def __init__(self, layers, input_size, total_input, how, capture):
        self.summary_list, self.input_size = layers, input_size
        self.total_input, self._how, self._capture = total_input, how, capture
        self.total_params = self.trainable_params = self.total_mult_adds = 0
        self.total_param_bytes = self.total_output_bytes = 0
        for layer in layers:
            leaf, once = layer.is_leaf_layer, not layer.is_recursive
            if leaf:
                self.total_mult_adds += layer.macs
                if layer.num_params:    # twice: gradients take as much
                    self.total_output_bytes += 2 * layer.output_bytes
            if once:
                self.total_params += layer.num_params if leaf else \
                    max(layer.leftover("num_params"), 0)
                self.trainable_params += layer.trainable_params if leaf else \
                    max(layer.leftover("trainable_params"), 0)
                self.total_param_bytes += layer.param_bytes if leaf else 0

    @property
    def frozen_params(self):
        return self.total_params - self.trainable_params

    @functools.cached_property
    def graph(self):
        """The captured graph, whose counts are exact."""
        if self._capture is None:
            raise Error("summary: no graph without input_size= or input_data=")
        return self._capture()

    @property
    def total_macs(self):
        """Multiply-adds that really run, functions and attention included."""
        return self.graph.profile()["total_macs"]

    # -- as text -------------------------------------------------------------

    def _rows(self):
        """Cells of the rows that are shown: name, then the columns."""
        for layer in self.summary_list:
            if layer.depth <= self._how["depth"]:
                last = layer.depth == self._how["depth"]
                yield layer, [_cell(layer, c, last, self.total_params)
                              for c in self._how["columns"]]

    def _name(self, layer):
        rows, name = self._how["rows"], layer.class_name
        if "var_names" in rows and layer.var_name:
            name += f" ({layer.var_name})"
        if "depth" in rows and layer.depth:
            name += f": {layer.depth}-{layer.depth_index}"
        mark = "+ " if "ascii_only" in rows else "├─"
        indent = "    " if "ascii_only" in rows else "│    "
        return indent * (layer.depth - 1) + mark + name if layer.depth else name

    def _totals(self):
        yield "Total params", f"{self.total_params:,}"
        yield "Trainable params", f"{self.trainable_params:,}"
        yield "Non-trainable params", f"{self.frozen_params:,}"
        if self.input_size:
            mb = lambda n: f"{n / 1e6:0.2f}"
            yield "Total mult-adds", f"{self.total_mult_adds:,}"
            yield "Input size (MB)", mb(self.total_input)
            yield ("Forward/backward pass size (MB)",
                   mb(self.total_output_bytes))
            yield "Params size (MB)", mb(self.total_param_bytes)
            yield "Estimated Total Size (MB)", mb(
                self.total_input + self.total_output_bytes +
                self.total_param_bytes)

    def __repr__(self):
        head = "Layer (type:depth-idx)" if "depth" in self._how["rows"] else \
            "Layer (type)"
        rows = [(self._name(l), cells) for l, cells in self._rows()]
        wide = max([len(head), *(len(name) for name, _ in rows)]) + 2
        column = self._how["width"]
        line = lambda name, cells: (f"{name:<{wide}}" + "".join(
            f"{c:<{column}}" for c in cells)).rstrip()
        rule = "=" * (wide + column * len(self._how["columns"]))
        heads = [COLUMNS[c] for c in self._how["columns"]]
        return "\n".join([rule, line(head, heads), rule,
                          *(line(*row) for row in rows), rule,
                          *(f"{k}: {v}" for k, v in self._totals()), rule])

    __str__ = __repr__

    def _repr_html_(self):
        cell = lambda tag, text: f"<{tag}>{html.escape(str(text))}</{tag}>"
        heads = ["Layer", *(COLUMNS[c] for c in self._how["columns"])]
        rows = ["".join([cell("td", "\u2003" * l.depth + self._name(l)
                              .lstrip("│├─+ ")), *(cell("td", c) for c in cells)])
                for l, cells in self._rows()]
        return ("<table><thead><tr>" + "".join(cell("th", h) for h in heads) +
                "</tr></thead><tbody>" +
                "".join(f"<tr>{r}</tr>" for r in rows) + "</tbody></table><p>" +
                "<br>".join(html.escape(f"{k}: {v}")
                            for k, v in self._totals()) + "</p>")


def _cell(layer, column, last, total):
    """One cell; a module that holds others shows what it has besides, or all
    of it at the last depth that is shown."""
    whole = last or layer.is_leaf_layer
    of = lambda name: getattr(layer, name) if whole else \
        max(layer.leftover(name), 0)
    if column in ("input_size", "output_size"):
        return str(getattr(layer, column)) if getattr(layer, column) else "--"
    if column == "kernel_size":
        return str(layer.kernel_size) if layer.kernel_size else "--"
    if column == "trainable":
        return layer.trainable
    if column == "mult_adds":
        n = layer.macs if layer.is_leaf_layer else sum(
            c.macs for c in layer.children if c.is_leaf_layer) if last else 0
        return f"{n:,}" if n else "--"
    if layer.is_recursive and layer.num_params:
        return "(recursive)"
    n = of("num_params")
    if column == "params_percent":
        return f"{n / total:.2%}" if n else "--"
    if column == "frozen_params":
        n -= of("trainable_params")
        return f"{n:,}" if n else "--"
    if not n:
        return "--"
    return f"{n:,}" if layer.trainable_params else f"({n:,})"


# -- the call ----------------------------------------------------------------

def summary(model, input_size=None, input_data=None, batch_dim=None,
            cache_forward_pass=None, col_names=None, col_width=25, depth=3,
            device=None, dtypes=None, mode=None, row_settings=None,
            verbose=None, **kwargs):
    """The modules of a model and what they cost; arguments are torchinfo's.

    input_size  one shape or several, of tensors of the types `dtypes`
    input_data  the inputs themselves: a tensor, several, or a dict
    col_names   of COLUMNS; torchinfo's, and frozen_params
    verbose     1 prints the table, 0 does not; 0 in a session
    """
    _check(model, input_size, input_data, col_width, depth, verbose)
    some = input_size is not None or input_data is not None
    columns = _among("col_names", col_names, COLUMNS,
                     ("output_size", "num_params") if some
                     else ("num_params",))
    rows = _among("row_settings", row_settings, ROWS, ("depth",))
    mode = _among("mode", [mode or "eval"], MODES, ())[0]
    missing = [c for c in columns if c in _RUN and not some]
    if missing:
        raise ValueError(f"summary: column '{missing[0]}' needs a forward "
                         "pass: give input_size= or input_data=")
    inputs = None
    if some:
        inputs = input_data if input_data is not None else \
            make_inputs(input_size, dtypes, device or _device_of(model),
                        "summary")
        inputs = tuple(inputs) if isinstance(inputs, list) else inputs
        if batch_dim is not None:
            if not isinstance(batch_dim, int):
                raise TypeError(f"summary: batch_dim={batch_dim!r} is no axis: "
                                "give a whole number")
            inputs = pytree.tree_map_only(
                torch.Tensor, lambda t: t.unsqueeze(batch_dim), inputs)
    layers = _layers(model, inputs, kwargs, mode)
    tensors = [t for t in pytree.tree_leaves(inputs)
               if isinstance(t, torch.Tensor)]
    found = ModelStatistics(
        layers, [tuple(t.shape) for t in tensors],
        sum(t.numel() * t.element_size() for t in tensors),
        {"columns": columns, "rows": rows, "width": col_width, "depth": depth},
        (lambda: _bridge.capture(model, inputs, kwargs).graph) if some
        else None)
    if 1 if verbose is None and not hasattr(sys, "ps1") else verbose:
        print(found)
    return found


def _check(model, input_size, input_data, col_width, depth, verbose):
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"summary: a {type(model).__name__} is no torch module: "
                        "give a torch.nn.Module")
    if input_size is not None and input_data is not None:
        raise ValueError("summary: input_size= and input_data= say the same "
                         "twice: give one of them")
    for name, n in (("col_width", col_width), ("depth", depth)):
        if not isinstance(n, int) or n < (name == "col_width"):
            raise ValueError(f"summary: {name}={n!r} is no size: give a whole "
                             "number")
    if verbose not in (None, 0, 1, 2):
        raise ValueError(f"summary: verbose={verbose!r} is none of 0, 1 and 2")


def _among(what, words, known, default):
    """The words that were given, each one of those there are."""
    if words is None:
        return tuple(default)
    words = (words,) if isinstance(words, str) else \
        tuple(getattr(w, "value", w) for w in words)
    for word in words:
        if word not in known:
            raise ValueError(f"summary: {what} has no '{word}': there are "
                             f"{', '.join(known)}")
    return words


def _device_of(model):
    parameter = next(model.parameters(), None)
    return parameter.device if parameter is not None else "cpu"


def make_inputs(input_size, dtypes=None, device=None, method="capture"):
    """Tensors of these shapes: (1, 3, 224, 224), or a list of such."""
    several = isinstance(input_size, (list, tuple)) and len(input_size) and \
        all(isinstance(s, (list, tuple)) for s in input_size)
    sizes = list(input_size) if several else [input_size]
    if dtypes is None:
        dtypes = [torch.float32] * len(sizes)
    elif isinstance(dtypes, (torch.dtype, str)):
        dtypes = [dtypes] * len(sizes)
    if len(dtypes) != len(sizes):
        raise ValueError(f"{method}: {len(sizes)} shapes and {len(dtypes)} "
                         "dtypes: give a type for each shape")
    where = _device(device, method)
    return tuple(_tensor(s, _dtype(t, method), where, method)
                 for s, t in zip(sizes, dtypes))


def _tensor(size, dtype, device, method):
    if not isinstance(size, (list, tuple)) or not size or not all(
            isinstance(n, int) and n > 0 for n in size):
        raise ValueError(f"{method}: input_size={size!r} is no shape: give whole "
                         "numbers above 0, such as (1, 3, 224, 224)")
    if dtype.is_floating_point:
        return torch.rand(size, device=device).to(dtype)
    return torch.zeros(size, dtype=dtype, device=device)


def _dtype(said, method):
    found = getattr(torch, said.removeprefix("torch."), said) \
        if isinstance(said, str) else said
    if not isinstance(found, torch.dtype):
        raise ValueError(f"{method}: {said!r} is no type of torch: give "
                         "torch.float32, torch.int64 and the like")
    return found


def _device(said, method):
    """A device in any case: "CPU", "Cuda:0"."""
    if said is None or isinstance(said, torch.device):
        return said
    try:
        found = torch.device(str(said).strip().lower())
    except RuntimeError:
        raise ValueError(f"{method}: '{said}' is no device of torch: give "
                         "'cpu', 'cuda' or 'meta'") from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"{method}: device '{said}' is not there, torch has no "
                         "CUDA here: give 'cpu' or 'meta'")
    return found


def _layers(model, inputs, kwargs, mode):
    """The calls of modules in order; without inputs, every module."""
    work = _bridge._workable(model).train(mode == "train")
    layers = _Watch(work)
    if inputs is None:
        layers.all()
    else:
        args, named = _bridge._arguments(inputs, kwargs)
        call = _bridge._Call(work, args, named, None, None)
        with _bridge._Untouched(work, (args, named)) as untouched, layers:
            with untouched.watch():
                _bridge._warm_up(model, work, call)
        layers.fill_in()
    return layers.counted()


class _Watch:
    """Hooks on every module, which note each call."""

    def __init__(self, model):
        self.list, self._seen, self._open = [], set(), []
        self._names = {}    # module: (name, depth, parent module)
        self._gather(model, type(model).__name__, 0, None)

    def _gather(self, module, name, depth, parent):
        self._names[module] = (name, depth, parent)
        for child, m in module._modules.items():
            if m is not None and m is not module:
                self._gather(m, child, depth + 1, module)

    def __enter__(self):
        self._hooks = [
            all_modules.register_module_forward_pre_hook(self._enter_scripted),
            all_modules.register_module_forward_hook(self._leave_scripted,
                                                     always_call=True)]
        for module in self._names:
            if not isinstance(module, torch.jit.ScriptModule):
                self._hooks += [
                    module.register_forward_pre_hook(self._enter),
                    module.register_forward_hook(self._leave, always_call=True)]
        return self

    def _enter_scripted(self, module, args):
        """Scripted modules take no hooks of their own."""
        if isinstance(module, torch.jit.ScriptModule) and module in self._names:
            self._enter(module, args)

    def _leave_scripted(self, module, args, out):
        if isinstance(module, torch.jit.ScriptModule):
            self._leave(module, args, out)

    def __exit__(self, *error):
        for hook in self._hooks:
            hook.remove()

    def _new(self, module, parent):
        name, depth, _ = self._names[module]
        info = LayerInfo(name, module, depth, parent)
        info.is_recursive = module in self._seen
        self._seen.add(module)
        return info

    def _enter(self, module, args):
        info = self._new(module, None)
        self.list.append(info)
        self._open.append(info)

    def _leave(self, module, args, out):
        if not self._open or self._open[-1].module is not module:
            return
        info = self._open.pop()
        info.executed = True
        info.input_size, _ = _size(args)
        info.output_size, info.itemsize = _size(out)

    def all(self):
        """Modules that nobody called, in the order they are declared."""
        self.list = [self._new(m, None) for m in self._names]

    def fill_in(self):
        """Containers above a call that were not called themselves (lists of
        modules) stand before what is in them."""
        full, path = [], []
        for info in self.list:
            above, parent = [], self._names[info.module][2]
            while parent is not None:
                above.insert(0, parent)
                parent = self._names[parent][2]
            del path[info.depth:]
            for d, module in enumerate(above):
                if d >= len(path) or path[d] is not module:
                    del path[d:]
                    path.append(module)
                    full.append(self._new(module, None))
            path.append(info.module)
            full.append(info)
        self.list = full

    def counted(self):
        """Numbers them, tells each its children, and has them counted."""
        indices, stack = {}, []
        for info, cost in zip(self.list, module_costs(
                [layer._call() for layer in self.list])):
            (info.macs, info.output_bytes, info.num_params,
             info.trainable_params, info.param_bytes) = cost
            indices[info.depth] = info.depth_index = \
                indices.get(info.depth, 0) + 1
            del stack[info.depth:]
            info.parent_info = stack[-1] if stack else None
            for above in stack:
                above.children.append(info)
            stack.append(info)
        return self.list


def _size(value):
    """Sizes and bytes per element of the first tensor; of a dict, the last."""
    tensors = [t for t in pytree.tree_leaves(value)
               if isinstance(t, torch.Tensor)]
    if not tensors:
        return [], 0
    t = tensors[-1 if isinstance(value, dict) else 0]
    return list(_bridge.shape_of(t)), t.element_size()

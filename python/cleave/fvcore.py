"""fvcore's objects over cleave, and our count beside the real fvcore's.

    from cleave.fvcore import FlopCountAnalysis, flop_count_table
    flops = FlopCountAnalysis(model, inputs)
    flops.total(), flops.by_operator(), flops.by_module()
    print(flop_count_table(flops))

The graph is captured (in eval mode, the model untouched) and counted in C by
fvcore's rules. `python -m cleave fvcore --models a,b` compares the two."""
import argparse
import logging
import sys
from collections import Counter, defaultdict

from cleave import handles
from cleave._cleave import Error

__all__ = ["ActivationCountAnalysis", "FlopCountAnalysis", "activation_count",
           "flop_count", "flop_count_str", "flop_count_table",
           "parameter_count", "parameter_count_table"]


class _Analysis:
    """One statistic of a model's operators, by module and by operator."""

    _activations = False

    def __init__(self, model, inputs):
        import torch
        if not isinstance(model, torch.nn.Module):
            raise TypeError(f"{type(self).__name__}: a {type(model).__name__} "
                            "is no torch module: give a torch.nn.Module")
        self._model, self._inputs = model, inputs
        self._handles, self._found = {}, None
        self._warn_ops = self._warn_modules = True
        self._aliases, seen = {}, {}
        for name, module in model.named_modules(remove_duplicate=False):
            self._aliases[name] = seen.setdefault(module, name)

    # -- results -------------------------------------------------------------

    def total(self, module_name=""):
        return sum(self.by_operator(module_name).values())

    def by_operator(self, module_name=""):
        counts, name = self._counts(), self.canonical_module_name(module_name)
        return Counter(counts["counts"].get(name, {}))

    def by_module(self):
        return Counter({name: sum(c.values()) for name, c in
                        self.by_module_and_operator().items()})

    def by_module_and_operator(self):
        counts = self._counts()["counts"]
        return {name: Counter(counts.get(name, {}))
                for name in dict.fromkeys(self._aliases.values())}

    def unsupported_ops(self, module_name=""):
        """Operators that fvcore has no rule for, which count nothing."""
        counts, name = self._counts(), self.canonical_module_name(module_name)
        return Counter({f"aten::{op}" if op.isidentifier() else op: n for op, n
                        in counts["unsupported"].get(name, {}).items()})

    def uncalled_modules(self):
        """Modules of which no operator was seen."""
        return set(self._aliases.values()) - set(self._counts()["counts"])

    def canonical_module_name(self, name):
        if name not in self._aliases:
            raise KeyError(f"{type(self).__name__}: the model has no module "
                           f"'{name}': names are those of named_modules()")
        return self._aliases[name]

    # -- settings ------------------------------------------------------------

    def set_op_handle(self, *args, **kwargs):
        """Handles (inputs, outputs) -> number by the names of operators, in
        pairs or as keywords; None leaves an operator out."""
        if len(args) % 2:
            raise TypeError("set_op_handle: a name without a handle: give "
                            "pairs of names and handles")
        new = dict(zip(args[::2], args[1::2]), **kwargs)
        handles.checked(new, "set_op_handle")
        self._handles.update(new)
        self._found = None
        return self

    def clear_op_handles(self):
        raise NotImplementedError(
            "clear_op_handles: the rules are the C library's and stay: "
            "set_op_handle(name, None) leaves an operator out")

    def copy(self, new_model=None, new_inputs=None):
        other = type(self)(new_model or self._model,
                           self._inputs if new_inputs is None else new_inputs)
        other._warn_ops, other._warn_modules = self._warn_ops, self._warn_modules
        return other.set_op_handle(**self._handles)

    def unsupported_ops_warnings(self, enabled):
        self._warn_ops = enabled
        return self

    def uncalled_modules_warnings(self, enabled):
        self._warn_modules = enabled
        return self

    def tracer_warnings(self, mode):
        return self._one_of("tracer_warnings", mode,
                            ("all", "no_tracer_warning", "none"))

    def ancestor_mode(self, mode):
        return self._one_of("ancestor_mode", mode, ("owner", "caller"))

    def _one_of(self, what, mode, known):
        if mode not in known:
            raise ValueError(f"{what}: no mode '{mode}': there are "
                             f"{', '.join(known)}")
        return self

    # -- counting ------------------------------------------------------------

    def _counts(self):
        if self._found is None:
            from cleave.torch import capture
            graph = capture(self._model, self._inputs).graph
            handles.apply(graph, self._handles, "set_op_handle")
            self._found = graph.tally(self._activations)
            for counts in self._found["counts"].values():
                counts.pop("", None)    # operators that are left out
            self._warn()
        return self._found

    def _warn(self):
        log = logging.getLogger("fvcore")
        for op, n in self.unsupported_ops().items() if self._warn_ops else ():
            log.warning("Unsupported operator %s encountered %d time(s)", op, n)
        modules = dict(self._model.named_modules())
        # lists of modules and Identity run no operator of their own
        idle = sorted(name for name in self.uncalled_modules() if name in modules
                      and type(modules[name]).__name__ not in
                      ("ModuleList", "ModuleDict", "Module", "Identity"))
        if idle and self._warn_modules:
            log.warning("Modules that were never called: %s", ", ".join(idle))


class FlopCountAnalysis(_Analysis):
    """FLOPs as fvcore counts them: a multiply-add is one."""


class ActivationCountAnalysis(_Analysis):
    """Elements that convolutions and products give."""
    _activations = True


def flop_count(model, inputs, supported_ops=None):
    """(GFLOPs by operator, operators without a rule)"""
    return _in_units(FlopCountAnalysis, 1e9, model, inputs, supported_ops)


def activation_count(model, inputs, supported_ops=None):
    """(millions of elements by operator, operators without a rule)"""
    return _in_units(ActivationCountAnalysis, 1e6, model, inputs, supported_ops)


def _in_units(kind, unit, model, inputs, supported_ops):
    found = kind(model, inputs).set_op_handle(**(supported_ops or {}))
    return (defaultdict(float, {op: n / unit
                                for op, n in found.by_operator().items()}),
            found.unsupported_ops())


def parameter_count(model):
    """{module or parameter: elements}; "" is the model."""
    if not hasattr(model, "named_parameters"):
        raise TypeError(f"parameter_count: a {type(model).__name__} is no torch "
                        "module: give a torch.nn.Module")
    counts = defaultdict(int)
    for name, parameter in model.named_parameters():
        parts = name.split(".")
        for k in range(len(parts) + 1):
            counts[".".join(parts[:k])] += parameter.numel()
    return counts


def _check_depth(method, depth):
    if not isinstance(depth, int) or depth < 0:
        raise ValueError(f"{method}: max_depth={depth!r} is no depth: give a "
                         "whole number")


def parameter_count_table(model, max_depth=3):
    _check_depth("parameter_count_table", max_depth)
    counts = parameter_count(model)
    shapes = {n: str(tuple(p.shape)) for n, p in model.named_parameters()}
    return _table(("name", "#elements or shape"), [
        (_indented(name), shapes.get(name) or _short(n))
        for name, n in _tree(counts, max_depth)])


def flop_count_table(flops, max_depth=3, activations=None,
                     show_param_shapes=True):
    """The modules of an analysis as a table, in Markdown."""
    if not isinstance(flops, FlopCountAnalysis):
        raise TypeError(f"flop_count_table: a {type(flops).__name__} is no "
                        "analysis: give FlopCountAnalysis(model, inputs)")
    _check_depth("flop_count_table", max_depth)
    columns = [("#parameters or shape", parameter_count(flops._model)),
               ("#flops", flops.by_module())]
    if activations is not None:
        columns.append(("#activations", activations.by_module()))
    shapes = {n: str(tuple(p.shape)) for n, p in
              flops._model.named_parameters()} if show_param_shapes else {}
    rows = [(_indented(name), shapes.get(name) or _short(n), *(
        _short(c[name]) if name in c else "" for _, c in columns[1:]))
        for name, n in _tree(_all_names(columns), max_depth)
        if name not in flops._aliases or n or flops.by_module()[name]
        if show_param_shapes or name in flops._aliases]
    return _table(("module", *(head for head, _ in columns)), rows)


def flop_count_str(flops, activations=None):
    """The model as torch prints it, with the counts of every module."""
    counts, params = flops.by_module(), parameter_count(flops._model)
    elements = activations.by_module() if activations is not None else None

    def lines(name, module, indent):
        said = [f"#params: {_short(params.get(name, 0))}",
                f"#flops: {_short(counts.get(name, 0))}"]
        if elements is not None:
            said.append(f"#acts: {_short(elements.get(name, 0))}")
        inner = list(module.named_children())
        own = module.extra_repr()
        yield f"{type(module).__name__}({own if not inner else ''}"
        yield f"{indent}  {', '.join(said)}"
        for child, m in inner:
            path = f"{name}.{child}" if name else child
            first, *rest = lines(path, m, indent + "  ")
            yield f"{indent}  ({child}): {first}"
            yield from rest
        yield f"{indent})"

    return "\n".join(lines("", flops._model, ""))


def _all_names(columns):
    """What any column has, with the first column's numbers."""
    first, names = columns[0][1], {}
    for _, counts in columns:
        for name in counts:
            names.setdefault(name, first.get(name, 0))
    return names


def _tree(counts, max_depth):
    """Names down to a depth, each behind its parent."""
    below = defaultdict(list)
    for name in counts:
        if name:
            below[name.rpartition(".")[0]].append(name)
    stack = [""]
    while stack:
        name = stack.pop()
        yield name, counts.get(name, 0)
        if not name or name.count(".") + 1 < max_depth:
            stack += reversed(below[name])


def _indented(name):
    return " " * (name.count(".") + 1) + name if name else "model"


def _table(heads, rows):
    wide = [max(len(str(r[i])) for r in (heads, *rows))
            for i in range(len(heads))]
    line = lambda cells: "| " + " | ".join(
        f"{c:<{w}}" for c, w in zip(cells, wide)) + " |"
    return "\n".join([line(heads), "|" + "|".join(
        ":" + "-" * (w + 1) for w in wide) + "|", *map(line, rows)])


# -- the command -------------------------------------------------------------

def main(argv):
    parser = argparse.ArgumentParser(prog="cleave fvcore")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--models", help="names, separated by commas")
    options = parser.parse_args(argv)
    try:
        import fvcore.nn
    except ImportError as e:
        package = (e.name or "fvcore").partition(".")[0]
        print(f"cleave: this needs {package}: pip install {package}",
              file=sys.stderr)
        return 3
    print("=" * 80 + "\nFLOP COMPARISON: Our Estimator vs fvcore\n" + "=" * 80)
    print(f"\n{'Model':<22} {'Our FLOPs':>12} {'fvcore FLOPs':>14} "
          f"{'Difference':>12} {'Accuracy':>9}\n{'-' * 80}")
    code = 0
    for name in (options.models or options.model).split(","):
        try:
            code = max(code, 0 if _row(name.strip()) else 1)
        except (Error, LookupError) as e:
            print(f"cleave: {e}", file=sys.stderr)
            code = 3
    print("\nOur FLOPs are what `--count fvcore` gives: fvcore counts a "
          "multiply-add once.")
    return code


def _row(name):
    """Prints a line; whether the two are within 0.1 %."""
    from cleave import capture, live
    made = live.make(name, weights=True) or \
        live.make(f"torchvision:{name}", weights=True)
    model, inputs = made
    if inputs is None:
        raise Error(f"'{name}' comes without inputs")
    ours = capture(model, inputs, name=name).graph \
        .profile(count="fvcore")["total_flops"]
    theirs = count(model, inputs)
    off = ours - theirs
    accuracy = 100 * (1 - abs(off) / theirs) if theirs else 0
    print(f"{name:<22} {_short(ours):>12} {_short(theirs):>14} "
          f"{_short(off, '+'):>12} {accuracy:>8.2f}%", flush=True)
    return abs(off) <= 0.001 * theirs


def count(model, inputs):
    """The real fvcore's total of one call, in eval mode."""
    import torch
    from fvcore.nn import FlopCountAnalysis
    from cleave.torch import _arguments
    args, kwargs = _arguments(inputs, None)

    class Positional(torch.nn.Module):    # fvcore passes no keywords
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *values):
            rest = values[len(args):]
            return self.model(*values[:len(args)], **dict(zip(kwargs, rest)))

    was, level = model.training, logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with torch.no_grad():
            return int(FlopCountAnalysis(
                Positional().eval(), (*args, *kwargs.values())).total())
    except Exception as e:
        raise Error(f"fvcore fails: {type(e).__name__}: "
                    f"{str(e).strip().splitlines()[0]}") from None
    finally:
        model.train(was)
        logging.disable(level)


def _short(n, sign=""):
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " K")):
        if abs(n) >= size:
            return f"{n / size:{sign}.3f}{unit}"
    return f"{n:{sign}d}"

"""Costs that the caller gives to operators of a captured graph:

    cleave.profile(model, x, ops={"aten::relu": lambda inputs, outputs: 7,
                                  "my::op": lambda i, o: (macs, flops),
                                  "aten::dropout": None})

A callback gets the operands of each such operator and says what it costs; None
is nothing. Names are those of torch, with or without namespace and overload."""
from collections.abc import Mapping
from numbers import Number

from cleave._cleave import Error

# What fvcore calls by the name of TorchScript's operator.
ALIASES = {"convolution": ("conv1d", "conv2d", "conv3d", "conv_transpose1d",
                           "conv_transpose2d", "conv_transpose3d"),
           "upsample_nearest2d": ("interpolate",),
           "upsample_bilinear2d": ("interpolate",),
           "mm": ("matmul",), "grid_sampler": ("grid_sample",)}


class Operand:
    """A tensor that an operator reads or writes; also as fvcore's handles take
    it, who ask a value of TorchScript for its sizes."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = tuple(shape), dtype

    def __repr__(self):
        return f"Operand({self.shape}, {self.dtype!r})"

    def numel(self):
        n = 1
        for size in self.shape:
            n *= size
        return n

    def isCompleteTensor(self):
        return True

    def type(self):
        return self

    def sizes(self):
        return list(self.shape)


def checked(ops, method):
    """`ops`, where it is costs by the names of operators."""
    if not isinstance(ops, Mapping):
        raise TypeError(f"{method}: ops= is a {type(ops).__name__}: give a dict "
                        "of a name and a callback (inputs, outputs)")
    for name, handle in ops.items():
        if not isinstance(name, str):
            raise TypeError(f"{method}: {name!r} is no name of an operator: "
                            "give texts such as 'aten::relu'")
        if handle is not None and not callable(handle):
            raise TypeError(f"{method}: the handle of '{name}' is no function: "
                            "give one of (inputs, outputs), or None")
    return ops


def apply(graph, ops, method="capture"):
    """Gives the operators of a graph the costs that `ops` says."""
    for name, handle in checked(ops, method).items():
        for node in named(graph, name):
            graph.give(node, *_cost(name, handle, graph.operands(node), method))
    return graph


def named(graph, name):
    """Numbers of the operators that a name means."""
    plain = name.rpartition("::")[2].strip("_")
    return [node for n in (name, *ALIASES.get(plain, ()))
            for node in graph.find(n)]


def _cost(name, handle, operands, method):
    """(what it is counted as, FLOPs, multiply-adds)"""
    plain = name.rpartition("::")[2]
    if handle is None:
        return "", 0, 0
    ins, outs = ([o and Operand(*o) for o in side] for side in operands)
    try:
        said = handle(ins, outs)
    except Exception as e:
        raise Error(f"{method}: the handle of '{name}' raised "
                    f"{type(e).__name__}: {' '.join(str(e).split())}; its "
                    f"operands were {ins} and {outs}") from None
    if isinstance(said, Mapping) and len(said) == 1:    # fvcore's Counter
        (plain, said), = said.items()
    macs, flops = said if isinstance(said, tuple) and len(said) == 2 else (0, said)
    for n in (macs, flops):
        if not isinstance(n, Number) or isinstance(n, complex) or n != n or \
                not 0 <= n < 2 ** 63:
            raise Error(f"{method}: the handle of '{name}' returned {said!r}: "
                        "give a number of FLOPs, or (multiply-adds, FLOPs)")
    return str(plain), int(flops), int(macs)

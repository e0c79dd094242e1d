"""What torch says in one word and we in several.

Functions that take others (torch.cond, scan, flex_attention) run piece by
piece, as the eager reading of each has it; operators with two results become
two operators; operators without a row of ours are said in torch's own words."""
import functools
from operator import getitem as _getitem

import torch
from torch._higher_order_ops.flex_attention import math_attention
from torch._higher_order_ops.associative_scan import generic_associative_scan

from cleave._cleave import torch_names

_aten = torch.ops.aten


# -- functions of functions --------------------------------------------------

def _cond(pred, yes, no, operands=()):
    return (yes if pred else no)(*operands)


def _while_loop(go_on, body, carried, more=(), **_):
    while go_on(*carried, *more):
        carried = body(*carried, *more)
    return tuple(carried)


def _scan(combine, carried, xs, more=()):
    made, n = [], len(carried)
    for i in range(len(xs[0])):
        out = combine(*carried, *(x[i] for x in xs), *more)
        carried, rest = list(out[:n]), out[n:]
        made.append(rest)
    return (*carried, *(torch.stack(same) for same in zip(*made)))


def _map(body, xs, more=()):
    made = [body(*(x[i] for x in xs), *more) for i in range(len(xs[0]))]
    return tuple(torch.stack(same) for same in zip(*made))


def _associative_scan(combine, xs, more=()):
    return tuple(generic_associative_scan(
        lambda *pair: combine(*pair, *more), list(xs), 0))


# By the name of torch.ops.higher_order.
FUNCTIONS = {"cond": _cond, "while_loop": _while_loop, "scan": _scan,
             "map_impl": _map, "associative_scan": _associative_scan,
             "flex_attention": math_attention}


# -- operators that have no row ----------------------------------------------

# Torch takes these apart into ATen too, but only where it is asked.
_ASKED = (_aten._addmm_activation.default, _aten.addmv.default,
          _aten.dist.default,
          _aten.native_dropout.default, _aten.narrow_copy.default,
          _aten.tril_indices.default, _aten.triu_indices.default)
# A row is not enough: torch has pieces for it where its kernel differs.
_ANYWAY = (_aten._weight_norm_interface.default,)


def _frequencies(n, d=1.0, **how):
    half = n // 2 if n % 2 == 0 else (n - 1) // 2
    return ((torch.arange(n, **how) + half) % n - half) / (n * d)


def _half_frequencies(n, d=1.0, **how):
    return torch.arange(n // 2 + 1, **how) / (n * d)


def _put(x, index, source, accumulate=False):
    return x.reshape(-1).index_put((index.reshape(-1),), source.reshape(-1),
                                   accumulate).reshape(x.shape)


def _diagonal_scatter(x, source, offset=0, dim1=0, dim2=1):
    out = x.clone()
    out.diagonal(offset, dim1, dim2).copy_(source)
    return out


def _as_strided_scatter(x, source, size, stride, storage_offset=None):
    out = x.clone()
    out.as_strided(size, stride, storage_offset).copy_(source)
    return out


def _pairs(x, p=2.0):
    i, j = torch.triu_indices(len(x), len(x), 1, device=x.device)
    return torch.linalg.vector_norm(x[i] - x[j], p, -1)


def _conv_tbc(x, weight, bias, pad=0):
    """A convolution of (time, batch, channels), which torch calls a copy of
    products and FlopCounterMode does not count."""
    return torch.nn.functional.conv1d(
        x.permute(1, 2, 0), weight.permute(2, 1, 0), bias,
        padding=pad).permute(2, 0, 1)


def _addbmm(x, a, b, *, beta=1, alpha=1):
    made = alpha * torch.bmm(a, b).sum(0)
    return made + beta * x if beta else made


def _embedding_renorm(table, indices, max_norm, norm_type):
    at = indices.reshape(-1)
    rows = table[at]
    norm = torch.linalg.vector_norm(rows, norm_type, -1, keepdim=True)
    scale = torch.where(norm > max_norm, max_norm / (norm + 1e-7), 1.0)
    return table.index_put_((at,), rows * scale)


def _rrelu(x, noise, lower=0.125, upper=1 / 3, training=False, generator=None):
    if not training:
        return torch.nn.functional.leaky_relu(x, (lower + upper) / 2)
    drawn = torch.empty_like(x).uniform_(lower, upper, generator=generator)
    return x * noise.copy_(torch.where(x <= 0, drawn, 1.0))


# Torch takes these apart nowhere.
_OWN = {_aten.fft_fftfreq.default: _frequencies,
        _aten.fft_rfftfreq.default: _half_frequencies,
        _aten._efficientzerotensor.default: torch.zeros,
        _aten.addbmm.default: _addbmm,
        _aten.addbmm_.default:
            lambda x, *args, **how: x.copy_(_addbmm(x, *args, **how)),
        _aten.put.default: _put,
        _aten.put_.default: lambda x, *args: x.copy_(_put(x, *args)),
        _aten.diagonal_scatter.default: _diagonal_scatter,
        _aten.as_strided_scatter.default: _as_strided_scatter,
        _aten._pdist_forward.default: _pairs,
        _aten.conv_tbc.default: _conv_tbc,
        _aten.embedding_renorm_.default: _embedding_renorm,
        _aten.rrelu_with_noise.default: _rrelu}


@functools.cache
def _rows():
    """ATen's operators that have a row, without overload."""
    return frozenset(name.removeprefix("aten.").split(".")[0]
                     for name in torch_names())


@functools.cache
def words_of_torch(op):
    """What torch makes of an ATen operator that we do not know; None where we
    know it, or torch does not say."""
    name = op._schema.name.removeprefix("aten::")
    plain = name.removesuffix("_") if not name.endswith("__") else name
    if op not in _ANYWAY and (op.namespace != "aten" or plain in _rows()):
        return None
    if op in _OWN:
        return _OWN[op]
    from torch._decomp import decomposition_table
    table = decomposition_table if op in _ASKED + _ANYWAY else _core()
    return table.get(op)


@functools.cache
def _core():
    from torch._decomp import core_aten_decompositions
    return dict(core_aten_decompositions().items())


def words_of_program(graph):
    """{operator: its pieces} of all such operators in a torch.fx graph, and of
    what those in place become where nothing is written."""
    found = {}
    for op in {n.target for n in graph.nodes}:
        if isinstance(op, torch._ops.OpOverload) and words_of_torch(op):
            plain = getattr(_aten, op._schema.name[6:].removesuffix("_"), None)
            for one in (op, getattr(plain, op._overloadname, op)):
                found[one] = words_of_torch(one)
    return {op: pieces for op, pieces in found.items() if pieces}


# -- operators with two results ----------------------------------------------

def _given(node):
    """The arguments by name, with the defaults of those left out."""
    given = dict(node.kwargs)
    for value, arg in zip(node.args, node.target._schema.arguments):
        given[arg.name] = value
    return {a.name: given.get(a.name, a.default_value)
            for a in node.target._schema.arguments}


def _two(spread):
    """var_mean, std_mean: spread and middle."""
    def parts(x):
        dims = {k: x[k] for k in ("dim", "keepdim") if k in x}
        if "correction" in x:
            first = spread.correction, (x["self"], x["dim"]), {
                "correction": x["correction"], "keepdim": x["keepdim"]}
        elif "dim" in x:
            first = spread.dim, (x["self"], x["dim"], x["unbiased"],
                                 x["keepdim"]), {}
        else:
            first = spread.default, (x["self"], x["unbiased"]), {}
        mean = _aten.mean.dim if x.get("dim") else _aten.mean.default
        return first, (mean, (x["self"],), dims if x.get("dim") else {})
    return parts


def _ends(x):
    how = {"dim": [] if x["dim"] is None else [x["dim"]],
           "keepdim": x["keepdim"]}
    return ((_aten.amin.default, (x["self"],), how),
            (_aten.amax.default, (x["self"],), how))


def _best(value, place):
    """max and min over an axis: the number, and where it is."""
    def parts(x):
        return ((value, (x["self"], [x["dim"]], x["keepdim"]), {}),
                (place, (x["self"], x["dim"], x["keepdim"]), {}))
    return parts


PARTS = {
    **{o: _two(_aten.var) for o in (
        _aten.var_mean.default, _aten.var_mean.dim, _aten.var_mean.correction)},
    **{o: _two(_aten.std) for o in (
        _aten.std_mean.default, _aten.std_mean.dim, _aten.std_mean.correction)},
    _aten.aminmax.default: _ends,
    _aten.log_sigmoid_forward.default:
        lambda x: ((_aten.log_sigmoid.default, (x["self"],), {}),)}
# Counted as one operator, but run as two.
RUN_PARTS = {
    **PARTS, _aten.max.dim: _best(_aten.amax.default, _aten.argmax.default),
    _aten.min.dim: _best(_aten.amin.default, _aten.argmin.default)}


def _convolution(x):
    """The convolution that autograd's is: by the rank of the weight."""
    axes = len(x["weight"].meta["val"].shape) - 2
    ends = (x["input"], x["weight"], x["bias"], x["stride"], x["padding"])
    if x["transposed"]:
        name, rest = "conv_transpose", (x["output_padding"], x["groups"],
                                        x["dilation"])
    else:
        name, rest = "conv", (x["dilation"], x["groups"])
    packet = getattr(_aten, f"{name}{axes}d")
    return getattr(packet, packet.overloads()[0]), (*ends, *rest)


# Operators that are another by their arguments: (that, its arguments).
RENAMED = {_aten.convolution.default: _convolution,
           _aten._convolution.default: _convolution}


def take_apart(graph, table=PARTS):
    """Replaces results of such operators that are read, in a torch.fx graph;
    results that nobody reads are not there any more."""
    for node in reversed(graph.nodes):
        if node.target is _getitem and not node.users:
            graph.erase_node(node)
    for node in list(graph.nodes):
        if node.target in RENAMED:
            node.target, node.args = RENAMED[node.target](_given(node))
            node.kwargs = {}
        parts = node.op == "call_function" and table.get(node.target)
        if not parts:
            continue
        users = list(node.users)
        if not all(u.target is _getitem and type(u.args[1]) is int
                   for u in users):
            continue
        parts = parts(_given(node))
        for user in users:
            if user.args[1] >= len(parts):    # memory for gradients
                continue
            target, args, kwargs = parts[user.args[1]]
            with graph.inserting_before(user):
                own = graph.call_function(target, args, kwargs)
            own.meta = {**node.meta, "val": user.meta.get("val")}
            own.stack_trace = node.stack_trace
            user.replace_all_uses_with(own)
            graph.erase_node(user)
        if not node.users:
            graph.erase_node(node)

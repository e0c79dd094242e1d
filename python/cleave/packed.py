"""Quantised layers of torch, which keep their weights in objects of their own.

Such a layer is one operator on an input and a packed object. It is written down
as the layer it stands for, with the weight as its integers, so that it is counted;
the extra word `quantized` keeps kernels of floats from running it."""
import torch

_aten = torch.ops.aten
_MARK = {"quantized": True}


def unpacked(func, args):
    """(operator, arguments, named arguments) of a quantised call in plain
    operators; None where the call is none, or is not known."""
    if func is _aten.dequantize.self:
        return _dequantized(func, args[0])
    name = func._schema.name
    if name in _RECURRENT:
        return _recurrent(getattr(_RECURRENT[name], func._overloadname), args)
    if func.namespace != "quantized":
        return None
    packed = [a for a in args if isinstance(a, torch.ScriptObject)]
    if len(packed) != 1 or not hasattr(packed[0], "unpack"):
        return None
    weight, bias = _integers(packed[0]), packed[0].unpack()[1]
    bias = bias if bias is None else bias.detach()
    if name.startswith("quantized::linear"):
        return _aten.linear.default, (args[0], weight, bias), _MARK
    if name.startswith("quantized::conv"):
        return _convolution(args[0], weight, bias, packed[0])
    return None


# Recurrent layers hold a list of cells.
_RECURRENT = {"aten::quantized_lstm": _aten.lstm,
              "aten::quantized_gru": _aten.gru}


def _products(x, h, packed_input, packed_state):
    product = torch.ops.quantized.linear_dynamic
    return product(x, packed_input), product(h, packed_state)


def _lstm_cell(x, state, packed_input, packed_state, *biases):
    made = sum(_products(x, state[0], packed_input, packed_state))
    i, f, g, o = made.chunk(4, 1)
    c = f.sigmoid() * state[1] + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


def _gru_cell(x, h, packed_input, packed_state, *biases):
    of_x, of_h = _products(x, h, packed_input, packed_state)
    (r, z, n), (hr, hz, hn) = of_x.chunk(3, 1), of_h.chunk(3, 1)
    z, n = (z + hz).sigmoid(), (n + (r + hr).sigmoid() * hn).tanh()
    return n + z * (h - n)


def _rnn_cell(end):
    return lambda x, h, packed_input, packed_state, *biases: end(
        sum(_products(x, h, packed_input, packed_state)))


# What a quantised cell does, by the name of its operator.
CELLS = {"quantized::quantized_lstm_cell_dynamic": _lstm_cell,
         "quantized::quantized_gru_cell_dynamic": _gru_cell,
         "quantized::quantized_rnn_relu_cell_dynamic": _rnn_cell(torch.relu),
         "quantized::quantized_rnn_tanh_cell_dynamic": _rnn_cell(torch.tanh)}


def _integers(packed):
    """The weight of a packed product, as the numbers it is kept in."""
    weight = packed.unpack()[0].detach()
    return weight.int_repr() if weight.is_quantized else weight


def _recurrent(op, args):
    """The layer with the weights of its cells: of the input, of the state, and
    a bias for each."""
    at = next(i for i, a in enumerate(args) if isinstance(a, (list, tuple)) and
              a and isinstance(a[0], torch.ScriptObject))
    weights = []
    for cell in args[at]:
        _, biases, _, _, products = cell.__getstate__()[0]
        weights += [*map(_integers, products), *(b.detach() for b in biases)]
    rest = args[at + 1:len(op._schema.arguments)]
    return op, (*args[:at], weights, *rest), _MARK


def _convolution(x, weight, bias, packed):
    how = {k: list(getattr(packed, k)()) for k in
           ("stride", "padding", "dilation", "output_padding")}
    axes, groups = weight.dim() - 2, packed.groups()
    ends = (x, weight, bias, how["stride"], how["padding"])
    if packed.transpose():
        op = getattr(_aten, f"conv_transpose{axes}d")
        rest = (how["output_padding"], groups, how["dilation"])
    else:
        op, rest = getattr(_aten, f"conv{axes}d"), (how["dilation"], groups)
    return getattr(op, op.overloads()[0]), (*ends, *rest), _MARK


def _dequantized(func, x):
    """A tensor knows its scale, where it has data; an operator of ours is given
    it."""
    if not x.is_quantized:
        raise NotImplementedError("a quantised tensor without data")
    if x.qscheme() is not torch.per_tensor_affine:
        return None
    return func, (x, x.q_scale(), x.q_zero_point()), {}

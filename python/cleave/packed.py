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
    if func.namespace != "quantized":
        return None
    packed = [a for a in args if isinstance(a, torch.ScriptObject)]
    name = func._schema.name
    if len(packed) != 1 or not hasattr(packed[0], "unpack"):
        return None
    weight, bias = (t if t is None else t.detach()
                    for t in packed[0].unpack()[:2])
    weight = weight.int_repr() if weight.is_quantized else weight
    if name.startswith("quantized::linear"):
        return _aten.linear.default, (args[0], weight, bias), _MARK
    if name.startswith("quantized::conv"):
        return _convolution(args[0], weight, bias, packed[0])
    return None


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

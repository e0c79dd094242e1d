class Sequential(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : NoneType
  __annotations__["0"] = __torch__.torch.nn.modules.conv.___torch_mangle_6.Conv2d
  __annotations__["1"] = __torch__.torch.nn.modules.activation.___torch_mangle_7.ReLU
  __annotations__["2"] = __torch__.torch.nn.modules.pooling.___torch_mangle_8.AdaptiveAvgPool2d
  __annotations__["3"] = __torch__.torch.nn.modules.flatten.___torch_mangle_9.Flatten
  __annotations__["4"] = __torch__.torch.nn.modules.linear.___torch_mangle_10.Linear
  def forward(self: __torch__.torch.nn.modules.container.___torch_mangle_11.Sequential,
    input: Tensor) -> Tensor:
    _0 = getattr(self, "0")
    _1 = getattr(self, "1")
    _2 = getattr(self, "2")
    _3 = getattr(self, "3")
    _4 = getattr(self, "4")
    input0 = (_0).forward(input, )
    input1 = (_1).forward(input0, )
    input2 = (_2).forward(input1, )
    input3 = (_3).forward(input2, )
    return (_4).forward(input3, )
  def __len__(self: __torch__.torch.nn.modules.container.___torch_mangle_11.Sequential) -> int:
    return 5
class Conv2d(Module):
  __parameters__ = ["weight", "bias", ]
  __buffers__ = []
  weight : Tensor
  bias : Optional[Tensor]
  training : bool
  _is_full_backward_hook : NoneType
  transposed : bool
  _reversed_padding_repeated_twice : List[int]
  padding : Final[Tuple[int, int]] = (0, 0)
  stride : Final[Tuple[int, int]] = (1, 1)
  dilation : Final[Tuple[int, int]] = (1, 1)
  in_channels : Final[int] = 3
  out_channels : Final[int] = 4
  groups : Final[int] = 1
  padding_mode : Final[str] = "zeros"
  kernel_size : Final[Tuple[int, int]] = (3, 3)
  output_padding : Final[Tuple[int, int]] = (0, 0)
  def forward(self: __torch__.torch.nn.modules.conv.___torch_mangle_6.Conv2d,
    input: Tensor) -> Tensor:
    weight = self.weight
    bias = self.bias
    _0 = (self)._conv_forward(input, weight, bias, )
    return _0
  def _conv_forward(self: __torch__.torch.nn.modules.conv.___torch_mangle_6.Conv2d,
    input: Tensor,
    weight: Tensor,
    bias: Optional[Tensor]) -> Tensor:
    _1 = torch.conv2d(input, weight, bias, [1, 1], [0, 0], [1, 1])
    return _1
class ReLU(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : NoneType
  inplace : Final[bool] = False
  def forward(self: __torch__.torch.nn.modules.activation.___torch_mangle_7.ReLU,
    input: Tensor) -> Tensor:
    _0 = __torch__.torch.nn.functional.relu(input, False, )
    return _0
class AdaptiveAvgPool2d(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : NoneType
  output_size : Final[int] = 1
  def forward(self: __torch__.torch.nn.modules.pooling.___torch_mangle_8.AdaptiveAvgPool2d,
    input: Tensor) -> Tensor:
    _0 = __torch__.torch.nn.functional.adaptive_avg_pool2d
    return _0(input, [1, 1], )
class Flatten(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : NoneType
  start_dim : Final[int] = 1
  end_dim : Final[int] = -1
  def forward(self: __torch__.torch.nn.modules.flatten.___torch_mangle_9.Flatten,
    input: Tensor) -> Tensor:
    return torch.flatten(input, 1)
class Linear(Module):
  __parameters__ = ["weight", "bias", ]
  __buffers__ = []
  weight : Tensor
  bias : Tensor
  training : bool
  _is_full_backward_hook : NoneType
  out_features : Final[int] = 2
  in_features : Final[int] = 4
  def forward(self: __torch__.torch.nn.modules.linear.___torch_mangle_10.Linear,
    input: Tensor) -> Tensor:
    weight = self.weight
    bias = self.bias
    return torch.linear(input, weight, bias)
def relu(input: Tensor,
    inplace: bool=False) -> Tensor:
  if inplace:
    result = torch.relu_(input)
  else:
    result = torch.relu(input)
  return result
def adaptive_avg_pool2d(input: Tensor,
    output_size: List[int]) -> Tensor:
  _0 = torch.gt(torch.len(torch.size(input)), torch.len(output_size))
  if _0:
    pass
  else:
    ops.prim.RaiseException("AssertionError: ")
  _1 = torch.adaptive_avg_pool2d(input, output_size)
  return _1

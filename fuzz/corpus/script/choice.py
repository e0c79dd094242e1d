class Choice(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  def forward(self: __torch__.Choice,
    x: Tensor) -> Tensor:
    if bool(torch.gt(torch.sum(x), 0)):
      x0 = torch.add(x, 1)
    else:
      x0 = x
    return x0

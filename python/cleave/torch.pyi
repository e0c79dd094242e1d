from typing import Any, Callable, Final, Mapping, Sequence

import torch
from torch.fx import GraphModule
from torch.nn import Module

from cleave._cleave import Error, Graph

METHODS: Final[tuple[str, ...]]
EXPORTS: Final[tuple[str, ...]]

class CaptureError(Error):
    failures: dict[str, str]
    def __init__(self, text: str, failures: dict[str, str] | None = None) -> None: ...

class Capture:
    name: str
    graph: Graph
    modules: list[GraphModule]
    method: str
    failures: dict[str, str]
    dims: dict[str, int]
    weights: dict[Any, tuple[str, torch.Tensor]] | None
    breaks: Sequence[str]
    def __init__(self, name: str, method: str, modules: list[GraphModule],
                 weights: dict[Any, tuple[str, torch.Tensor]] | None,
                 failures: dict[str, str], total: int = 0,
                 dims: dict[str, int] | None = None) -> None: ...
    @property
    def unknown(self) -> list[str]: ...
    @property
    def lost(self) -> list[str]: ...
    @property
    def module(self) -> GraphModule: ...
    def partition_graphs(self) -> list[Graph]: ...

def capture(model: Module | Callable[..., Any], inputs: Any = None,
            kwargs: Mapping[str, Any] | None = None, *, name: str | None = None,
            methods: Sequence[str] | None = None, warmup: bool = True,
            dynamic_shapes: Any = None,
            dims: Mapping[str, int] | None = None) -> Capture: ...
def propagate(module: GraphModule, *args: Any) -> GraphModule: ...
def abbreviate(name: str, width: int = 48) -> str: ...

class Collector:
    modules: list[GraphModule]
    inputs: list[list[Any]]
    def __init__(self) -> None: ...
    def __call__(self, module: GraphModule, inputs: Sequence[Any]) -> Callable[..., Any]: ...
    def weights(self, model: Module) -> dict[Any, tuple[str, torch.Tensor]]: ...

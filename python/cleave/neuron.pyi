import logging
from typing import Any, Callable, Collection, Final

import torch
from torch.nn import Module

__all__ = ["PartitionerConfig", "Subgraph", "Traced", "analyze", "trace"]

logger: logging.Logger
TOLERANCE: Final[float]

class PartitionerConfig:
    trace_kwargs: dict[str, Any]
    model_support_percentage_threshold: float
    min_subgraph_size: int
    max_subgraph_count: int
    ops_to_partition: set[str]
    analyze_parameters: dict[str, Any]
    def __init__(self, *, trace_kwargs: dict[str, Any] | None = None,
                 model_support_percentage_threshold: float | None = None,
                 min_operator_percentage_threshold: float | None = None,
                 min_subgraph_size: int = -1, max_subgraph_count: int = -1,
                 ops_to_partition: Collection[str] | None = None,
                 analyze_parameters: dict[str, Any] | None = None) -> None: ...
    @property
    def min_operator_percentage_threshold(self) -> float: ...

def analyze(func: Module | Callable[..., Any], example_inputs: Any,
            compiler_workdir: str | None = None,
            additional_ignored_ops: Collection[str] = ...,
            max_workers: int = 4, is_hf_transformers: bool = False,
            cleanup: bool = False, *,
            backend: str | None = None) -> dict[str, Any]: ...
def trace(func: Module | Callable[..., Any], example_inputs: Any, *_: Any,
          partitioner_config: PartitionerConfig | None = None,
          backend: str | None = None, **kwargs: Any) -> Traced: ...

class Traced(Module):
    devices: list[str]
    shapes: list[tuple[int, ...]]
    def __init__(self, flat: Any, devices: list[str],
                 place: dict[str, int]) -> None: ...
    def forward(self, *args: Any, **kwargs: Any) -> Any: ...
    def runtimes(self) -> list[tuple[str, str, str]]: ...
    def save(self, path: Any) -> None: ...

class Subgraph(Module):
    torch_module: Module
    why: str
    checked: bool
    def __init__(self, parent: Module, node: Any) -> None: ...
    def forward(self, *args: torch.Tensor) -> Any: ...
    def __getstate__(self) -> dict[str, Any]: ...

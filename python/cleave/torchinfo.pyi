from typing import Any, Final, Sequence

import torch
from torch.nn import Module

from cleave._cleave import Graph

COLUMNS: Final[dict[str, str]]
ROWS: Final[tuple[str, ...]]
MODES: Final[tuple[str, ...]]

class LayerInfo:
    var_name: str
    module: Module
    depth: int
    depth_index: int | None
    parent_info: LayerInfo | None
    children: list[LayerInfo]
    class_name: str
    layer_id: int
    is_leaf_layer: bool
    is_recursive: bool
    executed: bool
    input_size: list[int]
    output_size: list[int]
    macs: int
    output_bytes: int
    num_params: int
    trainable_params: int
    param_bytes: int
    @property
    def kernel_size(self) -> Any: ...
    @property
    def trainable(self) -> str: ...
    def leftover(self, name: str) -> int: ...

class ModelStatistics:
    summary_list: list[LayerInfo]
    input_size: list[tuple[int, ...]]
    total_input: int
    total_params: int
    trainable_params: int
    total_mult_adds: int
    total_param_bytes: int
    total_output_bytes: int
    @property
    def frozen_params(self) -> int: ...
    @property
    def graph(self) -> Graph: ...
    @property
    def total_macs(self) -> int: ...

def summary(model: Module, input_size: Any = ..., input_data: Any = ...,
            batch_dim: int | None = ..., cache_forward_pass: bool | None = ...,
            col_names: Sequence[str] | None = ..., col_width: int = ...,
            depth: int = ..., device: Any = ..., dtypes: Any = ...,
            mode: str | None = ..., row_settings: Sequence[str] | None = ...,
            verbose: int | None = ..., **kwargs: Any) -> ModelStatistics: ...
def make_inputs(input_size: Any, dtypes: Any = ..., device: Any = ...,
                method: str = ...) -> tuple[torch.Tensor, ...]: ...

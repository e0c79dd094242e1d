from os import PathLike
from typing import Any, Callable, Mapping, Sequence

from cleave._cleave import (Error as Error, Graph as Graph, Model as Model,
                            Result as Result, Tensor as Tensor, hardware as hardware,
                            models as models, verify as verify)
from cleave.torch import Capture
from cleave.torchinfo import ModelStatistics

__version__: str

__all__ = ["Error", "Graph", "Model", "Result", "Tensor", "capture",
           "hardware", "load", "models", "open", "profile", "summary", "verify",
           "__version__"]

def load(model: object, inputs: object = ..., kwargs: dict[str, Any] | None = ...,
         *, input_shape: Sequence[int] | dict[str, Sequence[int]] | None = ...,
         batch: int = ..., dtype: str | None = ..., dims: dict[str, int] | None = ...,
         loop: int = ..., ops: Any = ..., **options: Any) -> Graph: ...
open = load
def capture(model: object, inputs: object = ..., kwargs: dict[str, Any] | None = ...,
            *, name: str | None = ..., methods: Sequence[str] = ...,
            warmup: bool = ..., input_size: Sequence[Any] | None = ...,
            dtypes: Any = ..., device: Any = ..., progress: bool | None = ...,
            ops: Mapping[str, Callable[[list[Any], list[Any]], Any] | None]
            | None = ..., **options: Any) -> Capture: ...
def summary(model: object, *args: Any, **options: Any) -> ModelStatistics: ...
def profile(model: object, inputs: object = ..., kwargs: dict[str, Any] | None = ...,
            *, count: str = ..., **options: Any) -> Result: ...

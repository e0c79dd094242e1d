from typing import Any, Final, Sequence

from torch.nn import Module

from cleave._cleave import Graph
from cleave.torch import Capture

TRANSFORMERS: Final[list[str]]
SHAPES: Final[tuple[tuple[str, tuple[int, ...], int], ...]]
DETECTORS: Final[tuple[tuple[str, int], ...]]
SAVE_GRAPH: dict[str, str | None]

_Shapes = Sequence[tuple[str | None, tuple[int, ...]]]

def arguments(argv: Sequence[str]) -> list[str] | None: ...
def names() -> list[str]: ...
def open_model(name: str, shapes: _Shapes, batch: int) -> Graph | None: ...
def captured(name: str, model: Module, inputs: Any, shapes: _Shapes = ...,
             batch: int = 0) -> Capture: ...
def make(name: str, weights: bool = False) -> tuple[Module, Any] | None: ...
def from_config(config: Any, weights: bool = False) -> tuple[Module, Any]: ...

from types import ModuleType
from typing import Final

from torch import Tensor

SCHEMAS: Final[tuple[str, ...]]

def declare() -> None: ...
def load() -> ModuleType: ...
def nms(boxes: Tensor, scores: Tensor, limit: float) -> Tensor: ...

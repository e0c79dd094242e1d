from os import PathLike
from typing import Any, Final, Mapping

from cleave._cleave import Graph

ROWS: Final[int]
TEXT: Final[int]
TABLES: Final[tuple[str, ...]]
COLUMNS: Final[Mapping[str, tuple[str, ...]]]
SHOWN: Final[int]
STYLE: Final[str]

def result_html(result: Mapping[str, Any]) -> str: ...
def graph_html(graph: Graph) -> str: ...
def result_frame(result: Mapping[str, Any], key: str | None = ...) -> Any: ...
def graph_frame(graph: Graph, count: str = ...) -> Any: ...
def graph_show(graph: Graph, *models: Graph | str | PathLike[str],
               height: int = ..., **flags: Any) -> Page: ...

class Page:
    html: str
    height: int
    def __init__(self, html: str, height: int = ...) -> None: ...
    def _repr_html_(self) -> str: ...

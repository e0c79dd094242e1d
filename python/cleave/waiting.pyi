from contextlib import AbstractContextManager

AFTER: float

def said(what: str, wanted: bool | None = ...) -> AbstractContextManager[None]: ...

"""What a refusal says: one line with the method, the reason and the way on.

    capture: Linear fails on these inputs: RuntimeError: mat1 and mat2 shapes
    cannot be multiplied (2x9 and 8x4): give inputs of the shape it takes

Reasons are torch's or ours; the way on follows from them, by the first row of a
table that fits. docs/python-errors.md shows many."""
import re

# What a reason contains, and what to do about it.
WAYS = (
    (r"is a class", "Model() and not Model"),
    (r"is a name", "cleave.load takes the names and paths of models"),
    (r"is no torch module", "give a torch.nn.Module, a function, or the name or "
     "path of a model as text"),
    (r"missing \d+ required", "give every argument of forward, a tuple of them "
     "by place or a dict by name"),
    (r"positional arguments? but|unexpected keyword|multiple values",
     "give the arguments that forward takes, a tuple of them by place or a dict "
     "by name"),
    (r"(must be|expected) Tensor.*, not|has no attribute '(size|shape|dim)'",
     "inputs are a tensor, a tuple of arguments or a dict of named ones; "
     "torch.as_tensor(x) makes a tensor"),
    (r"expected device|same device|on the same device|meta tensor",
     "put the model and its inputs on one device, .to('cpu') both"),
    (r"CUDA|NVIDIA|cuda", "torch has no CUDA here: load with "
     "map_location='cpu', move with .to('cpu')"),
    (r"scalar types?: (Long|Int)", "give whole numbers, x.long()"),
    (r"same dtype|expected scalar type|should be the same|Expected tensor .* "
     r"types|must be floating|\bdtype\b",
     "give inputs of the model's type, x.to(next(model.parameters()).dtype)"),
    (r"shapes? cannot|size mismatch|must match|to have \d+ channels|"
     r"[Ee]xpected .*(input|D\b|dim)|invalid for input|broadcast|"
     r"Kernel size can't be greater|Output size is too small",
     "give inputs of the shape that the model takes"),
    (r"`dynamic_shapes`|(tuple|list \w*) ?index out of range; |Constraints violated",
     "dynamic_shapes= has a dict {axis: Dim} for each argument, and dims= sizes "
     "within the bounds of each Dim"),
    (r"index out of range|out of bounds", "give inputs within the model's "
     "range, such as tokens below its vocabulary"),
    (r"reduction dim", "give inputs of the shape that the model takes"),
    (r"dims= binds", "give dynamic_shapes= with those names too"),
    (r"no dimension '", "dims= takes the names that dynamic_shapes= gives"),
    (r"generator", "have forward return tensors, or wrap it in a function that "
     "does"),
    (r"in another thread", "have forward call its modules itself"),
    (r"fails on these inputs", "the model itself raises this: call it in PyTorch "
     "first"),
    (r"cannot capture", "methods=('record',) writes down one run; .failures "
     "has every reason"),
)


def said(text, method="capture"):
    """A refusal's line: `text` with its method before and the way on behind."""
    line = " ".join(str(text).split())
    if not line.startswith(f"{method}: "):
        line = f"{method}: {line}"
    for pattern, way in WAYS:
        if re.search(pattern, line):
            return line if line.endswith(way) else f"{line}: {way}"
    return line


def options(method, given, known):
    """Refuses an option that a method does not have."""
    for name in given:
        if name not in known:
            raise TypeError(f"{method}: no option '{name}': there are "
                            f"{', '.join(known)}")


def methods(given, known):
    """A tuple of ways to capture."""
    if given is None:
        return None
    if isinstance(given, str):
        raise TypeError(f"capture: methods={given!r} is a str: give a tuple, "
                        f"methods=({given!r},)")
    if not isinstance(given, (tuple, list)) or not given:
        raise TypeError(f"capture: methods={given!r} are no methods: give some "
                        f"of {', '.join(known)}")
    for name in given:
        if name not in known:
            raise ValueError(f"capture: no method {name!r}: there are "
                             f"{', '.join(known)}")
    return tuple(given)


def capturing(name, dims):
    """Refuses options of another type than theirs."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"capture: name={name!r} is a {type(name).__name__}: "
                        "give a text")
    for key, size in dict(dims or {}).items():
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"capture: dims={{{key!r}: {size!r}}} is no size: "
                             "give a whole number above 0")


def arguments(inputs, kwargs):
    """Refuses what is no arguments at all."""
    if kwargs is not None and not hasattr(kwargs, "keys"):
        raise TypeError(f"capture: kwargs is a {type(kwargs).__name__}: give a "
                        "dict of named arguments")
    if isinstance(inputs, (str, bytes)):
        raise TypeError(f"capture: inputs are a {type(inputs).__name__}: give a "
                        "tensor, a tuple of arguments or a dict of named ones")
    if hasattr(inputs, "__next__"):
        raise TypeError("capture: inputs are an iterator, which only one call "
                        "could read: give a tuple of arguments")

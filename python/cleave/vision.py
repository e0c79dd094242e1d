"""torchvision beside a torch that its compiled operators were not built for.

torchvision's wheel fits one exact PyTorch. Beside another (a CPU build, say) its
library does not load, and then `import torchvision`, and with it transformers
and ultralytics, fails on an operator that does not exist. The models are plain
Python, so it is enough that the operators they name are declared; nms and
roi_align also get plain implementations, so that detectors run and are traced.

Where the library loads, nothing is declared and nothing replaced.
"""
import importlib.util
import os
import sys

import torch

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor",
    "roi_pool(Tensor input, Tensor rois, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width) -> (Tensor, Tensor)",
)
_library = None    # what is declared lives as long as this


def declare():
    """Declares torchvision's operators where its own library does not load.
    Costs a few milliseconds; torchvision itself is not imported."""
    global _library
    if _library is not None or "torchvision" in sys.modules:
        return
    try:
        spec = importlib.util.find_spec("torchvision")
    except (ImportError, ValueError):    # hidden, or half made
        spec = None
    if spec is None or not spec.origin or _loads(os.path.dirname(spec.origin)):
        return
    _library = torch.library.Library("torchvision", "DEF")
    for schema in SCHEMAS:
        _library.define(schema)
    _library.impl("nms", nms, "CPU")
    _library.impl("roi_align", _roi_align, "CPU")


def load():
    """The package torchvision, with operators that run."""
    declare()
    import torchvision
    if not torchvision.extension._has_ops():
        roi = sys.modules["torchvision.ops.roi_align"]   # ops.roi_align hides it
        torchvision.extension._has_ops = roi._has_ops = _yes
    return torchvision


def _loads(folder):
    """Whether the compiled operators are there and fit this torch."""
    if hasattr(torch.ops.torchvision, "nms"):
        return True
    for name in ("_C.so", "_C.pyd"):
        path = os.path.join(folder, name)
        if os.path.exists(path):
            try:
                torch.ops.load_library(path)
            except Exception:
                return False
    return hasattr(torch.ops.torchvision, "nms")


def nms(boxes, scores, limit):
    """Indices of the boxes that stay, best score first."""
    area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    order, keep = scores.argsort(descending=True), []
    while order.numel():
        best, rest = order[0], order[1:]
        keep.append(best)
        low = torch.maximum(boxes[best, :2], boxes[rest, :2])
        high = torch.minimum(boxes[best, 2:], boxes[rest, 2:])
        both = (high - low).clamp(min=0).prod(1)
        order = rest[both / (area[best] + area[rest] - both) <= limit]
    return torch.stack(keep) if keep else order


def _roi_align(*args):
    """torchvision's own, in Python."""
    import torchvision.ops
    return sys.modules["torchvision.ops.roi_align"]._roi_align(*args)


def _yes():    # a named function: torch.jit.script compiles it
    return True

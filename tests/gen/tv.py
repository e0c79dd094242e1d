"""tv.py - makes `import torchvision` work without its compiled operators.

torchvision's wheel is built against one exact PyTorch, CUDA included; beside
a CPU build its library does not load and the import fails on torchvision::nms.
The model definitions are plain Python, so it is enough to declare the few
operators they name before the import. nms and roi_align also get plain
implementations, so that detection models run and can be traced.

    from tv import torch, torchvision

With a torchvision whose own operators load (Debian's), nothing is replaced.
"""
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


def _yes():    # a named function: torch.jit.script compiles it
    return True


def _import():
    try:
        import torchvision
        from torchvision.extension import _has_ops
        if _has_ops():
            return torchvision
    except RuntimeError:
        _forget("torchvision")
    lib = torch.library.Library("torchvision", "DEF")
    for schema in SCHEMAS:
        lib.define(schema)
    import torchvision
    roi = sys.modules["torchvision.ops.roi_align"]   # ops.roi_align hides it
    torchvision.extension._has_ops = roi._has_ops = _yes
    lib.impl("nms", nms, "CPU")
    lib.impl("roi_align", roi._roi_align, "CPU")
    torchvision._cleave_lib = lib    # the registrations live as long as this
    return torchvision


def _forget(package):
    """Drops a half-imported package, so that the next import starts over."""
    for name in list(sys.modules):
        if name == package or name.startswith(package + "."):
            del sys.modules[name]


torchvision = _import()

if __name__ == "__main__":
    print("torch", torch.__version__, "torchvision", torchvision.__version__)

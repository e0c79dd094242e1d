"""python -m cleave: the cleave command, with live PyTorch models besides.

    python -m cleave profile package.module:factory --input-shape 1,3,224,224
    python -m cleave profile torchvision:resnet18
    python -m cleave profile yolov8n.yaml
    python -m cleave fvcore --models resnet18,resnet50
"""
import sys
from collections.abc import Sequence

from cleave._cleave import main as command


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["fvcore"]:
        from cleave.fvcore import main as fvcore
        return fvcore(words[1:])
    from cleave import live
    rest = live.arguments(words)
    if rest is None:
        return 0
    sys.stdout.flush()
    return command(["cleave", *rest], capture=live.open_model)


if __name__ == "__main__":
    sys.exit(main())

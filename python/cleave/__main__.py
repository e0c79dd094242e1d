"""python -m cleave: the cleave command, with live PyTorch models besides.

    python -m cleave profile package.module:factory --input-shape 1,3,224,224
    python -m cleave profile torchvision:resnet18
    python -m cleave profile yolov8n.yaml
    python -m cleave fvcore --models resnet18,resnet50
"""
import sys

from cleave._cleave import main as command


def main(argv=None):
    argv = list(sys.argv[1:] if argv is None else argv)
    if argv[:1] == ["fvcore"]:
        from cleave.fvcore import main as fvcore
        return fvcore(argv[1:])
    from cleave import live
    argv = live.arguments(argv)
    if argv is None:
        return 0
    sys.stdout.flush()
    return command(["cleave", *argv], capture=live.open_model)


if __name__ == "__main__":
    sys.exit(main())

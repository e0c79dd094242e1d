"""Our count beside the real fvcore's: python -m cleave fvcore --models a,b"""
import argparse
import logging
import sys

from cleave._cleave import Error


def main(argv):
    parser = argparse.ArgumentParser(prog="cleave fvcore")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--models", help="names, separated by commas")
    options = parser.parse_args(argv)
    try:
        import fvcore.nn
    except ImportError as e:
        package = (e.name or "fvcore").partition(".")[0]
        print(f"cleave: this needs {package}: pip install {package}",
              file=sys.stderr)
        return 3
    print("=" * 80 + "\nFLOP COMPARISON: Our Estimator vs fvcore\n" + "=" * 80)
    print(f"\n{'Model':<22} {'Our FLOPs':>12} {'fvcore FLOPs':>14} "
          f"{'Difference':>12} {'Accuracy':>9}\n{'-' * 80}")
    code = 0
    for name in (options.models or options.model).split(","):
        try:
            code = max(code, 0 if _row(name.strip()) else 1)
        except (Error, LookupError) as e:
            print(f"cleave: {e}", file=sys.stderr)
            code = 3
    print("\nOur FLOPs are what `--count fvcore` gives: fvcore counts a "
          "multiply-add once.")
    return code


def _row(name):
    """Prints a line; whether the two are within 0.1 %."""
    from cleave import capture, live
    made = live.make(name, weights=True) or \
        live.make(f"torchvision:{name}", weights=True)
    model, inputs = made
    if inputs is None:
        raise Error(f"'{name}' comes without inputs")
    ours = capture(model, inputs, name=name).graph \
        .profile(count="fvcore")["total_flops"]
    theirs = count(model, inputs)
    off = ours - theirs
    accuracy = 100 * (1 - abs(off) / theirs) if theirs else 0
    print(f"{name:<22} {_short(ours):>12} {_short(theirs):>14} "
          f"{_short(off, '+'):>12} {accuracy:>8.2f}%", flush=True)
    return abs(off) <= 0.001 * theirs


def count(model, inputs):
    """The real fvcore's total of one call, in eval mode."""
    import torch
    from fvcore.nn import FlopCountAnalysis
    from cleave.torch import _arguments
    args, kwargs = _arguments(inputs, None)

    class Positional(torch.nn.Module):    # fvcore passes no keywords
        def __init__(self):
            super().__init__()
            self.model = model

        def forward(self, *values):
            rest = values[len(args):]
            return self.model(*values[:len(args)], **dict(zip(kwargs, rest)))

    was, level = model.training, logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with torch.no_grad():
            return int(FlopCountAnalysis(
                Positional().eval(), (*args, *kwargs.values())).total())
    except Exception as e:
        raise Error(f"fvcore fails: {type(e).__name__}: "
                    f"{str(e).strip().splitlines()[0]}") from None
    finally:
        model.train(was)
        logging.disable(level)


def _short(n, sign=""):
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " K")):
        if abs(n) >= size:
            return f"{n / size:{sign}.3f}{unit}"
    return f"{n:{sign}d}"

"""Our count beside the real fvcore's: python -m cleave fvcore --models a,b"""
import argparse
import sys


def main(argv):
    parser = argparse.ArgumentParser(prog="cleave fvcore")
    parser.add_argument("--model", default="resnet18")
    parser.add_argument("--models", help="names, separated by commas")
    options = parser.parse_args(argv)
    try:
        from fvcore.nn import FlopCountAnalysis
    except ImportError:
        print("cleave: this needs fvcore: pip install fvcore", file=sys.stderr)
        return 3
    print("=" * 80 + "\nFLOP COMPARISON: Our Estimator vs fvcore\n" + "=" * 80)
    print(f"\n{'Model':<22} {'Our FLOPs':>12} {'fvcore FLOPs':>14} "
          f"{'Difference':>12} {'Accuracy':>9}\n{'-' * 80}")
    same = True
    for name in (options.models or options.model).split(","):
        same = _row(name.strip(), FlopCountAnalysis) and same
    print("\nOur FLOPs are what `--count fvcore` gives: fvcore counts a "
          "multiply-add once.")
    return 0 if same else 1


def _row(name, analysis):
    import logging
    import torch
    from cleave import capture, live
    logging.getLogger("fvcore").setLevel(logging.ERROR)
    model, inputs = live.make(name if ":" in name or name.endswith(".yaml")
                              else f"torchvision:{name}")
    if isinstance(inputs, tuple):
        inputs = torch.rand(inputs)
    graph = capture(model, inputs, name=name).graph
    ours = graph.profile(count="fvcore")["total_flops"]
    with torch.no_grad():
        call = inputs if isinstance(inputs, torch.Tensor) else \
            tuple(inputs.values())
        theirs = int(analysis(model.eval(), call)
                     .unsupported_ops_warnings(False)
                     .uncalled_modules_warnings(False).total())
    off = ours - theirs
    accuracy = 100 * (1 - abs(off) / theirs) if theirs else 0
    print(f"{name:<22} {_short(ours):>12} {_short(theirs):>14} "
          f"{_short(off, '+'):>12} {accuracy:>8.2f}%")
    return abs(off) <= 0.001 * theirs


def _short(n, sign=""):
    for size, unit in ((1e9, " G"), (1e6, " M"), (1e3, " K")):
        if abs(n) >= size:
            return f"{n / size:{sign}.3f}{unit}"
    return f"{n:{sign}d}"

"""What Dynamo sees of models of Hugging Face, from their configurations.

    python -m cleave.examples.huggingface --model detr|bert|vit|all
                                          [--save-graph FILE]

Nothing is downloaded; weights are random.
"""
import argparse
import os
import sys

from cleave import Error, live
from cleave.dynamo import save_graph_to_file, trace_model_with_dynamo

MODELS = ("detr", "bert", "vit")


def show(name: str, save: str | None) -> None:
    print(f"\n--- {name} ---")
    made = live.make(f"transformers:{name}", weights=True)
    assert made, "a name with a package is always looked for"
    model, inputs = made
    extractor = trace_model_with_dynamo(model, inputs, verbose=True)
    for kind, targets in extractor.operation_statistics().items():
        if kind.startswith("call"):
            often = sorted(targets.items(), key=lambda t: (-t[1], t[0]))
            print(f"  {kind}: " + ", ".join(f"{t} x{n}" for t, n in often[:8]))
    extractor.print_summary()
    if save:
        save_graph_to_file(extractor, save)
        print(f"Graph saved to {save}")


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="cleave.examples.huggingface")
    parser.add_argument("--model", default="all", help="|".join(
        (*MODELS, "all")) + ", or another type that transformers knows")
    parser.add_argument("--save-graph", metavar="FILE")
    options = parser.parse_args(argv)
    several = options.model == "all"
    for name in MODELS if several else (options.model,):
        path = options.save_graph
        if path and several:    # a file for each
            path = "{}_{}{}".format(os.path.splitext(path)[0], name,
                                    os.path.splitext(path)[1])
        try:
            show(name, path)
        except (Error, LookupError) as e:
            print(f"cleave: {e}", file=sys.stderr)
            return 3
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

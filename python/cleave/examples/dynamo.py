"""What Dynamo sees of a model.

    python -m cleave.examples.dynamo [simple|control|loops|compare]
    python -m cleave.examples.dynamo huggingface ...    (see huggingface.py)
"""
import sys

import torch
from torch import nn

from cleave.dynamo import trace_model_with_dynamo
from cleave.torch import CaptureError, capture


class SimpleCNN(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.conv1(x))
        x = torch.relu(self.conv2(x))
        x = self.fc(x.mean((2, 3)))
        return x


class Control(nn.Module):
    """Which way it goes depends on the data: symbolic tracing fails."""

    def __init__(self) -> None:
        super().__init__()
        self.high, self.low = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.mean() > 0:
            return torch.relu(self.high(x))
        return torch.tanh(self.low(x))


class Loops(nn.Module):
    def __init__(self, steps: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(steps))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x)) + x
        return x


EXAMPLES: dict[str, tuple[type[nn.Module], tuple[int, ...]]] = {
    "simple": (SimpleCNN, (1, 3, 32, 32)), "control": (Control, (4, 16)),
    "loops": (Loops, (4, 16))}


def show(name: str) -> None:
    make, shape = EXAMPLES[name]
    print(f"\n--- {name}: {make.__name__} ---")
    extractor = trace_model_with_dynamo(make(), torch.ones(shape), verbose=True)
    for kind, targets in extractor.operation_statistics().items():
        if kind.startswith("call"):
            print(f"  {kind}: " + ", ".join(
                f"{t} x{n}" for t, n in sorted(targets.items())))
    extractor.print_summary()


def compare() -> None:
    print("\n--- compare: FX and Dynamo ---")
    for name, (make, shape) in EXAMPLES.items():
        for method in ("fx", "dynamo"):
            try:
                got = capture(make(), torch.ones(shape), methods=(method,))
                text = f"ok, {len(got.modules)} partition(s)"
            except CaptureError as e:
                text = f"failed: {e.failures[method]}"
            print(f"{name:<8} {method:<7} {text}")


def main(argv: list[str]) -> int:
    if argv[:1] == ["huggingface"]:
        from cleave.examples import huggingface
        return huggingface.main(argv[1:])
    wanted = argv or [*EXAMPLES, "compare"]
    unknown = [w for w in wanted if w not in EXAMPLES and w != "compare"]
    if unknown:
        print(f"no example '{unknown[0]}'; there are "
              f"{', '.join(EXAMPLES)}, compare and huggingface",
              file=sys.stderr)
        return 2
    for word in wanted:
        compare() if word == "compare" else show(word)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

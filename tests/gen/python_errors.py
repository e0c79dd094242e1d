"""python_errors.py - mistakes in Python and the line that a user sees, written
to docs/python-errors.md:

    PYTHONPATH=build/python python tests/gen/python_errors.py docs/python-errors.md

tests/py/mistakes.py runs the same rows and looks at every line."""
import logging
import sys

import tv                                    # torchvision's operators
import torch
from torch import nn

import cleave
from cleave import dynamo, fvcore, handles, neuron

HEAD = """# Mistakes in Python

Every refusal is one line: the method, the reason (often torch's own words) and the
way on. Written by `tests/gen/python_errors.py` with torch {version}; in these,
`net` is `nn.Linear(8, 4)`, `x` is `torch.rand(2, 8)`, `two` a module with
`forward(self, a, b)`.

| mistake | what is raised |
|---|---|
"""


class Two(nn.Module):
    def forward(self, a, b):
        return a + b


class Yields(nn.Module):
    def forward(self, x):
        yield x + 1


class Raises(nn.Module):
    def forward(self, x):
        raise RuntimeError("not\ntoday")


class OnCuda(nn.Module):
    def forward(self, x):
        return x + torch.zeros(8, device="cuda")


def hooked(fail):
    net = nn.Linear(8, 4)
    net.register_forward_hook(fail)
    return net


def fail(*_):
    raise ValueError("the hook says no")


def table():
    """{name: value} that the rows below are evaluated with."""
    x = torch.rand(2, 8)
    return {**globals(), "x": x, "net": nn.Linear(8, 4), "two": Two(),
            "conv": nn.Conv2d(3, 8, 3), "embed": nn.Embedding(10, 4),
            "batch": torch.export.Dim("batch"), "r18": cleave.load("resnet18")}


MISTAKES = """
capture(net, x, methods="export")
capture(net, x, methods=("magic",))
capture(net, x, methods=())
capture(net, x, methods=3)
capture(net)
capture(None, x)
capture(nn.Linear, x)
capture(3, x)
capture(net, [x])
capture(net, torch.rand(2, 9))
capture(net, "resnet18")
capture(net, x.numpy())
capture(net, (t for t in [x]))
capture(net, x.to("meta"))
capture(nn.Linear(8, 4, device="meta"), x)
capture(net, x.double())
capture(net, x.long())
capture(net, x.to(torch.complex64))
capture(conv, torch.rand(1, 4, 16, 16))
capture(conv, torch.rand(16))
capture(conv, torch.rand(1, 3, 2, 2))
capture(embed, torch.rand(2, 5))
capture(embed, torch.full((2, 5), 99))
capture(Yields(), x)
capture(Raises(), x)
capture(OnCuda(), x)
capture(hooked(fail), x)
capture(two, x)
capture(two, (x, x, x))
capture(two, {"a": x, "c": x})
capture(two, (x, torch.rand(3, 5)))
capture(net, x, {"y": 3})
capture(net, x, kwargs=[1])
capture(net, x, dims={"batch": 3})
capture(net, x, dynamic_shapes=({0: batch},), dims={"rows": 3})
capture(net, x, shape=(2, 8))
capture(net, x, input_size=(2, 8))
capture(net, input_size=8)
capture(net, input_size=(2, 0))
capture(net, input_size=(2, 8), dtypes=[torch.float32] * 2)
capture(net, input_size=(2, 8), dtypes="float33")
capture(net, input_size=(2, 8), device="cuda")
capture(net, input_size=(2, 8), device="gpu")
capture(net, x, dtypes=torch.float32)
capture(net, x, ops="ops.json")
capture(net, x, ops={"linear": 7})
capture(net, x, ops={"linear": lambda i, o: 1 / 0})
capture(net, x, ops={"linear": lambda i, o: "many"})
load("resnt18")
load("nowhere.onnx")
load("resnet18", x)
load("resnet18", shape=(1, 3, 64, 64))
load("resnet18", input_shape="big")
load("resnet18", input_shape=(1, 3, 0, 64))
load("resnet18", batch="many")
load("resnet18", dtype="fp7")
r18.partition("magic")
r18.partition(bogus=3)
r18.map("h10")
r18.export("model.txt")
summary(3)
summary(net, input_size=(2, 9))
summary(net, input_size=(2, 8), input_data=x)
summary(net, col_names=["magic"])
summary(net, col_names=["output_size"])
summary(net, depth="all")
summary(net, mode="magic")
fvcore.FlopCountAnalysis(3, x)
fvcore.FlopCountAnalysis(net, x).total("layer9")
fvcore.FlopCountAnalysis(net, x).set_op_handle("aten::relu")
fvcore.FlopCountAnalysis(net, x).ancestor_mode("magic")
fvcore.FlopCountAnalysis(net, x).clear_op_handles()
dynamo.trace_model_with_dynamo(3, x)
dynamo.trace_model_with_dynamo(net, torch.rand(2, 9))
capture("resnet18", x)
capture(net, x, name=3)
capture(net, None)
capture(net, {"input": None})
capture(net, set([x]))
capture(net, x, methods={"fx"})
capture(nn.ModuleList([net]), x)
capture(nn.MultiheadAttention(8, 2), x)
capture(net.state_dict(), x)
capture(net, torch.quantize_per_tensor(x, .1, 0, torch.quint8))
capture(torch.jit.script(net), torch.rand(2, 9))
capture(net, x, dynamic_shapes=({5: batch},))
capture(net, x, dynamic_shapes=({0: batch},), dims={"batch": 0})
capture(net, x, dynamic_shapes=({0: batch},), dims={"batch": "four"})
capture(net, input_size="2,8")
capture(net, input_size=(2.5, 8))
capture(net, input_size=(2, 8), device=3)
capture(net, x, ops={3: None})
capture(net, x, ops={"linear": lambda i: 3})
capture(net, x, ops={"linear": lambda i, o: float("nan")})
load("")
load("resnet18", batch=0)
load("resnet18", input_shape=(1, 3))
r18.partition("fusion", max_subgraph_count="three")
r18.partition("capability", backend="tpu9")
r18.sweep(batch="a")
summary(net, input_size=(2, 8), verbose=9)
summary(net, input_size=(2, 8), row_settings=["magic"])
summary(net, input_size=(2, 8), batch_dim="a")
fvcore.FlopCountAnalysis(net, x).set_op_handle("aten::linear", 3)
fvcore.FlopCountAnalysis(net, x).set_op_handle(3, None)
fvcore.flop_count_table(net)
fvcore.flop_count_table(fvcore.FlopCountAnalysis(net, x), max_depth="a")
fvcore.parameter_count(3)
dynamo.save_graph_to_file(3, "x.py")
neuron.PartitionerConfig(max_subgraph_count="two")
neuron.PartitionerConfig(min_operator_percentage_threshold="80%")
neuron.PartitionerConfig(ops_to_partition="aten::sort")
neuron.PartitionerConfig(trace_kwargs=[3])
neuron.DataParallel(neuron.trace(net, x), device_ids="two")
neuron.DataParallel(neuron.trace(net, x), dim=7)(x)
neuron.DataParallel(neuron.trace(net, x))("x")
neuron.trace(3, x)
neuron.trace(net, torch.rand(2, 9))
""".strip().splitlines()
OURS = ("capture", "load", "summary")    # said with their package


def raised(code, names):
    """(kind, text) of what a row raises; None when nothing is."""
    prefix = "cleave." if code.partition("(")[0] in OURS else ""
    try:
        eval(prefix + code, names)
    except Exception as e:
        return type(e).__name__, str(e.args[0] if e.args else e)
    return None


def rows():
    names = table()
    for code in MISTAKES:
        yield code, raised(code, names)


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    logging.disable(logging.WARNING)
    with open(sys.argv[1], "w") as out:
        out.write(HEAD.format(version=torch.__version__.partition("+")[0]))
        for code, (kind, text) in rows():
            out.write(f"| `{cell(code)}` | {kind}: {cell(text)} |\n")

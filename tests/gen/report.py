"""Writes tests/data/report/hostile.onnx: names that would be markup, formulas or
tricks of writing direction in a page that did not escape them.

    python tests/gen/report.py
"""
import pathlib

from onnx import TensorProto, helper, save

NAMES = [
    "<script>window.pwned=1</script>",
    "</script><script>window.pwned=2</script>",
    '"><img src=x onerror="window.pwned=3">',
    "<!-- --><style>*{display:none}</style>",
    "=cmd|' /C calc'!A0",
    "a\u202egnp.exe",
    "\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "tab\there\nand a line\x01\x7f",
    "javascript:window.pwned=4",
    "&lt;b&gt;&amp;",
    "x" * 10000,
    "__proto__",
    "constructor",
]

nodes, last = [], "in<script>window.pwned=5</script>"
first = last
for i, name in enumerate(NAMES):
    op = "Relu" if i % 3 else "Sigmoid"
    domain = ""
    if i % 5 == 4:
        op, domain = "<img src=x onerror=window.pwned=6>", "evil.<b>"
    nodes.append(helper.make_node(op, [last], [name], name=name, domain=domain))
    last = name
graph = helper.make_graph(
    nodes, "</title><script>window.pwned=7</script>",
    [helper.make_tensor_value_info(first, TensorProto.FLOAT, [1, 8])],
    [helper.make_tensor_value_info(last, TensorProto.FLOAT, [1, 8])])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("evil.<b>", 1)])
out = pathlib.Path(__file__).parent.parent / "data/report/hostile.onnx"
out.parent.mkdir(exist_ok=True)
save(model, out)

"""Writes tests/data/tiny/*.onnx: graphs at the edge of what a graph is, for
the transcripts of the command.

    python tests/gen/tiny_onnx.py

empty: no node, the input is the output. single: one relu. parts: two chains
that share nothing.
"""

import onnx
from onnx import TensorProto, helper


def tensor(name):
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 8])


def write(name, nodes, inputs, outputs):
    graph = helper.make_graph(nodes, name, [tensor(x) for x in inputs], [tensor(x) for x in outputs])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                              producer_name="")
    onnx.checker.check_model(model)
    onnx.save(model, f"tests/data/tiny/{name}.onnx")


write("empty", [], ["x"], ["x"])
write("single", [helper.make_node("Relu", ["x"], ["y"], name="relu")], ["x"], ["y"])
write("parts",
      [helper.make_node("Relu", ["a"], ["b"], name="a1"), helper.make_node("Sigmoid", ["b"], ["c"], name="a2"),
       helper.make_node("Tanh", ["x"], ["y"], name="b1"), helper.make_node("Neg", ["y"], ["z"], name="b2")],
      ["a", "x"], ["c", "z"])

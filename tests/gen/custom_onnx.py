"""Writes tests/data/custom/fancy.onnx: a model with an operator nobody knows.

FancyAttention takes (N, S, D) and the attribute heads; nothing in the file says
what it makes. A Relu follows, so a shape must come through.
"""
import onnx
from onnx import TensorProto, helper

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 16, 64])
y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
nodes = [
    helper.make_node("FancyAttention", ["x"], ["t"], "fancy", domain="my.domain", heads=4),
    helper.make_node("Relu", ["t"], ["y"], "relu"),
]
graph = helper.make_graph(nodes, "fancy", [x], [y])
model = helper.make_model(
    graph,
    opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("my.domain", 1)],
    ir_version=8,
)
onnx.save(model, "tests/data/custom/fancy.onnx")

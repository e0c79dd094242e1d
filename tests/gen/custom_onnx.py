"""Writes tests/data/custom/: fancy.onnx, a model with an operator nobody knows,
and more (see below).

FancyAttention takes (N, S, D) and the attribute heads; nothing in the file says
what it makes. A Relu follows, so a shape must come through.
"""
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

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

# fancies.onnx: five of them; twins.onnx: outputs whose names differ by a sign.
nodes = [helper.make_node("FancyAttention", ["t%d" % i if i else "x"], ["t%d" % (i + 1)], "fancy%d" % i,
                          domain="my.domain", heads=4) for i in range(5)]
graph = helper.make_graph(nodes, "fancies", [x], [helper.make_tensor_value_info("t5", TensorProto.FLOAT, None)])
onnx.save(helper.make_model(graph, opset_imports=model.opset_import, ir_version=8), "tests/data/custom/fancies.onnx")

x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])
outs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in ("y/1", "y.1", "y_1")]
nodes = [helper.make_node(op, ["x"], [o.name]) for op, o in zip(("Relu", "Neg", "Abs"), outs)]
graph = helper.make_graph(nodes, "twins", [x], outs)
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
          "tests/data/custom/twins.onnx")

# x.pb: the input of sort_end as a tensor of ONNX.
values = numpy.load("tests/data/onnx_capability/sort_end.x.npy")
with open("tests/data/custom/x.pb", "wb") as f:
    f.write(numpy_helper.from_array(values, "x").SerializeToString())

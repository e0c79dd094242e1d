#!/usr/bin/env python3
"""Writes tests/data/onnx_external: a product whose weight lies in a file of its
own, with an input; and tests/data/onnx_absent: the same with a weight that has
a type and a shape alone."""
import os

import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FOLDER = os.path.join(os.path.dirname(__file__), "..", "data", "onnx_external")
os.makedirs(FOLDER, exist_ok=True)
rng = numpy.random.default_rng(0)
w = rng.standard_normal((16, 4)).astype(numpy.float32)
x = rng.standard_normal((2, 16)).astype(numpy.float32)
graph = helper.make_graph(
    [helper.make_node("MatMul", ["x", "w"], ["y"], "product")], "external",
    [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 16])],
    [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])], [numpy_helper.from_array(w, "w")])
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
data = os.path.join(FOLDER, "w.bin")
if os.path.exists(data):
    os.remove(data)
onnx.save(model, os.path.join(FOLDER, "model.onnx"), save_as_external_data=True, location="w.bin", size_threshold=0)
numpy.save(os.path.join(FOLDER, "x.npy"), x)

absent = os.path.join(FOLDER, "..", "onnx_absent")
os.makedirs(absent, exist_ok=True)
model.graph.initializer[0].Clear()
model.graph.initializer[0].CopyFrom(TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[16, 4]))
onnx.save(model, os.path.join(absent, "model.onnx"))

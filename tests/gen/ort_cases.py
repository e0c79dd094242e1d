#!/usr/bin/env python3
"""Writes tests/data/ort/: small models, and what ONNX Runtime makes of them.

One NAME.onnx per case; cases.npz holds its inputs and outputs as NAME.VALUE.
Operators of com.microsoft are what ONNX has no test suite for; a few of ONNX
itself are here for forms that its suite leaves out."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.join(os.path.dirname(__file__), "..", "data", "ort")
rng = np.random.default_rng(1)
arrays = {}


def rnd(*shape):
    return np.round(rng.standard_normal(shape), 2).astype(np.float32)


def u8(*shape, kind=np.uint8):
    info = np.iinfo(kind)
    return rng.integers(info.min, info.max + 1, shape, dtype=kind)


def i32(*values):
    return np.array(values, dtype=np.int32)


def f32(*values):
    return np.array(values, dtype=np.float32).reshape(() if len(values) == 1 else -1)


def q(value, kind=np.uint8):
    return np.array(value, dtype=kind)


def save(name, nodes, inputs, outputs, weights=None, opset=17):
    """Runs the model of `nodes`; keeps it and its tensors."""
    values = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
              for k, v in inputs.items()]
    outs = [helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None) for o in outputs]
    inits = [numpy_helper.from_array(v, k) for k, v in (weights or {}).items()]
    graph = helper.make_graph(nodes, name, values, outs, inits)
    for o in graph.output:
        o.ClearField("type")
    model = helper.make_model(graph, ir_version=8, opset_imports=[
        helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)])
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    results = session.run(outputs, inputs)
    onnx.save(model, os.path.join(HERE, name + ".onnx"))
    for key, value in list(inputs.items()) + list(zip(outputs, results)):
        arrays["%s.%s" % (name, key)] = value


def ms(name, op, inputs, n_out=1, weights=(), **attrs):
    """One node of com.microsoft; inputs are arrays in order, None: left out.
    Those whose places are in `weights` belong to the model."""
    names = ["" if x is None else "i%d" % i for i, x in enumerate(inputs)]
    given = {"i%d" % i: x for i, x in enumerate(inputs) if x is not None}
    inits = {k: given.pop(k) for k in list(given) if int(k[1:]) in weights}
    outs = ["y%d" % i for i in range(n_out)]
    node = helper.make_node(op, names, outs, name, domain="com.microsoft", **attrs)
    save(name, [node], given, outs, inits)


# -- scans ------------------------------------------------------------------

def scan(name, opset, ins, outs, inputs, **attrs):
    slot = lambda n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [2])
    body = helper.make_graph(
        [helper.make_node("Add", ["sum", "next"], ["out"]), helper.make_node("Mul", ["out", "next"], ["each"])],
        "body", [slot("sum"), slot("next")], [slot("out"), slot("each")])
    node = helper.make_node("Scan", ins, outs, name, body=body, num_scan_inputs=1, **attrs)
    save(name, [node], inputs, outs, opset=opset)


first, rows = rnd(3, 2), rnd(3, 4, 2)
scan("scan8_batch", 8, ["", "first", "rows"], ["last", "all"], {"first": first, "rows": rows})
scan("scan8_lengths", 8, ["n", "first", "rows"], ["last", "all"],
     {"n": np.array([4, 1, 3]), "first": first, "rows": rows})
scan("scan8_backwards", 8, ["n", "first", "rows"], ["last", "all"],
     {"n": np.array([4, 1, 3]), "first": first, "rows": rows}, directions=[1])
for back in (0, 1):
    scan("scan9_backwards_%d" % back, 9, ["first", "rows"], ["last", "all"],
         {"first": first[0], "rows": rows[0]}, scan_input_directions=[1], scan_output_directions=[back])

np.savez_compressed(os.path.join(HERE, "cases.npz"), **arrays)

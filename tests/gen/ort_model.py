"""Small models and what ONNX Runtime makes of them, kept in a folder of tests/data.

A folder has one NAME.onnx per case and cases.npz with the inputs and outputs of
all, as NAME.VALUE; tests/test_ort.c runs them."""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

DATA = os.path.join(os.path.dirname(__file__), "..", "data")


def run(model, inputs, outputs):
    """What ONNX Runtime makes of a model, node by node."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options,
                                           providers=["CPUExecutionProvider"])
    return session.run(outputs, inputs)


class Cases:
    def __init__(self, folder):
        self.folder = os.path.join(DATA, folder)
        self.arrays = {}
        os.makedirs(self.folder, exist_ok=True)

    def keep(self, name, model, inputs, truth):
        """A model whose outputs are known: `truth` has them by name."""
        onnx.save(model, os.path.join(self.folder, name + ".onnx"))
        for key, value in list(inputs.items()) + list(truth.items()):
            self.arrays["%s.%s" % (name, key)] = value

    def save(self, name, nodes, inputs, outputs, weights=None, opset=17, run_it=True, more=(), truth=None,
             sparse=(), functions=()):
        """Keeps the model of `nodes`, its tensors and what it makes of them."""
        values = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
                  for k, v in inputs.items()]
        outs = [helper.make_tensor_value_info(o, TensorProto.UNDEFINED, None) for o in outputs]
        inits = [numpy_helper.from_array(v, k) for k, v in (weights or {}).items()]
        graph = helper.make_graph(nodes, name, values, outs, inits, sparse_initializer=sparse)
        for o in graph.output:
            o.ClearField("type")
        model = helper.make_model(graph, ir_version=8, functions=functions, opset_imports=[
            helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)] +
            [helper.make_opsetid(*m) for m in more])
        if run_it and truth is None:
            truth = dict(zip(outputs, run(model, inputs, outputs)))
        self.keep(name, model, inputs, truth or {})

    def ms(self, name, op, inputs, outs=1, weights=(), run=True, domain="com.microsoft", **attrs):
        """One node of com.microsoft; inputs are arrays in order, None: left out.
        Those whose places are in `weights` belong to the model. Outputs are so many,
        or those listed."""
        opset = attrs.pop("opset_import", 17)
        truth = attrs.pop("truth", None)
        outs = range(outs) if isinstance(outs, int) else outs
        names = ["" if x is None else "i%d" % i for i, x in enumerate(inputs)]
        given = {"i%d" % i: x for i, x in enumerate(inputs) if x is not None}
        inits = {k: given.pop(k) for k in list(given) if int(k[1:]) in weights}
        slots = ["y%d" % i if i in outs else "" for i in range(max(outs) + 1)]
        node = helper.make_node(op, names, slots, name, domain=domain, **attrs)
        more = [(domain, 3)] if domain == "ai.onnx.ml" else ()
        self.save(name, [node], given, [s for s in slots if s], inits, opset=opset, run_it=run, more=more,
                  truth=truth)

    def write(self):
        np.savez_compressed(os.path.join(self.folder, "cases.npz"), **self.arrays)

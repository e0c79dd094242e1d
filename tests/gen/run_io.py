"""Writes tests/data/run_io: models whose sizes are open, outputs of types that
NumPy has not, and tensors in files of every kind, for tests/cli/run_io.sh.

    python tests/gen/run_io.py

open: y = a + b, a (N, L), b (N, 3), where nothing says what L is.
casts: x to every type that .npy cannot hold. The expected outputs are those of
onnx.reference.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

HERE = "tests/data/run_io/"
TYPES = ["BFLOAT16", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "INT4", "UINT4",
         "FLOAT4E2M1"]


def value(name, kind, shape):
    return helper.make_tensor_value_info(name, kind, shape)


def save(name, nodes, inputs, outputs):
    graph = helper.make_graph(nodes, name, inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11, producer_name="")
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, HERE + name + ".onnx")
    return model


def tensor(name, array):
    with open(HERE + name, "wb") as f:
        f.write(numpy_helper.from_array(array).SerializeToString())


F = TensorProto.FLOAT
save("open", [helper.make_node("Add", ["a", "b"], ["y"], name="add")],
     [value("a", F, ["N", None]), value("b", F, ["N", 3])], [value("y", F, ["N", 3])])
two = np.arange(2, dtype=np.float32).reshape(2, 1)
six = np.arange(6, dtype=np.float32).reshape(2, 3)
np.save(HERE + "two.npy", two)
np.save(HERE + "six.npy", six)
np.save(HERE + "nine.npy", np.ones((3, 3), np.float32))
tensor("six.pb", six)
np.savez(HERE + "both.npz", a=two, b=six, other=np.array(["text"]))

x = np.array([-300, -6, -1.75, -0.3, 0, 0.3, 1, 2.6, 7, 500], np.float32)
np.save(HERE + "x.npy", x)
casts = save("casts", [helper.make_node("Cast", ["x"], [t], name=t, to=getattr(TensorProto, t)) for t in TYPES],
             [value("x", F, ["K"])], [value(t, getattr(TensorProto, t), ["K"]) for t in TYPES])
for t, y in zip(TYPES, ReferenceEvaluator(casts).run(None, {"x": x})):
    np.save(HERE + t + ".npy", y.astype(np.float32))
back = save("back", [helper.make_node("Cast", [t], [t + "_f"], name=t, to=F) for t in TYPES],
            [value(t, getattr(TensorProto, t), ["K"]) for t in TYPES], [value(t + "_f", F, ["K"]) for t in TYPES])

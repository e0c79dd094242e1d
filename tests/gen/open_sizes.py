"""Writes tests/data/open_sizes: small models whose inputs have open sizes.

    python tests/gen/open_sizes.py

For models that no rule of names and shapes covers, smallest.csv has the least
sizes with which ONNX Runtime gives a result that is not empty, found by trying them from 1 on; in the others a
size is to come from metadata, names or shapes.
"""
import itertools

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

FOLDER = "tests/data/open_sizes/"
onnxruntime.set_default_logger_severity(4)


def node(op, ins, outs, **attrs):
    return helper.make_node(op, ins, outs, name=outs[0], **attrs)


def weight(name, *shape):
    return numpy_helper.from_array(np.full(shape, 0.5, np.float32), name)


def ints(name, *values):
    return numpy_helper.from_array(np.array(values, np.int64), name)


def write(name, inputs, nodes, outputs, weights=(), metadata=None):
    ins = [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs]
    outs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in outputs]
    graph = helper.make_graph(nodes, name, ins, outs, list(weights))
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8,
                              producer_name="")
    if metadata:
        helper.set_model_props(model, metadata)
    onnx.checker.check_model(model)
    onnx.save(model, FOLDER + name + ".onnx")


def runs(name, feed):
    try:
        outputs = onnxruntime.InferenceSession(FOLDER + name + ".onnx").run(None, feed)
        return all(y.size for y in outputs)
    except Exception:
        return False


def smallest(name, make, axes, limit):
    """The least sum of sizes that runs; ties by the order of the axes."""
    for total in range(axes, limit):
        for sizes in itertools.product(range(1, total + 1), repeat=axes):
            if sum(sizes) == total and runs(name, {"x": np.zeros(make(*sizes), np.float32)}):
                return make(*sizes)
    raise RuntimeError(name)


F, I = TensorProto.FLOAT, TensorProto.INT64
rows = []

# Sound: a reflecting pad, a window of 64 and a stride; the size has no name.
write("sound", [("x", F, [1, None])],
      [node("Unsqueeze", ["x", "one"], ["u"]), node("Pad", ["u", "pads"], ["p"], mode="reflect"),
       node("Conv", ["p", "w"], ["c"], strides=[16]), node("Conv", ["c", "v"], ["y"])],
      [("y", [1, 4, None])],
      [ints("one", 1), ints("pads", 0, 0, 24, 0, 0, 24), weight("w", 4, 1, 64), weight("v", 4, 4, 5)])
rows.append(("sound", smallest("sound", lambda n: (1, n), 1, 400)))

# A plane of features, not a picture: both axes must be long enough.
write("plane", [("x", F, [1, 16, None, None])],
      [node("Conv", ["x", "w"], ["c"], kernel_shape=[5, 3]), node("MaxPool", ["c"], ["y"], kernel_shape=[2, 2])],
      [("y", [1, 8, None, None])], [weight("w", 8, 16, 5, 3)])
rows.append(("plane", smallest("plane", lambda a, b: (1, 16, a, b), 2, 40)))

# Rows of a table, folded in fours.
write("folded", [("x", F, ["n", 6])],
      [node("Reshape", ["x", "shape"], ["r"]), node("MatMul", ["r", "w"], ["y"])],
      [("y", [None, 5])], [ints("shape", -1, 24), weight("w", 24, 5)])
rows.append(("folded", smallest("folded", lambda n: (n, 6), 1, 40)))

with open(FOLDER + "smallest.csv", "w") as f:
    f.write("model,shape\n")
    f.writelines(f"{name},{'x'.join(map(str, shape))}\n" for name, shape in rows)

conv = [node("Conv", ["x", "w"], ["c"], kernel_shape=[3, 3], strides=[2, 2])]
pool = [node("GlobalAveragePool", ["c"], ["g"]), node("Flatten", ["g"], ["y"])]
picture, taps = [("x", F, ["N", 3, "H", "W"])], [weight("w", 8, 3, 3, 3)]
write("classifier", picture, conv + pool, [("y", ["N", 8])], taps)
write("detector", picture, conv + [node("Relu", ["c"], ["y"])], [("y", ["N", 8, None, None])], taps)
write("stated", picture, conv + pool, [("y", ["N", 8])], taps, {"imgsz": "[96, 128]", "stride": "32"})
write("line", [("x", F, ["N", 3, 48, "W"])], conv + pool, [("y", ["N", 8])], taps)
# A line of text: the height must come to one row, and the length is declared.
write("declared", picture,
      conv + [node("MaxPool", ["c"], ["m"], kernel_shape=[15, 1]), node("Squeeze", ["m", "two"], ["y"])],
      [("y", ["N", 8, 49])], taps + [ints("two", 2)])
write("text", [("ids", I, ["batch", "sequence"])], [node("Gather", ["table", "ids"], ["y"])],
      [("y", [None, None, 4])], [weight("table", 9, 4)])
write("decoder", [("ids", I, ["batch", "seq"]), ("past", F, ["batch", "past_len", 4]),
                  ("mask", F, ["batch", "past_len + seq", 4])],
      [node("Gather", ["table", "ids"], ["e"]), node("Concat", ["past", "e"], ["k"], axis=1),
       node("Add", ["k", "mask"], ["y"])],
      [("y", [None, None, 4])], [weight("table", 9, 4)])
write("never", [("x", F, [None, 3])], [node("MatMul", ["x", "w"], ["y"])], [("y", [None, 5])], [weight("w", 4, 5)])

"""Writes tests/data/run_io: models whose sizes are open, outputs of types that
NumPy has not, and tensors in files of every kind, for tests/cli/run_io.sh.

    python tests/gen/run_io.py

open: y = a + b, a (N, L), b (N, 3), where nothing says what L is.
casts: x to every type that .npy cannot hold. The expected outputs are those of
onnx.reference.
texts: operators on texts that Debian's suite is too old for; sequences: one that
a loop makes, as an output and an input. Expected outputs as above.
"""

import re

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

S = TensorProto.STRING
words = np.array([["a b c", "", "x,y"], ["dd", " e  f ", "\u00e4,"]], object)
tensor("words.pb", words)
tensor("tail.pb", np.array(["!", "", "a b c"], object))
texts = save("texts",
             [helper.make_node("StringConcat", ["words", "tail"], ["joined"], name="concat"),
              helper.make_node("StringSplit", ["words"], ["parts", "counts"], name="blanks"),
              helper.make_node("StringSplit", ["words"], ["pieces", "n"], name="commas", delimiter=",", maxsplit=1),
              helper.make_node("Equal", ["words", "tail"], ["same"], name="equal"),
              helper.make_node("Transpose", ["words"], ["turned"], name="turn", perm=[1, 0])],
             [value("words", S, ["N", "M"]), value("tail", S, ["M"])],
             [value("joined", S, ["N", "M"]), value("parts", S, ["N", "M", None]),
              value("counts", TensorProto.INT64, ["N", "M"]), value("pieces", S, ["N", "M", None]),
              value("n", TensorProto.INT64, ["N", "M"]), value("same", TensorProto.BOOL, ["N", "M"]),
              value("turned", S, ["M", "N"])])
names = [o.name for o in texts.graph.output]
for name, y in zip(names, ReferenceEvaluator(texts).run(None, {"words": words, "tail": np.array(["!", "", "a b c"], object)})):
    if y.dtype == object or y.dtype.kind == "U":
        proto = helper.make_tensor(name, S, y.shape, [w.encode() for w in y.astype(object).ravel()])
        with open(HERE + "want_" + name + ".pb", "wb") as f:
            f.write(proto.SerializeToString(deterministic=True))
    else:
        np.save(HERE + "want_" + name + ".npy", y)

# Patterns: Python's re gives the answers.
for n, pattern in enumerate([r"[a-z]( [a-z])*|.*,", r"(?:\S{2,3})?", r"\W*\be\b.+", r"[^\x61-d]+y?"]):
    save(f"regex{n}", [helper.make_node("RegexFullMatch", ["words"], ["y"], name="regex", pattern=pattern)],
         [value("words", S, ["N", "M"])], [value("y", TensorProto.BOOL, ["N", "M"])])
    found = [bool(re.fullmatch(pattern, w, re.ASCII)) for w in words.ravel()]
    np.save(HERE + f"want_regex{n}.npy", np.array(found).reshape(words.shape))
save("regex_bad", [helper.make_node("RegexFullMatch", ["words"], ["y"], name="regex", pattern=r"(?=a)b")],
     [value("words", S, ["N", "M"])], [value("y", TensorProto.BOOL, ["N", "M"])])

# A size that nothing names, twice; and integers that a loop divides.
save("nameless", [helper.make_node("Relu", ["x"], ["y"], name="relu")],
     [value("x", F, ["?", "?"])], [value("y", F, ["?", "?"])])
body = helper.make_graph(
    [helper.make_node("Identity", ["c"], ["d"], name="d"), helper.make_node("Cast", ["i"], ["j"], to=TensorProto.INT32, name="j"),
     helper.make_node("Mul", ["j", "seven"], ["k"], name="k"), helper.make_node("Div", ["k", "two"], ["q"], name="q")],
    "body", [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, [])],
    [value("d", TensorProto.BOOL, []), value("q", TensorProto.INT32, [])])
graph = helper.make_graph([helper.make_node("Loop", ["n", ""], ["q"], name="loop", body=body)], "quotients",
                          [value("n", TensorProto.INT64, [])], [value("q", TensorProto.INT32, [None])],
                          [numpy_helper.from_array(np.array(7, np.int32), "seven"),
                           numpy_helper.from_array(np.array(-2, np.int32), "two")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 23)], ir_version=11, producer_name=""),
          HERE + "quotients.onnx")
np.save(HERE + "want_q.npy", np.trunc(np.arange(3) * 7 / -2).astype(np.int32))

seq = helper.make_sequence_type_proto(helper.make_tensor_type_proto(F, None))
body = helper.make_graph(
    [helper.make_node("Cast", ["i"], ["f"], to=F, name="f"), helper.make_node("Mul", ["x", "f"], ["y"], name="y"),
     helper.make_node("SequenceInsert", ["s", "y"], ["t"], name="t"), helper.make_node("Identity", ["c"], ["d"], name="d")],
    "body", [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []), helper.make_value_info("s", seq)],
    [value("d", TensorProto.BOOL, []), helper.make_value_info("t", seq)])
grow = save("grow", [helper.make_node("Loop", ["n", "", "s0"], ["s1"], name="loop", body=body)],
            [value("n", TensorProto.INT64, []), value("x", F, ["N", 3]), helper.make_value_info("s0", seq)],
            [helper.make_value_info("s1", seq)])
np.save(HERE + "trips.npy", np.array(3, np.int64))
with open(HERE + "none.pb", "wb") as f:
    f.write(numpy_helper.from_list([], dtype=onnx.SequenceProto.TENSOR).SerializeToString())
join = save("join", [helper.make_node("ConcatFromSequence", ["s1"], ["y"], name="join", axis=0),
                     helper.make_node("SequenceLength", ["s1"], ["n"], name="length")],
            [helper.make_value_info("s1", seq)], [value("y", F, [None, 3]), value("n", TensorProto.INT64, [])])
np.save(HERE + "want_y.npy", np.concatenate([six * i for i in range(3)]))

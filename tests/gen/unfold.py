"""Writes tests/data/unfold: models with operators that have bodies, whose totals
follow from their parts by hand.

    python tests/gen/unfold.py

decided: an If whose condition is a constant. undecided: data decide between a
product of 64x64 and one of 64x8. loop: a product of 32x32, seven times, with a
result that is collected. scan: one of 16x16 for each of five rows. nested: a loop
of three trips around a loop of four around a product of 8x8.
"""
import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper, numpy_helper


def value(name, shape, kind=T.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def weight(name, *shape):
    return numpy_helper.from_array(np.full(shape, 0.25, np.float32), name)


def constant(name, x):
    return numpy_helper.from_array(np.array(x), name)


def node(op, ins, outs, **attrs):
    return helper.make_node(op, ins, outs, name=outs[0], **attrs)


def graph(nodes, ins, outs, weights=()):
    return helper.make_graph(nodes, "g", ins, outs, list(weights))


def write(name, nodes, ins, outs, weights=()):
    model = helper.make_model(graph(nodes, ins, outs, weights), opset_imports=[helper.make_opsetid("", 17)],
                              ir_version=8, producer_name="")
    onnx.checker.check_model(model)
    onnx.save(model, f"tests/data/unfold/{name}.onnx")


def product(n, m, name="w"):
    return graph([node("MatMul", ["x", name], ["p"]), node("ReduceSum", ["p"], ["s"], keepdims=0)], [],
                 [value("s", [])], [weight(name, n, m)])


x = [value("x", [1, 64])]
for name, condition, more, inputs in (("decided", "c", [constant("c", True)], x),
                                      ("undecided", "b", [], x + [value("b", [], T.BOOL)])):
    write(name, [node("If", [condition], ["y"], then_branch=product(64, 8), else_branch=product(64, 64, "v"))],
          inputs, [value("y", [])], more)

trip, go = value("i", [], T.INT64), value("go", [], T.BOOL)


def loop(trips, body, ins, outs):
    return node("Loop", [trips, "", *ins], outs, body=body)


step = graph([node("MatMul", ["s", "w"], ["n"]), node("Identity", ["go"], ["on"])],
             [trip, go, value("s", [1, 32])], [value("on", [], T.BOOL), value("n", [1, 32]), value("n", [1, 32])])
step.output[2].name = "n2"
step.node.append(node("Relu", ["n"], ["n2"]))
write("loop", [loop("t", step, ["x"], ["last", "all"])], [value("x", [1, 32])],
      [value("last", [1, 32]), value("all", [7, 1, 32])], [constant("t", 7), weight("w", 32, 32)])

row = graph([node("MatMul", ["r", "w"], ["m"]), node("Add", ["s", "m"], ["t"]), node("Identity", ["t"], ["u"])],
            [value("s", [16]), value("r", [16])], [value("t", [16]), value("u", [16])])
write("scan", [node("Scan", ["s0", "x"], ["last", "all"], body=row, num_scan_inputs=1)],
      [value("s0", [16]), value("x", [5, 16])], [value("last", [16]), value("all", [5, 16])], [weight("w", 16, 16)])

inner = graph([node("MatMul", ["s", "w"], ["n"]), node("Identity", ["go"], ["on"])],
              [trip, go, value("s", [1, 8])], [value("on", [], T.BOOL), value("n", [1, 8])])
outer = graph([loop("four", inner, ["s"], ["n"]), node("Identity", ["go"], ["on"])],
              [trip, go, value("s", [1, 8])], [value("on", [], T.BOOL), value("n", [1, 8])])
write("nested", [loop("three", outer, ["x"], ["y"])], [value("x", [1, 8])], [value("y", [1, 8])],
      [constant("three", 3), constant("four", 4), weight("w", 8, 8)])

#!/usr/bin/env python3
"""Writes tests/data/ort_ml/: models of ai.onnx.ml and what ONNX Runtime makes of
them. Labels that are texts are numbered by a LabelEncoder, and the maps of a
ZipMap are rows in the order of its labels: what is kept are numbers."""
import numpy as np
from onnx import TensorProto, helper

from ort_model import Cases, run

cases = Cases("ort_ml")
rng = np.random.default_rng(21)
ML = "ai.onnx.ml"
F32, I64 = np.float32, np.int64
WORDS = ["blue", "red", "green", "x y", "", "six"]
TRANSFORMS = ["NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]


def node(op, ins, outs, **attrs):
    return helper.make_node(op, ins, outs, domain=ML, **{k: v for k, v in attrs.items() if v is not None})


def rnd(*shape):
    return np.round(rng.standard_normal(shape), 2).astype(F32)


def flat(*shape):
    return [float(v) for v in rnd(*shape).ravel()]


def save(name, nodes, inputs, outputs, truth=None, **more):
    cases.save(name, nodes, inputs, outputs, opset=more.pop("opset", 17), more=[(ML, 3)], truth=truth, **more)


def named(n, texts, key="classlabels_ints"):
    return dict(classlabels_strings=WORDS[:n]) if texts else {key: [5, -2, 7, 0, 3, 9][:n]}


def numbered(texts):
    """The node that numbers labels which are texts, and their name."""
    if not texts:
        return [], "label"
    return [node("LabelEncoder", ["label"], ["number"], keys_strings=WORDS, values_int64s=list(range(6)))], "number"


def classify(name, op, x, n, texts, **attrs):
    more, label = numbered(texts)
    save(name, [node(op, ["x"], ["label", "s"], **named(n, texts), **attrs)] + more, {"x": x}, [label, "s"])


# -- linear models ------------------------------------------------------------------

for how in TRANSFORMS:
    short, x = how.lower(), rnd(6, 4)
    if how == "PROBIT":
        x = np.abs(x) / 40    # sums between 0 and 1
    more = dict(multi_class=1, post_transform=how)
    weights = (lambda n: [abs(v) / 4 for v in flat(n)]) if how == "PROBIT" else flat
    classify("linear_3_" + short, "LinearClassifier", x, 3, False, coefficients=weights(12), intercepts=weights(3), **more)
    classify("linear_2_" + short, "LinearClassifier", x, 2, True, coefficients=weights(8), intercepts=weights(2), **more)
    if how != "PROBIT":    # ONNX Runtime leaves half of the result unwritten
        classify("linear_one_" + short, "LinearClassifier", x, 2, how == "LOGISTIC", coefficients=flat(4), intercepts=flat(1),
                 multi_class=0, post_transform=how)
    for targets in (1, 3):
        save("regressor_%d_%s" % (targets, short),
             [node("LinearRegressor", ["x"], ["y"], coefficients=weights(4 * targets), intercepts=weights(targets), targets=targets,
                   post_transform=how)], {"x": x}, ["y"])
classify("linear_zeros", "LinearClassifier", np.array([[0, 0], [1, -1]], F32), 3, False, coefficients=[1.0, 1, 0, 2, 0, 0],
         intercepts=[0.0, 0, 0], post_transform="SOFTMAX_ZERO")
classify("linear_nan", "LinearClassifier", np.array([[np.nan, 0, 1], [1, -1, np.inf]], F32), 3, False, coefficients=flat(9),
         intercepts=flat(3), post_transform="LOGISTIC")
for kind in (np.float64, np.int32, I64):
    classify("linear_" + np.dtype(kind).name, "LinearClassifier", (rnd(5, 3) * 3).astype(kind), 4, kind == I64,
             coefficients=flat(12), intercepts=flat(4), post_transform="LOGISTIC")
save("linear_unnamed", [node("LinearClassifier", ["x"], ["label", "s"], coefficients=flat(3), intercepts=flat(1))],
     {"x": rnd(5, 3)}, ["label", "s"])
save("linear_row", [node("LinearClassifier", ["x"], ["label", "s"], coefficients=flat(9), intercepts=flat(3),
                         classlabels_ints=[1, 2, 3])], {"x": rnd(3)}, ["label", "s"])
save("regressor_row", [node("LinearRegressor", ["x"], ["y"], coefficients=flat(6), intercepts=flat(2), targets=2)],
     {"x": rnd(3)}, ["y"])
save("regressor_plain", [node("LinearRegressor", ["x"], ["y"], coefficients=flat(6), targets=2)], {"x": rnd(4, 3)}, ["y"])
save("regressor_other", [node("LinearRegressor", ["x"], ["y"], coefficients=flat(6), intercepts=flat(1), targets=2)],
     {"x": rnd(4, 3)}, ["y"])

# -- support vectors -----------------------------------------------------------------

PARAMS = [0.4, 0.3, 3.0]
PER_CLASS = {2: [3, 2], 3: [2, 3, 1], 4: [1, 2, 0, 3]}


def svm(name, n, kernel, x=None, odds=False, texts=False, **attrs):
    per = PER_CLASS[n]
    pairs, v = n * (n - 1) // 2, sum(per)
    classify(name, "SVMClassifier", rnd(7, 4) if x is None else x, n, texts, kernel_type=kernel, kernel_params=PARAMS,
             vectors_per_class=per, support_vectors=flat(v, 4), coefficients=flat(n - 1, v), rho=flat(pairs),
             prob_a=[-abs(a) - 0.5 for a in flat(pairs)] if odds else None, prob_b=flat(pairs) if odds else None, **attrs)


for kernel in ("LINEAR", "POLY", "RBF", "SIGMOID"):
    for n in (2, 3, 4):
        svm("svm_%s_%d" % (kernel.lower(), n), n, kernel, texts=n == 3)
        svm("svm_%s_%d_odds" % (kernel.lower(), n), n, kernel, odds=True, texts=n == 2)
    save("svr_" + kernel.lower(), [node("SVMRegressor", ["x"], ["y"], kernel_type=kernel, kernel_params=PARAMS, n_supports=5,
                                        support_vectors=flat(5, 4), coefficients=flat(5), rho=flat(1))], {"x": rnd(6, 4)}, ["y"])
    save("one_class_" + kernel.lower(), [node(
        "SVMRegressor", ["x"], ["y"], kernel_type=kernel, kernel_params=PARAMS, n_supports=5, support_vectors=flat(5, 4),
        coefficients=flat(5), rho=[-0.2], one_class=1)], {"x": rnd(9, 4)}, ["y"])
for how in TRANSFORMS[1:4]:    # PROBIT near 0.5 is inexact in float32
    svm("svm_2_" + how.lower(), 2, "RBF", post_transform=how)
    svm("svm_3_" + how.lower(), 3, "RBF", post_transform=how)
    svm("svm_odds_" + how.lower(), 3, "RBF", odds=True, post_transform=how)
svm("svm_int64", 3, "RBF", x=rng.integers(-2, 3, (5, 4)))
svm("svm_float64", 2, "LINEAR", x=rnd(5, 4).astype(np.float64))
svm("svm_degree", 2, "POLY", x=np.abs(rnd(5, 4)))
svm("svm_nan", 3, "RBF", x=np.array([[np.nan, 0, 0, 0], [1, 2, 3, 4]], F32))
for n in (2, 3):
    for sign in (1, 0):
        classify("svm_linear_model_%d_%d" % (n, sign), "SVMClassifier", rnd(9, 3), n, n == 3, kernel_type="RBF", kernel_params=PARAMS,
                 coefficients=[abs(w) if sign else w for w in flat(n, 3)], rho=[0.1], post_transform="LOGISTIC" if sign else "NONE")
save("svr_linear_model", [node("SVMRegressor", ["x"], ["y"], kernel_type="LINEAR", kernel_params=PARAMS, n_supports=0,
                               coefficients=flat(4), rho=[0.3])], {"x": rnd(5, 4)}, ["y"])
save("svr_row", [node("SVMRegressor", ["x"], ["y"], kernel_type="RBF", kernel_params=PARAMS, n_supports=2,
                      support_vectors=flat(8), coefficients=flat(2), rho=[0.3])], {"x": rnd(4)}, ["y"])

# -- features ------------------------------------------------------------------------

holes = rnd(5, 3)
holes[rng.random(holes.shape) < 0.4] = np.nan
whole = rng.integers(-1, 4, (5, 3))
for name, x, attrs in (
        ("nan", holes, dict(imputed_value_floats=flat(3), replaced_value_float=float("nan"))),
        ("nan_one", holes, dict(imputed_value_floats=[7.5], replaced_value_float=float("nan"))),
        ("number", np.round(rnd(5, 3)), dict(imputed_value_floats=flat(3), replaced_value_float=1.0)),
        ("first", np.round(rnd(5, 3)), dict(imputed_value_floats=flat(2), replaced_value_float=0.0)),
        ("ints", whole, dict(imputed_value_int64s=[10, 20, 30], replaced_value_int64=-1)),
        ("ints_one", whole, dict(imputed_value_int64s=[10], replaced_value_int64=2)),
        ("row", holes[0], dict(imputed_value_floats=flat(3), replaced_value_float=float("nan")))):
    save("imputer_" + name, [node("Imputer", ["x"], ["y"], **attrs)], {"x": x}, ["y"])
words = node("LabelEncoder", ["x"], ["words"], keys_int64s=list(range(5)), values_strings=WORDS[:5], default_string="other")
for name, x, attrs in (
        ("ints", whole, dict(cats_int64s=[3, 0, 1], zeros=1)), ("zeros_unsaid", whole, dict(cats_int64s=[3, 0, 1])),
        ("all", np.abs(whole), dict(cats_int64s=[0, 1, 2, 3], zeros=0)), ("floats", whole.astype(F32) + F32(0.25), dict(cats_int64s=[2, 0, 1])),
        ("doubles", whole.astype(np.float64), dict(cats_int64s=[2, 0, 1])), ("twice", whole, dict(cats_int64s=[1, 2, 1])),
        ("number", np.array(2), dict(cats_int64s=[1, 2, 3])), ("nothing", whole[:0], dict(cats_int64s=[1, 2]))):
    save("one_hot_" + name, [node("OneHotEncoder", ["x"], ["y"], **attrs)], {"x": x}, ["y"])
save("one_hot_words", [words, node("OneHotEncoder", ["words"], ["y"], cats_strings=["red", "", "x y"], zeros=1)], {"x": whole}, ["y"])
for norm in ("MAX", "L1", "L2"):
    x = rnd(4, 3)
    x[1] = 0
    x[2] = -np.abs(x[2])
    for kind in (F32, np.float64, I64):
        given = x.astype(kind) if kind != I64 else np.round(x * 4).astype(I64)
        save("normalizer_%s_%s" % (norm.lower(), np.dtype(kind).name), [node("Normalizer", ["x"], ["y"], norm=norm)], {"x": given}, ["y"])
save("normalizer_row", [node("Normalizer", ["x"], ["y"], norm="MAX")], {"x": rnd(5)}, ["y"])
save("scaler", [node("Scaler", ["x"], ["y"], offset=flat(3), scale=flat(3))], {"x": rnd(4, 3)}, ["y"])
save("scaler_ints", [node("Scaler", ["x"], ["y"], offset=flat(1), scale=flat(1))], {"x": whole}, ["y"])
save("category_mapper", [node("CategoryMapper", ["x"], ["words"], cats_strings=WORDS[:4], cats_int64s=[3, 1, 2, 0],
                              default_string="other"),
                         node("LabelEncoder", ["words"], ["y"], keys_strings=WORDS + ["other"], values_int64s=list(range(7)))],
     {"x": whole}, ["y"])

# -- maps ------------------------------------------------------------------------------

for texts in (False, True):
    attrs = named(3, texts, "classlabels_int64s")
    x, labels = rnd(4, 3), list(attrs.values())[0]
    nodes = [node("ZipMap", ["x"], ["y"], **attrs)]
    value = helper.make_map_type_proto(TensorProto.STRING if texts else TensorProto.INT64,
                                       helper.make_tensor_type_proto(TensorProto.FLOAT, []))
    out = helper.make_value_info("y", helper.make_sequence_type_proto(value))
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", 1, [4, 3])], [out])
    model = helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)])
    maps = run(model, {"x": x}, ["y"])[0]
    cases.keep("zip_map_" + ("words" if texts else "ints"), model, {"x": x},
               {"y": np.array([[row[k] for k in labels] for row in maps], F32)})

# -- trees whose lists are tensors of float64 --------------------------------------------

doubles = lambda *v: helper.make_tensor("", TensorProto.DOUBLE, [len(v)], v)
save("tree_doubles", [node(
    "TreeEnsembleRegressor", ["x"], ["y"], n_targets=1, nodes_treeids=[0] * 5, nodes_nodeids=list(range(5)),
    nodes_featureids=[0, 1, 0, 0, 0], nodes_modes=["BRANCH_LEQ", "BRANCH_LT", "LEAF", "LEAF", "LEAF"],
    nodes_truenodeids=[1, 2, 0, 0, 0], nodes_falsenodeids=[4, 3, 0, 0, 0], nodes_values_as_tensor=doubles(0.1, -0.3, 0, 0, 0),
    nodes_hitrates_as_tensor=doubles(1, 1, 1, 1, 1), target_treeids=[0] * 3, target_nodeids=[2, 3, 4], target_ids=[0] * 3,
    target_weights_as_tensor=doubles(1.25, -2.5, 0.7))], {"x": rnd(8, 2).astype(np.float64)}, ["y"])

# -- loops whose body declares its number and condition with an axis of one element -------

info = helper.make_tensor_value_info
plain = helper.make_node
for name, number, flag in (("number", [1], []), ("both", [1], [1]), ("open", ["n"], [])):
    body = helper.make_graph([
        plain("Shape", ["i"], ["rank"]), plain("Cast", ["i"], ["f"], to=1), plain("Add", ["v", "f"], ["next"]),
        plain("Identity", ["go"], ["on"]), plain("Mul", ["next", "f"], ["scan"])], "body",
        [info("i", TensorProto.INT64, number), info("go", TensorProto.BOOL, flag), info("v", 1, [3])],
        [info("on", TensorProto.BOOL, flag), info("next", 1, [3]), info("scan", 1, [3]), info("rank", TensorProto.INT64, None)])
    save("loop_" + name, [plain("Loop", ["n", "go", "x"], ["y", "z", "r"], body=body)],
         {"x": rnd(3), "n": np.array(3), "go": np.ones(flag, bool)}, ["y", "z", "r"], opset=11)

cases.write()

"""Other readers' word on the ONNX files that cleave writes.

Every file must pass onnx.checker; ten models are run in ONNX Runtime with random
weights, and the shapes that come out must be those that cleave states. Exports
of torch, cases of the ONNX suite with recurrent operators or bodies, and single
nodes of all forms (onnx_schema_cases.py), read and written again at other
opsets, must compute the same.
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../gen"))
BUILD = os.environ.get("CLEAVE_BUILD", "build")
CLEAVE = os.path.join(BUILD, "cli", "cleave")
RUN = ["alexnet", "resnet18", "squeezenet1_1", "mobilenet_v2", "mobilenet_v3_small", "shufflenet_v2_x1_0",
       "mnasnet0_5", "efficientnet_b0", "regnet_x_400mf", "googlenet", "vit_b_32", "swin_t", "convnext_tiny"]
REWRITE = ["resnet18", "mobilenet_v3_small", "shufflenet_v2_x1_0", "swin_t"]
if os.environ.get("CLEAVE_SLOW"):
    CHECK = subprocess.run([CLEAVE, "models", "--names"], capture_output=True, text=True).stdout.split()
else:
    CHECK = ["densenet121", "inception_v3", "vgg11", "maxvit_t", "swin_v2_t", "s3d", "r3d_18", "fcn_resnet50",
             "lraspp_mobilenet_v3_large", "regnet_y_400mf"]


def export(model, path, *flags):
    subprocess.run([CLEAVE, "export", model, "-o", path, *flags], check=True)


def test_runs(model, folder):
    path = os.path.join(folder, model + ".onnx")
    export(model, path, "--weights", "random:1")
    onnx.checker.check_model(path)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feed = {i.name: np.random.default_rng(0).random(i.shape, dtype=np.float32) for i in session.get_inputs()}
    got = session.run(None, feed)
    said = json.loads(subprocess.run([CLEAVE, "profile", model, "--json"], capture_output=True).stdout)
    assert [list(y.shape) for y in got] == [o["shape"] for o in said["outputs"]], "other shapes"
    assert all(np.isfinite(y).all() for y in got), "not finite"
    os.unlink(path)


def test_checks(model, folder):
    for opset in (17, 21):
        path = os.path.join(folder, model + ".onnx")
        export(model, path, "--weights", "zeros", "--opset", str(opset))
        onnx.checker.check_model(path)
        os.unlink(path)


def outputs(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {i.name: np.random.default_rng(0).random(i.shape, dtype=np.float32) for i in session.get_inputs()}
    return session.run(None, feed)


def test_rewrites(model, folder):
    from tv import torch, torchvision
    path = os.path.join(folder, model + ".onnx")
    again = os.path.join(folder, "again.onnx")
    torch.manual_seed(0)
    module = torchvision.models.get_model(model, weights=None).eval()
    torch.onnx.export(module, torch.zeros(1, 3, 224, 224), path, dynamo=False, opset_version=17)
    want = outputs(path)
    for opset in (17, 18, 21):
        export(path, again, "--opset", str(opset))
        onnx.checker.check_model(again)
        for x, y in zip(want, outputs(again)):
            assert np.array_equal(x, y), f"other numbers at opset {opset}"
    # its weights in a file of their own, and the model moved away from them
    apart = os.path.join(folder, "apart")
    away = os.path.join(folder, "away")
    os.mkdir(apart)
    os.mkdir(away)
    onnx.save_model(onnx.load(path), os.path.join(apart, "m.onnx"), save_as_external_data=True, location="m.data")
    for flags in ((), ("--opset", "18")):
        export(os.path.join(apart, "m.onnx"), os.path.join(away, "m.onnx"), *flags)
        for x, y in zip(want, outputs(os.path.join(away, "m.onnx"))):
            assert np.array_equal(x, y), "other numbers with external data"
    shutil.rmtree(apart)
    shutil.rmtree(away)


def test_kinds(kind, folder):
    import export_onnx_kinds as kinds
    path, again = os.path.join(folder, "kind.onnx"), os.path.join(folder, "again.onnx")
    onnx.save_model(kinds.KINDS[kind]()[0], path)
    want = outputs(path)
    for opset in (14, 18, 22):
        export(path, again, "--opset", str(opset))
        onnx.checker.check_model(again, full_check=True)
        for x, y in zip(want, outputs(again)):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


SUITE = "/usr/share/libonnx-testdata/data/node/test_"
CASES = [c for kind in ("lstm*", "gru*", "simple_rnn*", "rnn*", "if", "loop11", "scan9_sum", "range*expanded")
         for c in sorted(glob.glob(SUITE + kind)) if "batchwise" not in c]  # which ONNX Runtime does not run


def test_suite(case, folder):
    source, again = os.path.join(case, "model.onnx"), os.path.join(folder, "again.onnx")
    feed = {}
    for i, value in enumerate(onnx.load(source).graph.input):
        with open(os.path.join(case, f"test_data_set_0/input_{i}.pb"), "rb") as f:
            feed[value.name] = onnx.numpy_helper.to_array(onnx.TensorProto.FromString(f.read()))
    want = onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"]).run(None, feed)
    for opset in (14, 17, 22):
        export(source, again, "--opset", str(opset))
        onnx.checker.check_model(again, full_check=True)
        session = onnxruntime.InferenceSession(again, providers=["CPUExecutionProvider"])
        got = session.run(None, {i.name: feed[i.name] for i in session.get_inputs()})
        for x, y in zip(want, got):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


# Operators that some opsets lack, or whose results depend on data: every case
# of theirs, written at an older and at the newest opset.
NODES = ["Attention", "RotaryEmbedding", "RMSNormalization", "LayerNormalization", "GroupNormalization", "Gelu",
         "Swish", "Mish", "HardSwish", "NonZero", "NonMaxSuppression", "Unique", "Compress", "ScatterElements",
         "ConvTranspose", "Resize", "QuantizeLinear", "DequantizeLinear", "Softmax", "GridSample", "TopK", "OneHot",
         "SequenceAt", "SequenceConstruct", "SplitToSequence", "CumSum", "Range", "Trilu", "ConvInteger",
         "QLinearConv", "DeformConv", "Celu", "LpPool", "ReduceLogSum", "TfIdfVectorizer", "StringNormalizer"]
# No older form: refused, with the node's name. ONNX Runtime goes ways of its own
# with dilated pools padded "same", and nearest of Resize-10 when it shrinks.
REFUSED = "has no form in ONNX opset"
LEFT_OUT = {"Resize10_1", "LpPool18_12", "LpPool18_13", "LpPool22_12", "LpPool22_13", "LpPool22_34", "LpPool22_35"}


def session_of(model):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def same(x, y):
    if isinstance(x, list):
        return len(x) == len(y) and all(map(same, x, y))
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape or x.dtype.kind in "OU":
        return x.dtype == y.dtype and x.shape == y.shape and (x.dtype.kind not in "OU" or (x == y).all())
    loose = x.dtype == np.float16
    return np.allclose(x.astype(float), y.astype(float), rtol=2e-3 if loose else 1e-4, atol=1e-5, equal_nan=True)


def rewritten(case, model, want, opset, folder):
    """Whether the case was written at that opset; fails if it computes otherwise."""
    source, again = os.path.join(folder, "node.onnx"), os.path.join(folder, "again.onnx")
    onnx.save(model, source)
    p = subprocess.run([CLEAVE, "export", source, "-o", again, "--opset", str(opset)], capture_output=True, text=True)
    if p.returncode:
        assert REFUSED in p.stderr and case.name in p.stderr, p.stderr
        return False
    onnx.checker.check_model(again)
    try:
        session = session_of(again)
    except onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented:
        return False  # a type that its old kernels lack
    got = session.run(None, {i.name: case.feeds[i.name] for i in session.get_inputs()})
    assert all(map(same, want, got)), f"{case.name}: other numbers at opset {opset}"
    return True


def test_nodes(op, folder):
    import onnx_schema
    from onnx_schema_cases import cases_of
    written = 0
    newest = max(s.since_version for s in onnx.defs.get_all_schemas_with_history() if s.name == op and not s.domain)
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.name != op or schema.domain or (schema.since_version < 10 and schema.since_version != newest):
            continue
        for case in cases_of(schema):
            model = onnx_schema.make_model(case, schema.since_version)
            try:
                want = session_of(model.SerializeToString()).run(None, case.feeds)
            except Exception:  # ONNX Runtime has no kernel for it
                continue
            if case.name not in LEFT_OUT:
                written += sum(rewritten(case, model, want, opset, folder) for opset in (13, 22))
    assert written, "none could be written"


passed = failed = 0
with tempfile.TemporaryDirectory() as folder:
    for test, models in ((test_runs, RUN), (test_checks, CHECK), (test_rewrites, REWRITE),
                         (test_suite, CASES), (test_nodes, NODES),
                         (test_kinds, ["control_flow", "lstm", "gru", "rnn"])):
        for model in models:
            try:
                test(model, folder)
                passed += 1
            except Exception as e:  # every model is reported
                failed += 1
                print(f"FAIL {test.__name__} {model}: {str(e)[:300]}")
print(f"# {passed} passed, {failed} failed, 0 skipped")
sys.exit(failed != 0)

"""Writes tests/data/onnx_schema/: nodes of every version of every operator.

One file per opset, and per version of ai.onnx.ml. Its graph has one node per case, of the operator's version
that begins with that opset; what its outputs are stands in outputs.csv, not in
the file. The truth is what ONNX Runtime made of random inputs, else what
onnx.shape_inference says, else what onnx.reference makes. What feeds a shape, an axis or a count is an
initializer, as exporters write it. A case that nothing outside can judge is
left out, and counted.

    onnx_schema.py [--cleave PATH] [NAME...]

With --cleave, each case is also read by that program alone and every
disagreement printed; nothing is written then. NAME: only those operators.

Operators whose results depend on data alone (ImageDecoder) have no case.
onnx_schema_cases.py has the cases.
"""
import argparse
import collections
import csv
import json
import os
import subprocess
import tempfile
import warnings

import numpy as np
import onnx
import onnx.reference
import onnx.shape_inference
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from onnx_schema_cases import cases_of

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data",
                    "onnx_schema")
BOUND = 300_000  # bytes of one file
IR = {9: 4, 10: 5, 11: 6, 12: 7, 13: 7, 14: 7, 15: 8, 16: 8, 17: 8, 18: 8,
      19: 9, 20: 9, 21: 10, 22: 10, 23: 11, 24: 12, 25: 13, 26: 13, 27: 14}


def type_proto(value):
    """The type of what an operator yielded."""
    if isinstance(value, list):
        one = type_proto(value[0]) if value else None
        if one is None:
            return None
        for v in value[1:]:
            if type_proto(v) != one:
                one.tensor_type.ClearField("shape")
        return helper.make_sequence_type_proto(one)
    if value is None or isinstance(value, dict):
        return None
    value = np.asarray(value)
    if value.dtype.kind in "OUS":
        kind = TensorProto.STRING
    else:
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_type_proto(kind, value.shape)


def is_whole(t):
    """Says the type and every dimension of a tensor."""
    if t is None or t.WhichOneof("value") is None:
        return False
    kind = t.WhichOneof("value")
    if kind in ("sequence_type", "optional_type"):
        return is_whole(getattr(t, kind).elem_type)
    return (kind == "tensor_type" and t.tensor_type.elem_type != 0
            and t.tensor_type.HasField("shape")
            and all(d.HasField("dim_value") for d in t.tensor_type.shape.dim))


def make_model(case, opset):
    """The node of a case alone; outputs without a type."""
    inputs = [helper.make_value_info(n, type_proto(v) if not case.types.get(n)
                                     else case.types[n])
              for n, v in case.feeds.items()]
    tensors = [numpy_helper.from_array(v, n) for n, v in case.constants.items()]
    outputs = [onnx.ValueInfoProto(name=o) for n in case.nodes[-1:] for o in n.output if o]
    graph = helper.make_graph(case.nodes, case.name, inputs, outputs, tensors)
    imports = [helper.make_opsetid("", opset)]
    if case.domain:
        imports = [helper.make_opsetid("", 17), helper.make_opsetid(case.domain, opset)]
    return helper.make_model(graph, ir_version=IR.get(opset, 14 if opset > 27 else 4)
                             if not case.domain else 8,
                             opset_imports=imports)


def by_runtime(model, case):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = \
        onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return [type_proto(v) for v in session.run(None, case.feeds)]
    except Exception:  # no kernel for that version or type
        return None


def by_reference(model, case):
    try:
        names = [o.name for o in model.graph.output]
        run = onnx.reference.ReferenceEvaluator(model)
        return [type_proto(v) for v in run.run(names, case.feeds)]
    except Exception:  # not implemented, or not at that version
        return None


def by_inference(model, case):
    try:
        done = onnx.shape_inference.infer_shapes(model, check_type=True,
                                                 strict_mode=True, data_prop=True)
    except Exception as e:
        case.error = str(e)
        return None
    return [o.type if is_whole(o.type) else None for o in done.graph.output]


def later(model, case):
    """The same node at the next opsets: those of version 1 that only said
    which inputs may be overwritten have no inference of their own."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    node = copy.graph.node[-1]
    drop = [a for a in node.attribute if a.name in ("consumed_inputs", "is_test")]
    for a in drop:
        node.attribute.remove(a)
    if node.op_type == "Cast":
        to = TensorProto.DataType.Value(node.attribute[0].s.decode())
        node.attribute[0].CopyFrom(helper.make_attribute("to", to))
    for opset in (6, 7):
        copy.opset_import[0].version = opset
        types = by_inference(copy, case)
        if types and all(types):
            return types
    return None


# Where ONNX Runtime does not do what the specification says, or hands back
# another type than it made: what inference says goes first.
def trusts_inference(case):
    node = case.nodes[-1]
    names = {a.name: a for a in node.attribute}
    return (node.op_type in ("Optional", "Cast", "CastLike")
            or ("Pool" in node.op_type and "dilations" in names
                and b"SAME" in names["auto_pad"].s if "auto_pad" in names else False))


def truth(model, case):
    """Types of the outputs, or None; and who said so."""
    inferred = by_inference(model, case)
    known = bool(inferred) and all(inferred)
    if known and trusts_inference(case):
        return inferred, "inference"
    types = by_runtime(model, case)
    if types and all(types):
        for a, b in zip(types, inferred or []):
            if b is not None and a != b:
                case.remarks.append("ort and inference differ: %s %s" % (text(a), text(b)))
        return types, "ort"
    # The reference evaluator is loose with types, and some of its old versions
    # are the new ones: inference goes before it.
    if known:
        return inferred, "inference"
    types = by_reference(model, case)
    if types and all(types):
        return types, "reference"
    if model.opset_import[0].version == 1:
        return later(model, case), "a later version"
    return None, None


def text(t):
    kind = t.WhichOneof("value")
    if kind == "sequence_type":
        return "sequence of " + text(t.sequence_type.elem_type)
    if kind == "optional_type":
        return "optional of " + text(t.optional_type.elem_type)
    t = t.tensor_type
    dims = [d.dim_value for d in t.shape.dim] if t.HasField("shape") else None
    name = TensorProto.DataType.Name(t.elem_type).lower()
    ours = {"float": "float32", "double": "float64", "float8e4m3fn": "float8e4m3"}
    return "%s %s" % (ours.get(name, name), dims)


def ask(cleave, model, folder):
    """What our reader says of the outputs, each as text."""
    path, out = os.path.join(folder, "m.onnx"), os.path.join(folder, "m.json")
    onnx.save(model, path)
    p = subprocess.run([cleave, "export", path, "-o", out], capture_output=True,
                       text=True)
    if p.returncode:
        return p.stderr.strip() or "exit %d" % p.returncode
    with open(out) as f:
        g = json.load(f)
    unknown = [n["op"] for n in g["nodes"] if n["op"] == "unknown"]
    if unknown:
        return "unknown operator"
    by_id = {v["id"]: v for v in g["values"]}
    says = []
    for o in (by_id[i] for i in g["outputs"]):
        s = "%s %s" % (o["dtype"], o["shape"])
        if "sequence" in o:
            s = "sequence of " + s
        if o.get("optional"):
            s = "optional of " + s
        says.append(("at most " if o.get("bound") else "") + s)
    return says


def agrees(said, types):
    if isinstance(said, str) or len(said) != len(types):
        return False
    for s, t in zip(said, types):
        if s.startswith("at most ") and "[" in s and "[" in text(t):
            t = text(t)
            a, b = json.loads(s[s.index("["):]), json.loads(t[t.index("["):])
            if len(a) != len(b) or any(x < y for x, y in zip(a, b)) or \
                    s[8:s.index("[")] != t[:t.index("[")]:
                return False
        elif s != text(t):
            return False
    return True


def compare(args, found):
    wrong = 0
    with tempfile.TemporaryDirectory(dir=".") as folder:
        for opset, case, model, types, source in found:
            said = ask(args.cleave, model, folder)
            if not agrees(said, types):
                wrong += 1
                print("%s: cleave %s; %s %s" % (case.name, said, source,
                                                [text(t) for t in types]))
                print("   ", [text(type_proto(v)) for v in case.feeds.values()],
                      {k: v.tolist() for k, v in case.constants.items()},
                      helper.printable_node(case.nodes[-1]))
    print("%d of %d disagree" % (wrong, len(found)))


def write(found):
    os.makedirs(HERE, exist_ok=True)
    models, rows = {}, []
    for opset, case, model, types, source in found:
        name = "%s%02d" % ("ml" if case.domain else "opset", opset)
        if name not in models:
            models[name] = onnx.ModelProto()
            models[name].CopyFrom(model)
            models[name].graph.name = "cases"
        else:
            models[name].graph.MergeFrom(model.graph)
        for o, t in zip(model.graph.output, types):
            kind, dims = text(t).rsplit(" ", 1) if text(t).endswith("None") else \
                text(t).split(" [")
            dims = "?" if dims == "None" else dims.rstrip("]").replace(", ", "x")
            rows.append((name, o.name, kind, dims))
    for name, m in models.items():
        data = m.SerializeToString()
        assert len(data) < BOUND, (name, len(data))
        with open(os.path.join(HERE, name + ".onnx"), "wb") as f:
            f.write(data)
    with open(os.path.join(HERE, "outputs.csv"), "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(("file", "output", "type", "shape"))
        out.writerows(sorted(rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found, sources, without = [], collections.Counter(), []
    schemas = sorted((s for s in onnx.defs.get_all_schemas_with_history()
                      if s.domain in ("", "ai.onnx.ml")),
                     key=lambda s: (s.domain, s.name, s.since_version))
    for schema in schemas:
        if args.names and schema.name not in args.names:
            continue
        before = len(found)
        for case in cases_of(schema):
            model = make_model(case, schema.since_version)
            types, source = truth(model, case)
            for remark in case.remarks:
                print("#", case.name, remark)
            sources[source if types else None] += 1
            if types is None:
                if args.verbose:
                    print("no truth:", case.name, case.error)
                continue
            found.append((schema.since_version, case, model, types, source))
        if len(found) == before and not schema.deprecated:
            without.append("%s-%d" % (schema.name, schema.since_version))
    if args.cleave:
        compare(args, found)
    else:
        write(found)
    print("truth from", dict(sources))
    print("of %d versions, without a case: %s" % (len(schemas), " ".join(without)))


if __name__ == "__main__":
    main()

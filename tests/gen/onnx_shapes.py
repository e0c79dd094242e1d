"""onnx_shapes.py - what ONNX Runtime says every node of tests/data/onnx yields.

Each file is run once, unoptimised, with zeros for the absent weights and every
intermediate value as an output. shapes.csv has, per file and operator, the
number of nodes in the main graph and of the elements in all their outputs: a
sum that is only right if every shape is. Files whose shapes depend on the
data (detection models) are left out.

    onnx_shapes.py [FOLDER [FILE ...]]      (all files by default)
"""
import collections
import csv
import os
import sys
import tempfile

import numpy
import onnx
import onnxruntime
from onnx_folder import default_folder
from onnx_strip import ABSENT

TYPES = {onnx.TensorProto.FLOAT: "float32", onnx.TensorProto.FLOAT16: "float16",
         onnx.TensorProto.INT64: "int64"}


def feeds(model, text):
    """Ones for every input; `text` is the manifest's, such as 1x16+1x16."""
    weights = {t.name for t in model.graph.initializer}
    inputs = [v for v in model.graph.input if v.name not in weights]
    shapes = [tuple(map(int, s.split("x"))) for s in text.split("+")]
    return {v.name: numpy.ones(s, TYPES[v.type.tensor_type.elem_type])
            for v, s in zip(inputs, shapes)}


def run(model, inputs):
    """Elements of every value that a node of the main graph yields."""
    names = [o for n in model.graph.node for o in n.output if o]
    outputs = {v.name for v in model.graph.output}
    model.graph.output.extend(onnx.ValueInfoProto(name=n) for n in names
                              if n not in outputs)
    with tempfile.TemporaryDirectory() as d:
        path = os.path.join(d, "model.onnx")
        with open(path, "wb") as f:
            f.write(model.SerializeToString())
        with open(os.path.join(d, ABSENT), "wb") as f:
            f.truncate(2 << 30)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.graph_optimization_level = \
            onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"])
        values = session.run(names, inputs)
    return {n: v.size for n, v in zip(names, values)}


def table(path, text):
    """Rows (operator, nodes, elements) of one file."""
    model = onnx.load(path, load_external_data=False)
    nodes = list(model.graph.node)
    sizes = run(model, feeds(model, text))
    count, total = collections.Counter(), collections.Counter()
    for n in nodes:
        count[n.op_type] += 1
        total[n.op_type] += sum(sizes[o] for o in n.output if o)
    return [(op, count[op], total[op]) for op in sorted(count)]


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else default_folder()
    only, kept = set(sys.argv[2:]), []
    with open(os.path.join(folder, "manifest.csv"), newline="") as f:
        rows = [r for r in csv.DictReader(f) if r["macs"]]
    if only:
        with open(os.path.join(folder, "shapes.csv"), newline="") as f:
            kept = [tuple(r) for r in csv.reader(f)][1:]
    with open(os.path.join(folder, "shapes.csv"), "w", newline="") as f:
        out = csv.writer(f, lineterminator="\n")
        out.writerow(("file", "operator", "nodes", "elements"))
        for r in rows:
            if only and r["file"] not in only:
                out.writerows(k for k in kept if k[0] == r["file"])
                continue
            try:
                lines = table(os.path.join(folder, r["file"]), r["input"])
            except Exception as e:
                print(f"{r['file']}: FAILED {e!s:.300}")
                continue
            out.writerows((r["file"], *line) for line in lines)


if __name__ == "__main__":
    main()

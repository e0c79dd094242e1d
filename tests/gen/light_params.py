"""light_params.py - parameters of the nine light_* networks of the ONNX suite.

Their weights are filled by ConstantOfShape; a parameter is what convolutions,
matrix products and batch norms (scale and bias) read, through any Reshape.
Counted here with the onnx package alone; writes file,params to stdout.

    light_params.py FOLDER > tests/data/onnx/light/params.csv
"""
import math
import os
import sys

import onnx
from onnx import numpy_helper

READ = {"Conv": (1, 2), "Gemm": (1, 2), "MatMul": (1,),
        "BatchNormalization": (1, 2)}
# Caffe's Scale layers, where their numbers are stored and not filled.
ALSO = {"Mul": (1,), "Add": (1,)}


def count(model):
    stored = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    made = {o: n for n in model.graph.node for o in n.output}
    seen = {}

    def size(name):
        while made.get(name) and made[name].op_type in ("Reshape", "Unsqueeze"):
            name = made[name].input[0]
        if name in stored:
            return name, stored[name].size
        if name in made and made[name].op_type == "ConstantOfShape":
            return name, math.prod(int(d) for d in stored[made[name].input[0]])
        return name, 0

    for n in model.graph.node:
        for i in READ.get(n.op_type, ()):
            if i < len(n.input):
                seen.update([size(n.input[i])])
        for i in ALSO.get(n.op_type, ()):
            name, amount = size(n.input[i])
            if name in stored and stored[name].dtype.kind == "f":
                seen[name] = amount
    return sum(seen.values())


print("file,params")
for f in sorted(os.listdir(sys.argv[1])):
    if f.endswith(".onnx"):
        print(f"{f},{count(onnx.load(os.path.join(sys.argv[1], f)))}")

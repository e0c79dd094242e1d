"""Writes picture.tflite and strip.tflite into tests/data/tflite_more: the convolution of
tests/data/tflite/conv_valid.tflite with open sizes, which stand there as 1, as TensorFlow
writes them: its height and width in the first, its height alone in the second.

    python tests/gen/tflite_open.py          (needs ai-edge-litert and flatbuffers)
"""
import pathlib

import flatbuffers
from ai_edge_litert import schema_py_generated as schema

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"


def write(name, *axes):
    data = (DATA / "tflite" / "conv_valid.tflite").read_bytes()
    model = schema.ModelT.InitFromPackedBuf(data, 0)
    graph = model.subgraphs[0]
    for place in (*graph.inputs, *graph.outputs):
        tensor = graph.tensors[place]
        tensor.shape = [1 if i in axes else n for i, n in enumerate(tensor.shape)]
        tensor.shapeSignature = [-1 if i in axes else n for i, n in enumerate(tensor.shape)]
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    (DATA / "tflite_more" / name).write_bytes(bytes(builder.Output()))


write("picture.tflite", 1, 2)
write("strip.tflite", 1)

"""onnx_strip.py - takes the weights out of an ONNX model, keeps the graph.

A weight becomes a reference to external data in a file that does not exist:
its name, type and dims stay, its bytes go. Constants that shape arithmetic
may need (integers up to 1 KB, floats up to 128 bytes) stay inline. Source
text (doc strings, stack traces) is dropped; module scopes stay.

    onnx_strip.py IN.onnx OUT.onnx
"""
import sys

import onnx
from onnx import TensorProto

ABSENT = "weights-absent.bin"
FLOATS = (TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16,
          TensorProto.DOUBLE)
SCOPES = ("namespace", "pkg.torch.onnx.name_scopes")


def graphs(graph):
    """The graph and every graph nested in its nodes' attributes."""
    yield graph
    for node in graph.node:
        for attr in node.attribute:
            for sub in [attr.g, *attr.graphs]:
                if sub.node:
                    yield from graphs(sub)


def tensors(graph):
    for g in graphs(graph):
        yield from g.initializer
        for node in g.node:
            yield from (a.t for a in node.attribute if a.HasField("t"))


def elements(model):
    """How many numbers the initializers of a model hold."""
    total = 0
    for g in graphs(model.graph):
        for t in g.initializer:
            size = 1
            for d in t.dims:
                size *= d
            total += size
    return total


def strip(model, value_info=True, scopes=SCOPES):
    """Strips `model` in place and returns it."""
    offset = 0
    for t in tensors(model.graph):
        absent = t.data_location == TensorProto.EXTERNAL
        data = None if absent or not t.dims else onnx.numpy_helper.to_array(t)
        limit = 128 if t.data_type in FLOATS else 1024
        if data is None or data.nbytes <= limit:
            continue
        size = raw_size(t, data)
        dims, kind, name = list(t.dims), t.data_type, t.name
        t.Clear()
        t.dims.extend(dims)
        t.data_type, t.name = kind, name
        t.data_location = TensorProto.EXTERNAL
        for key, value in (("location", ABSENT), ("offset", str(offset)),
                           ("length", str(size))):
            t.external_data.add(key=key, value=value)
        offset += (size + 63) // 64 * 64
    model.ClearField("doc_string")
    if not value_info:
        model.graph.ClearField("metadata_props")
    for g in list(graphs(model.graph)) + list(model.functions):
        tidy(g, value_info, scopes)
    return model


def raw_size(t, data):
    """Bytes of a tensor in a file: four-bit types pack two to a byte."""
    packed = t.data_type in (TensorProto.INT4, TensorProto.UINT4)
    return (data.size + 1) // 2 if packed else data.nbytes


def tidy(g, value_info, scopes):
    g.ClearField("doc_string")
    weights = {t.name for t in getattr(g, "initializer", [])}
    shapes = [v for v in g.value_info if value_info and v.name not in weights]
    del g.value_info[:]
    g.value_info.extend(shapes)
    for v in g.value_info:
        v.ClearField("metadata_props")
    for node in g.node:
        node.ClearField("doc_string")
        kept = [(p.key, p.value) for p in node.metadata_props if p.key in scopes]
        del node.metadata_props[:]
        for key, value in kept:
            node.metadata_props.add(key=key, value=value)
        for attr in node.attribute:
            attr.ClearField("doc_string")


def shorten(model):
    """Gives intermediate values short names; node names keep the scopes."""
    keep = {v.name for v in [*model.graph.input, *model.graph.output]}
    for g in graphs(model.graph):
        keep |= {t.name for t in g.initializer} | {v.name for v in g.input}
    new = {"": ""}
    for g in graphs(model.graph):
        for node in g.node:
            for name in node.output:
                if name not in keep:
                    new.setdefault(name, f"v{len(new)}")
    for g in graphs(model.graph):
        for node in g.node:
            node.input[:] = [new.get(n, n) for n in node.input]
            node.output[:] = [new.get(n, n) for n in node.output]
        for v in [*g.value_info, *g.output]:
            v.name = new.get(v.name, v.name)
    return model


if __name__ == "__main__":
    source, target = sys.argv[1:]
    onnx.save_model(strip(onnx.load(source)), target)

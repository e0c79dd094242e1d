#!/usr/bin/env python3
"""Writes tests/data/kernels_casts.txt: conversions to floats of 8 bits as ONNX's
reference makes them, in the form that tests/ops_case.h reads."""
import os

import ml_dtypes
import numpy
import onnx
from onnx.reference.ops.op_cast import cast_to

T = onnx.TensorProto
TYPES = {
    "float8e4m3": T.FLOAT8E4M3FN,
    "float8e4m3uz": T.FLOAT8E4M3FNUZ,
    "float8e5m2": T.FLOAT8E5M2,
    "float8e5m2uz": T.FLOAT8E5M2FNUZ,
}
x = numpy.array([0, 1.0625, -3.3, 447, 464.1, -700, 65536, 1e9, -1e9, 2.0**-10], dtype=numpy.float32)
scale = numpy.array(0.5, dtype=numpy.float32)
powers = numpy.array([1, 1.01, 1.49, 1.5, 1.51, 3, 5, 0.3, 1024], dtype=numpy.float32)


def text(name, a):
    return "%s[%s]{%s}" % (name, ",".join(map(str, a.shape)), ",".join("%.9g" % v for v in a.flatten()))


def case(op, ins, name, y):
    print(op, file=out)
    print("< " + " ".join(text("float32", a) if isinstance(a, numpy.ndarray) else a for a in ins), file=out)
    print("> " + text(name, y.astype(numpy.float32)) + "\n", file=out)


with numpy.errstate(all="ignore"), open(
    os.path.join(os.path.dirname(__file__), "..", "data", "kernels_casts.txt"), "w"
) as out:
    for name, t in TYPES.items():
        zero = name + "[]{0}"
        for saturate in (1, 0):
            case('cast dtype="%s" saturate=%d' % (name, saturate), [x], name, cast_to(x, t, bool(saturate)))
            case("quantize_linear saturate=%d" % saturate, [x, scale, zero], name,
                 cast_to(x / scale, t, bool(saturate)))
    for how in ("up", "down", "nearest"):
        case('cast dtype="float8e8m0" rounding="%s"' % how, [powers], "float8e8m0",
             cast_to(powers, T.FLOAT8E8M0, True, how))
    case('cast dtype="float8e8m0"', [powers], "float8e8m0", cast_to(powers, T.FLOAT8E8M0, True))
    small = numpy.array([0, 0.24, 0.25, 0.3, 0.75, 2.5, -5, 7, -100], dtype=numpy.float32)
    case('cast dtype="float4e2m1"', [small], "float4e2m1", small.astype(ml_dtypes.float4_e2m1fn))

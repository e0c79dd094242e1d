#!/usr/bin/env python3
"""Writes tests/data/small_floats.txt: what ml_dtypes and ONNX make of the
floats of 16, 8 and 4 bits.

    decode TYPE VALUE...            of code 0, 1, 2, .. (types of 8 and 4 bits)
    encode TYPE plain X:CODE...     as ml_dtypes (and NumPy) round
    encode TYPE saturate X:CODE...  as ONNX's Cast does by default
"""
import os

import ml_dtypes
import numpy
import onnx

TYPES = {
    "float16": numpy.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float8e4m3": ml_dtypes.float8_e4m3fn,
    "float8e4m3uz": ml_dtypes.float8_e4m3fnuz,
    "float8e5m2": ml_dtypes.float8_e5m2,
    "float8e5m2uz": ml_dtypes.float8_e5m2fnuz,
    "float8e8m0": ml_dtypes.float8_e8m0fnu,
    "float4e2m1": ml_dtypes.float4_e2m1fn,
}
rng = numpy.random.default_rng(0)


def bits(t):
    return 16 if t.itemsize == 2 else 4 if t == ml_dtypes.float4_e2m1fn else 8


def codes(x):
    return x.view(numpy.uint16 if x.dtype.itemsize == 2 else numpy.uint8)


def inputs(name, every):
    """Numbers in and around the range, ties between neighbours, and what no
    type can hold. All are float32: ml_dtypes rounds a double twice."""
    finite = numpy.unique(every[numpy.isfinite(every)])
    ties = (finite[1:] + finite[:-1]) / 2
    if len(ties) > 40:
        ties = rng.choice(ties, 40, replace=False)
    ties = ties.astype(numpy.float32)
    up, down = numpy.float32(numpy.inf), numpy.float32(-numpy.inf)
    near = numpy.concatenate([ties, numpy.nextafter(ties, up), numpy.nextafter(ties, down)])
    most, least = finite[-1], finite[finite > 0][0]
    edges = most * numpy.array([1, 1.01, 1.03125, 1.0625, 1.0626, 1.125, 1.126, 1.25, 1.5, 2, 1e6])
    tiny = least * numpy.array([1, 0.75, 0.5, 0.499999, 0.500001, 0.25, 1e-6])
    some = rng.standard_normal(20) * 2.0 ** rng.integers(-10, 10, 20)
    x = numpy.concatenate([near, edges, -edges, tiny, -tiny, some, [0.0, -0.0, numpy.nan, numpy.inf, -numpy.inf]])
    x = x.astype(numpy.float32)
    return numpy.abs(x) if name == "float8e8m0" else x


def saturated(x, t):
    if t == ml_dtypes.float8_e8m0fnu:
        return onnx.numpy_helper.to_float8e8m0(x, True, "nearest").astype(t)
    if bits(t) == 8:
        return onnx.numpy_helper.saturate_cast(x, t)
    return None


def pairs(x, y):
    return " ".join(f"{float(a)!r}:{int(c)}" for a, c in zip(x, codes(y)))


with numpy.errstate(all="ignore"), open(
    os.path.join(os.path.dirname(__file__), "..", "data", "small_floats.txt"), "w"
) as out:
    for name, t in TYPES.items():
        dtype = numpy.dtype(t)
        n = bits(dtype)
        every = numpy.arange(2**n, dtype=numpy.uint16 if n == 16 else numpy.uint8).view(dtype).astype(numpy.float64)
        if n < 16:
            print("decode", name, *(repr(float(v)) for v in every), file=out)
        x = inputs(name, every)
        print("encode", name, "plain", pairs(x, x.astype(dtype)), file=out)
        if name == "float8e8m0":  # ONNX's text saturates infinity, its code does not
            x = x[~numpy.isinf(x)]
        y = saturated(x, dtype)
        if y is not None:
            print("encode", name, "saturate", pairs(x, y), file=out)

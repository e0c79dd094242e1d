#!/usr/bin/env python3
"""Writes tests/data/plain.npz and packed.npz: the same arrays, stored and
deflated by NumPy, so that every kind of block is there; and a seed for fuzzing
of each kind."""
import os
import zipfile
import zlib

import numpy

DATA = os.path.join(os.path.dirname(__file__), "..", "data")
SEEDS = os.path.join(DATA, "..", "..", "fuzz", "corpus", "npy")
rng = numpy.random.default_rng(0)
arrays = {
    "ramp": numpy.arange(2000, dtype=numpy.int64).reshape(20, 100),
    "noise": rng.integers(0, 256, 3000, dtype=numpy.uint8),
    "few": numpy.array([1.5, -2], dtype=numpy.float32),
    "zeros": numpy.zeros((40, 50), dtype=numpy.float32),
    "words": rng.choice(numpy.array([0, 1, 2, 300], dtype=numpy.int32), 1500),
    "none": numpy.zeros((0, 3), dtype=numpy.float32),
}
numpy.savez(os.path.join(DATA, "plain.npz"), **arrays)
numpy.savez_compressed(os.path.join(DATA, "packed.npz"), **arrays)


class Level:
    """zipfile's deflate with another strategy."""

    def __init__(self, *args):
        self.args = args

    def __enter__(self):
        self.old = zlib.compressobj
        zlib.compressobj = lambda *a, **k: self.old(*self.args)

    def __exit__(self, *_):
        zlib.compressobj = self.old


for name, args in (("stored", (0, 8, -15)), ("fixed", (9, 8, -15, 8, zlib.Z_FIXED)), ("dynamic", (9, 8, -15))):
    with Level(*args), zipfile.ZipFile(os.path.join(SEEDS, name + ".npz"), "w", zipfile.ZIP_DEFLATED) as z:
        numpy.save(os.path.join(SEEDS, "x.npy"), arrays["words"][:100])
        z.write(os.path.join(SEEDS, "x.npy"), "x.npy")
        os.remove(os.path.join(SEEDS, "x.npy"))

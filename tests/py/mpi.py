"""Recurrent networks, U-Nets and a text encoder on MPI ranks: equal to one process bit for
bit, and to ONNX Runtime. tests/gen/mpi_matrix.py runs the whole list."""
import os
import shutil
import types

import py_check as t

PICKED = [("rnn", 3), ("crnn", 2), ("unet_plain", 4), ("unet_time", 3), ("bert-mini", 6), ("yolo11n", 5)]


def test_mpi():
    import mpi_matrix as m
    build = os.environ["CLEAVE_BUILD"]
    a = types.SimpleNamespace(cleave=f"{build}/cli/cleave", cleave_mpi=f"{build}/mpi/cleave-mpi", mpirun="mpirun")
    if os.system(f"{a.cleave_mpi} --version >/dev/null 2>&1") or not shutil.which("mpirun"):
        t.skip("no MPI")
        return
    for i, (name, stages) in enumerate(PICKED):
        m.prepare(name, os.getcwd(), a.cleave)
        n, _, wrong = m.run(a, name, stages, os.getcwd(), 1 + i % 3)
        t.equal((n, wrong), (stages, ""), name)


t.main(globals())

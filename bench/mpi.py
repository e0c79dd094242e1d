"""Parts on two MPI ranks with one thread each: what a hop costs beyond the copy of its bytes
(50 us), how much of the schedule's prediction is reached (0.9), how much faster two ranks are
than one process (1.7 times, resnet50), whether batches take what the simulation says, and how
soon all ranks end when one is killed (5 s).

Runs alternate, and medians of them are shown; a hop is the fastest of many, less the fastest
of each stage. On a machine that others use, two ranks do not get two cores."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROUNDS = int(os.environ.get("CLEAVE_BENCH_ROUNDS", "5"))
BUILD = os.environ.get("CLEAVE_BUILD", "build")
MPI = f"{BUILD}/mpi/cleave-mpi"
MPIRUN = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--mca", "btl_vader_single_copy_mechanism", "none"]
missed = False


def line(name, value, unit, bound, kept):
    global missed
    missed |= not kept
    print(f"{name}: {value} {unit} ({bound}){'' if kept else '  MISSED'}", flush=True)


def cut(model, folder, *flags):
    subprocess.run([f"{BUILD}/cli/cleave", "partition", model, "-s", "pipeline", "--stages", "2", "-q", "-o", folder,
                    *flags], check=True, stdout=subprocess.DEVNULL)


def ranks(folder, *flags):
    out = subprocess.run([*MPIRUN, "-n", "2", MPI, "run", folder, "--random", "--threads", "1", "--json", *flags],
                         check=True, capture_output=True, text=True).stdout
    return json.loads(out)


def copy_seconds(n):
    """Of n bytes, the fastest of many."""
    a, b = bytearray(n), bytearray(n)
    best = 1.0
    for _ in range(300):
        t = time.perf_counter()
        a[:] = b
        best = min(best, time.perf_counter() - t)
    return best


def median(x):
    return sorted(x)[len(x) // 2]


def hops(folder):
    cut("squeezenet1_1", folder, "--input-shape", "1,3,64,64")
    least = []
    for _ in range(ROUNDS):
        r = ranks(folder, "--repeat", "1000")
        links = [x["bytes"] for x in r["links"] if x["from"] is not None]
        own = sum(p["fastest_seconds"] for p in r["partitions"])
        copies = sum(copy_seconds(n) for n in links)
        least.append((r["batch_seconds_fastest"] - own - copies) / len(links))
    line("a hop beyond its copy", f"{1e6 * median(least):.1f}", "us", "below 50", median(least) < 50e-6)


def throughput(folder):
    cut("resnet50", folder)
    reached, faster, inside = [], [], []
    for _ in range(ROUNDS):
        r = ranks(folder, "--micro-batches", "16", "--repeat", "3", "--verify")
        reached.append(r["predicted_batch_seconds"] / r["batch_seconds"])
        faster.append(r["one_process_seconds"] / r["batch_seconds"])
        inside.append(r["predicted_batch_seconds_low"] <= r["batch_seconds"] <= r["predicted_batch_seconds_high"])
    line("throughput over the schedule's", f"{median(reached):.3f}", "", "at least 0.9", median(reached) >= 0.9)
    line("two ranks over one process", f"{median(faster):.2f}", "times", "at least 1.7", median(faster) >= 1.7)
    line("batches inside the simulation's bar", f"{sum(inside)} of {len(inside)}", "", "more than half",
         2 * sum(inside) > len(inside))


def rank_of(pid):
    with open(f"/proc/{pid}/environ", "rb") as f:
        names = dict(x.split(b"=", 1) for x in f.read().split(b"\0") if b"=" in x)
    return int(names.get(b"OMPI_COMM_WORLD_RANK", names.get(b"PMI_RANK", b"-1")))


def ends(folder):
    """Kills each rank in turn, a second after it was started."""
    slowest = 0.0
    for rank in range(2):
        job = subprocess.Popen([*MPIRUN, "-n", "2", MPI, "run", folder, "--random", "--repeat", "1000000"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(1)
        pids = subprocess.run(["pgrep", "-f", f"^{MPI} run {folder}"], capture_output=True, text=True).stdout.split()
        os.kill(next(int(p) for p in pids if rank_of(p) == rank), signal.SIGKILL)
        t = time.perf_counter()
        job.wait()
        slowest = max(slowest, time.perf_counter() - t)
    line("all ranks end after a kill", f"{slowest:.2f}", "s", "below 5", slowest < 5)


def main():
    if not shutil.which("mpirun") or subprocess.run([MPI, "--version"], capture_output=True).returncode:
        print("SKIPPED mpi: no MPI")
        return 0
    print(f"load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as folder:
        hops(f"{folder}/hop")
        ends(f"{folder}/hop")
        throughput(f"{folder}/resnet50")
    print(f"load {os.getloadavg()[0]:.1f}")
    return missed


sys.exit(main())

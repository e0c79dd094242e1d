"""The population of tests/gen/run_population.py against ONNX Runtime.

    bench/population.py values FOLDER... -o FILE.jsonl [--only TEXT]
    bench/population.py times  FOLDER... -o FILE.jsonl [--only TEXT] [--threads N]
                        [--seconds S] [--rounds N] [--quiet COMMAND] [--window S]
    bench/population.py table FILE.jsonl... [--markdown FILE] [--csv FILE]

values  runs each file once by `cleave run` (its default path) and by ONNX Runtime
        with and without its optimisations, and compares all outputs.
times   medians, alternating in rounds; the first result of a fresh process; peak
        memory. COMMAND may keep the machine quiet while it runs another; it is
        given as many models as fit into a window of some seconds.
        On a machine that is not quiet, times say little: `share` is what part of a
        processor ONNX Runtime got, and `work_ratio` compares processor time, which
        with one thread depends less on the load (idle threads of ONNX Runtime spin);
        `first_work` does so for the first result.
table   the distribution per group, and the worst. --work takes these two instead.

A line of JSON per file is added to FILE.jsonl; files that have one are left out,
so a run can be broken off; they come in the order of a hash of their names, so that
what was done by then is a random part. ONNX Runtime runs in processes of its own. This one
imports nothing large: on Linux a child's peak begins with its parent's."""
import argparse
import glob
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

CLEAVE = os.path.join(os.environ.get("CLEAVE_BUILD", "build"), "cli", "cleave")
PEER = os.path.join(os.environ.get("CLEAVE_BUILD", "build"), "bench", "ort_peer")
ROUNDS = 3
SLOW = 0.15           # seconds of a run from which two rounds have to do
VALUES_SECONDS = 300  # of one run, on a busy machine
BOUND = 1e-3          # relative to the largest value of an output


# -- children: these import ONNX Runtime ---------------------------------------

def session(path, optimise, threads):
    import onnxruntime as ort
    ort.set_default_logger_severity(4)
    o = ort.SessionOptions()
    o.intra_op_num_threads = threads
    if not optimise:
        o.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, o, providers=["CPUExecutionProvider"])


def distance(a, b):
    """The largest difference, relative to the largest value of b; and where."""
    import numpy as np
    if a.shape != b.shape:
        return float("inf"), f"shape {a.shape}, not {b.shape}"
    if a.size == 0:
        return 0.0, ""
    if a.dtype == bool or b.dtype == bool:
        return float((a != b).mean()), ""
    x, y = a.astype(np.float64), b.astype(np.float64)
    odd = ~(np.isfinite(x) & np.isfinite(y))
    if odd.any() and not np.array_equal(x[odd], y[odd], equal_nan=True):
        return float("inf"), "NaN or infinity in other places"
    x, y = np.where(odd, 0, x), np.where(odd, 0, y)
    scale = max(np.abs(y).max(), 1e-6)
    return float(np.abs(x - y).max() / scale), ""


def last_step(path):
    """The largest step of a quantised tensor that is an output after dequantising,
    0 where none is."""
    import onnx
    graph = onnx.load(path).graph
    maker = {o: n for n in graph.node for o in n.output}
    known = {t.name: t for t in graph.initializer}
    step = 0.0
    for o in graph.output:
        n = maker.get(o.name)
        if n is not None and n.op_type == "DequantizeLinear" and n.input[1] in known:
            step = max(step, float(onnx.numpy_helper.to_array(known[n.input[1]]).max()))
    return step


def judge(path, ours):
    """Compares the outputs of ours, an .npz, with ONNX Runtime's; prints JSON."""
    import numpy as np
    data = np.load(path[:-len("onnx")] + "npz")
    feed = {n: data[n] for n in data.files}
    row = {"worst": 0.0, "self": 0.0, "note": ""}
    best, plain = session(path, True, 2), session(path, False, 2)
    names = [o.name for o in best.get_outputs()]
    want, other = best.run(None, feed), plain.run(None, feed)
    got = np.load(ours)
    step = last_step(path)
    for i, name in enumerate(names):
        if name not in got.files:
            row["worst"], row["note"] = float("inf"), f"output {name} is missing ({got.files[:5]})"
            continue
        d, why = distance(got[name], want[i])
        s, _ = distance(other[i], want[i])
        if step and why == "":
            steps = float(np.abs(got[name].astype(np.float64) - want[i]).max() / step)
            row["steps"] = max(row.get("steps", 0), steps)
        row["worst"], row["self"] = max(row["worst"], d), max(row["self"], s)
        row["note"] = row["note"] or why
    equal = row["worst"] <= max(BOUND, row["self"]) or row.get("steps", 9) <= 2
    row["verdict"] = "equal" if equal else "differs"
    print(json.dumps(row))


# -- processes --------------------------------------------------------------------

def child(args, seconds, env=None):
    """Runs args; returns (exit code, standard output, standard error, wall seconds,
    peak bytes, processor seconds). The code is -N for signal N, None when it took
    too long."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        t = time.perf_counter()
        p = subprocess.Popen(args, stdout=out, stderr=err, start_new_session=True, env=env)
        signal.signal(signal.SIGALRM, lambda *_: os.killpg(p.pid, signal.SIGKILL))
        signal.setitimer(signal.ITIMER_REAL, seconds)
        _, status, use = os.wait4(p.pid, 0)
        wall = time.perf_counter() - t
        late = wall >= seconds
        signal.setitimer(signal.ITIMER_REAL, 0)
        p.returncode = 0
        out.seek(0)
        err.seek(0)
        code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else None if late else -os.WTERMSIG(status)
        return code, out.read().decode(errors="replace"), err.read().decode(errors="replace"), wall, use.ru_maxrss * 1024, \
            use.ru_utime + use.ru_stime


def said(code, err):
    lines = [t for t in err.strip().splitlines() if t.strip()]
    how = "too slow" if code is None else f"signal {-code}" if code < 0 else f"exit {code}"
    return f"{how}: {lines[-1][:300] if lines else ''}"


def run_command(path, threads):
    args = [CLEAVE, "run", path, "--input", path[:-len("onnx")] + "npz", "--threads", str(threads), "--quiet"]
    return args + (["--backend", os.environ["BACKEND"]] if "BACKEND" in os.environ else [])


def values(paths, a):
    """Yields (path, row) for all files."""
    for path in paths:
        yield path, value_one(path)


def value_one(path):
    with tempfile.TemporaryDirectory() as place:
        ours = os.path.join(place, "out.npz")
        code, _, err, wall, _, _ = child(run_command(path, 2) + ["--output", ours], VALUES_SECONDS)
        if code != 0:
            return {"verdict": "refused" if code == 3 else "failed", "note": said(code, err), "seconds": wall}
        code, out, err, _, _, _ = child([sys.executable, __file__, "judge", path, ours], VALUES_SECONDS)
        if code != 0:
            return {"verdict": "no peer", "note": said(code, err)}
        return json.loads(out.splitlines()[-1])


# -- times ------------------------------------------------------------------------

def peer_command(path, threads, repeat):
    own = os.path.join(sys.prefix, "lib", f"python3.{sys.version_info[1]}", "site-packages", "onnxruntime")
    lib = os.environ.get("CLEAVE_ORT", own)
    return [PEER, lib, path, path[:-len("onnx")] + "npz", str(threads), str(repeat)]


def need(result, what):
    code, out, err, wall, peak, cpu = result
    if code != 0:
        raise RuntimeError(f"{what}: {said(code, err)}")
    return (json.loads(out) if out.startswith("{") else {}), wall, peak, cpu


def time_one(path, threads, seconds, most):
    """The figures of one file, as JSON."""
    middle = lambda v: sorted(v)[len(v) // 2]  # noqa: E731
    ours, theirs, first, theirs_first, peak, theirs_peak = [], [], [], [], 0, 0
    work, theirs_work, first_work, share = [], [], [], []
    # one run of each says how many fit in the time
    a, _, _, a_cpu = need(child(run_command(path, threads) + ["--json"], 60), "cleave")
    b, _, _, b_cpu = need(child(peer_command(path, threads, 1), 60), "onnxruntime")
    # on a busy machine a run takes longer than the processor works on all of the process
    slower = max(min(a.get("median_seconds", 0) or 0, a_cpu), min(b["median"], b_cpu), 1e-4)
    rounds = most if slower < SLOW else min(most, 2)
    repeat = max(2, min(200, int(seconds / rounds / 2 / slower)))
    for _ in range(rounds):
        a, _, top, a_cpu = need(child(run_command(path, threads) + ["--json", "--repeat", str(repeat), "--warmup", "1"], 80), "cleave")
        b, b_wall, _, b_cpu = need(child(peer_command(path, threads, repeat), 80), "onnxruntime")
        ours.append(a["median_seconds"])
        theirs.append(b["median"])
        peak = max(peak, top)
        _, wall, _, f_cpu = need(child(run_command(path, threads), 80), "cleave")
        c, c_wall, c_top, c_cpu = need(child(peer_command(path, threads, 0), 80), "onnxruntime")
        work.append((a_cpu - f_cpu) / repeat)  # one run warms up, as the first does
        theirs_work.append((b_cpu - c_cpu) / (repeat + 1))
        first_work.append(f_cpu / max(c_cpu, 1e-9))
        share.append(b_cpu / b_wall)
        first.append(wall)
        theirs_first.append(c_wall)
        theirs_peak = max(theirs_peak, b["peak"], c_top)
    m, n, f, g = middle(ours), middle(theirs), middle(first), middle(theirs_first)
    return {"ours": m, "theirs": n, "ratio": m / n, "spread": [min(ours) / m, max(ours) / m, min(theirs) / n, max(theirs) / n],
            "first": f, "theirs_first": g, "first_ratio": f / g, "peak": peak, "theirs_peak": theirs_peak,
            "peak_ratio": peak / theirs_peak, "repeat": repeat, "threads": threads,
            "work_ratio": middle(work) / max(middle(theirs_work), 1e-9), "first_work": middle(first_work), "share": max(share)}


def time_some(threads, seconds, rounds, window, paths):
    """Prints a line for each file, until the window is over."""
    until = time.time() + window
    for path in paths:
        try:
            row = dict(time_one(path, threads, seconds, rounds), verdict="timed")
        except RuntimeError as e:
            row = {"verdict": "failed", "note": str(e)}
        print(json.dumps(row), flush=True)
        if time.time() > until:
            return


def times(paths, a):
    """Yields (path, row) for all files."""
    before = a.quiet.split() if a.quiet else []
    while paths:
        some = paths[:40]
        code, out, err, _, _, _ = child(before + [sys.executable, __file__, "some", str(a.threads), str(a.seconds), str(a.rounds), str(a.window)] + some, 3600)
        rows = [json.loads(t) for t in out.splitlines() if t.startswith("{")]
        rows = rows or [{"verdict": "failed", "note": said(code, err)}]
        yield from zip(some, rows)
        paths = paths[len(rows):]


# -- the record -------------------------------------------------------------------

def sweep(a, work):
    files = sorted((f for folder in a.folders for f in glob.glob(os.path.join(folder, "*.onnx"))
                    if os.path.exists(f[:-len("onnx")] + "npz")), key=lambda f: hashlib.sha256(os.path.basename(f).encode()).digest())
    done = set()
    if os.path.exists(a.output):
        done = {json.loads(t)["file"] for t in open(a.output)}
    def named(path):
        return os.path.basename(os.path.dirname(path)), os.path.basename(path)[:-len(".onnx")]
    files = [f for f in files if a.only in named(f)[1] and "/".join(named(f)) not in done]
    for path, row in work(files, a):
        half, name = named(path)
        row = dict(file=f"{half}/{name}", group=name.split("-")[0], half=half, **row)
        with open(a.output, "a") as f:
            f.write(json.dumps(row) + "\n")
        print(line_of(row), flush=True)


def line_of(r):
    if "ratio" in r:
        return (f"{r['file']:58} {r['ours'] * 1e3:8.2f} {r['theirs'] * 1e3:8.2f} ms {r['ratio']:6.2f}   first "
                f"{r['first'] * 1e3:6.0f} {r['theirs_first'] * 1e3:6.0f} ms {r['first_ratio']:5.2f}   peak "
                f"{r['peak'] / 1e6:5.0f} {r['theirs_peak'] / 1e6:5.0f} MB {r['peak_ratio']:5.2f}"
                f"   work {r['work_ratio']:5.2f}  first {r.get('first_work', 0):5.2f}  share {r['share']:.2f}")
    more = f"{r['worst']:.1e} (itself {r['self']:.1e})" if "worst" in r else ""
    more += f" {r['steps']:.2f} steps" if "steps" in r else ""
    return f"{r['file']:58} {r['verdict']:8} {more} {r.get('note', '')}"


def quantile(v, q):
    v = sorted(v)
    return v[min(len(v) - 1, int(q * len(v)))]


def spread_of(rows, key):
    v = [r[key] for r in rows]
    return (f"{quantile(v, .5):.2f} | {quantile(v, .9):.2f} | {max(v):.2f} | "
            f"{100 * sum(x <= 1 for x in v) / len(v):.0f} %")


def table(a):
    rows = {}
    for path in a.folders:
        for text in open(path):
            r = json.loads(text)
            rows[r["file"]] = r
    timed = [r for r in rows.values() if "ratio" in r]
    for r in timed if a.work else []:
        r["ratio"], r["first_ratio"] = r["work_ratio"], r.get("first_work", r["first_ratio"])
    lines = []
    if timed:
        lines += ["| files | n | median | p90 | max | ≤ 1.0 | first: median | peak: median |", "|---|---|---|---|---|---|---|---|"]
        kinds = [(h, lambda r, h=h: r["half"] == h) for h in ("tune", "held", "fresh")] + \
                [(g, lambda r, g=g: r["group"] == g) for g in sorted({r["group"] for r in timed})]
        for name, is_in in [("all", lambda r: True)] + kinds:
            some = [r for r in timed if is_in(r)]
            if some:
                lines.append(f"| {name} | {len(some)} | {spread_of(some, 'ratio')} | {quantile([r['first_ratio'] for r in some], .5):.2f}"
                             f" | {quantile([r['peak_ratio'] for r in some], .5):.2f} |")
        lines += ["", "| file | cleave ms | ONNX Runtime ms | ratio | first | peak |", "|---|---|---|---|---|---|"]
        for r in sorted(timed, key=lambda r: -r["ratio"]):
            lines.append(f"| {r['file']} | {r['ours'] * 1e3:.2f} | {r['theirs'] * 1e3:.2f} | {r['ratio']:.2f} | "
                         f"{r['first_ratio']:.2f} | {r['peak_ratio']:.2f} |")
    judged = [r for r in rows.values() if "ratio" not in r]
    if judged:
        counts = {}
        for r in judged:
            counts[r["verdict"]] = counts.get(r["verdict"], 0) + 1
        lines += ["", ", ".join(f"{n} {v}" for v, n in sorted(counts.items()))]
        lines += [line_of(r) for r in sorted(judged, key=lambda r: r["file"]) if r["verdict"] != "equal"]
    text = "\n".join(lines) + "\n"
    if a.markdown:
        open(a.markdown, "w").write(text)
    else:
        print(text, end="")
    if a.csv:
        keys = ["file", "group", "half", "ours", "theirs", "ratio", "first", "theirs_first", "first_ratio", "peak", "theirs_peak",
                "peak_ratio", "threads"]
        with open(a.csv, "w") as f:
            f.write(",".join(keys) + "\n")
            for r in sorted(timed, key=lambda r: r["file"]):
                f.write(",".join(re.sub("[,\n]", " ", f"{r[k]:.6g}" if isinstance(r[k], float) else str(r[k])) for k in keys) + "\n")


def main():
    if not sys.argv[1:]:
        print("population: needs the folders of tests/gen/run_population.py; --help says more")
        return None
    if sys.argv[1:2] == ["judge"]:
        return judge(*sys.argv[2:4])
    if sys.argv[1:2] == ["some"]:
        return time_some(int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4]), float(sys.argv[5]), sys.argv[6:])
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=("values", "times", "table"))
    p.add_argument("folders", nargs="+")
    p.add_argument("-o", "--output", default="population.jsonl")
    p.add_argument("--only", default="")
    p.add_argument("--threads", type=int, default=2)
    p.add_argument("--seconds", type=float, default=3, help="of measuring per model")
    p.add_argument("--rounds", type=int, default=ROUNDS)
    p.add_argument("--window", type=float, default=30, help="seconds that the machine is kept quiet at once")
    p.add_argument("--quiet", default="", help="a command that runs another on a quiet machine")
    p.add_argument("--work", action="store_true", help="compare processor time")
    p.add_argument("--markdown")
    p.add_argument("--csv")
    a = p.parse_args()
    return table(a) if a.what == "table" else sweep(a, values if a.what == "values" else times)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""The differential tester: random small models, run by cleave on plain C and
oneDNN, must give what ONNX Runtime and PyTorch give.

    differential.py [--seconds N] [--seed N] [--only ROW ...]   look for failures
    differential.py --replay ROW:1,0,3                          draw one again
    differential.py --keep ROW:1,0,3                            and store it
    differential.py --select N                                  store N cases
    differential.py --coverage                                  operators without a row

A failure is shrunk, and printed with the model as text, its inputs, and the
command that draws it again. docs/differential.md tells more.

The work is done by processes of their own: ONNX Runtime or a bridge that
crashes takes one with it, which is told and started again behind that case.
"""
import argparse
import collections
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import differential_chains
import differential_core
import differential_onnx
import differential_torch
from differential_core import (ROOT, Answer, _runtime, Draw, Reject, Runner, record, shrink, tolerance,
                               truth)

CHAIN, CHAINS_PER_ROUND = "chain", 60
WRITTEN = 30            # percent of torch's calls that are also written as ONNX
LARGEST = 8000          # elements of all results
SHRUNK_PER_ROW = 4      # causes that are shrunk; the rest are counted


def draw(row, d):
    return differential_chains.drawn(d) if row == CHAIN else differential_onnx.drawn(row, d)


def ask(runner, row, d):
    """Draws and asks: (Answer, model, its proto, the truth)."""
    if row in differential_torch.ROWS:
        answer, call = differential_torch.ask(row, d)
        answer.data = b""
        if answer.kind == "ok" and d.flag(WRITTEN):
            answer = written(runner, row, answer, call)
        return answer, call, None, call.want
    m = draw(row, d)
    proto = m.proto()
    outs, who = truth(m, proto)
    if not outs or sum(o.size for o in outs) > LARGEST:
        raise Reject("too large")
    if m.label == CHAIN and not all(np.isfinite(o.astype("f8")).all() for o in outs):
        raise Reject("not finite")
    if getattr(m, "turned", False):
        nodes = list(proto.graph.node)
        del proto.graph.node[:]
        proto.graph.node.extend(reversed(nodes))
    macs = m.count(outs) if hasattr(m, "count") else m.macs
    name = f"{row} " + " ".join(n.op_type for n in m.nodes) if row == CHAIN else row
    data = record(name, proto, list(m.feeds.values()), outs, tolerance(m, outs), macs, m.flags)
    answer = runner.ask(data)
    answer.data, answer.who = data, who
    return answer, m, proto, outs


def written(runner, row, answer, call):
    """The call as an ONNX model of cleave's, which must give the same."""
    import cleave
    import onnx
    if not any(t.dim() for t in call.feeds):
        return answer    # nobody can tell a number from a tensor of one
    path = os.path.join(tempfile.gettempdir(), f"cleave-differential-{os.getpid()}.onnx")
    try:
        call.graph.export(path)
    except cleave.Error:
        return answer    # no form in ONNX
    proto = onnx.load(path)
    os.unlink(path)
    feeds, outs = ([differential_torch.array(t) for t in ts] for ts in (call.feeds, call.want))
    data = record(f"{row} {call.text()}", proto, feeds, outs, differential_torch.tolerance(call),
                  flags=differential_torch.flags(call))
    again = runner.ask(data)
    if again.kind == "ok":
        why = elsewhere(proto, feeds, call)
        again = again if not why else Answer("wrong", why, again.ops)
    if again.kind == "refuse":
        again.kind = "wrong"
    again.ops, again.data = sorted({*again.ops, *answer.ops}), data
    again.why = again.why and f"written: " + again.why.split(".onnx: ")[-1]
    return again


def elsewhere(proto, feeds, call):
    """Why ONNX Runtime does not agree with what was written; "" if it does."""
    if call.bound or any(a.size == 0 or not differential_core._has_kernel_type(a) or
                         (a.dtype.kind == "f" and not np.isfinite(a).all()) for a in feeds):
        return ""
    try:
        got = _runtime(proto, {i.name: a for i, a in zip(proto.graph.input, feeds)})
    except Exception as e:
        text = str(e)
        known = "NOT_IMPLEMENTED" in text or "INVALID_ARGUMENT" in text or "Ellipsis" in text or "bfloat16" in text or "lrn.cc" in text
        return "" if known else "ONNX Runtime refuses: " + re.sub(r"\s+", " ", text)[:300]
    for i, (a, b) in enumerate(zip(got, call.want)):
        why = differential_torch.near(differential_torch.torch.from_numpy(np.array(a)), b, call.close)
        if why:
            return f"ONNX Runtime: output {i} {why}"
    return ""


def smallest(runner, row, choices, answer):
    def fails(candidate):
        try:
            return ask(runner, row, Draw(choices=candidate))[0].key() == answer.key()
        except Exception:
            return False
    return shrink(choices, fails)


def short(a):
    return np.array2string(a, threshold=24, precision=6, separator=",").replace("\n", "")


def report(runner, row, choices):
    import onnx.printer
    answer, m, proto, outs = ask(runner, row, Draw(choices=choices))
    again = f"  again: tests/gen/differential.py --replay {row}:" + ",".join(map(str, choices))
    if proto is None:
        lines = ["", f"{answer.kind.upper()} {row}: {answer.why}   (truth: PyTorch)", "  " + m.text()]
        lines += [f"  x{i} = {short(a.float().numpy())}" for i, a in enumerate(m.feeds)]
        lines += [f"  expected {str(a.dtype)[6:]}{list(a.shape)} {short(a.float().numpy())}" for a in outs]
        return "\n".join(lines + [again])
    lines = ["", f"{answer.kind.upper()} {row}: {answer.why}   (truth: {answer.who})"]
    skip = ("ir_version", "producer_name", "<", ">")
    lines += ["  " + line for line in onnx.printer.to_text(proto).splitlines()
              if line.strip() and not line.strip().startswith(skip[:2]) and line.strip() not in skip]
    lines += [f"  {k} = {a.dtype}{list(a.shape)} {short(a)}" for k, a in m.feeds.items()]
    lines += [f"  expected {a.dtype}{list(a.shape)} {short(a)}" for a in outs]
    return "\n".join(lines + [again])


# -- workers -----------------------------------------------------------------

def plan(rows, first, step):
    """(row, number) without end: each row once, and chains, in every round."""
    n = first
    while True:
        for row in rows:
            for i in range(CHAINS_PER_ROUND if row == CHAIN and len(rows) > 1 else 1):
                yield row, n * CHAINS_PER_ROUND + i if row == CHAIN else n
        n += step


def work(args, worker, skip, say):
    """Runs cases until the time is up; say(dict) for each, before and after."""
    runner = Runner(args.build)
    seen = collections.Counter()
    for at, (row, n) in enumerate(plan(args.rows, worker, args.jobs)):
        if at < skip:
            continue
        if time.time() > args.end:
            break
        say({"at": at, "row": row, "n": n})
        d = Draw(f"{args.seed}/{row}/{n}")
        try:
            answer, *_ = ask(runner, row, d)
        except Reject as why:
            say({"row": row, "kind": "reject", "why": str(why)})
            continue
        done = {"row": row, "kind": answer.kind, "why": answer.key(), "ops": sorted(set(answer.ops)),
                "backend": answer.backend}
        if answer.kind in ("wrong", "crash"):
            seen[row, answer.key()] += 1
            fresh = seen[row, answer.key()] == 1
            if fresh and sum(r == row for r, _ in seen) <= SHRUNK_PER_ROW:
                done["text"] = report(runner, row, smallest(runner, row, d.taken, answer))
        say(done)


class Tally:
    def __init__(self):
        self.cases = collections.Counter()      # by row
        self.operators = collections.Counter()  # by operator of cleave
        self.refused = collections.Counter()    # (row, why)
        self.failed = collections.Counter()     # (row, why)
        self.rejected = collections.Counter()   # by row
        self.reasons = {}                       # row: why a draw was rejected
        self.backend = 0
        self.dead = []

    def add(self, r):
        if r["kind"] == "reject":
            self.rejected[r["row"]] += 1
            self.reasons[r["row"]] = r["why"]
            return
        self.cases[r["row"]] += 1
        self.operators.update(r["ops"])
        self.backend += r["backend"]
        if r["kind"] == "refuse":
            self.refused[r["row"], r["why"]] += 1
        elif r["kind"] != "ok":
            new = (r["row"], r["why"]) not in self.failed
            self.failed[r["row"], r["why"]] += 1
            if new and "text" in r:
                print(r["text"], flush=True)


def start_worker(args, worker, skip):
    """A process that runs cases; what it says is read from the pipe."""
    end, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        return child, os.fdopen(end, "r")
    os.close(end)
    out = os.fdopen(into, "w", buffering=1)
    code = 1
    try:
        work(args, worker, skip, lambda r: out.write(json.dumps(r) + "\n"))
        out.flush()
        code = 0
    except Exception:
        import traceback
        traceback.print_exc()
    finally:
        os._exit(code)


def search(args):
    import selectors
    tally, select, jobs = Tally(), selectors.DefaultSelector(), {}

    def begin(worker, skip):
        child, pipe = start_worker(args, worker, skip)
        jobs[pipe] = [worker, child, {"at": skip - 1}]
        select.register(pipe, selectors.EVENT_READ)

    for worker in range(args.jobs):
        begin(worker, 0)
    while jobs:
        for key, _ in select.select():
            line = key.fileobj.readline()
            worker, child, last = jobs[key.fileobj]
            if line:
                said = json.loads(line)
                if "kind" in said:
                    tally.add(said)
                else:
                    jobs[key.fileobj][2] = said
                continue
            select.unregister(key.fileobj)
            del jobs[key.fileobj]
            status = os.waitpid(child, 0)[1]
            if status:
                tally.dead.append(f"{last.get('row')} {args.seed}/{last.get('row')}/{last.get('n')}")
                begin(worker, last["at"] + 1)
    return tally


# -- what is committed -------------------------------------------------------

DATA = os.path.join(ROOT, "tests", "data")
FOUND = os.path.join(DATA, "differential_found.gz")     # cases that failed once
SELECTED = os.path.join(DATA, "differential.gz")
CHAIN_SHARE, LARGEST_RECORD = 0.3, 1500


def write_packed(path, records):
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, mtime=0) as z:
        z.write(b"".join(records))


def keep(runner, row, choices):
    """Stores a case that failed, so that it never fails again."""
    answer, *_ = ask(runner, row, Draw(choices=choices))
    old = gzip.open(FOUND).read() if os.path.exists(FOUND) else b""
    if answer.data not in old:
        write_packed(FOUND, [old, answer.data])
    print(f"{answer.kind} {row}: {answer.why}")


def select(args):
    """A seeded selection of cases that pass, as many of each row."""
    runner, kept, n = Runner(args.build), [], 0
    rows = [r for r in args.rows if r != CHAIN]
    chains, bad = 0, 0
    while len(kept) < args.select:
        turn = [CHAIN] if chains < CHAIN_SHARE * len(kept) else rows
        for row in turn:
            try:
                answer, *_ = ask(runner, row, Draw(f"{args.seed}/{row}/{n}"))
            except Reject:
                continue
            bad += answer.kind in ("wrong", "crash")
            if answer.kind == "ok" and 0 < len(answer.data) <= LARGEST_RECORD and len(kept) < args.select:
                kept.append(answer.data)
                chains += row == CHAIN
        n += 1
    write_packed(SELECTED, kept)
    print(f"{len(kept)} cases, {chains} of them chains, {os.path.getsize(SELECTED)} bytes; {bad} failed")


# -- coverage ----------------------------------------------------------------

NOT_DRAWN = {
    "random": "random numbers", "random_like": "random numbers", "bernoulli": "random numbers",
    "multinomial": "random numbers", "sequence_map": "takes sequences, which are no tensors",
    "zip_map": "gives maps, which are no tensors",
    "qlinear_add": "com.microsoft's row and quantised chains become it", "qlinear_mul": "the same",
    "byte_table": "functions in quantised chains become it",
    "beam_search": "tests/gen/search_cases.py draws searches", "regex_match": "takes texts",
    "string_normalize": "takes texts", "string_concat": "takes texts", "string_split": "takes texts",
    "stochastic_depth": "torchvision's; nothing happens outside of training",
}


def coverage(build):
    """Operators with a kernel that no row draws; the names of those."""
    told = subprocess.run([os.path.join(build, "cli", "cleave"), "ops", "--json"], capture_output=True, check=True)
    calls = {name.removeprefix("nn.") for name, _ in differential_torch.ROWS.values()}
    onnx_names = {name.replace("preview.training", "preview") for name in differential_onnx.ROWS}
    bare = []
    for op in json.loads(told.stdout)["operators"]:
        if op["kernel"] and op["name"] not in NOT_DRAWN and not (
                set(op["onnx"]) & onnx_names or set(op["torch"]) & calls):
            bare.append(op["name"])
    return bare


def summary(tally, took, verbose):
    n = sum(tally.cases.values())
    print(f"\n{n} cases of {len(tally.cases)} rows in {took:.0f} s, {n / took:.0f} per second; "
          f"oneDNN ran a part of {tally.backend}; {sum(tally.refused.values())} refused, "
          f"{sum(tally.rejected.values())} draws rejected")
    few = sorted((c, op) for op, c in tally.operators.items())[:8]
    print(f"{len(tally.operators)} operators; fewest cases: " + ", ".join(f"{op} {c}" for c, op in few) +
          f"; chains: {tally.cases[CHAIN]}")
    for (row, why), count in sorted(tally.refused.items()):
        print(f"  refused {count:5} {row}: {why}")
    for row in sorted(tally.reasons) if verbose else ():
        print(f"  rejected {tally.rejected[row]} {row} ({tally.cases[row]} kept): {tally.reasons[row][:300]}")
    for what in tally.dead:
        print(f"  a worker died: {what}")
    for (row, why), count in sorted(tally.failed.items()):
        print(f"  failed {count:5} {row}: {why}")


def expand(names):
    """Rows by name, or by a prefix that ends in a star."""
    every = [*sorted(differential_onnx.ROWS), *sorted(differential_torch.ROWS), CHAIN]
    return [r for n in names for r in every if r == n or (n[-1] == "*" and r.startswith(n[:-1]))]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--only", nargs="*")
    p.add_argument("--replay")
    p.add_argument("--keep")
    p.add_argument("--select", type=int)
    p.add_argument("--coverage", action="store_true")
    p.add_argument("--verbose", action="store_true", help="say why draws were rejected")
    args = p.parse_args()
    if args.coverage:
        bare = coverage(args.build)
        print("no row draws: " + ", ".join(bare) if bare else "every operator with a kernel is drawn, but for " +
              "; ".join(f"{k}: {v}" for k, v in NOT_DRAWN.items()))
        return bool(bare)
    if args.replay or args.keep:
        row, _, choices = (args.replay or args.keep).partition(":")
        choices = [int(c) for c in choices.split(",") if c]
        if args.keep:
            return keep(Runner(args.build), row, choices)
        return print(report(Runner(args.build), row, choices))
    args.rows = expand(args.only) if args.only else [*sorted(differential_onnx.ROWS), *sorted(differential_torch.ROWS), CHAIN]
    if args.select:
        return select(args)
    start = time.time()
    args.end = start + args.seconds
    tally = search(args)
    summary(tally, time.time() - start, args.verbose)
    return bool(tally.failed)


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""The differential tester: random small models, run by cleave on plain C and
oneDNN, must give what ONNX Runtime and PyTorch give.

    differential.py [--seconds N] [--seed N] [--only ROW ...]   look for failures
    differential.py --replay ROW:1,0,3                           one case again
    differential.py --coverage                                   who draws what

A failure is shrunk, and printed with the model as text, its inputs, and the
command that draws it again. docs/differential.md tells more.
"""
import argparse
import collections
import json
import os
import random
import subprocess
import sys
import time

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import differential_onnx
from differential_core import (ROOT, Answer, Draw, Reject, Runner, record, shrink, tolerance,
                               truth)


class Tester:
    def __init__(self, build):
        self.runner = Runner(build)
        self.cases = collections.Counter()      # by row
        self.operators = collections.Counter()  # by operator of cleave
        self.refused = collections.Counter()    # (row, why)
        self.rejected = collections.Counter()   # by row
        self.reasons = {}                       # row: why a draw was rejected
        self.failures = {}                      # (row, key): (Answer, choices)
        self.times = collections.Counter()      # how often a failure was seen

    def draw(self, row, d):
        return differential_onnx.drawn(row, d)

    def case(self, row, d):
        """Draws and asks: (Answer, model, its proto, the truth)."""
        m = self.draw(row, d)
        proto = m.proto()
        outs, who = truth(m, proto)
        if not outs or sum(o.size for o in outs) > 4000:
            raise Reject("too large")
        macs = m.count(outs) if hasattr(m, "count") else m.macs
        data = record(row, proto, list(m.feeds.values()), outs, tolerance(m, outs), macs, m.flags)
        answer = self.runner.ask(data)
        answer.data = data
        answer.who = who
        return answer, m, proto, outs

    def one(self, row, seed):
        d = Draw(seed)
        try:
            answer, *_ = self.case(row, d)
        except Reject as why:
            self.rejected[row] += 1
            self.reasons[row] = str(why)
            return None
        self.cases[row] += 1
        for op in set(answer.ops):
            self.operators[op] += 1
        if answer.kind == "refuse":
            self.refused[row, Answer.key(answer)] += 1
        elif answer.kind != "ok":
            key = row, answer.key()
            self.times[key] += 1
            if key not in self.failures and sum(k[0] == row for k in self.failures) < 6:
                self.failures[key] = self.smallest(row, d.taken, answer)
                print(self.report(row, *self.failures[key]), flush=True)
        return answer

    def smallest(self, row, choices, answer):
        last = [answer]

        def fails(candidate):
            try:
                a, *_ = self.case(row, Draw(choices=candidate))
            except Exception:
                return False
            if a.key() != answer.key():
                return False
            last[0] = a
            return True
        best = shrink(choices, fails)
        return last[0], best

    def report(self, row, answer, choices):
        import onnx
        lines = ["", f"{answer.kind.upper()} {row}: {answer.why}   (truth: {getattr(answer, 'who', '?')})"]
        try:
            _, m, proto, outs = self.case(row, Draw(choices=choices))
        except Reject as e:
            return "\n".join(lines + [f"  cannot be drawn again: {e}"])
        text = onnx.printer.to_text(proto)
        lines += ["  " + line for line in text.splitlines() if line.strip()]
        for name, a in m.feeds.items():
            lines.append(f"  {name} = {a.dtype}{list(a.shape)} {short(a)}")
        for a in outs:
            lines.append(f"  expected {a.dtype}{list(a.shape)} {short(a)}")
        lines.append(f"  again: tests/gen/differential.py --replay {row}:" + ",".join(map(str, choices)))
        return "\n".join(lines)


def short(a):
    return np.array2string(np.asarray(a).astype("O") if a.dtype.kind == "V" else a, threshold=24,
                           precision=6, separator=",").replace("\n", "")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--build", default=os.path.join(ROOT, "build"))
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", nargs="*")
    p.add_argument("--replay")
    p.add_argument("--reject", action="store_true", help="say why draws were rejected")
    args = p.parse_args()
    t = Tester(args.build)
    if args.replay:
        row, _, choices = args.replay.partition(":")
        d = Draw(choices=[int(c) for c in choices.split(",") if c])
        answer, *_ = t.case(row, d)
        print(t.report(row, answer, d.taken))
        return answer.kind not in ("ok", "refuse")
    rows = args.only or sorted(differential_onnx.ROWS)
    start, n = time.time(), 0
    while time.time() - start < args.seconds:
        for row in rows:
            t.one(row, f"{args.seed}/{row}/{n}")
        n += 1
    took = time.time() - start
    print(f"\n{sum(t.cases.values())} cases of {len(t.cases)} rows in {took:.0f} s, "
          f"{sum(t.cases.values()) / took:.0f} per second; {sum(t.refused.values())} refused, "
          f"{sum(t.rejected.values())} draws rejected")
    for (row, why), count in sorted(t.refused.items()):
        print(f"  refused {count:5} {row}: {why}")
    if args.reject:
        for row in sorted(t.reasons):
            print(f"  rejected {t.rejected[row]} {row} ({t.cases[row]} kept): {t.reasons[row][:300]}")
    for key, count in sorted(t.times.items()):
        print(f"  failed {count:5} {key[0]}: {key[1]}")
    return bool(t.failures)


if __name__ == "__main__":
    sys.exit(main())

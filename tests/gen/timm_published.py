#!/usr/bin/env python3
"""Writes tests/data/timm_published.csv: what timm prints of names in the zoo.

    tests/gen/timm_published.py [--cleave PATH] TABLE.csv ... > timm_published.csv

TABLE.csv are the tables of timm's results/ with `infer_gmacs`: millions of
parameters and thousands of millions of MACs, two digits each, as fvcore counts
them with attention as two products. Where tables print different parameters of
one model at one size, the smaller network is the one whose branches are fused.
"""
import argparse
import collections
import csv
import json
import subprocess
import sys

from zoo_truth import ROOT


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cleave", default=ROOT / "build/cli/cleave")
    parser.add_argument("tables", nargs="+")
    options = parser.parse_args()
    names = [m["name"] for m in json.loads(subprocess.check_output(
        [options.cleave, "models", "--json"]))["models"]
        if m["source"] == "timm"]
    found = collections.defaultdict(set)
    for table in options.tables:
        with open(table, newline="") as f:
            for row in csv.DictReader(f):
                if "infer_gmacs" in row:
                    found[row["model"], int(row["infer_img_size"])].add(
                        (float(row["param_count"]), float(row["infer_gmacs"])))
    out = csv.writer(sys.stdout, lineterminator="\n")
    out.writerow(["name", "size", "params_m", "gmacs", "state"])
    for name, size in sorted(k for k in found if k[0] in names):
        whole = max(p for p, _ in found[name, size])
        for params, gmacs in sorted(found[name, size]):
            out.writerow([name, size, f"{params:.2f}", f"{gmacs:.2f}",
                          "whole" if params == whole else "fused"])


if __name__ == "__main__":
    main()

"""onnx_folder.py - the folder tests/data/onnx and its manifest, for the scripts
that fill it. Needs the onnx package alone.
"""
import csv
import os

import onnx_strip

GOAL = 64 << 10     # bytes of a file: above, more is stripped
LIMIT = 300 << 10   # above, the file is left out

FIELDS = ("file", "model", "exporter", "opset", "input", "params", "macs",
          "initializers", "note")


def opset_of(proto):
    return next(o.version for o in proto.opset_import if o.domain == "")


class Folder:
    """The output folder and its manifest, one row per file."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        os.makedirs(path, exist_ok=True)
        if os.path.exists(self.manifest()):
            with open(self.manifest(), newline="") as f:
                self.rows = {r["file"]: r for r in csv.DictReader(f)}

    def manifest(self):
        return os.path.join(self.path, "manifest.csv")

    def small(self, proto, how):
        """The stripped file; one that is too big is stripped further."""
        less = {"value_info": False, "scopes": onnx_strip.SCOPES[1:]}
        for step in (lambda: onnx_strip.strip(proto, **how),
                     lambda: onnx_strip.strip(proto, **less),
                     lambda: onnx_strip.shorten(proto)):
            data = step().SerializeToString(deterministic=True)
            if len(data) <= GOAL:
                break
        return data

    def add(self, proto, row, **how):
        """Strips the model as `how` says and writes it."""
        row["opset"] = opset_of(proto)
        row["initializers"] = onnx_strip.elements(proto)
        data = self.small(proto, how)
        if len(data) > LIMIT:
            print(f"{row['file']}: LEFT OUT, {len(data) // 1024} KB")
            return
        with open(os.path.join(self.path, row["file"]), "wb") as f:
            f.write(data)
        self.rows[row["file"]] = row
        with open(self.manifest(), "w", newline="") as f:
            out = csv.DictWriter(f, FIELDS, lineterminator="\n")
            out.writeheader()
            out.writerows(self.rows[k] for k in sorted(self.rows))
        print(f"{row['file']}: {len(data) // 1024} KB, "
              f"{len(proto.graph.node)} nodes", flush=True)


def default_folder():
    tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.path.join(tests, "data", "onnx")

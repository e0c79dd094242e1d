"""Small files of PyTorch for tests/cli/torch_files.sh and the fuzz seeds, with
what PyTorch itself computes from them.

    $(tools/pyenv --gen) tests/gen/torch_files.py            all but the later ones
    $(tools/pyenv --gen) tests/gen/torch_files.py later [FILE ...]     those of LATER

writes tests/data/torch: NAME.pt2 or NAME.pt, NAME.x.npy (the input) and NAME.y.npy
(the output), and truth.csv (parameters, and multiply-accumulates by torch's own
counter). Old layouts are made from new files: the same JSON, with the keys that
torch 2.1 to 2.7 wrote, and weights in an archive of torch.save.
"""
import io
import json
import os
import pathlib
import pickle
import re
import sys
import zipfile

import numpy as np
import torch
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

OUT = pathlib.Path(__file__).resolve().parents[1] / "data" / "torch"


class Net(nn.Module):
    """Layers, a buffer, a constant, tied weights, a branch and a dynamic size."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.bn = nn.BatchNorm2d(8)
        self.head = nn.Linear(8, 4)
        self.again = self.head
        self.register_buffer("shift", torch.arange(4.0))

    def forward(self, x):
        y = torch.relu(self.bn(self.conv(x))).mean((2, 3))
        z = self.again(torch.cat([self.head(y), self.head(y)], 1)) + self.shift
        z = torch.cond(z.sum() > 0, lambda q: q.sin(), lambda q: q.cos(), (z,))
        return z.view(x.shape[0], 2, 2)


class Loop(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Linear(4, 4)

    def forward(self, x):
        from torch._higher_order_ops.while_loop import while_loop
        _, y = while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, torch.relu(self.step(y))),
                          (torch.tensor(0), x))
        return y


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.step = nn.Linear(4, 4)

    def forward(self, x):
        from torch._higher_order_ops.scan import scan

        def combine(carry, item):
            now = torch.tanh(self.step(item) + carry)
            return now, now * 2
        return scan(combine, torch.zeros(2, 4), x, dim=0)[1]


class Written(nn.Module):
    """Writes to parts of a tensor, in place."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 6)

    def forward(self, x):
        mask = x.new_zeros(6, 6)
        mask[1:4, 2:] = 3.0
        mask[5] += 1.0
        with torch.no_grad():
            y = self.fc(x)
        return y @ mask


def macs(model, x):
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        model(x)
    return counter.get_total_flops() // 2


def numbers(name, model, x, rows, trips):
    """`trips` of a layer of 4x4 on 2 rows: torch's counter does not see into loops."""
    with torch.no_grad():
        y = model(x)
    np.save(OUT / f"{name}.x.npy", x.numpy())
    np.save(OUT / f"{name}.y.npy", y.numpy())
    rows.append((name, sum(p.numel() for p in model.parameters()), trips * 2 * 4 * 4 if trips else macs(model, x)))


def export(model, x, sizes, path):
    """Without the folders of the machine that made it."""
    program = torch.export.export(model, (x,), dynamic_shapes=sizes)
    for module in program.graph_module.modules():
        for node in module.graph.nodes:
            trace = node.meta.get("stack_trace")
            if trace:
                node.meta["stack_trace"] = re.sub(r'File "[^"]*/', 'File "', trace)
    torch.export.save(program, path)


def script(module, path):
    """Without debug tables, which name folders too."""
    data = io.BytesIO()
    torch.jit.save(module, data)
    with zipfile.ZipFile(data) as old, zipfile.ZipFile(path, "w") as new:
        for entry in old.infolist():
            if not entry.filename.endswith(".debug_pkl"):
                new.writestr(entry.filename, old.read(entry), compress_type=entry.compress_type)


def old_layout(new, old, schema):
    """The archive that torch 2.1 to 2.7 would have written."""
    with zipfile.ZipFile(new) as z:
        root = z.namelist()[0].split("/")[0]
        program = json.loads(z.read(f"{root}/models/model.json"))

        def table(kind, config):
            config = json.loads(z.read(f"{root}/data/{kind}/{config}"))["config"]
            stored = {c["path_name"]: torch.frombuffer(bytearray(z.read(f"{root}/data/{kind}/{c['path_name']}")),
                                                       dtype=torch.float32)
                      for c in config.values() if c["tensor_meta"]["dtype"] == 7}
            return {name: stored[c["path_name"]].view([s["as_int"] for s in c["tensor_meta"]["sizes"]])
                    for name, c in config.items() if c["tensor_meta"]["dtype"] == 7}
        state = table("weights", "model_weights_config.json")
        constants = table("constants", "model_constants_config.json")
    program["schema_version"] = schema

    def older(o):
        if isinstance(o, dict):
            o = {k: older(v) for k, v in o.items() if k not in ("kind", "torch_version", "guards_code")}
            if len(o) == 1 and next(iter(o)) in ("as_tensor", "as_int", "as_ints", "as_none"):
                o = {**{"as_none": None, "as_tensor": None, "as_tensors": None, "as_int": None}, **o}
        return [older(v) for v in o] if isinstance(o, list) else o
    with zipfile.ZipFile(old, "w") as z:
        z.writestr("serialized_exported_program.json", json.dumps(older(program)))
        for name, tensors in (("serialized_state_dict.pt", state), ("serialized_constants.pt", constants)):
            data = io.BytesIO()
            torch.save(tensors, data)
            z.writestr(name, data.getvalue())
        z.writestr("version", f"{schema['major']}.{schema['minor']}")


class Choice(nn.Module):
    """Its way depends on the data."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.sum() > 0:
            x = x + 1
        return x


class Padded(nn.Module):
    """Padding that is named, and padding that is computed of sizes."""

    def __init__(self):
        super().__init__()
        self.same = nn.Conv2d(3, 4, 3, padding="same", dilation=2)
        self.down = nn.Conv2d(4, 5, 3, stride=2)

    def forward(self, x):
        x = self.same(x)
        h, w = (torch.clamp(((s / torch.tensor(2)).ceil() - 1) * torch.tensor(2) + 3 - s, 0).long()
                for s in (torch.as_tensor(n) for n in x.shape[2:]))
        x = nn.functional.pad(x, [int(w // 2), int(w - w // 2), int(h // 2), int(h - h // 2)])
        return self.down(x)


def layers():
    """The fast path of torch's transformer layer, one call when traced."""
    return nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"),
                         nn.TransformerEncoderLayer(8, 2, 16, batch_first=True))


class Attends(nn.Module):
    """The fast path of torch's attention; its weights are not asked for."""

    def __init__(self):
        super().__init__()
        self.attend = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.attend(x, x, x, need_weights=False)[0]


class Parts(nn.Module):
    """Parts of different sizes, a table that is not learned, a norm without weights.
    Only the dynamo exporter writes down that a table of any name is one, and
    that a single number was learned."""

    def __init__(self, table="coords", scale=()):
        super().__init__()
        self.conv = nn.Conv2d(3, 9, 3)
        self.norm = nn.BatchNorm2d(9, affine=False)
        self.one, self.two = nn.Conv2d(2, 4, 1), nn.Conv2d(4, 4, 3, padding=1)
        self.scale = nn.Parameter(torch.full(scale, 0.5))
        self.register_buffer(table, torch.randn(4, 3))
        self.table = table

    def forward(self, x):
        a, b, c = self.norm(self.conv(x)).split([2, 4, 3], 1)
        table = (getattr(self, self.table) @ c.flatten(2)).view(-1, 4, *c.shape[2:])
        return self.one(a) + self.two(b) * self.scale + table


class Sizes(nn.Module):
    """A branch that a size decides, and a number that is computed of one."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        n = x.shape[0]
        y = torch.cond(n > 4, lambda q: self.a(q), lambda q: self.b(self.b(q)), (x,))
        return torch.where(y.gt(0.1), y, y * 0.5) * (n * 0.5) + max(n, 3)


def onnx(model, x, path, **how):
    """No folder of this machine is named in the metadata."""
    import onnx as package
    data = io.BytesIO()
    torch.onnx.export(model, (x,), data, verbose=False, **how)
    proto = package.load_from_string(data.getvalue())
    for node in proto.graph.node:
        keep = [p for p in node.metadata_props if not p.key.endswith(("stack_trace", "fx_node"))]
        del node.metadata_props[:]
        node.metadata_props.extend(keep)
    package.save(proto, path)


def as_legacy(model, x, path):
    onnx(model, x, path, dynamo=False, do_constant_folding=False, training=torch.onnx.TrainingMode.PRESERVE)


def as_dynamo(model, x, path):
    onnx(model, x, path, dynamo=True, optimize=False)


def as_program(model, x, path):
    export(model, x, {"x": {0: torch.export.Dim("n", min=2, max=64)}}, path)


def as_trace(model, x, path):
    with torch.no_grad():
        script(torch.jit.trace(model, x, check_trace=False), path)


# file, what makes the module, shape of the input, how it is written
LATER = [("encoder.pt", layers, (2, 5, 8), as_trace), ("attends.pt", Attends, (2, 5, 8), as_trace),
         ("padded.pt", Padded, (1, 3, 9, 11), as_trace), ("parts.onnx", Parts, (1, 3, 6, 6), as_dynamo),
         ("sizes.pt2", Sizes, (6, 4), as_program),
         ("parts_legacy.onnx", lambda: Parts("relative_coords_table", (4, 1, 1)), (1, 3, 6, 6), as_legacy)]


def later(only):
    """Each with its own numbers; rows of truth.csv are added or replaced."""
    lines = (OUT / "truth.csv").read_text().splitlines()
    for file, make, shape, write in LATER:
        name = file.split(".")[0]
        if only and file not in only:
            continue
        torch.manual_seed(0)
        model, x, rows = make().eval(), torch.randn(*shape), []
        write(model, x, OUT / file)
        torch.backends.mha.set_fastpath_enabled(False)  # torch's counter sees into neither fast path
        with sdpa_kernel(SDPBackend.MATH):
            numbers(name, model, x, rows, 0)
        torch.backends.mha.set_fastpath_enabled(True)
        lines = [line for line in lines if not line.startswith(name + ",")] + [",".join(map(str, rows[0]))]
    (OUT / "truth.csv").write_text("\n".join(lines) + "\n")


class Harm:
    def __reduce__(self):
        return os.system, ("touch harmed",)


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    rows = []
    batch = torch.export.Dim("batch", min=1, max=64)
    for name, model, x, sizes, trips in (("net", Net(), torch.randn(2, 3, 8, 8), {"x": {0: batch}}, 0),
                                         ("loop", Loop(), torch.randn(2, 4), None, 5),
                                         ("scan", Scan(), torch.randn(3, 2, 4), None, 3),
                                         ("written", Written(), torch.randn(2, 6), None, 0)):
        model.eval()
        export(model, x, sizes, OUT / f"{name}.pt2")
        numbers(name, model, x, rows, trips)
    net = Net().eval()
    old_layout(OUT / "net.pt2", OUT / "net_old.pt2", {"major": 8, "minor": 7})
    torch.save(net.state_dict(), OUT / "state.pt")
    torch.save({"epoch": 3, "state_dict": net.state_dict()}, OUT / "legacy.pt", _use_new_zipfile_serialization=False)
    (OUT / "harm.pt").write_bytes(b"")
    with zipfile.ZipFile(OUT / "harm.pt", "w") as z:
        z.writestr("harm/data.pkl", pickle.dumps(Harm(), protocol=2))
    small = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2)).eval()
    x = torch.randn(1, 3, 8, 8)
    script(torch.jit.trace(small, x), OUT / "traced.pt")
    script(torch.jit.script(small), OUT / "scripted.pt")
    numbers("traced", small, x, rows, 0)
    script(torch.jit.script(Choice()), OUT / "choice.pt")
    with open(OUT / "truth.csv", "w") as f:
        f.write("name,params,macs\n")
        for row in rows:
            f.write(",".join(map(str, row)) + "\n")


if __name__ == "__main__":
    later(sys.argv[2:]) if sys.argv[1:2] == ["later"] else main()

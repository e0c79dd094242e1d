"""timm's published GMACs and parameters beside ours.

    timm_truth.py -o FILE.jsonl TABLE.csv ...    the tables of timm's results/
    timm_truth.py --report FILE.jsonl            Markdown, by family

timm's benchmark counts with fvcore at the size that a row gives and prints two
digits, in millions and thousands of millions. Each model is made without memory,
captured by torch.fx or recorded, and counted as fvcore does. A row that differs
says by how much. Rows that FILE has already are left out."""
import argparse
import collections
import csv
import json
import os
import sys

import population

LIMIT, MEMORY = 90, 8    # seconds of the processor, GB


def rows_of(paths):
    """{(model, side): [(table, params, GMACs)]}, of tables of inference."""
    found = {}
    for path in paths:
        table = os.path.basename(path).removesuffix(".csv")
        for row in csv.DictReader(open(path)):
            if "infer_gmacs" in row:
                name = row["model"].split(".")[0]
                found.setdefault((name, int(row["infer_img_size"])), []).append(
                    (table, row["param_count"], row["infer_gmacs"]))
    return found


def maker(name, side):
    def make():
        import timm
        import torch
        timm.layers.set_fused_attn(False)    # fvcore counts its products alone
        model = timm.create_model(name, pretrained=False)
        cfg = model.pretrained_cfg
        if cfg["input_size"][-1] != side and cfg.get("fixed_input_size"):
            model = timm.create_model(name, pretrained=False, img_size=side)
        return model.eval(), (torch.rand(1, cfg["input_size"][0], side, side),)
    return population.without_memory(make)


def judged(make, row, say):
    import torch
    from cleave.torch import capture
    torch.set_num_threads(1)
    try:
        model, inputs = make()
    except Exception as e:
        return say(end="does not run", why=population.first_line(e))
    got = capture(model, inputs, methods=("fx", "record"))
    kinds = got.graph.counts("fvcore")
    say(end="captured", method=got.method, unknown=sorted(set(got.unknown)),
        params=sum(p.numel() for p in model.parameters()),
        params_ours=got.graph.profile()["total_params"],
        module=type(model).__module__.rpartition(".")[2],
        total=kinds["total"], by_operator=kinds["by_operator"],
        macs=got.graph.profile()["total_macs"])


def same(row, table):
    """Whether the printed digits are ours: (parameters, GMACs)."""
    _, params, gmacs = table
    return (abs(round(row["params_ours"] / 1e6, 2) - float(params)) < 1e-9,
            abs(round(row["total"] / 1e9, 2) - float(gmacs)) < 1e-9)


def report(path):
    rows = [json.loads(line) for line in open(path)]
    done = [r for r in rows if r["end"] == "captured"]
    families = collections.defaultdict(list)
    for r in done:
        families[r["module"]].append(r)
    pairs = [(r, t) for r in done for t in r["tables"]]
    print(f"{len(rows)} models and sizes, {len(done)} captured, "
          f"{len(pairs)} printed rows: parameters equal "
          f"{sum(same(*p)[0] for p in pairs)}, GMACs equal "
          f"{sum(same(*p)[1] for p in pairs)}\n")
    for r in rows:
        if r["end"] != "captured":
            print(f"- {r['name']} at {r['side']}: {r['end']}: "
                  f"{r.get('why', '')}")
    print("\n| family | rows | params | GMACs | worst |\n|---|--:|--:|--:|---|")
    for family, some in sorted(families.items()):
        pairs = [(r, t) for r in some for t in r["tables"]]
        wrong = sorted(((r["total"] / 1e9 / float(t[2]) - 1, r["name"], t)
                        for r, t in pairs if not same(r, t)[1] and
                        float(t[2])), key=lambda w: abs(w[0]))
        worst = f"{wrong[-1][1]} {100 * wrong[-1][0]:+.2f} % " \
            f"({wrong[-1][2][2]})" if wrong else ""
        print(f"| {family} | {len(pairs)} | "
              f"{sum(same(*p)[0] for p in pairs)} | "
              f"{sum(same(*p)[1] for p in pairs)} | {worst} |")


def run():
    options = argparse.ArgumentParser()
    options.add_argument("tables", nargs="*")
    options.add_argument("-o", "--output")
    options.add_argument("--only", default="")
    options.add_argument("--report")
    options = options.parse_args()
    if options.report:
        return report(options.report)
    done = set()
    if os.path.exists(options.output):
        done = {((r := json.loads(line))["name"], r["side"])
                for line in open(options.output)}
    import tv    # before timm, which imports torchvision
    import timm
    import cleave.record
    from torch._subclasses.fake_tensor import FakeTensorMode
    population.judged = judged
    known = set(timm.list_models())
    pairs = sorted(rows_of(options.tables).items(),
                   key=lambda p: population.by_hash((0, p[0][0])))
    for (name, side), tables in pairs:
        if (name, side) in done or options.only not in name:
            continue
        row = {"name": name, "side": side, "tables": tables}
        if name not in known:
            row.update(end="not in this timm")
        else:
            row = population.in_child(row, maker(name, side), LIMIT, MEMORY)
        with open(options.output, "a") as file:
            file.write(json.dumps(row) + "\n")
        print(name, side, row["end"], row.get("why", ""), flush=True)


if __name__ == "__main__":
    sys.exit(run())

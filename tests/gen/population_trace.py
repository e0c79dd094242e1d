"""Traced models against eager PyTorch: the same numbers, and not slower.

    population_trace.py -o FILE.jsonl [--count 60] [--only TEXT]
    population_trace.py --report FILE.jsonl

Models of population.py, in the order of a hash, each in a process of
its own: traced with operators drawn at random forced to the CPU, and called at
three shapes (batches of 1 and 2, another size or batch of 3). A row has the
largest difference over the scale of the output, the times of the processor of
both (the best of several calls in turn, one thread), and where the partitions
ran; then the same in bfloat16 against eager bfloat16."""
import argparse
import json
import logging
import os
import random
import statistics
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"    # before torch reads it

import population

SHARES = (("timm", 24), ("transformers", 24), ("torchvision", 8),
          ("ultralytics", 4))    # of 60
HALF = 2 ** -7    # what bfloat16 tells apart


def chosen(count):
    for kind, share in SHARES:
        models = sorted(population.POPULATIONS[kind](), key=population.by_hash)
        models = [m for m in models if not any(
            part in m[0] for part in ("rcnn", "retinanet", "fcos", "ssd",
                                      "quantized", "3d", "mvit", "raft"))]
        yield from models[:max(1, count * share // 60)]


def others(inputs):
    """The same call at two other shapes: a batch of 2, and a longer sequence or
    a batch of 3."""
    import torch
    from torch.utils import _pytree as pytree

    def batch(n):
        return pytree.tree_map_only(
            torch.Tensor, lambda t: t.repeat(n, *[1] * (t.dim() - 1)), inputs)
    tokens = isinstance(inputs, dict) and set(inputs) == {"input_ids"}
    return batch(2), {"input_ids": inputs["input_ids"].repeat(1, 2)} \
        if tokens else batch(3)


def called(model, inputs):
    import torch
    with torch.no_grad():
        return model(**inputs) if isinstance(inputs, dict) else model(*inputs)


def difference(a, b):
    """The largest difference of two results over the scale of the second."""
    worst = 0.0
    for x, y in zip(tensors(a), tensors(b)):
        if x.shape != y.shape:
            return float("inf")
        x, y = x.double(), y.double()
        scale = max(1.0, float(y[y.isfinite()].abs().max())
                    if y.isfinite().any() else 0)
        gap = (x - y).abs()[(x != y) & ~(x.isnan() & y.isnan())]
        worst = max(worst, float(gap.max()) / scale if gap.numel() else 0)
    return worst


def tensors(out):
    import torch
    from torch.utils import _pytree as pytree
    if hasattr(out, "to_tuple"):
        out = out.to_tuple()
    return [t for t in pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]


def seconds(model, inputs, at_least=0.5):
    """Seconds per call of each model: the best of ten turns, each of as many
    calls as the clock needs."""
    start, calls = time.process_time(), 0
    while time.process_time() < start + at_least / 10:
        called(model[0], inputs)
        calls += 1
    best = [1e9] * len(model)
    for _ in range(10):
        for i, one in enumerate(model):
            start = time.process_time()
            for _ in range(calls):
                called(one, inputs)
            best[i] = min(best[i], (time.process_time() - start) / calls)
    return best


def judged(make, row, say):
    import torch
    from torch.utils import _pytree as pytree
    from cleave import neuron
    logging.getLogger("Neuron").setLevel(logging.ERROR)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    try:
        model, inputs = make()
        shapes = [inputs, *others(inputs)]
        wanted = [called(model, inputs)]
        for one in shapes[1:]:
            try:
                wanted.append(called(model, one))
            except Exception:    # the model does not take this shape
                wanted.append(None)
    except Exception as e:
        return say(end="does not run", why=population.first_line(e))
    say(end="stopped in trace")
    try:
        found = neuron.analyze(model, inputs)
        kinds = sorted(found["supported_operators"])
        forced = random.Random(row["name"]).sample(kinds, min(2, len(kinds) // 4))
        say(forced=forced)
        config = neuron.PartitionerConfig(
            ops_to_partition=set(forced),
            model_support_percentage_threshold=0)
        net = neuron.trace(model, inputs, partitioner_config=config)
        gaps = [difference(called(net, one), want)
                for one, want in zip(shapes, wanted) if want is not None]
    except Exception as e:
        return say(end="not traced", why=population.first_line(e))
    runs = [device for _, device, _ in net.runtimes()]
    say(end="traced", gaps=gaps, cleave=runs.count("cleave"), parts=len(runs),
        why="; ".join(sorted({why for *_, why in net.runtimes() if why}))[:200])
    eager, traced = seconds((model, net), inputs)
    say(eager=eager, traced=traced)
    try:
        half = model.bfloat16()
        cast = lambda t: t.bfloat16() if t.is_floating_point() else t
        inputs = pytree.tree_map_only(torch.Tensor, cast, inputs)
        want = called(half, inputs)
        net = neuron.trace(half, inputs, partitioner_config=config)
        say(half=difference(called(net, inputs), want))
    except Exception as e:
        say(half_why=population.first_line(e))


def report(path):
    rows = [json.loads(line) for line in open(path)]
    runs = [r for r in rows if r["end"] not in ("does not run",
                                                "stopped in making")]
    done = [r for r in runs if "gaps" in r]
    timed = [r for r in done if "traced" in r]
    ratio = lambda r: r["traced"] / r["eager"]
    print(f"{len(runs)} models that run, {len(done)} traced; within 1e-4 at "
          f"every shape {sum(max(r['gaps']) <= 1e-4 for r in done)}")
    if timed:
        ratios = sorted(map(ratio, timed))
        print(f"time over eager's: median {statistics.median(ratios):.2f}, "
              f"best {ratios[0]:.2f}, worst {ratios[-1]:.2f}, above 1.2: "
              f"{sum(r > 1.2 for r in ratios)} of {len(ratios)}")
    halves = [r["half"] for r in done if "half" in r]
    if halves:
        print(f"bfloat16: {len(halves)} traced, worst difference "
              f"{max(halves):.2g} (one unit is {HALF:.2g})")
    for r in sorted(rows, key=lambda r: -ratio(r) if r in timed else 0):
        print("   ", r["name"], r["end"], r.get("why", ""),
              f"gaps {['%.1g' % g for g in r['gaps']]} parts "
              f"{r['cleave']}/{r['parts']}" if r in done else "",
              f"{ratio(r):.2f}x of {1e3 * r['eager']:.1f} ms"
              if r in timed else "", r.get("half", r.get("half_why", "")))


def run():
    options = argparse.ArgumentParser()
    options.add_argument("-o", "--output")
    options.add_argument("--count", type=int, default=60)
    options.add_argument("--only", default="")
    options.add_argument("--limit", type=int, default=240)
    options.add_argument("--memory", type=int, default=8)
    options.add_argument("--report")
    options = options.parse_args()
    if options.report:
        return report(options.report)
    done = {}
    if os.path.exists(options.output):
        done = {(r := json.loads(line))["name"]: r
                for line in open(options.output)}
    population.judged, population.DATA = judged, True
    import tv
    import torch._dynamo
    import cleave.neuron
    for name, family, make in chosen(options.count):
        if options.only not in name or name in done:
            continue
        row = population.in_child({"name": name}, make, options.limit,
                                  options.memory)
        with open(options.output, "a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    sys.exit(run())

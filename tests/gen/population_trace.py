"""Traced models against eager PyTorch: the same numbers, and not slower.

    population_trace.py -o FILE.jsonl [--count 60] [--only TEXT] [--again TEXT]
    population_trace.py --report FILE.jsonl

Models of population.py, in the order of a hash until enough of them run, each in
a process of its own, forked from one that has traced: traced with operators
drawn at random forced to the CPU, and called at three shapes (batches of 1 and 2,
another length or a batch of 3). Images have 128 pixels a side where the model
takes that; models of more than 80 million parameters are passed over. A row has,
for every shape, the largest difference over the scale of the output, the times of
the processor of both (the best of several calls in turn, one thread), and where
the partitions ran; then the distance from eager float16 and bfloat16, and of both from
eager single precision. Models that FILE has already are left out, unless --again names
them."""
import argparse
import json
import logging
import os
import random
import resource
import statistics
import sys

os.environ["OMP_NUM_THREADS"] = "1"    # before torch reads it

import population

SHARES = (("transformers", 24), ("torchvision", 8), ("ultralytics", 4),
          ("timm", 24))    # of 60
HALVES = dict(float16=2 ** -10, bfloat16=2 ** -7)    # what they tell apart
SIDE = 128        # of images
TURNS = 7         # of calls to time
LARGEST = 8e7     # parameters: larger ones are passed over
RUNS = ("traced", "not traced", "stopped in trace")


def drawn(kind):
    """All models of a package that are drawn from, the first ones first."""
    models = sorted(population.POPULATIONS[kind](), key=population.by_hash)
    return [m for m in models if not any(
        part in m[0] for part in ("rcnn", "retinanet", "fcos", "ssd",
                                  "quantized", "3d", "mvit", "raft", "128gf",
                                  "vit_h"))]


def smaller(model, inputs):
    """The call with a smaller image, where the model takes that."""
    import torch
    if isinstance(inputs, dict) or len(inputs) != 1 or inputs[0].dim() != 4 or \
            inputs[0].shape[-1] <= SIDE:
        return inputs
    try:
        small = (torch.rand(1, inputs[0].shape[1], SIDE, SIDE),)
        called(model, small)
        return small
    except Exception:
        return inputs


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


def seconds(model, inputs, at_least=0.02):
    """Seconds of the processor per call of each model: the best of some turns,
    each of as many calls as the clock needs."""
    start, calls = processor(), 0
    while processor() < start + at_least:
        called(model[0], inputs)
        calls += 1
    best = [1e9] * len(model)
    for _ in range(TURNS if calls > 1 else 3):
        for i, one in enumerate(model):
            start = processor()
            for _ in range(calls):
                called(one, inputs)
            best[i] = min(best[i], (processor() - start) / calls)
    return best


def processor():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def judged(make, row, say):
    import torch
    from torch.utils import _pytree as pytree
    from cleave import neuron
    logging.getLogger("Neuron").setLevel(logging.ERROR)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    try:
        model, inputs = make()
        if sum(p.numel() for p in model.parameters()) > LARGEST:
            return say(end="too large")
        inputs = smaller(model, inputs)
        calls = [(one, want) for one in [inputs, *others(inputs)]
                 if (want := result(model, one)) is not None]
        called(model, inputs)
    except Exception as e:
        return say(end="does not run", why=population.first_line(e))
    say(end="stopped in trace")
    try:
        config = forced_at_random(model, inputs, row, say)
        net = neuron.trace(model, inputs, partitioner_config=config)
        gaps = [difference(called(net, one), want) for one, want in calls]
    except Exception as e:
        return say(end="not traced", why=population.first_line(e))
    plans = [net.plan, *net._plans.values()]
    runs = [device for _, device, _ in net.runtimes()]
    say(end="traced", gaps=gaps, cleave=runs.count("cleave"), parts=len(runs),
        plans=sum(p is not None for p in plans),
        why="; ".join(sorted({why for *_, why in net.runtimes() if why}))[:200])
    say(times=[seconds((model, net), one) for one, _ in calls])
    for half in HALVES:    # float16 first, which keeps more digits
        try:
            say(**{half: halved(model, inputs, config, calls[0][1], half)})
        except Exception as e:
            say(**{half + "_why": population.first_line(e)})


def result(model, inputs):
    """What the model returns, None where it does not take this shape."""
    try:
        return called(model, inputs)
    except Exception:
        return None


def forced_at_random(model, inputs, row, say):
    """A config that forces one or two kinds of operators to the CPU."""
    from cleave import neuron
    found = neuron.analyze(model, inputs)
    kinds = sorted(found["supported_operators"])
    forced = random.Random(row["name"]).sample(kinds, min(2, len(kinds) // 4))
    say(forced=forced)
    return neuron.PartitionerConfig(ops_to_partition=set(forced),
                                    model_support_percentage_threshold=0)


def halved(model, inputs, config, exact, half):
    """The same in half precision: how far traced is from eager, and both from
    the exact result."""
    import copy
    import torch
    from torch.utils import _pytree as pytree
    from cleave import neuron
    dtype = getattr(torch, half)
    model = copy.deepcopy(model).to(dtype)
    inputs = pytree.tree_map_only(
        torch.Tensor, lambda t: t.to(dtype) if t.is_floating_point() else t,
        inputs)
    want = called(model, inputs)
    net = neuron.trace(model, inputs, partitioner_config=config)
    got = called(net, inputs)
    return dict(gap=difference(got, want),
                exact=[difference(one, exact) for one in (got, want)])


def report(path):
    rows = {(r := json.loads(line))["name"]: r for line in open(path)}.values()
    runs = [r for r in rows if r["end"] in RUNS]
    done = [r for r in runs if "gaps" in r]
    timed = [r for r in done if "times" in r]
    ratio = lambda r: max(traced / eager for eager, traced in r["times"])
    print(f"{len(runs)} models that run, {len(done)} traced at "
          f"{sum(len(r['gaps']) for r in done)} shapes; within 1e-4 at "
          f"every shape {sum(max(r['gaps']) <= 1e-4 for r in done)}, worst "
          f"{max(max(r['gaps']) for r in done):.2g}")
    ratios = sorted(traced / eager for r in timed for eager, traced in r["times"])
    if ratios:
        print(f"time over eager's at {len(ratios)} shapes: median "
              f"{statistics.median(ratios):.2f}, best {ratios[0]:.2f}, worst "
              f"{ratios[-1]:.2f}, above 1: {sum(r > 1 for r in ratios)}, above "
              f"1.2: {sum(r > 1.2 for r in ratios)}")
    for half, step in HALVES.items():
        halves = [r for r in done if half in r]
        if halves:
            worst = max(halves, key=lambda r: r[half]["gap"])
            print(f"{half}: {len(halves)} traced, equal "
                  f"{sum(r[half]['gap'] == 0 for r in halves)}, worst difference "
                  f"{worst[half]['gap']:.2g} ({worst['name']}, from exact "
                  f"{worst[half]['exact']}; one unit is {step:.2g})")
    for r in sorted(rows, key=lambda r: -ratio(r) if r in timed else 0):
        print("   ", r["name"], r["end"], r.get("why", ""), r.get("forced", ""),
              f"gaps {['%.1g' % g for g in r['gaps']]} parts "
              f"{r['cleave']}/{r['parts']}" if r in done else "",
              [f"{t / e:.2f}x of {1e3 * e:.1f} ms" for e, t in r["times"]]
              if r in timed else "", *(f"{h}: {r.get(h, r.get(h + '_why', ''))}" for h in HALVES))


def warm():
    """Traces once, so that children have everything loaded."""
    import tv
    import torch
    import torch._dynamo
    from cleave import neuron
    torch.set_num_threads(1)
    logging.getLogger("Neuron").setLevel(logging.ERROR)
    net = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
    for strict in (False, True):
        torch.export.export(net, (torch.rand(2, 4),), strict=strict)
    neuron.trace(net, (torch.rand(2, 4),),
                 partitioner_config=neuron.PartitionerConfig())


def run():
    options = argparse.ArgumentParser()
    options.add_argument("-o", "--output")
    options.add_argument("--count", type=int, default=60)
    options.add_argument("--only", default="")
    options.add_argument("--again")
    options.add_argument("--limit", type=int, default=120)
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
    warm()
    for kind, share in SHARES:
        left = max(1, options.count * share // 60)
        for name, family, make in drawn(kind):
            again = options.again and options.again in name
            if options.only in name and (name not in done or again):
                done[name] = one_more(name, make, options)
            left -= name in done and done[name]["end"] in RUNS
            if not left:
                break


def one_more(name, make, options):
    row = population.in_child({"name": name}, make, options.limit,
                              options.memory)
    with open(options.output, "a") as file:    # the last of a name counts
        file.write(json.dumps(row) + "\n")
    print(row, flush=True)
    return row


if __name__ == "__main__":
    sys.exit(run())

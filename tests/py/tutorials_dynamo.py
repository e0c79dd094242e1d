"""Code as the notes on Dynamo have it: the same imports, calls and attributes.
A test's number is that of the block of code; blocks 3 and 11 install, block 4
is what partitions look like.
timeout: 600"""
import contextlib
import importlib.util
import io
import os
import subprocess
import sys

from py_check import check, equal, main, skip

from tv import torch
from torch import nn

import cleave
from cleave.dynamo import (DynamoGraphExtractor, analyze_memory_timeline,
                           save_graph_to_file, trace_model_with_dynamo)


class TwoParts(nn.Module):
    """Breaks into two graphs."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)

    def forward(self, x):
        x = torch.relu(self.conv1(x))
        torch._dynamo.graph_break()
        return self.conv2(x).sigmoid()


class OnePart(TwoParts):
    def forward(self, x):
        return self.conv2(torch.relu(self.conv1(x))).sigmoid()


model, example_input = OnePart(), torch.rand(1, 3, 32, 32)


def run(*args):
    return subprocess.run([sys.executable, *args], capture_output=True,
                          text=True)


def test_01_examples():
    out = run("-m", "cleave.examples.dynamo")
    equal(out.returncode, 0, out.stderr)
    for line in ("--- simple: SimpleCNN ---", "Graph Partition 2\n" + "=" * 18,
                 "  call_function: conv2d x2, linear x1, relu x2",
                 "Partitions: 1   Operators: 6   Parameters: 5,418",
                 "control  fx      failed: symbolically traced variables",
                 "control  dynamo  ok, 2 partition(s)",
                 "loops    fx      ok, 1 partition(s)"):
        check(line in out.stdout, f"no {line!r} in {out.stdout}")
    out = run("-m", "cleave.examples.dynamo", "loops")
    check(out.stdout.startswith("\n--- loops") and "simple" not in out.stdout,
          "one example")
    out = run("-m", "cleave.examples.dynamo", "bogus")
    equal((out.returncode, out.stdout), (2, ""), "no such example")
    check(out.stderr.startswith("no example 'bogus'; there are simple, "),
          out.stderr)


def test_02_huggingface():
    """Of every model so much as torch's own sum of parameters says."""
    if importlib.util.find_spec("transformers") is None:
        return skip("transformers is not installed")
    from cleave.examples import huggingface
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        equal(huggingface.main(["--model", "vit", "--save-graph",
                                "output/vit_graph.py"]), 0, "vit")
        equal(huggingface.main(["--model", "nonesuch"]), 3, "no such model")
    check("Graph Partition 1" in out.getvalue() and
          "Parameters: 86,389,248 " in out.getvalue() and
          "Graph saved to output/vit_graph.py" in out.getvalue(),
          out.getvalue())
    check("no transformers model 'nonesuch'; there are albert, bart" in
          err.getvalue(), err.getvalue())
    ran = run("output/vit_graph.py")
    equal((ran.returncode, ran.stdout[:2]), (0, "1 "), ran.stderr)
    if not os.environ.get("CLEAVE_SLOW"):
        return
    with contextlib.redirect_stdout(out):
        equal(huggingface.main(["--model", "all", "--save-graph", "all.py"]),
              0, "all")
    check("Parameters: 109,482,240 " in out.getvalue() and
          "Parameters: 41,368,512 " in out.getvalue(), out.getvalue())
    for name in ("detr", "bert", "vit"):
        equal(run(f"all_{name}.py").returncode, 0, f"saved {name} runs")


def test_05_backend():
    extractor = DynamoGraphExtractor()
    torch._dynamo.reset()
    compiled_model = torch.compile(TwoParts(), backend=extractor)
    with torch.no_grad():
        output = compiled_model(example_input)
    equal(tuple(output.shape), (1, 32, 32, 32), "it runs")
    equal(len(extractor.graph_modules), 2, "two graphs")


def summary(extractor):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        extractor.print_summary()
    return out.getvalue().splitlines()[0]


def test_05_summary():
    """Of a model that the caller compiled, and of recurrent ones, which Dynamo
    leaves out unless it is told; parameters as torch says."""
    for net, x in ((TwoParts(), example_input), (nn.Sequential(
            nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8)).eval(), example_input),
            (nn.LSTM(8, 16, 2), torch.rand(5, 2, 8)),
            (nn.GRU(8, 16), torch.rand(5, 2, 8))):
        extractor = DynamoGraphExtractor()
        torch._dynamo.reset()
        with torch.no_grad():
            torch.compile(net, backend=extractor)(x)
        params = sum(p.numel() for p in net.parameters())
        macs = sum(g.profile()["total_macs"] for g in extractor.graphs())
        equal(macs, cleave.profile(net, x)["total_macs"], type(net))
        check(macs and f"Parameters: {params:,} " in summary(extractor),
              summary(extractor))
        torch._dynamo.config.allow_rnn = False
        traced = trace_model_with_dynamo(net, x)
        equal(summary(traced), summary(extractor), "the other way")
        equal(torch._dynamo.config.allow_rnn, False, "as it was")
    equal(summary(DynamoGraphExtractor()), "Partitions: 0   (nothing was "
          "compiled: call the compiled model first)", "nothing yet")


def test_06_metadata():
    found = {}
    graph = trace_model_with_dynamo(model, example_input).graph_modules[0].graph
    for node in graph.nodes:
        if 'tensor_meta' in node.meta:
            shape = node.meta['tensor_meta'].shape
            dtype = node.meta['tensor_meta'].dtype
            found[node.name] = (tuple(shape), dtype)
    check(((1, 16, 32, 32), torch.float32) in found.values() and
          ((1, 32, 32, 32), torch.float32) in found.values(), found)
    check(all(n.name in found for n in graph.nodes if n.op != "output"),
          "every node has its shape")


def test_07_descriptors():
    from graphs.ir.structures import TensorDescriptor, SubgraphDescriptor
    from graphs.transform.partitioning import FusionPartitioner
    from graphs.analysis.unified_analyzer import UnifiedAnalyzer
    extractor = trace_model_with_dynamo(model, example_input)
    graph_module = extractor.graph_modules[0]
    subgraphs = []
    for node in graph_module.graph.nodes:
        if node.op == 'call_function':
            if 'tensor_meta' in node.meta:
                tm = node.meta['tensor_meta']
                tensor_desc = TensorDescriptor(shape=tuple(tm.shape),
                                               dtype=tm.dtype, name=node.name)
            subgraphs.append(SubgraphDescriptor(
                operations=[node.target.__name__], input_tensors=[...],
                output_tensors=[tensor_desc]))
    equal([s.operations for s in subgraphs],
          [["conv2d"], ["relu"], ["conv2d"]], "subgraphs")
    equal(subgraphs[0].output_tensors[0].size_bytes, 4 * 16 * 1024, "bytes")
    fused = FusionPartitioner().partition(extractor.graphs()[0])
    equal([s.fusion_pattern for s in fused.subgraphs],
          ["Conv_ReLU", "Conv_Sigmoid"], "fused")
    analyzer = UnifiedAnalyzer()
    for graph in (extractor.graphs()[0], graph_module):
        result = analyzer.analyze_graph(graph, "h100-sxm")
        equal(result.profile["total_flops"],
              cleave.profile(model, example_input)["total_flops"], "FLOPs")
        check(result.roofline is not None and result.memory.peak_bytes > 0 and
              result.concurrency.num_stages == 2, "every analysis")


def test_08_partitions():
    extractor = trace_model_with_dynamo(TwoParts(), example_input)
    convolutions = []
    for i, gm in enumerate(extractor.graph_modules):
        convolutions += [n for n in gm.graph.nodes
                         if n.target is torch.conv2d]
    equal((i + 1, len(convolutions)), (2, 2), "a convolution in each")
    equal(sum(g.profile()["total_macs"] for g in extractor.graphs()),
          1024 * (16 * 27 + 32 * 144), "MACs of both")
    equal(extractor.operation_statistics()["call_function"],
          {"conv2d": 2, "relu": 1}, "statistics")


def test_09_saved_graph():
    for net in (model, TwoParts()):
        save_graph_to_file(trace_model_with_dynamo(net, example_input),
                           "output/model_graph.py")
        ran = run("output/model_graph.py")
        equal((ran.stdout.splitlines()[-1][2:], ran.stderr),
              ("[(1, 32, 32, 32)]", ""), "saved graph runs")


def test_10_memory_timeline():
    """Live bytes by torch's own nodes beside ours: a tensor lives from the call
    that makes it (inputs: from the start) to the last that reads it; relu and
    sigmoid write over what nobody else reads."""
    module = trace_model_with_dynamo(model, example_input).graph_modules[0]
    nodes = list(module.graph.nodes)
    size = lambda n: n.meta['tensor_meta'].shape.numel() * \
        n.meta['tensor_meta'].dtype.itemsize
    live = {n for n in nodes if n.op == "placeholder"}
    timeline = []
    for node in nodes:
        if not node.op.startswith("call"):
            continue
        last = {a for a in node.all_input_nodes
                if max(map(nodes.index, a.users)) == nodes.index(node)}
        if node.target is not torch.conv2d:
            live -= last
        live.add(node)
        timeline.append((node.name, sum(map(size, live))))
        live -= last
    equal([row[1:] for row in analyze_memory_timeline(module)], timeline,
          "names and bytes")


main(globals())

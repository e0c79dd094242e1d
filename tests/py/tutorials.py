"""Code as the tutorials have it: the same imports, calls and attributes.
timeout: 900"""
import contextlib
import io
import os
import subprocess
import sys

from py_check import check, equal, main

from tv import torch, torchvision
import torch.nn as nn
import torchvision.models as models
from torch.fx import symbolic_trace
from torch.fx.passes.shape_prop import ShapeProp

import cleave
from graphs.characterize.graph_partitioner import GraphPartitioner
from graphs.characterize.concurrency_analyzer import ConcurrencyAnalyzer


class SimpleCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, kernel_size=3, padding=1)
        self.relu1 = nn.ReLU()
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.relu2 = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.conv1(x)
        x = self.relu1(x)
        x = self.conv2(x)
        x = self.relu2(x)
        x = self.pool(x)
        x = x.view(x.size(0), -1)
        x = self.fc(x)
        return x


def partition(model, shape=(1, 3, 224, 224)):
    fx_graph = symbolic_trace(model)
    ShapeProp(fx_graph).propagate(torch.randn(*shape))
    return GraphPartitioner().partition(fx_graph)


def test_first_partition():
    report = partition(SimpleCNN().eval(), (1, 3, 32, 32))
    concurrency = ConcurrencyAnalyzer().analyze(report)
    check("subgraph" in report.summary_stats().lower(), "summary")
    by_name = {sg.node_name: sg for sg in report.subgraphs}
    # 2 * 16*32*32 * 27 + bias; 2 * 32*32*32 * 144 + bias
    equal(by_name["conv1"].flops, 2 * 16 * 1024 * 27 + 16 * 1024, "conv1")
    equal(by_name["conv2"].flops, 2 * 32 * 1024 * 144 + 32 * 1024, "conv2")
    equal(by_name["conv1"].operation_type.value, "conv2d", "type")
    equal(by_name["conv1"].parallelism.total_threads, 16 * 1024, "threads")
    equal(by_name["conv2"].total_weight_bytes, 4 * (32 * 144 + 32), "weights")
    equal(concurrency.num_stages, len(report.subgraphs), "a chain")


def test_inspect_subgraph():
    report = partition(models.resnet18(weights=None).eval())
    most = max(report.subgraphs, key=lambda sg: sg.flops)
    check(most.flops / report.total_flops < 0.2, "share")
    check(most.arithmetic_intensity > 0 and
          most.recommended_bottleneck.value == "compute_bound", "bottleneck")
    p = most.parallelism
    check(p.batch == 1 and p.channels > 1 and p.spatial > 1 and
          not p.is_depthwise and p.can_split_channels, "parallelism")
    check(len(most.depends_on) >= 0 and most.total_input_bytes > 0 and
          most.total_output_bytes > 0, "bytes")
    counts = {}
    for sg in report.subgraphs:
        bt = sg.recommended_bottleneck.value
        counts[bt] = counts.get(bt, 0) + 1
    check(set(counts) <= {"compute_bound", "balanced", "memory_bound",
                          "bandwidth_bound"}, counts)
    equal(sum(sg.flops for sg in report.subgraphs), report.total_flops, "sum")


def test_depthwise():
    report = partition(models.mobilenet_v2(weights=None).eval())
    depthwise_ops = [sg for sg in report.subgraphs
                     if sg.parallelism and sg.parallelism.is_depthwise]
    equal(len(depthwise_ops), 17, "depthwise convolutions")
    check(all(sg.parallelism.channels for sg in depthwise_ops), "channels")


def test_stages():
    report = partition(models.resnet18(weights=None).eval())
    concurrency = ConcurrencyAnalyzer().analyze(report)
    seen = []
    for stage in concurrency.stages:
        ops = [sg.node_name for sg in report.subgraphs if sg.node_id in stage]
        equal(len(ops), len(stage), "stage")
        seen += ops
    equal(len(seen), len(report.subgraphs), "every operator once")
    equal(concurrency.max_parallel_ops_per_stage,
          max(len(s) for s in concurrency.stages), "widest")
    critical = [sg for sg in report.subgraphs
                if sg.node_id in report.critical_path_subgraphs]
    equal(len(critical), concurrency.critical_path_length, "critical path")
    for sg in report.subgraphs:
        check(all(dep < sg.node_id for dep in sg.depends_on), "order")


def test_budget():
    for model_fn in (models.resnet18, models.mobilenet_v2):
        model = model_fn(weights=None)    # in training mode, as there
        report = partition(model)
        weights = sum(sg.total_weight_bytes for sg in report.subgraphs)
        check(weights >= 4 * sum(p.numel() for p in model.parameters()),
              "weights")
        check(max(sg.total_input_bytes + sg.total_output_bytes
                  for sg in report.subgraphs) > 0, "activations")
        check(report.average_arithmetic_intensity > 1, "intensity")


def test_dynamo():
    from graphs.ir.structures import TensorDescriptor, SubgraphDescriptor
    from graphs.transform.partitioning import FusionPartitioner
    from graphs.analysis.unified_analyzer import UnifiedAnalyzer
    from cleave.dynamo import (DynamoGraphExtractor, analyze_memory_timeline,
                               save_graph_to_file, trace_model_with_dynamo)
    model, example_input = SimpleCNN(), torch.rand(1, 3, 32, 32)
    extractor = DynamoGraphExtractor()
    compiled_model = torch.compile(model, backend=extractor)
    compiled_model(example_input)
    check(len(extractor.graph_modules) == 1, "one graph")

    extractor = trace_model_with_dynamo(model, example_input)
    graph_module = extractor.graph_modules[0]
    subgraphs = []
    for node in graph_module.graph.nodes:
        if node.op == 'call_function':
            tm = node.meta['tensor_meta']
            tensor_desc = TensorDescriptor(shape=tuple(tm.shape),
                                           dtype=tm.dtype, name=node.name)
            subgraphs.append(SubgraphDescriptor(
                operations=[node.target.__name__], input_tensors=[],
                output_tensors=[tensor_desc]))
    check(len(subgraphs) >= 6, "subgraphs")
    equal(subgraphs[0].output_tensors[0].size_bytes, 4 * 16 * 1024, "bytes")
    stats = extractor.operation_statistics()
    equal(stats["call_function"].get("conv2d"), 2, stats)
    fused = FusionPartitioner().partition(extractor.graphs()[0])
    check(len(fused.subgraphs) < len(subgraphs), "fused")
    result = UnifiedAnalyzer().analyze_graph(extractor.graphs()[0], "h100-sxm")
    equal(result.profile["total_flops"],
          cleave.profile(model, example_input)["total_flops"], "FLOPs")
    timeline = analyze_memory_timeline(graph_module)
    check(max(size for _, _, size in timeline) >= 4 * 48 * 1024, timeline)

    save_graph_to_file(extractor, "output/model_graph.py")
    ran = subprocess.run([sys.executable, "output/model_graph.py"],
                         capture_output=True, text=True)
    equal((ran.stdout, ran.stderr), ("1 [(1, 10)]\n", ""), "saved graph runs")


def test_profile_model():
    from cli.profile_graph import MODEL_REGISTRY, show_table
    from cli.profile_graph_v2 import profile_model

    class MyModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(3, 64, 3)
            self.bn1 = nn.BatchNorm2d(64)
            self.relu = nn.ReLU()

        def forward(self, x):
            x = self.conv1(x)
            x = self.bn1(x)
            return self.relu(x)

    MODEL_REGISTRY['my_model'] = lambda: MyModel()
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        one = profile_model(MyModel(), input_shape=(1, 3, 224, 224),
                            model_name="MyModel")
        two = show_table('my_model')
        three = profile_model('resnet18', show_shapes=True)
    equal(one["total_params"], 64 * 27 + 64 + 128, "parameters")
    equal(two["total_macs"], 64 * 27 * 222 * 222, "MACs")
    equal(three["total_params"], 11689512, "resnet18")
    check("MyModel" in out.getvalue() and "Traced with fx" in out.getvalue(),
          "text")


def test_command_lines():
    shim = os.path.join(os.environ["CLEAVE_ROOT"], "python", "cli")
    run = lambda *a: subprocess.run([sys.executable, *a], capture_output=True,
                                    text=True)
    out = run(os.path.join(shim, "profile_graph.py"), "--model",
              "efficientnet_b0", "--input-shape", "1", "3", "384", "384")
    check(out.returncode == 0 and "efficientnet_b0" in out.stdout, out.stderr)
    with open("mine.py", "w") as f:
        f.write("import torch\ndef net():\n    return torch.nn.Linear(8, 4)\n")
    out = run("-m", "cleave", "profile", "mine:net", "--input-shape", "2,8",
              "--json", "--save-graph", "saved.py")
    check('"total_macs": 64' in out.stdout.replace('":64', '": 64'), out.stdout[:300])
    equal(run("saved.py").stdout, "1 (2, 4)\n", "saved graph")
    out = run("-m", "cleave", "partition", "mine:net", "--input-shape", "2,8")
    check(out.returncode == 0 and "linear" in out.stdout, out.stderr)
    out = run("-m", "cleave", "profile", "mine:missing", "--input-shape", "2,8")
    check(out.returncode == 3 and "missing" in out.stderr, out)
    out = run("-m", "cleave", "profile", "mine:net", "--input-shape", "2,9")
    check(out.returncode in (3, 4) and "shapes" in out.stderr, out)
    out = run("-m", "cleave", "--list")
    check("resnet18" in out.stdout.split(), "list")
    out = run("-m", "cleave.examples.dynamo", "compare")
    check("control  fx      failed" in out.stdout and
          "loops    fx      ok" in out.stdout, out.stdout + out.stderr)


main(globals())

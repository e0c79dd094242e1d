"""Code as the tutorial of the graph partitioner has it: the same imports, calls
and attributes. A test's number is that of the tutorial's block of code; block 1
installs. tutorials_dynamo.py and tutorials_profiler.py have the others' blocks,
neuron.py those of the note on partitioning.
timeout: 600"""
import warnings

from py_check import check, equal, main, raises

from tv import torch, torchvision
import torch.nn as nn
import torchvision.models as models
from torch.fx import symbolic_trace
from torch.fx.passes.shape_prop import ShapeProp

import networkx as nx

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


def levels(fx_graph, report):
    """The longest chain of operators, by networkx over torch's own graph."""
    own = {n["torch"] for n in report.graph.nodes()}
    g = nx.DiGraph()
    for node in fx_graph.graph.nodes:
        g.add_node(node)
        g.add_edges_from((a, node) for a in node.all_input_nodes)
    best = {}
    for n in nx.topological_sort(g):
        best[n] = (n.name in own) + max((best[p] for p in g.predecessors(n)),
                                  default=0)
    return max(best.values())


def test_02_first_partition():
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
    memory = {sg.node_name: (sg.total_input_bytes + sg.total_output_bytes +
                             sg.total_weight_bytes) for sg in report.subgraphs}
    equal(memory["conv1"], 4 * (3 * 1024 + 16 * 1024 + 16 * 27 + 16), "memory")
    equal(sum(memory.values()), report.total_memory_traffic, "traffic")
    equal(max(report.subgraphs, key=lambda sg: sg.flops).node_name, "conv2",
          "most FLOPs")


def test_03_batch_norm():
    class Wider(SimpleCNN):
        def __init__(self):
            super().__init__()
            self.bn1 = nn.BatchNorm2d(16)
            self.conv3 = nn.Conv2d(32, 64, kernel_size=3, padding=1)
            self.fc = nn.Linear(64, 10)

        def forward(self, x):
            x = self.bn1(self.relu1(self.conv1(x)))
            x = self.conv3(self.relu2(self.conv2(x)))
            x = self.pool(x)
            return self.fc(x.view(x.size(0), -1))

    before = partition(SimpleCNN().eval(), (1, 3, 32, 32))
    after = partition(Wider().eval(), (1, 3, 32, 32))
    equal(len(after.subgraphs), len(before.subgraphs) + 2, "subgraphs")
    check(after.average_arithmetic_intensity >
          before.average_arithmetic_intensity, "intensity")


def test_04_inspect_subgraph():
    report = partition(models.resnet18(weights=None).eval())
    most = max(report.subgraphs, key=lambda sg: sg.flops)
    equal((most.node_name, most.flops), ("conv1", 2 * 64 * 112 * 112 * 147),
          "most compute")
    equal(most.operation_type.value, "conv2d", "type")
    equal((most.total_input_bytes, most.total_output_bytes,
           most.total_weight_bytes),
          (4 * 3 * 224 * 224, 4 * 64 * 112 * 112, 4 * 64 * 147), "bytes")
    check(abs(most.arithmetic_intensity - most.flops /
              (4 * (3 * 224 * 224 + 64 * 112 * 112 + 64 * 147))) < 1e-9 and
          most.recommended_bottleneck.value == "compute_bound", "bottleneck")
    p = most.parallelism
    equal((p.batch, p.channels, p.spatial, p.total_threads),
          (1, 64, 112 * 112, 64 * 112 * 112), "parallelism")
    check(not p.is_depthwise and p.can_split_channels, "parallelism")
    equal(len(most.depends_on), 0, "dependencies")


def test_05_bottlenecks():
    report = partition(models.resnet18(weights=None).eval())
    bottleneck_counts = {}
    for sg in report.subgraphs:
        bt = sg.recommended_bottleneck.value
        bottleneck_counts[bt] = bottleneck_counts.get(bt, 0) + 1
        limit = {"compute_bound": 50, "balanced": 10, "memory_bound": 1,
                 "bandwidth_bound": -1}[bt]
        check(sg.arithmetic_intensity > limit, f"{sg.node_name}: {bt}")
    equal(sum(bottleneck_counts.values()), len(report.subgraphs), "all")
    equal(sum(sg.flops for sg in report.subgraphs), report.total_flops, "sum")


def test_06_depthwise():
    report = partition(models.mobilenet_v2(weights=None).eval())
    depthwise_ops = [sg for sg in report.subgraphs
                     if sg.parallelism and sg.parallelism.is_depthwise]
    equal([sg.parallelism.channels for sg in depthwise_ops],
          [m.groups for m in models.mobilenet_v2(weights=None).modules()
           if isinstance(m, nn.Conv2d) and m.groups > 1], "channels")
    others = [sg for sg in report.subgraphs if "conv" in
              sg.operation_type.value and not sg.parallelism.is_depthwise]
    mean = lambda ops: sum(sg.arithmetic_intensity for sg in ops) / len(ops)
    check(mean(depthwise_ops) < mean(others) / 4, "more memory-bound")


def test_07_stages():
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
    g = nx.DiGraph()
    for sg in report.subgraphs:
        g.add_node(sg.node_id, flops=sg.flops)
        g.add_edges_from((dep, sg.node_id) for dep in sg.depends_on)
    check(nx.is_directed_acyclic_graph(g), "acyclic")
    heaviest = {}
    for n in nx.topological_sort(g):
        heaviest[n] = g.nodes[n]["flops"] + max(
            (heaviest[p] for p in g.predecessors(n)), default=0)
    equal(sum(sg.flops for sg in critical), max(heaviest.values()),
          "FLOPs on the critical path")


def test_08_batching():
    report = partition(models.resnet18(weights=None).eval())
    concurrency = ConcurrencyAnalyzer().analyze(report)
    max_parallel_ops = concurrency.max_parallel_ops_per_stage
    equal(f"{max_parallel_ops * 32:4d}", "  64", "an integer")


def test_09_compare():
    for name, model_fn in (("ResNet-18", models.resnet18),
                           ("MobileNet-V2", models.mobilenet_v2),
                           ("EfficientNet-B0", models.efficientnet_b0)):
        model = model_fn(weights=None)
        model.eval()
        fx_graph = symbolic_trace(model)
        ShapeProp(fx_graph).propagate(torch.randn(1, 3, 224, 224))
        report = GraphPartitioner().partition(fx_graph)
        concurrency = ConcurrencyAnalyzer().analyze(report)
        equal(concurrency.num_stages, levels(fx_graph, report), name)
        equal(concurrency.critical_path_length, concurrency.num_stages,
              f"{name}: one from each stage")
        avg = sum(sg.parallelism.total_threads for sg in report.subgraphs
                  if sg.parallelism) / len(report.subgraphs)
        check(f"{concurrency.max_parallel_ops_per_stage:<15}" and avg > 1, name)


def peak_mb(report):
    return (sum(sg.total_weight_bytes for sg in report.subgraphs) +
            max(sg.total_input_bytes + sg.total_output_bytes
                for sg in report.subgraphs)) / 1024**2


def test_10_memory_budget():
    for model_fn, biggest in ((models.resnet18, 2 * 64 * 112 * 112),
                              (models.mobilenet_v2, 2 * 96 * 112 * 112)):
        model = model_fn(weights=None)    # in training mode, as there
        report = partition(model)
        held = [*model.parameters(), *(b for b in model.buffers() if b.dim())]
        equal(peak_mb(report), 4 * (sum(t.numel() for t in held) + biggest) /
              1024**2, "weights, statistics and the largest activation")


def test_11_hardware():
    report = partition(models.resnet18(weights=None).eval())
    concurrency = ConcurrencyAnalyzer().analyze(report)
    profile = {'compute_units': 4, 'memory_mb': 256,
               'min_arithmetic_intensity': 5.0}
    check(peak_mb(report) <= profile['memory_mb'], "fits")
    check(concurrency.max_parallel_ops_per_stage >=
          profile['compute_units'] * 0.5, "two at once")
    check(report.average_arithmetic_intensity >=
          profile['min_arithmetic_intensity'], "intensity")
    found = report.graph.check(memory="256MB", compute_units=4,
                               min_intensity=5)
    equal([c["passed"] for c in found["checks"]], [True] * 3, found)


def test_12_low_flops():
    report = partition(models.resnet18(weights=None).eval())
    check(report.total_flops / 1e9 > 0.8 * 3.79, "as expected")
    zero = [sg for sg in report.subgraphs if sg.flops == 0]
    equal({sg.operation_type.value for sg in zero}, {"flatten"}, "zero")
    equal([sg for sg in report.subgraphs
           if sg.operation_type.value == 'unknown'], [], "unknown")
    equal(len([sg for sg in report.subgraphs
               if 'conv' in sg.operation_type.value]), 20, "convolutions")


def test_13_concrete_args():
    """A graph that was traced with its input for a constant."""
    model, x = SimpleCNN().eval(), torch.randn(1, 3, 32, 32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fx_graph = symbolic_trace(model, concrete_args={'x': x})
    ShapeProp(fx_graph).propagate(x)
    equal(GraphPartitioner().partition(fx_graph).total_flops,
          partition(model, (1, 3, 32, 32)).total_flops, "the same")
    with raises(cleave.Error, "ShapeProp(fx_graph).propagate(input)"):
        GraphPartitioner().partition(symbolic_trace(model))
    with raises(cleave.Error, "not a torch.fx.GraphModule"):
        GraphPartitioner().partition(model)


main(globals())

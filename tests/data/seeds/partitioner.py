"""The partitioner's tutorial as one program: its imports, its calls, the
attributes it prints, in its order. Run by tests/py/seeds.py."""
import sys

import torch
import torch.nn as nn
from torch.fx import symbolic_trace
from torch.fx.passes.shape_prop import ShapeProp

sys.path.insert(0, 'src')    # as there; the package is found without

from cleave import vision
models = vision.load().models
from graphs.characterize.graph_partitioner import GraphPartitioner
from graphs.characterize.concurrency_analyzer import ConcurrencyAnalyzer


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, kernel_size=3, padding=1)
        self.relu1 = nn.ReLU()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = self.pool(self.relu1(self.conv1(x)))
        x = x.view(x.size(0), -1)
        return self.fc(x)


def traced(model, size):
    model.eval()
    fx_graph = symbolic_trace(model)
    ShapeProp(fx_graph).propagate(torch.randn(1, 3, size, size))
    partitioner = GraphPartitioner()
    report = partitioner.partition(fx_graph)
    analyzer = ConcurrencyAnalyzer()
    return report, analyzer.analyze(report)


def first():
    report, concurrency = traced(SmallNet(), 32)
    print(report.summary_stats())
    print("\nSubgraphs:")
    for i, sg in enumerate(report.subgraphs, 1):
        print(f"\n{i}. {sg.node_name} ({sg.operation_type.value})")
        print(f"   FLOPs: {sg.flops:,}")
        moved = sg.total_input_bytes + sg.total_output_bytes + \
            sg.total_weight_bytes
        print(f"   Memory: {moved/1024:.1f} KB")
        if sg.parallelism:
            print(f"   Threads: {sg.parallelism.total_threads:,}")


def inspect(report):
    most_flops = max(report.subgraphs, key=lambda sg: sg.flops)
    print(f"Name: {most_flops.node_name}")
    print(f"Type: {most_flops.operation_type.value}")
    print(f"FLOPs: {most_flops.flops / 1e9:.3f} GFLOPs "
          f"({most_flops.flops / report.total_flops * 100:.1f}%)")
    print(f"  Input: {most_flops.total_input_bytes / 1e6:.2f} MB")
    print(f"Arithmetic Intensity: {most_flops.arithmetic_intensity:.2f}")
    print(f"Bottleneck: {most_flops.recommended_bottleneck.value}")
    if most_flops.parallelism:
        p = most_flops.parallelism
        print(f"  Batch: {p.batch} {p.channels} {p.spatial} "
              f"{p.total_threads:,} {p.is_depthwise} {p.can_split_channels}")
    print(f"Dependencies: {len(most_flops.depends_on)} operations")
    counts = {}
    for sg in report.subgraphs:
        bt = sg.recommended_bottleneck.value
        counts[bt] = counts.get(bt, 0) + 1
    print("Bottlenecks:", sum(counts.values()))


def stages(report, concurrency):
    for i, stage in enumerate(concurrency.stages, 1):
        stage_ops = [sg.node_name for sg in report.subgraphs
                     if sg.node_id in stage]
        print(f"Stage {i}: {len(stage)} operations: {', '.join(stage_ops[:2])}")
    critical_ops = [sg for sg in report.subgraphs
                    if sg.node_id in report.critical_path_subgraphs]
    share = sum(sg.flops for sg in critical_ops) / report.total_flops * 100
    print(f"Critical Path: {len(critical_ops)} operations, {share:.1f}%")
    for batch in (1, 4, 32):
        speedup = concurrency.max_parallel_ops_per_stage * batch
        print(f"Batch size {batch:2d}: {speedup:4d}x theoretical speedup")
    print(f"{'ResNet-18':<20} {concurrency.num_stages:<10} "
          f"{concurrency.max_parallel_ops_per_stage:<15} "
          f"{concurrency.critical_path_length:<15}")


def edges(report):
    """The tutorial's graph for networkx, without the drawing."""
    import networkx as nx
    G = nx.DiGraph()
    for sg in report.subgraphs:
        G.add_node(sg.node_id, label=sg.node_name[:10])
        for dep in sg.depends_on:
            if dep in [s.node_id for s in report.subgraphs]:
                G.add_edge(dep, sg.node_id)
    print("Acyclic:", nx.is_directed_acyclic_graph(G))


def budgets(report, concurrency):
    total_weights = sum(sg.total_weight_bytes for sg in report.subgraphs)
    max_activation = max(sg.total_input_bytes + sg.total_output_bytes
                         for sg in report.subgraphs)
    peak_memory_mb = (total_weights + max_activation) / (1024**2)
    print(f"Status: {'FITS' if peak_memory_mb <= 100 else 'EXCEEDS'}")
    suitable = report.average_arithmetic_intensity >= 5.0 and \
        concurrency.max_parallel_ops_per_stage >= 4 * 0.5
    print(f"Overall: {'SUITABLE' if suitable else 'NOT SUITABLE'}")
    zero = {sg.operation_type.value for sg in report.subgraphs if sg.flops == 0}
    unknown = [sg for sg in report.subgraphs
               if sg.operation_type.value == 'unknown']
    conv_ops = [sg for sg in report.subgraphs
                if 'conv' in sg.operation_type.value]
    print(f"Zero: {zero}; unknown: {len(unknown)}; conv: {len(conv_ops)}")


first()
report, concurrency = traced(models.resnet18(weights=None), 224)
inspect(report)
stages(report, concurrency)
edges(report)
budgets(report, concurrency)

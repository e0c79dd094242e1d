"""Every analysis of one model."""
import cleave
from graphs.ir.structures import PartitionReport, Record

__all__ = ["UnifiedAnalyzer"]


class UnifiedAnalyzer:
    def __init__(self, strategy="fusion"):
        self.strategy = strategy

    def analyze_model(self, model, hardware=None, inputs=None, **options):
        """A model's name, file, live module or captured graph."""
        return self.analyze_graph(cleave.load(model, inputs, **options),
                                  hardware)

    def analyze_graph(self, graph, hardware=None):
        """A cleave.Graph, or a torch.fx.GraphModule with shapes."""
        if not isinstance(graph, cleave.Graph):
            graph = cleave.capture(graph).graph
        partition = PartitionReport(graph, self.strategy)
        return Record({
            "graph": graph,
            "profile": graph.profile(),
            "partition_report": partition,
            "concurrency": partition.concurrency,
            "memory": Record(graph.memory(self.strategy)),
            "roofline": Record(graph.map(hardware, self.strategy))
            if hardware else None,
        })

    analyze = analyze_model

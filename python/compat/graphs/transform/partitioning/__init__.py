"""Ways to cut a graph."""
from graphs.characterize.graph_partitioner import GraphPartitioner

__all__ = ["FusionPartitioner", "GraphPartitioner"]


class FusionPartitioner(GraphPartitioner):
    """Runs together what saves traffic (docs/fusion.md)."""
    strategy = "fusion"

"""One subgraph per operator of a torch.fx graph with shapes."""
from cleave._cleave import Error, Graph, from_fx
from graphs.ir.structures import PartitionReport

__all__ = ["GraphPartitioner"]


class GraphPartitioner:
    strategy = "op"

    def partition(self, fx_graph):
        """The report of a GraphModule (after ShapeProp) or a cleave.Graph."""
        if not isinstance(fx_graph, Graph):
            nodes = getattr(getattr(fx_graph, "graph", None), "nodes", None)
            if nodes is None:
                raise Error("not a torch.fx.GraphModule")
            if not any("tensor_meta" in n.meta or "val" in n.meta or
                       "example_value" in n.meta for n in nodes):
                raise Error("the graph has no shapes: run "
                            "ShapeProp(fx_graph).propagate(input) first")
            fx_graph = from_fx(fx_graph, type(fx_graph).__name__)
        return PartitionReport(fx_graph, self.strategy)

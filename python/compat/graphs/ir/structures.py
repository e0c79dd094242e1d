"""What partitioning and concurrency analyses return, as objects."""
from dataclasses import dataclass, field
from functools import cached_property


class Word(str):
    """A name from a report that also reads like a member of an enum."""

    @property
    def value(self):
        return str(self)

    @property
    def name(self):
        return self.upper()


class Record:
    """The keys of a report's dict as attributes."""

    def __init__(self, data):
        self._data = data

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self._data[name]
        except KeyError:
            raise AttributeError(
                f"no '{name}'; there are {', '.join(self._data)}") from None

    def __dir__(self):
        return [*super().__dir__(), *self._data]

    def to_dict(self):
        return self._data


class ParallelismDescriptor(Record):
    """batch, channels, spatial, total_threads, is_depthwise, ..."""


@dataclass
class TensorDescriptor:
    shape: tuple = ()
    dtype: object = None
    name: str = ""
    size_bytes: int = 0

    def __post_init__(self):
        self.shape = tuple(self.shape)
        size = getattr(self.dtype, "itemsize", 0)
        if not self.size_bytes and size:
            self.size_bytes = size
            for n in self.shape:
                self.size_bytes *= int(n)


@dataclass
class SubgraphDescriptor:
    node_id: int = -1
    node_name: str = ""
    operation_type: Word = Word("unknown")
    operations: list = field(default_factory=list)
    node_names: list = field(default_factory=list)
    input_tensors: list = field(default_factory=list)
    output_tensors: list = field(default_factory=list)
    weight_tensors: list = field(default_factory=list)
    flops: int = 0
    macs: int = 0
    params: int = 0
    total_input_bytes: int = 0
    total_output_bytes: int = 0
    total_weight_bytes: int = 0
    internal_bytes: int = 0
    arithmetic_intensity: float = 0.0
    recommended_bottleneck: Word = Word("bandwidth_bound")
    parallelism: ParallelismDescriptor = None
    depends_on: list = field(default_factory=list)
    fusion_pattern: str = ""
    partition_reason: Word = Word("operation_boundary")
    detail: str = ""
    trust: str = ""
    device: str = None

    @classmethod
    def of(cls, d):
        """From a subgraph of a partition report."""
        threads = d["parallelism"]["total_threads"]
        types = d["operation_types"]
        own = {k: d[k] for k in (
            "node_names", "flops", "macs", "params", "total_input_bytes",
            "total_output_bytes", "total_weight_bytes", "internal_bytes",
            "arithmetic_intensity", "depends_on", "detail", "trust", "device")
            if k in d}
        return cls(
            node_id=d["id"], node_name=" + ".join(d["node_names"]),
            operation_type=Word(d["pattern"] or "+".join(types)),
            operations=types, fusion_pattern=d["pattern"],
            recommended_bottleneck=Word(d["recommended_bottleneck"]),
            partition_reason=Word(d["partition_reason"]),
            parallelism=ParallelismDescriptor(d["parallelism"])
            if threads else None, **own)

    @property
    def total_memory_bytes(self):
        return (self.total_input_bytes + self.total_output_bytes +
                self.total_weight_bytes)


class ConcurrencyDescriptor(Record):
    """num_stages, max_parallel_ops_per_stage, critical_path_length, stages, ..."""

    def explanation(self):
        return self._text


class PartitionReport(Record):
    """Subgraphs and totals of one way to cut a graph."""

    def __init__(self, graph, strategy="op"):
        super().__init__(graph.partition(strategy))
        self.graph, self.strategy = graph, strategy

    @cached_property
    def subgraphs(self):
        return [SubgraphDescriptor.of(d) for d in self._data["subgraphs"]]

    @property
    def average_arithmetic_intensity(self):
        return self._data["arithmetic_intensity"]

    @cached_property
    def concurrency(self):
        found = ConcurrencyDescriptor(self.graph.concurrency(self.strategy))
        found._text = self.graph.concurrency(self.strategy, text=True)
        return found

    @property
    def critical_path_subgraphs(self):
        return self.concurrency.critical_path

    @property
    def total_memory_traffic(self):
        return self._data["total_memory"]

    def summary_stats(self):
        return self.graph.partition(self.strategy, text=True)


FusionReport = PartitionReport

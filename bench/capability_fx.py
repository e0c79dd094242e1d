"""The fewest subgraphs against torch.fx's CapabilityBasedPartitioner.

Both get the same random graph: in-degree 2, from the 20 nodes before, 10 %
unsupported. The size is $CLEAVE_BENCH_NODES (500; torch.fx takes minutes at
4,000). Inside the clock: torch.fx's propose_partitions; ours from the graph to
the labels and the certificate.
"""
import operator
import os
import subprocess
import time

import torch
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

WINDOW, PER_CENT = 20, 10


class Random:
    """The generator of bench/capability.c."""

    def __init__(self):
        self.state = 1

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def make(n):
    rng, graph, unsupported = Random(), torch.fx.Graph(), set()
    made = [graph.placeholder("x")]
    for i in range(n):
        room = min(i + 1, WINDOW)
        a, b = rng.below(room), rng.below(room)
        node = graph.call_function(operator.add, (made[i - a], made[i - b]))
        if rng.below(100) < PER_CENT:
            unsupported.add(node)
        made.append(node)
    graph.output(made[-1])
    return torch.fx.GraphModule({}, graph), unsupported


class Support(OperatorSupportBase):
    def __init__(self, unsupported):
        self.unsupported = unsupported

    def is_node_supported(self, submodules, node):
        return node.op == "call_function" and node not in self.unsupported


def main():
    n = int(os.environ.get("CLEAVE_BENCH_NODES", "500"))
    module, unsupported = make(n)
    partitioner = CapabilityBasedPartitioner(
        module, Support(unsupported), allows_single_node_partition=True)
    start = time.perf_counter()
    theirs = len(partitioner.propose_partitions())
    seconds = time.perf_counter() - start
    exe = os.path.join(os.environ["CLEAVE_BUILD"], "bench", "capability")
    us, ours = subprocess.run([exe, str(n)], check=True, capture_output=True,
                              text=True).stdout.split()
    ratio = seconds / (float(us) / 1e6)
    print(f"torch.fx: {seconds:.3f} s, {theirs} subgraphs; "
          f"cleave: {float(us):.1f} us, {ours} subgraphs ({n} nodes)")
    print(f"ratio: {ratio:.0f} x (at least 10000)")
    return not (ratio >= 10000 and int(ours) <= theirs)


if __name__ == "__main__":
    raise SystemExit(main())

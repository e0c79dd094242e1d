#!/usr/bin/env python3
"""Random networks with their maximum flow, by scipy and by networkx.

Writes tests/data/maxflow.txt: per network a line `NODES ARCS FLOW`, then one
line `FROM TO CAPACITY` per arc. The source is node 0, the sink the last one.
Both libraries must agree. Run: tests/gen/maxflow.py > tests/data/maxflow.txt
"""
import random
import sys

import networkx
import numpy
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_flow


def network(rng):
    n = rng.choice([2, 3, 5, 8, 12, 20, 40])
    kind = rng.choice(["any", "layers", "dense"])
    arcs = {}
    for _ in range({"any": 3 * n, "layers": 4 * n, "dense": n * n // 2}[kind]):
        u, v = rng.randrange(n), rng.randrange(n)
        if kind == "layers" and not u < v <= u + 4:
            continue
        if u != v and v != 0 and u != n - 1 and len(arcs) < 150:
            arcs[u, v] = rng.choice([1, 2, 3, rng.randrange(1, 1000),
                                     rng.randrange(1, 2**20)])
    return n, arcs


def flow(n, arcs):
    matrix = numpy.zeros((n, n), dtype=numpy.int32)
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(n))
    for (u, v), c in arcs.items():
        matrix[u, v] = c
        graph.add_edge(u, v, capacity=c)
    ours = int(maximum_flow(csr_array(matrix), 0, n - 1).flow_value)
    theirs = networkx.maximum_flow_value(graph, 0, n - 1)
    assert ours == theirs, (ours, theirs)
    return ours


def main():
    rng = random.Random(1977)
    for _ in range(260):
        n, arcs = network(rng)
        print(n, len(arcs), flow(n, arcs))
        for (u, v), c in arcs.items():
            print(u, v, c)
    return 0


if __name__ == "__main__":
    sys.exit(main())

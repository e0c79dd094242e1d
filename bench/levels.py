"""Levels and the longest path of a DAG of 100,000 nodes, against networkx.

Both sides get the same DAG in memory; the clock runs over the analysis alone:
networkx's topological generations and longest path, cleave's stages, slack and
critical path (bench/cut.c). The results must agree.
"""

import os
import random
import subprocess
import sys
import tempfile
import time

import networkx as nx

NODES, BOUND = 100_000, 100


def dag():
    random.seed(7)
    weights = [random.randint(1, 1000) for _ in range(NODES)]
    edges = []
    for v in range(1, NODES):
        heads = {random.randint(max(0, v - 50), v - 1) for _ in range(random.randint(0, 3))}
        edges += [(u, v) for u in sorted(heads)]
    return weights, edges


def ours(weights, edges):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as f:
        print(len(weights), len(edges), file=f)
        print(*weights, file=f)
        f.writelines(f"{u} {v}\n" for u, v in edges)
        f.flush()
        out = subprocess.run([os.environ["CLEAVE_BUILD"] + "/bench/cut", f.name],
                             check=True, capture_output=True, text=True).stdout
    seconds, stages, span = out.split()
    return float(seconds), int(stages), int(span)


def theirs(weights, edges):
    g = nx.DiGraph()
    g.add_nodes_from(range(len(weights)))
    g.add_weighted_edges_from((u, v, weights[v]) for u, v in edges)
    g.add_weighted_edges_from((-1, v, weights[v]) for v in range(len(weights)))
    start = time.process_time()
    stages = sum(1 for _ in nx.topological_generations(g)) - 1
    span = nx.dag_longest_path_length(g)
    return time.process_time() - start, stages, span


def main():
    weights, edges = dag()
    a, b = ours(weights, edges), theirs(weights, edges)
    if a[1:] != b[1:]:
        sys.exit(f"levels: networkx {b[1:]} stages and span, ours {a[1:]}")
    ratio = b[0] / a[0]
    print(f"levels: {len(weights)} nodes, {len(edges)} edges: networkx {b[0] * 1e3:.0f} ms, "
          f"ours {a[0] * 1e3:.2f} ms: {ratio:.0f} times faster (at least {BOUND})")
    sys.exit(ratio < BOUND)


main()

"""Writes tests/data/dags.txt: random weighted DAGs with levels, slack and
longest paths as networkx finds them.

    python tests/gen/concurrency.py > tests/data/dags.txt

Nothing here is written the way cleave does it: levels are networkx's
topological generations, a node's earliest start is the longest path of the
subgraph of its ancestors, its slack what is missing to the longest path of all.
"""

import random

import networkx as nx


def longest(graph):
    """Heaviest path, nodes weighted: the weight of an edge is its head's."""
    if not graph:
        return 0
    h = nx.DiGraph()
    h.add_node("source")
    for v in graph:
        h.add_edge("source", v, weight=graph.nodes[v]["w"])
    for u, v in graph.edges:
        h.add_edge(u, v, weight=graph.nodes[v]["w"])
    return nx.dag_longest_path_length(h, weight="weight")


def levels(graph):
    found = {}
    for level, nodes in enumerate(nx.topological_generations(graph)):
        for v in nodes:
            found[v] = level
    return [found[v] for v in sorted(graph)]


def line(word, numbers):
    print(word, *numbers)


def main():
    random.seed(20240229)
    print(f"# networkx {nx.__version__}, tests/gen/concurrency.py")
    for _ in range(240):
        n = random.randint(1, 36)
        dense = random.choice([0.02, 0.08, 0.2, 0.5])
        g = nx.DiGraph()
        for v in range(n):
            g.add_node(v, w=random.choice([0, 1, 2, 3, 5, 8, random.randint(1, 1000)]))
        g.add_edges_from((u, v) for v in range(n) for u in range(v) if random.random() < dense)
        up = levels(g)
        down = levels(g.reverse())
        last = max(up)
        start = [longest(g.subgraph(nx.ancestors(g, v))) for v in range(n)]
        after = [longest(g.subgraph(nx.descendants(g, v))) for v in range(n)]
        span = longest(g)
        line("dag", [n, g.number_of_edges()])
        line("weight", [g.nodes[v]["w"] for v in range(n)])
        line("edge", [x for e in g.edges for x in e])
        line("level", up)
        line("slack", [last - down[v] - up[v] for v in range(n)])
        line("start", start)
        line("time", [span - start[v] - g.nodes[v]["w"] - after[v] for v in range(n)])
        line("span", [span])


main()

"""Four algorithms on the graph of a year's flights from New York: `python -m tutorials.graphs`.

`--edges N` uses a random graph with N edges instead.
"""

import argparse
import time
from collections.abc import Iterable
from itertools import islice
from typing import Any

import pullstream as ps
from tutorials.graphs.algorithms import components, core_numbers, distances, pagerank
from tutorials.graphs.edges import adjacency, airports, both_ways, random_edges


def main() -> None:
    """Run the four algorithms, and print their results."""
    parser = argparse.ArgumentParser(prog="python -m tutorials.graphs", description=__doc__)
    parser.add_argument("--edges", type=int, metavar="N", help="a random graph of N edges and a tenth as many nodes")
    parser.add_argument("--seed", type=int, default=1, help="which random graph (1)")
    options = parser.parse_args()
    graph: Any
    if options.edges is None:
        graph, start = airports(), "JFK"
    else:
        graph, start = adjacency(random_edges(max(2, options.edges // 10), options.edges, options.seed)), 0
    neighbours: dict[Any, set[Any]] = both_ways(graph)
    print(f"{len(graph):,} nodes, {sum(map(len, graph.values())):,} edges")

    steps = measured("breadth-first search", ps.once(start), distances(graph))
    farthest = max(steps.values())
    print(f"  {len(steps):,} nodes can be reached from {start}, the farthest at distance {farthest}")

    labels = measured("connected components", ps.values(list(neighbours)), components(neighbours))
    print(f"  {len(set(labels.values())):,} components")

    ranks = measured("PageRank", ps.values(list(graph)), pagerank(graph))
    best = sorted(ranks.items(), key=lambda pair: -pair[1])
    print("  " + ", ".join(f"{node} {rank:.4f}" for node, rank in islice(best, 5)))

    cores = measured("core numbers", ps.once(0), core_numbers(neighbours))
    deepest = max(cores.values())
    print(f"  the {deepest}-core has {sum(core == deepest for core in cores.values()):,} nodes")


def measured(name: str, source: ps.Source[Any], algorithm: ps.Transformer[Any, tuple[Any, Any]]) -> dict[Any, Any]:
    """Run an algorithm, and print how long it took."""
    began = time.perf_counter()
    pairs: Iterable[tuple[Any, Any]] = ps.run(ps.pipe(source, algorithm, ps.collect()))
    print(f"{name}: {time.perf_counter() - began:.2f} s")
    return dict(pairs)


if __name__ == "__main__":
    main()

"""Collections: what a change costs against the load, and against computing it again from nothing.

    python -m tests.benchmarks --only incremental -- [--sizes 1000 10000 100000] [--changes 300] [--rounds 3]

A random graph with four edges a node is loaded; then edges are replaced one by one. For the degrees' distribution, for
breadth-first search, and for the least and the greatest of all edges, which are one group: processor time of the load;
of a change; a change as a part of the load; of finding the same from nothing, searches with networkx; and changes kept,
per edge, before and after. Medians of the rounds.
"""

import argparse
import heapq
import random
import statistics
import time
from collections import Counter

import networkx as nx

from pullstream.incremental.program import Dataflow
from pullstream.incremental.trace import RoundOrder


def distribution(edges, roots):
    return edges.map(lambda edge: edge[0]).count().map(lambda counted: counted[1]).count()


def search(edges, roots):
    start = roots.map(lambda root: (root, 0))
    return start.iterate(lambda found: found.join(edges, lambda _, n, to: (to, n + 1)).concat(start).min())


def least(edges, roots):
    return edges.map(lambda edge: ((), edge)).min()


def greatest(edges, roots):
    return edges.map(lambda edge: ((), edge)).top(3)


def plain_distribution(edges):
    return set(Counter(Counter(a for a, _ in edges).values()).items())


def plain_search(edges):
    graph = nx.MultiDiGraph()
    graph.add_node(0)
    graph.add_edges_from(edges)
    return set(nx.single_source_shortest_path_length(graph, 0).items())


def plain_least(edges):
    return {((), min(edges))}


def plain_greatest(edges):
    return {((), edge) for edge in heapq.nlargest(3, edges)}


PROGRAMS = {
    "distribution of degrees": (distribution, plain_distribution),
    "breadth-first search": (search, plain_search),
    "least of one group": (least, plain_least),
    "top 3 of one group": (greatest, plain_greatest),
}


def timed(function, *args):
    before = time.process_time()
    result = function(*args)
    return time.process_time() - before, result


def measured(program, plain, size, changes, seed):
    """Seconds of the load, of a change and of computing anew; changes kept per edge at first and at last."""
    rnd = random.Random(seed)
    edges = [(rnd.randrange(size // 4), rnd.randrange(size // 4)) for _ in range(size)]
    flow = Dataflow(program, RoundOrder())
    there = Counter()

    def step(new):
        flow.take("edges", (), new)
        for _, record, diff in flow.run(()):
            there[record] += diff

    flow.take("roots", (), [(0, 1)])
    load, _ = timed(step, [(edge, 1) for edge in edges])
    first = sum(map(len, flow.region.traces)) / size

    def replace():
        for n in range(changes):
            at = n % size
            new = rnd.randrange(size // 4), rnd.randrange(size // 4)
            step([(edges[at], -1), (new, 1)])
            edges[at] = new

    changing, _ = timed(replace)
    anew, wanted = timed(plain, edges)
    assert {record for record, count in there.items() if count} == wanted
    return load, changing / changes, anew, first, sum(map(len, flow.region.traces)) / size


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--changes", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    print(
        f"{'':24} {'edges':>9} {'load s':>8} {'change us':>10} {'of the load':>12} {'anew s':>8} {'kept an edge':>14}"
    )
    for name, (program, plain) in PROGRAMS.items():
        for size in options.sizes:
            rounds = [measured(program, plain, size, options.changes, seed) for seed in range(options.rounds)]
            load, change, anew, first, last = (statistics.median(column) for column in zip(*rounds, strict=True))
            print(
                f"{name:24} {size:9,} {load:8.3f} {change * 1e6:10.0f} {change / load:12.4%} {anew:8.3f} "
                f"{first:6.2f} {last:6.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()

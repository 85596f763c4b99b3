"""Collections beside others that can do the same: Pathway, which maintains them too, and computing them from nothing.

    python -m tests.benchmarks --only incremental -- [--sizes 1000 10000 100000] [--changes 200] [--rounds 3]
                                                 [--pathway PYTHON]

A random graph with four edges a node is loaded at one time; then an edge is replaced at each of the times after it.
Every way runs in a process of its own, one after the other, round by round: processor time of the load, and of a
change, from when the load is done to the end; what each comes to in the end must be the same. From nothing
means a few of the graphs, each by itself, with networkx where it is a question of graphs. Pathway runs in another
Python (`pip install pathway networkx`), if this one has none; where it is missing it is left out.
"""

import argparse
import heapq
import json
import random
import statistics
import subprocess
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

LABELS = 100
FEW = 5
"""As many graphs are computed from nothing."""


def workload(size, changes):
    """Edges with their numbers, as (time, number, a, b, diff), in the order of the times."""
    rnd = random.Random(size)

    def edge():
        return rnd.randrange(size // 4), rnd.randrange(size // 4)

    edges = [edge() for _ in range(size)]
    rows = [(0, n, *edge, 1) for n, edge in enumerate(edges)]
    for n in range(changes):
        rows.append((2 * n + 2, n, *edges[n], -1))
        rows.append((2 * n + 2, size + n, *edge(), 1))
    return rows


# ---- this toolkit


def distribution(edges):
    return edges.map(lambda edge: edge[0]).count().map(lambda counted: counted[1]).count()


def joined(edges):
    """How many edges lead to the nodes of each label: a join, though the labels could be computed."""
    labels = edges.map(lambda edge: edge[1]).distinct().map(lambda node: (node, node % LABELS))
    return edges.map(lambda edge: (edge[1], edge[0])).join(labels, lambda _, __, label: label).count()


def least(edges):
    return edges.map(lambda edge: ("all", edge)).min().map(lambda found: found[1])


def greatest(edges):
    return edges.map(lambda edge: ("all", edge)).top(3).map(lambda found: found[1])


def search(edges):
    start = edges.map(lambda edge: (edge[0] * 0, 0)).distinct()
    return start.iterate(lambda found: found.join(edges, lambda _, n, to: (to, n + 1)).concat(start).min())


def here(program, rows):
    import pullstream as ps
    from pullstream.incremental import maintain

    there, times = Counter(), []

    def done(_time, changes):
        for record, diff in changes:
            there[record] += diff
        if not times:
            times.append(time.process_time())

    changes = ps.pipe(ps.values(rows, time=lambda row: row[0]), ps.map(lambda row: ((row[2], row[3]), row[4])))
    begun = time.process_time()
    ps.run(ps.pipe(changes, maintain(globals()[program]), ps.at_completion(done)))
    return times[0] - begun, time.process_time() - times[0], sorted(record for record, count in there.items() if count)


# ---- Pathway


def pw_distribution(pw, edges):
    degrees = edges.groupby(pw.this.a).reduce(pw.this.a, n=pw.reducers.count())
    return degrees.groupby(pw.this.n).reduce(pw.this.n, c=pw.reducers.count())


def pw_joined(pw, edges):
    nodes = edges.groupby(pw.this.b).reduce(pw.this.b)
    labels = nodes.select(node=pw.this.b, label=pw.this.b % LABELS)
    both = edges.join(labels, pw.left.b == pw.right.node).select(label=pw.right.label)
    return both.groupby(pw.this.label).reduce(pw.this.label, c=pw.reducers.count())


def pw_least(pw, edges):
    pairs = edges.select(all_=0, edge=pw.make_tuple(pw.this.a, pw.this.b))
    found = pairs.groupby(pw.this.all_).reduce(edge=pw.reducers.min(pw.this.edge))
    return found.select(a=pw.this.edge[0], b=pw.this.edge[1])


def pw_search(pw, edges):
    def shortest(found):
        return found.groupby(pw.this.node).reduce(pw.this.node, d=pw.reducers.min(pw.this.d))

    def onward(found, edges, start):
        further = found.join(edges, pw.left.node == pw.right.a).select(node=pw.right.b, d=pw.left.d + 1)
        return {"found": shortest(pw.Table.concat_reindex(further, start))}

    start = edges.select(node=pw.this.a * 0, d=0).groupby(pw.this.node, pw.this.d).reduce(pw.this.node, pw.this.d)
    begun = pw.iterate_universe(shortest(start))
    return pw.iterate(onward, found=begun, edges=edges, start=start).found


def pathway(program, rows):
    pw = import_module("pathway")
    schema = pw.schema_builder(
        {"n": pw.column_definition(dtype=int, primary_key=True)}
        | {name: pw.column_definition(dtype=int) for name in ("a", "b")}
    )
    edges = pw.debug.table_from_rows(schema, [(*row[1:4], row[0], row[4]) for row in rows], is_stream=True)
    there, times = Counter(), []

    def change(key, row, time, is_addition):
        there[tuple(row.values())] += 1 if is_addition else -1

    if program == "greatest":
        raise ModuleNotFoundError(name="top(3) in Pathway")
    result = globals()[f"pw_{program}"](pw, edges)
    pw.io.subscribe(result, on_change=change, on_time_end=lambda _: times.append(time.process_time()))
    begun = time.process_time()
    pw.run(monitoring_level=pw.MonitoringLevel.NONE)
    return times[0] - begun, time.process_time() - times[0], sorted(row for row, count in there.items() if count)


# ---- from nothing


def plain_distribution(edges):
    return Counter(Counter(a for a, _ in edges).values()).items()


def plain_joined(edges):
    labels = {b: b % LABELS for _, b in edges}
    return Counter(labels[b] for _, b in edges).items()


def plain_least(edges):
    return [min(edges)]


def plain_greatest(edges):
    return heapq.nlargest(3, edges)


def plain_search(edges):
    import networkx as nx

    graph = nx.DiGraph(edges)
    graph.add_node(0)
    return nx.single_source_shortest_path_length(graph, 0).items()


def nothing(program, rows):
    compute = globals()[f"plain_{program}"]
    edges = {row[1]: (row[2], row[3]) for row in rows if row[0] == 0}
    changes = rows[len(edges) :]
    begun = time.process_time()
    compute([*edges.values()])
    load, taken = time.process_time() - begun, 0.0
    for _, n, a, b, diff in changes:
        if diff > 0:
            edges[n] = a, b
        else:
            del edges[n]
    for _ in range(FEW):
        begun = time.process_time()
        found = compute([*edges.values()])
        taken += time.process_time() - begun
    return load, taken / FEW * (len(changes) // 2), sorted(found)


# ---- side by side

PROGRAMS = {
    "distribution": "distribution of degrees",
    "joined": "join, counted by label",
    "least": "least of one group",
    "greatest": "top 3 of one group",
    "search": "breadth-first search",
}
WAYS = {"here": here, "Pathway": pathway, "from nothing": nothing}


def measure(program, way, size, changes):
    """Run one way, in this process."""
    try:
        load, changing, found = WAYS[way](program, workload(size, changes))
    except ModuleNotFoundError as exc:
        print(json.dumps({"missing": exc.name}))
        return
    print(json.dumps({"load": load, "change": changing / changes, "found": found}))


def in_a_process(python, program, way, size, changes):
    command = [python, __file__, "--measure", program, way, str(size), str(changes)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3])
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads(done.stdout.strip().splitlines()[-1])


def compare(program, size, options):
    """Print a line for each way."""
    taken = {way: [] for way in WAYS}
    for _ in range(options.rounds):
        for way in WAYS:
            python = options.pathway if way == "Pathway" else sys.executable
            taken[way].append(in_a_process(python, program, way, size, options.changes))
    founds = [result["found"] for results in taken.values() for result in results if "found" in result]
    same = "" if all(found == founds[0] for found in founds) else "  NOT ALL FIND THE SAME"
    for way, results in taken.items():
        line = f"{PROGRAMS[program]:24} {size:9,} {way:14}"
        if trouble := next((each for each in results if "load" not in each), None):
            print(f"{line} {trouble}", flush=True)
            continue
        load, change = (statistics.median(result[what] for result in results) for what in ("load", "change"))
        print(f"{line} {load:8.3f} {change * 1e6:12.1f}{same}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--changes", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--pathway", default=sys.executable)
    parser.add_argument("--measure", nargs=4)
    options = parser.parse_args()
    if options.measure:
        program, way, size, changes = options.measure
        measure(program, way, int(size), int(changes))
        return
    print(f"{'':24} {'edges':>9} {'':14} {'load s':>8} {'change us':>12}")
    for program in PROGRAMS:
        for size in options.sizes:
            compare(program, size, options)


if __name__ == "__main__":
    main()

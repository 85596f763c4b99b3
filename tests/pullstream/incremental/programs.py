"""Programs of collections, each beside the same computation in plain Python, from scratch."""

from collections import Counter

import networkx as nx

import pullstream as ps
from pullstream.incremental import iterate, maintain


def run(program, *changes):
    """A program's output, for changes at their times."""
    source = ps.pipe(ps.values(changes, time=lambda change: change[0]), ps.map(lambda change: change[1]))
    return ps.run(ps.pipe(source, maintain(program), ps.collect(timed=True)), check=True)


@ps.transformer
async def at_their_times(upstream, ctx):
    """Emit each change at its time, while all are in flight at the first one."""
    async for batch in ctx.batches(upstream):
        for time, change in batch.values:
            yield ps.Batch(time, [change])


# ---- each verb by itself; every input is a Counter of pairs of small numbers


def by_key(counts):
    groups = {}
    for (key, value), count in counts.items():
        groups.setdefault(key, Counter())[value] += count
    return groups


def joined(left, right):
    return Counter({(k, (v, w)): n * m for (k, v), n in left.items() for (j, w), m in right.items() if j == k})


def of_groups(results):
    """A record for each of the results of a function of a key and its values, a Counter."""
    return lambda left, right: Counter((k, r) for k, values in by_key(left).items() for r in results(k, values))


VERBS = {
    "map": (
        lambda left, right: left.map(lambda pair: pair[0] + pair[1]),
        lambda left, right: Counter(a + b for a, b in left.elements()),
    ),
    "filter": (
        lambda left, right: left.filter(lambda pair: pair[0] < pair[1]),
        lambda left, right: Counter(pair for pair in left.elements() if pair[0] < pair[1]),
    ),
    "flat_map": (
        lambda left, right: left.flat_map(lambda pair: range(pair[1])),
        lambda left, right: Counter(n for pair in left.elements() for n in range(pair[1])),
    ),
    "concat": (lambda left, right: left.concat(right, left), lambda left, right: left + right + left),
    "negate": (lambda left, right: left.concat(right, left.negate()), lambda left, right: right),
    "join": (lambda left, right: left.join(right), joined),
    "join of itself": (lambda left, right: left.join(left), lambda left, right: joined(left, left)),
    "joins in a row": (
        lambda left, right: left.join(right).map(lambda r: (r[0], r[1][0])).join(right).join(left),
        lambda left, right: joined(
            joined(Counter((r[0], r[1][0]) for r in joined(left, right).elements()), right), left
        ),
    ),
    "made of itself": (
        lambda left, right: left.map(lambda r: (r[1], r[0])).join(left).map(lambda r: (r[0], r[1][0])).join(left),
        lambda left, right: joined(
            Counter((r[0], r[1][0]) for r in joined(Counter((b, a) for a, b in left.elements()), left).elements()), left
        ),
    ),
    "semijoin": (
        lambda left, right: left.semijoin(right.map(lambda pair: pair[0])),
        lambda left, right: Counter(pair for pair in left.elements() if pair[0] in {key for key, _ in right}),
    ),
    "antijoin": (
        lambda left, right: left.antijoin(right.map(lambda pair: pair[0])),
        lambda left, right: Counter(pair for pair in left.elements() if pair[0] not in {key for key, _ in right}),
    ),
    "reduce": (
        lambda left, right: left.reduce(lambda key, values: {len(values), key}),
        of_groups(lambda key, values: {len(values), key}),
    ),
    "min": (lambda left, right: left.min(), of_groups(lambda key, values: [min(values)])),
    "max": (lambda left, right: left.max(), of_groups(lambda key, values: [max(values)])),
    "sum": (lambda left, right: left.sum(), of_groups(lambda key, values: [sum(values.elements())])),
    "top": (
        lambda left, right: left.top(2),
        of_groups(lambda key, values: sorted(values.elements(), reverse=True)[:2]),
    ),
    "count": (lambda left, right: left.count(), lambda left, right: Counter(left.items())),
    "distinct": (lambda left, right: left.distinct(), lambda left, right: Counter(set(left))),
    "threshold": (
        lambda left, right: left.threshold(lambda record, count: count // 2),
        lambda left, right: Counter({record: count // 2 for record, count in left.items() if count > 1}),
    ),
    "consolidate": (lambda left, right: left.consolidate().concat(right), lambda left, right: left + right),
}


# ---- graphs; `left` has the edges, and `right` begins at the first of each pair


def reached(left, right):
    edges, roots = left.distinct(), right.map(lambda pair: pair[0]).distinct()
    start = roots.map(lambda root: (root, 0))
    return start.iterate(lambda found: found.join(edges, lambda node, d, to: (to, d + 1)).concat(start).min())


def plain_reached(left, right):
    graph, roots = nx.DiGraph(list(left)), {key for key, _ in right}
    graph.add_nodes_from(roots)
    found = nx.multi_source_dijkstra_path_length(graph, roots) if roots else {}
    return Counter(dict.fromkeys(found.items(), 1))


def labelled(edges):
    nodes = edges.flat_map(lambda edge: edge).distinct().map(lambda node: (node, node))
    return nodes.iterate(lambda labels: labels.join(edges, lambda _, label, to: (to, label)).concat(nodes).min())


def turned_within(edges):
    """The edges whose two ends share a label, reversed."""
    labels = labelled(edges)
    first = edges.join(labels, lambda a, b, label: (b, (a, label)))
    both = first.join(labels, lambda b, one, label: (b, one[0], one[1] == label))
    return both.filter(lambda edge: edge[2]).map(lambda edge: (edge[0], edge[1]))


def strongly_connected(left, right):
    """Two loops within a loop: the edges within a component."""
    return left.distinct().iterate(lambda edges: turned_within(turned_within(edges)))


def plain_strongly_connected(left, right):
    component = {}
    for number, nodes in enumerate(nx.strongly_connected_components(nx.DiGraph(list(left)))):
        component |= dict.fromkeys(nodes, number)
    return Counter((a, b) for a, b in set(left) if component[a] == component[b])


def ranked(left, right):
    """PageRank in whole numbers."""
    edges = left.distinct()
    nodes = edges.flat_map(lambda edge: edge).distinct()
    degrees = edges.map(lambda edge: edge[0]).count()

    def shared(ranks):
        given = ranks.join(degrees, lambda node, rank, degree: (node, rank // degree))
        got = given.join(edges, lambda _, share, to: (to, share))
        return got.concat(nodes.map(lambda node: (node, 150))).sum().map(lambda rank: (rank[0], rank[1] // 2))

    return nodes.map(lambda node: (node, 1000)).iterate(shared)


def plain_ranked(left, right):
    edges = set(left)
    nodes = {node for edge in edges for node in edge}
    degrees = Counter(a for a, _ in edges)
    ranks = dict.fromkeys(nodes, 1000)
    while True:
        new = dict.fromkeys(nodes, 150)
        for a, b in edges:
            new[b] += ranks[a] // degrees[a]
        new = {node: rank // 2 for node, rank in new.items()}
        if new == ranks:
            return Counter(dict.fromkeys(ranks.items(), 1))
        ranks = new


def even_and_odd(left, right):
    """Two mutually recursive collections: nodes reached by an even and by an odd number of steps."""
    edges = left.distinct()
    start = right.map(lambda pair: pair[0]).distinct().map(lambda node: (node, ()))

    def onward(even, odd):
        return (
            odd.join(edges, lambda _, __, to: (to, ())).concat(start).distinct(),
            even.join(edges, lambda _, __, to: (to, ())).distinct(),
        )

    even, odd = iterate(onward, start, start.filter(lambda _: False))
    return even.map(lambda pair: (pair[0], "even")).concat(odd.map(lambda pair: (pair[0], "odd")))


def plain_even_and_odd(left, right):
    found = {(key, "even") for key, _ in right}
    todo = list(found)
    for node, kind in todo:
        for a, b in set(left):
            new = (b, "odd" if kind == "even" else "even")
            if a == node and new not in found:
                found.add(new)
                todo.append(new)
    return Counter(found)


GRAPHS = {
    "reached": (reached, plain_reached),
    "strongly connected": (strongly_connected, plain_strongly_connected),
    "ranked": (ranked, plain_ranked),
    "even and odd": (even_and_odd, plain_even_and_odd),
}

PROGRAMS = VERBS | GRAPHS

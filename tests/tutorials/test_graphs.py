"""The graph algorithms of the tutorial give the results of networkx."""

import networkx as nx
import pytest
from networkx.algorithms.link_analysis import pagerank_alg

import pullstream as ps
from tutorials.graphs.algorithms import components, core_numbers, distances, pagerank
from tutorials.graphs.edges import adjacency, airports, both_ways, random_edges

GRAPHS = {
    "airports": (airports, "JFK"),
    "random": (lambda: adjacency(random_edges(300, 1000, seed=3)), 0),
    "sparse": (lambda: adjacency(random_edges(300, 200, seed=4)), 0),
}


def directed(graph):
    known = nx.DiGraph()
    known.add_nodes_from(graph)
    known.add_edges_from((a, b) for a, successors in graph.items() for b in successors)
    return known


def compare(graph, start, **options):
    known, neighbours = directed(graph), both_ways(graph)
    undirected = known.to_undirected()

    def result(source, algorithm):
        pairs = ps.run(ps.pipe(source, algorithm, ps.collect()), **options)
        assert len(pairs) == len(dict(pairs)), "a node occurs twice"
        return dict(pairs)

    assert result(ps.once(start), distances(graph)) == nx.single_source_shortest_path_length(known, start)
    labels = {}
    for nodes in nx.connected_components(undirected):
        labels.update(dict.fromkeys(nodes, min(nodes)))
    assert result(ps.values(list(neighbours)), components(neighbours)) == labels
    # networkx's own loop over nodes; its default needs another library.
    ranks, known_ranks = result(ps.values(list(graph)), pagerank(graph)), pagerank_alg._pagerank_python(known)
    assert ranks.keys() == known_ranks.keys()
    assert max(abs(rank - known_ranks[node]) for node, rank in ranks.items()) < 1e-9
    assert result(ps.once(0), core_numbers(neighbours)) == nx.core_number(undirected)


@pytest.mark.parametrize(
    ("name", "options"), [("airports", {"check": "strict"}), ("random", {"limit": 7}), ("sparse", {})]
)
def test_every_algorithm_agrees_with_networkx(name, options):
    make, start = GRAPHS[name]
    compare(make(), start, **options)


@pytest.mark.slow
def test_a_million_edges():
    compare(adjacency(random_edges(100_000, 1_000_000, seed=7)), 0)


def test_inputs_at_several_times_are_independent():
    graph = {"a": ["b"], "b": ["c"], "c": ["a"], "d": []}
    neighbours = both_ways(graph)

    def asked(values, algorithm):
        both = ps.values([(time, value) for time in (0, 1) for value in values], time=lambda pair: pair[0])
        answers = {0: [], 1: []}
        ps.run(
            ps.pipe(both, ps.map(lambda pair: pair[1]), algorithm, ps.at_completion(lambda t, v: answers[t].extend(v)))
        )
        assert sorted(answers[0]) == sorted(answers[1])
        return dict(answers[1])

    assert asked("a", distances(graph)) == {"a": 0, "b": 1, "c": 2}
    assert asked(sorted(neighbours), components(neighbours)) == dict.fromkeys("abc", "a") | {"d": "d"}
    assert asked([0], core_numbers(neighbours)) == dict.fromkeys("abc", 2) | {"d": 0}
    assert len(asked(sorted(graph), pagerank(graph))) == 4

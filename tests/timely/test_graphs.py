"""Graphs: refusals, sound cycles, and the three queries of 003."""

import itertools
import random

import pytest

from tests.sampling import amount
from tests.timely.building import around, building
from timely import (
    ENTER,
    FEEDBACK,
    IDENTITY,
    LEAVE,
    CycleError,
    Delay,
    GraphBuilder,
    GraphError,
    LoopSummary,
    MapTime,
    Source,
    Target,
)
from timely.order import less_equal
from timely.theory import find_cycles, summarize
from timely.theory.queries import describe


def ring(*summaries):
    """Nodes in a circle with these summaries."""
    return building({f"n{n}": summary for n, summary in enumerate(summaries)}, around(len(summaries)))


TOP = MapTime(lambda t: max(t, 7))


@pytest.mark.parametrize(
    "summaries",
    [
        (IDENTITY,),
        (IDENTITY, IDENTITY),
        (TOP,),
        (IDENTITY, TOP),
        (Delay(0), IDENTITY),
        (LEAVE, ENTER),
        (LEAVE, IDENTITY, ENTER, FEEDBACK),
        (LoopSummary.word("eif"),),
    ],
)
def test_cycles_that_do_not_advance_are_refused_by_name(summaries):
    """The error names the places of the cycle; feedback in an inner loop does not help."""
    with pytest.raises(CycleError, match="does not strictly advance") as caught:
        ring(*summaries).build()
    assert caught.value.cycle
    assert all(name.startswith("n") for name in caught.value.cycle)
    assert len(caught.value.cycle) == 2 * len(summaries)
    nodes, edges = describe(ring(*summaries)._number())
    assert len(find_cycles(nodes, edges)) == 2 * len(summaries)


def random_builder(rng):
    """A small random graph, sound or not, with every kind of summary and consistent depths."""
    depth = [rng.randrange(3) for _ in range(rng.randrange(2, 5))]
    builder = GraphBuilder()
    for level in depth:
        other = rng.randrange(3)
        up = rng.randrange(max(0, level - other), level + 1)
        steps = (rng.randrange(2), *(rng.randrange(2) for _ in range(other - level + up)))
        builder.add_node(f"n{level}", 1, 1, {(0, 0): LoopSummary(up, steps[0], steps[1:])})
    ends = []
    for n, level in enumerate(depth):
        path = builder._nodes[n].summaries[0, 0][0]
        ends.append(level - path.leaves + len(path.enters))
    for a, b in itertools.product(range(len(depth)), repeat=2):
        if ends[a] == depth[b] and rng.random() < 0.5:
            builder.add_edge(Source(a), Target(b))
    return builder


def test_the_cycle_check_agrees_with_the_query():
    graphs, refused = amount(150, 20_000), 0
    for seed in range(graphs):
        builder = random_builder(random.Random(seed))
        unsound = find_cycles(*describe(builder._number()))
        if not unsound:
            builder.build()
            continue
        with pytest.raises(CycleError) as caught:
            builder.build()
        assert set(caught.value.cycle) <= {builder._number().name(location) for step in unsound for location in step}
        refused += 1
    assert graphs / 10 < refused < graphs * 0.9


def test_loop_contexts_must_nest():
    builder = building({"start": (0, 1), "enter": ENTER, "end": (1, 0)}, [(0, 1), (1, 2), (0, 2)])
    with pytest.raises(GraphError, match="do not nest"):
        builder.build()


@pytest.mark.parametrize(
    ("add", "words"),
    [
        (
            lambda builder: builder.add_edge(Source(0, 1), Target(0)),
            "no port Source.*'a' with 1 inputs and 1 outputs",
        ),
        (lambda builder: builder.add_edge(Source(7), Target(0)), "there is no node 7"),
        (lambda builder: builder.add_edge(Source(0), Target(0, 2)), "there is no port Target"),
        (lambda builder: builder.add_edge(Target(0), Source(0)), "from a Source to a Target"),
        (lambda builder: builder.add_edge(Source(0), Target(1)), "already"),
        (lambda builder: builder.add_node("c", 1, 1, {(0, 5): IDENTITY}), "no path from input 0 to output 5"),
        (lambda builder: builder.add_node("c", -1, 1), "-1"),
        (lambda builder: builder.build().place(Source(7)), "no port"),
    ],
)
def test_unknown_ports_are_refused(add, words):
    builder = building({"a": IDENTITY, "b": IDENTITY}, [(0, 1)])
    with pytest.raises(GraphError, match=words):
        add(builder)


def test_every_place_has_its_location():
    graph = building({"a": IDENTITY, "b": IDENTITY}, [(0, 1)]).build()
    assert [graph.location(graph.place(location)) for location in graph.locations] == list(graph.locations)


def test_unconnected_loop_handles_are_refused():
    builder = GraphBuilder()
    builder.add_node("feedback", 1, 1, {(0, 0): FEEDBACK}, connected=True)
    with pytest.raises(GraphError, match="feedback, input"):
        builder.build()


def test_summarize_is_the_minimum_over_paths(random_graph):
    for seed in range(25):
        made = random_graph(seed, size=2)
        graph = made.graph
        end = len(graph) - 1
        found = summarize(*describe(graph), [graph.location(end)])
        paths = {end: {IDENTITY}}
        agenda = [(end, IDENTITY)]
        for _ in range(300):
            if not agenda:
                break
            place, summary = agenda.pop(0)
            for previous, step in graph.predecessors[place]:
                longer = step.followed_by(summary)
                if longer not in paths.setdefault(previous, set()):
                    paths[previous].add(longer)
                    agenda.append((previous, longer))
        for place, summaries in paths.items():
            minimal = found[graph.location(place), graph.location(end)]
            for _ in range(3):
                time = made.time(place)
                results = [s.results_in(time) for s in minimal]
                for summary in summaries:
                    later = summary.results_in(time)
                    assert any(less_equal(result, later) for result in results)


@pytest.mark.parametrize("summaries", [(ENTER,), (LEAVE,), (ENTER, FEEDBACK), (ENTER, ENTER, LEAVE), (LEAVE, FEEDBACK)])
def test_queries_and_build_refuse_cycles_that_do_not_nest(summaries):
    """Paths around such a cycle enter or leave ever more loops, so it is an error with the places, not endless work."""
    nodes = {(Target(n), Source(n), summary) for n, summary in enumerate(summaries)}
    edges = {(Source(start), Target(end)) for start, end in around(len(summaries))}
    with pytest.raises(GraphError, match="do not nest"):
        ring(*summaries).build()
    with pytest.raises(GraphError, match=r"do not nest: .*node=\d"):
        find_cycles(nodes, edges)
    with pytest.raises(GraphError, match=r"do not nest: .*node=\d"):
        summarize(nodes, edges, [Source(0)])

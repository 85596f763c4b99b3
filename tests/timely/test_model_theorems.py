"""Propositions 1 to 3 and Theorem 1 of 000, checked for all small graphs and behaviours."""

import random
from functools import cache
from itertools import chain

import pytest

from tests.sampling import amount
from tests.timely.machines import leads_of
from timely.theory.model import (
    SHAPES,
    Edge,
    ModelGraph,
    condition_2,
    intransitive,
)
from timely.theory.model.properties import (
    proposition_1_1,
    proposition_1_2,
    proposition_1_3,
    proposition_2,
    proposition_3,
    theorem_1,
)
from timely.theory.model.small import Wild, graphs, random_program, relations

LOOP = ModelGraph(("p", "q"), (Edge("a", "p", "q"), Edge("b", "q", "p")))
SMALL_SHAPES = ("one", "chain 2", "antichain 2")


@cache
def loops():
    """Every behaviour of the two-node loop, for every shape of up to three times."""
    return [leads for times in SHAPES.values() for leads in relations(LOOP, times)]


def every_small(nodes, most_edges, shapes=SMALL_SHAPES):
    for edges in range(most_edges + 1):
        for graph in graphs(nodes, edges):
            for shape in shapes:
                yield from relations(graph, SHAPES[shape])


def from_behaviour(seed, count, edges=4):
    """Relations of random programs, from the actual behaviour of their nodes with memory."""
    rng = random.Random(seed)
    for times in SHAPES.values():
        for _ in range(count):
            program = random_program(rng, times, Wild(0.4, 0.0, 0.5), nodes=3, edges=edges)
            yield leads_of(program)


@pytest.mark.parametrize(
    ("proposition", "worlds"),
    [
        # From a node to an edge there is a strictly shorter proof from an outgoing edge of the node.
        (proposition_1_1, lambda: chain(every_small(2, 2, ("chain 2",)), from_behaviour(3, 8))),
        # (x, t1) could result in (x, t2) only if t1 <= t2, even where nodes send into the past.
        (proposition_1_2, lambda: chain(loops(), from_behaviour(4, amount(15, 40)))),
        # The relation is closed downward on the left and upward on the right.
        (proposition_1_3, lambda: chain(loops(), from_behaviour(5, amount(15, 40)))),
    ],
    ids=["1.1", "1.2", "1.3"],
)
def test_proposition_1(proposition, worlds):
    for leads in worlds():
        assert proposition(leads) is None, (leads.graph.edges, leads.steps)


def small_graphs():
    """All graphs of one and two nodes with up to three edges, and of three nodes with up to two."""
    for nodes, edges in amount(((1, 3), (2, 2), (3, 1)), ((1, 3), (2, 3), (3, 2))):
        yield from every_small(nodes, edges)


def larger_graphs():
    """All graphs of two nodes with four edges and of three nodes with three and four, on two times."""
    for nodes, edges in ((2, 4), (3, 3), (3, 4)):
        for graph in graphs(nodes, edges):
            yield from relations(graph, SHAPES["chain 2"])


@pytest.mark.parametrize(
    "worlds",
    [
        loops,
        small_graphs,
        pytest.param(larger_graphs, marks=pytest.mark.slow),
        pytest.param(lambda: from_behaviour(6, amount(80, 300), edges=5), id="from behaviour"),
    ],
)
def test_theorem_1_transitive_if_and_only_if_condition_2(worlds):
    seen = broken = 0
    for leads in worlds():
        assert theorem_1(leads) is None, (leads.graph.edges, leads.steps)
        seen += 1
        broken += condition_2(leads) is not None
    assert 0 < broken < seen
    assert seen == sum(n * n for n in (2, 6, 16, 20, 50, 50)) or worlds is not loops


def test_proposition_2_transitive_if_and_only_if_times_embed_in_a_universal_order():
    """The embedding decides could-result-in for every transitive relation, and misjudges a pair of every other one."""
    found = set()
    for leads in chain(every_small(2, 2), relations(LOOP, SHAPES["chain 3"])):
        is_transitive = intransitive(leads) is None
        assert (proposition_2(leads) is None) == is_transitive
        found.add(is_transitive)
    assert found == {True, False}


def test_proposition_3_needs_condition_2():
    """If Condition 2 fails, some singleton's image is not upward closed; the closure always is, and is the least."""
    for leads in loops():
        assert (proposition_3(leads) is None) == (condition_2(leads) is None)
        for i in range(len(leads.stamps)):
            closed = leads.close_up(1 << i)
            assert closed >> i & 1
            assert leads.is_upward_closed(closed)
            assert leads.close_up(closed) == closed
            assert leads.image(1 << i) & ~closed == 0

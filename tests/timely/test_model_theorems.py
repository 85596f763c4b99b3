"""Propositions 1 to 3 and Theorem 1 of 000, exhausted over small graphs and behaviours."""

import random
from itertools import product

import pytest

from tests.sampling import amount
from timely.theory.model import (
    SHAPES,
    CouldResultIn,
    Edge,
    ModelGraph,
    Pointstamp,
    Step,
    condition_2,
    embedding,
    intransitive,
    one_steps,
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


def loops():
    """Every behaviour of the two-node loop, over every shape of up to three times."""
    for times in SHAPES.values():
        yield from relations(LOOP, times)


def every_small(nodes, most_edges, shapes=SMALL_SHAPES):
    for edges in range(most_edges + 1):
        for graph in graphs(nodes, edges):
            for shape in shapes:
                yield from relations(graph, SHAPES[shape])


def from_behaviour(seed, count, edges=4):
    """Relations of random programs, from what their nodes with memory actually do."""
    rng = random.Random(seed)
    for times in SHAPES.values():
        for _ in range(count):
            program = random_program(rng, times, Wild(0.4, 0.0, 0.5), nodes=3, edges=edges)
            yield CouldResultIn(program.graph, program.times, one_steps(program))


def count_without(property_, worlds):
    """Assert that a property finds no counterexample in any world; give how many there were."""
    seen = 0
    for leads in worlds:
        assert property_(leads) is None, (leads.graph.edges, leads.steps)
        seen += 1
    return seen


def test_proposition_1_1_a_node_reaches_an_edge_through_an_edge_of_its_own_by_a_shorter_proof():
    """Every proof from a node to an edge has an outgoing edge of the node from which a strictly shorter proof leads."""
    seen = count_without(proposition_1_1, every_small(2, 2, ("chain 2",)))
    seen += count_without(proposition_1_1, from_behaviour(3, 8))
    print(f"relations: {seen}")


def test_proposition_1_2_at_one_location_times_do_not_decrease():
    """(x, t1) could result in (x, t2) only if t1 <= t2, even where nodes send into the past."""
    print(
        f"relations: {count_without(proposition_1_2, loops()) + count_without(proposition_1_2, from_behaviour(4, 40))}"
    )


def test_proposition_1_3_lowering_the_left_or_raising_the_right_keeps_the_relation():
    """Could-result-in is closed downward on the left and upward on the right."""
    print(
        f"relations: {count_without(proposition_1_3, loops()) + count_without(proposition_1_3, from_behaviour(5, 40))}"
    )


def test_theorem_1_transitive_if_and_only_if_condition_2_on_every_two_node_loop():
    """On the two-node loop, for every behaviour over every shape of up to three times, the two agree."""
    worlds = list(loops())
    broken = sum(intransitive(leads) is not None for leads in worlds)
    assert count_without(theorem_1, worlds) == len(worlds) == sum(n * n for n in (2, 6, 16, 20, 50, 50))
    assert 0 < broken < len(worlds), "both sides of the equivalence must occur"
    print(f"relations: {len(worlds)}, not transitive: {broken}")


def test_theorem_1_transitive_if_and_only_if_condition_2_on_every_small_graph():
    """The same for all graphs of one and two nodes with up to three edges, and of three nodes with up to two."""
    seen = broken = 0
    for nodes, edges in amount(((1, 3), (2, 2), (3, 1)), ((1, 3), (2, 3), (3, 2))):
        for leads in every_small(nodes, edges):
            assert theorem_1(leads) is None, (leads.graph.edges, leads.steps)
            seen += 1
            broken += condition_2(leads) is not None
    assert 0 < broken < seen
    print(f"relations: {seen}, not transitive: {broken}")


@pytest.mark.slow
def test_theorem_1_transitive_if_and_only_if_condition_2_on_larger_graphs():
    """The same for all graphs of two nodes with four edges and of three nodes with up to four, on two times."""
    seen = broken = 0
    for nodes, edges in ((2, 4), (3, 3), (3, 4)):
        for graph in graphs(nodes, edges):
            for leads in relations(graph, SHAPES["chain 2"]):
                assert theorem_1(leads) is None, (leads.graph.edges, leads.steps)
                seen += 1
                broken += condition_2(leads) is not None
    assert 0 < broken < seen
    print(f"relations: {seen}, not transitive: {broken}")


def test_theorem_1_from_behaviour():
    """The same for relations that come from what random nodes with memory do, not from a declaration."""
    seen = broken = 0
    for leads in from_behaviour(6, 300, edges=5):
        assert theorem_1(leads) is None
        seen += 1
        broken += condition_2(leads) is not None
    assert 0 < broken < seen
    print(f"programs: {seen}, not transitive: {broken}")


def test_the_minimal_counterexample_to_transitivity_without_condition_2():
    """One node turns 1 into 0, the other hands 0 back: (p, 1) leads to (a, 0), that to (p, 0), but (p, 1) does not."""
    leads = CouldResultIn(LOOP, (0, 1), [Step("p", 1, "a", 0), Step("q", 0, "b", 0)])
    first, second, third = Pointstamp("p", 1), Pointstamp("a", 0), Pointstamp("p", 0)
    assert leads(first, second)
    assert leads(second, third)
    assert not leads(first, third)
    assert intransitive(leads) is not None
    assert condition_2(leads) == (Pointstamp("p", 1), Pointstamp("b", 0))


def test_nothing_smaller_than_the_minimal_counterexample_fails():
    """With one time, with one node, or with fewer than two steps, could-result-in is always transitive."""
    seen = 0
    for nodes, edges in ((1, 3), (2, 3)):
        for leads in every_small(nodes, edges, ("one",)):
            assert intransitive(leads) is None
            seen += 1
    for shape in ("chain 2", "antichain 2", "chain 3"):
        for leads in every_small(1, 2, (shape,)):
            assert intransitive(leads) is None
            seen += 1
    one_step = [[Step("p", t, "a", u)] for t, u in product((0, 1), repeat=2)]
    for steps in ([], *one_step):
        assert intransitive(CouldResultIn(LOOP, (0, 1), steps)) is None
        seen += 1
    print(f"relations: {seen}")


def test_proposition_2_transitive_if_and_only_if_times_embed_in_a_universal_order():
    """The embedding decides could-result-in on every transitive relation, and misjudges a pair on every other."""
    seen = transitive = 0
    for leads in every_small(2, 2):
        is_transitive = intransitive(leads) is None
        assert (proposition_2(leads) is None) == is_transitive
        seen, transitive = seen + 1, transitive + is_transitive
    for leads in relations(LOOP, SHAPES["chain 3"]):
        is_transitive = intransitive(leads) is None
        assert (proposition_2(leads) is None) == is_transitive
        seen, transitive = seen + 1, transitive + is_transitive
    assert 0 < transitive < seen
    print(f"relations: {seen}, transitive: {transitive}")


def test_proposition_2_the_universal_order_is_a_partial_order():
    """Reverse inclusion is a partial order on the embedded times: pointstamps equal in it lead to each other."""
    for leads in relations(LOOP, (0, 1)):
        universal = embedding(leads)
        for a, b in product(leads.stamps, repeat=2):
            if intransitive(leads) is None and universal[a] == universal[b]:
                assert leads(a, b)
                assert leads(b, a)


def test_proposition_3_the_closure_is_the_one_shot_image_under_condition_2():
    """For every set of pointstamps, not only the singletons, on every small relation that meets Condition 2."""
    sets = relations_seen = 0
    for leads in relations(LOOP, (0, 1)):
        if condition_2(leads) is None:
            every = range(1 << len(leads.stamps))
            assert proposition_3(leads, every) is None
            sets += len(every)
            relations_seen += 1
    print(f"relations: {relations_seen}, sets: {sets}")


def test_proposition_3_needs_condition_2():
    """Where Condition 2 fails some singleton's image is not upward closed; the closure always is, and is the least."""
    broken = 0
    for leads in loops():
        assert (proposition_3(leads) is None) == (condition_2(leads) is None)
        broken += condition_2(leads) is not None
        for i in range(len(leads.stamps)):
            closed = leads.close_up(1 << i)
            assert closed >> i & 1
            assert leads.image(closed) == closed
            assert leads.image(1 << i) & ~closed == 0
    print(f"relations without Condition 2: {broken}")


def test_proposition_3_the_closure_is_the_least_upward_closed_set():
    """It is the intersection of all upward closed sets that contain the given one, by enumeration of them all."""
    for leads in list(relations(LOOP, (0, 1)))[::3]:
        closed_sets = [s for s in range(1 << len(leads.stamps)) if leads.image(s) == s]
        for i in range(len(leads.stamps)):
            least = (1 << len(leads.stamps)) - 1
            for candidate in closed_sets:
                if candidate >> i & 1:
                    least &= candidate
            assert leads.close_up(1 << i) == least

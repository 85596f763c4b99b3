"""Recursion: call stacks as times, Propositions 4 to 6, and the first-difference test (000, section 3.4)."""

import random
from itertools import product

import pytest

from timely.theory.model import Body, ModelError, Point, Recursion, condition_2, first_difference, stacks_lead
from timely.theory.model.recursion import bodies, proposition_4, proposition_5, proposition_6

TREE = Body(
    ("split", "join"),
    ("left", "right"),
    (
        ("in", "split"),
        ("split", "left"),
        ("split", "right"),
        ("split", "join"),
        ("left", "join"),
        ("right", "join"),
        ("join", "out"),
    ),
)


def points(body, depth):
    return [Point(place, stack) for place in body.places for stack in body.stacks(depth)]


def disagreements(body, depth):
    """Pairs on which the first-difference test and the clauses of the relation differ."""
    relation = {early: stacks_lead(body, early, depth + 1) for early in points(body, depth)}
    return [
        (early, late)
        for early, onward in relation.items()
        for late in points(body, depth)
        if first_difference(body, early, late, even_if_cyclic=True) != (late in onward)
    ]


def some_bodies(seed, count, *sizes):
    rng = random.Random(seed)
    for ordinary, calls in sizes:
        every = list(bodies(ordinary, calls))
        yield from rng.sample(every, min(count, len(every)))


def test_bodies_meet_the_section_s_assumptions():
    """Every node is between `in` and `out`, and some path avoids the calls; otherwise nothing would ever return."""
    with pytest.raises(ModelError, match="avoid"):
        Body((), ("c",), (("in", "c"), ("c", "out")))
    with pytest.raises(ModelError, match="reachable"):
        Body(("a",), (), (("in", "out"),))
    with pytest.raises(ModelError, match="enter"):
        Body(("a",), (), (("in", "a"), ("a", "in"), ("a", "out")))


def test_the_first_difference_test_decides_on_acyclic_bodies():
    some = [body for body in some_bodies(22, 150, (0, 1), (1, 1), (2, 1), (0, 2), (1, 2)) if body.is_acyclic]
    assert some
    assert not any(disagreements(body, 2) for body in [*some, TREE])


def recursions():
    for body in some_bodies(25, 12, (0, 1), (1, 1)):
        yield Recursion(body, 2)
    for body in some_bodies(26, 6, (0, 2), (2, 1)):
        yield Recursion(body, 1)


def conforming_models(seed=27):
    """Each body with nodes that take all conforming steps, and with nodes that take a random part of them."""
    rng = random.Random(seed)
    for recursion in recursions():
        steps = recursion.steps()
        yield recursion, recursion.model(steps)
        yield recursion, recursion.model(tuple(step for step in steps if rng.random() < 0.5))


def test_propositions_4_to_6():
    """Could-result-in implies the stack relation; between different nodes times have their own tags; it is transitive.

    Cyclic bodies are included. It is transitive by Theorem 1, as no path returns to an earlier stack at the same place.
    """
    for recursion, leads in conforming_models():
        assert proposition_4(recursion, leads) is None
        assert proposition_5(recursion, leads) is None
        assert condition_2(leads) is None
        assert proposition_6(leads) is None


def test_propositions_4_to_6_need_nodes_that_conform():
    """If nodes may also take steps outside the stack relation, each proposition fails somewhere."""
    recursion = Recursion(Body((), ("c",), (("in", "c"), ("c", "out"), ("in", "out"))), 1)
    stray = [recursion.steps()[0]._replace(time=a, later=b) for a, b in product(recursion.times.values(), repeat=2)]
    models = [recursion.model((*recursion.steps(), step)) for step in stray]
    assert any(proposition_4(recursion, leads) is not None for leads in models)
    assert any(proposition_5(recursion, leads) is not None for leads in models)
    assert any(proposition_6(leads) is not None for leads in models)


def test_recursion_with_every_conforming_step_is_the_stack_relation():
    """If nodes take all conforming steps, could-result-in between any two different places is the stack relation.

    The times include stacks one call deeper than the compared ones, because a path may call and return on its way.
    """
    recursion = Recursion(TREE, 2)
    leads = recursion.model(recursion.steps())
    found = {
        (early.location, early.time, late.location, late.time)
        for early, row in zip(leads.stamps, leads.rows, strict=True)
        for late in leads.unmask(row)
    }
    for a, b in product(recursion.times, repeat=2):
        if a.place != b.place and max(len(a.stack), len(b.stack)) <= 1:
            related = (a.place, recursion.times[a], b.place, recursion.times[b]) in found
            assert related == ((a, b) in recursion.relation)

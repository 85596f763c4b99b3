"""Shapes in which sinks end early, stand aside, or streams are inside others: killed, they come to the same."""

from functools import partial

import pytest

import pullstream as ps
from pullstream import agg
from pullstream.incremental import integrate, maintain, upserts
from pullstream.shake import shake
from tests.pullstream.journal.test_random import slowly, store
from tests.sampling import amount


def numbers():
    """Three at each time."""
    return ps.values(range(24), time=lambda n: n // 3)


def fussy(n):
    """Some values are bad."""
    if n % 5 == 0:
        raise ValueError(n)
    return n


def same(n):
    return n


def early(store):
    """Sinks that have enough, some in the middle of a time, beside one that wants all."""
    taken = ps.pipe(ps.take(4), store("taken"))
    return ps.tee(ps.first(), taken, ps.find(lambda n: n == 10), store("all"))


def uneven(store):
    """One sink gets something at every time, and the other only at the last, from a state."""
    late = ps.pipe(ps.filter(lambda n: n > 20), ps.scan(agg.sum()), store("late"))
    return ps.tee(store("odd"), late, capacity=1)


def reached(edges):
    """What can be reached from 0, and in how many steps: two joins, a loop."""
    start = edges.map(lambda _: (0, 0)).distinct()
    return start.iterate(lambda found: found.join(edges, lambda _, n, to: (to, n + 1)).concat(start).min()).join(edges)


SHAPES = {
    "aside": lambda store: ps.pipe(ps.map(fussy, on_error=ps.pipe(ps.map(repr), store("bad"))), store("good")),
    "early": early,
    "uneven": uneven,
    "groups": lambda store: ps.pipe(
        ps.group_by(lambda n: n % 3, ps.map(lambda n: n * 2)), ps.map(repr), ps.sort_by_time(same), store("all")
    ),
    "inside": lambda store: ps.pipe(
        ps.map(lambda n: ps.pipe(ps.values(range(n % 4)), ps.scan(agg.sum()))),
        ps.flatten(),
        ps.sort_by_time(same),
        store("all"),
    ),
    "collections": lambda store: ps.pipe(
        ps.map(lambda n: ((n % 5, n % 7), 1 if n < 16 else -1)),
        ps.map(lambda change: change if change[1] > 0 else ((change[0][0], (change[0][0] + 2) % 7), 1)),
        maintain(reached),
        ps.map(repr),
        store("all"),
    ),
    "upserts": lambda store: ps.pipe(
        upserts(lambda n: n % 4, deletes=lambda n: n % 9 == 0), integrate(), ps.map(repr), store("all")
    ),
    "take below": lambda store: ps.pipe(ps.accumulate(agg.sum()), ps.take(7), store("all")),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_killed_run_comes_to_the_same(shape):
    """What is stored, and the results, are those of a run that is not killed."""

    def pipeline(folder):
        return ps.pipe(numbers(), ps.map_async(slowly, 2), SHAPES[shape](partial(store, folder)))

    shake(pipeline, amount(3, 40), journal=True, compare="times").check()

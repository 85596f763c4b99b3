"""Shapes in which sinks end early, or collections are kept up to date: killed, they come to the same."""

from functools import partial

import pytest

import pullstream as ps
from pullstream.incremental import integrate, maintain, upserts
from pullstream.shake import shake
from tests.pullstream.journal.test_random import slowly, store
from tests.sampling import amount


def numbers():
    """Three at each time."""
    return ps.values(range(24), time=lambda n: n // 3)


def early(store):
    """Sinks that have enough, some in the middle of a time, beside one that wants all."""
    taken = ps.pipe(ps.take(4), store("taken"))
    return ps.tee(ps.first(), taken, ps.find(lambda n: n == 10), store("all"))


def reached(edges):
    """What can be reached from 0, and in how many steps: two joins, a loop."""
    start = edges.map(lambda _: (0, 0)).distinct()
    return start.iterate(lambda found: found.join(edges, lambda _, n, to: (to, n + 1)).concat(start).min()).join(edges)


SHAPES = {
    "early": early,
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
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_killed_run_comes_to_the_same(shape):
    def pipeline(folder):
        return ps.pipe(numbers(), ps.map_async(slowly, 2), SHAPES[shape](partial(store, folder)))

    shake(pipeline, amount(3, 40), journal=True, compare="times").check()

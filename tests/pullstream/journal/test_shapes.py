"""Shapes in which sinks end early, stand aside, or streams are inside others: killed, they come to the same."""

import pytest

import pullstream as ps
from pullstream import agg
from pullstream.incremental import integrate, maintain, upserts


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


def early(world):
    """Sinks that have enough, some in the middle of a time, beside one that wants all."""
    taken = ps.pipe(ps.take(4), world.store("taken"))
    return ps.tee(ps.first(), taken, ps.find(lambda n: n == 10), world.store("all"))


def uneven(world):
    """One sink gets something at every time, and the other only at the last, from a state."""
    late = ps.pipe(ps.filter(lambda n: n > 20), ps.scan(agg.sum()), world.store("late"))
    return ps.tee(world.store("odd"), late, capacity=1)


def reached(edges):
    """What can be reached from 0, and in how many steps: two joins, a loop."""
    start = edges.map(lambda _: (0, 0)).distinct()
    return start.iterate(lambda found: found.join(edges, lambda _, n, to: (to, n + 1)).concat(start).min()).join(edges)


SHAPES = {
    "aside": lambda world: ps.pipe(
        ps.map(fussy, on_error=ps.pipe(ps.map(repr), world.store("bad"))), world.store("good")
    ),
    "early": early,
    "uneven": uneven,
    "groups": lambda world: ps.pipe(
        ps.group_by(lambda n: n % 3, ps.map(lambda n: n * 2)), ps.map(repr), ps.sort_by_time(same), world.store("all")
    ),
    "inside": lambda world: ps.pipe(
        ps.map(lambda n: ps.pipe(ps.values(range(n % 4)), ps.scan(agg.sum()))),
        ps.flatten(),
        ps.sort_by_time(same),
        world.store("all"),
    ),
    "collections": lambda world: ps.pipe(
        ps.map(lambda n: ((n % 5, n % 7), 1 if n < 16 else -1)),
        ps.map(lambda change: change if change[1] > 0 else ((change[0][0], (change[0][0] + 2) % 7), 1)),
        maintain(reached),
        ps.map(repr),
        world.store("all"),
    ),
    "upserts": lambda world: ps.pipe(
        upserts(lambda n: n % 4, deletes=lambda n: n % 9 == 0), integrate(), ps.map(repr), world.store("all")
    ),
    "take below": lambda world: ps.pipe(ps.accumulate(agg.sum()), ps.take(7), world.store("all")),
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_killed_run_comes_to_the_same(new_world, shape):
    """What is stored, and the results, are those of a run without a journal."""

    def pipeline(world):
        return ps.pipe(numbers(), world.slowly(1), SHAPES[shape](world))

    world = new_world()
    expected = world.run(pipeline(world), journal=False), world.stored
    for limit, kill in ((1, 3), (1, 8), (2, 13), (2, 21), (4096, 5), (4096, 34)):
        world = new_world()
        for _ in range(5):
            world.run(pipeline(world), limit=limit, kill=kill)
        assert (world.run(pipeline(world), limit=limit), world.stored) == expected

"""Times and functions of times that raise, at each of their calls, anywhere in a run.

Whether a module or the sidecar calls them, the run ends at once with that exception and no other, and everything
acquired is released.
"""

import math
from itertools import product
from random import Random

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import PassesOn, Unseen, run, script
from tests.pullstream.shake.scenes import two_lanes
from tests.sampling import amount

FAILURES = (Unseen, SystemExit, KeyboardInterrupt)


class Fuse:
    """Raises at the n-th call."""

    def __init__(self, calls, failure):
        self.left, self.failure, self.blown = calls, failure, 0

    def burn(self):
        self.left -= 1
        if self.left == 0:
            self.blown += 1
            raise self.failure


class Moment:
    """A time whose order, equality and hash all burn the fuse."""

    def __init__(self, number, fuse):
        self.number, self.fuse = number, fuse

    def __repr__(self):
        return f"Moment({self.number})"

    def __le__(self, other):
        self.fuse.burn()
        return self.number <= other.number

    def __eq__(self, other):
        self.fuse.burn()
        return isinstance(other, Moment) and self.number == other.number

    def __hash__(self):
        self.fuse.burn()
        return hash(self.number)


@ps.transformer
class Holding(PassesOn):
    """Holds something whose release takes a while."""

    def __init__(self, held):
        self.held = held

    async def acquire(self):
        self.held.append(1)

    async def release(self):
        await trio.sleep(0.1)
        self.held.pop()


@ps.sink
async def until_complete(upstream, ctx):
    """Waits for completions while it asks."""
    async for event in ctx.events(upstream):
        if isinstance(event, ps.Batch):
            ctx.notify_at(event.time)


def at_function(held, fuse):
    def halved(time):
        fuse.burn()
        return time // 2

    return ps.pipe(numbers(held), ps.map_time(halved))


def at_moments(held, fuse):
    return ps.pipe(ps.values(range(4), time=lambda n: Moment(n, fuse)), Holding(held))


def numbers(held):
    return ps.pipe(ps.values(range(4), time=lambda n: n), Holding(held))


SHAPES = {
    "a plain sink": lambda made, held: ps.pipe(made, ps.collect()),
    "batches": lambda made, held: ps.pipe(made, ps.batch(2), Holding(held), ps.collect()),
    "counts": lambda made, held: ps.pipe(made, ps.count_by_key(str), Holding(held), ps.drain()),
    "a tee": lambda made, held: ps.pipe(made, ps.tee(ps.collect(), ps.pipe(ps.prefetch(2), Holding(held), ps.drain()))),
    "two lanes": lambda made, held: ps.pipe(made, ps.prefetch(2), two_lanes()),
    "completions": lambda made, held: ps.pipe(made, Holding(held), until_complete()),
    "merged": lambda made, held: ps.pipe(ps.merge(made, made), ps.batch(2), ps.drain()),
}


def leaves(exc):
    """The exceptions raised, without the groups of a sink's own tasks."""
    if isinstance(exc, BaseExceptionGroup):
        return {leaf for part in exc.exceptions for leaf in leaves(part)}
    return {exc}


def expect(shape, make, calls, failure, *, check):
    """Run with the n-th call raising, if there is one."""
    fuse, held, ended = Fuse(calls, failure("at a time")), [], None
    try:
        run(SHAPES[shape](make(held, fuse), held), check=check)
    except BaseException as exc:
        ended = exc
    assert not held, f"call {calls}: not released"
    assert leaves(ended) == {fuse.failure if fuse.blown else None}, f"call {calls}: {ended!r}"


@pytest.mark.parametrize("make", [at_function, at_moments])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_in_a_time_ends_the_run(shape, make):
    """Whichever call raises, the exception comes out unchanged, and everything is released. By default a sample."""
    random = Random(f"{shape} {make.__name__}")
    few = (1, 2, 3, *random.sample(range(4, 60), 5))
    some = [(calls, random.choice(FAILURES), random.random() < 0.3) for calls in few]
    # The checker's own comparison, as a `tee` asks for the first value.
    some.append((20, Unseen, True))
    for calls, failure, check in amount(some, product(range(1, 300), FAILURES, [False, True])):
        expect(shape, make, calls, failure, check=check)


def test_the_error_is_raised_while_the_source_is_idle():
    """A pending ask raises the error of a function of times at once, and a much later abort still returns."""
    seen = []

    @ps.sink
    async def aborts(upstream, ctx):
        async def ask(lane):
            with pytest.raises(TypeError, match="unsupported operand") as caught:
                await lane.ask()
            seen.append((trio.current_time(), caught.value))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask, upstream.lane())
            await trio.sleep(100)
            seen.append((trio.current_time(), await upstream.abort()))

    stages = ps.pipe(ps.count_by_key(str), ps.stamp_epochs(2, nest=True), ps.map_time(lambda time: time // 2))

    run(ps.pipe(script(ps.Batch(0, ["a"]), ps.Batch(2, ["b"]), math.inf), stages, aborts()), check=False)
    (early, raised), (late, confirmed) = seen
    assert (early, late, confirmed) == (0, 100, ps.DONE)
    assert any(note.startswith("raised in map_time, composed at") for note in raised.__notes__)


def failing_at_one(raised):
    def fails(time):
        if time >= 1:
            raise raised
        return time

    return ps.map_time(fails)


@pytest.mark.parametrize("module", [ps.batch(2), ps.count_by_key(str), ps.batch(2, seconds=9)])
def test_a_wait_begun_after_the_error_raises_it_too(module):
    """The failure is raised at once, not after all releases upstream; a lane cancelled meanwhile does not win."""
    held, raised, seen = [], Unseen("at a time"), []

    @ps.sink
    async def by_two_lanes(upstream, ctx):
        async def first(lane):
            with pytest.raises(Unseen) as caught:
                while await lane.ask() is not ps.DONE:
                    pass
            seen.append(caught.value)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(first, upstream.lane())
            await trio.sleep(0.05)
            with trio.move_on_after(0):
                await upstream.ask()

    run(ps.pipe(numbers(held), failing_at_one(raised), module, by_two_lanes()), check=False)
    assert not held
    assert seen == [raised]

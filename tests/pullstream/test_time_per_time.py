"""`unique_by_time`, `sort_by_time`, `accumulate`, `at_completion`: when, how often, and what goes wrong."""

import pytest
import trio

import pullstream as ps
from timely import Product

LIMITS = pytest.mark.parametrize("limit", [1, 2, 7, 4096])


class Oops(Exception):
    """What these tests raise."""


@ps.source
async def slow(ctx, *given):
    for batch in given:
        yield batch
        await trio.sleep(1)


async def test_distinct_values_come_at_once(autojump_clock):
    """Nobody waits for a completion."""
    start, seen = trio.current_time(), []
    source = slow(ps.Batch(0, ["a", "b"]), ps.Batch(0, ["a", "c"]), ps.Batch(1, ["a"]))
    note = ps.tap(lambda value: seen.append((value, trio.current_time() - start)))
    async with ps.pipe(source, ps.unique_by_time(), note, ps.collect()).open() as running:
        assert await running.result() == ["a", "b", "c", "a"]
    assert seen == [("a", 0), ("b", 0), ("c", 1), ("a", 2)]


async def test_distinct_holds_nothing(autojump_clock):
    """A time is complete below when it is above: nobody has to ask for that."""
    start = trio.current_time()

    @ps.source
    async def moving(ctx):
        yield ps.Batch(0, "a")
        ctx.advance(1)
        await trio.sleep(5)

    async with ps.pipe(moving(), ps.unique_by_time(), ps.drain()).open() as running:
        await running.progress.completed(0)
        assert trio.current_time() == start


def test_running_refuses_times_in_no_order():
    """A state is carried to the next time: there must be one."""

    @ps.source
    async def partial(ctx):
        with ctx.hold(Product(0, 1)), ctx.hold(Product(1, 0)):
            yield ps.Batch(Product(0, 1), "a")
            yield ps.Batch(Product(1, 0), "b")

    with pytest.raises(ps.errors.CapabilityError, match=r"accumulate.*Product\(.*have no order.*map_time"):
        ps.run(ps.pipe(partial(), ps.accumulate(ps.agg.count()), ps.collect()))


async def test_an_effect_completes_its_time_when_it_is_done(autojump_clock):
    """An async effect takes a while, and the time is complete after it."""
    start, calls = trio.current_time(), []

    async def store(time, values):
        await trio.sleep(3)
        calls.append((time, values, trio.current_time() - start))

    source = ps.values([0, 1, 2], time=lambda n: n // 2)
    async with ps.pipe(source, ps.at_completion(store)).open() as running:
        await running.progress.completed(0)
        assert trio.current_time() - start == 3
        assert await running.result() is None
    assert calls == [(0, [0, 1], 3), (1, [2], 6)]


@LIMITS
async def test_an_effect_that_fails_is_no_completion(limit):
    """The time of a call that raises is never complete, and no later one is called."""
    calls = []

    def store(time, values):
        calls.append(time)
        if time == 1:
            raise Oops

    source = ps.values([0, 1, 2], time=lambda n: n)
    with pytest.raises(Oops):
        async with ps.pipe(source, ps.at_completion(store)).open(limit=limit) as running:
            await running.progress.completed(0)
            with pytest.raises(Oops):
                await running.progress.completed(1)
    assert calls == [0, 1]


def test_counts_by_key_go_on():
    """The ready-made count of each key goes on from time to time, as every fold does."""
    source = ps.values([(1, "a"), (1, "a"), (2, "a"), (2, "b")], time=lambda pair: pair[0])
    counts = ps.accumulate(ps.agg.count(), key=lambda pair: pair[1])
    assert ps.run(ps.pipe(source, counts, ps.collect(timed=True))) == [(1, ("a", 2)), (2, ("a", 3)), (2, ("b", 1))]

"""How many times are done, and the frontier at each sink."""

import datetime as dt

import pytest
import trio
import trio.testing

import pullstream as ps


async def forever(running):
    await trio.sleep_forever()


async def slow(n):
    await trio.sleep(1)
    return n


def slowly(*times):
    return ps.pipe(ps.values(times, time=lambda time: time), ps.map_async(slow, 1))


async def test_a_time_is_done_when_it_is_complete(autojump_clock):
    """Not when its values have come, but when no more can; each time once, however many values it has."""
    seen = []
    async with ps.pipe(slowly(1, 1, 1, 2, 5, 5), ps.drain()).open(beside=forever) as running:
        for _ in range(6):
            await trio.sleep(1)
            await trio.testing.wait_all_tasks_blocked()
            seen.append(running.progress.times_done())
        await running.result()
    assert seen == [0, 0, 1, 2, 2, 3]
    assert running.progress.times_done() == 3


@pytest.mark.parametrize("limit", [1, 2, 7, 4096])
async def test_times_out_of_order_and_by_different_ways(limit):
    """Batches that go back and forth between times, through a fork: every time counts once."""
    values = [3, 1, 2, 2, 5, 4, 3, 6, 7, 5, 9, 8]
    stream = ps.pipe(ps.values(values), ps.stamp(lambda n: n, lateness=2), ps.fork(ps.map(str), ps.delay(100)))
    async with ps.pipe(stream, ps.tee(ps.drain(), ps.collect())).open(beside=forever, limit=limit) as running:
        await running.result()
    assert running.progress.times_done() == 2 * len(set(values))


@pytest.mark.parametrize("ending", ["failure", "abort"])
async def test_what_was_cut_short_is_not_done(ending, autojump_clock):
    """A time at which the run failed or was aborted is never counted."""

    async def fails(n):
        await trio.sleep(1)
        if n == 3 and ending == "failure":
            raise LookupError(n)
        return n

    stream = ps.pipe(ps.values([1, 2, 3, 4], time=lambda n: n), ps.map_async(fails, 1))
    with pytest.raises((LookupError, ps.errors.Abandoned)):
        async with ps.pipe(stream, ps.drain()).open(beside=forever) as running:
            if ending == "abort":
                await trio.sleep(2.5)
                await running.abort()
            await running.result()
    assert running.progress.times_done() == 2


async def test_without_anything_beside_the_first_call_begins_to_count(autojump_clock):
    """Who never asks pays nothing; who asks late counts from then on."""
    async with ps.pipe(slowly(1, 2, 3, 4), ps.drain()).open() as running:
        await trio.sleep(2.5)
        assert running.progress.times_done() == 0
        await running.result()
    assert running.progress.times_done() in (2, 3)


async def test_every_sink_has_a_frontier_of_its_own(autojump_clock):
    """Also where their times are of two kinds, which have no least time together."""
    days = [dt.date(2026, 3, day) for day in (2, 3, 4)]
    numbered = ps.pipe(ps.map_time(lambda day: day.day), ps.drain().named("numbers"))
    async with ps.pipe(slowly(*days), ps.tee(ps.drain().named("days"), numbered)).open(beside=forever) as running:
        await trio.sleep(1.5)
        found = {name: list(frontier) for name, frontier in running.progress.frontiers()}
        await running.result()
    assert found == {"days": [days[1]], "numbers": [3]}
    assert running.progress.times_done() == 6

"""`dynamic_merge`: sources are added before it opens, while it runs, and not after it was capped."""

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.engine.run import Scope
from tests.pullstream.common import living
from timely import Antichain

pytestmark = pytest.mark.usefixtures("schedule")


def opened(many, limit):
    return ps.pipe(many, ps.collect()).open(limit=limit, check="strict")


async def test_sources_added_later(limit, counting, new_probe, autojump_clock):
    """All values of every source arrive, whenever it was added, and each source is released when it ends."""
    probes = [new_probe() for _ in range(4)]

    many = ps.dynamic_merge()
    many.add(counting(probes[0], 5, delay=1), counting(probes[1], 5))
    async with opened(many, limit) as running:
        await trio.sleep(2.5)
        many.add(counting(probes[2], 5, delay=0.5))
        await trio.sleep(100)
        assert [probe.released for probe in probes] == [1, 1, 1, 0]
        many.add(counting(probes[3], 5))
        many.cap()
        with pytest.raises(ps.errors.Ended, match=r"dynamic_merge, made at .*cannot add a source: cap\(\)"):
            many.add(ps.once(1))
        assert sorted(await running.result()) == sorted([*range(5)] * 4)
    assert all(probe.balanced for probe in probes)


@pytest.mark.sampled(3)
async def test_ended_sources_are_forgotten(limit, autojump_clock):
    many = ps.dynamic_merge()
    # A failure that was caught before this test may keep its run.
    before = living(Scope)
    # A checker would keep the events it has seen.
    async with ps.pipe(many, ps.collect()).open(limit=limit) as running:
        for n in range(100):
            many.add(ps.once(n))
            await trio.sleep(1)
        assert living(Scope) - before <= 1
        many.cap()
        assert await running.result() == [*range(100)]


async def test_no_time_is_complete_before_the_cap(limit, autojump_clock):
    many = ps.dynamic_merge()
    many.add(ps.values(range(4), time=int))
    async with opened(many, limit) as running:
        with trio.move_on_after(9) as scope:
            await running.progress.completed(0)
        assert scope.cancelled_caught
        many.cap()
        await running.progress.completed(3)


async def test_the_times_of_a_pair_complete(autojump_clock):
    given, out = ps.pushable(9), []
    source, sink = ps.duplex.pair()
    merged = ps.dynamic_merge()
    merged.add(source)
    merged.cap()
    side = ps.pipe(merged, ps.count_by_key(lambda _: 0), ps.tap(out.append))
    talk = ps.duplex.connect(ps.duplex.Duplex(given, ps.collect()), ps.duplex.Duplex(side, sink))
    async with talk.open() as running:
        await given.push(1, time=1)
        await trio.testing.wait_all_tasks_blocked()
        assert (out, running.progress.frontier()) == ([], Antichain([1]))
        given.advance(5)
        await trio.testing.wait_all_tasks_blocked()
        assert (out, running.progress.frontier()) == ([(0, 1)], Antichain([5]))
        given.end()

"""Looking at a run's progress: `watch` and `pointstamps`."""

import pytest
import trio

import pullstream as ps
from pullstream.engine.sidecar.sidecar import Sidecar
from timely import BEGINNING


async def test_a_frontier_is_watched_until_the_end(autojump_clock):
    """Every move of a slow stream's frontier is seen, in order, and the last is the end of time."""

    @ps.source
    async def slow(ctx):
        for day in (3, 5, 9):
            yield ps.Batch(day, [day])
            await trio.sleep(1)

    async with ps.pipe(slow(), ps.map(str).named("parse"), ps.drain()).open() as running:
        seen = [list(frontier) async for frontier in running.progress.watch("parse")]
    assert seen[-1] == []
    assert [frontier for frontier in seen if frontier and frontier != [BEGINNING]] == [[3], [5], [9]]


async def test_watching_waits_while_one_of_several_sinks_goes_on(autojump_clock, monkeypatch):
    """A sink that has had enough moves no more, whatever is above it."""
    moved, waits = Sidecar.moved, []

    async def counted(self, *given):
        waits.append(given)
        assert len(waits) < 50
        await moved(self, *given)

    monkeypatch.setattr(Sidecar, "moved", counted)

    async def wait(_):
        await trio.sleep(1)

    slow = ps.pipe(ps.map_async(wait, 1), ps.drain())
    pipeline = ps.pipe(ps.values(range(5), time=int), ps.tee(ps.first(), slow, capacity=10))
    async with pipeline.open(limit=1) as running:
        seen = [list(frontier) async for frontier in running.progress.watch()]
    assert [frontier for frontier in seen if frontier and frontier != [BEGINNING]][-1] == [4]


@pytest.mark.parametrize("how", ["fail", "abort"])
async def test_watching_ends_as_the_stream_does(how, autojump_clock):
    """A failure is raised to the watcher, and an abort is Abandoned; neither looks like the end of time."""

    class Boom(Exception):
        pass

    async def call(n):
        await trio.sleep(5)
        if how == "fail":
            raise Boom
        await trio.sleep_forever()

    seen = []
    told = []

    async def watch(progress):
        try:
            async for frontier in progress.watch():
                seen.append(list(frontier))  # noqa: PERF401 - one by one, until it fails
        except (Boom, ps.errors.Abandoned) as exc:
            told.append(type(exc))

    try:
        pipeline = ps.pipe(ps.values([1], time=int), ps.map_async(call, 1), ps.drain())
        async with pipeline.open() as running, trio.open_nursery() as nursery:
            nursery.start_soon(watch, running.progress)
            await trio.sleep(10)
            if how == "abort":
                await running.abort()
    except* Boom:
        assert how == "fail"
    assert told == [Boom if how == "fail" else ps.errors.Abandoned]
    assert [] not in seen


async def test_pointstamps_are_what_may_still_lead_to_something(autojump_clock):
    """A source's clock, what a module holds, how often, and what was not acknowledged; nothing at the end."""

    async def stuck(n):
        await trio.sleep(100)
        return n

    numbers = ps.values([1, 2, 2, 3], time=lambda n: n)
    async with ps.pipe(numbers, ps.map_async(stuck, 2).named("ask"), ps.collect()).open() as running:
        await trio.sleep(50)
        found = {str(stamp) for stamp in running.progress.pointstamps()}
        assert found == {"values may still produce from 2", "ask holds 1", "ask holds 2"}
        await running.result()
    assert running.progress.pointstamps() == []

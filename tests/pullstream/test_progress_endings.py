"""When times complete: lanes, holds, sources with several clocks; complete, failed and abandoned never look alike."""

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.pullstream.common import Unseen, answer, raises_at, script, timed
from timely import BEGINNING


async def outcomes(progress, *times):
    """What waiters for some times get: None, or an exception."""
    found = {}

    async def wait(time):
        found[time] = await answer(progress.completed, time)

    async with trio.open_nursery() as nursery:
        for time in times:
            nursery.start_soon(wait, time)
    return found


def failing(kind, failure):
    """A pipeline that fails at 2 of the times 1, 2 and 3, each kind in another module."""
    bad = raises_at(2, failure)

    # After all waiters wait.
    days = script(1.0, *(ps.Batch(time, [time]) for time in (1, 2, 3)))

    @ps.transformer
    async def generator(upstream, ctx):
        async for event in ctx.events(upstream):
            yield ps.Batch(event.time, [bad(value) for value in event.values])

    async def call(value):
        return bad(value)

    @ps.sink
    async def late(upstream, ctx):
        await trio.sleep(2)
        while await upstream.ask(ctx.limit) is not ps.DONE:
            pass

    @ps.transformer
    async def holding(upstream, ctx):
        async for batch in ctx.batches(upstream):
            with ctx.hold(batch.time):
                yield await upstream.ask()

    def effect(time, values):
        assert time < 3, "after the failure"
        bad(time)

    def closed():
        try:
            yield from (1, 2, 3)
        finally:
            raise failure

    return {
        "source": lambda: ps.pipe(script(1.0, ps.Batch(1, [1]), ps.Batch(2, [0]), failure), ps.collect()),
        "map": lambda: ps.pipe(days, ps.map(bad), ps.collect()),
        "map_async": lambda: ps.pipe(days, ps.map_async(call, 2), ps.collect()),
        "generator": lambda: ps.pipe(days, generator(), ps.map(str), ps.collect()),
        "group": lambda: ps.pipe(
            days, ps.map(raises_at(3, failure)), ps.skip(1), ps.group_by(str, holding()), ps.collect()
        ),
        "sink": lambda: ps.pipe(days, ps.map(lambda n: n), ps.drain(bad)),
        "effect": lambda: ps.pipe(days, ps.at_completion(effect)),
        "key": lambda: ps.pipe(days, ps.partition(bad, {1: ps.collect()}, other=ps.drain())),
        "branch": lambda: ps.pipe(days, ps.tee(ps.collect(), ps.drain(bad))),
        "release": lambda: ps.pipe(ps.values(closed(), time=int), ps.take(2), ps.map(str), late()),
    }[kind]()


KINDS = ["source", "map", "map_async", "generator", "group", "sink", "effect", "key", "branch", "release"]


@pytest.mark.parametrize("asked", ["before", "after"])
@pytest.mark.parametrize("limit", [1, 4096])
@pytest.mark.parametrize("kind", KINDS)
async def test_a_failure_is_never_a_completion(kind, limit, asked, autojump_clock):
    failure = Unseen()
    with pytest.raises(Unseen) as caught:
        async with failing(kind, failure).open(limit=limit) as running:
            if asked == "before":
                found = await outcomes(running.progress, 0, 1, 2, 3)
            await running.result()
    assert caught.value is failure
    if asked == "after":
        found = await outcomes(running.progress, 0, 1, 2, 3)
    assert found == {0: None, 1: None, 2: failure, 3: failure}
    assert running.progress.frontier().less_equal(2)
    with pytest.raises(Unseen) as again:
        await running.result()
    assert again.value is failure


async def test_take_completes_but_abandons_upstream(autojump_clock):
    pipeline = ps.pipe(timed(1, 2, 2, 3, 4), ps.map(lambda n: n), ps.take(2), ps.collect())
    async with pipeline.open(limit=1) as running:
        progress = running.progress
        assert await running.result() == [1, 2]
        assert await answer(progress.completed, 2) is await answer(progress.completed, 4, "take") is None
        for name in ("map", "values"):
            assert await answer(progress.completed, 1, name) is None
            assert isinstance(await answer(progress.completed, 2, name), ps.errors.Abandoned)


@pytest.mark.parametrize("between", ["filter", "skip", "flat_map", "reduce_by_key", "sort_by_time", "batch"])
def test_a_completion_does_not_wait_for_an_absorbing_module(between):
    absorbing = {
        "filter": ps.filter(lambda day: day == 1),
        "skip": ps.pipe(ps.filter(lambda day: day == 1), ps.skip(0)),
        "flat_map": ps.flat_map(lambda day: [day] if day == 1 else []),
        "reduce_by_key": ps.pipe(
            ps.reduce_by_key(ps.Fold(list, lambda _, day: day), key=str), ps.map(lambda pair: pair[1])
        ),
        "sort_by_time": ps.sort_by_time(),
        "batch": ps.pipe(ps.batch(10**9), ps.flat_map(list)),
    }[between]
    done = []

    def days():
        yield from [1, 1, 1]
        for _ in range(10**6):
            yield 2
            if done:
                return

    largest = ps.reduce_by_key(ps.Fold(int, max), key=lambda day: "largest")
    results = ps.pipe(largest, ps.filter(lambda pair: pair[1] == 1), ps.drain(done.append))
    read = []
    source = ps.pipe(ps.values(days(), time=lambda day: day), ps.tap(read.append))
    ps.run(ps.pipe(source, absorbing, results), limit=1)
    assert done == [("largest", 1)]
    assert len(read) < 10**6


# ---- holds


async def test_the_end_on_one_lane_does_not_acknowledge_for_another(autojump_clock):
    finish = trio.Event()

    @ps.sink
    async def two_lanes(upstream, ctx):
        other = upstream.lane()
        await upstream.ask(1)
        assert await other.ask(1) is ps.DONE
        await finish.wait()
        assert await upstream.ask(1) is ps.DONE

    async with ps.pipe(timed(1), two_lanes()).open() as running:
        await trio.testing.wait_all_tasks_blocked()
        assert running.progress.frontier().less_equal(1)
        assert "two_lanes has not acknowledged a batch at 1" in map(str, running.progress.explain(1))
        finish.set()
        await running.progress.completed(1)


class Parts(ps.authoring.Kernel[int]):
    """A source of three parts, which hold 1, 1 and 5; answers at the given times."""

    def __init__(self, answers):
        self.answers = answers

    async def acquire(self):
        self.parts = {"part 0": 1, "part 1": 1, "part 2": 5}
        self.location.holders = lambda time: [name for name, at in self.parts.items() if at == time]
        for time in self.parts.values():
            self.location.hold(time)
        self.location.drop_capability()

    async def produce(self, limit):
        if not self.answers:
            await trio.sleep_forever()
        return ps.Batch(self.answers.pop(0), ["value"])


async def test_explain_names_the_parts_that_hold_a_time():
    source = ps.source(Parts)([])
    async with ps.pipe(source, ps.drain()).open() as running:
        assert list(running.progress.frontier()) == [BEGINNING]
        await trio.testing.wait_all_tasks_blocked()
        (blocking,) = running.progress.explain(7)
        assert str(blocking).startswith("Parts, part 0, part 1 may still produce from 1")
        assert {str(stamp) for stamp in running.progress.pointstamps()} == {
            "Parts, part 0, part 1 may still produce from 1",
            "Parts, part 2 may still produce from 5",
        }
        await running.abort()


async def test_a_source_may_answer_at_its_holds_in_any_order():
    """Without a capability it may go back and forth between its holds, which stay until they are dropped."""
    source = ps.source(Parts)([5, 1, 6, 0])
    got = []
    with pytest.raises(ps.errors.CapabilityError, match=r"answered at 0, and holds \[1, 5\]"):
        await ps.arun(ps.pipe(source, ps.timed(), ps.drain(got.append)))
    assert [time for time, _ in got] == [5, 1, 6]

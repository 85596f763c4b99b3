"""When a time completes: lanes, holds, holds that an exception leaves, and sources with several clocks."""

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.pullstream.common import Unseen, timed
from timely import BEGINNING


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


async def test_an_exception_inside_a_hold_does_not_complete_its_time(autojump_clock):
    failure = Unseen()

    @ps.sink
    async def broken(upstream, ctx):
        batch = await upstream.ask(1)
        with ctx.hold(batch.time):
            await upstream.ask(1)
            raise failure

    with pytest.raises(Unseen):
        async with ps.pipe(timed(1, 2), broken()).open() as running:
            with pytest.raises(Unseen):
                await running.progress.completed(1)
            await running.progress.completed(0)
            raise failure


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


async def test_a_source_answers_at_its_holds_in_any_order():
    """Without a capability it may go back and forth between its holds, which stay until they are dropped."""
    source = ps.source(Parts)([5, 1, 6])
    async with ps.pipe(source, ps.take(3), ps.collect(timed=True)).open() as running:
        assert [time for time, _ in await running.result()] == [5, 1, 6]


async def test_a_source_answers_at_nothing_before_its_holds():
    with pytest.raises(ps.errors.CapabilityError, match=r"answered at 0, and holds \[1, 5\]"):
        async with ps.pipe(ps.source(Parts)([0]), ps.drain()).open():
            pass

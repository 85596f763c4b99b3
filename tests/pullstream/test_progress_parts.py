"""A source of several parts, each with a clock of its own: what it holds, and who is named."""

import pytest
import trio
import trio.testing

import pullstream as ps
from timely import BEGINNING


class Parts(ps.authoring.Kernel[int]):
    """Three parts that hold 1, 1 and 5; answers what it is told to."""

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


class TestParts:
    async def test_explain_names_the_parts_that_hold_a_time(self):
        """Of several parts those that stand in the way are named, and no others."""
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

    async def test_it_answers_at_what_it_holds_in_any_order(self):
        """A source without a capability may go back and forth between its holds, which stay until they are dropped."""
        source = ps.source(Parts)([5, 1, 6])
        async with ps.pipe(source, ps.take(3), ps.collect(timed=True)).open() as running:
            assert [time for time, _ in await running.result()] == [5, 1, 6]

    async def test_it_answers_at_nothing_else(self):
        """Before its least hold a source without a capability has no right to speak."""
        with pytest.raises(ps.errors.CapabilityError, match=r"answered at 0, and holds \[1, 5\]"):
            async with ps.pipe(ps.source(Parts)([0]), ps.drain()).open():
                pass

"""What goes aside: to a sink beside the main one, with every way in which one of the two may end first."""

import pytest
import trio
import trio.testing
from trio._core import _run as trio_scheduler

import pullstream as ps
from pullstream.blueprint import Module
from pullstream.modules.values.side_branch import SideBranch


class Unseen(Exception):
    """What these tests let fail."""


@pytest.fixture(autouse=True, params=range(6))
def schedule(request):
    """Each seed is another order in which trio lets tasks run."""
    trio_scheduler._r.seed(request.param)


def odd(n):
    return n % 2


def aside(sink, test=odd):
    return ps.Transformer((Module("aside", SideBranch, (sink, test)),))


@ps.sink
async def kept(upstream, ctx, log, *, pause=0.0, enough=1000, failing=None):
    """Puts values into a log, which lives on when the run fails."""
    async for batch in ctx.batches(upstream):
        await trio.sleep(pause)
        for value in batch.values:
            if value == failing:
                raise Unseen
            log.append(value)
            if len(log) == enough:
                return
    log.append("done")


def run(pipeline, limit):
    async def main():
        with trio.fail_after(1000):
            async with pipeline.open(limit=limit) as running:
                return await running.result()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.parametrize("limit", [1, 2, 7, 4096])
class TestAside:
    """At every limit, in every order."""

    def test_nothing_is_complete_before_the_release(self, limit, counting, probe):
        """What the main branch has left out looks complete to the side sink only when upstream has let go."""
        told = []

        @ps.transformer
        class Slow(ps.authoring.Kernel):
            async def produce(self, limit):
                return await self.upstream.ask(limit)

            async def release(self):
                await trio.sleep(3)

        async def program():
            parts = (Slow(), aside(kept([]).named("side")), ps.take(2), ps.drain())
            async with ps.pipe(counting(probe, 100, timed=True), *parts).open(limit=limit) as running:
                await running.progress.completed(90, at="side")
                told.append(trio.current_time())

        began = []

        async def timed():
            began.append(trio.current_time())
            await program()

        trio.run(timed, clock=trio.testing.MockClock(autojump_threshold=0))

        assert told[0] - began[0] == 3

    def test_the_main_branch_waits_for_what_lies_there_alone(self, limit, counting, probe):
        """When the side sink has taken what there was, it may work on it as long as it likes."""
        main = []

        async def program():
            parts = (aside(kept([], pause=50), lambda n: n in (1, 30)), kept(main))
            async with ps.pipe(counting(probe, 60, timed=True), *parts).open(limit=limit) as running:
                await trio.sleep(49)
                assert main[-1] >= 29
                await running.result()

        trio.run(program, clock=trio.testing.MockClock(autojump_threshold=0))

        assert main == [*(n for n in range(60) if n not in (1, 30)), "done"]


@pytest.mark.parametrize("limit", [1, 4096])
class TestAsideInside:
    """In a stream that is opened inside another."""

    def test_it_is_waited_for(self, limit):
        """What it still does when the inner stream has nothing left belongs to that stream, and so does its failure."""
        side = []

        def inner(failing):
            return lambda n: ps.pipe(ps.values(range(n)), aside(kept(side, pause=1, failing=failing)))

        run(ps.pipe(ps.values([9]), ps.map(inner(None)), ps.flatten(), ps.collect()), limit)
        assert side == [1, 3, 5, 7, "done"]
        with pytest.raises(Unseen):
            run(ps.pipe(ps.values([9, 3]), ps.map(inner(5)), ps.flatten(), ps.collect()), limit)

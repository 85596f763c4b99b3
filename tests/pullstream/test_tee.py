"""`tee`: one stream, several sinks, and every way in which one of them may end before the others."""

import pytest
import trio
import trio.testing
from trio._core import _run as trio_scheduler

import pullstream as ps

SCHEDULES = range(40)


@pytest.fixture(params=SCHEDULES)
def schedule(request):
    """Trio's scheduler shuffles what may run next; each seed is another order."""
    trio_scheduler._r.seed(request.param)


@ps.source
async def watched(ctx, log, count, failure=None):
    try:
        for n in range(count):
            log.append(n)
            await trio.sleep(0.001)  # what is yielded between two waits comes together
            yield ps.Batch(n // 4, [n])
        if failure is not None:
            raise failure
    finally:
        log.append("released")


@ps.sink
async def first(upstream, ctx, count):
    seen = []
    while len(seen) < count and (batch := await upstream.ask(1)) is not ps.DONE:
        seen.extend(batch.values)
    return seen


@ps.sink
async def slow(upstream, ctx):
    seen = []
    async for batch in ctx.batches(upstream):
        await trio.sleep(1)
        seen.extend(batch.values)
    return seen


def tenth(n):
    return 10 // (n - 5)


def run(pipeline):
    async def main():
        with trio.fail_after(1000):
            async with pipeline.open() as running:
                return await running.result()

    return trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))


@pytest.mark.usefixtures("schedule")
class TestEveryOrder:
    """What must hold in whatever order the scheduler lets the branches run."""

    def test_all_see_everything(self):
        """Every branch gets every value, the slow one too."""
        log = []

        assert run(ps.pipe(watched(log, 9), ps.tee(ps.collect(), slow(), ps.drain()))) == (
            list(range(9)),
            list(range(9)),
            None,
        )
        assert log == [*range(9), "released"]

    def test_a_failing_branch_ends_all(self):
        """A branch's failure tells the source, ends the others, and arrives as itself."""
        log = []
        pipeline = ps.pipe(watched(log, 10), ps.tee(ps.collect(), ps.pipe(ps.map(tenth), ps.collect()), slow()))

        with pytest.raises(ZeroDivisionError):
            run(pipeline)

        assert log[-1] == "released"
        assert max(log[:-1]) <= 6

    def test_a_failing_source_fails_all(self):
        """The source's failure arrives once, as the same object."""
        log = []
        failure = ValueError("no more")

        with pytest.raises(ValueError, match="no more") as caught:
            run(ps.pipe(watched(log, 3, failure), ps.tee(ps.collect(), slow())))

        assert caught.value is failure
        assert log == [0, 1, 2, "released"]

    def test_a_branch_that_has_enough_leaves_the_others(self):
        """A branch that ends early is no longer waited for; the source goes on for the rest."""
        log = []

        assert run(ps.pipe(watched(log, 8), ps.tee(first(2), ps.collect(), ps.pipe(ps.take(3), ps.collect())))) == (
            [0, 1],
            list(range(8)),
            [0, 1, 2],
        )

    def test_the_last_to_leave_aborts_the_source(self):
        """When no branch wants more, the source is released without having been read to its end."""
        log = []

        assert run(ps.pipe(watched(log, 100), ps.tee(first(2), ps.pipe(ps.take(3), ps.collect())))) == (
            [0, 1],
            [0, 1, 2],
        )
        assert log == [0, 1, 2, "released"]

    def test_nested(self):
        """A tee in a tee behaves as one."""
        log = []

        with pytest.raises(ZeroDivisionError):
            run(ps.pipe(watched(log, 10), ps.tee(ps.collect(), ps.tee(slow(), ps.drain(tenth)))))

        assert log[-1] == "released"

    def test_abort_from_outside(self):
        """An abort ends every branch and releases the source."""
        log = []

        async def main():
            async with ps.pipe(watched(log, 100), ps.tee(slow(), ps.collect())).open() as running:
                await trio.sleep(3.5)
                await running.abort()
                with pytest.raises(ps.errors.Abandoned):
                    await running.progress.completed(20)

        trio.run(main, clock=trio.testing.MockClock(autojump_threshold=0))

        assert log[-1] == "released"
        assert max(log[:-1]) <= 5

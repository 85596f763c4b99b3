"""One stream, several ways: `tee` with a capacity, `partition`, `fork`, and every way in which one may end first."""

import pytest
import trio
from trio._core import _run as trio_scheduler
from trio.testing import MockClock

import pullstream as ps

LIMITS = [1, 2, 7, 4096]


class Unseen(Exception):
    """What these tests let fail."""


@pytest.fixture(params=range(4))
def schedule(request):
    """Each seed is another order in which trio lets tasks run."""
    trio_scheduler._r.seed(request.param)
    return request.param


def run(pipeline, limit=4096):
    async def main():
        with trio.fail_after(1000):
            async with pipeline.open(limit=limit, check="strict") as running:
                return await running.result()

    return trio.run(main, clock=MockClock(autojump_threshold=0))


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
                return log
    log.append("done")
    return log


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.usefixtures("schedule")
class TestLag:
    """A tee whose fast branches may run ahead."""

    @pytest.mark.parametrize("capacity", [1, 5, 30])
    def test_at_most_so_far_ahead(self, limit, capacity, counting, probe):
        """The fast branch is ahead by no more than the capacity, beside what the slow one has taken to work on."""
        slow, ahead = [], []

        def notice(value):
            ahead.append(value + 1 - len(slow))

        pipeline = ps.pipe(
            counting(probe, 50, timed=True), ps.tee(ps.drain(notice), kept(slow, pause=1), capacity=capacity),
        )  # fmt: skip

        run(pipeline, limit)

        assert capacity <= max(ahead) <= capacity + min(limit, capacity)
        assert slow == [*range(50), "done"]
        assert probe.balanced

    @pytest.mark.parametrize("capacity", [1, 5, 30])
    def test_it_stays_as_far_ahead(self, limit, capacity, counting, probe):
        """For each value that the slow branch takes, the fast one gets another, and not only when no more are kept."""
        slow, ahead = [], []
        notice = ps.drain(lambda value: ahead.append(value + 1 - len(slow)))

        run(ps.pipe(counting(probe, 50), ps.tee(notice, kept(slow, pause=1), capacity=capacity)), limit)

        assert min(ahead[capacity:]) >= capacity


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("capacity", [0, 9])
def test_a_failure_that_a_branch_deals_with(limit, capacity, counting, probe):
    """What a failure froze above is the branch's own once it has caught it, and completes when it has passed it."""
    told = {}

    async def main():
        instead = lambda _: ps.values([99], time=lambda _: 5)  # noqa: E731
        branches = [ps.pipe(ps.catch(instead), kept([], pause=10).named(name)) for name in ("one", "two")]
        pipeline = ps.pipe(counting(probe, 3, failure=Unseen(), timed=True), ps.tee(*branches, capacity=capacity))
        async with pipeline.open(limit=limit) as running:
            for name in ("one", "two"):
                await running.progress.completed(4, at=name)
                told[name] = trio.current_time()
            await running.progress.completed(5)
            told["end"] = trio.current_time()

    trio.run(main, clock=MockClock(autojump_threshold=0))

    assert told["one"] == told["two"] == told["end"] - 10


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.usefixtures("schedule")
class TestPartition:
    """Every way to end."""

    def test_a_key_without_a_sink(self, limit, counting, probe):
        """It is an error that names the value, after what came before it."""
        even = []

        with pytest.raises(ps.errors.RoutingError, match=r"partition.* 5 has the key 'odd'.*other=") as caught:
            run(ps.pipe(counting(probe, 9), ps.partition(lambda n: "odd" if n == 5 else "even", {"even": kept(even)})))

        assert even == [*range(5)]
        assert probe.reasons == [caught.value]


def test_a_rare_key_does_not_hold_up_the_rest(counting, probe):
    """A sink that gets little asks for little, and sets no limit to what is fetched for the others."""
    run(ps.pipe(counting(probe, 100_000), ps.partition(lambda n: n == 5, {True: ps.drain(), False: ps.drain()})))

    assert len(probe.asked) < 200

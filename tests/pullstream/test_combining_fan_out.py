"""One stream, several ways: `tee` with a capacity, `partition`, `fork`, and every way in which one may end first."""

import collections

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from trio._core import _run as trio_scheduler
from trio.testing import MockClock

import pullstream as ps
from tests.sampling import amount

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

    def test_a_failing_branch_ends_all_at_once(self, limit, counting, probe):
        """What is kept for the other branches is not waited for."""
        slow = []

        with pytest.raises(Unseen) as caught:
            run(ps.pipe(counting(probe, 500), ps.tee(kept([], failing=4), kept(slow, pause=1), capacity=100)), limit)

        assert len(slow) <= min(limit, 100) + 1
        assert "done" not in slow
        assert probe.reasons == [caught.value] or probe.ended


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


@settings(max_examples=amount(50, 200), deadline=None, derandomize=True)
@given(
    st.lists(st.integers(0, 5), max_size=20), st.sampled_from(LIMITS), st.sampled_from([0, 1, 3]), st.integers(0, 10**6)
)
def test_partition_as_groups(values, limit, capacity, seed):
    """Every value goes to the sink for its key, in order; the others to the other."""
    trio_scheduler._r.seed(seed)
    groups = collections.defaultdict(list)
    for value in values:
        groups[value].append(value)

    by_key, other = run(
        ps.pipe(
            ps.values(values), ps.partition(abs, {n: kept([]) for n in range(3)}, other=ps.collect(), capacity=capacity)
        ),
        limit,
    )

    assert by_key == {n: [*groups[n], "done"] for n in range(3)}
    assert other == [value for value in values if value > 2]


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


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.usefixtures("schedule")
class TestFork:
    """Several transformers over one stream, merged."""

    @pytest.mark.parametrize("capacity", [0, 3])
    def test_all_ways(self, limit, capacity, counting, probe):
        """Every value goes every way, and each way keeps its order."""
        ways = ps.fork(
            ps.map(lambda n: ("a", n)), ps.filter(lambda _: False), ps.map(lambda n: ("b", n)), capacity=capacity
        )

        seen = run(ps.pipe(counting(probe, 20), ways, ps.collect()), limit)

        assert [n for way, n in seen if way == "a"] == [n for way, n in seen if way == "b"] == [*range(20)]

    def test_a_way_that_has_enough(self, limit, counting, probe):
        """It leaves the others; the last to leave ends the stream."""
        ways = ps.fork(ps.pipe(ps.take(2), ps.map(str)), ps.take(5))

        seen = run(ps.pipe(counting(probe, 10_000), ways, ps.collect()), limit)

        assert sorted(map(str, seen)) == sorted([*"01", *"01234"])
        assert probe.balanced
        assert probe.reasons == [None]
        assert sum(probe.asked) <= 7

    def test_a_way_that_waits_for_completions(self, limit, counting, probe):
        """A way that keeps values until their time is complete is told of it, though all share one hub."""
        sums = ps.reduce_by_key(ps.Fold(int, lambda total, n: total + n), key=lambda _: "sum")

        seen = run(ps.pipe(counting(probe, 5, timed=True), ps.fork(sums, ps.map(str)), ps.collect(timed=True)), limit)

        assert [pair for pair in seen if isinstance(pair[1], tuple)] == [(n, ("sum", n)) for n in range(5)]
        assert [pair for pair in seen if isinstance(pair[1], str)] == [(n, str(n)) for n in range(5)]

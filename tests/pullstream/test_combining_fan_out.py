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

    def test_everything_arrives_everywhere(self, limit, counting, probe):
        """Both get all, though one takes all its time."""
        fast, slow = [], []

        run(ps.pipe(counting(probe, 30), ps.tee(kept(fast), kept(slow, pause=1), capacity=7)), limit)

        assert fast == slow == [*range(30), "done"]

    def test_a_failure_comes_after_what_was_kept(self, limit, counting, probe):
        """The slow branch gets what came before the source failed."""
        fast, slow, failure = [], [], Unseen()

        with pytest.raises(Unseen) as caught:
            run(
                ps.pipe(counting(probe, 6, failure=failure), ps.tee(kept(fast), kept(slow, pause=1), capacity=100)),
                limit,
            )

        assert caught.value is failure
        assert fast == slow == [*range(6)]

    def test_a_failing_branch_ends_all_at_once(self, limit, counting, probe):
        """What is kept for the other branches is not waited for."""
        slow = []

        with pytest.raises(Unseen) as caught:
            run(ps.pipe(counting(probe, 500), ps.tee(kept([], failing=4), kept(slow, pause=1), capacity=100)), limit)

        assert len(slow) <= min(limit, 100) + 1
        assert "done" not in slow
        assert probe.reasons == [caught.value] or probe.ended

    def test_the_slow_one_leaves(self, limit, counting, probe):
        """A branch that has enough is waited for no more."""
        fast, slow = [], []

        run(ps.pipe(counting(probe, 40), ps.tee(kept(fast), kept(slow, pause=1, enough=2), capacity=3)), limit)

        assert fast == [*range(40), "done"]
        assert slow == [0, 1]

    def test_completions_are_true(self, limit, counting, probe):
        """A time is complete when the slow branch has worked it off, too."""
        fast, slow, told = [], [], []

        async def main():
            pipeline = ps.pipe(counting(probe, 12, timed=True), ps.tee(kept(fast), kept(slow, pause=1), capacity=5))
            async with pipeline.open(limit=limit, check="strict") as running:
                for time in range(12):
                    await running.progress.completed(time)
                    told.append((time, list(slow)))

        trio.run(main, clock=MockClock(autojump_threshold=0))

        assert all(set(range(time + 1)) <= set(seen) for time, seen in told)
        assert len(told[3][1]) < 12


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

    def test_a_sink_that_has_enough(self, limit, counting, probe):
        """What is for a sink that has left is dropped; the last to leave ends the stream."""
        even, odd = [], []
        sinks = {0: kept(even, enough=2), 1: kept(odd, enough=4)}

        run(ps.pipe(counting(probe, 10_000), ps.partition(lambda n: n % 2, sinks)), limit)

        assert (even, odd) == ([0, 2], [1, 3, 5, 7])
        assert probe.balanced
        assert probe.reasons == [None]

    def test_a_sink_that_fails(self, limit, counting, probe):
        """It ends all, and tells the source."""
        even = []

        with pytest.raises(Unseen) as caught:
            run(ps.pipe(counting(probe, 9_999), ps.partition(lambda n: n % 2, {0: kept(even), 1: kept([], failing=5)})))

        assert "done" not in even
        assert probe.reasons == [caught.value] or probe.ended

    def test_a_key_without_a_sink(self, limit, counting, probe):
        """It is an error that names the value, after what came before it."""
        even = []

        with pytest.raises(ps.errors.RoutingError, match=r"partition.* 5 has the key 'odd'.*other=") as caught:
            run(ps.pipe(counting(probe, 9), ps.partition(lambda n: "odd" if n == 5 else "even", {"even": kept(even)})))

        assert even == [*range(5)]
        assert probe.reasons == [caught.value]

    def test_a_key_function_that_fails(self, limit, counting, probe):
        """The failure goes both ways, after what came before it."""
        even = []

        with pytest.raises(ZeroDivisionError) as caught:
            run(ps.pipe(counting(probe, 9), ps.partition(lambda n: 0 // (n - 5), {0: kept(even)})), limit)

        assert even == [*range(5)]
        assert probe.reasons == [caught.value]
        assert any("raised in partition" in note for note in caught.value.__notes__)

    def test_a_key_function_that_fails_while_values_are_kept(self, limit, counting, probe):
        """The slow sink gets what came before it, however far behind it is."""
        slow, fast = [], []
        sinks = {0: kept(slow, pause=1), 1: kept(fast)}

        with pytest.raises(ZeroDivisionError):
            run(ps.pipe(counting(probe, 9), ps.partition(lambda n: 0 // (n - 5) + n % 2, sinks, capacity=9)), limit)

        assert (slow, fast) == ([0, 2, 4], [1, 3])

    def test_an_abort_from_outside(self, limit, counting, probe):
        """Every sink is ended, and the source released."""
        even, odd = [], []

        async def main():
            pipeline = ps.pipe(
                counting(probe, 1000, delay=1), ps.partition(lambda n: n % 2, {0: kept(even), 1: kept(odd)})
            )
            async with pipeline.open(limit=limit, check="strict") as running:
                await trio.sleep(4.5)
                await running.abort()

        trio.run(main, clock=MockClock(autojump_threshold=0))

        assert probe.balanced
        assert "done" not in [*even, *odd]


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

    def test_a_way_that_fails(self, limit, counting, probe):
        """It ends all, and tells the source, with the same object."""

        def fail(n):
            if n == 4:
                raise Unseen
            return n

        with pytest.raises(Unseen) as caught:
            run(ps.pipe(counting(probe, 9_999), ps.fork(ps.map(fail), ps.take(99)), ps.collect()), limit)

        assert probe.reasons == [caught.value] or probe.ended
        assert len(caught.value.__notes__) == 1

    @pytest.mark.parametrize("count", [0, 1, 4])
    def test_an_abort_from_below(self, limit, counting, probe, count):
        """It reaches the source once, through every way."""
        ways = ps.fork(ps.take(99), ps.pipe(ps.take(99), ps.map(str)))

        assert len(run(ps.pipe(counting(probe, 9_999), ways, ps.take(count), ps.collect()), limit)) == count
        assert probe.balanced
        assert probe.reasons == [None]
        assert probe.acquired == (count > 0)

    def test_an_error_from_below(self, limit, counting, probe):
        """It reaches the source once, with its reason, whichever way goes first."""
        ways = ps.fork(ps.take(99_999), ps.pipe(ps.take(99_999), ps.map(lambda n: -n)), capacity=2)

        with pytest.raises(Unseen) as caught:
            run(ps.pipe(counting(probe, 9_999), ways, kept([], failing=-3)), limit)

        assert probe.balanced
        assert probe.reasons == [caught.value] or probe.ended

    def test_a_failing_source(self, limit, counting, probe):
        """Its failure arrives once, after what came before it."""
        failure, seen = Unseen(), []

        with pytest.raises(Unseen) as caught:
            run(
                ps.pipe(counting(probe, 3, failure=failure), ps.fork(ps.take(99), ps.map(lambda n: -n)), kept(seen)),
                limit,
            )

        assert caught.value is failure
        assert sorted(seen) == [-2, -1, 0, 0, 1, 2]

    def test_a_way_that_waits_for_completions(self, limit, counting, probe):
        """A way that keeps values until their time is complete is told of it, though all share one hub."""
        sums = ps.reduce_by_key(ps.Fold(int, lambda total, n: total + n), key=lambda _: "sum")

        seen = run(ps.pipe(counting(probe, 5, timed=True), ps.fork(sums, ps.map(str)), ps.collect(timed=True)), limit)

        assert [pair for pair in seen if isinstance(pair[1], tuple)] == [(n, ("sum", n)) for n in range(5)]
        assert [pair for pair in seen if isinstance(pair[1], str)] == [(n, str(n)) for n in range(5)]


def test_wrong_parts_are_refused():
    """When composing, by name."""
    for make, told in [
        (ps.fork, "fork.*at least one"),
        (lambda: ps.fork(ps.collect()), "fork.*needs transformers"),
        (lambda: ps.fork(ps.take(1), capacity=-1), "capacity"),
        (lambda: ps.tee(ps.collect(), capacity=1.5), "capacity"),
        (lambda: ps.partition(str, {}), "at least one"),
        (lambda: ps.partition(str, [ps.collect()]), "dict with a sink"),
        (lambda: ps.partition(str, {"a": ps.take(1)}), "needs sinks"),
        (lambda: ps.partition("a", {"a": ps.collect()}), "callable as its key"),
        (lambda: ps.merge([1, 2]), "merge.*needs sources.*values"),
        (lambda: ps.zip(ps.once(1), mode="longest"), "'shortest', 'strict' or 'padded'"),
        (lambda: ps.zip(ps.once(1), fill=0), "mode='padded'"),
        (lambda: ps.merge_sorted(ps.once(1), key=3), "callable as its key"),
        (lambda: ps.broadcast(0), "capacity"),
        (lambda: ps.broadcast(1, overflow="burst"), "overflow"),
        (lambda: ps.dynamic_merge().add(3), "needs sources"),
    ]:
        with pytest.raises(ps.CompositionError, match=rf"{told}") as caught:
            make()
        assert "test_combining_fan_out.py" in str(caught.value)

"""One stream, several sinks: `tee` with a capacity, `partition`, and side sinks beside the main one."""

import math

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, after, answer, aside, kept, run, script


@pytest.mark.sampled(18)
@pytest.mark.usefixtures("schedule")
@pytest.mark.parametrize("capacity", [1, 5, 30])
def test_capacity_limits_lead(limit, capacity, counting, probe):
    """For each value that the slow branch takes, the fast one gets one more."""
    slow, ahead = [], []

    def notice(value):
        ahead.append(value + 1 - len(slow))

    tee = ps.tee(ps.drain(notice), kept(slow, pause=1), capacity=capacity)
    run(ps.pipe(counting(probe, 50, timed=True), tee), limit)
    assert max(ahead) <= capacity + min(limit, capacity)
    assert min(ahead[capacity:]) >= capacity
    assert slow == [*range(50), "done"]
    assert probe.balanced


@pytest.mark.parametrize("capacity", [0, 9])
async def test_a_failure_that_a_branch_catches(limit, capacity, counting, probe, autojump_clock):
    """Times that a failure froze upstream complete at each branch that caught it, when the branch has passed them."""
    moments = {}

    instead = lambda _: ps.values([99], time=lambda _: 5)  # noqa: E731
    branches = [ps.pipe(ps.catch(instead), kept([], pause=10).named(name)) for name in ("one", "two")]
    pipeline = ps.pipe(counting(probe, 3, failure=Unseen(), timed=True), ps.tee(*branches, capacity=capacity))
    async with pipeline.open(limit=limit) as running:
        for name in ("one", "two"):
            await running.progress.completed(4, at=name)
            moments[name] = trio.current_time()
        await running.progress.completed(5)
        moments["end"] = trio.current_time()

    assert moments["one"] == moments["two"] == moments["end"] - 10


@pytest.mark.usefixtures("schedule")
def test_a_key_without_a_sink(counting, probe):
    """The error names the value, and follows the values before it."""
    even = []

    with pytest.raises(ps.errors.RoutingError, match=r"partition.* 5 has the key 'odd'.*other=") as caught:
        run(ps.pipe(counting(probe, 9), ps.partition(lambda n: "odd" if n == 5 else "even", {"even": kept(even)})))

    assert even == [*range(5)]
    assert probe.reasons == [caught.value]


@pytest.mark.parametrize("capacity", [0, 9])
async def test_a_key_that_fails(limit, capacity, counting, probe, autojump_clock):
    """The failure names the module and follows the values dealt before it; the time of that value never completes."""
    logs = [], []

    def key(n):
        if n == 6:
            raise Unseen
        return n % 2

    branches = {number: kept(log, pause=1 - number) for number, log in enumerate(logs)}
    split = ps.partition(key, branches, capacity=capacity)
    pipeline = ps.pipe(counting(probe, 9), ps.stamp(lambda n: n // 4), split)
    async with pipeline.open(limit=limit, check="strict") as running:
        with pytest.raises(Unseen) as caught:
            await running.result()
        assert await answer(running.progress.completed, 1) is caught.value
    assert logs == ([0, 2, 4], [1, 3, 5])
    assert probe.reasons == [caught.value]
    assert caught.value.__notes__[0].startswith("raised in partition")


def test_a_rare_key_does_not_hold_up_the_rest(counting, probe):
    """A sink that gets few values asks for few, which does not limit what is fetched for the others."""
    run(ps.pipe(counting(probe, 100_000), ps.partition(lambda n: n == 5, {True: ps.drain(), False: ps.drain()})))

    assert len(probe.asked) < 200


async def test_a_branch_does_not_wait_for_another_to_ask(autojump_clock):
    """An answer for one branch must not make the other one wait until the first has processed it."""
    arrivals = []

    @ps.transformer
    async def works(upstream, ctx, seconds):
        async for batch in ctx.batches(upstream):
            arrivals.append(trio.current_time() - begin)
            await trio.sleep(seconds)
            yield batch

    begin = trio.current_time()
    branches = {0: ps.pipe(works(10), ps.drain()), 1: ps.pipe(works(9.5), ps.drain())}
    await ps.arun(
        ps.pipe(ps.values(range(4)), ps.map_async(after(2), 1), ps.partition(lambda n: n % 2, branches, capacity=5))
    )

    assert arrivals == [2, 4, 14, 16]


async def test_a_branch_that_leaves_when_upstream_can_answer(schedule, autojump_clock):
    """Upstream has woken it to ask for all branches: another branch asks instead."""
    switch, got = ps.abortable(), []

    @ps.source
    async def aborting(ctx):
        yield 0
        await trio.sleep(1)
        switch.abort()
        yield 1
        yield 2

    await ps.arun(ps.pipe(aborting(), ps.tee(ps.pipe(switch, ps.drain()), ps.drain(got.append))))

    assert got == [0, 1, 2]


@ps.sink
async def leaves(upstream, ctx):
    for _ in range(3):
        await upstream.ask(10)


def has_enough(start):
    return ps.pipe(ps.take(lambda n: n < 100), leaves())


def is_paused(start):
    tap = ps.pausable()

    async def pause():
        await trio.sleep(2.5)
        tap.pause()
        await trio.sleep(20)
        tap.resume()

    start(pause)
    return ps.pipe(tap, ps.drain())


def meets_a_deadline(start):
    return ps.pipe(ps.windowed(seconds=1), kept([], pause=50))


def is_a_hub_that_was_left(start):
    tap = ps.abortable()

    async def leave():
        await trio.sleep(3.5)
        tap.abort()

    start(leave)
    return ps.tee(ps.pipe(tap, ps.drain()), kept([], pause=50), capacity=9)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("source", [ps.interval(1), ps.pipe(ps.interval(0.5), ps.filter(lambda n: n % 2))])
@pytest.mark.parametrize("other", [has_enough, is_paused, meets_a_deadline, is_a_hub_that_was_left])
async def test_a_woken_branch_that_does_not_ask(other, source, schedule, autojump_clock):
    """It still polls upstream for the others, so they get their values."""
    moments, begin = [], trio.current_time()
    async with trio.open_nursery() as nursery:
        beside = other(nursery.start_soon)
        mine = ps.drain(lambda n: moments.append(trio.current_time() - begin))
        await ps.arun(ps.pipe(source, ps.take(8), ps.tee(beside, mine, capacity=9)))
    assert moments == [*range(1, 9)]


@pytest.mark.parametrize("row", [1, 40])
def test_branches_that_wait_together_share_asks(row, counting, probe):
    """However short the first one's lead over the others when it asks, and downstream of any number of modules."""
    ps.run(ps.pipe(counting(probe, 2_000), *[ps.tap(id)] * row, ps.tee(ps.drain(), ps.drain(), capacity=2)))
    assert len(probe.asked) < 200


async def test_values_kept_for_a_branch_are_dropped_when_another_fails(autojump_clock):
    slow = []
    branches = kept(slow, pause=1), kept([], failing=5)
    with pytest.raises(Unseen):
        await ps.arun(ps.pipe(ps.values(range(20), time=int), ps.tee(*branches, capacity=9)), limit=1)
    assert slow == [0]


async def test_times_that_no_branch_needs_are_abandoned(autojump_clock):
    branches = [ps.pipe(ps.take(count), ps.drain()) for count in (2, 4)]
    async with ps.pipe(ps.values(range(20), time=int), ps.tee(*branches).named("both")).open() as running:
        with pytest.raises(ps.errors.Abandoned):
            await running.progress.completed(9, at="both")


async def test_nothing_is_dealt_to_a_branch_that_has_left():
    branches = {0: ps.pipe(ps.take(1), ps.drain())}
    pipeline = ps.pipe(ps.values(range(40)), ps.partition(lambda n: n % 2, branches, other=ps.drain()))
    async with pipeline.open(limit=1) as running:
        await running.result()
    assert {row.module: row.values_in for row in running.counters()}["partition[0]"] == 1


@pytest.mark.sampled(12)
@pytest.mark.parametrize("enough", range(4, 10))
@pytest.mark.usefixtures("schedule")
async def test_the_last_branch_leaves_while_upstream_ends(enough, autojump_clock):
    stop, going = ps.abortable(), trio.Event()
    got = []

    @ps.sink
    async def step_by_step(upstream, ctx):
        while (batch := await upstream.ask(1)) is not ps.DONE:
            got.extend(batch.values)
            if len(got) == 3:
                await going.wait()
            await trio.lowlevel.checkpoint()

    stuck = script(ps.Batch(0, [*range(20)]), math.inf)
    main_branch = ps.pipe(ps.take(enough), ps.map_batches(list), step_by_step())
    split = ps.partition(lambda n: 0, {0: main_branch}, on_error=ps.drain(), capacity=30)
    async with ps.pipe(stuck, stop, split).open(check=True) as running:
        await trio.sleep(1)
        going.set()
        stop.abort()
        await running.result()
    assert got == [*range(enough)]


# ---- side sinks


@pytest.mark.sampled(8)
@pytest.mark.usefixtures("schedule")
async def test_the_main_branch_waits_only_for_side_values(limit, counting, probe, autojump_clock):
    main = []

    parts = (aside(kept([], pause=50), lambda n: n in (1, 30)), kept(main))
    async with ps.pipe(counting(probe, 60, timed=True), *parts).open(limit=limit) as running:
        await trio.sleep(49)
        assert main[-1] >= 29
        await running.result()
    assert main == [*(n for n in range(60) if n not in (1, 30)), "done"]

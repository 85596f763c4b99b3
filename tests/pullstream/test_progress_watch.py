"""Reading a run's progress: `explain`, `watch`, `pointstamps`, names; a run has a tracker only if it is read."""

import random
from contextlib import suppress

import pytest
import trio
import trio.testing

import pullstream as ps
import timely
from pullstream.engine.observer import Observer
from pullstream.engine.runtime.deadlock import DeadlockDetector
from pullstream.engine.sidecar.location import Claim
from pullstream.engine.sidecar.sidecar import Sidecar
from tests.pullstream.common import Unseen, script
from timely import BEGINNING, Antichain


async def test_explain_names_the_holder_and_its_path():
    explained = []

    @ps.sink
    async def looks(upstream, ctx):
        batch = None
        while batch is not ps.DONE:
            await trio.testing.wait_all_tasks_blocked()
            explained.append([str(blocking) for blocking in running.progress.explain(1)])
            batch = await upstream.ask(1)

    source = ps.values([1, 2], time=int)
    async with ps.pipe(source, ps.map(int), ps.flat_map(lambda n: [n]), looks()).open() as running:
        await running.result()
    assert explained == [
        ["values may still produce from BEGINNING -> map -> flat_map -> looks"],
        ["looks has not acknowledged a batch at 1", "values may still produce from 1 -> map -> flat_map -> looks"],
        [],
    ]


async def test_modules_are_found_by_their_names(autojump_clock):
    named = (ps.map(str).named("first"), ps.map(str).named("second"))
    async with ps.pipe(ps.values([1]), *named, ps.take(9), ps.take(8), ps.collect()).open() as running:
        with pytest.raises(LookupError, match="named 'nobody'.*'values', 'first', 'second', 'take', 'take', 'collect'"):
            running.progress.frontier(at="nobody")
        with pytest.raises(LookupError, match="2 modules are named 'take'"):
            running.progress.frontier(at="take")
        await running.progress.completed(0, at="first")
        await running.progress.completed(0, at="second")


async def test_a_frontier_is_watched_until_the_end(autojump_clock):
    slow = script(*(part for day in (3, 5, 9) for part in (ps.Batch(day, [day]), 1.0)))
    async with ps.pipe(slow, ps.map(str).named("parse"), ps.drain()).open() as running:
        seen = [list(frontier) async for frontier in running.progress.watch("parse")]
    assert seen[-1] == []
    assert [frontier for frontier in seen if frontier and frontier != [BEGINNING]] == [[3], [5], [9]]


@pytest.mark.parametrize("raised", [Unseen, ps.errors.Abandoned])
async def test_watch_ends_as_the_stream_does(raised, autojump_clock):
    async def call(n):
        await trio.sleep(5 if raised is Unseen else 1000)
        raise Unseen

    moves = []
    pipeline = ps.pipe(ps.values([1], time=int), ps.map_async(call, 1), ps.drain())

    async def abort(running):
        await trio.sleep(10)
        await running.abort()

    async with trio.open_nursery() as nursery:
        with suppress(Unseen):
            async with pipeline.open() as running:
                nursery.start_soon(abort, running)
                with pytest.raises(raised):
                    async for frontier in running.progress.watch():
                        moves.append(list(frontier))  # noqa: PERF401 - one by one, until it fails
        nursery.cancel_scope.cancel()
    assert moves
    assert [] not in moves


async def test_asking_for_a_time_of_another_domain_is_an_error():
    source = ps.pushable(1)
    source.push_nowait(1, time=1)
    async with ps.pipe(source, ps.drain()).open() as running:
        why = r"'tuesday' \(str\) is not a time of this stream: it cannot be compared with 1 \(int\), a time at drain"
        with pytest.raises(timely.TimeDomainError, match=why):
            await running.progress.completed("tuesday")
        with pytest.raises(timely.TimeDomainError, match=why):
            running.progress.explain("tuesday")
        assert running.progress.frontier() == timely.Antichain([1])
        source.end()
        await running.progress.completed(1)


async def test_sinks_of_different_domains_are_read_one_by_one(autojump_clock):
    days = ps.pipe(ps.map_time("day {}".format), ps.drain().named("days"))
    async with ps.pipe(ps.interval(1, time=lambda n: n), ps.tee(days, ps.drain().named("numbers"))).open() as running:
        await trio.sleep(1.5)
        assert running.progress.frontiers() == [("days", Antichain(["day 0"])), ("numbers", Antichain([0]))]
        with pytest.raises(timely.TimeDomainError, match=r"at days, .* and numbers, .*: name one .* at=, or use fron"):
            running.progress.frontier()
        with pytest.raises(timely.TimeDomainError, match="name one"):
            await anext(running.progress.watch())
        with pytest.raises(timely.TimeDomainError, match="of the same kind, or name another sink, with at="):
            await running.progress.completed(0)
        assert running.progress.frontier("days") == Antichain(["day 0"])
        await running.abort()


@pytest.mark.parametrize("odd", [float("nan"), "text"])
async def test_a_wait_for_a_time_without_order_does_not_delay_others(odd, autojump_clock):
    """The waits of one place are checked in the order of their times, if these have one."""
    ends = {}

    async def wait(running, time):
        with suppress(TypeError):
            await running.progress.completed(time)
        ends[time] = trio.current_time()

    source = ps.pipe(ps.interval(1), ps.take(8), ps.stamp(float))
    async with ps.pipe(source, ps.drain()).open() as running, trio.open_nursery() as nursery:
        for time in (5.0, odd, 6.0, 1.0):
            nursery.start_soon(wait, running, time)
            await trio.sleep(0.1)
        await running.result()
    assert ends[5.0] - ends[1.0] == 4
    assert ends[6.0] - ends[1.0] == 5


async def test_the_module_where_two_domains_meet_fails():
    merged = ps.merge(ps.values([1, 2], time=lambda n: n), ps.values(["a"], time=str))
    with pytest.raises(timely.TimeDomainError, match="times of two domains"):
        async with ps.pipe(merged, ps.drain()).open() as running:
            await running.result()
    progress = running.progress
    for asked in (progress.pointstamps, progress.frontiers, progress.times_done, progress.counters, progress.frontier):
        asked()
    progress.explain(3)
    with pytest.raises(timely.TimeDomainError):
        await progress.completed(3)
    with pytest.raises(timely.TimeDomainError):
        [frontier async for frontier in progress.watch()]


async def test_an_observer_is_notified_once_of_a_wait_s_end():
    """The trace counts the waits for a time: a second notification would end another one."""
    left = []

    class Noting(Observer):
        def left(self, watch):
            left.append(watch)

    sidecar = Sidecar(lambda *_: None, lambda *_: None, DeadlockDetector(), observer=Noting())
    source = sidecar.locate(["source"], None, [])
    sidecar.start()
    source.drop_capability()
    await sidecar.until_complete(source, 3)
    assert len(left) == 1


# ---- the tracker


@pytest.mark.parametrize("seed", range(60))
def test_a_frontier_is_the_same_with_a_tracker_and_without(seed):
    rng = random.Random(seed)
    sidecar = Sidecar(lambda *_: None, lambda *_: None, DeadlockDetector())
    for number in range(rng.randrange(2, 9)):
        upstreams = rng.sample(sidecar.locations, min(rng.randrange(3), number))
        sidecar.locate([str(number)], None, upstreams, sink=number == 7)
    sidecar.start()
    lanes = [Claim(sidecar, port) for location in sidecar.locations for port in location.ports]
    for location in sidecar.locations:
        for _ in range(rng.randrange(3)):
            location.hold(rng.randrange(10))
        if not location.upstreams and rng.random() < 0.8:
            location.drop_capability()
    for lane in lanes:
        if rng.random() < 0.5:
            lane.stamp(rng.randrange(10))
            if rng.random() < 0.3:
                lane.acknowledge()
    sidecar.propagate()
    places = range(sum(len(location.ports) + 1 for location in sidecar.locations))
    frontiers, uncounted = sidecar.frontiers, sidecar.update
    untracked = [frontiers.frontier(place) for place in places]
    least = [frontiers.above(location) for location in frontiers.locations]
    assert sidecar.update is uncounted
    frontiers.track()
    assert sidecar.update is not uncounted
    assert [frontiers.frontier(place) for place in places] == untracked
    for location, above in zip(frontiers.locations, least, strict=True):
        assert Antichain(above) == Antichain(time for port in location.ports for time in frontiers.frontier(port.place))

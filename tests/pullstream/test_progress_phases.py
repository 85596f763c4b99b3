"""The phases of a sidecar: a run at which nobody looks has no tracker, and whoever looks is told the same."""

import random

import pytest
import trio

import pullstream as ps
from pullstream.engine.runtime.deadlock import DeadlockDetector
from pullstream.engine.sidecar.location import Stamp
from pullstream.engine.sidecar.phases import Phase, Tracked, Untrackable, Untracked
from pullstream.engine.sidecar.sidecar import Sidecar


@pytest.fixture
def sidecars(monkeypatch):
    """Every sidecar of the runs of a test, in the order in which they are made."""
    made = []
    begin = Sidecar.__init__

    def noted(sidecar, *given, **options):
        made.append(sidecar)
        begin(sidecar, *given, **options)

    monkeypatch.setattr(Sidecar, "__init__", noted)
    return made


UNSEEN = {
    "a line": [ps.map(str), ps.filter(bool), ps.take(100)],
    "times changed on the way": [ps.delay(1), ps.map(str)],
    "a failure": [ps.map(lambda n: 1 // (5 - n))],
    "an early end": [ps.take(3)],
    "streams inside": [ps.map(lambda n: ps.values([n])), ps.flatten()],
}


@pytest.mark.parametrize("name", UNSEEN)
def test_a_run_at_which_nobody_looks_has_no_tracker(name, sidecars):
    """Whatever way it ends: frontiers are worked out only when somebody asks."""
    pipeline = ps.pipe(ps.values(range(10), time=int), *UNSEEN[name], ps.collect())
    try:
        ps.run(pipeline)
    except ZeroDivisionError:
        assert name == "a failure"
    assert sidecars
    assert {type(sidecar.phase) for sidecar in sidecars} == {Untracked}


async def test_who_looks_has_a_tracker_made_in_the_middle(sidecars):
    """It knows of all that is held and in flight already, and of nothing that is over."""

    @ps.sink
    async def looks(upstream, ctx):
        async for batch in ctx.batches(upstream):
            if batch.time == 4:
                assert isinstance(sidecars[0].phase, Untracked)
                told.append((list(running.progress.frontier()), [str(each) for each in running.progress.explain(4)]))
                assert isinstance(sidecars[0].phase, Tracked)
                told.append((list(running.progress.frontier()), [str(each) for each in running.progress.explain(3)]))

    told = []
    async with ps.pipe(ps.values(range(9), time=int), ps.map(str).named("parse"), looks()).open(limit=1) as running:
        await running.result()
    assert told == [
        ([4], ["looks has not acknowledged a batch at 4", "values may still produce from 4 -> parse -> looks"]),
        ([4], []),
    ]


@pytest.mark.parametrize("seed", range(60))
def test_a_frontier_is_the_same_with_a_tracker_and_without(seed):
    """At every output and input of graphs in which no path changes a time."""
    rng = random.Random(seed)
    sidecar = Sidecar(lambda *_: None, DeadlockDetector())
    for number in range(rng.randrange(2, 9)):
        upstreams = rng.sample(sidecar.locations, min(rng.randrange(3), number))
        sidecar.locate([str(number)], None, upstreams, sink=number == 7)
    sidecar.start()
    lanes = [InFlight(sidecar, port) for location in sidecar.locations for port in location.ports]
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
    untracked = [sidecar.phase.frontier(place) for place in places]
    assert isinstance(sidecar.phase, Untracked)
    tracked = sidecar.track()
    assert isinstance(tracked, Tracked)
    assert [tracked.frontier(place) for place in places] == untracked


class InFlight(Stamp):
    """A lane without an edge."""


@pytest.mark.parametrize("kind", [Untracked, Tracked, Untrackable])
def test_every_phase_answers_everything(kind):
    """Whatever one asks of one phase, one may ask of all: none lacks what another has."""
    asked = {name for name in vars(Phase) if not name.startswith("_")}
    assert asked == Phase.__abstractmethods__
    assert not kind.__abstractmethods__


async def test_news_goes_round_streams_inside_and_below(autojump_clock):
    """A completion inside is heard of outside and below, though those who hear of it would tell it again."""
    group = ps.group_by(lambda value: hash(value) % 2, ps.count_by_key())
    source = ps.values(range(20), time=lambda n: n // 4)
    async with ps.pipe(source, group, group, ps.drain()).open() as running:
        with trio.fail_after(60):
            for time in range(5):
                await running.progress.completed(time)
            await running.result()

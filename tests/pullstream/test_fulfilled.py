"""Fulfilled times: everything that they lead to is complete at the outputs of all sinks."""

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.resuming.consequences import LAST
from tests.pullstream.common import answer


@ps.source
class Steered(ps.authoring.Kernel[int]):
    """Answers 0, 1, ... at their own times, then waits at the next time; it adds its location to `locations`."""

    def __init__(self, locations, count, *, ends=False):
        self.locations = locations
        self.count = count
        self.ends = ends
        self.given = 0

    def placed(self):
        self.locations.append(self.location)

    async def produce(self, limit):
        if self.given < self.count:
            self.given += 1
            return ps.Batch(self.given - 1, [self.given - 1])
        self.location.advance(self.count)
        if not self.ends:
            await trio.sleep_forever()
        return ps.DONE


def fulfilled_of(pipeline_of, count, times):
    """The times that are fulfilled when everything before `count` has been answered and the run is at rest."""

    async def main():
        locations = []
        async with pipeline_of(Steered(locations, count)).open() as running:
            await trio.testing.wait_all_tasks_blocked()
            found = [time for time in times if locations[0].fulfilled(time)]
            await running.abort()
        return found

    return trio.run(main)


def near(source):
    """A join in which a value may match a later one."""
    return ps.join(source, ps.values(range(20), time=int), on=lambda _: 0, within=2)


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param((ps.map(str),), [0, 1, 2, 3], id="as it is"),
        pytest.param((ps.count_by_key(),), [0, 1, 2, 3], id="per time"),
        pytest.param((ps.delay(2),), [0, 1, 2, 3], id="delay"),
        pytest.param((ps.fork(ps.map(str), ps.delay(2)),), [0, 1], id="fork with a delay"),
        pytest.param((ps.map_time(lambda n: n // 2),), [0, 1, 2, 3], id="map_time"),
        pytest.param((ps.map_time(lambda n: n // 3),), [0, 1, 2], id="map_time to an open time"),
        pytest.param((ps.tumbling(2),), [0, 1, 2, 3], id="tumbling"),
        pytest.param((ps.sliding(4, 2),), [0, 1], id="sliding"),
        pytest.param((ps.group_by(str, ps.sliding(4, 2)),), [0, 1], id="sliding in groups"),
        pytest.param((ps.group_by(str, ps.fork(ps.map(str), ps.delay(2))),), [0, 1], id="fork in groups"),
        pytest.param((ps.group_by(str, ps.stamp_epochs(1)),), [], id="epochs in groups"),
        pytest.param((ps.stamp_epochs(count=1, nest=True),), [0, 1, 2, 3], id="nested epochs"),
        pytest.param((ps.map_time(lambda _: 0), ps.stamp_epochs(1)), [], id="epochs"),
        pytest.param((ps.loop(ps.map(lambda n: n)),), [0, 1, 2, 3], id="loop"),
        pytest.param(None, [0, 1], id="join within"),
    ],
)
def test_fulfilled_times(after, expected):
    """A time is fulfilled when its last consequence, on any path, is complete; after a stamp, never."""

    def made(source):
        return ps.pipe(near(source), ps.drain()) if after is None else ps.pipe(source, *after, ps.drain())

    assert fulfilled_of(made, 4, range(-1, 6)) == [-1 for _ in expected[:1]] + expected


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("kind", ["transformer", "sink"])
@pytest.mark.parametrize(
    ("module", "expected"),
    [
        pytest.param(ps.map(str), [0, 1, 2, 3, 4, 5], id="as it is"),
        pytest.param(ps.sliding(4, 2), [0, 1], id="sliding"),
        pytest.param(ps.map_time(lambda n: n // 2), [0, 1, 2, 3, 4, 5], id="map_time"),
        pytest.param(ps.pipe(ps.map_time(lambda _: 0), ps.stamp_epochs(1)), [], id="epochs"),
    ],
)
async def test_a_deferred_module_keeps_times_from_being_fulfilled(module, expected, kind, early):
    """What follows from a time depends on the module that is set, also if the wait began before."""
    locations, waited = [], []
    place = ps.deferred(kind)
    if kind == "sink":
        module = ps.pipe(module, ps.drain())

    async def wait(time):
        await locations[0].until_fulfilled(time)
        waited.append(time)

    pipeline = ps.pipe(Steered(locations, 6), *([place, ps.drain()] if kind == "transformer" else [place]))
    async with pipeline.open() as running, trio.open_nursery() as nursery:
        if early:
            place.resolve(module)
        for time in range(8):
            nursery.start_soon(wait, time)
        await trio.testing.wait_all_tasks_blocked()
        if not early:
            assert waited == []
            place.resolve(module)
        await trio.testing.wait_all_tasks_blocked()
        found = [time for time in range(8) if locations[0].fulfilled(time)]
        nursery.cancel_scope.cancel()
        await running.abort()
    assert (found, sorted(waited)) == (expected, expected)


async def test_every_sink_counts():
    """Of several sinks, the slowest decides."""

    locations, stuck = [], trio.Event()

    @ps.sink
    async def slow(upstream, ctx):
        async for batch in ctx.batches(upstream):
            if batch.time == 2:
                await stuck.wait()

    pipeline = ps.pipe(Steered(locations, 5), ps.tee(ps.drain(), slow(), capacity=100))
    async with pipeline.open() as running:
        await trio.testing.wait_all_tasks_blocked()
        before = [time for time in range(6) if locations[0].fulfilled(time)]
        stuck.set()
        await locations[0].until_fulfilled(4)
        after = [time for time in range(6) if locations[0].fulfilled(time)]
        await running.abort()
    assert (before, after) == ([0, 1], [0, 1, 2, 3, 4])


async def test_after_a_stamp_all_is_fulfilled_at_the_end():
    locations = []
    pipeline = ps.pipe(Steered(locations, 3, ends=True), ps.map_time(lambda _: 0), ps.stamp_epochs(1), ps.collect())
    async with pipeline.open() as running:
        await trio.testing.wait_all_tasks_blocked()
        await locations[0].until_fulfilled(0)
        assert await running.result() == [0, 1, 2]
        assert locations[0].fulfilled(99)


@pytest.mark.parametrize("ending", [ValueError, ps.errors.Abandoned])
async def test_a_wait_raises_when_the_run_ends_otherwise(ending, autojump_clock):
    locations, seen = [], []

    async def check(n):
        if n == 3 and ending is ValueError:
            await trio.sleep(1)
            raise ValueError("no 3")

    async def wait():
        seen.append(await answer(locations[0].until_fulfilled, 3))

    source = Steered(locations, 5 if ending is ValueError else 3)
    with pytest.raises(ending) as caught:
        async with ps.pipe(source, ps.map_async(check, 1), ps.drain()).open() as running:
            await trio.testing.wait_all_tasks_blocked()
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                await trio.testing.wait_all_tasks_blocked()
                await (running.wait() if ending is ValueError else running.abort())
            await running.result()
    assert [type(exc) for exc in seen] == [ending]
    assert ending is ps.errors.Abandoned or seen == [caught.value]


async def test_an_inner_stream_cannot_wait_for_sinks():
    locations, seen = [], []

    async def ask(n):
        with pytest.raises(ps.PullstreamError, match="inside another module"):
            await locations[0].until_fulfilled(0)
        seen.append(locations[0].fulfilled(0))

    inner = ps.retry(Steered(locations, 1, ends=True), 1)
    await ps.arun(ps.pipe(inner, ps.map_async(ask, 1), ps.drain()))
    assert seen == [False]


def test_a_stall_names_the_pending_wait():
    @ps.source
    class Waiting(ps.authoring.Kernel[int]):
        given = False

        async def produce(self, limit):
            if not self.given:
                self.given = True
                return ps.Batch(0, [1])
            await self.location.until_fulfilled(0)
            return ps.DONE

    with pytest.raises(ps.StalledError, match=r"everything that 0 leads to is complete. Blocked by:\n +Waiting may"):
        ps.run(ps.pipe(Waiting(), ps.delay(1), ps.drain()))


def test_the_last_time_is_after_every_other():
    assert LAST >= LAST  # noqa: PLR0124
    assert LAST > 5
    assert not LAST <= 5
    assert not LAST > LAST  # noqa: PLR0124
    assert (1, LAST) <= (2, 0)
    assert not (1, LAST) >= (2, 0)
    assert len({LAST, LAST}) == 1

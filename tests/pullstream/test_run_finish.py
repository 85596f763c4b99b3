"""`running.finish()`: the sources stop, and values in flight complete."""

import pytest
import trio

import pullstream as ps
from pullstream.authoring import WAIT, PolledKernel
from pullstream.conformance.ready import resolved
from tests.pullstream.common import after


@ps.source
async def generated(ctx, probe, count, *, delay, timed):
    """The source of the other tests, written as a generator."""
    probe.acquired += 1
    try:
        for number in range(count):
            probe.asked.append(ctx.limit)
            await trio.sleep(delay)
            yield ps.Batch(number, [number])
    finally:
        probe.released += 1


@pytest.mark.parametrize("kind", ["kernel", "generator"])
@pytest.mark.parametrize("limit", [1, 7])
async def test_values_in_flight_complete(kind, limit, counting, probe, autojump_clock):
    source = (counting if kind == "kernel" else generated)(probe, 1000, delay=1.0, timed=True)
    counting_up = ps.reduce_by_key(ps.Fold(int, lambda n, _: n + 1), key=lambda n: "all")
    async with ps.pipe(source, ps.map_async(after(10), 2), counting_up, ps.collect(timed=True)).open(
        limit=limit
    ) as running:
        await trio.sleep(25.5)
        asked = len(probe.asked)
        assert not probe.released
        await running.finish()
        result = await running.result()
        await running.progress.completed(10**9)
    assert len(probe.asked) == asked
    assert probe.balanced
    assert result == [(time, ("all", 1)) for time in range(len(result))]
    assert len(result) >= 2


def waiting(added):
    """A merge that waits for sources."""
    merged = ps.dynamic_merge()
    merged.add(*[ps.interval(1) for _ in range(added)])
    return merged


@ps.source
class NeverReady(PolledKernel):
    def poll(self, limit):
        return WAIT

    async def wait(self):
        await trio.sleep_forever()


@pytest.mark.parametrize(
    ("source", "moment", "found"),
    [
        pytest.param(ps.interval(1000), 2500, [0, 1], id="a source that waits"),
        # It ends after the whole pairs: neither source is itself shorter than the other.
        pytest.param(
            ps.zip(ps.interval(2), ps.interval(3), mode="strict"), 8.5, [(0, 0), (1, 1)], id="sources of one length"
        ),
        pytest.param(waiting(0), 2.5, [], id="a merge of no sources"),
        pytest.param(waiting(2), 2.5, [0, 0, 1, 1], id="a merge of sources"),
        pytest.param(ps.retry(ps.fail(OSError("busy")), delay=100), 2.5, [], id="a delay between attempts"),
        pytest.param(ps.retry(ps.pipe(ps.interval(1), ps.batch(9)), delay=100), 2.5, [[0, 1]], id="an attempt"),
        pytest.param(ps.deferred("source"), 2.5, [], id="a source that is not known"),
        pytest.param(resolved("source", ps.pipe(ps.interval(1), ps.batch(9))), 2.5, [[0, 1]], id="a decided source"),
        pytest.param(NeverReady(), 2.5, [], id="a wait of its own"),
    ],
)
async def test_waits_end_at_once(source, moment, found, autojump_clock):
    async with ps.pipe(source, ps.map(lambda value: value), ps.collect()).open() as running:
        await trio.sleep(moment)
        with trio.fail_after(0.4):
            await running.finish()
            assert await running.result() == found


@pytest.mark.parametrize("stop", ["finish", "abort"])
async def test_only_open_runs_can_be_stopped_and_have_progress(stop):
    running = ps.pipe(ps.values("ab"), ps.collect()).open()
    with pytest.raises(ps.PullstreamError, match="not open"):
        await getattr(running, stop)()
    with pytest.raises(ps.PullstreamError, match="async with"):
        running.progress.frontier()
    async with running:
        assert await running.result() == ["a", "b"]


async def test_an_inner_stream_opened_later_is_empty(autojump_clock):
    @ps.source
    async def ticks(ctx, name):
        while True:
            await trio.sleep(1)
            yield name

    inner = ps.pipe(ps.values("abc"), ps.map(ticks), ps.flatten())
    pipeline = ps.pipe(ps.values([inner, inner]), ps.flatten(), ps.collect())
    with trio.fail_after(100):
        async with pipeline.open() as running:
            await trio.sleep(2.5)
            await running.finish()
            assert await running.result() == ["a", "a"]

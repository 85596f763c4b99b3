"""What happens when nothing in a run can move any more: it fails at once, and says why."""

import pytest
import trio

import pullstream as ps


def timed(*times):
    return ps.values(times, time=lambda time: time)


async def awaiting(upstream, ctx, running):
    """The classic: it waits for the completion of the batch that it still has in hand."""
    async for batch in ctx.batches(upstream):
        await running[0].progress.completed(batch.time)


async def slow(n):
    await trio.sleep(1)


async def fate(pipeline, running):
    with trio.fail_after(100):
        async with pipeline.open() as running[0]:
            return await running[0].result()


class Box(list):
    """Where a sink finds the run that it is part of."""

    def __setitem__(self, _, value):
        super().__setitem__(slice(None), [value])


@pytest.mark.parametrize(
    "between",
    [
        ps.map(str),
        ps.map_async(slow, 2),
        ps.map_async(slow, 2, ordered=False),
        ps.reduce_by_key(str, ps.Fold(int, lambda n, _: n + 1)),
        ps.take_times(3),
        ps.batch(2),
    ],
    ids=lambda blueprint: blueprint.modules[0].name,
)
async def test_the_classic_is_named(between, autojump_clock):
    """A sink that awaits its own batch's completion is told so, whatever is above it."""
    running = Box()
    pipeline = ps.pipe(timed(1, 2, 3), between, ps.sink(awaiting)(running))
    with pytest.raises(ps.StalledError) as caught:
        await fate(pipeline, running)
    text = str(caught.value)
    assert "awaiting, composed at" in text
    assert "test_stalls.py" in text
    assert "waits until 1 is complete" in text
    assert "awaiting has not acknowledged a batch at 1, which is the one that waits" in text


async def test_acknowledging_first_helps(autojump_clock):
    """The same sink, after an ack, sees every time complete."""
    seen = []

    @ps.sink
    async def patient(upstream, ctx, running):
        async for batch in ctx.batches(upstream):
            upstream.ack()
            if seen and batch.time > seen[-1]:
                await running[0].progress.completed(seen[-1])
            seen.append(batch.time)

    running = Box()
    await fate(ps.pipe(timed(1, 2, 3), patient(running)), running)
    assert seen == [1, 2, 3]


async def test_a_slow_world_is_no_stall(autojump_clock):
    """While a clock, a disk or a handle may still bring something, nothing is stalled."""

    async def slowly(n):
        await trio.sleep(1000)
        return n

    @ps.transformer
    async def late(upstream, ctx):
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time, _):
                    ctx.notify_at(time)
                    await trio.sleep(1000)
                case ps.Completed(time):
                    await trio.sleep(1000)
                    yield ps.Batch(time, [time])

    pipeline = ps.pipe(timed(1, 2), ps.map_async(slowly, 1), late(), ps.map_async(slowly, 2), ps.collect())
    async with pipeline.open() as running:
        assert await running.result() == [1, 2]


async def test_tasks_of_a_sink_count(autojump_clock):
    """A sink's own task that sleeps may still do something; once it only waits inside as well, all is lost."""

    @ps.sink
    async def two(upstream, ctx, running):
        batch = await upstream.ask()

        async def work():
            await trio.sleep(50)
            await running[0].progress.completed(batch.time)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            nursery.start_soon(work)

    running = Box()
    began = trio.current_time()
    with pytest.raises(ExceptionGroup) as caught:
        await fate(ps.pipe(ps.count(), two(running)), running)
    first, second = caught.value.exceptions
    assert first is second
    assert isinstance(first, ps.StalledError)
    assert trio.current_time() - began == 50


async def test_a_stall_releases_everything(counting, probe, autojump_clock):
    """What was acquired is released, and whoever waits outside learns of it."""
    running = Box()
    told = []

    async def outside():
        try:
            await running[0].progress.completed(5)
        except ps.StalledError as exc:
            told.append(exc)

    pipeline = ps.pipe(counting(probe, 9, timed=True), ps.sink(awaiting)(running))
    with pytest.raises(ps.StalledError):
        async with pipeline.open() as running[0], trio.open_nursery() as nursery:
            nursery.start_soon(outside)
    assert probe.balanced
    assert probe.acquired == 1
    assert len(told) == 1

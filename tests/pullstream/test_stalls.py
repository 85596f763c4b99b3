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


async def test_a_stream_that_is_paused_is_no_stall(autojump_clock):
    """A handle may be used at any time, however long nothing moves."""
    valve = ps.pausable()
    valve.pause()
    async with ps.pipe(ps.values("abc"), valve, ps.collect()).open() as running:
        await trio.sleep(1000)
        valve.resume()
        assert await running.result() == ["a", "b", "c"]


@ps.transformer
async def stuck(upstream, ctx, running, after=0):
    """Waits, from its batch number `after` on, for what it holds up itself."""
    number = 0
    async for batch in ctx.batches(upstream):
        if number == after:
            await running[0].progress.completed(batch.time)
        number += 1
        yield batch


async def test_below_what_is_stuck_a_deadline_strikes(autojump_clock):
    """A wait that a clock will end is none for ever: it is the timeout that speaks."""
    running = Box()
    with pytest.raises(ps.AskTimeout):
        await fate(ps.pipe(timed(1, 2), stuck(running), ps.timeout(5), ps.collect()), running)


async def test_below_what_is_stuck_a_handle_may_end_the_stream(autojump_clock):
    """Whoever has the handle may use it at any time, and there is no stall before."""
    running, switch = Box(), ps.abortable()
    async with ps.pipe(timed(1, 2), stuck(running, after=1), switch, ps.collect()).open() as running[0]:
        await trio.sleep(50)
        switch.abort()
        assert await running[0].result() == [1]


async def test_what_is_kept_until_a_tick_comes_before_a_stall(autojump_clock):
    """What is due at a tick is given, and then nothing can move any more."""
    running, found = Box(), []
    source = ps.values([1, 2], time=lambda _: 0)
    with pytest.raises(ps.StalledError):
        await fate(
            ps.pipe(source, ps.flat_map(lambda n: [n]), one(), stuck(running, 1), ps.sample(5), ps.drain(found.append)),
            running,
        )
    assert found == [1]


@ps.transformer
async def one(upstream, ctx):
    """Asks for one value at a time."""
    while (batch := await upstream.ask(1)) is not ps.DONE:
        yield batch


async def test_handles_that_nobody_uses_for_long_are_no_stall(autojump_clock):
    """Something may come from a handle at any time, however long nothing does."""
    pushed, later, added, news = ps.pushable(1), ps.deferred("source"), ps.many(), ps.notify(1)

    async def collected(source):
        async with ps.pipe(source, ps.collect()).open() as running:
            return await running.result()

    async def use():
        await trio.sleep(1000)
        await pushed.push(0)
        later.resolve(ps.once(0))
        added.add(ps.once(0))
        await news.send(0)
        await trio.sleep(1000)
        pushed.end()
        added.cap()
        news.end()

    results = []
    async with trio.open_nursery() as nursery:
        for source in (pushed, later, added, news.listen()):

            async def read(source=source):
                results.append(await collected(source))

            nursery.start_soon(read)
        nursery.start_soon(use)
    assert results == [[0]] * 4


@pytest.mark.parametrize("check", [False, True])
def test_a_stall_is_noticed_by_run_as_well(check):
    """What waits for Ctrl-C, or for a violation, is nothing that could move the stream."""

    pool = ps.lend(ps.filter(lambda n: n % 2))
    with pytest.raises(ps.StalledError):
        ps.run(ps.pipe(ps.values(range(8)), pool, ps.collect()), check=check)


@pytest.mark.parametrize("hops", range(0, 30, 3))
async def test_what_is_being_aborted_is_not_stalled(hops, autojump_clock):
    """A task that a cancellation is on its way to will move, though it has not been woken yet."""

    @ps.source
    async def slowly(ctx):
        for n in range(9):
            await trio.sleep(0.1)
            yield n

    stages = ps.pipe(ps.throttle(0.2), ps.prefetch(2), ps.flatten(width=2))
    pipeline = ps.pipe(slowly(), ps.map(lambda n: ps.values([n])), stages, ps.drain())
    async with pipeline.open() as running:
        for _ in range(hops):
            await trio.lowlevel.checkpoint()
        await running.abort()
        with pytest.raises(ps.Abandoned):
            await running.result()


async def test_who_waits_with_a_deadline_is_not_stalled(autojump_clock):
    """A sink that gives up asking after a while will move, whatever is stuck above it."""

    @ps.sink
    async def impatient(upstream, ctx):
        with trio.move_on_after(3):
            await upstream.ask()
        return "gave up"

    stuck = ps.limit(ps.filter(lambda n: n > 1), 1)
    pipeline = ps.pipe(ps.values(range(3)), stuck, impatient())
    assert await fate(pipeline, Box()) == "gave up"

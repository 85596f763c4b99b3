"""Nurseries in modules: a task's exception arrives unchanged, and a nursery around a `yield` closes cleanly."""

from contextlib import suppress

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen


async def fails(delay=0.0):
    await trio.sleep(delay)
    raise Unseen


async def reads_ahead(ctx=None):
    """A nursery around its yield, as is usual for reading ahead."""
    send, receive = trio.open_memory_channel(0)

    async def read():
        async with send:
            for n in range(5):
                await send.send(n)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        async for value in receive:
            yield value


async def task_fails(ctx, delay):
    """A background task fails while the generator is suspended at its yield, or while it works."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fails, delay)
        for n in range(5):
            yield n
            await trio.sleep(1)


@ps.source
class InProduce(ps.authoring.Kernel):
    async def produce(self, limit):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(fails)
        return ps.DONE


@ps.sink
async def in_a_sink(upstream, ctx):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(fails)
        await trio.sleep_forever()


@ps.transformer
async def asks_in_a_nursery(upstream, ctx):
    got = []

    async def ask():
        got.append(await upstream.ask())

    while True:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
        if got[-1] is ps.DONE:
            return
        yield got[-1]


@pytest.mark.parametrize("source", [ps.source(reads_ahead), lambda: ps.from_async_iterable(reads_ahead())])
@pytest.mark.parametrize("number", [0, 1, 3, 9])
def test_a_nursery_around_a_yield_closes_cleanly(source, number):
    """However early it is ended: the GeneratorExit that its nursery wraps is not a failure."""
    assert ps.run(ps.pipe(source(), ps.take(number), ps.collect()), check=True) == list(range(min(number, 5)))


@pytest.mark.parametrize(
    "source", [ps.source(task_fails), lambda delay: ps.from_async_iterable(task_fails(None, delay))]
)
@pytest.mark.parametrize(("delay", "expected"), [(0.5, [0]), (1.4, [0, 1])], ids=["at work", "suspended"])
async def test_a_task_that_fails_beside_a_yield_fails_the_stream(source, delay, expected, autojump_clock):
    seen = []

    async def slowly(value):
        seen.append(value)
        await trio.sleep(0.3)

    with pytest.raises(Unseen):
        await ps.arun(ps.pipe(source(delay), ps.map_async(slowly, concurrency=1), ps.drain()), check=True)
    assert seen == expected


@ps.sink
async def asks_later(upstream, ctx, limit=1):
    """Asks once, and for the rest half a second after a scope around the generator's yield was cancelled."""
    got = [*(await upstream.ask(limit)).values]
    await trio.sleep(1.5)
    while (batch := await upstream.ask(limit)) is not ps.DONE:
        got += batch.values
    return got


@ps.source
async def closes_slowly(ctx):
    """Its nursery, in which a task fails while the generator is suspended, takes a second to close."""

    async def lingers():
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(lingers)
        nursery.start_soon(fails, 1)
        yield 0


@ps.source
async def continues(ctx):
    """After a cancelled scope it cleans up for a second, and then waits."""
    with trio.move_on_after(1):
        try:
            yield 0
        finally:
            with trio.CancelScope(shield=True):
                await trio.sleep(1)
    await trio.sleep_forever()


@ps.source
async def shields_all(ctx):
    """Its work on a value must not be cut short; it also yields inside the shield."""
    with trio.CancelScope(shield=True):
        while True:
            await trio.sleep(2)
            yield 0


async def test_an_ask_during_the_close_of_a_nursery_is_answered(autojump_clock):
    with pytest.raises(Unseen):
        await ps.arun(ps.pipe(closes_slowly(), asks_later()))


@ps.source
class TwoTasks(ps.authoring.Kernel):
    async def produce(self, limit):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            nursery.start_soon(trio.sleep_forever)


async def test_a_cancelled_ask_raises_one_cancellation_not_a_group(autojump_clock):
    raised = []

    @ps.sink
    async def in_time(upstream, ctx):
        with trio.move_on_after(1):
            try:
                await upstream.ask()
            except BaseException as exc:
                raised.append(exc)
                raise

    await ps.arun(ps.pipe(TwoTasks(), in_time()))
    assert [type(exc) for exc in raised] == [trio.Cancelled]


@pytest.mark.parametrize("source", [closes_slowly, continues, shields_all])
async def test_an_abort_waits_for_a_scope_around_a_yield(source, autojump_clock):
    with suppress(Unseen):
        async with ps.pipe(source(), asks_later()).open() as running:
            await trio.sleep(1.25)
            await running.abort()
    assert trio.current_time() == 2


@ps.source
async def around_the_first(ctx, given):
    """The scope ends while the first batch has been answered."""
    with trio.move_on_after(1):
        yield given(0)
    await trio.sleep(1)
    for n in (1, 2, 3):
        yield given(n)


@ps.source
async def around_one_more(ctx, given):
    """The scope ends while a batch is prepared ahead of an ask, unless the machine is slow."""
    with trio.move_on_after(1):
        yield given(0)
        await trio.sleep(0.5)
        yield given(1)
    yield given(2)
    yield given(3)


@pytest.mark.parametrize(("source", "limit"), [(around_the_first, 1), (around_one_more, 3)])
async def test_nothing_is_lost_after_a_cancelled_scope_around_a_yield(source, limit, autojump_clock):
    numbers = []

    def given(n):
        numbers.append(n)
        return ps.Batch(0, [n])

    assert await ps.arun(ps.pipe(source(given), asks_later(limit))) == numbers
    assert numbers[-2:] == [2, 3]


@pytest.mark.parametrize(
    "pipeline",
    [
        ps.pipe(InProduce(), ps.collect()),
        ps.pipe(ps.values([1, 2]), in_a_sink()),
        ps.pipe(InProduce(), asks_in_a_nursery(), ps.collect()),
    ],
)
def test_a_task_s_exception_arrives_unchanged(pipeline):
    """A group of one is unwrapped, for callers and for the rules: the same object goes upstream and downstream."""
    with pytest.raises(Unseen) as caught:
        ps.run(pipeline, check="strict")
    assert any("raised in" in note for note in caught.value.__notes__)

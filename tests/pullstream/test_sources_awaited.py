"""from_async_iterable, from_awaitable, from_channel, interval."""

import gc
import warnings

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import Unseen, finish


class Numbers:
    """An async iterable that can be read again and again."""

    def __init__(self, count):
        self.count = count

    async def __aiter__(self):
        for n in range(self.count):
            await trio.sleep(0.1)
            yield n


async def test_an_async_iterable_is_reusable(limit, autojump_clock):
    pipeline = ps.pipe(ps.from_async_iterable(Numbers(4), time=lambda n: n // 2), ps.collect(timed=True))
    for _ in range(2):
        assert await ps.arun(pipeline, limit=limit) == [(0, 0), (0, 1), (1, 2), (1, 3)]


class Unclosable:
    """An async iterator that cannot be closed."""

    def __aiter__(self):
        return self

    async def __anext__(self):
        await trio.lowlevel.checkpoint()
        return 1

    async def aclose(self):
        raise Unseen


@pytest.mark.parametrize("count", [0, 2])
async def test_an_async_iterator_is_read_once(count):
    pipeline = ps.pipe(ps.from_async_iterable(Unclosable()), ps.take(count), ps.collect())
    with pytest.raises(Unseen):
        await ps.arun(pipeline)
    with pytest.raises(ps.errors.ReuseError, match="from_async_iterable"):
        await ps.arun(pipeline)


async def test_from_awaitable(autojump_clock):
    """A function is called by every run; a coroutine can be awaited by one."""
    calls = []

    async def answer():
        calls.append(trio.current_time())
        await trio.sleep(1)
        return 42

    pipeline = ps.pipe(ps.from_awaitable(answer, time=str), ps.collect(timed=True))
    for _ in range(2):
        async with pipeline.open() as running:
            assert await running.result() == [("42", 42)]
    assert len(calls) == 2

    pipeline = ps.pipe(ps.from_awaitable(answer()), ps.collect())
    assert await ps.arun(pipeline) == [42]
    with pytest.raises(ps.errors.ReuseError, match="from_awaitable"):
        async with pipeline.open():
            pass


async def test_an_awaitable_is_cancelled(edge, autojump_clock):
    cancelled = []

    async def slow():
        try:
            await trio.sleep_forever()
        except trio.Cancelled:
            cancelled.append(True)
            raise

    async with edge(ps.from_awaitable(slow)) as reader, trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask)
        await trio.sleep(1)
        await reader.abort()
    assert cancelled == [True]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        async with edge(ps.from_awaitable(slow())) as reader:
            await reader.abort()
        gc.collect()


async def test_from_channel(limit, autojump_clock):
    send, receive = trio.open_memory_channel(100)
    for n in range(10):
        send.send_nowait(n)
    pipeline = ps.pipe(ps.from_channel(receive, time=lambda n: n // 4), ps.collect(timed=True))
    async with pipeline.open(limit=limit) as running:
        await trio.sleep(1)
        await send.send(10)
        send.close()
        assert await running.result() == [(n // 4, n) for n in range(11)]


async def test_a_channel_is_read_only_as_asked(edge, autojump_clock):
    send, receive = trio.open_memory_channel(5)
    for n in range(5):
        send.send_nowait(n)
    async with edge(ps.from_channel(receive)) as reader:
        assert (await reader.ask(2)).values == [0, 1]
        assert send.statistics().current_buffer_used == 3
        assert (await reader.ask(9)).values == [2, 3, 4]
        with trio.move_on_after(1):
            await reader.ask()
        with pytest.raises(trio.BrokenResourceError):
            await send.send(1)


@pytest.mark.parametrize("how", ["abort", "never asked", "end"])
async def test_a_channel_is_closed(how, edge, autojump_clock):
    send, receive = trio.open_memory_channel(5)
    async with edge(ps.from_channel(receive)) as reader:
        send.send_nowait(1)
        if how == "end":
            send.close()
        await finish(reader, how)
    with pytest.raises(trio.ClosedResourceError):
        receive.receive_nowait()


async def test_interval(edge, autojump_clock):
    """At multiples, without drift; a slow consumer gets no burst, but the next number."""
    async with edge(ps.interval(2, time=lambda n: n)) as reader:
        start = trio.current_time()
        ticks = []

        async def tick():
            batch = await reader.ask(7)
            ticks.append((round(trio.current_time() - start, 6), batch.time, *batch.values))

        await tick()
        await trio.sleep(1.5)
        await tick()
        await trio.sleep(5)
        await tick()
        await trio.sleep(2)
        await tick()
        assert ticks == [(2, 0, 0), (4, 1, 1), (10, 2, 2), (12, 3, 3)]

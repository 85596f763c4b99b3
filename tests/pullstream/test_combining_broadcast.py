"""`broadcast`: listeners come and go, a slow one holds up or loses, and nobody is remembered who has left."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

import pullstream as ps
from tests.pullstream.common import answer

pytestmark = [pytest.mark.usefixtures("schedule"), pytest.mark.sampled(8)]


@ps.sink
async def slowly(upstream, ctx, pause=1.0):
    seen = []
    async for batch in ctx.batches(upstream):
        await trio.sleep(pause)
        seen.extend(batch.values)
    return seen


def listening(source, *parts, limit):
    return ps.pipe(source, *parts, ps.collect(timed=True)).open(limit=limit, check="strict")


async def test_the_slowest_holds_up(limit, autojump_clock):
    """All get everything, at its times; `send` waits until the slowest has room, who is at most the capacity behind."""
    news = ps.broadcast(4)
    sent = []

    async with (
        ps.pipe(news.listen(), slowly()).open(limit=limit) as slow,
        listening(news.listen(), limit=limit) as fast,
    ):
        await wait_all_tasks_blocked()
        for n in range(12):
            await news.send(n, n // 3)
            sent.append((trio.current_time(), n))
        news.end()
        assert await slow.result() == [*range(12)]
        assert await fast.result() == [(n // 3, n) for n in range(12)]
    # It takes a second for each batch, which holds what there is room for at most.
    assert sent[-1][0] - sent[0][0] >= (12 - 2 * 4) / min(limit, 4)


async def test_the_slowest_loses_the_oldest(limit, autojump_clock):
    """With "drop" nobody is held up, and who is behind has the latest values; its counter says how many it lost."""
    news = ps.broadcast(4, overflow="drop_oldest")

    async with ps.pipe(news.listen(), slowly()).open(limit=limit) as slow:
        await wait_all_tasks_blocked()
        await news.send(-1)
        await trio.sleep(0.5)
        began = trio.current_time()
        for n in range(12):
            await news.send(n)
        assert trio.current_time() == began
        news.end()
        assert await slow.result() == [-1, 8, 9, 10, 11]
        assert slow.counters()[0].skipped == 8


async def test_a_listener_that_leaves_is_forgotten(limit, autojump_clock):
    """However it leaves; a sender that waits for it waits no more."""
    news = ps.broadcast(2)

    async with listening(news.listen(), ps.take(3), limit=limit) as taking:
        async with ps.pipe(news.listen(), slowly(1e6)).open(limit=limit) as stuck:
            await wait_all_tasks_blocked()
            assert news.listeners == 2
            async with trio.open_nursery() as nursery:

                @nursery.start_soon
                async def sender():
                    for n in range(10):
                        await news.send(n)

                await trio.sleep(5)
                await stuck.abort()
            assert news.listeners == 0
        assert [n for _, n in await taking.result()] == [0, 1, 2]


async def test_cancelled_send(limit, autojump_clock):
    """Whoever has room does not get what was cancelled while another had none: all or nobody."""
    news = ps.broadcast(1)

    async with listening(news.listen(), limit=limit) as fast, ps.pipe(news.listen(), slowly(10)).open() as slow:
        await wait_all_tasks_blocked()
        for n in range(10):
            with trio.move_on_after(7):
                await news.send(n)
        news.end()
        seen = await slow.result()
        assert [n for _, n in await fast.result()] == seen
    assert seen[:2] == [0, 1]
    assert len(seen) < 10


@pytest.mark.parametrize("failure", [None, ValueError("off the air")], ids=str)
@pytest.mark.parametrize("waiting", [False, True])
async def test_end_and_fail(limit, waiting, failure, autojump_clock):
    """What was sent before, or waits to be, comes before the end, or before the failure, which is the same for all."""
    news, numbers = ps.broadcast(2), range(2 + waiting * 3)

    async with ps.pipe(news.listen(), slowly()).open(limit=limit) as one, trio.open_nursery() as nursery:
        await wait_all_tasks_blocked()
        for n in numbers:
            nursery.start_soon(news.send, n)
            await wait_all_tasks_blocked()
        news.end() if failure is None else news.fail(failure)
        news.fail(ValueError("too late"))
        with pytest.raises(ps.errors.Ended, match=r"broadcast, made at .*test_combining_broadcast.py"):
            await news.send(3)
        assert await answer(one.result) == (failure or [*numbers])
    async with listening(news.listen(), limit=limit) as late:
        assert await answer(late.result) == (failure or [])


async def test_end_after_a_send_that_was_cancelled(limit, autojump_clock):
    """A listener that waits hears of the end as soon as nothing is being sent any more."""
    news = ps.broadcast(1)

    async with listening(news.listen(), limit=limit) as fast, ps.pipe(news.listen(), slowly(50)).open() as slow:
        await wait_all_tasks_blocked()
        for n in range(2):
            await news.send(n)
        with trio.move_on_after(5):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(news.send, 2)
                await wait_all_tasks_blocked()
                news.end()
        with trio.fail_after(1):
            assert [n for _, n in await fast.result()] == [0, 1]
        assert await slow.result() == [0, 1]


async def test_the_end_completes_what_no_listener_keeps(autojump_clock):
    """Without a further ask: the last value is acknowledged, and nothing more can come."""
    news = ps.broadcast(2)

    @ps.sink
    async def one_value(upstream, ctx):
        await upstream.ask()
        upstream.ack()
        await trio.sleep_forever()

    async with ps.pipe(news.listen(), one_value()).open() as running:
        await wait_all_tasks_blocked()
        await news.send("a", 1)
        await wait_all_tasks_blocked()
        news.end()
        with trio.fail_after(1):
            await running.progress.completed(1, at="listen")
        await running.abort()


async def test_completions(limit, autojump_clock):
    """A time is complete when what came at it is worked off, and nothing more can; `advance` says so sooner."""
    news = ps.broadcast(9)
    told = []

    async with ps.pipe(news.listen(), slowly()).open(limit=limit, check="strict") as one:

        async def wait(time):
            await one.progress.completed(time)
            told.append((time, trio.current_time()))

        async with trio.open_nursery() as nursery:
            for time in range(4):
                nursery.start_soon(wait, time)
            await wait_all_tasks_blocked()
            began = trio.current_time()
            await news.send("a", 0)
            await news.send("b", 1)
            await trio.sleep(10)
            assert [time for time, _ in told] == [0]
            news.advance(3)
            await wait_all_tasks_blocked()
            assert {time for time, _ in told} == {0, 1, 2}
            with pytest.raises(ps.errors.CapabilityError, match="cannot send 2 after 3"):
                await news.send("c", 2)
            news.end()
    assert told[0][1] - began == 1

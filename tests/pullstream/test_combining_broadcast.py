"""`broadcast`: listeners come and go, a slow one delays the sender or loses values, and one that left is forgotten."""

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

import pullstream as ps
from tests.pullstream.common import answer, kept

pytestmark = [pytest.mark.usefixtures("schedule"), pytest.mark.sampled(8)]


def slowly(source, pause=1.0):
    return ps.pipe(source, kept([], pause=pause))


def listening(source, *parts, limit):
    return ps.pipe(source, *parts, ps.collect(timed=True)).open(limit=limit, check="strict")


async def test_send_awaits_slowest(limit, autojump_clock):
    """All get every value at its time; `send` waits for the slowest listener, which is at most the capacity behind."""
    news = ps.broadcast(4)
    sent = []

    async with (
        slowly(news.listen()).open(limit=limit) as slow,
        listening(news.listen(), limit=limit) as fast,
    ):
        await wait_all_tasks_blocked()
        for n in range(12):
            await news.send(n, n // 3)
            sent.append((trio.current_time(), n))
        news.end()
        assert await slow.result() == [*range(12), "done"]
        assert await fast.result() == [(n // 3, n) for n in range(12)]
    # It takes a second for each batch, and a batch holds at most the capacity.
    assert sent[-1][0] - sent[0][0] >= (12 - 2 * 4) / min(limit, 4)


async def test_slow_listeners_lose_oldest(limit, autojump_clock):
    """No one waits; a slow listener gets the latest values, and its counter says how many it lost."""
    news = ps.broadcast(4, overflow="drop_oldest")

    async with slowly(news.listen()).open(limit=limit) as slow:
        await wait_all_tasks_blocked()
        await news.send(-1)
        await trio.sleep(0.5)
        began = trio.current_time()
        for n in range(12):
            await news.send(n)
        assert trio.current_time() == began
        news.end()
        assert await slow.result() == [-1, 8, 9, 10, 11, "done"]
        assert slow.counters()[0].skipped == 8


async def test_a_listener_that_leaves_is_forgotten(limit, autojump_clock):
    """However it leaves, and a sender stops waiting for it."""
    news = ps.broadcast(2)

    async with listening(news.listen(), ps.take(3), limit=limit) as taking:
        async with slowly(news.listen(), 1e6).open(limit=limit) as stuck:
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
    """A listener with room does not get a value if its send was cancelled while another had none: all or none."""
    news = ps.broadcast(1)

    async with listening(news.listen(), limit=limit) as fast, slowly(news.listen(), 10).open() as slow:
        await wait_all_tasks_blocked()
        for n in range(10):
            with trio.move_on_after(7):
                await news.send(n)
        news.end()
        *seen, _ = await slow.result()
        assert [n for _, n in await fast.result()] == seen
    assert seen[:2] == [0, 1]
    assert len(seen) < 10


@pytest.mark.parametrize("failure", [None, ValueError("off the air")], ids=str)
@pytest.mark.parametrize("waiting", [False, True])
async def test_end_and_fail(limit, waiting, failure, autojump_clock):
    """Values sent before, or waiting to be sent, precede the end or the failure, which is the same for all."""
    news, numbers = ps.broadcast(2), range(2 + waiting * 3)

    async with slowly(news.listen()).open(limit=limit) as one, trio.open_nursery() as nursery:
        await wait_all_tasks_blocked()
        for n in numbers:
            nursery.start_soon(news.send, n)
            await wait_all_tasks_blocked()
        news.end() if failure is None else news.fail(failure)
        news.fail(ValueError("too late"))
        with pytest.raises(ps.errors.Ended, match=r"broadcast, made at .*test_combining_broadcast.py"):
            await news.send(3)
        assert await answer(one.result) == (failure or [*numbers, "done"])
    async with listening(news.listen(), limit=limit) as late:
        assert await answer(late.result) == (failure or [])


async def test_end_after_a_cancelled_send(limit, autojump_clock):
    """A waiting listener gets the end as soon as no send is pending."""
    news = ps.broadcast(1)

    async with listening(news.listen(), limit=limit) as fast, slowly(news.listen(), 50).open() as slow:
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
        assert await slow.result() == [0, 1, "done"]


async def test_the_end_completes_acknowledged_times(autojump_clock):
    """Without a further ask: the last value is acknowledged, and no more can arrive."""
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
    """A time is complete when its values are acknowledged and no more can arrive; `advance` says so sooner."""
    news = ps.broadcast(9)
    completed = []

    async with slowly(news.listen()).open(limit=limit, check="strict") as one:

        async def wait(time):
            await one.progress.completed(time)
            completed.append((time, trio.current_time()))

        async with trio.open_nursery() as nursery:
            for time in range(4):
                nursery.start_soon(wait, time)
            await wait_all_tasks_blocked()
            began = trio.current_time()
            await news.send("a", 0)
            await news.send("b", 1)
            await trio.sleep(10)
            assert [time for time, _ in completed] == [0]
            news.advance(3)
            await wait_all_tasks_blocked()
            assert {time for time, _ in completed} == {0, 1, 2}
            with pytest.raises(ps.errors.CapabilityError, match="cannot send 2 after 3"):
                await news.send("c", 2)
            async with ps.pipe(news.listen(), ps.drain()).open(limit=limit) as late:
                with trio.fail_after(1):
                    await late.progress.completed(2)
                news.end()
    assert completed[0][1] - began == 1

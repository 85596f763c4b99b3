"""The bridge to asyncio: real asyncio primitives, unchanged exceptions, cancellation both ways, loops in order."""

import asyncio
import contextvars
import functools
import threading
import time
from contextlib import suppress

import pytest
import trio

import pullstream as ps
from pullstream import asyncio_bridge
from tests.programs import until
from tests.pullstream.common import Unseen, finish, until_failure


def bridge_threads():
    return [thread for thread in threading.enumerate() if thread.name == "pullstream asyncio"]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    yield
    assert bridge_threads() == []


async def double(n):
    await asyncio.sleep(0.001)
    return 2 * n


async def test_calls_run_side_by_side_in_one_loop():
    threads = set()
    barrier = asyncio.Barrier(4)

    async def meet(_):
        threads.add(threading.current_thread())
        await barrier.wait()

    pipeline = ps.pipe(ps.values(range(8)), ps.map_async(ps.asyncio_call(meet), 4), ps.reduce(lambda n, _: n + 1, 0))
    with trio.fail_after(300):
        async with pipeline.open() as one, pipeline.open() as two:
            assert (await one.result(), await two.result()) == (8, 8)
    assert threads == set(bridge_threads())
    assert len(threads) == 1
    assert await ps.asyncio_call(double)(n=4) == 8


async def fails(n):
    await asyncio.sleep(0)
    raise Unseen(n)


async def cancels_itself(_):
    asyncio.current_task().cancel()
    await asyncio.sleep(1)


async def exits(_):
    raise SystemExit(3)


@pytest.mark.parametrize(
    ("function", "error"),
    [(fails, Unseen), (cancels_itself, asyncio.CancelledError), (exits, SystemExit), (lambda n: n, TypeError)],
)
def test_exceptions_arrive_unchanged(function, error, counting, probe):
    function = ps.asyncio_call(function)

    async def at_three(n):
        return await function(n) if n == 3 else n

    got, failure = until_failure(error, ps.pipe(counting(probe, 1000), ps.map_async(at_three, 2)))
    assert got == [0, 1, 2]
    assert probe.reasons == [failure]
    assert any("test_sources_asyncio" in note for note in failure.__notes__)


async def test_a_cancellation_cancels_the_task_and_waits_for_it():
    happened = []

    async def slow():
        try:
            happened.append("begun")
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.02)
            happened.append("cleaned")

    async def raises():
        try:
            happened.append("begun again")
            await asyncio.sleep(60)
        finally:
            raise Unseen

    async def cancelled(call):
        count = len(happened)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ps.asyncio_call(call))
            await until(lambda: len(happened) > count)
            nursery.cancel_scope.cancel()

    await cancelled(slow)
    assert happened == ["begun", "cleaned"]
    with pytest.raises(ExceptionGroup) as caught:
        await cancelled(raises)
    assert [type(exc) for exc in caught.value.exceptions] == [Unseen]


async def test_an_endless_task_is_abandoned(monkeypatch):
    monkeypatch.setattr(asyncio_bridge, "GRACE", 0.05)
    free = threading.Event()

    async def stubborn():
        while not free.is_set():
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    with trio.move_on_after(0.05) as scope:
        await ps.asyncio_call(stubborn)()
    assert scope.cancelled_caught
    free.set()


variable = contextvars.ContextVar("variable", default="unset")


async def test_context_travels():
    async def look():
        return variable.get()

    variable.set("set")
    assert await ps.asyncio_call(look)() == "set"


def test_a_custom_loop():
    """A run in a thread of an asyncio program can use objects of that program's loop."""

    async def main():
        loop = asyncio.get_running_loop()
        lock, seen = asyncio.Lock(), []
        await lock.acquire()
        loop.call_later(0.02, lock.release)

        async def locked(n):
            async with lock:
                seen.append(asyncio.get_running_loop())
                return n

        future = loop.create_future()
        loop.call_later(0.01, future.set_result, 5)
        calls = ps.map_async(ps.asyncio_call(locked, loop=loop), 2)
        pipeline = ps.pipe(ps.from_asyncio(future, loop=loop), calls, ps.collect())
        assert await asyncio.to_thread(ps.run, pipeline) == [5]
        assert seen == [loop]
        with pytest.raises(ps.PullstreamError, match="runs in this thread"), pytest.warns(RuntimeWarning, match="arun"):
            ps.run(ps.pipe(ps.values([1]), calls, ps.collect()))
        return calls

    calls = asyncio.run(main())
    with pytest.raises(ps.PullstreamError, match="is not running"):
        ps.run(ps.pipe(ps.values([1]), calls, ps.collect()))


async def numbers():
    for n in range(5):
        yield n
        await asyncio.sleep(0)


def test_a_generator_as_source(limit):
    pipeline = ps.pipe(ps.from_asyncio(numbers, time=lambda n: n // 2), ps.collect(timed=True))
    for _ in range(2):
        assert ps.run(pipeline, limit=limit, check="strict") == [(n // 2, n) for n in range(5)]


@pytest.mark.parametrize("how", ["end", "failure", "abort", "error", "abort under way", "cancel", "never asked"])
async def test_closed_once_in_every_ending(how, edge):
    """Before the end is confirmed, whatever it is."""
    record, closed = [], []
    begun, token = trio.Event(), trio.lowlevel.current_trio_token()

    class Source:
        def __aiter__(self):
            return self

        async def __anext__(self):
            token.run_sync_soon(begun.set)
            await asyncio.sleep(60 if "under" in how or how == "cancel" else 0)
            record.append("asked")
            if how == "end" and len(record) > 3:
                raise StopAsyncIteration
            if how == "failure" and len(record) > 3:
                raise Unseen
            return 1

        async def aclose(self):
            await asyncio.sleep(0.01)
            closed.append(True)

    async with edge(ps.from_asyncio(Source)) as reader:
        values = await finish(reader, how, begun)
        assert closed == [True] * (how != "never asked")
    assert values == [1, 1, 1] or how not in ("end", "failure")


def test_awaitables_as_source():
    pipeline = ps.pipe(ps.from_asyncio(functools.partial(double, 4)), ps.collect())
    assert [ps.run(pipeline), ps.run(pipeline)] == [[8], [8]]
    with pytest.raises(Unseen):
        ps.run(ps.pipe(ps.from_asyncio(functools.partial(fails, 1)), ps.collect()))
    with pytest.raises(TypeError, match="returns an awaitable or an async iterable"):
        ps.run(ps.pipe(ps.from_asyncio(lambda: 3), ps.collect()))


@pytest.mark.parametrize("grouped", [False, True], ids=["alone", "in a group"])
async def test_a_late_failure_is_not_a_failed_release(grouped):
    """An exception that asyncio code raises by itself during an abort is too late: nobody asks for it."""
    begun = trio.Event()
    token = trio.lowlevel.current_trio_token()

    async def fail(_):
        await asyncio.sleep(0)
        token.run_sync_soon(begun.set)
        # The loop is busy, so a cancellation comes too late for this task.
        time.sleep(0.1)  # noqa: ASYNC251
        raise OSError("its own")

    async def in_a_group(_):
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(_))
            await asyncio.sleep(60)

    call = ps.asyncio_call(in_a_group if grouped else fail)
    async with ps.pipe(ps.once(1), ps.map_async(call, concurrency=1), ps.drain()).open() as running:
        await begun.wait()
        await running.abort()
    with pytest.raises(ps.errors.Abandoned):
        await running.result()

"""arun: a run awaited by asyncio or by trio; its result, its failure, its cancellation."""

import asyncio
import contextvars
import threading

import pytest
import trio

import pullstream as ps


@ps.source
async def endless(ctx, events):
    events.append("begun")
    try:
        yield 1
        await trio.sleep_forever()
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(0.01)
        events.append("released")


async def until(events, what):
    while what not in events:  # noqa: ASYNC110 - another thread adds them
        await asyncio.sleep(0.001)


def threads():
    return [thread for thread in threading.enumerate() if thread.name == "pullstream arun"]


def test_the_loop_keeps_running():
    """Several runs are awaited at once, beside other work of the program."""

    async def main():
        given = asyncio.Event()
        loop = asyncio.get_running_loop()

        def give(_):
            loop.call_soon_threadsafe(given.set)

        first = asyncio.create_task(ps.arun(ps.pipe(ps.values("ab"), ps.tap(give), ps.collect())))
        await given.wait()
        return await asyncio.gather(first, ps.arun(ps.pipe(ps.values("cd"), ps.collect()), limit=1, check=True))

    assert asyncio.run(main()) == [["a", "b"], ["c", "d"]]
    assert not threads()


@pytest.mark.parametrize("seconds", [0, 0.001, 0.05])
def test_a_timeout(seconds):
    """asyncio's own exception is raised, whenever the timeout strikes."""
    events = []

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(seconds):
                await ps.arun(ps.pipe(endless(events), ps.drain()))

    asyncio.run(main())
    assert events in ([], ["begun", "released"])
    assert not threads()


def test_a_second_cancellation_does_not_wait():
    """Releases are cut short, as at a second Ctrl-C."""
    events = []

    @ps.source
    async def stuck(ctx):
        events.append("begun")
        try:
            yield 1
            await trio.sleep_forever()
        finally:
            events.append("releasing")
            await trio.sleep_forever()

    async def main():
        task = asyncio.create_task(ps.arun(ps.pipe(stuck(), ps.drain()), release_timeout=1000))
        await until(events, "begun")
        task.cancel()
        await until(events, "releasing")
        task.cancel()
        with pytest.raises(asyncio.CancelledError) as caught:
            await task
        assert isinstance(caught.value.__cause__, (ps.errors.ReleaseTimeout, ps.errors.Abandoned))

    asyncio.run(main())


def test_asyncio_functions_run_in_the_loop_that_awaits():
    name = contextvars.ContextVar("name", default="nobody")

    async def main():
        name.set("main")
        here = asyncio.get_running_loop()

        async def fetch(n):
            assert asyncio.get_running_loop() is here
            await asyncio.sleep(0)
            return n, name.get()

        async def listen():
            assert asyncio.get_running_loop() is here
            yield 1

        return await ps.arun(ps.pipe(ps.from_asyncio(listen), ps.map_async(ps.asyncio_call(fetch), 2), ps.collect()))

    assert asyncio.run(main()) == [(1, "main")]


def test_invalid_awaits():
    """An incomplete pipeline, and a coroutine outside an event loop."""
    with pytest.raises(ps.CompositionError, match=r"arun\(\) at .*test_arun.py.* no sink"):
        ps.arun(ps.values("ab"))
    with pytest.raises(ps.PullstreamError, match=r"elsewhere use run\(pipeline\)"):
        ps.arun(ps.pipe(ps.values("ab"), ps.collect())).send(None)

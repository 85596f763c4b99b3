"""`run` and `arun` inside other programs: asyncio, a notebook's loop, threads; results, signals, cancellation."""

import asyncio
import contextvars
import os
import signal
import threading

import pytest
import trio

import pullstream as ps
from tests.pullstream.common import after, endless


def pipeline():
    return ps.pipe(ps.values(range(3)), ps.map_async(after(0.001), 2), ps.collect())


def raising(number):
    """A function that sends this process a signal."""

    def send(value):
        os.kill(os.getpid(), number)
        return value

    return send


async def in_asyncio(parts):
    loop = asyncio.get_running_loop()
    got = []
    # asyncio's handlers need the wakeup descriptor that trio uses as well.
    loop.add_signal_handler(signal.SIGUSR1, got.append, "signal")
    descriptor = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(descriptor)
    with pytest.warns(RuntimeWarning, match="await arun"):
        result = ps.run(ps.pipe(ps.values(range(3)), *parts, ps.map_async(after(0.001), 2), ps.collect()))
    assert signal.set_wakeup_fd(descriptor) == descriptor
    await asyncio.sleep(0.01)
    during = len(got)
    os.kill(os.getpid(), signal.SIGUSR1)
    await asyncio.sleep(0.01)
    return result, during, len(got)


@pytest.mark.parametrize(("parts", "during"), [([], 0), ([ps.map(raising(signal.SIGUSR1))], 1)])
def test_asyncios_signals_are_passed_on(parts, during):
    result, heard, then = asyncio.run(in_asyncio(parts))

    assert result == [0, 1, 2]
    assert (heard > 0) == (during > 0)
    assert then == heard + 1


@pytest.mark.parametrize("handled", [False, True], ids=["", "with asyncio's own handler"])
def test_ctrl_c_in_an_asyncio_program(handled, counting, probe):
    """It is handled once, not by asyncio as well."""

    async def main():
        got = []
        if handled:
            asyncio.get_running_loop().add_signal_handler(signal.SIGINT, got.append, "asyncio's")
        before = signal.getsignal(signal.SIGINT)
        parts = [ps.map(raising(signal.SIGINT)), ps.map_async(after(0.001), 1), ps.drain()]
        with pytest.raises(KeyboardInterrupt), pytest.warns(RuntimeWarning, match="await arun"):
            ps.run(ps.pipe(counting(probe, 1_000_000, timed=True), *parts))
        assert signal.getsignal(signal.SIGINT) is before
        await asyncio.sleep(0.05)
        return got

    assert asyncio.run(main()) == []
    assert probe.balanced
    assert probe.reasons == [None]


def test_in_worker_threads():
    outcomes = {}

    def work(number):
        parts = [ps.map(lambda n: n // number), ps.map_async(after(0.001), 2), ps.collect()]
        try:
            outcomes[number] = ps.run(ps.pipe(ps.values(range(number * 2)), ps.take(3), *parts))
        except Exception as exc:
            outcomes[number] = type(exc)

    async def from_asyncio():
        return await asyncio.to_thread(ps.run, pipeline())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == {1: [0, 1], 2: [0, 0, 1], 3: [0, 0, 0], 4: [0, 0, 0]}
    assert asyncio.run(from_asyncio()) == [0, 1, 2]


# ---- arun


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
    with pytest.raises(ps.CompositionError, match=r"arun\(\) at .*test_run_places.py.* no sink"):
        ps.arun(ps.values("ab"))
    with pytest.raises(ps.PullstreamError, match=r"elsewhere use run\(pipeline\)"):
        ps.arun(ps.pipe(ps.values("ab"), ps.collect())).send(None)

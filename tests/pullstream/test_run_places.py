"""run() inside other programs: asyncio, a notebook's loop, threads; with signals, and without."""

import asyncio
import os
import signal
import threading

import pytest

import pullstream as ps
from tests.pullstream.common import after


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

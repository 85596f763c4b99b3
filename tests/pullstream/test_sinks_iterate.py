"""aiterate and iterate: lazily, to the end or not, in scripts, threads and asyncio programs; Ctrl-C."""

import signal
import subprocess
import threading
import time

import pytest
import trio
from trio.testing import MockClock

import pullstream as ps
from pullstream.engine.edge.lane import Lane
from tests.programs import python, started
from tests.pullstream.common import Leaky, Unseen, raises_at


@pytest.mark.parametrize("how", ["break", "raise", "cancel", "unread"])
async def test_aiterate_may_be_left(how, counting, probe, autojump_clock):
    """The source is released when the block has been left, and times of unread values never look complete."""
    with trio.move_on_after(3.5 if how == "cancel" else 1000):
        try:
            async with ps.aiterate(counting(probe, 9, delay=1, timed=True), limit=1) as values:
                if how != "unread":
                    async for value in values:
                        if value == 1 and how == "break":
                            break
                        if value == 1 and how == "raise":
                            raise Unseen
        except Unseen:
            assert how == "raise"
    assert probe.balanced
    assert probe.acquired == (how != "unread")
    assert probe.reasons == [None]
    if how == "cancel":
        with pytest.raises(ps.PullstreamError, match="to_channel"):
            await anext(values)
    else:
        assert [value async for value in values] == []
    with pytest.raises(ps.errors.Abandoned):
        await values.running.progress.completed(3)


async def test_aiterate_does_not_end_as_if_complete_after_a_cancelled_wait(counting, probe, autojump_clock):
    async with ps.aiterate(counting(probe, 9, delay=1)) as values:
        with pytest.raises(ps.PullstreamError, match="aiterate.*cancelled.*to_channel"):
            while True:
                with trio.move_on_after(0.3):
                    assert await anext(values, None) is not None
    assert probe.balanced


async def test_aiterate_acknowledges_a_multi_time_batch_run_by_run(autojump_clock):
    with trio.fail_after(10):
        async with ps.aiterate(ps.values(range(100), time=lambda n: n // 2)) as values:
            async for value in values:
                if value > 1:
                    await values.running.progress.completed(value // 2 - 1)
                assert values.running.progress.frontier().less_equal(value // 2)


@pytest.mark.parametrize("read", ["iterate", "aiterate"])
def test_reading_asks_for_many_times_at_once(read, monkeypatch):
    asks = []
    ask = Lane.ask
    monkeypatch.setattr(Lane, "ask", lambda *args, **options: asks.append(args) or ask(*args, **options))
    source = ps.values(range(1000), time=lambda n: n // 2)

    async def main():
        async with ps.aiterate(source) as values:
            return [value async for value in values]

    got = list(ps.iterate(source)) if read == "iterate" else trio.run(main, clock=MockClock())
    assert got == list(range(1000))
    assert len(asks) < 100


def test_iterate_is_lazy(counting, probe):
    """Nothing happens before the loop or while its body works; leaving the loop releases everything."""
    values = ps.iterate(counting(probe, 9), limit=1)
    assert probe.acquired == 0
    assert next(values) == 0
    time.sleep(0.02)
    assert probe.asked == [1]
    values.close()
    assert probe.balanced
    assert probe.reasons == [None]
    assert all(thread.name != "pullstream iterate" for thread in threading.enumerate())
    assert list(values) == []


@pytest.mark.parametrize("read", ["iterate", "aiterate"])
def test_reading_fails_as_the_stream_does(read):
    failure, got = Unseen(), []

    source = ps.pipe(ps.integers(), ps.map(raises_at(3, failure)))

    async def main():
        async with ps.aiterate(source) as values:
            async for value in values:
                got.append(value)  # noqa: PERF401 - a comprehension loses values before the failure

    with pytest.raises(Unseen) as caught:
        if read == "aiterate":
            trio.run(main)
        for value in ps.iterate(source):
            got.append(value)  # noqa: PERF402 - `list` loses values before the failure
    assert got == [0, 1, 2]
    assert caught.value is failure
    assert "test_sinks_iterate" in caught.value.__notes__[0]


def test_a_release_that_fails_is_raised_by_close():
    @ps.source
    class Hanging(ps.authoring.Kernel):
        async def produce(self, limit):
            return ps.Batch(0, [1])

        async def release(self):
            await trio.sleep_forever()

    @ps.source
    async def stuck(ctx):
        try:
            yield 1
        finally:
            await trio.sleep_forever()

    late = ps.errors.ReleaseTimeout
    for source, error in ((Leaky(), Unseen), (Hanging(), late), (stuck(), late)):
        values = ps.iterate(source, release_timeout=0.05)
        assert next(values) == 1
        with pytest.raises(error):
            values.close()


def test_closed_in_the_streams_own_thread(counting, probe):
    """The garbage collector may close it there, where it cannot wait for its own thread: the stream still ends."""
    left = threading.Event()

    async def close_at_two(n):
        if n == 2:
            while not left.is_set():  # noqa: ASYNC110 - set by another thread
                await trio.sleep(0.001)
            values.close()
        return n

    source = ps.pipe(counting(probe, 99), ps.map_async(close_at_two, 1), ps.prefetch(9))
    values = ps.iterate(source, limit=1)
    assert next(values) == 0
    (thread,) = (thread for thread in threading.enumerate() if thread.name == "pullstream iterate")
    left.set()
    thread.join(timeout=300)
    assert not thread.is_alive()
    assert list(values) == []
    assert probe.balanced


async def test_inside_trio_it_is_refused():
    with pytest.raises(ps.PullstreamError, match="aiterate"):
        ps.iterate(ps.integers())


PROGRAM = """
import atexit, sys, trio, time
import pullstream as ps

list(ps.iterate(ps.values([1])))
# What the program closes at its end is there for the streams that it has opened since.
atexit.register(print, "ended")

@ps.source
async def source(ctx, slow):
    try:
        yield 1
        if slow:
            print("waiting", flush=True)
            await trio.sleep_forever()
        yield 2
    finally:
        print("releasing", flush=True)
        seconds = float(sys.argv[2])
        with trio.CancelScope(shield=seconds < 1):
            await trio.sleep(seconds)
        print("released", flush=True)

kept = ps.iterate(source(sys.argv[1] == "source"), limit=1)
try:
    for value in kept:
        if sys.argv[1] == "kept":
            break
        if sys.argv[1] == "body":
            print("waiting", flush=True)
            time.sleep(30)
except KeyboardInterrupt:
    kept.close()
    print("interrupted", flush=True)
"""


@pytest.mark.parametrize("where", ["source", "body", "kept"])
def test_ctrl_c_and_the_end_of_the_program(where):
    with started("-c", PROGRAM, where, 0.1, stderr=subprocess.PIPE) as process:
        if where != "kept":
            assert process.stdout.readline() == "waiting\n"
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert out.splitlines() == ["releasing", "released", *["interrupted"][where == "kept" :], "ended"], err
    assert not err


IN_ASYNCIO = """
import asyncio, os, signal, threading, time
import pullstream as ps

# Loaded before the clock begins.
ps.iterate, ps.interval

async def main(where):
    theirs = signal.getsignal(signal.SIGINT)
    began = time.monotonic()
    try:
        for number in ps.iterate(ps.interval(0.02), limit=1):
            if number == 0:
                # Before anything is read, only asyncio handles it.
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
                began = time.monotonic()
            if where == "body":
                time.sleep(0.02)
            elif where == "await":
                await asyncio.sleep(30)
            if time.monotonic() - began > 3:
                print("read on")
                break
    except BaseException as exc:
        print(type(exc).__name__, signal.getsignal(signal.SIGINT) is theirs)
        raise

for where in ("source", "body", "await"):
    try:
        asyncio.run(main(where))
    except KeyboardInterrupt:
        print("stopped", where)
"""


def test_one_ctrl_c_in_an_asyncio_program():
    """While the source works, in the body of the loop, and while that awaits something."""
    done = python("-c", IN_ASYNCIO)
    assert done.stdout.splitlines() == [
        *("KeyboardInterrupt True", "stopped source"),
        *("KeyboardInterrupt True", "stopped body"),
        *("CancelledError True", "stopped await"),
    ], done.stderr


def test_a_second_ctrl_c_does_not_wait():
    with started("-c", PROGRAM, "body", 3000, stderr=subprocess.PIPE) as process:
        assert process.stdout.readline() == "waiting\n"
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "releasing\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=300)
    assert out == "ended\n"
    assert "\nKeyboardInterrupt\n" in err
    assert process.returncode


STUCK = """
import os, signal, threading, time, traceback, sys
import pullstream as ps

def interrupts(where):
    os.kill(os.getpid(), signal.SIGINT)
    if where != "once":
        main = threading.main_thread().ident
        while [frame.name for frame in traceback.extract_stack(sys._current_frames()[main])[-2:]] != ["wait", "wait"]:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)
        (time.sleep if where == "asleep" else threading.Event().wait)(3000)
    time.sleep(0.1)
    print("returned")

for where in ("once", "asleep", "in_a_library"):
    try:
        for _ in ps.iterate(ps.pipe(ps.values([where]), ps.map(interrupts))):
            pass
    except KeyboardInterrupt:
        print("left", where)
"""


def test_ctrl_c_while_a_function_blocks_the_stream():
    done = python("-c", STUCK, timeout=60)
    assert done.stdout.splitlines() == ["returned", "left once", "left asleep", "left in_a_library"]
    assert (done.stderr, done.returncode) == ("", 0)

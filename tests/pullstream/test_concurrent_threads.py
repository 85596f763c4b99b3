"""`map_thread`: blocking functions in threads, which cannot be cancelled. Real threads, so real time, and no sleeps."""

import gc
import threading
import weakref
from contextlib import contextmanager
from contextvars import ContextVar

import pytest
import trio

import pullstream as ps
from pullstream.authoring import start_in_thread
from tests.programs import until


@contextmanager
def blocking():
    """A function that blocks until its gate opens or the block ends, its arguments so far, and the gate."""
    gate, called = threading.Event(), []

    def block(n):
        called.append(n)
        assert gate.wait(10)
        return n

    try:
        yield block, called, gate
    finally:
        gate.set()


@pytest.mark.parametrize("way", ["abort", "cancel"])
@pytest.mark.parametrize("position", [0, 1])
async def test_an_end_waits_for_running_threads(position, way, edge, counting, probe):
    with blocking() as (block, called, gate):
        calls = ps.map_thread(lambda n: n if n < position else block(n), 2)
        async with edge(ps.pipe(counting(probe, 99), calls)) as reader, trio.open_nursery() as nursery:
            for _ in range(position):
                await reader.ask(1)
            scope, ended = trio.CancelScope(), trio.Event()

            async def ask():
                with scope:
                    assert await reader.ask(5) is ps.DONE
                ended.set()

            nursery.start_soon(ask)
            await until(lambda: len(called) == 2)
            if way == "cancel":
                scope.cancel()
            else:
                nursery.start_soon(reader.lane().abort)
            for _ in range(20):
                await trio.sleep(0.001)
            assert not ended.is_set()
            gate.set()
        assert len(called) == 2
        assert probe.balanced


async def test_an_abort_does_not_wait_for_ever_for_a_thread(edge):
    with blocking() as (block, called, gate):
        async with (
            edge(ps.pipe(ps.integers(), ps.map_thread(block, 2)), release_timeout=0.05) as reader,
            trio.open_nursery() as nursery,
        ):
            nursery.start_soon(reader.lane().ask, 5)
            await until(lambda: len(called) == 2)
            with trio.fail_after(300), pytest.raises(ps.errors.ReleaseTimeout, match="map_thread, composed at"):
                await reader.abort()
        assert not gate.is_set()


async def test_a_thread_can_check_whether_it_is_cancelled(edge):
    looks = []

    def look(n):
        while True:
            looks.append(n)
            trio.from_thread.check_cancelled()
            threading.Event().wait(0.001)

    async with edge(ps.pipe(ps.integers(), ps.map_thread(look, 1))) as reader, trio.open_nursery() as nursery:
        nursery.start_soon(reader.lane().ask, 1)
        await until(lambda: len(looks) > 2)
        with trio.fail_after(300):
            await reader.abort()
        number = len(looks)
        await trio.sleep(0.01)
        assert len(looks) == number


async def test_a_call_in_its_own_thread_leaves_nothing():
    """The next call may get the same thread. The objects of a failed call are freed before garbage collection."""
    calls, alive = ContextVar("calls", default=0), weakref.WeakSet()

    def fail(gate):
        calls.set(calls.get() + 1)
        raise LookupError(calls.get())

    gc.disable()
    try:
        for _ in range(3):
            alive.add(gate := threading.Event())
            assert start_in_thread(fail, gate).exception().args == (1,)
            del gate
            await until(lambda: not alive)
    finally:
        gc.enable()

"""A run in which nothing can move fails at once, and says why."""

import logging
import signal
import threading
import time
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
import trio
import trio.testing

import pullstream as ps
from pullstream.engine.runtime import blocked, deadlock
from pullstream.logger import LOG
from tests.pullstream.common import after, script, timed
from tests.pullstream.test_stalls_scenes import awaiting, dead_end, result


async def test_the_classic_is_named(autojump_clock):
    box = []
    with pytest.raises(ps.StalledError) as caught:
        await result(ps.pipe(timed(1, 2, 3), ps.map(str), awaiting(box)), box)
    text = str(caught.value)
    assert "awaiting, composed at" in text
    assert "waits until 1 is complete" in text
    assert "awaiting has not acknowledged a batch at 1, and is the module that waits" in text


async def test_a_stopped_clock_moves_nothing(autojump_clock):
    """The timeout has had its answer, so its clock no longer runs."""
    box = []
    with pytest.raises(ps.StalledError):
        await result(ps.pipe(script(1.0, 1), ps.timeout(20), awaiting(box)), box)
    assert trio.current_time() < 20


@pytest.mark.parametrize("check", [False, True])
def test_a_stall_is_noticed_by_run_as_well(check):
    """A task that waits for Ctrl-C, or for a violation, cannot move the stream."""

    pool = ps.worker_pool(ps.filter(lambda n: n % 2))
    with pytest.raises(ps.StalledError, match=r"worker_pool, .* \(values without a result: 1, .* exactly one result\)"):
        ps.run(ps.pipe(ps.values(range(8)), pool, ps.collect()), check=check)


# ---- read from outside


def test_a_dead_end_with_iterate():
    with pytest.raises(
        ps.StalledError, match=r"asked, but not answering: into in_flight, .* must give one result for each value"
    ):
        list(ps.iterate(ps.pipe(ps.values(range(8)), dead_end())))


async def test_a_lane_asked_outside_is_not_a_stall(autojump_clock):
    @ps.sink
    async def lending(upstream, ctx):
        lanes.extend([upstream.lane(), upstream.lane()])
        await running.progress.completed(1)
        return "complete"

    async def ask():
        await trio.sleep(50)
        for _ in range(3):
            await lanes[0].ask()
            await trio.sleep(50)

    lanes = []
    async with trio.open_nursery() as nursery, ps.pipe(timed(1, 2, 3), lending()).open() as running:
        nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        await lanes[1].ask()
        lanes[1].ack()
        # This task asks no more, but the other one may.
        assert await running.result() == "complete"


# ---- what a program outside may still do


@pytest.mark.parametrize("between", [ps.map(str), ps.prefetch(2)], ids=["map", "prefetch"])
async def test_a_time_a_handle_completes_is_not_a_stall(between, caplog, autojump_clock):
    """A program may announce at any moment that a time is complete, and so end a wait for it."""

    @ps.sink
    async def patient(upstream, ctx):
        await upstream.ask()
        upstream.ack()
        await running.progress.completed(0)
        return "complete"

    pushed = ps.pushable(3)
    pushed.push_nowait(1)
    async with ps.pipe(pushed, between, patient()).open() as running:
        await trio.sleep(50)
        pushed.advance(1)
        assert await running.result() == "complete"
    assert not caplog.records


def handles():
    pushed, listened, added, later = ps.pushable(1), ps.broadcast(1), ps.dynamic_merge(), ps.deferred("source")
    sink, paused, (source, into) = ps.deferred("sink"), ps.pausable(), ps.duplex.pair()
    pushed.push_nowait(1)
    added.add(ps.once(1))
    paused.pause()
    yield "pushable", ps.pipe(pushed, ps.map(str), ps.collect()), pushed.end
    yield "listen", ps.pipe(listened.listen(), ps.collect()), listened.end
    yield "dynamic_merge", ps.pipe(added, ps.collect()), added.cap
    yield "deferred source", ps.pipe(later, ps.collect()), lambda: later.resolve(ps.empty())
    yield "deferred sink", ps.pipe(ps.once(1), sink), lambda: sink.resolve(ps.drain())
    yield "pausable", ps.pipe(ps.once(1), paused, ps.collect()), paused.resume
    del into
    yield "pair", ps.pipe(source, abort := ps.abortable(), ps.collect()), abort.abort


@contextmanager
def used_at_the_warning(use):
    """Use a handle when a run warns that it waits for one; yields the warnings."""
    warned = []

    class Uses(logging.Handler):
        def emit(self, record):
            warned.append(record.getMessage())
            use()

    LOG.addHandler(handler := Uses())
    try:
        yield warned
    finally:
        LOG.removeHandler(handler)


@pytest.fixture
def only_thread(monkeypatch):
    """Hide threads that libraries of other tests leave behind, any of which could use a handle."""
    monkeypatch.setattr(threading, "enumerate", lambda: [threading.main_thread()])


@pytest.mark.usefixtures("only_thread")
@pytest.mark.parametrize(
    ("name", "pipeline", "use"), list(handles()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_run_that_waits_only_for_a_handle_says_so(name, pipeline, use):
    """In `run`, hardly anything can use the handle; but a thread or a signal handler could, so it continues."""
    with used_at_the_warning(use) as warned:
        ps.run(pipeline)
    (message,) = warned
    assert message.startswith("the run waits for a handle, and the program waits for the run")
    assert f"{name.partition(' ')[0]}, composed at {__file__}" in message
    assert "async with pipeline.open()" in message


@pytest.mark.usefixtures("only_thread")
def test_a_run_that_has_waited_for_a_handle_may_still_stall():
    paused = ps.pausable()
    paused.pause()
    full = ps.in_flight(ps.filter(lambda _: False), 2)
    rather_than_hang = threading.Timer(10, signal.raise_signal, [signal.SIGINT])
    rather_than_hang.start()
    with used_at_the_warning(paused.resume), pytest.raises((ps.StalledError, KeyboardInterrupt)) as caught:
        ps.run(ps.pipe(ps.values(range(3)), paused, full, ps.drain()))
    rather_than_hang.cancel()
    assert caught.type is ps.StalledError


@pytest.mark.usefixtures("only_thread")
def test_a_block_that_waits_for_its_run_without_an_end_is_warned(caplog, monkeypatch):
    async def main(around, beside=False, after=None):
        pushed = ps.pushable(3)

        async def end():
            await trio.sleep(0.1)
            pushed.end()

        async with trio.open_nursery() as nursery, ps.pipe(pushed, ps.collect()).open() as running:
            await pushed.push(1)
            if beside:
                nursery.start_soon(end)
            if after is not None:
                LOG.addFilter(lambda record: after(pushed))
            with around:
                await running.result()
            pushed.end()

    trio.run(main, trio.CancelScope(deadline=0))
    trio.run(main, nullcontext(), True)
    assert not caplog.records
    monkeypatch.setattr(LOG, "filters", [])
    trio.run(main, nullcontext(), False, lambda pushed: pushed.end() or True)
    (message,) = caplog.messages
    assert message.startswith("the run waits for a handle, and the program waits for the run: pushable, composed at")


@pytest.mark.usefixtures("only_thread")
def test_a_block_that_stops_waiting_for_its_run_may_use_the_handle():
    """After Ctrl-C, a program no longer only waits: it may provide what the run waits for."""

    async def main():
        pushed = ps.pushable(1)
        async with ps.pipe(pushed, ps.collect()).open() as running:
            with pytest.raises(KeyboardInterrupt), used_at_the_warning(interrupt.start):
                await running.result()
            await trio.testing.wait_all_tasks_blocked(0.01)
            await pushed.push(1)
            pushed.end()
            return await running.result()

    interrupt = threading.Timer(0.05, signal.raise_signal, [signal.SIGINT])
    assert trio.run(main) == [1]


def test_a_handle_used_by_the_run_s_own_modules_is_not_logged(caplog):
    def use(pushed):
        pushed.push_nowait(1)
        pushed.end()

    async def companion(running, pushed):
        await trio.sleep(0.05)
        use(pushed)

    for between in (ps.map_async(after(0.05), 1), ps.map_thread(lambda n: time.sleep(0.05) or n, 1)):
        pushed = ps.pushable(3)
        user = ps.pipe(ps.once(1), between, ps.tap(lambda _, pushed=pushed: use(pushed)))
        assert ps.run(ps.pipe(ps.merge(pushed, user), ps.collect())) == [1, 1]
    pushed = ps.pushable(3)
    assert ps.run(ps.pipe(pushed, ps.collect()), beside=lambda running: companion(running, pushed)) == [1]
    with pytest.raises(ps.AskTimeout):
        ps.run(ps.pipe(pushed := ps.pushable(3), ps.timeout(0.05), ps.collect()))
    assert not caplog.records


async def test_waits_outside_do_not_keep_a_stalled_run_waiting(autojump_clock):
    with trio.fail_after(100), pytest.raises(ps.StalledError):
        async with ps.pipe(ps.values(range(8)), dead_end(), ps.collect()).open() as running:
            with pytest.raises(ps.StalledError):
                await running.progress.completed(0)
            await trio.sleep_forever()


async def test_the_source_learns_why(counting, probe, autojump_clock):
    with pytest.raises(ps.StalledError) as caught:
        async with ps.aiterate(ps.pipe(counting(probe, 9), dead_end())) as values:
            await anext(values)
    assert probe.reasons == [caught.value]
    assert probe.balanced


# ---- trio's internals


async def test_without_trio_s_internals_one_warning_is_logged(monkeypatch, caplog, autojump_clock):
    """With another trio, whose tasks cannot be inspected, runs work as usual; only a dead end hangs."""
    monkeypatch.setattr(deadlock, "supported", lambda *_: False)
    deadlock._warn.cache_clear()
    for _ in range(2):
        assert await result(ps.pipe(ps.values("abc"), ps.prefetch(1), ps.collect()), []) == ["a", "b", "c"]
        with pytest.raises(trio.TooSlowError), trio.fail_after(100):
            await result(ps.pipe(ps.values(range(8)), dead_end(), ps.collect()), [])
    (record,) = caplog.records
    assert (record.name, record.levelname) == ("pullstream", "WARNING")
    assert "StalledError" in record.getMessage()


@pytest.mark.parametrize("lacks", ["nothing", "nursery", "nursery's status", "status", "scope", "parent", "state"])
def test_missing_trio_internals_are_detected(lacks):
    status = SimpleNamespace(_scope=trio.CancelScope(), _parent=None, effectively_cancelled=False)
    nursery = SimpleNamespace(_parent_waiting_in_aexit=False, cancel_scope=SimpleNamespace(_cancel_status=status))
    task = SimpleNamespace(_cancel_status=status)
    change = {
        "nursery": lambda: delattr(nursery, "_parent_waiting_in_aexit"),
        "nursery's status": lambda: delattr(nursery.cancel_scope, "_cancel_status"),
        "status": lambda: delattr(task, "_cancel_status"),
        "scope": lambda: setattr(status, "_scope", None),
        "parent": lambda: delattr(status, "_parent"),
        "state": lambda: setattr(status, "effectively_cancelled", lambda: False),
    }
    change.get(lacks, lambda: None)()
    assert blocked.supported(task, nursery) == (lacks == "nothing")


async def test_trio_internals():
    async with trio.open_nursery() as nursery:
        task = trio.lowlevel.current_task()
        assert blocked.supported(task, nursery)
        assert blocked.joined(task) is None
        assert not blocked.may_be_cancelled(task)

        async def look():
            await trio.testing.wait_all_tasks_blocked()
            assert blocked.joined(task) is nursery
            with blocked.own_scope():
                assert not blocked.may_be_cancelled(trio.lowlevel.current_task())
            with trio.CancelScope() as scope:
                await trio.lowlevel.checkpoint()
                assert blocked.may_be_cancelled(trio.lowlevel.current_task())
                with trio.CancelScope(shield=True) as inner:
                    await trio.lowlevel.checkpoint()
                    assert blocked.may_be_cancelled(trio.lowlevel.current_task())
                    assert not blocked.may_be_cancelled(trio.lowlevel.current_task(), inner)
                with blocked.own_scope(shield=True):
                    assert not blocked.may_be_cancelled(trio.lowlevel.current_task())
                    scope.cancel()
                    assert not blocked.may_be_cancelled(trio.lowlevel.current_task())
                assert blocked.may_be_cancelled(trio.lowlevel.current_task(), scope)

        nursery.start_soon(look)

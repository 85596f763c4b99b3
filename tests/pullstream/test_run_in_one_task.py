"""Runs without observers: `arun` and `run` do the same as a block that waits for the result, in one task."""

import pytest
import trio

import pullstream as ps
from pullstream.engine.runtime.deadlock import DeadlockDetector
from tests.pullstream.common import Leaky, Unseen, after, in_virtual_time, living
from tests.pullstream.test_short_runs import opened
from tests.pullstream.test_stalls_scenes import dead_end


class Log(list):
    def note(self, *what):
        self.append((round(trio.current_time(), 3), *map(repr, what)))


@ps.source
async def slowly(ctx, log, name, step=0.05, fails_at=None):
    log.note(name, "begins")
    try:
        for number in range(8):
            await trio.sleep(step)
            if number == fails_at:
                raise Unseen(name)
            yield ps.Batch(number // 2, [number])
    finally:
        with trio.CancelScope(shield=True):
            await trio.sleep(0.01)
        log.note(name, "ends")


@ps.sink
async def writer(upstream, ctx, log, name):
    try:
        async for event in ctx.events(upstream):
            match event:
                case ps.Batch(time, values):
                    ctx.notify_at(time)
                    log.note(name, list(values))
                    await trio.sleep(0.03)
                case ps.Completed(time):
                    log.note(name, "complete", time)
    finally:
        log.note(name, "is over")


# Trio cancels tasks in an order that no seed decides: those whose order may vary share a name.
SHAPES = {
    "plain": lambda log: ps.pipe(slowly(log, "a"), writer(log, "w")),
    "collect": lambda log: ps.pipe(slowly(log, "a"), ps.map(str), ps.collect()),
    "prompt": lambda log: ps.pipe(ps.values(range(9)), ps.map(str), ps.take(3), ps.collect()),
    "tasks": lambda log: ps.pipe(slowly(log, "a"), ps.map_async(after(0.07), 3), ps.prefetch(2), writer(log, "w")),
    "sinks": lambda log: ps.pipe(slowly(log, "a"), ps.tee(writer(log, "w"), ps.pipe(ps.prefetch(1), writer(log, "w")))),
    "sources": lambda log: ps.pipe(ps.merge(slowly(log, "a"), slowly(log, "a", 0.035)), ps.collect()),
    "inside": lambda log: ps.pipe(
        slowly(log, "a"), ps.flat_map(lambda number: slowly(log, f"b{number}", 0.02)), ps.take(20), writer(log, "w")
    ),
    "fails": lambda log: ps.pipe(slowly(log, "a", fails_at=3), ps.prefetch(2), writer(log, "w")),
    "fails at its end": lambda log: ps.pipe(Leaky(), ps.map_async(after(0.04), 1), ps.take(3), writer(log, "w")),
    "nested": lambda log: ps.pipe(
        slowly(log, "a"),
        ps.map_async(lambda number: ps.arun(ps.pipe(slowly(log, "b", 0.01), ps.collect())), 2),
        writer(log, "w"),
    ),
}


def history(shape, way, deadline, seed):
    """The events of a run and their times, in a program with other tasks."""
    log = Log()

    async def one():
        with trio.move_on_after(deadline) as scope:
            try:
                log.note("gives", await way(SHAPES[shape](log)))
            except Exception as exc:
                log.note("raises", exc, exc.__notes__)
        log.note("cancelled", scope.cancelled_caught)

    async def main():
        async with trio.open_nursery() as nursery:
            nursery.start_soon(one)
            nursery.start_soon(trio.sleep, 3)

    in_virtual_time(main, seed=seed)
    return sorted(log)


@pytest.mark.parametrize("deadline", [0.0, 0.0225, 0.0575, 0.1625, 0.3025, 2.0])
@pytest.mark.parametrize("shape", SHAPES)
def test_events_and_moments(shape, deadline):
    """At whatever moment the run is cancelled from outside, and whether it ends or fails."""
    openeds = [history(shape, opened, deadline, seed) for seed in range(2)]
    in_one_task = [history(shape, ps.arun, deadline, seed) for seed in range(2)]
    assert in_one_task == openeds


@ps.sink
async def waiting(upstream, ctx):
    """Awaits its own tasks. Trio does not report when that wait begins, so the run is polled until then."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(upstream.lane().ask)
        await trio.sleep(1)


@pytest.mark.parametrize(("sink", "moment"), [(ps.collect(), 0), (waiting(), 1)], ids=str)
@pytest.mark.parametrize("way", [opened, ps.arun])
async def test_a_stall_is_noticed(way, sink, moment, autojump_clock):
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep, 100)

        @nursery.start_soon
        async def stalls():
            with trio.fail_after(100), pytest.raises(ps.StalledError, match="in_flight"):
                await way(ps.pipe(ps.values(range(9)), dead_end(), sink))
            assert trio.current_time() == moment
            nursery.cancel_scope.cancel()


async def test_sinks_of_such_a_run_have_no_own_task():
    seen = []

    async def one():
        here = trio.lowlevel.current_task()

        @ps.sink
        async def looking(upstream, ctx):
            seen.append(trio.lowlevel.current_task() is here)

        await ps.arun(ps.pipe(ps.values("abc"), looking()))
        async with ps.pipe(ps.values("abc"), looking()).open() as running:
            await running.result()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one)
    assert seen == [True, False]


@pytest.mark.parametrize("way", [opened, ps.arun])
async def test_an_ended_run_leaves_nothing_behind(way, autojump_clock):
    """A task may run thousands, one after another, which wait and are watched meanwhile."""
    before = living(DeadlockDetector)
    for _ in range(2):
        await way(ps.pipe(ps.values("abc"), ps.map_async(after(0.07), 1), ps.prefetch(1), ps.collect()))
    assert living(DeadlockDetector) == before

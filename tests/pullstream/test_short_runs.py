"""The cost of a short run, in counts that do not depend on the machine.

A service that starts a pipeline per request, or has thousands open at once, pays for every call and every object that a
run makes. The garbage collector looks through all objects of all open runs again and again, so with many runs at once
their number decides the time that a run takes.
"""

import asyncio
import gc
import sys
import weakref
from itertools import pairwise

import pytest
import trio
import trio.testing

import pullstream as ps
from tests.programs import ROOT, printed
from tests.size import WALKS, walk

OBJECTS = {13: 130, 14: 155}.get(sys.version_info.minor, 120)
"""The objects that the garbage collector tracks for one open run of five modules; some thirty belong to trio, for
the tasks of the run and of its opener."""

RUNS = 20


@pytest.mark.parametrize(
    ("path", "most"),
    [("values, map, collect", (36, 200, 336)), ("notify_at, completion, yield", (39, 296, 806))],
)
def test_calls_of_a_short_run(path, most, no_clocks):
    """Files, functions and calls. Trio chooses at random which of two tasks goes first, so this takes the best of 20.

    These numbers only ever get smaller; compare with `python -m tests.size`.
    """
    found = min(walk(WALKS[path]) for _ in range(20))
    assert all(count <= limit for count, limit in zip(found, most, strict=True)), found


@ps.sink
async def waiting(upstream, ctx):
    """Take a batch, and wait with it."""
    await upstream.ask(ctx.limit)
    await trio.sleep_forever()


async def objects_of_an_open_run():
    pipeline = ps.pipe(ps.values(range(4)), ps.map(str), ps.filter(bool), ps.take(3), waiting())

    async def open_run():
        async with pipeline.open():
            await trio.sleep_forever()

    async def tracked():
        await trio.testing.wait_all_tasks_blocked()
        gc.collect()
        return len(gc.get_objects())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(open_run)
        counts = [await tracked()]
        for _ in range(3):
            for _ in range(RUNS):
                nursery.start_soon(open_run)
            counts.append(await tracked())
        nursery.cancel_scope.cancel()
    return min(after - before for before, after in pairwise(counts)) / RUNS


def test_objects_of_an_open_run():
    """In a process of its own: attributes that other tests set decide whether an instance needs a dict."""
    program = f"import trio; from {__name__} import objects_of_an_open_run as objects; print(trio.run(objects))"
    count = float(printed("-c", program, cwd=ROOT))
    assert count <= OBJECTS, count


class Large:
    """A result that takes much memory."""


async def opened(pipeline):
    async with pipeline.open() as running:
        return await running.result()


async def one_more(way, pipeline):
    """Await a run, and drop its result: trio would keep what its main task returns."""
    assert len(await way(pipeline)) == 4


@pytest.mark.parametrize(
    "run",
    [
        ps.run,
        lambda pipeline: asyncio.run(one_more(ps.arun, pipeline)),
        lambda pipeline: trio.run(one_more, ps.arun, pipeline),
        lambda pipeline: trio.run(one_more, opened, pipeline),
    ],
    ids=["run", "arun, asyncio", "arun, trio", "open"],
)
def test_a_result_is_freed_with_the_last_reference_to_it(run):
    """The garbage collector may work only after hundreds of runs, and counts objects, not their size."""
    large = weakref.WeakSet()

    def made(_):
        large.add(made := Large())
        return made

    pipeline = ps.pipe(ps.values(range(4)), ps.map(made), ps.collect())

    gc.disable()
    try:
        run(pipeline)
        assert len(large) == 0
    finally:
        gc.enable()


async def test_the_tasks_of_a_run_are_freed_at_its_end():
    """The modules of a run refer to each other, so only the garbage collector frees them; its tasks must not wait."""
    alive = weakref.WeakSet()

    @ps.sink
    async def noted(upstream, ctx):
        task = trio.lowlevel.current_task()
        alive.update({task, task.parent_nursery})
        async for _ in ctx.batches(upstream):
            pass
        return len(alive)

    gc.disable()
    try:
        async with ps.pipe(ps.values(range(4)), noted()).open() as running:
            assert await running.result() == 2
        await trio.testing.wait_all_tasks_blocked()
        assert len(alive) == 0
    finally:
        gc.enable()


@pytest.mark.parametrize("check", [False, True])
async def test_an_ended_run_leaves_nothing(check):
    """Nor does a class that was made only for it."""

    def pipeline():
        class Local(ps.authoring.PolledKernel):
            def poll(self, limit):
                return self.upstream.poll(limit)

        return ps.pipe(ps.values(range(4)), ps.transformer(Local)(), ps.take(3), ps.collect())

    async def tracked():
        for _ in range(RUNS):
            await ps.arun(pipeline(), check=check)
        gc.collect()
        return len(gc.get_objects())

    await tracked()
    counts = [await tracked() for _ in range(4)]
    # Threads of other tests may end meanwhile, but not each time.
    assert min(later - earlier for earlier, later in pairwise(counts)) <= RUNS // 2

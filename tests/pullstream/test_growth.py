"""Nothing grows for ever: what a run keeps for its times and its lanes does not add up, even if nobody watches."""

import asyncio
import atexit
import gc
import sys
import time
import weakref
from collections.abc import Collection
from itertools import product

import pytest
import trio
from trio.testing import MockClock

import pullstream as ps
from pullstream.engine.edge.edge import Edge
from pullstream.engine.runtime.deadlock import DeadlockDetector
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.sidecar.waiting import Requests
from pullstream.program import at_exit
from pullstream.program.times_done import TimesDone
from tests.pullstream.common import READY, after, never, script
from tests.pullstream.counting import stop_clocks
from timely.mutable import MutableAntichain

FEW = 600
"""The number of times that shows whether something is kept for each."""

MORE = 45_000
"""The same for a run that never waits, where thousands come at once, and complete times are forgotten every few
milliseconds."""


@pytest.fixture
def kept(monkeypatch):
    """Returns the sizes of the collections in which the runs of a test keep times or lanes: the largest, by name."""
    made = []
    for kind in (TimesDone, Location, MutableAntichain, Sidecar, Requests, DeadlockDetector, Edge):
        monkeypatch.setattr(kind, "__init__", noting(kind.__init__, made))

    def sizes():
        sizes = {}
        for thing in made:
            for name, container in containers(thing).items():
                sizes[name] = max(sizes.get(name, 0), len(container))
        return sizes

    return sizes


def noting(begin, made):
    def noted(self, *args, **kwargs):
        made.append(self)
        begin(self, *args, **kwargs)

    return noted


def containers(thing):
    match thing:
        case TimesDone():
            return {"times under way": thing._under_way}
        case Location():
            return {"mirrored": thing._mirrored, "held": thing._held, "counts": thing.outs}
        case MutableAntichain():
            rows = thing._chains._listed if thing._chains else ()
            return {"heap": thing._heap, "times": thing._counts, "rows": rows}
        case Sidecar():
            return {"in flight": thing.frontiers.in_flight, "mirrors": thing.nesting.mirrors}
        case Requests():
            return {"requests": thing._heap or ()}
        case DeadlockDetector():
            return {"tasks": thing._unblocked}
        case Edge():
            return {f"{type(thing.module).__name__}, {part}": kept for part, kept in parts_of(thing.module)}


OWN = ("pullstream.modules", "pullstream.engine.edge.backlog")


def parts_of(thing, depth=4):
    """The collections that a kernel, and its own parts, keep."""
    for name, value in vars(thing).items():
        several = isinstance(value, Collection) and not isinstance(value, str)
        if several:
            yield name, value
        for part in value if isinstance(value, tuple | list) else () if several else (value,):
            if depth and hasattr(part, "__dict__") and type(part).__module__.startswith(OWN):
                yield from parts_of(part, depth - 1)


def looked_at(count, look):
    """Numbers; calls `look` after half of them, and before the last."""
    for number in range(count):
        if number in (count // 2, count - 1):
            look()
        yield number


def soak(stream, beside=None, limit=4096):
    """Run a stream in virtual time."""

    async def main():
        await ps.arun(ps.pipe(stream, ps.drain()), beside=beside, limit=limit)

    trio.run(main, clock=MockClock(autojump_threshold=0))


def of_times(*modules):
    """A stream through modules, of two values at each time."""
    return lambda numbers: ps.pipe(ps.values(numbers, time=lambda n: n // 2), *modules)


def joined(how, within):
    halves = [ps.values(iter(range(start, 2 * FEW, 2)), time=int) for start in (0, 1)]
    return lambda numbers: ps.join(
        ps.merge(*halves), ps.values(numbers, time=int), on=lambda n: n // 3, how=how, within=within
    )


GROUPED = ps.group_by(lambda n: n % 3, ps.count_by_key())
AT_ONCE = {
    "map": of_times(ps.map(str)),
    "two in a row": of_times(ps.count_by_key(), ps.count_by_key()),
    "group_by group_by": of_times(ps.group_by(lambda n: n % 2, GROUPED)),
    "in_flight": of_times(ps.in_flight(ps.map(str), 4)),
    "sessions": of_times(ps.sessions(2, ps.agg.count(), key=lambda n: n % 5)),
    "late": of_times(ps.map_time(lambda _: 0), ps.stamp(lambda n: n, lateness=5)),
}
"""Streams of modules that take thousands of times at once."""
A_FEW = {name: of_times(make()) for name, make in READY.items() if not name.startswith(("take", "several"))}
"""Streams of ready-made modules that read everything, asked for a few values at a time."""
OTHERS = {
    "folds": of_times(
        ps.unique_by_time(lambda _: 0),
        ps.sort_by_time(),
        ps.accumulate(ps.agg.count()),
        ps.reduce_by_time(ps.agg.sum()),
    ),
    "windows": of_times(ps.tumbling(1), ps.map(lambda window: window.start), ps.sliding(4, 2)),
    "stamps": of_times(ps.stamp(lambda n: n, nest=True), ps.stamp_epochs(1, nest=True)),
    "sessions of sessions": of_times(
        ps.sessions(1), ps.map(lambda window: window.start), ps.sessions(1, key=lambda n: n % 2)
    ),
    **{f"join, {how}, {within}": joined(how, within) for how in ("inner", "left") for within in (None, 2)},
}
"""Streams of other modules, asked for a few values at a time."""
SAMPLED = [*product(AT_ONCE, [None, never]), *product([name for name in A_FEW if name not in AT_ONCE], [None])]
"""Names, and tasks beside the run: one that never asks how many times are done, or none."""
BY_VALUE = ("accumulate, by key", "group_by, failures left out")
"""Modules that keep something for every distinct value."""


@pytest.mark.parametrize(
    ("name", "beside"),
    [*(pytest.param(*row, marks=pytest.mark.sampled(26)) for row in SAMPLED), *product(OTHERS, [None])],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_times_leave_no_entries(name, beside, kept, monkeypatch):
    if name not in AT_ONCE:
        stop_clocks(monkeypatch.setattr)  # a slow machine would let one input of a join go further than the other
    looks = []
    made, times, limit = (AT_ONCE[name], MORE, 4096) if name in AT_ONCE else ((A_FEW | OTHERS)[name], FEW, 20)
    stream = made(looked_at(times * 2, lambda: looks.append(kept())))
    soak(stream, beside, limit)
    # A few batches' times, however many have passed.
    large = {what: size for what, size in looks[-1].items() if size > 5 * limit}
    assert large == {} or (name in BY_VALUE and len(large) == 1)
    assert not kept()["held"]


def test_deadlines_of_full_lists_leave_no_entries(kept):
    """The deadline of a list that waits is before all of them."""
    looks = []
    numbers = ps.values(looked_at(2 * FEW, lambda: looks.append(kept())), time=lambda _: 1)
    waits = script(ps.Batch(0, [0]), 10.0)
    soak(ps.pipe(ps.merge(waits, numbers), ps.batch(3, seconds=1000)), limit=1)
    assert 0 < looks[-1]["Gather, _queue"] < FEW / 4


@pytest.mark.parametrize("check", [False, True], ids=["", "checked"])
@pytest.mark.parametrize("acknowledges", [False, True], ids=["asks once more", "acknowledges"])
async def test_a_lane_for_every_batch(acknowledges, check, kept):
    """Lanes without references are forgotten, with their counters; values that passed are still counted."""
    looks = []

    @ps.sink
    async def by_lanes(upstream, ctx):
        got = 0
        while True:
            lane = upstream.lane()
            batch = await lane.ask()
            if batch is not ps.DONE and not acknowledges:
                got += 1
                batch = await lane.ask()
            if batch is ps.DONE:
                return got
            got += 1
            lane.ack()

    source = ps.values(looked_at(FEW, lambda: looks.append(kept())), time=lambda n: n)
    async with ps.pipe(source, ps.map(str), by_lanes()).open(check=check) as running:
        assert await running.result() == FEW
    assert {what: size for what, size in looks[-1].items() if size > FEW / 2} == {}
    counters = running.progress.counters()
    assert [(row.values_in, row.values_out) for row in counters] == [(0, FEW), (FEW, FEW), (FEW, 0)]


async def test_a_lane_with_an_unacknowledged_batch_holds_its_time():
    """Its owner may have dropped it: nothing shows that the batch has been processed."""

    @ps.sink
    async def losing(upstream, ctx):
        lane = upstream.lane()
        await lane.ask()
        del lane
        gc.collect()
        async for _ in ctx.batches(upstream):
            pass
        return [(each.what, each.time) for each in running.progress.pointstamps() if "acknowledged" in each.what]

    async with ps.pipe(ps.values([1, 2, 3], time=lambda n: n), losing()).open() as running:
        assert await running.result() == [("has not acknowledged a batch at", 1)]


@pytest.mark.parametrize(
    ("module", "asks"),
    [
        (ps.map_async(after(1), 3), 2),
        (ps.map_async(after(1), 3, ordered=False), 2),
        # One result so far for each value, and one between them, as the first one's time is complete.
        (ps.reduce_by_key(ps.agg.count(), key=lambda _: 0, eager=True), 3),
        (ps.group_by(lambda _: 0, ps.prefetch(2)), 2),
    ],
    ids=["map_async", "as ready", "notified", "groups"],
)
async def test_a_waiting_task_keeps_no_processed_values(module, asks, edge, autojump_clock):
    """Between two asks a task may wait for ever; it drops its values when they are answered."""
    there = []

    class Thing:
        def __init__(self):
            there.append(weakref.ref(self))

    @ps.source
    class Two(ps.authoring.Kernel):
        async def produce(self, limit):
            await trio.sleep(1 if len(there) < 2 else 1e6)
            return ps.Batch(len(there), [Thing()])

    async with edge(ps.pipe(Two(), module, ps.map(id))) as reader:
        for _ in range(asks):
            await reader.ask(7)
        gc.collect()
        assert [thing() for thing in there] == [None, None]
        await reader.abort()


def test_streams_rarely_pass_over_the_functions_for_the_end_of_the_program(monkeypatch):
    """`atexit` keeps a place for each function that it was ever given, and passes over all of them to remove one."""
    removed = []
    monkeypatch.setattr(atexit, "unregister", removed.append)
    for _ in range(30):
        assert list(ps.iterate(ps.values([1]))) == [1]
        assert asyncio.run(ps.arun(ps.pipe(ps.values([1]), ps.collect()))) == [1]
    assert len(removed) <= 1
    assert not at_exit._OPEN


def test_an_ended_inner_source_keeps_no_collection():
    """Its stream is a cycle, which only the garbage collector removes, perhaps much later."""
    made = []

    class Page(list):
        """A list with weak references."""

    def page(number):
        values = Page([number])
        made.append(weakref.ref(values))
        return ps.values(values)

    def there(_):
        return sum(page() is not None for page in made)

    gc.disable()
    try:
        pages = ps.pipe(ps.values(range(9)), ps.map(page), ps.flatten(), ps.map(there), ps.collect())
        assert max(ps.run(pages, limit=1)) == 1
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize("name", READY)
def test_values_leave_no_memory(name):
    """A million values; a hundred thousand through modules that make many steps of the scheduler for each."""

    def blocks_of(count):
        """The blocks of memory in use after half of the values, and at the end."""
        blocks = []

        def look():
            gc.collect()
            blocks.append(sys.getallocatedblocks())

        soak(ps.pipe(ps.values(n * 5 // count for n in looked_at(count, look)), READY[name]()))
        return blocks

    began = time.perf_counter()
    blocks_of(2_000)
    quick = time.perf_counter() - began < 0.04
    blocks = blocks_of(1_000_000 if quick else 100_000)
    # Modules that end early have read no further; what a window may keep at most is less than this.
    assert len(blocks) < 2 or blocks[1] - blocks[0] < 40_000

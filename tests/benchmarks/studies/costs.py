"""What a run costs that is checked, traced, shown or journalled, beside the same run without; an abort; a time.

    python -m tests.benchmarks --only checker       # or aborts, display, journal, times, trace

A ratio is the median over interleaved repeats, with its quartiles; absolute times are of this machine, now.
"""

import operator
import os
import statistics
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from unittest.mock import patch

import trio
from rich.console import Console

import pullstream as ps
from adapters.display import display as shown
from pullstream.engine.edge import kernel
from pullstream.engine.edge.lane import Lane
from pullstream.journal.store import JournalStore, Record, SinkState
from tests.benchmarks.peers import piped

REPEATS = 7


def timed(function, clock=time.perf_counter):
    start = clock()
    function()
    return clock() - start


def compare(name, baseline, candidate, clock=time.perf_counter):
    """Print the candidate's time as a ratio to the baseline's, run in turns and in changing order."""
    ratios, seconds = [], []
    for repeat in range(REPEATS):
        took = {}
        for function in (baseline, candidate)[:: 1 if repeat % 2 else -1]:
            took[function] = timed(function, clock)
        ratios.append(took[candidate] / took[baseline])
        seconds.append(took[baseline])
    low, median, high = statistics.quantiles(ratios, n=4)
    print(f"{name:72} {min(seconds):7.3f} s x {median:5.2f}   ({low:.2f} to {high:.2f})", flush=True)


def itself(value):
    return value


async def called(value):
    return value


@ps.transformer
class Passing(ps.authoring.Kernel[int]):
    """A stage that is not made one loop with its neighbours."""

    async def produce(self, limit):
        return await self.upstream.ask(limit)


@ps.transformer
async def generated(upstream, ctx):
    """The same as a generator, which has a task of its own."""
    async for batch in ctx.batches(upstream):
        yield batch


def summed(size):
    """The pipeline of ready modules, at one time."""
    stages = ps.map(lambda n: n * 2), ps.take(size), ps.filter(lambda n: n % 3 == 0)
    return piped(ps.values(range(size)), *stages, ps.reduce(operator.add, 0))


def checker():
    """Compare *off* with a run whose kernels hand their lanes out as if there were no checker at all."""
    for limit, size in ((4096, 300_000), (16, 75_000), (1, 10_000)):
        pipeline = summed(size)

        def off(pipeline=pipeline, limit=limit):
            return ps.run(pipeline, limit=limit)

        def without(off=off):
            with patch.object(kernel, "first_lane", Lane):
                return off()

        on = lambda pipeline=pipeline, limit=limit: ps.run(pipeline, limit=limit, check=True)  # noqa: E731
        compare(f"values -> map -> take -> filter -> sum at limit {limit}, check=True", off, on)
        compare("  the same with check=False, against no checker in the code", without, off)
    source = ps.values(range(75_000), time=lambda n: n // 50)
    keyed = piped(source, ps.count_by_key(lambda n: n % 10), ps.collect())
    compare("count by key in 1,500 times, check=True", lambda: ps.run(keyed), lambda: ps.run(keyed, check=True))


def trace():
    """Measure how long a traced run takes, and how large its trace is."""
    path = Path(tempfile.mkdtemp()) / "run.ndjson"
    source = ps.values(range(3_000), time=lambda n: n // 10)
    pipelines = {
        "values -> map -> take -> filter -> sum": summed(3_000),
        "values -> two async generators -> drain": piped(source, generated(), generated(), ps.drain()),
        "300 times -> map_async -> count_by_key": piped(source, ps.map_async(called, 2), ps.count_by_key(), ps.drain()),
    }
    for limit in (1, 4096):
        for name, made in pipelines.items():
            run = lambda made=made, limit=limit, **options: ps.run(made, limit=limit, **options)  # noqa: E731
            compare(f"{name}, limit {limit}, trace=", run, lambda run=run: run(trace=path))
            events = len(path.read_text().splitlines())
            print(f"  {events} events of {path.stat().st_size / events:.0f} bytes")


def display():
    """Compare processor time with the display on a terminal to that without."""

    def counted(size, per_time, *between):
        source = ps.values(range(size), time=lambda n: n // per_time)
        return piped(source, *between, ps.map(itself), ps.count_by_key(lambda n: n % 3), ps.drain())

    with Path(os.devnull).open("w") as nowhere:
        console = Console(file=nowhere, force_terminal=True, width=100, height=40)
        for name, made in (
            ("synchronous, a time per 100,000 values", counted(4_000_000, 100_000)),
            ("a time per 100 values", counted(800_000, 100)),
            ("a time per 10 values", counted(120_000, 10)),
            ("ten tasks that hand on to each other", counted(30_000, 10_000, *[ps.prefetch(10)] * 10)),
        ):
            run = lambda made=made, beside=None: ps.run(made, beside=beside)  # noqa: E731
            compare(name, run, lambda run=run: run(beside=shown(console=console)), time.process_time)


def journal():
    """Compare runs with a journal to those without; measure a commit, and how fast a run gets past what is done."""
    with tempfile.TemporaryDirectory() as made:
        folder, fresh = Path(made), count()
        per_thousand = ps.values(range(1_000_000), time=lambda n: n // 1000)
        one_each = ps.values(range(20_000), time=itself)
        for name, pipeline in {
            "a million values, 1000 a time, by key": piped(per_thousand, ps.count_by_key(lambda n: n % 10), ps.drain()),
            "a million values, 1000 a time, scan": piped(per_thousand, ps.scan(ps.agg.sum()), ps.drain()),
            "20,000 times of one value, counted": piped(one_each, ps.count_by_key(), ps.drain()),
            "20,000 times of one value, running by key": piped(
                one_each, ps.accumulate(ps.agg.count(), key=lambda n: n % 100), ps.drain()
            ),
        }.items():
            run = lambda made=pipeline, **options: ps.run(made, **options)  # noqa: E731
            compare(name, run, lambda run=run: run(journal=folder / f"{next(fresh)}.journal"))
        store = JournalStore(folder / "store.journal")
        store.contents()
        for keys in (0, 100, 10_000):
            record = Record({0: SinkState(b"x" * 100)}, {1: {b"key %d" % n: b"x" * 50 for n in range(keys)}}, {})
            spent = statistics.median(timed(lambda record=record: store.write(record)) for _ in range(30))
            print(f"a record of one sink and {keys} keys of memory: {spent * 1000:.2f} ms")
        store.close()
        trio.run(paced, folder / "paced.journal")
        stopping = piped(per_thousand, ps.map(lambda n: n / (n < 999_999)), ps.drain())

        def past():
            try:
                ps.run(stopping, journal=folder / "done.journal")
            except ZeroDivisionError:
                return

        past()
        drained = piped(per_thousand, ps.map(itself), ps.drain())
        compare("a million values, drained, against dropped because they are done", lambda: ps.run(drained), past)


async def paced(path):
    """Count how often a run records that has a new time every half millisecond."""

    async def step(n):
        await trio.sleep(0.0005)
        return n

    pipeline = piped(ps.values(range(2000), time=itself), ps.map_async(step, 1), ps.drain())
    start = time.perf_counter()
    with patch.object(JournalStore, "write", autospec=True, side_effect=JournalStore.write) as write:
        await ps.arun(pipeline, journal=path)
    passed = time.perf_counter() - start
    print(f"2000 times in {passed:.2f} s are {write.call_count} records: {write.call_count / passed:.0f} a second")


def aborts():
    """Measure an abort, from the sink's call to its confirmation, through five stages in mid-stream."""

    async def call(n):
        await trio.lowlevel.checkpoint()
        return n + 1

    async def aborting(upstream, ctx):
        await upstream.ask(1)
        start = time.perf_counter()
        await upstream.abort()
        return (time.perf_counter() - start) * 1e6

    async def median(stage):
        program = piped(ps.integers(), *(stage() for _ in range(5)), ps.sink(aborting)())
        times = []
        for _ in range(500):
            async with program.open() as running:
                times.append(await running.result())
        return statistics.median(times)

    kinds = {"kernels": Passing, "generators": generated, "map_async(call, 16)": lambda: ps.map_async(call, 16)}
    for name, stage in kinds.items():
        print(f"abort through five {name:24} {trio.run(median, stage):8.0f} µs")


def times():
    """Measure times of one record each, through modules that keep times, and through long rows of stages."""
    many = ps.values(range(1_000_000), time=lambda n: n // 5_000)
    looked = piped(many, ps.map(itself), ps.filter(itself), ps.drain())

    async def look(running):
        running.progress.explain(0)

    compare("200 times of 5,000 values, looked at", lambda: ps.run(looked), lambda: ps.run(looked, beside=look))
    counted = ps.count_by_key
    rows = {
        "values -> drain": [],
        "epochs(1) of one time": [ps.map_time(lambda _: 0), ps.stamp_epochs(1)],
        "map_time": [ps.map_time(itself)],
        **{f"count_by_key, {n} in a row": [counted()] * n for n in (1, 2, 5)},
        "reduce_by_time": [ps.reduce_by_time(ps.agg.count())],
        "unique_by_time": [ps.unique_by_time()],
        "sort_by_time": [ps.sort_by_time()],
        "accumulate": [ps.accumulate(ps.agg.count())],
        "count_by_key below map_async": [ps.map_async(called, 1), counted()],
        # The sidecar's cost follows the observers, not the stages.
        **{f"{n} stages of map": [ps.map(itself)] * n + [counted()] for n in (10, 100)},
        **{f"{n} stages of delay": [ps.delay(1)] * n + [counted()] for n in (10, 100)},
    }
    for name, modules in rows.items():
        size = 5_000 if "stages" in name else 20_000
        pipeline = piped(ps.values(range(size), time=itself), *modules, ps.drain())
        best = min(timed(lambda pipeline=pipeline: ps.run(pipeline), time.process_time) for _ in range(5))
        print(f"{name:40} {best / size * 1e6:8.1f} µs a time of one record", flush=True)


if __name__ == "__main__":
    {study.__name__: study for study in (aborts, checker, display, journal, times, trace)}[sys.argv[1]]()

"""What a journal costs: runs with one against the same without, a commit, and getting past what is done.

    python -m tests.benchmarks --only journal

Ratios are medians over interleaved repeats; absolute times are of this machine and its disk, now.
"""

import statistics
import tempfile
import time
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import trio

import pullstream as ps
from pullstream import agg
from pullstream.journal.store import Entry, Record, Store

REPEATS = 5
VALUES = 1_000_000
TIMES = 20_000


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(name: str, without: Callable[[], object], with_journal: Callable[[], object]) -> None:
    """Print the time of a run with a journal as a ratio to that of one without, run in turns."""
    pairs = [(timed(without), timed(with_journal)) for _ in range(REPEATS)]
    ratio = statistics.median(b / a for a, b in pairs)
    first, second = (min(pair[n] for pair in pairs) for n in (0, 1))
    print(f"{name:75} {first:8.3f} s {second:8.3f} s  {ratio:.2f} x", flush=True)


def per_thousand() -> ps.Source[int]:
    return ps.values(range(VALUES), time=lambda n: n // 1000)


def one_each() -> ps.Source[int]:
    return ps.values(range(TIMES), time=lambda n: n)


PIPELINES: dict[str, Callable[[], ps.Pipeline[Any]]] = {
    f"{VALUES} values, 1000 a time, counted by key": lambda: ps.pipe(
        per_thousand(), ps.count_by_key(lambda n: n % 10), ps.drain()
    ),
    f"{VALUES} values, 1000 a time, scan": lambda: ps.pipe(per_thousand(), ps.scan(agg.sum()), ps.drain()),
    f"{TIMES} times of one value, counted": lambda: ps.pipe(one_each(), ps.count_by_key(), ps.drain()),
    f"{TIMES} times of one value, running by key": lambda: ps.pipe(
        one_each(), ps.accumulate(agg.count(), key=lambda n: n % 100), ps.drain()
    ),
}


def runs(folder: Path) -> None:
    fresh = count()
    for name, pipeline in PIPELINES.items():
        compare(
            name,
            lambda made=pipeline: ps.run(made()),
            lambda made=pipeline: ps.run(made(), journal=folder / f"{next(fresh)}.journal"),
        )


def records(folder: Path) -> None:
    """How often a run records, and what of its time is spent on it."""

    async def step(n: int) -> int:
        await trio.sleep(0.0005)
        return n

    async def main() -> None:
        pipeline = ps.pipe(ps.values(range(2000), time=lambda n: n), ps.map_async(step, 1), ps.drain())
        start = time.perf_counter()
        async with pipeline.open(journal=folder / "paced.journal") as running:
            await running.result()
            keeper: Any = running._run.scope.sidecar.keeper
        passed = time.perf_counter() - start
        print(f"2000 times in {passed:.2f} s are {keeper.records} records: {keeper.records / passed:.0f} a second")

    trio.run(main)


def a_record(folder: Path) -> None:
    store = Store(folder / "store.journal")
    store.contents()
    for keys in (0, 100, 10_000):
        memory = {1: {b"key %d" % n: b"x" * 50 for n in range(keys)}}
        record = Record({0: Entry(b"x" * 100)}, memory, {})
        spent = statistics.median(timed(lambda record=record: store.write(record)) for _ in range(30))
        print(f"a record of one sink and {keys} keys of memory: {spent * 1000:.2f} ms")
    store.close()


def past_what_is_done(folder: Path) -> None:
    """How fast values that are done are dropped at their source, against reading them for nothing."""

    def stop(n: int) -> int:
        if n == VALUES - 1:
            raise ArithmeticError
        return n

    def run(journal: Path) -> None:
        try:
            ps.run(ps.pipe(per_thousand(), ps.map(stop), ps.drain()), journal=journal)
        except ArithmeticError:
            return

    journal = folder / "done.journal"
    run(journal)
    compare(
        f"{VALUES} values, drained, against dropped because they are done",
        lambda: ps.run(ps.pipe(per_thousand(), ps.map(lambda n: n), ps.drain())),
        lambda: run(journal),
    )


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        a_record(Path(made))
        runs(Path(made))
        records(Path(made))
        past_what_is_done(Path(made))

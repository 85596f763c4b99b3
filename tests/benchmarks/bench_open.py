"""What it costs to open a small pipeline and have its result, against a trio nursery with one task.

    python tests/benchmarks/bench_open.py

Nobody looks at the first run, so it has no tracker; at the second somebody does, once. Every figure is a ratio, the
median over interleaved repeats, of processor time, which what else runs on the machine changes little.
"""

import statistics
import sys
import time
from collections.abc import Awaitable, Callable

import trio

import pullstream as ps

REPEATS = 60
TIMES = 30

PIPELINE = ps.pipe(
    ps.values(range(100)), ps.map(lambda n: n + 1), ps.filter(lambda n: n % 2), ps.take(1_000), ps.collect()
)


async def nothing() -> None:
    """A task that ends at once."""


async def nursery() -> None:
    async with trio.open_nursery() as tasks:
        tasks.start_soon(nothing)


async def run() -> None:
    async with PIPELINE.open() as running:
        await running.result()


async def run_looked_at() -> None:
    async with PIPELINE.open() as running:
        running.progress.explain(0)
        await running.result()


async def seconds(call: Callable[[], Awaitable[None]]) -> float:
    """How long a call takes, of the processor's time."""
    start = time.thread_time()
    for _ in range(TIMES):
        await call()
    return (time.thread_time() - start) / TIMES


async def main() -> None:
    rows = [[await seconds(call) for call in (nursery, run, run_looked_at)] for _ in range(REPEATS)]
    base = statistics.median(row[0] for row in rows)
    for name, column in (("open() to result, five modules, 100 values", 1), ("  the same, looked at once", 2)):
        ratio = statistics.median(row[column] / row[0] for row in rows)
        cost = statistics.median(row[column] for row in rows)
        print(f"{name:<45} x {ratio:5.1f}   {cost * 1e6:6.0f} us   (a nursery with one task {base * 1e6:.0f})")


if __name__ == "__main__":
    sys.exit(trio.run(main))

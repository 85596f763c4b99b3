"""What a trace costs when it is written, with its verdict, and how large it is.

    python -m tests.benchmarks --only trace

Every figure is the ratio of a traced run to the same run that is not, the median over interleaved repeats. Ready
modules in a row pass a value on in a microsecond or two, in which no line of text is written; a module of the user's
own, as an async generator, takes its time.
"""

import operator
import statistics
import sys
import tempfile
import time
from pathlib import Path

import pullstream as ps

REPEATS = 7
COUNT = 3_000


@ps.transformer
async def passes(upstream, ctx):
    async for batch in ctx.batches(upstream):
        yield batch


async def called(value):
    return value


PIPELINES = {
    "values -> map -> take -> filter -> sum": lambda: ps.pipe(
        ps.values(range(COUNT)),
        ps.map(lambda n: n * 2),
        ps.take(COUNT),
        ps.filter(lambda n: n % 3 == 0),
        ps.reduce(operator.add, 0),
    ),
    "values -> two async generators -> drain": lambda: ps.pipe(ps.values(range(COUNT)), passes(), passes(), ps.drain()),
    "values of 300 times -> map_async -> count_by_key": lambda: ps.pipe(
        ps.values(range(COUNT), time=lambda n: n // 10),
        ps.map_async(called, 2),
        ps.count_by_key(lambda n: n % 3),
        ps.drain(),
    ),
}


def main() -> None:
    path = Path(tempfile.mkdtemp()) / "run.ndjson"
    for limit in (1, 4096):
        for name, make in PIPELINES.items():
            ratios = []
            for repeat in range(REPEATS):
                took = {}
                for options in ({}, {"trace": path})[:: 1 if repeat % 2 else -1]:
                    start = time.perf_counter()
                    ps.run(make(), limit=limit, **options)
                    took[bool(options)] = time.perf_counter() - start
                ratios.append(took[True] / took[False])
            events = len(path.read_text().splitlines())
            size = path.stat().st_size / events
            print(
                f"{name:<52} limit {limit:<5} x {statistics.median(ratios):5.2f}  {events} events of {size:.0f} bytes"
            )


if __name__ == "__main__":
    sys.exit(main())

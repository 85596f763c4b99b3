"""What the checker costs when it watches, and that it costs nothing when it does not.

    python -m tests.benchmarks --only checker

Every figure is a ratio to its baseline, the median over interleaved repeats. *Off* is compared with a run whose kernels
hand their lanes out as if there were no checker at all.
"""

import operator
import statistics
import sys
import time
from collections.abc import Callable
from unittest.mock import patch

import pullstream as ps
from pullstream.engine.edge import kernel
from pullstream.engine.edge.lane import Lane

REPEATS = 15
COUNT = 300_000


def compare(name: str, baseline: Callable[[], object], candidate: Callable[[], object]) -> None:
    """Print the candidate's time as a ratio to the baseline's, run in turns and in changing order."""
    ratios: list[float] = []
    for repeat in range(REPEATS):
        times = {}
        for function in (baseline, candidate)[:: 1 if repeat % 2 else -1]:
            start = time.perf_counter()
            function()
            times[function] = time.perf_counter() - start
        ratios.append(times[candidate] / times[baseline])
    low, median, high = (statistics.quantiles(ratios, n=4)[i] for i in range(3))
    print(f"{name:<64} x {median:5.2f}   ({low:.2f} to {high:.2f})")


def main() -> None:
    for limit, count in ((4096, COUNT), (16, COUNT // 4), (1, COUNT // 30)):
        data = range(count)
        pipeline = ps.pipe(
            ps.values(data),
            ps.map(lambda n: n * 2),
            ps.take(count),
            ps.filter(lambda n: n % 3 == 0),
            ps.reduce(operator.add, 0),
        )

        def off(pipeline=pipeline, limit=limit):
            return ps.run(pipeline, limit=limit)

        def on(pipeline=pipeline, limit=limit):
            return ps.run(pipeline, limit=limit, check=True)

        def without(off=off):
            with patch.object(kernel, "first_lane", Lane):
                return off()

        compare(f"values -> map -> take -> filter -> sum at limit {limit}, check=True", off, on)
        compare("  the same with check=False, against no checker in the code", without, off)

    timed = ps.pipe(
        ps.values(range(COUNT // 4), time=lambda n: n // 50),
        ps.reduce_by_key(ps.Fold(int, lambda count, _: count + 1), key=lambda n: n % 10),
        ps.collect(),
    )
    compare("count by key in 1,500 times, check=True", lambda: ps.run(timed), lambda: ps.run(timed, check=True))


if __name__ == "__main__":
    sys.exit(main())

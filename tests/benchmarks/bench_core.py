"""What a value costs: pipelines against the loops one would write by hand.

    python tests/benchmarks/bench_core.py

Every figure is a ratio to its baseline, the median over interleaved repeats; absolute times are of this machine, now.
"""

import operator
import statistics
import sys
import time
from collections.abc import Callable
from functools import reduce

import pullstream as ps

REPEATS = 15
COUNT = 1_000_000


def double(n: int) -> int:
    return n * 2


def third(n: int) -> bool:
    return n % 3 == 0


def loop(data: list[int]) -> int:
    """What one would write by hand."""
    total = 0
    for n in data:
        doubled = double(n)
        if third(doubled):
            total = operator.add(total, doubled)
    return total


def compare(name: str, baseline: Callable[[], object], candidate: Callable[[], object], count: int) -> None:
    """Print the candidate's time as a ratio to the baseline's, run in turns."""
    assert baseline() == candidate(), f"{name}: the two give different results"
    pairs: list[tuple[float, float]] = []
    for _ in range(REPEATS):
        times: list[float] = []
        for function in (baseline, candidate):
            start = time.perf_counter()
            function()
            times.append(time.perf_counter() - start)
        pairs.append((times[0], times[1]))
    ratio = statistics.median(b / a for a, b in pairs)
    base, cost = (statistics.median(column) / count * 1e9 for column in zip(*pairs, strict=True))
    print(f"{name:<58} x {ratio:5.2f}   {cost:8.0f} ns a value   (baseline {base:.0f})")


def main() -> None:
    data = list(range(COUNT))

    pipeline = ps.pipe(ps.values(data), ps.map(double), ps.filter(third), ps.reduce(operator.add, 0))
    compare("values -> map -> filter -> sum, default limit", lambda: loop(data), lambda: ps.run(pipeline), COUNT)
    compare("the same at limit 16", lambda: loop(data), lambda: ps.run(pipeline, limit=16), COUNT)

    small = data[: COUNT // 20]
    short = ps.pipe(ps.values(small), ps.map(double), ps.filter(third), ps.reduce(operator.add, 0))

    compare("the same at limit 1, 50,000 values", lambda: loop(small), lambda: ps.run(short, limit=1), len(small))

    ten = ps.pipe(ps.values(data), *[ps.map(double)] * 10, ps.reduce(max, 0))  # type: ignore[call-overload]

    def ten_builtin() -> int:
        values = iter(data)
        for _ in range(10):
            values = map(double, values)
        return reduce(max, values, 0)

    compare("ten maps, against ten builtin maps", ten_builtin, lambda: ps.run(ten), COUNT)

    def counted() -> list[tuple[int, int]]:
        results: list[tuple[int, int]] = []
        for day in range(0, COUNT, 5000):
            table: dict[int, int] = {}
            for n in data[day : day + 5000]:
                key = n % 100
                table[key] = table[key] + 1 if key in table else 1
            results.extend(table.items())
        return results

    keyed = ps.pipe(
        ps.values(data, time=lambda n: n // 5000),
        ps.reduce_by_key(ps.Fold(int, lambda count, _: count + 1), key=lambda n: n % 100),
        ps.collect(),
    )
    compare("count by key in 200 times, against dicts", counted, lambda: ps.run(keyed), COUNT)


if __name__ == "__main__":
    sys.exit(main())

"""The growth of costs with stages, epochs, values, sources, outstanding times and keys, each with its slope.

`python -m tests.benchmarks.growing CURVE COUNT` is one measurement, of processor time and memory, in its own process.
"""

import json
import operator
import sys
import time
from collections.abc import Callable
from typing import Any

import attrs

import pullstream as ps
from tests.benchmarks.measuring import Failure, answered, megabytes
from tests.benchmarks.results import Curve, Results


def itself(n):
    return n


def more(n):
    return n + 1


def counting():
    return ps.reduce(lambda total, _: total + 1, 0)


def stages(count):
    return ps.pipe(ps.values(range(10_000)), *[ps.map(more)] * count, ps.drain()), None


def own_stages(count):
    @ps.transformer
    class Passing(ps.authoring.Kernel[int]):
        """A stage that is not fused into one loop with its neighbours."""

        async def produce(self, limit):
            return await self.upstream.ask(limit)

    return ps.pipe(ps.values(range(100_000)), *[Passing()] * count, ps.drain()), None


def epochs(count):
    return ps.pipe(ps.values(range(count), time=itself), ps.count_by_key(), counting()), count


def values(count):
    return ps.pipe(ps.values(range(count)), ps.map(more), ps.reduce(operator.add, 0)), count * (count + 1) // 2


def sources(count):
    return ps.pipe(ps.merge(*[ps.values(range(100))] * count), counting()), 100 * count


def outstanding(count):
    rows = [number - number * 7_919 % count for number in range(100_000)]
    stamped = ps.stamp(itself, lateness=count)
    summed = ps.reduce_by_time(ps.agg.count()), ps.reduce(operator.add, 0)
    return ps.pipe(ps.values(rows), stamped, *summed), len(rows)


def keys(count):
    return ps.pipe(ps.values(range(count)), ps.count_by_key(), counting()), count


@attrs.frozen
class Growth:
    """A curve to measure: a function from a count to a program and its required result, or None."""

    says: str
    make: Callable[[int], Any]
    counts: tuple[int, ...]


CURVES = {
    "stages": Growth("maps in a row, 10,000 values", stages, (1, 10, 100, 1_000)),
    "own-stages": Growth("modules in a row that are not one loop, 100,000 values", own_stages, (1, 10, 100, 1_000)),
    "epochs": Growth("times of one value, each counted", epochs, (1, 100, 10_000, 1_000_000)),
    "values": Growth("values", values, (1_000_000, 10_000_000, 100_000_000)),
    "sources": Growth("sources merged, 100 values each", sources, (1, 10, 100, 1_000)),
    "outstanding": Growth("times that are open at once, 100,000 values", outstanding, (10, 1_000, 100_000)),
    "keys": Growth("keys counted", keys, (1_000, 10_000, 100_000, 1_000_000)),
}
PACES = {"full": slice(None), "quick": slice(-1), "smoke": slice(2)}


def measure(name: str, count: int) -> tuple[float, float]:
    program, wanted = CURVES[name].make(count)
    before, begin = megabytes(), time.process_time()
    found = ps.run(program)
    seconds = time.process_time() - begin
    if wanted is not None and found != wanted:
        raise Failure(f"wrong answer: {found} instead of {wanted}")
    return seconds, megabytes() - before


def grown(results: Results) -> None:
    """Measure all curves, and print each."""
    for name, growth in CURVES.items():
        counts = growth.counts[PACES[results.pace]]
        found: list[tuple[float, float]] = []
        try:
            for count in counts:
                found.append(answered("growing", name, str(count)))  # noqa: PERF401 - a failure keeps earlier ones
        except Failure as failure:
            results.troubles[f"growth {name}"] = f"at {counts[len(found)]:,}: {failure}"
        seconds, used = [one for one, _ in found], [one for _, one in found]
        curve = Curve(name, growth.says, list(counts[: len(found)]), seconds, used)
        results.curves.append(curve)
        costs = " ".join(f"{one:8.3f} s" for one in seconds)
        print(f"{name:12} {costs:48} slope {curve.slope(seconds):5.2f}  memory {curve.memory}", flush=True)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))

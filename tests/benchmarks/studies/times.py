"""What a time costs: epochs of one record, through modules that keep times.

    python -m tests.benchmarks --only times

Ratios are to the baseline, medians over interleaved repeats; absolute times are of this machine, now.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import pullstream as ps

REPEATS = 5
EPOCHS = 200
LINES = 2_000
RECORDS = 20_000


def timed(function: Callable[[], object]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(name: str, baseline: Callable[[], object], candidate: Callable[[], object]) -> None:
    """Print the candidate's time as a ratio to the baseline's, run in turns."""
    pairs = [(timed(baseline), timed(candidate)) for _ in range(REPEATS)]
    ratio = statistics.median(b / a for a, b in pairs)
    first, second = (min(pair[n] for pair in pairs) for n in (0, 1))
    print(f"{name:75} {first:8.3f} s {second:8.3f} s  {ratio:.2f} x", flush=True)


def itself(value: Any) -> Any:
    return value


def sidecar() -> None:
    """A pipeline of which nobody asks what is complete, and one that somebody looks at from its beginning."""
    source = ps.values(range(RECORDS * 50), time=lambda n: n // 5_000)
    pipeline = ps.pipe(source, ps.map(itself), ps.filter(itself), ps.drain())

    async def look(running: ps.types.Running[Any]) -> None:
        running.progress.explain(0)

    compare(
        "200 times of 5,000 values, not looked at and looked at",
        lambda: ps.run(pipeline),
        lambda: ps.run(pipeline, beside=look),
    )


def one_record() -> None:
    """Times of one record each, in microseconds for a time."""
    source = ps.values(range(RECORDS), time=itself)
    stages: dict[str, list[Any]] = {
        "values -> drain": [],
        "epochs(1) of one time, instead of times from the source": [ps.map_time(lambda _: 0), ps.stamp_epochs(1)],
        "map_time": [ps.map_time(itself)],
        "count_by_key": [ps.count_by_key()],
        "reduce_by_time": [ps.reduce_by_time(ps.agg.count())],
        "distinct": [ps.unique_by_time()],
        "sort_by_time": [ps.sort_by_time()],
        "accumulate": [ps.accumulate(ps.agg.count())],
        "count_by_key twice": [ps.count_by_key(), ps.count_by_key()],
        "count_by_key below map_async": [ps.map_async(_later, 1), ps.count_by_key()],
    }
    for name, modules in stages.items():
        pipeline = ps.pipe(source, *modules, ps.drain())
        best = min(timed(lambda pipeline=pipeline: ps.run(pipeline)) for _ in range(REPEATS))
        print(f"{RECORDS} times of one record: {name:60} {best / RECORDS * 1e6:8.1f} µs a time", flush=True)
    kept = ps.pipe(source, ps.at_completion(lambda _time, _values: None))
    best = min(timed(lambda: ps.run(kept)) for _ in range(REPEATS))
    print(f"{RECORDS} times of one record: {'at_completion':60} {best / RECORDS * 1e6:8.1f} µs a time", flush=True)


async def _later(value: Any) -> Any:
    return value


def length() -> None:
    """Modules that keep times through a row of them: the sidecar's cost follows the observers, not the stages."""
    source = ps.values(range(RECORDS // 4), time=itself)
    for name, stage in (("map", ps.map(itself)), ("delay", ps.delay(1))):
        ten = ps.pipe(source, *[stage] * 10, ps.count_by_key(), ps.drain())  # type: ignore[call-overload]
        hundred = ps.pipe(source, *[stage] * 100, ps.count_by_key(), ps.drain())  # type: ignore[call-overload]
        for stages, pipeline in ((10, ten), (100, hundred)):
            best = min(timed(lambda pipeline=pipeline: ps.run(pipeline)) for _ in range(3))
            print(
                f"{stages:3} stages of {name}: {best / (RECORDS // 4) * 1e6:8.1f} µs a time of one record", flush=True
            )


def used(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """The least processor time of some calls: what others do on the machine only adds to it."""
    least = float("inf")
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        function()
        least = min(least, time.process_time() - start)
    return least


def modules_in_a_row() -> None:
    """Times of one record each through modules per time: what each further one costs, beside the first."""
    source = ps.values(range(RECORDS), time=itself)
    costs: list[float] = []
    for modules in (0, 1, 2, 5):
        pipeline = ps.pipe(source, *[ps.count_by_key()] * modules, ps.drain())  # type: ignore[call-overload]
        costs.append(used(lambda pipeline=pipeline: ps.run(pipeline)) / RECORDS * 1e6)
        print(f"{RECORDS} times of one record, {modules} modules per time: {costs[-1]:8.1f} µs a time", flush=True)
    first, second, fifth = costs[1] - costs[0], costs[2] - costs[1], (costs[3] - costs[2]) / 3
    print(f"  the second module {second / first:.2f} x the first, each of the next three {fifth / first:.2f} x")


def main() -> None:
    sidecar()
    one_record()
    length()
    modules_in_a_row()


if __name__ == "__main__":
    sys.exit(main())

"""What a time costs: word counts per epoch against the loop one would write by hand, and epochs of one record.

    python tests/benchmarks/bench_time.py

Ratios are to the baseline, medians over interleaved repeats; absolute times are of this machine, now.
"""

import random
import statistics
import sys
import time
from collections import Counter
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


def lines_of_text() -> list[str]:
    chance = random.Random(0)
    words = [f"word{number}" for number in range(2_000)]
    return [" ".join(chance.choices(words, k=8)) for _ in range(EPOCHS * LINES)]


def counted_by_hand(lines: list[str]) -> list[tuple[int, tuple[str, int]]]:
    counts: dict[int, Counter[str]] = {}
    for number, line in enumerate(lines):
        epoch = number // LINES
        if epoch not in counts:
            counts[epoch] = Counter()
        for word in line.split():
            counts[epoch][word] += 1
    return [(epoch, pair) for epoch, table in counts.items() for pair in table.items()]


def counted_by_update(lines: list[str]) -> list[tuple[int, tuple[str, int]]]:
    """The same, as fast as it goes."""
    results: list[tuple[int, tuple[str, int]]] = []
    for epoch in range(EPOCHS):
        table: Counter[str] = Counter()
        for line in lines[epoch * LINES : (epoch + 1) * LINES]:
            table.update(line.split())
        results += [(epoch, pair) for pair in table.items()]
    return results


def itself(value: Any) -> Any:
    return value


def word_counts() -> None:
    lines = lines_of_text()
    words = [ps.values(lines), ps.epochs(LINES), ps.flat_map(str.split)]
    counted = ps.pipe(*words, ps.count_by_key(), ps.collect(timed=True))  # type: ignore[call-overload]
    fold = ps.Fold(int, lambda n, _: n + 1)
    folded = ps.pipe(*words, ps.reduce_by_key(fold, key=itself), ps.collect(timed=True))  # type: ignore[call-overload]
    assert ps.run(counted) == ps.run(folded) == counted_by_hand(lines) == counted_by_update(lines)
    name = f"word count, {EPOCHS} epochs of {LINES} lines"
    compare(f"{name}: count_by_key, against counts[word] += 1", lambda: counted_by_hand(lines), lambda: ps.run(counted))
    compare("  against Counter.update(line.split())", lambda: counted_by_update(lines), lambda: ps.run(counted))
    compare("  reduce_by_key, against counts[word] += 1", lambda: counted_by_hand(lines), lambda: ps.run(folded))


def sidecar() -> None:
    """A pipeline of which nobody asks what is complete, and one that somebody looks at from its beginning."""
    source = ps.values(range(RECORDS * 50), time=lambda n: n // 5_000)
    pipeline = ps.pipe(source, ps.map(itself), ps.filter(itself), ps.drain())

    async def look(running: ps.Running[Any]) -> None:
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
        "epochs(1) of one time, instead of times from the source": [ps.restamp(lambda _: 0), ps.epochs(1)],
        "restamp": [ps.restamp(itself)],
        "count_by_key": [ps.count_by_key()],
        "reduce_by_time": [ps.reduce_by_time(ps.agg.count())],
        "distinct": [ps.distinct()],
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


def main() -> None:
    word_counts()
    sidecar()
    one_record()
    length()


if __name__ == "__main__":
    sys.exit(main())

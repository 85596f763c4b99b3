"""What a time costs: word counts per epoch against the loop one would write by hand, and epochs of one record.

    python tests/benchmarks/bench_time.py [--only rows] [--rows 10000000]

Ratios are to the baseline, medians over interleaved repeats; absolute times are of this machine, now. Of rows that each
have a time of their own what counts is processor time, the least of some runs.
"""

import argparse
import gc
import random
import statistics
import sys
import time
import tracemalloc
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


# ---- times of their own, a timestamp a row: processor time, each against the plain loop in the same run


Row = tuple[float, str]


def stamped_rows(count: int, *, jitter: float = 60.0, late: float = 0.001, keys: int = 100) -> list[Row]:
    """Rows ten a second, as they arrive: each some of `jitter` seconds old, and one in a thousand older than that."""
    chance = random.Random(0)
    rows: list[Row] = []
    for number in range(count):
        age = 3 * jitter if chance.random() < late else chance.uniform(0, jitter)
        rows.append((number / 10 - age, f"key{chance.randrange(keys)}"))
    return rows


def at(row: Row) -> float:
    return row[0]


def by(row: Row) -> str:
    return row[1]


def minute(row: Row) -> float:
    return row[0] // 60


def counted_in_a_loop(rows: list[Row]) -> dict[tuple[float, str], int]:
    counts: dict[tuple[float, str], int] = {}
    for second, name in rows:
        place = (second // 300, name)
        counts[place] = counts.get(place, 0) + 1
    return counts


def used(function: Callable[[], object], repeats: int = REPEATS) -> float:
    """The least processor time of some calls: what others do on the machine only adds to it."""
    least = float("inf")
    for _ in range(repeats):
        gc.collect()
        start = time.process_time()
        function()
        least = min(least, time.process_time() - start)
    return least


def against_the_loop(name: str, rows: list[Row], *modules: Any, source: Any = None) -> None:
    pipeline = ps.pipe(ps.values(rows) if source is None else source, *modules, ps.drain())  # type: ignore[call-overload]
    repeats = REPEATS if len(rows) <= RECORDS * 2 else 2
    loop, took = used(lambda: counted_in_a_loop(rows), repeats), used(lambda: ps.run(pipeline), repeats)
    print(f"{name:75} {took / len(rows) * 1e6:8.2f} µs a row  {took / loop:6.1f} x the loop", flush=True)


def dropping(lateness: float = 60.0) -> Any:
    return ps.stamp(at, lateness=lateness, late="drop")


def windows() -> Any:
    return ps.tumbling(300, ps.agg.count(), key=by)


def rows_with_times() -> None:
    """Windows and the like over rows that each have a time of their own."""
    for count in (10_000, 40_000):
        rows = stamped_rows(count)
        name = f"{count} rows, 60 s of jitter: "
        against_the_loop(f"{name}sorted, windows", sorted(rows), ps.stamp(at), windows())
        against_the_loop(
            f"{name}sorted, of the source", sorted(rows), windows(), source=ps.values(sorted(rows), time=at)
        )
        against_the_loop(f"{name}windows, late dropped", rows, dropping(), windows())
        aside = ps.stamp(at, lateness=60.0, late=ps.drain())
        against_the_loop(f"{name}windows, late to a sink", rows, aside, windows())
        against_the_loop(f"{name}sliding, 5 a row", rows, dropping(), ps.sliding(300, 60, ps.agg.count(), key=by))
        against_the_loop(f"{name}sessions", rows, dropping(), ps.sessions(5, ps.agg.count(), key=by))
        minutes = ps.stamp(minute, lateness=1.0, late="drop")
        against_the_loop(f"{name}reduce_by_key per minute", rows, minutes, ps.reduce_by_key(ps.agg.count(), key=by))
        against_the_loop(f"{name}sort_by_time", rows, dropping(), ps.sort_by_time())
        against_the_loop(f"{name}distinct", rows, dropping(), ps.distinct(by))


def growth_of_rows(most: int) -> None:
    """What windows cost by jitter, by keys and by rows; and the memory that they need at most."""
    for jitter in (1, 60, 3_600, 86_400):
        rows = stamped_rows(RECORDS * 2, jitter=jitter)
        against_the_loop(f"{len(rows)} rows, {jitter} s of jitter", rows, dropping(jitter), windows())
    for keys in (1, 100, 10_000, 100_000):
        rows = stamped_rows(RECORDS * 2, keys=keys)
        against_the_loop(f"{len(rows)} rows, {keys} keys", rows, dropping(), windows())
    count = 10_000
    while count <= most:
        rows = stamped_rows(count)
        against_the_loop(f"{count} rows", rows, dropping(), windows())
        tracemalloc.start()
        ps.run(ps.pipe(ps.values(rows), dropping(), windows(), ps.drain()))
        print(f"  at most {tracemalloc.get_traced_memory()[1] / 1e6:.1f} MB beside the rows", flush=True)
        tracemalloc.stop()
        count *= 10


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="windows over so many rows at most")
    parser.add_argument("--only", choices=["epochs", "rows"], help="a part of it")
    options = parser.parse_args()
    if options.only != "rows":
        word_counts()
        sidecar()
        one_record()
        length()
    if options.only != "epochs":
        modules_in_a_row()
        rows_with_times()
        growth_of_rows(options.rows)


if __name__ == "__main__":
    sys.exit(main())

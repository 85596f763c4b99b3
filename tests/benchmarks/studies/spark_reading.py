"""What it costs to bring a DataFrame's rows to the driver, against Spark's own ways.

    python -m tests.benchmarks --only spark_reading -- [--rows N ...] [--rounds N] [--frame NAME ...] [--master MASTER]
        [--memory 4g]

Every way reads the same DataFrame in turns, a round of warming up first; medians of the rounds. Ratios are of rows a
second: above 1 is faster than the baseline. `heap` is what is left in Java after the last read, and a collection.

Frames: `narrow` (a long, a double, a string and a timestamp), `wide` (twenty columns, half of them strings), `shuffled`
(narrow, behind a shuffle) and `slow` (narrow, with a last stage that takes several times what is read). Of a shuffled
one it is also measured what it costs to see that a shuffle runs again: "unwatched" does not look, "watched, compared"
looks and makes digests of all rows, wherever Spark runs; what that costs is said below the table. On a cluster of
processes here, say `--master 'local-cluster[4,1,1024]'`.
"""

import argparse
import gc
import statistics
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import pullstream as ps
from adapters import spark
from adapters.spark.reading.partitions import Partitions

PARTITIONS = 16
NARROW = "id", "cast(id AS double) / 3 AS value", "concat('row', id) AS text", "timestamp_seconds(id) AS at"
WIDE = tuple(f"concat('row', id + {n}) AS text{n}" if n % 2 else f"id * {n + 1} AS number{n}" for n in range(20))
SLOW = (*NARROW[:2], "sha2(sha2(sha2(sha2(cast(id AS string), 512), 512), 512), 512) AS text", NARROW[3])
Way = Callable[[], int]


def frame_of(session: Any, name: str, rows: int) -> Any:
    columns = {"wide": WIDE, "slow": SLOW}.get(name, NARROW)
    frame = session.range(0, rows, 1, PARTITIONS).selectExpr(*columns)
    return frame.repartition(PARTITIONS, "id") if name == "shuffled" else frame


def count(source: Any) -> int:
    """How many rows come, as batches."""
    return ps.run(ps.pipe(source, ps.reduce(lambda total, batch: total + batch.num_rows, 0)))


def length(source: Any) -> int:
    """How many values come, counted by the batch."""
    return ps.run(ps.pipe(source, ps.map_batches(lambda values: [len(values)]), ps.reduce(int.__add__, 0)))


@contextmanager
def watching(*, at_all: bool) -> Generator[None]:
    """Shuffles that run again are not looked for, or are, with digests of all that comes."""
    plan: Any = getattr(Partitions, "_open")  # noqa: B009 - what is private is switched here alone

    def changed(reading: Any) -> None:
        plan(reading)
        assert reading._reruns is not None, "it is behind a shuffle"
        reading._digests = at_all
        if not at_all:
            reading._reruns = None

    with patch.object(Partitions, "_open", changed):
        yield


def ways(frame: Any, name: str) -> dict[str, Way]:
    def read(as_: Any) -> Any:
        return spark.from_dataframe(frame, as_=as_)

    def watched(*, at_all: bool) -> int:
        with watching(at_all=at_all):
            return count(read("batches"))

    # A query of its own each time, as ours are: the same one would find what its last run has shuffled.
    found: dict[str, Way] = {
        "toArrow()": lambda: frame.select("*").toArrow().num_rows,
        "batches": lambda: count(read("batches")),
    }
    if name == "shuffled":
        found["batches, unwatched"] = lambda: watched(at_all=False)
        found["batches, watched, compared"] = lambda: watched(at_all=True)
    else:
        found |= {form: lambda form=form: length(read(form)) for form in ("tuples", "rows", "dicts")}
        found["toPandas()"] = lambda: len(frame.select("*").toPandas())
    return found


def heap(session: Any) -> int:
    """Megabytes that Java keeps."""
    runtime = session._jvm.java.lang.Runtime.getRuntime()
    runtime.gc()
    return (runtime.totalMemory() - runtime.freeMemory()) >> 20


def measure(session: Any, name: str, rows: int, rounds: int) -> None:
    frame = frame_of(session, name, rows)
    candidates = {way: (rows, call) for way, call in ways(frame, name).items()}
    if name != "shuffled":
        # An order of magnitude slower: a part will do, read in as many partitions.
        small = frame_of(session, name, rows // 10)
        candidates["toLocalIterator()"] = rows // 10, lambda: sum(1 for _ in small.toLocalIterator())
    rates: dict[str, list[float]] = {way: [] for way in candidates}
    heaps: dict[str, int] = {}
    for turn in range(rounds + 1):
        for way, (expected, call) in candidates.items():
            gc.collect()
            start = time.perf_counter()
            found = call()
            seconds = time.perf_counter() - start
            assert found == expected, (way, found)
            if turn:
                rates[way].append(expected / seconds)
            if turn == rounds:
                heaps[way] = heap(session)
    print(f"\n{name}, {rows:,} rows, medians of {rounds} rounds; ratios are medians of the rounds' ratios")
    print(f"{'':32} {'rows/s':>12} {'to toArrow()':>14} {'heap, MB':>10}")
    for way, of_rounds in rates.items():
        ratio = compared(of_rounds, rates["toArrow()"])
        print(f"{way:32} {statistics.median(of_rounds):12,.0f} {ratio:14.2f} {heaps[way]:10}", flush=True)
    if (unwatched := rates.get("batches, unwatched")) is not None:
        for way in ("batches", "batches, watched, compared"):
            print(f"{way}: {1 / compared(rates[way], unwatched) - 1:+.1%} time over unwatched", flush=True)


def compared(own: Sequence[float], others: Sequence[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(rate / other for rate, other in zip(own, others, strict=True))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--frame", nargs="+", default=["narrow", "wide", "shuffled", "slow"])
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--memory", default="4g")
    given = parser.parse_args(arguments)
    # toArrow() has all rows in Java at once, which Spark would refuse above a gigabyte.
    config = {"spark.driver.memory": given.memory, "spark.driver.maxResultSize": "0"}
    session = spark.session(master=given.master, config=config)
    for name in given.frame:
        for rows in given.rows:
            measure(session, name, rows, given.rounds)
    session.stop()


if __name__ == "__main__":
    main()

"""What it costs to bring a DataFrame's rows to the driver, against Spark's own ways.

    python tests/benchmarks/bench_spark.py [rows [rounds]]

Every way reads the same DataFrame (a long, a double, a string and a timestamp in 16 partitions) in turns, a round of
warming up first; medians of the rounds. Ratios are of rows a second: above 1 is faster than the baseline. "counted in
the workers" is the floor of what goes through Python on the executors: nothing is sent to the driver.
"""

import gc
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import functions as sql

import pullstream as ps
from adapters import spark

ROUNDS = 5
COLUMNS = "id", "cast(id AS double) / 3 AS value", "concat('row', id) AS text", "timestamp_seconds(id) AS at"


def count(source: Any, size: Callable[[Any], int] = lambda _: 1) -> int:
    """How many rows come."""
    return ps.run(ps.pipe(source, ps.reduce(lambda total, value: total + size(value), 0)))


def length(source: Any) -> int:
    """How many values come, counted by the batch."""
    return ps.run(ps.pipe(source, ps.map_batches(lambda values: [len(values)]), ps.reduce(int.__add__, 0)))


def rows_of(batch: Any) -> int:
    return batch.num_rows


def counting() -> Callable[[Any], Any]:
    def function(batches: Any) -> Any:
        import pyarrow as pa

        yield pa.RecordBatch.from_arrays([pa.array([sum(batch.num_rows for batch in batches)])], ["rows"])

    return function


def ways(frame: Any) -> dict[str, Callable[[], int]]:
    def read(**options: Any) -> Any:
        return spark.from_dataframe(frame, **options)

    step = sql.expr("id div 10000")
    return {
        "toArrow()": lambda: frame.toArrow().num_rows,
        "toPandas()": lambda: len(frame.toPandas()),
        "counted in the workers": lambda: sum(row.rows for row in frame.mapInArrow(counting(), "rows long").collect()),
        "pushed, batches": lambda: count(read(as_="batches", route="pushed"), rows_of),
        "pushed, tuples": lambda: length(read(as_="tuples", route="pushed")),
        "pushed, rows": lambda: length(read(route="pushed")),
        "pushed, dicts": lambda: length(read(as_="dicts", route="pushed")),
        "pushed, batches, retry=buffer": lambda: count(read(as_="batches", route="pushed", retry="buffer"), rows_of),
        "pushed, rows, clock=partition": lambda: length(read(time=step, clock="partition", since=0)),
        "ordered, batches": lambda: count(read(as_="batches"), rows_of),
        "ordered, tuples": lambda: length(read(as_="tuples")),
        "ordered, rows": lambda: length(read()),
    }


def measure(rows: int, rounds: int) -> None:
    session = spark.session(master="local[2]")
    frame = session.range(0, rows, 1, 16).selectExpr(*COLUMNS)
    # toLocalIterator is an order of magnitude slower: a part will do, read in as many partitions.
    small = session.range(0, rows // 10, 1, 16).selectExpr(*COLUMNS)
    candidates: dict[str, tuple[int, Callable[[], int]]] = {name: (rows, way) for name, way in ways(frame).items()}
    candidates["toLocalIterator()"] = rows // 10, lambda: sum(1 for _ in small.toLocalIterator())
    rates: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(rounds + 1):
        for name, (expected, way) in candidates.items():
            gc.collect()
            start = time.perf_counter()
            found = way()
            seconds = time.perf_counter() - start
            assert found == expected, (name, found)
            if turn:
                rates[name].append(expected / seconds)
    print(f"{rows:,} rows, medians of {rounds} rounds; ratios are medians of the rounds' ratios")
    print(f"{'':32} {'rows/s':>12} {'to toArrow()':>14} {'to toLocalIterator()':>22}")
    for name, found in rates.items():
        ratios = [
            statistics.median(own / other for own, other in zip(found, rates[base], strict=True))
            for base in ("toArrow()", "toLocalIterator()")
        ]
        print(f"{name:32} {statistics.median(found):12,.0f} {ratios[0]:14.2f} {ratios[1]:22.1f}", flush=True)


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS
    measure(rows, rounds)


if __name__ == "__main__":
    main()

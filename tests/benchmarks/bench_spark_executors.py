"""What a row costs in Spark's workers: transformers against plain `mapInArrow`, and keys against `applyInArrow`.

    python tests/benchmarks/bench_spark_executors.py [rows]

Every figure is a ratio of rows per second to its baseline's, the median over interleaved repeats; absolute figures are
of this machine, now.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pullstream as ps
from adapters import spark

REPEATS = 3
PARTITIONS = 16
KEYS = 2_000


def run(frame: Any) -> None:
    """Compute it all, and drop it."""
    frame.write.format("noop").mode("overwrite").save()


def compare(name: str, baseline: Any, candidate: Any, rows: int) -> None:
    """Print the candidate's rows per second as a ratio to the baseline's, run in turns."""
    pairs: list[tuple[float, float]] = []
    for _ in range(REPEATS):
        times: list[float] = []
        for frame in (baseline, candidate):
            start = time.perf_counter()
            run(frame)
            times.append(time.perf_counter() - start)
        pairs.append((times[0], times[1]))
    ratio = statistics.median(a / b for a, b in pairs)
    base, rate = (rows / statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{name:<64} {ratio:5.2f} of it   {rate:>11,.0f} rows/s   (baseline {base:,.0f})", flush=True)


def identity(batches: Iterator[Any]) -> Iterator[Any]:
    """Nothing at all."""
    yield from batches


def by_hand(schema: Any) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Rows in Python, as one would write it: a tuple of every row, a function of it, and Arrow again."""

    def rows(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        types = [pa.int64(), pa.float64(), pa.string(), pa.timestamp("us", "UTC")]
        for batch in batches:
            columns = [column.to_pylist() for column in batch.columns[:3]]
            columns.append(batch.column(3).cast(pa.int64()).to_pylist())
            made = [(n + 1, x, s, t) for n, x, s, t in zip(*columns, strict=True)]
            turned = zip(*made, strict=True)
            arrays = [pa.array(column, kind) for column, kind in zip(turned, types, strict=True)]
            yield pa.RecordBatch.from_arrays(arrays, names=schema)

    return rows


def added(row: Any) -> tuple[Any, ...]:
    """The same function of a row."""
    n, x, s, t = row
    return n + 1, x, s, t


def counted(key: tuple[Any, ...], table: Any) -> Any:
    """A key's row for `applyInArrow`."""
    import pyarrow as pa

    return pa.table({"k": [key[0].as_py()], "total": [sum(table.column("id").to_pylist())]})


def main(rows: int) -> None:
    session = spark.session(app_name="bench")
    frame = session.range(0, rows, 1, PARTITIONS).selectExpr(
        "id", "id / 3 AS x", "concat('name ', id % 1000) AS s", "timestamp_seconds(id) AS t"
    )
    plain = frame.mapInArrow(identity, frame.schema)
    run(plain)
    print(f"{rows:,} rows of (long, double, string, timestamp) in {PARTITIONS} partitions")

    def on(*transformers: Any, **options: Any) -> Any:
        return frame.transform(spark.on_executors(*transformers, schema=frame.schema, **options))

    same = ps.map(lambda value: value)
    compare("mapInArrow identity: Arrow batches through map", plain, on(same, as_="batches"), rows)
    hand = frame.mapInArrow(by_hand(frame.columns), frame.schema)
    compare("mapInArrow identity: a loop over rows, by hand", plain, hand, rows)
    compare("mapInArrow identity: tuples through map", plain, on(ps.map(added), as_="tuples"), rows)
    compare("mapInArrow identity: named rows through map", plain, on(ps.map(added)), rows)
    compare("the loop by hand: tuples through map", hand, on(ps.map(added), as_="tuples"), rows)
    keyed = frame.selectExpr("id", f"id % {KEYS} AS k")
    groups = keyed.groupBy("k").applyInArrow(counted, "k long, total long")
    total = ps.reduce_by_time(ps.agg.sum(lambda row: row[0]))
    mine = keyed.transform(spark.on_executors(total, schema="k long, total long", by="k", as_="tuples"))
    compare(f"groupBy.applyInArrow, {KEYS:,} keys: a stream for each key", groups, mine, rows)
    session.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 5_000_000)

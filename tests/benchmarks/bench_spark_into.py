"""What a row costs on its way into Spark: a source through `to_dataframe`, against `createDataFrame` of an Arrow table.

    python tests/benchmarks/bench_spark_into.py [ROWS]

Every figure is a ratio to its baseline, run in turns in one session, the first round not counted; absolute times are of
this machine, now. The baseline has the whole table in memory before it begins, and Spark takes it as one local relation
(its default), or in slices (`localRelationThreshold=0`); a source's rows are Python's, or Arrow's.
"""

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa

import pullstream as ps
from adapters import spark

ROUNDS = 4
BATCH = 10_000
SCHEMA = "id BIGINT, half DOUBLE, name STRING, at TIMESTAMP"
ARROW = pa.schema(
    [("id", pa.int64()), ("half", pa.float64()), ("name", pa.string()), ("at", pa.timestamp("us", "UTC"))]
)


def seconds(function: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    row = function().selectExpr("count(*)", "sum(id)", "max(name)").first()
    assert row[:2] == (count, count * (count - 1) // 2), row
    return time.perf_counter() - start


def main(count: int) -> None:
    session = spark.session(app_name="benchmark")
    rows = [(n, n / 2, f"name {n % 1000}", n * 1_000_000) for n in range(count)]
    table = pa.Table.from_arrays(
        [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), ARROW, strict=True)],
        schema=ARROW,
    )
    batches = table.to_batches(BATCH)

    def created(threshold: str) -> Any:
        session.conf.set("spark.sql.execution.arrow.localRelationThreshold", threshold)
        return session.createDataFrame(table)

    ways: dict[str, Callable[[], Any]] = {
        "createDataFrame(table), in slices": lambda: created("0"),
        "createDataFrame(table), as it comes": lambda: created("48MB"),
        "to_dataframe of Arrow batches": lambda: spark.to_dataframe(ps.values(batches), SCHEMA),
        "to_dataframe of tuples": lambda: spark.to_dataframe(ps.values(rows), SCHEMA),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(ROUNDS):
        for name, way in ways.items():
            spent = seconds(way, count)
            if number:
                taken[name].append(spent)
    base = taken["createDataFrame(table), in slices"]
    for name, spent in taken.items():
        ratio = statistics.median(mine / theirs for mine, theirs in zip(base, spent, strict=True))
        print(
            f"{name:<40} {count / statistics.median(spent):>12,.0f} rows/s   x {ratio:4.2f} of createDataFrame's rate"
        )
    session.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)

"""Spark: rows from it and into it, a stage on its executors, and windows of a DataFrame: W9a to W9d.

All are measured by wall-clock time, in a session that has been started before.
"""

from collections import Counter
from functools import partial
from pathlib import Path

from tests.benchmarks.peers import counted_here
from tests.benchmarks.workload import HERE, Workload
from tests.benchmarks.workloads.windows import MINUTE, at, jumbled, key_of

SIZES = {"smoke": 2_000, "unit": "row", "by_the_clock": True, "spark": True}
OUT = Workload(
    "W9a",
    "Spark to here",
    "Read the rows of a DataFrame (a long, a double, a string, a timestamp) in 16 partitions, and count them. The "
    "limit is `toArrow()`, which has all rows in memory at once.",
    full=2_000_000,
    quick=200_000,
    **SIZES,
)
INTO = Workload(
    "W9b",
    "here to Spark",
    "Rows become a DataFrame, and Spark sums one of its columns. The limit is `createDataFrame` with a complete Arrow "
    "table.",
    full=1_000_000,
    quick=100_000,
    **SIZES,
)
STAGE = Workload(
    "W9c",
    "a stage on executors",
    "Call a Python function with every row as a tuple, in 16 partitions. The limit is `mapInArrow` with a plain loop.",
    full=1_000_000,
    quick=100_000,
    **SIZES,
)
WINDOWS = Workload(
    "W9d",
    "windows of a DataFrame",
    "Rows of a Parquet file, out of order in event time, sorted by Spark and counted by key in windows of five "
    "minutes. The limit is the sorted DataFrame's `toArrow()` and a loop over it.",
    full=200_000,
    quick=20_000,
    ordered=False,
    **SIZES,
)
COLUMNS = "id", "cast(id AS double) / 3 AS value", "concat('row', id) AS text", "timestamp_seconds(id) AS at"
SCHEMA = "id BIGINT, half DOUBLE, name STRING, at TIMESTAMP"


def session():
    from adapters import spark

    made = spark.session(master="local[2]")
    made.conf.set("spark.sql.execution.arrow.localRelationThreshold", "0")
    made.range(10).count()  # the first job loads code, which is not part of a way
    return made


def frame(size):
    return session().range(0, size, 1, 16).selectExpr(*COLUMNS)


@OUT.limit
def out_plain(size):
    made = frame(size)
    return lambda: made.toArrow().num_rows


@OUT.way("Spark", share=0.1, note="`toLocalIterator()`")
def out_iterator(size):
    made = frame(size)
    return lambda: sum(1 for _ in made.toLocalIterator())


def reading(size, form):
    import pullstream as ps
    from adapters import spark

    source = spark.from_dataframe(frame(size), as_=form)
    if form != "batches":
        return counted_here(source)
    return lambda: ps.run(ps.pipe(source, ps.reduce(lambda total, batch: total + batch.num_rows, 0)))


OUT.way(HERE, note="Arrow batches")(partial(reading, form="batches"))
OUT.way(HERE, "tuples")(partial(reading, form="tuples"))
OUT.way(HERE, "rows")(partial(reading, form="rows"))


# ---- into Spark


def numbers(size):
    return [(n, n / 2, f"name {n % 1000}", n * 1_000_000) for n in range(size)]


def arrow(size):
    import pyarrow as pa

    kinds = {"id": pa.int64(), "half": pa.float64(), "name": pa.string(), "at": pa.timestamp("us", "UTC")}
    columns = zip(*numbers(size), strict=True)
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds.values(), strict=True)]
    return pa.Table.from_arrays(arrays, names=list(kinds))


def added(made):
    return tuple(made.selectExpr("count(*)", "sum(id)").first())


@INTO.limit
def into_plain(size):
    spark, table = session(), arrow(size)
    return lambda: added(spark.createDataFrame(table))


def into(size, make):
    import pullstream as ps
    from adapters import spark

    session()
    values = make(size)
    return lambda: added(spark.to_dataframe(ps.values(values), SCHEMA))


INTO.way(HERE, note="a source of Arrow batches")(partial(into, make=lambda size: arrow(size).to_batches(10_000)))
INTO.way(HERE, "tuples")(partial(into, make=numbers))


# ---- on executors


def by_hand(batches):
    """Rows in Python by hand: a tuple of every row, a function of it, and Arrow again."""
    import pyarrow as pa

    names, kinds = ["id", "value", "text", "at"], [pa.int64(), pa.float64(), pa.string(), pa.timestamp("us", "UTC")]
    for batch in batches:
        columns = [column.to_pylist() for column in batch.columns[:3]]
        columns.append(batch.column(3).cast(pa.int64()).to_pylist())
        made = [(n + 1, x, s, t) for n, x, s, t in zip(*columns, strict=True)]
        arrays = [pa.array(column, kind) for column, kind in zip(zip(*made, strict=True), kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=names)


def more(row):
    n, x, s, t = row
    return n + 1, x, s, t


@STAGE.limit
def stage_plain(size):
    made = frame(size)
    return lambda: added(made.mapInArrow(by_hand, made.schema))


@STAGE.way(HERE)
def stage_here(size):
    import pullstream as ps
    from adapters import spark

    made = frame(size)
    stage = spark.on_executors(ps.map(more), schema=made.schema, as_="tuples")
    return lambda: added(made.transform(stage))


# ---- windows of a DataFrame


def stored(size):
    """A session, and a folder with the rows."""
    import tempfile

    import pyarrow as pa
    from pyarrow import parquet

    folder = Path(tempfile.mkdtemp())
    rows = jumbled(size)
    parquet.write_table(pa.table({"at": list(map(at, rows)), "key": list(map(key_of, rows))}), folder / "rows.parquet")
    return session(), folder


@WINDOWS.limit
def windows_plain(size):
    made, folder = stored(size)

    def run():
        table = made.read.parquet(str(folder)).orderBy("at").toArrow()
        pairs = zip(table.column("at").to_pylist(), table.column("key").to_pylist(), strict=True)
        counts = Counter((time // (5 * MINUTE), key) for time, key in pairs)
        return [(window, key, count) for (window, key), count in counts.items()]

    return run


@WINDOWS.way(HERE)
def windows_here(size):
    import pullstream as ps
    from adapters import spark

    made, folder = stored(size)
    source = spark.from_dataframe(made.read.parquet(str(folder)).orderBy("at"), time="at", as_="tuples")
    program = ps.pipe(source, ps.tumbling(5 * MINUTE, ps.agg.count(), key=key_of), ps.collect())
    return lambda: ps.run(program), lambda found: [(window.start // (5 * MINUTE), *window.value) for window in found]


@WINDOWS.way("Spark", note="Structured Streaming, one micro-batch")
def windows_streaming(size):
    from pyspark.sql import functions as sql

    made, folder = stored(size)
    made.conf.set("spark.sql.shuffle.partitions", "2")
    stream = made.readStream.schema("at long, key string").parquet(str(folder))
    timed = stream.select(sql.timestamp_micros("at").alias("at"), "key").withWatermark("at", "1 minute")
    counted = timed.groupBy(sql.window("at", "5 minutes"), "key").count()

    def run():
        query = counted.writeStream.format("memory").queryName("counted").outputMode("complete")
        query.trigger(availableNow=True).start().awaitTermination()
        windows = made.table("counted").selectExpr("unix_micros(window.start)", "key", "count").collect()
        return [(start // (5 * MINUTE), key, count) for start, key, count in windows]

    return run

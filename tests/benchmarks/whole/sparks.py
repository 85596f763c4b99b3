"""Programs over DataFrames, compared with Spark's own operators or with Python by hand in Spark's workers."""

from operator import attrgetter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import pullstream as ps
from pullstream import spark
from tests.benchmarks.whole.program import BY_HAND, HERE, Program

PROGRAMS = []
OPERATORS = "Spark's operators"


def program(says, full, quick):
    """Add a program; the decorated function prepares its ways from the session and the number of rows."""

    def add(prepare):
        def with_session(size):
            return prepare(spark.session("flights"), size)

        PROGRAMS.append(Program(prepare.__name__, says, full, quick, with_session))

    return add


def rows(session, size, *columns):
    """A new query for each run, because the same query would reuse its shuffled data."""
    return session.range(0, size, 1, 4).selectExpr(*columns)


@program("rows out of order: from_dataframe(lateness=), a count per minute and key", 1_000_000, 20_000)
def windows(session, size):
    # Ten rows a second; a row is late by the last digit of its number in base seven, in seconds.
    columns = "id div 10 - id % 7 AS at", "id % 50 AS key"
    counted = ps.tumbling(60, ps.agg.count(), key=attrgetter("key"))

    def counts(source):
        return sorted((window.start // 60, *window.value) for window in ps.run(ps.pipe(source, counted, ps.collect())))

    def here(_):
        return counts(spark.from_dataframe(rows(session, size, *columns), time="at", lateness=300))

    def stamped(_):
        return counts(
            ps.pipe(spark.from_dataframe(rows(session, size, *columns)), ps.stamp(attrgetter("at"), lateness=300))
        )

    def operators(_):
        grouped = rows(session, size, "floor((id div 10 - id % 7) / 60) AS minute", columns[1]).groupBy("minute", "key")
        return sorted(tuple(row) for row in grouped.count().collect())

    return {HERE: here, "read, then ps.stamp": stamped, OPERATORS: operators}


@program("rows: spark.reduce_by_key, 200 keys on each of 20 days", 2_000_000, 20_000)
def few_keys(session, size):
    columns = f"cast(id * 20 div {size} AS int) AS day", "id % 200 AS key", "id % 7 AS n"

    def here(_):
        fold = ps.agg.sum(attrgetter("n"))
        source = spark.reduce_by_key(rows(session, size, *columns), fold, key=attrgetter("key"), time="day")
        return sorted((day, *pair) for day, pair in ps.run(ps.pipe(source, ps.collect(timed=True))))

    def in_arrow(_):
        def parts(batches):
            for batch in batches:
                sums = {}
                for day, key, n in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    sums[day, key] = sums.get((day, key), 0) + n
                days, keys = zip(*sums, strict=True)
                yield pa.RecordBatch.from_pydict({"day": days, "key": keys, "n": list(sums.values())})

        parted = rows(session, size, *columns).mapInArrow(parts, "day long, key long, n long")
        return sorted(tuple(row) for row in parted.groupBy("day", "key").sum("n").collect())

    def operators(_):
        return sorted(tuple(row) for row in rows(session, size, *columns).groupBy("day", "key").sum("n").collect())

    return {HERE: here, OPERATORS: operators, "by hand in mapInArrow": in_arrow}


@program("rows: on_executors with a fold for each of many keys", 200_000, 2_000)
def many_keys(session, size):
    columns = f"id % {size // 10} AS key", "id % 7 AS n"
    schema = "key long, n long"

    def here(_):
        summed = spark.on_executors(ps.reduce_by_time(ps.agg.sum(attrgetter("n"))), schema="key long, n long", by="key")
        return sorted(tuple(row) for row in rows(session, size, *columns).transform(summed).collect())

    def in_arrow(_):
        def summed(key, table):
            return pa.table({"key": [key[0].as_py()], "n": [pc.sum(table["n"]).as_py()]})

        grouped = rows(session, size, *columns).groupBy("key").applyInArrow(summed, schema)
        return sorted(tuple(row) for row in grouped.collect())

    return {HERE: here, "by hand in applyInArrow": in_arrow}


@program("rows at 20 times: write_table from Python, a partition per time", 200_000, 2_000)
def table(session, size):
    values = [(n, f"item{n % 7}") for n in range(size)]
    schema = "n INT, item STRING"

    def read(folder):
        found = pq.read_table(folder / "table", partitioning="hive")
        answer = sorted(zip(*(found[name].to_pylist() for name in ("time", "n", "item")), strict=True))
        for path in sorted(folder.rglob("*"), reverse=True):  # Parquet files of two writers differ
            path.rmdir() if path.is_dir() else path.unlink()
        return answer

    def here(folder):
        timed = ps.values(values, time=lambda value: value[0] * 20 // size)
        ps.run(ps.pipe(timed, spark.write_table(folder / "table", schema)))
        return read(folder)

    def spark_by_hand(folder):
        timed = [(*value, value[0] * 20 // size) for value in values]
        frame = session.createDataFrame(timed, f"{schema}, time INT")
        frame.write.partitionBy("time").parquet(str(folder / "table"))
        return read(folder)

    def by_hand(folder):
        columns = {"n": [n for n, _ in values], "item": [item for _, item in values]}
        columns["time"] = [n * 20 // size for n, _ in values]
        pq.write_to_dataset(pa.table(columns), folder / "table", partition_cols=["time"])
        return read(folder)

    return {HERE: here, "createDataFrame and partitionBy": spark_by_hand, BY_HAND: by_hand}

"""`on_executors` in Spark: results compared with Spark's own, endings, failures, and refusals when composing."""

import os
import re
import threading
import time
from pathlib import Path

import pyarrow as pa
import pytest
import trio

import pullstream as ps
from adapters import spark
from tests.adapters.spark.helpers import on_both

pytestmark = pytest.mark.spark

ROWS = 20_000


@pytest.fixture
def frame(chosen):
    """Rows with keys, days and a text, with some nulls, in three partitions."""
    return chosen.range(0, ROWS, 1, 3).selectExpr(
        "id",
        "cast(id * 7 % 10 AS int) AS day",
        "if(id % 11 = 3, null, concat('k', id % 6)) AS k",
        "if(id % 13 = 0, null, id / 4) AS x",
        "timestamp_seconds(id % 100) AS t",
    )


def found(df):
    return sorted(map(tuple, df.collect()), key=repr)


class TestResults:
    @pytest.mark.parametrize("as_", ["rows", "tuples", "dicts", "batches"])
    def test_unchanged_rows(self, frame, as_):
        """In every form of rows, with nulls and timestamps, in any time zone of the session."""
        session = frame.sparkSession
        before = session.conf.get("spark.sql.session.timeZone")
        session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        try:
            same = frame.transform(spark.on_executors(ps.map(lambda row: row), schema=frame.schema, as_=as_))
            assert same.exceptAll(frame).isEmpty()
            assert frame.exceptAll(same).isEmpty()
            assert same.schema == frame.schema
        finally:
            session.conf.set("spark.sql.session.timeZone", before)

    @pytest.mark.parametrize(
        "schema",
        ["id long, half double", pa.schema([("id", pa.int64()), ("half", pa.float64())])],
        ids=["DDL", "Arrow"],
    )
    @on_both
    def test_transformed_rows(self, frame, schema):
        """The result equals Spark's own, and is a normal DataFrame."""
        halves = spark.on_executors(
            ps.filter(lambda row: row.x is not None),
            ps.flat_map(lambda row: [(row.id, row.x / 2), (-row.id, row.x)]),
            schema=schema,
        )
        some = frame.filter("x IS NOT NULL")
        own = some.selectExpr("id", "x / 2 AS half").union(some.selectExpr("-id", "x"))
        assert found(frame.transform(halves)) == found(own)
        assert frame.transform(halves).filter("id < 0").groupBy().sum("half").first()[0] is not None

    @on_both
    def test_each_key_has_its_own_stream(self, frame):
        """All rows of a key are in one run, in order of time."""
        daily = spark.on_executors(
            ps.reduce_by_time(ps.agg.several(n=ps.agg.count(), sum=ps.agg.sum(lambda row: row.id))),
            schema="sum long, k string, n long, day int",
            by="k",
            time="day",
        )
        own = frame.groupBy("k", "day").agg({"id": "sum", "*": "count"})
        assert found(frame.transform(daily)) == found(own.selectExpr("`sum(id)`", "k", "`count(1)`", "day"))

    def test_two_keys_and_an_expression(self, frame):
        """There may be several keys, and computed ones; columns that are not in the schema are omitted."""
        from pyspark.sql import functions as sql

        counts = spark.on_executors(
            ps.reduce_by_time(ps.agg.count()),
            schema="odd boolean, n long, day int",
            by=["day", (sql.col("id") % 2 == 1).alias("odd")],
        )
        own = frame.groupBy("day", sql.expr("id % 2 = 1").alias("odd")).count().select("odd", "count", "day")
        assert found(frame.transform(counts)) == found(own)

    def test_without_a_key_times_belong_to_a_partition(self, frame):
        """Spark sorts each partition by time."""
        counts = spark.on_executors(ps.reduce_by_time(ps.agg.count()), schema="t timestamp, n long", time="t")
        own = frame.selectExpr("t", "spark_partition_id() AS p").groupBy("p", "t").count().select("t", "count")
        assert found(frame.transform(counts)) == found(own)

    def test_results_continue_in_a_stream_of_the_driver(self, frame):
        """A pipeline on the driver reads the results of the executors."""
        counts = spark.on_executors(ps.reduce_by_time(ps.agg.count()), schema="day int, n long", by="day")
        pairs = ps.run(ps.pipe(spark.from_dataframe(frame.transform(counts), time="day"), ps.collect(timed=True)))
        assert [(day, tuple(row)) for day, row in pairs] == [(day, (day, ROWS // 10)) for day in range(10)]

    def test_map_async_waits_concurrently(self, session):
        """On an executor, too, many calls are in flight."""

        waiting = []

        async def later(row):
            waiting.append(row)
            at_once = len(waiting)
            await trio.sleep(0.05)
            waiting.remove(row)
            return row.id, at_once

        waited = spark.on_executors(ps.map_async(later, 100), schema="id long, at_once long")
        rows = found(session.range(0, 400, 1, 1).transform(waited))
        assert sorted(number for number, _ in rows) == list(range(400))
        assert max(at_once for _, at_once in rows) > 10

    def test_a_streaming_dataframe(self, session, tmp_path):
        """Each partition of a micro-batch is one run."""
        session.range(0, 100, 1, 2).write.parquet(str(tmp_path / "in"))
        source = session.readStream.schema("id long").parquet(str(tmp_path / "in"))
        doubled = source.transform(spark.on_executors(ps.map(lambda row: row.id * 2), schema="id long"))
        writer = doubled.writeStream.format("memory").queryName("doubled").trigger(availableNow=True)
        query = writer.option("checkpointLocation", str(tmp_path / "at")).start()
        assert query.awaitTermination(60)
        assert found(session.table("doubled")) == found(session.range(0, 200, 2))
        with pytest.raises(ps.CompositionError, match="give both by= and time="):
            source.transform(spark.on_executors(ps.map(lambda row: row.id * 2), schema="id long", time="id"))

    def test_empty_partitions(self, session):
        """Some, or all."""
        counts = spark.on_executors(ps.reduce_by_time(ps.agg.count()), schema="n long")
        assert found(session.range(0, 2, 1, 5).transform(counts)) == [(1,), (1,)]
        assert found(session.range(0).transform(counts)) == []


class TestEndings:
    def test_a_limit_aborts_the_stream(self, session, tmp_path, until_idle):
        """Spark takes five rows and drops the rest: the stream is aborted, and `finally` runs."""
        folder = str(tmp_path)

        @ps.transformer
        async def watched(upstream, ctx):
            seen = 0
            try:
                async for batch in ctx.batches(upstream):
                    seen += len(batch.values)
                    yield ps.Batch(batch.time, [row.id for row in batch.values])
                    await trio.sleep(0.01)
            finally:
                Path(folder, str(os.getpid())).write_text(str(seen))  # noqa: ASYNC240 - a moment

        frame = session.range(0, 3_000_000, 1, 1).transform(spark.on_executors(watched(), schema="id long"))
        assert found(frame.limit(5)) == [(n,) for n in range(5)]
        until_idle()
        until = time.monotonic() + 300
        while not list(tmp_path.iterdir()) and time.monotonic() < until:
            time.sleep(0.05)
        (file,) = tmp_path.iterdir()
        assert int(file.read_text()) < 200_000

    def test_take_applies_to_each_partition(self, session):
        """On an executor, `take` counts within a partition; Spark skips the rest of it."""
        took = session.range(0, 100_000, 1, 2).transform(spark.on_executors(ps.take(2), schema="id long"))
        assert found(took) == [(0,), (1,), (50_000,), (50_001,)]

    def test_nothing_is_left_in_the_worker(self, session):
        """No thread outlives its partition: the next partition in the same worker finds none."""

        def threads(row):
            names = [thread.name for thread in threading.enumerate()]
            return (os.getpid(), sum(name.startswith("pullstream") for name in names))

        seen = spark.on_executors(ps.map(threads), ps.map_thread(tuple, 2), schema="pid long, threads long")
        rows = found(session.range(0, 12, 1, 12).transform(seen))
        assert len({pid for pid, _ in rows}) < 12
        assert {threads for _, threads in rows} == {2}


class Unlucky(Exception):
    """The exception of these tests."""


class TestFailures:
    def failing(self, session):
        def check(row):
            if row.id == 77:
                raise Unlucky("row 77 is bad")
            return row

        return session.range(0, 100, 1, 2).transform(spark.on_executors(ps.map(check), schema="id long"))

    def test_the_error_of_a_spark_action_is_complete(self, session):
        """It has the type, the message, the module, the line that composed it, and the partition."""
        from pyspark.errors import PythonException

        with pytest.raises(PythonException) as caught:
            self.failing(session).collect()
        told = str(caught.value)
        assert "Unlucky: row 77 is bad\nraised in map(" in told
        assert f"composed at {__file__}:" in told
        assert "on an executor, partition 1" in told
        assert "pullstream/engine" not in told

    def test_the_error_of_a_stream_is_short(self, session):
        """It omits Spark's frames and ours, and has the type's name."""
        with pytest.raises(spark.SparkJobError, match="row 77 is bad") as caught:
            ps.run(ps.pipe(spark.from_dataframe(self.failing(session), time="id"), ps.collect()))
        told = str(caught.value)
        assert caught.value.raised.rpartition(".")[2] == "Unlucky"
        assert "in check" in told
        assert told.count("  File ") == 1
        assert "raised in map(" in told

    def test_a_value_that_does_not_fit_is_named(self, session):
        """With its column, the module, and the line that has its schema."""
        from pyspark.errors import PythonException

        frame = session.range(0, 100, 1, 2).transform(
            spark.on_executors(ps.map(lambda row: "x" if row.id == 3 else row.id), schema="n long")
        )
        told = r"(?s)RowError: the column 'n' is int64, and cannot hold 'x' \(str\).*raised in on_executors"
        with pytest.raises(PythonException, match=rf"{told}, composed at {re.escape(__file__)}:\d+"):
            frame.collect()

    def test_a_killed_worker_fails_the_job(self, session):
        """The error is Spark's, and the session can still be used."""
        frame = session.range(0, 100, 1, 2).transform(
            spark.on_executors(ps.map(lambda row: os._exit(3) if row.id == 77 else row), schema="id long")
        )
        with pytest.raises(spark.SparkJobError, match="Python worker exited unexpectedly"):
            ps.run(ps.pipe(spark.from_dataframe(frame, time="id"), ps.collect()))
        assert session.range(5).count() == 5

    def test_a_run_inside_a_run_is_refused(self, session):
        """A function on an executor that calls `run` gets an explanation."""
        frame = session.range(3).transform(
            spark.on_executors(ps.map(lambda row: ps.run(ps.pipe(ps.values([row.id]), ps.first()))), schema="id long")
        )
        with pytest.raises(spark.SparkJobError, match="starts a trio program, and one is running here"):
            ps.run(ps.pipe(spark.from_dataframe(frame, time="id"), ps.collect()))


class TestRefusals:
    @pytest.mark.parametrize(
        ("make", "message"),
        [
            (lambda: spark.on_executors(schema="a long"), "needs at least one transformer"),
            (lambda: spark.on_executors(ps.values([1]), schema="a long"), r"part 1, values\(\[1\]\), is a source"),
            (lambda: spark.on_executors(ps.map(len), ps.drain(), schema="a long"), r"part 2, drain\(\), is a sink"),
            (
                lambda: spark.on_executors(ps.flatten, schema="a long"),
                r"is no module; call it to get the module: flatten\(\)",
            ),
            (
                lambda: spark.on_executors(lambda row: row, schema="a long"),
                r"is no module; a plain function goes into map\(<lambda>\)",
            ),
            (
                lambda: ps.pipe(ps.values([1]), spark.on_executors(ps.map(len), schema="a long"), ps.collect()),
                r"not a module; it is a function of a DataFrame: a source is from_dataframe\(df.transform\(",
            ),
            (lambda: spark.on_executors(ps.map(len)), "needs the argument 'schema'"),
            (lambda: spark.on_executors(ps.map(len), schema="a long", as_="table"), "got as_='table'"),
            (lambda: spark.on_executors(ps.map(len), schema="a long")([1]), r"needs a Spark DataFrame, and got \[1\]"),
        ],
    )
    def test_invalid_arguments_are_refused_when_composing(self, make, message):
        """With the line, and the reason."""
        with pytest.raises(ps.CompositionError, match=rf"test_on_executors\.py:\d+.*{message}"):
            make()

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"schema": "a lung"}, "cannot read the schema 'a lung': .*Unsupported data type \"LUNG\""),
            ({"schema": 3}, "needs its columns as a schema"),
            ({"schema": "a long, a int"}, "several columns named a"),
            ({"time": "dya"}, "has no column for time='dya'; its columns are id, day, k, x, t"),
            ({"by": "x"}, "by='x', which is of type double"),
            ({"by": [3]}, "needs by= to be the name of a column or a column expression, and got 3"),
        ],
    )
    def test_arguments_that_do_not_fit_the_frame_are_refused(self, frame, options, message):
        """When it is applied to the frame, before anything runs."""
        made = spark.on_executors(ps.map(len), **{"schema": "a long", **options})
        with pytest.raises(ps.CompositionError, match=message):
            made(frame)

    def test_what_cannot_be_pickled_is_named(self, frame):
        """A lock, a frame, a handle: the error has the module and the reason."""
        lock = threading.Lock()
        with pytest.raises(ps.CompositionError, match=r"map\(.*cannot be sent to the executors: .*lock"):
            spark.on_executors(ps.map(lambda row: lock), schema="a long")
        other = spark.from_dataframe(frame, time="day")
        with pytest.raises(ps.CompositionError, match="cannot be sent to the executors"):
            spark.on_executors(ps.flat_map(lambda row: [other]), schema="a long")

    def test_its_repr(self):
        """For notebooks and messages."""
        made = spark.on_executors(ps.map(str.upper), ps.take(3), schema="a string")
        assert repr(made) == "on_executors(map(str.upper), take(3))"


@pytest.mark.slow
class TestFiveMillion:
    """Exact results with many rows."""

    def test_results_equal_sparks_own(self, session):
        """Every row once through a map; every key and day once, with its sum; and merged on the driver."""
        rows = 5_000_000
        frame = session.range(0, rows, 1, 16).selectExpr(
            "id", "cast(id % 36 AS int) AS day", "concat('k', id % 97) AS k", "id % 1000 AS x"
        )
        same = frame.transform(spark.on_executors(ps.map(lambda row: row), schema=frame.schema))
        checksum = ["sum(cast(xxhash64(id, day, k, x) AS decimal(38))) AS hashes", "count(*)"]
        assert same.selectExpr(*checksum).first() == frame.selectExpr(*checksum).first()

        total = ps.agg.sum(lambda row: row.x)
        schema = "k string, day int, total long"
        daily = frame.transform(spark.on_executors(ps.reduce_by_time(total), schema=schema, by="k", time="day"))
        own = found(frame.groupBy("k", "day").sum("x"))
        assert found(daily) == own

        merged = spark.reduce_by_key(frame, total, key=lambda row: row.k, time="day")
        pairs = ps.run(ps.pipe(merged, ps.collect(timed=True)))
        assert sorted((key, day, value) for day, (key, value) in pairs) == sorted(own)

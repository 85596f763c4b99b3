"""`on_executors` in Spark: results compared with Spark's own, and endings."""

import os
from pathlib import Path

import pyarrow as pa
import pytest
import trio

import pullstream as ps
from adapters import spark
from tests.adapters.spark.helpers import on_both, settings
from tests.programs import wait

pytestmark = pytest.mark.spark

ROWS = 2_000


@pytest.fixture
def frame(chosen):
    return chosen.range(0, ROWS, 1, 3).selectExpr(
        "id",
        "cast(id * 7 % 10 AS int) AS day",
        "if(id % 11 = 3, null, concat('k', id % 6)) AS k",
        "if(id % 13 = 0, null, id / 4) AS x",
        "timestamp_seconds(id % 100) AS t",
    )


def found(df):
    return sorted(map(tuple, df.collect()), key=repr)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("as_", ["rows", "tuples", "dicts", "batches"])
def test_unchanged_rows(frame, as_):
    """In every form of rows, with nulls and timestamps, in any time zone of the session."""
    with settings(frame.sparkSession, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        same = frame.transform(spark.on_executors(ps.map(lambda row: row), schema=frame.schema, as_=as_))
        assert found(same) == found(frame)
        assert same.schema == frame.schema


@on_both
def test_transformed_rows(frame):
    halves = ps.flat_map(lambda row: [(row.id, row.x / 2), (-row.id, row.x)])

    def made(schema):
        return frame.transform(spark.on_executors(ps.filter(lambda row: row.x is not None), halves, schema=schema))

    given = [(n, n / 4) for n in range(ROWS) if n % 13]
    result = made("id long, half double")
    assert found(result) == sorted([(n, x / 2) for n, x in given] + [(-n, x) for n, x in given], key=repr)
    assert result.filter("id < 0").groupBy().sum("half").first()[0] == sum(x for _, x in given)
    assert made(pa.schema([("id", pa.int64()), ("half", pa.float64())])).schema == result.schema


@on_both
def test_each_key_has_its_own_stream(frame):
    daily = spark.on_executors(
        ps.reduce_by_time(ps.agg.several(n=ps.agg.count(), sum=ps.agg.sum(lambda row: row.id))),
        schema="sum long, k string, n long, day int",
        by="k",
        time="day",
    )
    own = frame.groupBy("k", "day").agg({"id": "sum", "*": "count"})
    assert found(frame.transform(daily)) == found(own.selectExpr("`sum(id)`", "k", "`count(1)`", "day"))


def test_two_keys_and_an_expression(frame):
    from pyspark.sql import functions as sql

    counts = spark.on_executors(
        ps.reduce_by_time(ps.agg.count()),
        schema="odd boolean, n long, day int",
        by=["day", (sql.col("id") % 2 == 1).alias("odd")],
    )
    own = frame.groupBy("day", sql.expr("id % 2 = 1").alias("odd")).count().select("odd", "count", "day")
    assert found(frame.transform(counts)) == found(own)


@pytest.mark.parametrize(("name", "argument", "keys"), [("lit", 1, 1), ("rand", 3, 2)])
def test_an_expression_without_columns_is_a_key(frame, name, argument, keys):
    """A literal is not the position of a column to sort by, and a random number is drawn once for each row."""
    from pyspark.sql import functions as sql

    key = getattr(sql, name)(argument)
    counts = spark.on_executors(
        ps.reduce_by_time(ps.agg.count()), schema="n long, day int", by=key if keys == 1 else key > 0.5, time="day"
    )
    made = frame.transform(counts)
    assert made.count() == 10 * keys
    assert found(made.groupBy("day").agg({"n": "sum"})) == found(frame.groupBy("day").count())


def test_rows_without_columns_are_processed(session):
    counts = spark.on_executors(ps.reduce_by_time(ps.agg.count()), schema="n long")
    assert sum(row.n for row in session.range(0, ROWS, 1, 3).select().transform(counts).collect()) == ROWS


def test_without_a_key_times_are_per_partition(frame):
    counts = spark.on_executors(ps.reduce_by_time(ps.agg.count()), schema="t timestamp, n long", time="t")
    own = frame.selectExpr("t", "spark_partition_id() AS p").groupBy("p", "t").count().select("t", "count")
    assert found(frame.transform(counts)) == found(own)


def test_a_limit_aborts_the_stream(session, tmp_path, until_idle):
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
    wait(lambda: not list(tmp_path.iterdir()))
    (file,) = tmp_path.iterdir()
    assert int(file.read_text()) < 2_000_000

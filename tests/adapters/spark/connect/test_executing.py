"""`on_executors`, `reduce_by_key` and `send_packages` through Spark Connect: the same functions, the same results."""

import pytest

import pullstream as ps
from adapters import spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def frame(remote):
    """Rows over ten days, mixed in three partitions."""
    return remote.range(0, 10_000, 1, 3).selectExpr(
        "id", "date_add(date'2013-01-01', cast(id * 7 % 10 AS int)) AS day", "concat('k', id % 6) AS k"
    )


def test_rows(frame):
    """Transformers convert the rows of a frame; the schema is given as DDL."""
    halves = spark.on_executors(
        ps.filter(lambda row: row.id % 2 == 0), ps.map(lambda row: (row.id, row.id / 2)), schema="id long, half double"
    )
    found = frame.transform(halves)
    assert sorted(map(tuple, found.collect())) == [(n, n / 2) for n in range(0, 10_000, 2)]


def test_keys_and_times(frame):
    """With a key and a computed time, each key has its own transformers, and its times complete."""
    from pyspark.sql.connect import functions as sql

    daily = spark.on_executors(
        ps.reduce_by_time(ps.agg.sum(lambda row: row.id)), schema="k string, day date, sum long", by="k",
        time=sql.col("day").alias("day"),
    )  # fmt: skip
    found = {tuple(row) for row in frame.transform(daily).collect()}
    assert found == {tuple(row) for row in frame.groupBy("k", "day").agg(sql.sum("id")).collect()}


def test_reduce_by_key(frame):
    """Folds in two steps give the same as on the driver, with days in order."""
    total = ps.agg.sum(lambda row: row.id)
    parts = spark.reduce_by_key(frame, total, key=lambda row: row.k, time="day")
    found = ps.run(ps.pipe(parts, ps.collect(timed=True)))
    driver = ps.pipe(spark.from_dataframe(frame, time="day"), ps.reduce_by_key(total, key=lambda row: row.k))
    assert sorted(found) == sorted(ps.run(ps.pipe(driver, ps.collect(timed=True))))
    days = [day for day, _ in found]
    assert days == sorted(days)


def test_failures(frame):
    """The user's error has its type and place; a missing column is refused."""

    def fail(row):
        if row.id == 77:
            raise ValueError("no 77")
        return row.id

    broken = frame.transform(spark.on_executors(ps.map(fail), schema="id long"))
    with pytest.raises(spark.SparkJobError, match="ValueError: no 77") as caught:
        ps.run(ps.pipe(spark.from_dataframe(broken), ps.drain()))
    assert caught.value.raised == "ValueError"
    with pytest.raises(ps.CompositionError, match="has no column for by='nowhere'; its columns are id, day, k"):
        frame.transform(spark.on_executors(ps.map(fail), schema="id long", by="nowhere"))


@pytest.mark.usefixtures("remote")
def test_packages(server):
    """The workers find sent packages; sending them again has no effect."""
    from pyspark.sql.connect.session import SparkSession

    def packages(row):
        import sys
        import zipfile

        files = [path for path in sys.path if path.endswith("pullstream_packages.zip")]
        return ",".join(name for file in files for name in zipfile.ZipFile(file).namelist() if name.count("/") == 1)

    def sent(session):
        found = spark.on_executors(ps.map(packages), schema="packages string")
        (row,) = session.range(1).transform(found).collect()
        return row.packages

    session = SparkSession.builder.remote(server.url).create()
    try:
        spark.send_packages(session)
        spark.send_packages(session)
        assert {"pullstream/__init__.py", "adapters/__init__.py", "timely/__init__.py"} <= {*sent(session).split(",")}
    finally:
        session.stop()

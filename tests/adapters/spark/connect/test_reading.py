"""`from_dataframe` through Spark Connect: Connect's own Arrow data, in order, and nothing is left behind."""

import datetime as dt
import sys
from decimal import Decimal

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.connect.batches import ConnectBatches

pytestmark = pytest.mark.spark


def read(frame, *parts, **options):
    return ps.run(ps.pipe(spark.from_dataframe(frame, **options), *parts, ps.collect()))


@pytest.fixture
def frame(remote):
    """Some rows in several partitions."""
    return remote.range(0, 30_000, 1, 6).selectExpr("id", "id % 5 AS five", "concat('row', id) AS text")


def test_rows_in_order(frame):
    """All rows arrive, in the DataFrame's order, as Spark itself returns them."""
    assert read(frame, as_="tuples") == [tuple(row) for row in frame.collect()]


@pytest.mark.slow
def test_types(remote):
    """Values are as in a classic session: instants in UTC, in any time zone of the session."""
    remote.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        df = remote.sql(
            "SELECT 1Y AS small, 1.5D AS d, CAST('1.25' AS DECIMAL(9, 2)) AS money, DATE'2013-01-02' AS day, "
            "TIMESTAMP'1970-01-01 09:00:01' AS at, TIMESTAMP_NTZ'1970-01-01 00:00:02' AS wall, X'00ff' AS raw, "
            "array(1, null) AS list, map('a', 1) AS map, struct(1 AS x, 'y' AS y) AS struct, CAST(NULL AS INT) AS no"
        )
        (row,) = read(df)
    finally:
        remote.conf.unset("spark.sql.session.timeZone")
    assert row._asdict() == {
        "small": 1, "d": 1.5, "money": Decimal("1.25"), "day": dt.date(2013, 1, 2), "at": 1_000_000,
        "wall": 2_000_000, "raw": b"\x00\xff", "list": [1, None], "map": [("a", 1)], "struct": {"x": 1, "y": "y"},
        "no": None,
    }  # fmt: skip


@pytest.mark.slow
def test_times(frame, remote):
    """Spark sorts by time, and a time is complete when a later one arrives; with lateness nothing is sorted."""
    counted = ps.pipe(spark.from_dataframe(frame, time="five"), ps.count_by_key(lambda row: row.five))
    assert ps.run(ps.pipe(counted, ps.collect(timed=True))) == [(n, (n, 6000)) for n in range(5)]
    from pyspark.sql.connect import functions as sql

    negative = read(frame, time=-sql.col("five"))
    assert [row.five for row in negative] == sorted((row.five for row in negative), reverse=True)
    late = ps.pipe(spark.from_dataframe(frame, time="five", lateness=5), ps.collect(timed=True))
    assert all(time == row.five for time, row in ps.run(late))
    assert read(remote.range(0).selectExpr("id", "id AS t"), time="t") == []


@pytest.mark.slow
def test_failures(frame, remote):
    """The error has Spark's message, for failures in Java and in a user's Python on the executors."""
    with pytest.raises(spark.SparkJobError, match="DIVIDE_BY_ZERO"):
        read(frame.selectExpr("1 / (id - 7) AS bad"))

    def failing(batches):
        raise ValueError("the user's own text")
        yield

    with pytest.raises(spark.SparkJobError, match="ValueError: the user's own text"):
        read(frame.mapInArrow(failing, "id long"))


@pytest.mark.slow
def test_without_py4j(frame, monkeypatch):
    """If only the packages of Spark Connect are installed, there is no py4j; errors are still reported."""
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    with pytest.raises(spark.SparkJobError, match="DIVIDE_BY_ZERO"):
        read(frame.selectExpr("1 / (id - 7) AS bad"))


def slowly(remote):
    """A frame whose rows take an hour."""

    def slow(batches):
        import time

        for batch in batches:
            yield batch
            time.sleep(3600)

    return remote.range(0, 100_000, 1, 4).mapInArrow(slow, "id long")


@pytest.mark.slow
def test_enough_and_aborts(remote):
    """A stream that has enough, or is aborted, interrupts the server's operation at once."""
    assert [row.id for row in read(remote.range(0, 1_000_000, 1, 100), ps.take(3))] == [0, 1, 2]

    async def abort():
        async with ps.pipe(spark.from_dataframe(slowly(remote)), ps.drain()).open() as running:
            await trio.sleep(1)
            await running.abort()

    trio.run(abort)


@pytest.mark.slow
def test_sparks_activity_is_shown(remote):
    """While no rows arrive, the status shows the server's own progress report."""
    batches = ConnectBatches(slowly(remote))
    told = []

    async def main():
        async with trio.open_nursery() as nursery:

            @nursery.start_soon
            async def reading():
                with pytest.raises(spark.JobCancelled):
                    while await trio.to_thread.run_sync(batches.next):
                        pass

            with trio.fail_after(120):
                while not batches.doing():  # noqa: ASYNC110 - nobody says when it has begun
                    await trio.sleep(0.05)
            told.append(batches.doing())
            batches.cancel()

    trio.run(main)
    batches.close()
    assert "0 of 4 tasks done" in told[0]


@pytest.mark.slow
def test_without_the_private_call(frame, monkeypatch):
    """If PySpark lacks the call, its public API reads the same rows."""
    from pyspark.sql.connect.client import SparkConnectClient

    monkeypatch.delattr(SparkConnectClient, "to_table_as_iterator")
    assert [row.id for row in read(frame)] == list(range(30_000))

"""`from_dataframe` through Spark Connect: Connect's own Arrow data, in order, and nothing is left behind."""

import sys

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

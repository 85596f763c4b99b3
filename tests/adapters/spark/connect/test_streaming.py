"""`from_streaming` through Spark Connect: a micro-batch is committed when it is complete, and not before."""

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.connect import gate
from tests.adapters.spark.streaming.conftest import Landing

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def landing(remote, tmp_path):
    """A stream of files."""
    return Landing(remote, tmp_path)


def test_an_abort_leaves_it_uncommitted(landing):
    """The next run gets the micro-batch again."""
    landing.arrive(3, 3)

    async def lingering(row):
        if row.number == 4:
            await trio.sleep_forever()

    async def aborted():
        async with ps.pipe(landing.source(), ps.map_async(lingering, concurrency=1), ps.drain()).open() as running:
            while landing.commits != [0]:  # noqa: ASYNC110 - on the disk
                await trio.sleep(0.02)
            await running.abort()

    trio.run(aborted)
    assert landing.commits == [0]
    again = ps.run(ps.pipe(landing.source(), ps.collect(timed=True)))
    assert [(time, row.number) for time, row in again] == [(1, n) for n in (3, 4, 5)]


def test_spark_failure(landing):
    """A failure in Spark fails the stream, with Spark's message."""
    landing.arrive(2)
    broken = landing.frame().selectExpr("1 / (number - 1) AS bad")
    with pytest.raises(spark.SparkStreamError, match="DIVIDE_BY_ZERO"):
        ps.run(ps.pipe(landing.source(broken), ps.drain()))
    assert landing.commits == []


def test_a_program_without_heartbeat(landing, monkeypatch):
    """A body without heartbeats from its program gives up, uncommitted, and leaves no view behind."""
    monkeypatch.setattr(gate, "LEASE_SECONDS", 2.0)
    monkeypatch.setattr(gate, "BEAT_SECONDS", 1000.0)
    landing.arrive(2)

    async def slow(row):
        while landing.session.streams.active:  # noqa: ASYNC110 - in the server
            await trio.sleep(0.5)

    with pytest.raises(spark.SparkStreamError, match="has sent no heartbeat for 2 seconds"):
        ps.run(ps.pipe(landing.source(), ps.map_async(slow, concurrency=1), ps.drain()))
    assert landing.commits == []


def test_state_and_watermark(landing):
    """The results of a stateful query, with Spark's watermark in the status; and a journal keeps the local state."""
    landing.arrive(3, 3)
    status = spark.StreamStatus()
    stateful = (
        landing.frame()
        .selectExpr("number", "key", "timestamp_seconds(number) AS at")
        .withWatermark("at", "1 second")
        .groupBy("key")
        .count()
    )
    source = landing.source(stateful, output_mode="update", status=status)
    found = ps.run(ps.pipe(source, ps.collect(timed=True)))
    assert sorted((time, *row) for time, row in found) == [(n, key, 1 + n) for n in (0, 1) for key in "abc"]
    assert status.watermark is not None


def test_no_shared_views(landing, monkeypatch):
    """A server without global temporary views is refused when composing."""
    from pyspark.sql.connect.dataframe import DataFrame

    def refused(self, name):
        raise NotImplementedError("not on this platform")

    monkeypatch.setattr(DataFrame, "createOrReplaceGlobalTempView", refused)
    with pytest.raises(ps.CompositionError, match=r"global temporary views, but its server has none \(not on this"):
        landing.source()

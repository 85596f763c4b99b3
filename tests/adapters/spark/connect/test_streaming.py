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


def test_micro_batches_are_times(landing):
    """The rows of a micro-batch are at its number; the status has Spark's report of the query."""
    landing.arrive(3, 2, 4)
    status = spark.StreamStatus()
    found = ps.run(ps.pipe(landing.source(status=status), ps.collect(timed=True)))
    assert [(time, row.number) for time, row in found] == [
        (0, 0), (0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (2, 7), (2, 8)
    ]  # fmt: skip
    assert landing.commits == [0, 1, 2]
    assert (status.committed, status.input_rows) == (2, 4)
    assert status.processed_rows_per_second > 0
    assert status.details["batchId"] == 2


def test_committed_when_complete(landing):
    """A micro-batch is committed when all its results are complete; then the next one arrives."""
    landing.arrive(2, 2)
    seen = []

    async def slow(row):
        # Spark has had more than enough time to commit.
        await trio.sleep(1)
        seen.append((row.number, landing.commits))
        return row

    ps.run(ps.pipe(landing.source(), ps.map_async(slow, concurrency=1), ps.drain()))
    assert seen == [(0, []), (1, []), (2, [0]), (3, [0])]
    assert landing.commits == [0, 1]


@pytest.mark.parametrize("how", ["abort", "error", "enough"])
def test_endings_leave_it_uncommitted(landing, how):
    """However the run ends within a micro-batch, the next run gets it again."""
    landing.arrive(3, 3)

    def failing(row):
        if row.number == 4:
            raise ValueError("no 4")
        return row

    async def lingering(row):
        if row.number == 4:
            await trio.sleep_forever()

    async def aborted():
        async with ps.pipe(landing.source(), ps.map_async(lingering, concurrency=1), ps.drain()).open() as running:
            while landing.commits != [0]:  # noqa: ASYNC110 - on the disk
                await trio.sleep(0.02)
            await running.abort()

    if how == "abort":
        trio.run(aborted)
    elif how == "error":
        with pytest.raises(ValueError, match="no 4"):
            ps.run(ps.pipe(landing.source(), ps.map(failing), ps.drain()))
    else:
        assert len(ps.run(ps.pipe(landing.source(), ps.take(4), ps.collect()))) == 4
    assert landing.commits == [0]
    again = ps.run(ps.pipe(landing.source(), ps.collect(timed=True)))
    assert [(time, row.number) for time, row in again] == [(1, n) for n in (3, 4, 5)][
        : 3 * (2 - len(landing.commits)) + 3
    ]


def test_spark_failure(landing):
    """A failure in Spark fails the stream, with Spark's message."""
    landing.arrive(2)
    broken = landing.frame().selectExpr("1 / (number - 1) AS bad")
    with pytest.raises(spark.SparkStreamError, match="DIVIDE_BY_ZERO"):
        ps.run(ps.pipe(landing.source(broken), ps.drain()))
    assert landing.commits == []


def test_a_query_that_was_stopped_elsewhere(landing, remote):
    """The stream ends with an error."""
    landing.arrive(2, 2)

    async def stop(row):
        await trio.to_thread.run_sync(lambda: [query.stop() for query in remote.streams.active])

    with pytest.raises(spark.SparkStreamError, match="stopped elsewhere"):
        ps.run(ps.pipe(landing.source(), ps.map_async(stop, concurrency=1), ps.drain()))


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

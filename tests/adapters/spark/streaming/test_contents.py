"""`from_streaming`: the rows, their times, and Spark's commits."""

import pytest

import pullstream as ps
from adapters import spark
from tests.adapters.spark.helpers import on_both, settings
from tests.adapters.spark.streaming.conftest import SCHEMA

pytestmark = pytest.mark.spark


def test_reports_are_read_back_to_the_last_micro_batch():
    """A report of an idle query does not hide the commit before it; known reports are skipped."""
    batch = {"batchId": 3, "durationMs": {"addBatch": 5}, "numInputRows": 7}
    idle = {"batchId": 4, "durationMs": {"latestOffset": 1}, "numInputRows": 0, "inputRowsPerSecond": 0.0}
    status = spark.StreamStatus()
    status.update(iter([idle, idle, batch, {"batchId": 2, "durationMs": {"addBatch": 5}, "numInputRows": 9}]))
    assert (status.committed, status.input_rows, status.details) == (3, 7, idle)
    assert status.has_committed(3)
    assert not status.has_committed(4)
    status.input_rows = 8
    status.update(iter([idle, batch]))
    assert status.input_rows == 8


def test_several_arrow_batches_share_a_time(session, landing):
    with settings(session, {"spark.sql.execution.arrow.maxRecordsPerBatch": "100"}):
        landing.arrive(450, 10)
        batches = ps.run(ps.pipe(landing.source(as_="batches"), ps.collect(timed=True)))
    assert [(at, batch.num_rows) for at, batch in batches] == [(0, 100)] * 4 + [(0, 50), (1, 10)]


def test_an_empty_micro_batch_is_complete_at_once(landing):
    """If a filter on the executors drops all rows, micro-batches are empty, but have times and are committed."""
    landing.arrive(3, 3, 3)
    large = spark.on_executors(ps.filter(lambda row: row.number >= 6), schema=SCHEMA)
    rows = ps.run(ps.pipe(landing.source(landing.frame().transform(large)), ps.collect(timed=True)))
    assert [(at, row.number) for at, row in rows] == [(2, 6), (2, 7), (2, 8)]
    assert landing.commits == [0, 1, 2]


def test_without_data_there_is_no_micro_batch(landing):
    """The last report comes from an idle query, so earlier reports are read."""
    landing.arrive(2)
    assert len(ps.run(ps.pipe(landing.source(), ps.collect()))) == 2
    assert ps.run(ps.pipe(landing.source(), ps.collect())) == []
    assert landing.commits == [0]


@on_both
def test_an_aggregate_in_spark_arrives_as_it_changes(landing):
    landing.arrive(3, 3)
    df = landing.frame().groupBy("key").count()
    source = landing.source(df, output_mode="complete", as_="tuples")
    with settings(landing.session, {"spark.sql.shuffle.partitions": "1"}):
        found = ps.run(ps.pipe(source, ps.collect(timed=True)))
    assert sorted(found) == [(at, (key, at + 1)) for at in (0, 1) for key in "abc"]


@on_both
async def test_the_status_has_spark_reports(landing):
    landing.arrive(30, 30, 30)
    status = spark.StreamStatus()
    df = landing.frame().selectExpr("*", "timestamp_seconds(number) AS at").withWatermark("at", "5 seconds")
    during = []

    def look(row):
        during.append((status.batch, status.rows, status.committed))

    async with ps.pipe(landing.source(df, status=status), ps.tap(look), ps.drain()).open() as running:
        await running.result()
    shown = running.counters()[0].status
    assert during == [(0, 30, None)] * 30 + [(1, 30, 0)] * 30 + [(2, 30, 1)] * 30
    assert status.committed == 2
    assert status.input_rows == 30
    assert status.processed_rows_per_second > 0
    assert status.watermark == "1970-01-01T00:00:54.000Z"
    assert status.details["batchId"] == 2
    assert status.details["sources"][0]["description"].startswith("FileStreamSource")
    assert "committed up to 2" in shown
    assert "watermark 1970" in shown


def test_a_status_is_not_part_of_the_pipelines_identity(landing, tmp_path):
    """The next run may have another status, or none, and continue the journal."""
    status = spark.StreamStatus()

    def rows(status):
        source = landing.source(landing.frame(), status=status)
        return ps.run(ps.pipe(source, ps.map(lambda row: row.number), ps.collect()), journal=tmp_path / "journal")

    landing.arrive(1)
    assert rows(status) == [0]
    landing.arrive(2)
    assert rows(status) == [0, 1, 2]
    assert status.committed == 1
    landing.arrive(1)
    assert rows(None) == [0, 1, 2, 3]
    status.committed = 7
    assert (
        len(ps.run(ps.pipe(landing.source(checkpoint=tmp_path / "new", status=status), ps.take(1), ps.collect()))) == 1
    )
    assert status.committed is None

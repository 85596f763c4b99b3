"""`OrderedBatches` alone, without the pull protocol: order, laziness, cancellation."""

import threading
import time
from types import SimpleNamespace

import pytest

from adapters import spark
from adapters.spark.reading import arrow_rdd
from adapters.spark.reading.source import refusal
from adapters.spark.reading.timed import timed

pytestmark = pytest.mark.spark


@pytest.fixture
def slow(session):
    from pyspark.sql import functions as sql

    @sql.udf("long")
    def dawdle(number):
        time.sleep(0.01)
        return number

    return lambda rows: session.range(0, rows, 1, 2).select("id", dawdle("id").alias("slow"))


def read(batches):
    got = []
    while (batch := batches.next()) is not None:
        got.append(batch)
    return got


@pytest.mark.sampled(1)
@pytest.mark.parametrize("wait", [0.0, 0.05, 0.5])
def test_close_ends_a_blocked_read_at_once_and_no_other_job(slow, wait, until_idle):
    """However early it is called, `close` ends the current call and the job for good; a second `close` is allowed."""
    batches = spark.OrderedBatches(timed(slow(1_000_000), "slow", refusal).sorted().frame)
    outcome, counts = [], []

    def ask():
        try:
            outcome.append(batches.next())
        except spark.JobCancelled as exc:
            outcome.append(exc)

    other = threading.Thread(target=lambda: counts.append(slow(100).agg({"slow": "count"}).collect()[0][0]))
    thread = threading.Thread(target=ask)
    other.start()
    thread.start()
    time.sleep(wait)
    batches.close()
    thread.join()
    other.join()
    until_idle()
    assert isinstance(outcome[0], spark.JobCancelled)
    assert counts == [100]
    batches.close()
    with pytest.raises(spark.JobCancelled):
        batches.next()


def test_the_submitting_thread_keeps_no_tag(session):
    """The thread returns to its pool, and its next jobs must not be cancelled along with these."""
    before = session.sparkContext.getJobTags()
    batches = spark.OrderedBatches(timed(session.range(3), "id", refusal).sorted().frame)
    batches.next()
    assert session.sparkContext.getJobTags() == before
    batches.close()


def test_a_failure_is_permanent(session):
    """Partitions after the failed one have already arrived, but must not be delivered."""
    frame = session.range(0, 8, 1, 8).selectExpr("if(id = 1, raise_error('no 1'), id) AS id")
    batches = spark.OrderedBatches(frame)
    found = []
    with pytest.raises(spark.SparkJobError, match="no 1"):
        while (batch := batches.next()) is not None:
            found += batch.column(0).to_pylist()
    assert found in ([], [0])
    for _ in range(2):
        with pytest.raises(spark.SparkJobError, match="no 1"):
            batches.next()
    batches.close()


def test_sparks_activity_is_shown_while_no_rows_arrive(slow):
    """A sort takes time before the first row; meanwhile the status shows stages and tasks."""
    batches = spark.OrderedBatches(slow(1_000_000).repartition(2))
    assert batches.doing() == ""

    def ask():
        with pytest.raises(spark.JobCancelled):
            batches.next()

    reading = threading.Thread(target=ask)
    reading.start()
    text = ""
    # Spark may take a while to start; the sort would run for hours.
    while reading.is_alive() and not (text.startswith("Spark: stage ") and text.endswith(" tasks done")):
        text = batches.doing()
        time.sleep(0.05)
    assert reading.is_alive(), text
    batches.close()
    reading.join()
    assert batches.doing() == ""


def test_missing_private_calls_are_replaced(session, monkeypatch):
    monkeypatch.setattr(arrow_rdd, "_offered", {})
    monkeypatch.setattr(arrow_rdd, "pyspark", SimpleNamespace(util=SimpleNamespace()))
    assert not arrow_rdd.offered(session)
    frame = session.range(0, 6_000, 1, 8).selectExpr("id", "concat('row', id) AS text")
    for given in frame.repartitionByRange(3, "id").sortWithinPartitions("id"), frame:
        got = read(spark.OrderedBatches(given))
        assert [number for batch in got for number in batch.column(0).to_pylist()] == list(range(6_000))

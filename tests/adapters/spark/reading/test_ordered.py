"""`OrderedBatches` alone, without the pull protocol: order, laziness, cancellation."""

import threading
import time
from types import SimpleNamespace

import pytest

from adapters import spark
from adapters.spark.reading import arrow_rdd, ordered
from adapters.spark.reading.timed import timed

pytestmark = pytest.mark.spark


@pytest.fixture
def slow(session):
    """A frame of any number of rows that take 10 ms each."""
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


class TestReading:
    def test_every_row_arrives_once_in_order_of_time(self, session):
        """The last column, the time, never decreases across batches and partitions, and nothing is lost."""
        frame = session.range(0, 30_000, 1, 7).selectExpr("id", "id * 7919 % 365 AS day")
        batches = spark.OrderedBatches(timed(frame, "day").sorted().frame)
        got = read(batches)
        times = [time for batch in got for time in batch.column(2).to_pylist()]
        assert times == sorted(times)
        assert sorted(number for batch in got for number in batch.column(0).to_pylist()) == list(range(30_000))
        assert batches.next() is None

    def test_many_partitions_keep_the_order(self, session):
        """The order continues from one partition to the next when Spark does not merge them."""
        session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
        session.conf.set("spark.sql.shuffle.partitions", "5")
        try:
            got = read(
                spark.OrderedBatches(timed(session.range(0, 2000, 1, 3).selectExpr("-id AS day"), "day").sorted().frame)
            )
        finally:
            session.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
            session.conf.unset("spark.sql.shuffle.partitions")
        assert len(got) == 5
        assert [day for batch in got for day in batch.column(1).to_pylist()] == list(range(-1999, 1))

    def test_an_empty_frame_has_no_batches(self, session):
        """It ends at once."""
        assert spark.OrderedBatches(timed(session.range(0), "id").sorted().frame).next() is None

    def test_nothing_is_submitted_before_the_first_batch(self, session):
        """Making it, and closing it unread, starts no job."""
        from pyspark.sql import functions as sql

        touched = session.sparkContext.accumulator(0)

        @sql.udf("long")
        def touch(number):
            touched.add(1)
            return number

        frame = session.range(10).select(touch("id").alias("day"))
        batches = spark.OrderedBatches(timed(frame, "day").sorted().frame)
        batches.close()
        assert touched.value == 0
        assert len(read(spark.OrderedBatches(timed(frame, "day").sorted().frame))) == 1
        assert touched.value >= 10


class TestCancelling:
    @pytest.mark.sampled(1)
    @pytest.mark.parametrize("wait", [0.0, 0.05, 0.5])
    def test_close_ends_a_blocked_read_at_once(self, slow, wait, until_idle):
        """However early it is called, `close` ends the current call and the job, which would take an hour."""
        batches = spark.OrderedBatches(timed(slow(1_000_000), "slow").sorted().frame)
        outcome = []

        def ask():
            try:
                outcome.append(batches.next())
            except spark.JobCancelled as exc:
                outcome.append(exc)

        thread = threading.Thread(target=ask)
        thread.start()
        time.sleep(wait)
        batches.close()
        thread.join()
        until_idle()
        assert isinstance(outcome[0], spark.JobCancelled)

    def test_a_close_between_two_batches_leaves_nothing_running(self, session, until_idle):
        """The partly read result is dropped, a second `close` has no effect, and the session can still be used."""
        batches = spark.OrderedBatches(timed(session.range(50_000), "id").sorted().frame)
        assert batches.next().num_rows > 0
        batches.close()
        batches.close()
        until_idle()
        with pytest.raises(spark.JobCancelled):
            batches.next()
        assert session.range(3).count() == 3

    def test_only_its_own_job_is_cancelled(self, slow):
        """Another job of the same session is completed."""
        counts = []
        other = threading.Thread(target=lambda: counts.append(slow(100).agg({"slow": "count"}).collect()[0][0]))
        other.start()
        batches = spark.OrderedBatches(timed(slow(1_000_000), "slow").sorted().frame)
        outcome = []

        def ask():
            with pytest.raises(spark.JobCancelled):
                batches.next()
            outcome.append("cancelled")

        reader = threading.Thread(target=ask)
        reader.start()
        time.sleep(0.1)
        batches.close()
        reader.join()
        other.join()
        assert (outcome, counts) == (["cancelled"], [100])

    def test_the_submitting_thread_keeps_no_tag(self, session):
        """The thread returns to its pool, where its next jobs must not be cancelled together with these."""
        before = session.sparkContext.getJobTags()
        batches = spark.OrderedBatches(timed(session.range(3), "id").sorted().frame)
        batches.next()
        assert session.sparkContext.getJobTags() == before
        batches.close()


class TestFailing:
    def test_a_failure_is_permanent(self, session):
        """Partitions after the failed one have arrived already, and must not look like the rest."""
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


class TestStatus:
    def test_sparks_activity_is_shown_while_no_rows_arrive(self, slow):
        """A sort takes time before the first row; meanwhile the status shows stages and tasks."""
        batches = spark.OrderedBatches(slow(1_000_000).repartition(2))
        assert batches.doing() == ""

        def ask():
            with pytest.raises(spark.JobCancelled):
                batches.next()

        reading = threading.Thread(target=ask)
        reading.start()
        text = ""
        # Spark may take any time to start; the sort would run for hours.
        while reading.is_alive() and not (text.startswith("Spark: stage ") and text.endswith(" tasks done")):
            text = batches.doing()
        assert reading.is_alive(), text
        batches.close()
        reading.join()
        assert batches.doing() == ""


class TestWays:
    """Read Spark's own Arrow data and, as with a PySpark that does not provide it, through Python workers."""

    @pytest.fixture(params=["arrow", "workers"])
    def way(self, request, monkeypatch):
        if request.param == "workers":
            monkeypatch.setattr(ordered, "offered", lambda session: False)
        return request.param

    def test_both_ways_give_the_same(self, session, way):
        """Also after a shuffle, from partitions of many batches, and from many small ones."""
        frame = (
            session.range(0, 60_000, 1, 40).selectExpr("id", "concat('row', id) AS text").repartitionByRange(3, "id")
        )
        got = read(spark.OrderedBatches(frame.sortWithinPartitions("id")))
        assert [number for batch in got for number in batch.column(0).to_pylist()] == list(range(60_000))
        many = read(spark.OrderedBatches(session.range(0, 80, 1, 40).selectExpr("id")))
        assert [number for batch in many for number in batch.column(0).to_pylist()] == list(range(80))

    def test_missing_private_calls_are_replaced(self, session, monkeypatch):
        """Whichever of PySpark's internals is missing, the rows arrive."""
        monkeypatch.setattr(arrow_rdd, "_offered", {})
        monkeypatch.setattr(arrow_rdd, "import_module", lambda _: SimpleNamespace())
        assert not arrow_rdd.offered(session)
        assert sum(batch.num_rows for batch in read(spark.OrderedBatches(session.range(3)))) == 3

"""Reading in order by itself: order, laziness, cancellation; the pull protocol has no part in it."""

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
    """A frame whose rows take 10 ms each, of as many rows as are wanted."""
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
    def test_every_row_comes_once_and_in_the_order_of_time(self, session):
        """Across batches and partitions the last column, the time, never goes back, and nothing is lost."""
        frame = session.range(0, 30_000, 1, 7).selectExpr("id", "id * 7919 % 365 AS day")
        batches = spark.OrderedBatches(timed(frame, "day").sorted().frame)
        got = read(batches)
        times = [time for batch in got for time in batch.column(2).to_pylist()]
        assert times == sorted(times)
        assert sorted(number for batch in got for number in batch.column(0).to_pylist()) == list(range(30_000))
        assert batches.next() is None

    def test_many_partitions_keep_the_order(self, session):
        """The order holds from one partition to the next, too, when Spark does not merge them into one."""
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

    def test_no_rows_are_no_batches(self, session):
        """An empty frame ends at once."""
        assert spark.OrderedBatches(timed(session.range(0), "id").sorted().frame).next() is None

    def test_nothing_is_submitted_before_the_first_batch_is_asked_for(self, session):
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
    def test_a_blocked_reader_comes_back_at_once(self, slow, wait, until_idle):
        """However early it comes, a close ends the call under way and the job, which would take an hour."""
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
        """What was read in part is dropped, twice if need be, and the session works on."""
        batches = spark.OrderedBatches(timed(session.range(50_000), "id").sorted().frame)
        assert batches.next().num_rows > 0
        batches.close()
        batches.close()
        until_idle()
        with pytest.raises(spark.JobCancelled):
            batches.next()
        assert session.range(3).count() == 3

    def test_only_its_own_job_is_cancelled(self, slow):
        """Another job of the same session runs to its end."""
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

    def test_the_thread_that_submitted_keeps_no_tag(self, session):
        """The thread goes back to its pool, where the next user's jobs must not be cancelled with ours."""
        before = session.sparkContext.getJobTags()
        batches = spark.OrderedBatches(timed(session.range(3), "id").sorted().frame)
        batches.next()
        assert session.sparkContext.getJobTags() == before
        batches.close()


class TestFailing:
    def test_a_failure_is_for_ever(self, session):
        """The partitions behind one that has failed are there already, and would look like all there is."""
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
    def test_what_spark_does_is_told_while_nothing_comes(self, slow):
        """A sort takes its time before the first row: stages and tasks are what there is to see."""
        batches = spark.OrderedBatches(slow(1_000_000).repartition(2))
        assert batches.doing() == ""

        def ask():
            with pytest.raises(spark.JobCancelled):
                batches.next()

        reading = threading.Thread(target=ask)
        reading.start()
        text = ""
        # How long it takes Spark to begin is the machine's matter; the sort would go on for hours.
        while reading.is_alive() and not (text.startswith("Spark: stage ") and text.endswith(" tasks done")):
            text = batches.doing()
        assert reading.is_alive(), text
        batches.close()
        reading.join()
        assert batches.doing() == ""


class TestWays:
    """By Spark's own Arrow, and, where a PySpark does not give it, through Python workers."""

    @pytest.fixture(params=["arrow", "workers"])
    def way(self, request, monkeypatch):
        if request.param == "workers":
            monkeypatch.setattr(ordered, "offered", lambda session: False)
        return request.param

    def test_they_give_the_same(self, session, way):
        """Also behind a shuffle, from partitions of many batches, and from many small ones."""
        frame = (
            session.range(0, 60_000, 1, 40).selectExpr("id", "concat('row', id) AS text").repartitionByRange(3, "id")
        )
        got = read(spark.OrderedBatches(frame.sortWithinPartitions("id")))
        assert [number for batch in got for number in batch.column(0).to_pylist()] == list(range(60_000))
        many = read(spark.OrderedBatches(session.range(0, 80, 1, 40).selectExpr("id")))
        assert [number for batch in many for number in batch.column(0).to_pylist()] == list(range(80))

    def test_nothing_private_is_taken_for_granted(self, session, monkeypatch):
        """Whatever of PySpark's inside is missing, the rows come."""
        monkeypatch.setattr(arrow_rdd, "_offered", {})
        monkeypatch.setattr(arrow_rdd, "import_module", lambda _: SimpleNamespace())
        assert not arrow_rdd.offered(session)
        assert sum(batch.num_rows for batch in read(spark.OrderedBatches(session.range(3)))) == 3

"""Failures on executors: the stream's error has Spark's message, and little else."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pullstream as ps
from adapters import spark
from adapters.spark.failures import essence

pytestmark = pytest.mark.spark


def failing(session, function):
    from pyspark.sql import functions as sql

    return session.range(0, 400, 1, 2).select("id", sql.udf("long")(function)("id").alias("bad"))


def failure(frame, time="id"):
    with pytest.raises(spark.SparkJobError) as caught:
        ps.run(ps.pipe(spark.from_dataframe(frame, time=time), ps.collect()))
    return caught.value


class TestFailures:
    def test_an_error_in_a_users_function_has_its_traceback(self, session, until_idle):
        """The message has the line that raised and the exception; Spark's and Java's frames are omitted."""

        def check(number):
            if number == 77:
                raise ValueError("row 77 is bad")
            return number

        message = str(failure(failing(session, check)))
        assert "ValueError: row 77 is bad" in message
        assert f"{os.path.basename(__file__)}" in message  # noqa: PTH119
        assert "\tat " not in message
        assert "pyspark/worker.py" not in message
        assert len(message.splitlines()) < 12
        until_idle()

    def test_a_killed_worker_is_reported_by_spark(self, session):
        """A worker that dies silently fails the stream, and the session can still be used."""
        error = failure(failing(session, lambda number: os._exit(3)))
        assert "Python worker exited unexpectedly" in str(error)
        assert "\tat " not in str(error)
        assert "Job aborted due to stage failure" in error.details
        assert session.range(5).count() == 5

    def test_an_error_in_java_has_its_message(self, session, capfd):
        """A refusal of Spark's is raised with Spark's message, once, and nothing is printed as well."""
        frame = session.range(0, 400, 1, 2).selectExpr("id", "1 / (id - 77) AS bad")
        assert "[DIVIDE_BY_ZERO]" in str(failure(frame))
        assert capfd.readouterr() == ("", "")

    def test_a_broken_file_is_named(self, session, tmp_path):
        """The message has the file, Spark's description and its cause; `details` has the whole chain."""
        path = tmp_path / "bad.parquet"
        pq.write_table(pa.table({"n": ["x"]}), path)
        error = failure(session.read.schema("n BIGINT").parquet(str(tmp_path)), time=None)
        assert f"{path.as_uri()}. Data type mismatches when reading Parquet column [n]" in str(error)
        assert "caused by" in str(error)
        assert "awaitResult" not in str(error)
        assert "SchemaColumnConvertNotSupportedException" in error.details

    def test_a_truncated_file_is_named(self, session, tmp_path):
        """Java's description follows Spark's own."""
        path = tmp_path / "cut.parquet"
        pq.write_table(pa.table({"n": list(range(1000))}), path)
        os.truncate(path, 900)
        error = failure(session.read.schema("n BIGINT").parquet(str(tmp_path)), time=None)
        assert f"Encountered error while reading file {path.as_uri()}" in str(error)
        assert "is not a Parquet file" in str(error)

    def test_a_file_is_named_before_its_fault(self, session, tmp_path):
        """There are two Spark exceptions, and the outer one has the name."""
        (tmp_path / "bad.json").write_text('{"n": "x')
        frame = session.read.schema("n BIGINT").option("mode", "FAILFAST").json(str(tmp_path))
        message = str(failure(frame, time=None))
        assert (tmp_path / "bad.json").as_uri() in message
        assert "Malformed records" in message

    def test_a_late_failure_keeps_earlier_rows(self, session):
        """If a partition fails after others were read, the stream fails at that point, not before."""
        session.conf.set("spark.sql.adaptive.coalescePartitions.enabled", "false")
        session.conf.set("spark.sql.shuffle.partitions", "4")
        seen = []
        try:
            frame = session.range(0, 400, 1, 2)
            source = spark.from_dataframe(frame, time="id")
            pipeline = ps.pipe(source, ps.map(lambda row: seen.append(row.id) or 1 // (350 - row.id)), ps.drain())
            with pytest.raises(ZeroDivisionError):
                ps.run(pipeline)
        finally:
            session.conf.unset("spark.sql.adaptive.coalescePartitions.enabled")
            session.conf.unset("spark.sql.shuffle.partitions")
        assert seen == list(range(351))

    def test_the_failure_stays_the_same(self, session):
        """Asking twice raises one object (R3), whose context is Spark's exception."""
        error = failure(session.range(3).selectExpr("raise_error('no') AS bad", "id"))
        assert error.__context__ is not None
        assert error.__suppress_context__


class TestEssence:
    def test_frames_of_java_and_of_sparks_worker_are_omitted(self):
        """The user's lines remain, in order."""
        text = """boom: Traceback (most recent call last):
  File "/x/pyspark.zip/pyspark/worker.py", line 1, in main
    process()
    ^^^^^^^^^
  File "/home/me/job.py", line 9, in check
    raise ValueError("bad")
ValueError: bad

\tat org.apache.spark.Some.thing(Some.scala:1)
\t... 12 more

Driver stacktrace:
\tat org.apache.spark.Other.thing(Other.scala:1)"""
        assert essence(text).splitlines() == [
            "boom: Traceback (most recent call last):",
            '  File "/home/me/job.py", line 9, in check',
            '    raise ValueError("bad")',
            "ValueError: bad",
        ]

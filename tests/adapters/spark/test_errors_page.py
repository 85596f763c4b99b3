"""Each error on the page of errors, produced and compared, and other failures; see also `test_ended`, `alone`."""

import os
import socket
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pullstream as ps
from adapters import spark
from adapters.spark.failures import essence
from tests.adapters.spark.page import PAGE, compare, rows

pytestmark = pytest.mark.spark


HERE = Path(__file__).parent


def read(frame):
    return lambda: ps.run(ps.pipe(spark.from_dataframe(frame), ps.drain()))


@pytest.fixture
def parquet(tmp_path):
    def write(name, values):
        pq.write_table(pa.table({"n": values}), tmp_path / f"{name}.parquet")
        return tmp_path / f"{name}.parquet"

    return write


def test_every_error_is_produced():
    """Each row of the page has a test, here or in a file next to this one."""
    files = "test_errors_page", "test_ended", "test_java", "alone", "writing/test_server"
    written = "".join((HERE / f"{name}.py").read_text() for name in files)
    assert [happened for happened in rows() if f'"{happened}"' not in written] == []
    assert len(rows()) == len([line for line in PAGE.read_text().splitlines() if line.startswith("| ")]) - 4


def test_an_unreachable_cluster(monkeypatch):
    """The error is raised at once, not after a minute; one reachable address is enough."""
    from pyspark import SparkContext
    from pyspark.sql.connect.session import SparkSession

    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    # Left by other tests.
    monkeypatch.setattr(SparkSession, "active", lambda: None)
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        port = nobody.getsockname()[1]
        error = compare("a cluster cannot be reached", lambda: spark.session(master=f"spark://127.0.0.1:{port}"))
        compare("a Connect server cannot be reached", lambda: spark.session(master=f"sc://127.0.0.1:{port}"))
    assert isinstance(error, spark.SparkJobError)


CALLS = {
    "another session is active": lambda _: spark.session(master="spark://head:7077"),
    # PySpark checks the file first, and raises its own error.
    "a file is missing": lambda session: session.read.csv(str(HERE / "missing.csv")),
    "the DataFrame has no such column": lambda session: spark.from_dataframe(session.range(3), time="day"),
    "rows do not fit the schema": lambda session: spark.to_dataframe(
        ps.values([("a",)]), "id BIGINT", session=session
    ).collect(),
}


@pytest.mark.parametrize("happened", CALLS)
def test_a_wrong_call(session, happened):
    compare(happened, lambda: CALLS[happened](session))


@pytest.mark.parametrize(
    ("happened", "name", "values", "damage"),
    [
        ("a file was deleted after the DataFrame was made", "gone", [1], Path.unlink),
        ("a file is broken", "cut", range(1000), lambda path: os.truncate(path, 900)),
    ],
)
def test_a_damaged_file(session, parquet, happened, name, values, damage):  # noqa: PLR0917 - by name
    path = parquet(name, values)
    frame = session.read.schema("n BIGINT").parquet(str(path))
    damage(path)
    compare(happened, read(frame))


def test_another_schema(session, parquet):
    frame = session.read.schema("n BIGINT").parquet(str(parquet("other", ["x"])))
    error = compare("a file has another schema", read(frame))
    assert "caused by" in str(error)
    assert "awaitResult" not in str(error)
    assert "SchemaColumnConvertNotSupportedException" in error.details


def test_a_function_that_raises(session):
    from pyspark.sql import functions as sql

    def check(number):
        if number == 1:
            raise ValueError("row 1 is bad")
        return number

    frame = session.range(3).select(sql.udf("long")(check)("id").alias("n"))
    error = compare("your function raises in Spark", read(frame))
    assert error.raised == "ValueError"


def test_a_stopped_session(session, monkeypatch):
    monkeypatch.setattr(session.sparkContext, "_jsc", None)
    compare("the session was stopped", lambda: spark.to_dataframe(ps.values([(1,)]), "id BIGINT", session=session))


def test_an_error_in_java_has_its_message(session, capfd):
    """A refusal of Spark's is raised with Spark's message, once, and nothing is printed."""
    frame = session.range(0, 400, 1, 2).selectExpr("id", "1 / (id - 77) AS bad")
    with pytest.raises(spark.SparkJobError, match=r"\[DIVIDE_BY_ZERO\]"):
        ps.run(ps.pipe(spark.from_dataframe(frame, time="id"), ps.drain()))
    assert capfd.readouterr() == ("", "")


def test_a_file_is_named_before_its_fault(session, tmp_path):
    (tmp_path / "bad.json").write_text('{"n": "x')
    frame = session.read.schema("n BIGINT").option("mode", "FAILFAST").json(str(tmp_path))
    with pytest.raises(spark.SparkJobError, match="Malformed records") as caught:
        read(frame)()
    assert (tmp_path / "bad.json").as_uri() in str(caught.value)


def test_frames_of_java_and_of_sparks_worker_are_omitted():
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

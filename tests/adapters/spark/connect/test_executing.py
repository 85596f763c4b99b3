"""`on_executors`, `reduce_by_key` and `send_packages` through Spark Connect: the same functions, the same results."""

import pytest

import pullstream as ps
from adapters import spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.fixture
def frame(remote):
    """Rows over ten days, mixed in three partitions."""
    return remote.range(0, 10_000, 1, 3).selectExpr(
        "id", "date_add(date'2013-01-01', cast(id * 7 % 10 AS int)) AS day", "concat('k', id % 6) AS k"
    )


def test_failures(frame):
    """The user's error has its type and place; a missing column is refused."""

    def fail(row):
        if row.id == 77:
            raise ValueError("no 77")
        return row.id

    broken = frame.transform(spark.on_executors(ps.map(fail), schema="id long"))
    with pytest.raises(spark.SparkJobError, match="ValueError: no 77") as caught:
        ps.run(ps.pipe(spark.from_dataframe(broken), ps.drain()))
    assert caught.value.raised == "ValueError"
    with pytest.raises(ps.CompositionError, match="has no column for by='nowhere'; its columns are id, day, k"):
        frame.transform(spark.on_executors(ps.map(fail), schema="id long", by="nowhere"))


@pytest.mark.usefixtures("remote")
def test_packages(server):
    """The workers find sent packages; sending them again has no effect."""
    from pyspark.sql.connect.session import SparkSession

    def packages(row):
        import sys
        import zipfile

        files = [path for path in sys.path if path.endswith("pullstream_packages.zip")]
        return ",".join(name for file in files for name in zipfile.ZipFile(file).namelist() if name.count("/") == 1)

    def sent(session):
        found = spark.on_executors(ps.map(packages), schema="packages string")
        (row,) = session.range(1).transform(found).collect()
        return row.packages

    session = SparkSession.builder.remote(server.url).create()
    try:
        spark.send_packages(session)
        spark.send_packages(session)
        assert {"pullstream/__init__.py", "adapters/__init__.py", "timely/__init__.py"} <= {*sent(session).split(",")}
    finally:
        session.stop()

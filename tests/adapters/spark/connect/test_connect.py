"""Spark Connect, whose server is another program; what equals a classic session is tested beside that."""

import sys

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.connect import gate, local
from tests.adapters.spark.streaming.conftest import Landing
from tests.programs import until

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def read(frame, *parts, **options):
    return ps.run(ps.pipe(spark.from_dataframe(frame, **options), *parts, ps.collect()))


@pytest.fixture
def frame(remote):
    return remote.range(0, 30_000, 1, 6).selectExpr("id", "id % 5 AS five", "concat('row', id) AS text")


def test_without_py4j(frame, monkeypatch):
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


def test_enough_and_aborts(remote):
    assert [row.id for row in read(remote.range(0, 1_000_000, 1, 100), ps.take(3))] == [0, 1, 2]

    async def abort():
        async with ps.pipe(spark.from_dataframe(slowly(remote)), ps.drain()).open() as running:
            await trio.sleep(1)
            await running.abort()

    trio.run(abort)


async def test_sparks_activity_is_shown(remote):
    batches = spark.OrderedBatches(slowly(remote))
    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def reading():
            with pytest.raises(spark.JobCancelled):
                while await trio.to_thread.run_sync(batches.next):
                    pass

        await until(batches.doing)
        status = batches.doing()
        batches.cancel()
    batches.close()
    assert "0 of 4 tasks done" in status


def test_without_the_private_call(frame, monkeypatch):
    """If PySpark lacks the call, its public API reads the same rows."""
    from pyspark.sql.connect.client import SparkConnectClient

    monkeypatch.delattr(SparkConnectClient, "to_table_as_iterator")
    assert [row.id for row in read(frame)] == list(range(30_000))


@pytest.mark.usefixtures("remote")
def test_packages(server):
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


@pytest.fixture
def landing(remote, tmp_path):
    return Landing(remote, tmp_path)


def test_spark_failure(landing):
    landing.arrive(2)
    broken = landing.frame().selectExpr("1 / (number - 1) AS bad")
    with pytest.raises(spark.SparkStreamError, match="DIVIDE_BY_ZERO"):
        ps.run(ps.pipe(landing.source(broken), ps.drain()))
    assert landing.commits == []


def test_a_program_without_heartbeat(landing, monkeypatch):
    monkeypatch.setattr(gate, "LEASE_SECONDS", 2.0)
    monkeypatch.setattr(gate, "BEAT_SECONDS", 1000.0)
    landing.arrive(2)

    async def slow(row):
        await until(lambda: not landing.session.streams.active)

    with pytest.raises(spark.SparkStreamError, match="has sent no heartbeat for 2 seconds"):
        ps.run(ps.pipe(landing.source(), ps.map_async(slow, concurrency=1), ps.drain()))
    assert landing.commits == []


def test_no_shared_views(landing, monkeypatch):
    from pyspark.sql.connect.dataframe import DataFrame

    def refused(self, name):
        raise NotImplementedError("not on this platform")

    monkeypatch.setattr(DataFrame, "createOrReplaceGlobalTempView", refused)
    with pytest.raises(ps.CompositionError, match=r"global temporary views, but its server has none \(not on this"):
        landing.source()


async def test_inside_a_run(remote):
    assert [n for (n,) in spark.to_dataframe(ps.values([1, 2]), "n INT").collect()] == [1, 2]


def test_failures(remote, monkeypatch):
    """The source's failure and a value that does not fit are raised; too much data is refused."""

    def fail(n):
        raise ValueError("no rows today")

    with pytest.raises(ValueError, match="no rows today"):
        spark.to_dataframe(ps.pipe(ps.values([1]), ps.map(fail)), "n INT")
    with pytest.raises(spark.SchemaError, match="n"):
        spark.to_dataframe(ps.values(["x"]), "n INT")
    monkeypatch.setattr(local, "MOST_BYTES", 1 << 20)
    with pytest.raises(ps.CompositionError, match=r"^to_dataframe\(\) at .*test_connect.py:\d+ got more than 1 MB"):
        spark.to_dataframe(ps.integers(), "n BIGINT")


@pytest.mark.parametrize("inside", [True, False], ids=["in the query", "beside it"])
def test_large_times(remote, tmp_path, monkeypatch, inside):
    """Rows of two times are slices of one array, which PySpark refuses if there are nulls among lists."""
    if not inside:
        monkeypatch.setattr(local, "INLINE_BYTES", 1)
    text = "x" * 1000
    rows = ps.pipe(
        ps.values(range(4000), time=lambda n: n // 2000), ps.map(lambda n: (n, text, [(n,)] if n % 2 else None))
    )
    schema = "n INT, text STRING, a ARRAY<STRUCT<x: INT>>"
    ps.run(ps.pipe(rows, spark.write_table(tmp_path / "table", schema, time="at")))
    found = remote.read.parquet(str(tmp_path / "table"))
    sums = found.selectExpr("count(*)", "sum(n)", "min(length(text))", "sum(a[0].x)").first()[:]
    assert sums == (4000, 7998000, 1000, 4000000)
    assert len(list((tmp_path / "table" / "at=0").glob("*.parquet"))) == 1

"""`to_dataframe`, `register_source` and `write_table` through Spark Connect."""

import datetime as dt

import pytest
import trio

import pullstream as ps
from adapters import spark
from adapters.spark.connect import local

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCHEMA = "n BIGINT, text STRING, at TIMESTAMP, day DATE"


def row(n):
    return n, f"row{n}", n * 1_000_000, dt.date(2013, 1, 1 + n % 3)


class TestToDataframe:
    def test_it_has_the_sources_values(self, remote):
        """All of them, any number of times, in any time zone of the session."""
        remote.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        try:
            frame = spark.to_dataframe(ps.pipe(ps.values(range(50_000)), ps.map(row)), SCHEMA)
            assert frame.columns == ["n", "text", "at", "day"]
            again = ps.run(ps.pipe(spark.from_dataframe(frame, as_="tuples"), ps.collect()))
        finally:
            remote.conf.unset("spark.sql.session.timeZone")
        assert again == [row(n) for n in range(50_000)]
        assert frame.selectExpr("sum(n)").first()[0] == sum(range(50_000))
        assert frame.orderBy("text").count() == 50_000

    def test_inside_a_run(self, remote):
        """It can be called inside a trio program."""

        async def main():
            return spark.to_dataframe(ps.values([1, 2]), "n INT")

        assert [n for (n,) in trio.run(main).collect()] == [1, 2]

    def test_failures(self, remote, monkeypatch):
        """The source's failure and a value that does not fit are raised; too much data is refused and not kept."""

        def fail(n):
            raise ValueError("no rows today")

        with pytest.raises(ValueError, match="no rows today"):
            spark.to_dataframe(ps.pipe(ps.values([1]), ps.map(fail)), "n INT")
        with pytest.raises(spark.SchemaError, match="n"):
            spark.to_dataframe(ps.values(["x"]), "n INT")
        monkeypatch.setattr(local, "MOST_BYTES", 1 << 20)
        with pytest.raises(ps.CompositionError, match=r"^to_dataframe\(\) at .*test_writing.py:\d+ got more than 1 MB"):
            spark.to_dataframe(ps.integers(), "n BIGINT")


def test_register_source(remote):
    """A registered source is refused when composing, with an alternative."""
    with pytest.raises(
        ps.CompositionError, match=r"needs a classic session.*use write_table to write a table that Spark can read"
    ):
        spark.register_source("sales", ps.values([1]), "n INT")


class TestWriteTable:
    def test_large_times(self, remote, tmp_path):
        """A time that is too large for one message is sent in several, and the session keeps none of them."""
        text = "x" * 1000
        source = ps.pipe(ps.values(range(4000)), ps.map(lambda n: (n, text)))
        ps.run(ps.pipe(source, spark.write_table(tmp_path / "table", "n INT, text STRING", time="at")))
        found = remote.read.parquet(str(tmp_path / "table"))
        assert found.selectExpr("count(*)", "sum(n)", "min(length(text))").first()[:] == (4000, 7998000, 1000)
        assert len(list((tmp_path / "table" / "at=0").glob("*.parquet"))) == 1

    def test_failure(self, remote, tmp_path):
        """The error has Spark's message."""
        (tmp_path / "table").write_text("no folder")
        with pytest.raises(spark.SparkJobError, match="Spark could not do the job"):
            ps.run(ps.pipe(ps.values([1]), spark.write_table(tmp_path / "table", "n INT")))

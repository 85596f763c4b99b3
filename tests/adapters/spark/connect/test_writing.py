"""`to_dataframe`, `register_source` and `write_table` through Spark Connect."""

import datetime as dt

import pytest
import trio

import pullstream as ps
from adapters import files, spark
from adapters.spark.connect import local

pytestmark = [pytest.mark.spark, pytest.mark.slow]

SCHEMA = "n BIGINT, text STRING, at TIMESTAMP, day DATE"


def row(n):
    return n, f"row{n}", n * 1_000_000, dt.date(2013, 1, 1 + n % 3)


class TestToDataframe:
    def test_it_is_what_the_source_gave(self, remote):
        """All of it, as often as Spark reads it, in whatever time zone the session is."""
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

    def test_nothing(self, remote):
        """A source that gives nothing is a DataFrame without rows."""
        assert spark.to_dataframe(ps.values([]), "n INT", session=remote).count() == 0

    def test_inside_a_run(self, remote):
        """It may be called where trio runs."""

        async def main():
            return spark.to_dataframe(ps.values([1, 2]), "n INT")

        assert [n for (n,) in trio.run(main).collect()] == [1, 2]

    def test_failures(self, remote, monkeypatch):
        """The source's own failure is raised, as is a value that does not fit; too much is refused, and not kept."""

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
    """A source by name is refused when composing, with what to do instead."""
    with pytest.raises(
        ps.CompositionError, match=r"needs a classic session.*use write_table to write a table that Spark can read"
    ):
        spark.register_source("sales", ps.values([1]), "n INT")


class TestWriteTable:
    def test_partitions_replace_those_of_before(self, remote, tmp_path):
        """A partition per time, of one file; writing a time again changes that one."""
        rows = [(day, f"{day}-{n}", n) for day in (1, 2, 3) for n in range(1000)]
        source = ps.pipe(ps.values(rows), ps.stamp(lambda row: row[0]), ps.map(lambda row: row[1:]))
        times = ps.run(ps.pipe(source, spark.write_table(tmp_path / "table", "text STRING, n INT", time="day")))
        assert times == [1, 2, 3]
        again = ps.pipe(ps.values([(2, "new", 7)]), ps.stamp(lambda row: row[0]), ps.map(lambda row: row[1:]))
        ps.run(ps.pipe(again, spark.write_table(tmp_path / "table", "text STRING, n INT", time="day")))
        found = {
            tuple(row) for row in remote.read.parquet(str(tmp_path / "table")).select("day", "text", "n").collect()
        }
        assert found == {row for row in rows if row[0] != 2} | {(2, "new", 7)}
        assert [len(list((tmp_path / "table" / f"day={day}").glob("*.parquet"))) for day in (1, 2, 3)] == [1, 1, 1]
        assert [path.name for path in (tmp_path / "table").iterdir() if "staging" in path.name] == []

    def test_large_times(self, remote, tmp_path):
        """What is larger than a part goes in several, and is kept in no session."""
        text = "x" * 1000
        source = ps.pipe(ps.values(range(4000)), ps.map(lambda n: (n, text)))
        ps.run(ps.pipe(source, spark.write_table(tmp_path / "table", "n INT, text STRING", time="at")))
        found = remote.read.parquet(str(tmp_path / "table"))
        assert found.selectExpr("count(*)", "sum(n)", "min(length(text))").first()[:] == (4000, 7998000, 1000)
        assert len(list((tmp_path / "table" / "at=0").glob("*.parquet"))) == 1

    def test_two_at_once(self, remote, tmp_path):
        """A second sink of one program is refused."""
        both = ps.tee(*(spark.write_table(tmp_path / "table", "n INT") for _ in range(2)))
        with pytest.raises(files.FileBusyError, match="is writing to"):
            ps.run(ps.pipe(ps.values([1]), both))

    def test_failure(self, remote, tmp_path):
        """What Spark says arrives."""
        (tmp_path / "table").write_text("no folder")
        with pytest.raises(spark.SparkJobError, match="Spark could not do the job"):
            ps.run(ps.pipe(ps.values([1]), spark.write_table(tmp_path / "table", "n INT")))

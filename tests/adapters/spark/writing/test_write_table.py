"""`write_table` with Spark: partitions are always complete."""

import datetime as dt
import re
import shutil
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import trio
from pyspark.sql.types import VariantVal

import pullstream as ps
from adapters import files, spark
from adapters.spark.writing import table_partitions
from adapters.stopping import stoppably
from tests.adapters.spark.helpers import killed, on_both, settings

pytestmark = pytest.mark.spark


def sales(count=40):
    return ps.values([(f"item {n}", n) for n in range(count)], time=lambda row: row[1] // 10)


def found(folder):
    rows = pq.read_table(folder, partitioning="hive").to_pylist()
    return sorted((row["time"], row["item"], row["n"]) for row in rows)


def names(folder):
    return [path.name for path in folder.iterdir()]


def expected(count=40):
    return sorted((n // 10, f"item {n}", n) for n in range(count))


SCHEMA = "item STRING, n BIGINT"


@pytest.fixture
def table(chosen):
    chosen.sql("DROP TABLE IF EXISTS some_sales")
    yield "some_sales"
    chosen.sql("DROP TABLE IF EXISTS some_sales")


@on_both
def test_writing_again_replaces(chosen, tmp_path):
    for count in (40, 20):
        times = ps.run(ps.pipe(sales(count), spark.write_table(tmp_path, SCHEMA, session=chosen)))
        assert times == list(range(count // 10))
    assert found(tmp_path) == expected()
    assert sorted(names(tmp_path)) == [f"time={time}" for time in range(4)]
    assert [len(list((tmp_path / f"time={time}").glob("*.parquet"))) for time in range(4)] == [1] * 4


def test_few_rows_are_sent_within_the_query(session, tmp_path, monkeypatch):
    """Python processes that plan and read a source would cost more than everything else."""
    moment, ntz = dt.datetime(2026, 3, 8, 2, 30, tzinfo=dt.UTC), dt.datetime(2026, 3, 8, 2, 30)  # noqa: DTZ001
    variant = VariantVal.parseJson('{"a": 1}')
    row = (Decimal("1.5"), dt.date(1500, 1, 1), moment, ntz, [{"x": 1}], {"k": (moment, b"b")}, variant, None)
    rows = ps.values([(n, *rest) for n in range(2) for rest in (row, [None] * 8)], time=lambda row: row[0])
    schema = (
        "n TINYINT, d DECIMAL(38, 6), e DATE, t TIMESTAMP, u TIMESTAMP_NTZ, a ARRAY<STRUCT<x: INT>>, "
        "m MAP<STRING, STRUCT<t: TIMESTAMP, b: BINARY>>, v VARIANT, none STRING"
    )

    def written(folder):
        ps.run(ps.pipe(rows, spark.write_table(folder, schema, session=session)))
        assert [len(list(each.glob("*.parquet"))) for each in folder.iterdir()] == [1, 1]
        frame = session.read.parquet(str(folder))
        return frame.schema, sorted(map(str, frame.collect()))

    with settings(session, {"spark.sql.session.timeZone": "America/New_York"}):
        with monkeypatch.context() as patch:
            patch.delattr(table_partitions, "ServedSource")
            few = written(tmp_path / "few")
        monkeypatch.setattr(table_partitions, "INLINE_BYTES", 0)
        assert written(tmp_path / "many") == few


def test_dates_and_other_formats(session, tmp_path):
    """A date names its partition as Spark does, and the options reach the writer."""
    rows = ps.values([(n,) for n in range(3)], time=lambda row: dt.date(2013, 1, 1 + row[0]))
    sink = spark.write_table(
        tmp_path, "n BIGINT", format="orc", time="day", options={"compression": "zlib"}, session=session
    )
    ps.run(ps.pipe(rows, sink))
    assert sorted(names(tmp_path)) == ["day=2013-01-01", "day=2013-01-02", "day=2013-01-03"]
    assert list(tmp_path.glob("*/*.zlib.orc"))
    assert [tuple(row) for row in session.read.orc(str(tmp_path)).sort("n").collect()] == [
        (n, dt.date(2013, 1, 1 + n)) for n in range(3)
    ]


def test_a_relative_path_is_a_folder(session):
    """As for writers of files, but relative to Java's start folder; it is not a table in Spark's catalog."""
    folder = Path(session._jvm.System.getProperty("user.dir")) / "sales_in_a_folder"
    try:
        ps.run(ps.pipe(sales(20), spark.write_table("sales_in_a_folder", SCHEMA, session=session)))
        assert found(folder) == expected(20)
        assert not session.catalog.tableExists("sales_in_a_folder")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@on_both
def test_a_table_by_name(chosen, table):
    for count in (20, 40):
        sink = spark.write_table(table, "Location STRING, `a``b` BIGINT", catalog=True, session=chosen)
        ps.run(ps.pipe(sales(count), sink))
    assert sorted((time, item, n) for item, n, time in chosen.table(table).collect()) == expected()


def test_a_table_with_names_of_fields_and_wider_types(session, table):
    schema = "item STRUCT<`a b`: STRING>, n SMALLINT"
    for made in ("", "TABLE {} (item STRUCT<`a b`: STRING>, n BIGINT, time STRING) USING orc PARTITIONED BY (time)"):
        session.sql(f"DROP TABLE IF EXISTS {table}")
        if made:
            session.sql(f"CREATE {made.format(table)}")
        rows = ps.pipe(sales(20), ps.map(lambda row: ({"a b": row[0]}, row[1])))
        form = "orc" if made else "parquet"
        ps.run(ps.pipe(rows, spark.write_table(table, schema, catalog=True, format=form, session=session)))
        assert sorted((int(time), item["a b"], n) for item, n, time in session.table(table).collect()) == expected(20)


async def test_a_time_completes_when_it_is_in_place(session, tmp_path):
    """Code that waits for the completion of a day can read the day."""
    schema = pa.schema([("item", pa.string()), ("n", pa.int64())])
    async with ps.pipe(sales(), spark.write_table(tmp_path, schema, session=session)).open() as running:
        await running.progress.completed(1)
        assert {"time=0", "time=1"} <= set(names(tmp_path))


@pytest.mark.parametrize("wrong", [(1, 2), True, 1 << 63, "", "\ud800", "__HIVE_DEFAULT_PARTITION__"])
def test_a_time_that_cannot_name_a_partition(session, tmp_path, wrong):
    rows = ps.values([("a", 1)], time=lambda _: wrong)
    named = re.escape(f"the time {wrong!r} ({type(wrong).__name__}) cannot name a partition")
    with pytest.raises(spark.TableTargetError, match=named):
        ps.run(ps.pipe(rows, spark.write_table(tmp_path, SCHEMA, session=session)))
    assert not names(tmp_path)


def test_a_time_with_the_name_of_a_column(session, tmp_path):
    """Spark ignores case in names, unless it is set otherwise."""
    table = ps.pipe(sales(20), spark.write_table(tmp_path, "Time STRING, n BIGINT", session=session))
    with pytest.raises(ps.CompositionError, match="already has a column 'Time', which is for the time"):
        ps.run(table)
    with settings(session, {"spark.sql.caseSensitive": "true"}):
        assert ps.run(table) == [0, 1]


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("TABLE {} (item STRING, n BIGINT, time BIGINT) USING orc PARTITIONED BY (time)", "is in orc"),
        ("TABLE {} (item STRING, n BIGINT, time BIGINT) USING parquet", r"partitioned by \[\]"),
        (
            "TABLE {} (item STRING, time BIGINT) USING parquet PARTITIONED BY (time)",
            "the columns item string, time bigint,",
        ),
        (
            "TABLE {} (item STRING, n INT, time BIGINT) USING parquet PARTITIONED BY (time)",
            "the columns item string, n bigint, time bigint,.* but .* item string, n int, time",
        ),
        ("TABLE {} (item STRING, n BIGINT, time DATE) USING parquet PARTITIONED BY (time)", "n bigint, time date,"),
        ("VIEW {} AS SELECT 1 AS one", "is in view"),
    ],
)
def test_an_incompatible_table(session, table, made, why):
    """Partitions in such a table could not be read, or would lack columns; nothing is written there."""
    try:
        session.sql(f"CREATE {made.format(table)}")
        with pytest.raises(spark.TableTargetError, match=why):
            ps.run(ps.pipe(sales(), spark.write_table(table, SCHEMA, catalog=True, session=session)))
        assert session.table(table).count() == why.count("view")
    finally:
        if "VIEW" in made:
            session.sql(f"DROP VIEW {table}")


@on_both
async def test_a_folder_with_two_writers_is_refused(chosen, tmp_path):
    """They would delete each other's work; when the first has ended, the folder is free again."""
    pushed = ps.pushable(1000)

    def table():
        return spark.write_table(tmp_path, SCHEMA, session=chosen)

    async with ps.pipe(pushed, ps.stamp(lambda row: row[1]), table()).open() as running:
        await pushed.push(("item", 0))
        await pushed.push(("item", 1))
        await running.progress.completed(0)
        async with ps.pipe(sales(), table()).open() as second:
            with pytest.raises(files.FileBusyError, match=r"^write_table: another run, or another sink of"):
                await second.result()
        pushed.end()
        assert await running.result() == [0, 1]
    assert sorted(names(tmp_path)) == ["time=0", "time=1"]
    assert await ps.arun(ps.pipe(sales(), table())) == [0, 1, 2, 3]


@on_both
def test_times_before_a_refused_row_are_written(chosen, tmp_path):
    rows = ps.pipe(ps.values(range(40), time=lambda n: n // 10), ps.map(lambda n: ("a", n if n < 25 else "text")))
    with pytest.raises(spark.SchemaError, match="'text'.*row 6 of the time 2"):
        ps.run(ps.pipe(rows, spark.write_table(tmp_path, SCHEMA, session=chosen)))
    assert sorted(names(tmp_path)) == ["time=0", "time=1"]


@on_both
def test_a_failed_write_fails_the_run(chosen, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match="file"):
        ps.run(ps.pipe(sales(), spark.write_table(tmp_path / "file", SCHEMA, session=chosen)))


@pytest.mark.parametrize("inline", [0, table_partitions.INLINE_BYTES])
async def test_an_abort_leaves_complete_partitions(session, tmp_path, until_idle, monkeypatch, inline):
    monkeypatch.setattr(table_partitions, "INLINE_BYTES", inline)
    pushed = ps.pushable(1000)

    pipeline = ps.pipe(pushed, ps.stamp(lambda row: row[1]), spark.write_table(tmp_path, SCHEMA, session=session))
    async with pipeline.open() as running:
        for n in range(50):
            await pushed.push((f"item {n}", n))
        await trio.sleep(0.2)
        await running.abort()
    left = set(names(tmp_path)) if tmp_path.exists() else set()
    assert all(name.startswith("time=") for name in left)
    until_idle()


async def test_an_abort_before_spark_writes():
    done = []
    with trio.CancelScope() as scope:
        scope.cancel()
        await stoppably(done.append, lambda: None, 1)
    assert scope.cancelled_caught
    assert done == []


async def test_a_call_that_is_cancelled_before_its_thread_begins_does_nothing(autojump_clock, monkeypatch):
    begun, done = [], []

    async def late(function, *arguments, **options):
        assert not begun, "the call is waited for"
        begun.append(function)
        await trio.sleep_forever()

    monkeypatch.setattr(trio.to_thread, "run_sync", late)
    with trio.move_on_after(1):
        await stoppably(done.append, lambda: None, 1)
    [working] = begun
    working()
    assert done == []


def many():
    return ps.values([(f"item {n}", n) for n in range(20_000)], time=lambda row: row[1] // 1000)


AGAIN_AND_AGAIN = """
import sys
import pullstream as ps
from adapters import spark
from tests.adapters.spark.writing.test_write_table import SCHEMA, many

spark.session()
while True:
    ps.run(ps.pipe(many(), spark.write_table(sys.argv[1], SCHEMA)), limit=500)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kill", range(6))
def test_a_kill_leaves_complete_partitions(session, tmp_path, kill):
    assert killed(AGAIN_AND_AGAIN, tmp_path, ready=lambda: [*tmp_path.glob("time=*")], after=3, java=True)

    def counts():
        return dict(map(tuple, session.read.parquet(str(tmp_path)).groupBy("time").count().collect()))

    whole = dict.fromkeys(range(20), 1000)
    if list(tmp_path.glob("time=*")):
        assert counts().items() <= whole.items()
    ps.run(ps.pipe(many(), spark.write_table(tmp_path, SCHEMA, session=session)))
    assert counts() == whole
    assert not (tmp_path / ".pullstream").exists()

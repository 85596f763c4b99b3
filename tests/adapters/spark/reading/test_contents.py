"""`from_dataframe` in a run: rows, types, times, endings, and change feeds."""

import datetime as dt

import pytest

import pullstream as ps
from adapters import spark
from pullstream.incremental import change_of
from tests.adapters.spark.helpers import on_both, settings
from tests.programs import printed
from tests.pullstream.counting import stop_clocks

pytestmark = pytest.mark.spark


def read(df, limit=4096, **options):
    return ps.run(ps.pipe(spark.from_dataframe(df, **options), ps.collect()), limit=limit)


@ps.sink
async def answers(upstream, ctx):
    count = 0
    async for _ in ctx.batches(upstream, many=True):
        count += 1
    return count


@pytest.fixture
def frame(chosen):
    return chosen.range(0, 30_000, 1, 7).selectExpr("id", "id % 5 AS five", "concat('row', id) AS text")


@on_both
def test_the_rows_equal_sparks_own(frame):
    found = ps.run(ps.pipe(spark.from_dataframe(frame), ps.collect(timed=True)))
    assert {time for time, _ in found} == {0}
    rows = [row for _, row in found]
    assert rows == [tuple(row) for row in frame.collect()]
    assert rows[0]._fields == ("id", "five", "text")


def test_empty_frames_end_at_once(session, frame):
    assert read(session.range(0)) == read(session.range(0), time="id") == []
    assert read(frame.where("id < 0")) == []
    assert read(session.createDataFrame(session.sparkContext.emptyRDD(), "a int")) == []


@on_both
def test_values_in_sparks_own_arrow_data(chosen):
    """Timestamps are microseconds in any time zone of the session; for other types see `tests/adapters/arrow`."""
    with settings(chosen, {"spark.sql.session.timeZone": "America/New_York"}):
        df = chosen.range(2).selectExpr(
            "timestamp_micros(1234567) AS at",
            "timestamp_ntz'1970-01-01 00:00:02' AS wall",
            "if(id = 0, null, named_struct('x', timestamp_micros(5), 'y', array(date'2020-02-29', null))) AS deep",
            "map('k', cast(id AS tinyint)) AS pairs",
            "interval '1 02' day to hour AS span",
            "if(id = 0, null, x'00ff') AS bytes",
            "struct(array()) AS empty",
        )
        none, full = read(df.coalesce(1))
        (batch,) = read(df.coalesce(1), as_="batches")
    span = dt.timedelta(days=1, hours=2)
    assert none == (1234567, 2_000_000, None, [("k", 0)], span, None, {"col1": []})
    deep = {"x": 5, "y": [dt.date(2020, 2, 29), None]}
    assert full == (1234567, 2_000_000, deep, [("k", 1)], span, b"\x00\xff", {"col1": []})
    assert [str(batch.schema.field(name).type) for name in ("at", "wall")] == ["timestamp[us, tz=UTC]", "timestamp[us]"]


def test_functions_on_executors_do_not_import_these_packages():
    """The functions are pickled by value: unpickling and calling them imports none of these packages."""
    from pyspark.cloudpickle import dumps

    from adapters.spark.reading.cells import packing

    program = (
        "import sys, pickle\n"
        f"pack = pickle.loads({dumps(packing())!r})\n"
        "print(list(pack([])))\n"
        "ours = ('pullstream', 'adapters', 'timely', 'trio')\n"
        "print([name for name in sys.modules if name.split('.')[0] in ours])\n"
    )
    assert printed("-c", program, cwd="/") == "[]\n[]\n"


@on_both
def test_unsorted_batches_with_lateness_have_their_times(chosen):
    """A TIMESTAMP's times are microseconds, and its lateness may be a timedelta."""
    df = chosen.range(0, 4000, 1, 3).selectExpr("id", "timestamp_seconds(id * 7919 % 50) AS at")
    source = spark.from_dataframe(df, time="at", lateness=dt.timedelta(seconds=50), as_="batches")
    found = ps.run(ps.pipe(source, ps.collect(timed=True)))
    assert all(set(batch["at"].cast("int64").to_pylist()) == {time} for time, batch in found)
    assert sum(batch.num_rows for _, batch in found) == 4000


def test_the_lateness_may_be_longer_than_the_time_since_the_first_date(session):
    df = session.sql("SELECT explode(array(date'0001-01-02', date'2020-01-02', date'0001-01-01')) AS day")
    rows = read(df, limit=1, time="day", lateness=dt.timedelta(days=800_000))
    assert [row.day.year for row in rows] == [1, 1, 2020]


def test_late_rows_are_an_error_with_advice(session):
    days = "if(id < 10000, date'2020-01-10', date'2020-01-01') AS day"
    df = session.range(0, 20_000, 1, 1).selectExpr("id", days)
    options = {"time": "day", "lateness": dt.timedelta(days=2)}
    with pytest.raises(
        ps.errors.CapabilityError, match=r"too late: Row\(id=10000.*is at datetime.date\(2020, 1, 1\), after"
    ):
        read(df, **options)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limit", [1, 7, 1024])
def test_only_late_rows_are_dropped_or_go_to_a_sink(session, limit):
    days = "CASE WHEN id < 10 THEN 20 WHEN id % 3 = 0 THEN 5 ELSE 20 + id % 7 END"
    df = session.range(0, 60, 1, 6).selectExpr("id", f"cast({days} AS int) AS day")
    plain = df.collect()
    too_late = [row.id for row in plain if row.day == 5]
    late = []
    source = spark.from_dataframe(df, time="day", lateness=10, late=ps.drain(late.append))
    rows = ps.run(ps.pipe(source, ps.collect(timed=True)), limit=limit, check=True)
    assert [row.id for row in late] == too_late
    assert all(time == row.day for time, row in rows)
    assert sorted(row.id for _, row in rows) == [row.id for row in plain if row.day != 5]
    source = spark.from_dataframe(df, time="day", lateness=10, late="drop")
    assert ps.run(ps.pipe(source, ps.collect(timed=True)), limit=limit, check=True) == rows


def test_unsorted_rows_equal_stamped_rows(session, monkeypatch):
    df = session.range(0, 20_000, 1, 2).selectExpr("id", "id + hash(id) % 500 AS at")
    counted = ps.pipe(ps.map_time(lambda at: at // 100), ps.count_by_key(lambda row: row.id % 5))
    stamped = ps.pipe(spark.from_dataframe(df), ps.stamp(lambda row: row.at, lateness=1000))
    source = spark.from_dataframe(df, time="at", lateness=1000)
    found = [ps.run(ps.pipe(each, counted, ps.collect(timed=True)), check=True) for each in (stamped, source)]
    assert sorted(found[0]) == sorted(found[1])
    stop_clocks(monkeypatch.setattr)
    assert ps.run(ps.pipe(source, answers()), limit=1000) <= 30


@pytest.mark.parametrize(("options", "lateness"), [({}, 0), ({"lateness": 3}, 3)], ids=["sorted", "late"])
def test_a_time_completes_when_a_row_beyond_the_lateness_arrives(session, options, lateness):
    """Not earlier, because another row at that time may arrive, and not only at the end of the stream."""
    source = spark.from_dataframe(session.range(0, 100, 1, 1), time="id", **options)

    @ps.sink
    async def completions(upstream, ctx):
        events, latest = [], None
        async for event in ctx.events(upstream):
            if isinstance(event, ps.Completed):
                events.append((event.time, latest))
            else:
                latest = event.time
                ctx.notify_at(latest)
        return events

    found = ps.run(ps.pipe(source, completions()), limit=1)
    assert found[:90] == [(time, time + lateness) for time in range(90)]


def test_a_row_of_sparks_change_feed_is_a_change():
    """Spark's own Row is one; rows from `from_dataframe` have the same column names."""
    from pyspark.sql import Row

    row = Row(id=2, item="rye", _change_type="delete", _commit_version=3)
    assert change_of(row) == ((2, "rye"), -1)


@pytest.fixture
def days(chosen):
    return chosen.range(0, 1000, 1, 4).selectExpr(
        "id",
        "date_add(date'2013-01-01', cast(id * 7 % 10 AS int)) AS day",
        "timestamp_seconds(id * 7 % 10) AS second",
        "cast(id * 7 % 10 AS short) AS number",
        "cast(id * 7 % 10 AS string) AS text",
        "cast(id AS double) AS real",
        "if(id = 500, null, id) AS sparse",
    )


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("column", "make"),
    [
        ("day", lambda n: dt.date(2013, 1, 1 + n)),
        ("second", lambda n: n * 1_000_000),
        ("number", lambda n: n),
        ("text", str),
    ],
)
@on_both
def test_every_row_arrives_at_its_time_in_order(days, column, make):
    found = ps.run(ps.pipe(spark.from_dataframe(days, time=column), ps.collect(timed=True)))
    times = [time for time, _ in found]
    assert sorted((time, row.id) for time, row in found) == sorted((make(n * 7 % 10), n) for n in range(1000))
    assert times == sorted(times)
    assert {type(time) for time in times} == {type(make(0))}


@on_both
def test_a_time_expression_is_not_in_the_row(days):
    from pyspark.sql import functions as sql

    rows = read(days, time=-sql.col("number"))
    assert [row.number for row in rows] == sorted((row.number for row in rows), reverse=True)
    assert list(rows[0]._fields) == days.columns


def test_a_column_whose_name_contains_a_dot(session):
    frame = session.range(3).selectExpr("id AS `a.b`", "named_struct('x', -id) AS s")
    assert len(read(frame, time="a.b")) == 3
    assert [row[0] for row in read(frame, time="s.x")] == [2, 1, 0]


def test_a_null_time_fails_the_first_ask(days, until_idle):
    seen = []
    pipeline = ps.pipe(spark.from_dataframe(days, time="sparse"), ps.map(seen.append), ps.drain())
    with pytest.raises(spark.NullTimeError, match="'sparse' is null"):
        ps.run(pipeline)
    assert seen == []
    until_idle()


def test_nothing_runs_before_the_first_ask(session):
    from pyspark.sql import functions as sql

    touched = session.sparkContext.accumulator(0)

    @sql.udf("long")
    def touch(number):
        touched.add(1)
        return number

    source = spark.from_dataframe(session.range(10).select(touch("id").alias("day")), time="day")
    assert ps.run(ps.pipe(source, ps.take(0), ps.collect())) == []
    assert touched.value == 0
    assert len(ps.run(ps.pipe(source, ps.collect()))) == 10
    assert touched.value >= 10


def test_a_journal_is_bound_to_columns_and_time(days, tmp_path):
    """With another time, different rows would be at completed times, and would be dropped."""

    def run(frame, at):
        return ps.run(
            ps.pipe(spark.from_dataframe(frame, time=at), ps.reduce(lambda n, _: n + 1, 0)),
            journal=tmp_path / "journal",
        )

    assert run(days, "number") == 1000
    for frame, at in ((days, "text"), (days, days["number"] + 1), (days.drop("real"), "number")):
        with pytest.raises(ps.errors.JournalError, match="belongs to another pipeline: module 1 was from_dataframe"):
            run(frame, at)
    assert run(days.limit(3), "number") == 1000

"""`from_dataframe` in a run: times, rows, endings, and refusals when composing."""

import datetime as dt

import pytest

import pullstream as ps
from adapters import spark
from tests.adapters.spark.helpers import on_both

pytestmark = pytest.mark.spark


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


@ps.sink
async def batches(upstream, ctx):
    found = {}
    async for batch in ctx.batches(upstream):
        found.setdefault(batch.time, []).extend(row.id for row in batch.values)
    return found


def numbered(make):
    return {make(n): [i for i in range(1000) if i * 7 % 10 == n] for n in range(10)}


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
    found = ps.run(ps.pipe(spark.from_dataframe(days, time=column), batches()))
    assert {time: sorted(ids) for time, ids in found.items()} == numbered(make)
    assert list(found) == sorted(found)
    assert {type(time) for time in found} == {type(make(0))}


@on_both
def test_an_expression_gives_the_time_and_is_not_in_the_row(days):
    from pyspark.sql import functions as sql

    source = spark.from_dataframe(days, time=-sql.col("number"))
    rows = ps.run(ps.pipe(source, ps.collect()))
    assert [row.number for row in rows] == sorted((row.number for row in rows), reverse=True)
    assert list(rows[0]._fields) == days.columns


async def test_a_time_completes_when_the_next_begins(days):
    source = spark.from_dataframe(days, time="day")
    day = dt.date(2013, 1, 3)
    for _ in range(2):
        async with ps.pipe(source, ps.drain()).open() as running:
            await running.progress.completed(day)
            assert not running.progress.frontier().less_equal(day)


def test_a_column_whose_name_contains_a_dot(session):
    frame = session.range(3).selectExpr("id AS `a.b`", "named_struct('x', -id) AS s")
    assert len(ps.run(ps.pipe(spark.from_dataframe(frame, time="a.b"), ps.collect()))) == 3
    rows = ps.run(ps.pipe(spark.from_dataframe(frame, time="s.x"), ps.collect()))
    assert [row[0] for row in rows] == [2, 1, 0]


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
    """With another time, rows at completed times would be others, and would be dropped."""

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

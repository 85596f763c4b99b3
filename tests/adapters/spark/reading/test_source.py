"""`from_dataframe` in a run: times, rows, endings, and refusals when composing."""

import datetime as dt
import pickle

import pytest
import trio

import pullstream as ps
from adapters import spark
from tests.adapters.spark.helpers import on_both

pytestmark = pytest.mark.spark


@pytest.fixture
def days(chosen):
    """A thousand rows over ten days, out of order."""
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
    """The delivered rows by time: {time: the rows' ids}."""
    found = {}
    async for batch in ctx.batches(upstream):
        found.setdefault(batch.time, []).extend(row.id for row in batch.values)
    return found


def numbered(make):
    return {make(n): [i for i in range(1000) if i * 7 % 10 == n] for n in range(10)}


class TestTimes:
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
    def test_every_row_arrives_at_its_time_in_order(self, days, column, make):
        """DATE, TIMESTAMP, whole numbers and STRING become dates, microseconds, ints and strings."""
        found = ps.run(ps.pipe(spark.from_dataframe(days, time=column), batches()))
        assert {time: sorted(ids) for time, ids in found.items()} == numbered(make)
        assert list(found) == sorted(found)
        assert {type(time) for time in found} == {type(make(0))}

    @on_both
    def test_an_expression_gives_the_time_and_is_not_in_the_row(self, days):
        """A time need not be a column; rows have their original columns."""
        from pyspark.sql import functions as sql

        source = spark.from_dataframe(days, time=-sql.col("number"))
        rows = ps.run(ps.pipe(source, ps.collect()))
        assert [row.number for row in rows] == sorted((row.number for row in rows), reverse=True)
        assert list(rows[0]._fields) == days.columns

    @pytest.mark.parametrize("limit", [1, 7, 1024])
    def test_the_limit_changes_nothing(self, days, limit):
        """With any limit, the same rows arrive in the same order; none is lost or duplicated."""
        source = spark.from_dataframe(days.filter("id < 100").coalesce(1), time="day")
        rows = ps.run(ps.pipe(source, ps.collect()), limit=limit)
        assert sorted(row.id for row in rows) == list(range(100))
        assert [row.day for row in rows] == sorted(row.day for row in rows)

    def test_a_time_completes_when_the_next_begins(self, days):
        """The progress sidecar is notified of the end of every day, and a blueprint can be opened again."""
        source = spark.from_dataframe(days, time="day")
        day = dt.date(2013, 1, 3)

        async def main():
            async with ps.pipe(source, ps.drain()).open() as running:
                await running.progress.completed(day)
                return running.progress.frontier().less_equal(day)

        assert [trio.run(main), trio.run(main)] == [False, False]

    def test_a_column_whose_name_contains_a_dot(self, session):
        """A text is a name before it is a path into a struct."""
        frame = session.range(3).selectExpr("id AS `a.b`", "named_struct('x', -id) AS s")
        assert len(ps.run(ps.pipe(spark.from_dataframe(frame, time="a.b"), ps.collect()))) == 3
        rows = ps.run(ps.pipe(spark.from_dataframe(frame, time="s.x"), ps.collect()))
        assert [row[0] for row in rows] == [2, 1, 0]


class TestRefusals:
    @pytest.mark.parametrize(
        ("time", "message"),
        [
            ("dya", r"has no column for time='dya'; its columns are id, day, second, number, text, real, sparse"),
            ("real", r"time='real', which is of type double"),
            (3, r"needs time= to be the name of a column or a column expression, and got 3"),
        ],
    )
    def test_a_bad_time_is_refused_when_composing(self, days, capfd, time, message):
        """The error has the place of the mistake, in one line, and nothing else is printed."""
        with pytest.raises(ps.CompositionError, match=rf"test_source\.py:\d+ .*{message}"):
            spark.from_dataframe(days, time=time)
        assert capfd.readouterr() == ("", "")

    def test_other_tables_are_refused(self):
        """A pandas frame, or anything else, is named by its type."""
        with pytest.raises(ps.CompositionError, match=r"needs a Spark DataFrame, and got \[1\] \(list\)"):
            spark.from_dataframe([1], time="day")
        frame = pytest.importorskip("pandas").DataFrame({"day": [1, 2, 3]})
        with pytest.raises(ps.CompositionError, match=r"got a pandas\.DataFrame; session\.createDataFrame\(frame\)"):
            spark.from_dataframe(frame, time="day")

    def test_a_streaming_frame_is_refused(self, session):
        """A frame without an end cannot be sorted."""
        with pytest.raises(ps.CompositionError, match="got a streaming one"):
            spark.from_dataframe(session.readStream.format("rate").load(), time="timestamp")

    def test_two_columns_with_one_name_are_refused(self, days):
        """`row.day` would be ambiguous."""
        with pytest.raises(ps.CompositionError, match="several columns named day"):
            spark.from_dataframe(days.select("id", "day", "day"), time="id")

    def test_a_null_time_fails_the_first_ask(self, days, until_idle):
        """A row without a time is found before any other row is delivered."""
        seen = []
        pipeline = ps.pipe(spark.from_dataframe(days, time="sparse"), ps.map(seen.append), ps.drain())
        with pytest.raises(spark.NullTimeError, match="'sparse' is null"):
            ps.run(pipeline)
        assert seen == []
        until_idle()

    def test_a_handle_is_not_pickled(self, days):
        """A DataFrame belongs to its driver; the message names it."""
        with pytest.raises(TypeError, match=r"from_dataframe\(DataFrame\[id, day, .*cannot be pickled"):
            pickle.dumps(spark.from_dataframe(days, time="day"))


class TestEndings:
    def test_nothing_runs_before_the_first_ask(self, session):
        """Composing, and an abort without an ask, start nothing in Spark: even a broken frame is not noticed."""
        broken = session.range(3).selectExpr("raise_error('touched') AS day").selectExpr("cast(day AS int) AS day")
        source = spark.from_dataframe(broken, time="day")
        assert ps.run(ps.pipe(source, ps.take(0), ps.collect())) == []
        with pytest.raises(spark.SparkJobError, match="touched"):
            ps.run(ps.pipe(source, ps.collect()))

    def test_a_frame_whose_session_was_stopped_is_refused(self, session, days, monkeypatch):
        """When composing, with advice, by everything that takes a DataFrame; Spark itself gives no reason."""
        made = spark.on_executors(ps.map(str), schema="a string")
        monkeypatch.setattr(session.sparkContext, "_jsc", None)
        for name, compose in (
            ("from_dataframe", lambda: spark.from_dataframe(days, time="day")),
            ("on_executors", lambda: made(days)),
            ("reduce_by_key", lambda: spark.reduce_by_key(days, ps.agg.count(), key=str, time="day")),
        ):
            with pytest.raises(ps.CompositionError, match=rf"^{name}\(\) at .* its session was stopped: use another"):
                compose()

    def test_taking_a_few_leaves_nothing_running(self, session, days, until_idle):
        """A stream that has enough ends its job, and the session can still be used."""
        rows = ps.run(ps.pipe(spark.from_dataframe(days, time="day"), ps.take(3), ps.collect()))
        assert [row.day for row in rows] == [dt.date(2013, 1, 1)] * 3
        until_idle()
        assert session.range(5).count() == 5


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

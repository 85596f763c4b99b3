"""`to_dataframe`, and reads of a registered source, in Spark itself; Arrow schemas."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest
from pyspark.sql import Row
from pyspark.sql.types import StructType, VariantVal

import pullstream as ps
from adapters import spark
from tests.adapters.spark.helpers import on_both, settings

pytestmark = pytest.mark.spark

MOMENTS = pa.timestamp("us", "UTC")


@on_both
def test_rows_of_every_form_arrive(chosen):
    rows = [(1, "tea", dt.date(2013, 1, 1), 0), {"n": 2, "item": None, "day": None, "at": 1_000_000}]
    rows += [Row(item="rye", n=3), Row(n=4), Row(5, None, None, None)]
    schema = pa.schema([("n", pa.int64()), ("item", pa.string()), ("day", pa.date32()), ("at", MOMENTS)])
    with settings(chosen, {"spark.sql.session.timeZone": "Asia/Tokyo"}):
        frame = spark.to_dataframe(ps.values(rows), schema, session=chosen)
        found = frame.selectExpr("n", "item", "day", "unix_micros(at)").collect()
    assert [*map(tuple, found)] == [
        (1, "tea", dt.date(2013, 1, 1), 0),
        (2, None, None, 1_000_000),
        (3, "rye", None, None),
        (4, None, None, None),
        (5, None, None, None),
    ]


@on_both
def test_an_empty_source_is_an_empty_frame(chosen):
    frame = spark.to_dataframe(ps.empty(), "n BIGINT", session=chosen)
    assert frame.columns == ["n"]
    assert frame.collect() == []


def test_variants_arrive_at_any_depth(session):
    one, two = VariantVal.parseJson('{"a": [1, null]}'), VariantVal.parseJson('"x"')
    bare = {"value": two.value, "metadata": two.metadata}
    rows = [
        (one, [two, None], {"k": one}, (two, 1), {"v": one}),
        (bare, None, {}, (one, 2), {"v": bare}),
        (None, [bare], None, None, None),
    ]
    ddl = (
        "v VARIANT, many ARRAY<VARIANT>, named MAP<STRING, VARIANT>, pair STRUCT<v: VARIANT, n: INT>, "
        "one STRUCT<v: VARIANT>"
    )
    frame = spark.to_dataframe(ps.values(rows), ddl, session=session)
    shown = frame.selectExpr(*(f"to_json({name})" for name in frame.columns)).collect()
    assert [tuple(row) for row in shown] == [
        ('{"a":[1,null]}', '["x",null]', '{"k":{"a":[1,null]}}', '{"v":"x","n":1}', '{"v":{"a":[1,null]}}'),
        ('"x"', None, "{}", '{"v":{"a":[1,null]},"n":2}', '{"v":"x"}'),
        (None, '["x"]', None, None, None),
    ]


@on_both
def test_rows_without_columns_are_counted(chosen):
    """With an empty schema, even more rows than an Arrow batch holds pass through Spark."""
    none = chosen.range(12_000).select()
    batches = spark.from_dataframe(none, as_="batches")
    rows = ps.concat(spark.from_dataframe(none), ps.values([{}] * 12_000), batches)
    frame = spark.to_dataframe(rows, StructType([]), session=chosen)
    assert frame.columns == []
    assert frame.count() == 36_000


def test_the_source_gets_sparks_filters(session):
    found, made = [], []

    def prune(source, filters):
        found.extend(filters)
        least = max((wanted.value for wanted in filters if wanted.test == ">="), default=0)
        return ps.pipe(source, ps.filter(lambda row: row[0] >= least), ps.tap(made.append))

    rows = [(n, f"name {n % 10}", dt.date(2013, 1, 1 + n % 7), Decimal(n)) for n in range(100)]
    frame = spark.to_dataframe(
        ps.values(rows), "n BIGINT, name STRING, day DATE, d DECIMAL(38, 2)", prune=prune, session=session
    )
    sql = "n >= 60 AND name LIKE 'name 3%' AND day <> DATE'2013-01-02' AND d IN (63.00, 73.00, 83.00) AND n % 2 = 1"
    # PySpark would round this one.
    sql += " AND d <= 123456789012345678901234567890.12"
    assert [row.n for row in frame.filter(sql).collect()] == [63, 73, 83]
    assert len(made) == 40
    assert {(wanted.column, wanted.test, wanted.negated): wanted.value for wanted in found if wanted.value} == {
        ("n", ">=", False): 60,
        ("name", "starts with", False): "name 3",
        ("day", "=", True): dt.date(2013, 1, 2),
        ("d", "in", False): [Decimal("63.00"), Decimal("73.00"), Decimal("83.00")],
    }


def test_a_second_read_is_refused_with_its_reason(session):
    """The message distinguishes a sort, one action with two reads, from two actions, and its advice works."""

    def frame():
        return spark.to_dataframe(ps.values([(n, n % 7) for n in range(1000)]), "n BIGINT, k INT", session=session)

    actions = [
        lambda: frame().orderBy("n").write.format("noop").mode("overwrite").save(),
        lambda: ps.run(ps.pipe(spark.from_dataframe(frame(), time="k"), ps.collect())),
    ]
    for action in actions:
        with pytest.raises(Exception, match=r"one action, for which Spark reads it more than once.*\.persist\(\)"):
            action()
    twice = frame()
    assert twice.count() == 1000
    with pytest.raises(Exception, match="can be read once, and it has been read already") as caught:
        twice.count()
    assert "This is one action" not in str(caught.value)
    kept = frame().persist()
    assert [row.n for row in kept.orderBy("n").collect()] == list(range(1000))
    kept.unpersist()


def test_a_stream_computes_one_micro_batch_and_resumes_where_it_failed(session, tmp_path):
    made, seen = [], []

    def body(frame, number):
        rows = [row.n for row in frame.collect()]
        if number == 1 and len(seen) == 1:
            seen.append((None, len(made)))
            raise ValueError("the second fails once")
        seen.append((rows, len(made)))

    def query():
        frame = session.readStream.format("pullstream").option("maxRowsPerBatch", 100).load("made")
        writer = frame.writeStream.foreachBatch(body).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination(120)

    source = ps.pipe(ps.values(range(200)), ps.tap(made.append))
    with spark.register_source("made", source, pa.schema([("n", pa.int64())]), session=session):
        with pytest.raises(Exception, match="the second fails once"):
            query()
        query()
    assert [rows for rows, _ in seen if rows] == [list(range(100)), list(range(100, 200))]
    assert [count for _, count in seen] == [100, 200, 200]

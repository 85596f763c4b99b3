"""Five million rows in every way: each result equals Spark's own."""

import pytest

import pullstream as ps
from adapters import spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 5_000_000


@pytest.fixture
def frame(session):
    return session.range(0, ROWS, 1, 16).selectExpr(
        "id", "id / 7 AS real", "concat('k', id % 97) AS k", "cast(id % 36 AS int) AS day", "id % 1000 AS x"
    )


def row(n):
    return (n, n / 7, f"k{n % 97}", n % 36, n % 1000)


def digest(frame):
    return frame.selectExpr("sum(cast(xxhash64(id, real, k, day, x) AS decimal(38)))", "count(*)").first()


def test_from_dataframe(frame):
    """Each row arrives once, complete, and in order."""
    numbers = iter(range(ROWS))

    def check(found):
        assert found == row(next(numbers))

    ps.run(ps.pipe(spark.from_dataframe(frame, as_="tuples"), ps.drain(check)))
    assert next(numbers, None) is None


def test_from_streaming(session, tmp_path):
    """Every row of ten micro-batches arrives once, unchanged, in the order of its file, at the time of its file."""
    each = ROWS // 10
    for number in range(10):
        frame = session.range(number * each, (number + 1) * each, 1, 1).selectExpr("id", "id / 7 AS real")
        frame.write.parquet(str(tmp_path / "landing" / f"{number:04}"))
    stream = session.readStream.schema("id long, real double").option("maxFilesPerTrigger", 1)
    source = spark.from_streaming(
        stream.parquet(f"{tmp_path}/landing/*"), checkpoint=tmp_path / "state", trigger="availableNow", as_="tuples"
    )
    rows = ps.run(ps.pipe(source, ps.collect(timed=True)))
    assert rows == [(n // each, (n, n / 7)) for n in range(ROWS)]


def test_on_executors(frame):
    """Every row once through a map; every key and day once, with its sum; and merged on the driver."""
    same = frame.transform(spark.on_executors(ps.map(lambda row: row), schema=frame.schema))
    assert digest(same) == digest(frame)
    total = ps.agg.sum(lambda row: row.x)
    schema = "k string, day int, total long"
    daily = frame.transform(spark.on_executors(ps.reduce_by_time(total), schema=schema, by="k", time="day"))
    own = sorted(map(tuple, frame.groupBy("k", "day").sum("x").collect()))
    assert sorted(map(tuple, daily.collect())) == own
    merged = spark.reduce_by_key(frame, total, key=lambda row: row.k, time="day")
    pairs = ps.run(ps.pipe(merged, ps.collect(timed=True)))
    assert sorted((key, day, value) for day, (key, value) in pairs) == own


def test_to_dataframe(session, frame):
    """Spark's sums equal those of the source, and no row arrives twice."""
    made = spark.to_dataframe(ps.pipe(ps.values(range(ROWS)), ps.map(row)), frame.schema, session=session)
    assert digest(made) == digest(frame)

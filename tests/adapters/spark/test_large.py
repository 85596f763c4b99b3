"""`from_dataframe` with many rows: all of them equal Spark's own."""

import pytest

import pullstream as ps
from adapters import spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 5_000_000


def test_five_million_rows(session):
    """Each row arrives once, complete, and in order."""
    frame = session.range(0, ROWS, 1, 16).selectExpr(
        "id", "id / 7 AS real", "cast(id AS string) AS text", "timestamp_seconds(id) AS at"
    )
    seen = bytearray(ROWS)
    following = 0

    def check(row):
        nonlocal following
        number = row[0]
        assert row == (number, number / 7, str(number), number * 1_000_000)
        assert number == following
        following += 1
        seen[number] += 1

    ps.run(ps.pipe(spark.from_dataframe(frame, as_="tuples"), ps.map(check), ps.drain()))
    assert following == ROWS
    assert seen.count(1) == ROWS
    count, numbers, reals = frame.selectExpr("count(*)", "sum(id)", "sum(real)").first()
    assert (count, numbers) == (ROWS, ROWS * (ROWS - 1) // 2)
    assert reals == pytest.approx(numbers / 7)


def test_five_million_rows_of_a_stream(session, tmp_path):
    """Every row of ten micro-batches arrives once, unchanged, in the order of its file, at the time of its file."""
    for number in range(10):
        columns = ("id AS number", "id / 7 AS real", "cast(id AS string) AS text")
        frame = session.range(number * 500_000, (number + 1) * 500_000, 1, 1).selectExpr(*columns)
        frame.write.parquet(str(tmp_path / "landing" / f"{number:04}"))
    stream = (
        session.readStream.schema("number long, real double, text string")
        .option("maxFilesPerTrigger", 1)
        .parquet(f"{tmp_path}/landing/*")
    )
    source = spark.from_streaming(stream, checkpoint=tmp_path / "checkpoint", trigger="availableNow", as_="tuples")
    seen = 0

    def check(row):
        nonlocal seen
        assert row == (seen, seen / 7, str(seen))
        seen += 1
        return row[0] // 500_000

    found = ps.run(ps.pipe(source, ps.map(check), ps.count_by_key(), ps.collect(timed=True)))
    assert found == [(number, (number, 500_000)) for number in range(10)]
    assert seen == 5_000_000

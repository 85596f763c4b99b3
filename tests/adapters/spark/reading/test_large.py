"""`from_dataframe` with many rows: all of them equal Spark's own."""

import pytest

import pullstream as ps
from adapters import spark

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROWS = 5_000_000


def test_five_million_rows(session):
    """Each row arrives once, complete, and in order."""
    frame = session.range(0, ROWS, 1, 16).selectExpr("id", "id / 7 AS real", "cast(id AS string) AS text")
    seen = bytearray(ROWS)
    following = 0

    def check(row):
        nonlocal following
        number = row[0]
        assert row == (number, number / 7, str(number))
        assert number == following
        following += 1
        seen[number] += 1

    ps.run(ps.pipe(spark.from_dataframe(frame, as_="tuples"), ps.map(check), ps.drain()))
    assert following == ROWS
    assert seen.count(1) == ROWS
    count, numbers, reals = frame.selectExpr("count(*)", "sum(id)", "sum(real)").first()
    assert (count, numbers) == (ROWS, ROWS * (ROWS - 1) // 2)
    assert reals == pytest.approx(numbers / 7)

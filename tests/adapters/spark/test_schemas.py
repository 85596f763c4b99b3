"""Schemas: an Arrow schema is accepted everywhere."""

import pyarrow as pa
import pytest

import pullstream as ps
from adapters import files, spark

pytestmark = pytest.mark.spark

COLUMNS = pa.schema([("item", pa.string()), ("sold", pa.int32()), ("at", pa.timestamp("us", tz="UTC"))])


def test_an_arrow_schema_is_accepted_everywhere(session, tmp_path):
    """By the readers of files, and by every function that passes rows to Spark."""
    (tmp_path / "sales.csv").write_text("item,sold,at\ntea,3,2026-03-02T10:00:00Z\n")
    read = files.read_csv(tmp_path / "sales.csv", schema=COLUMNS)
    frame = spark.to_dataframe(read, COLUMNS, session=session)
    twice = spark.on_executors(ps.map(lambda row: (row.item, 2 * row.sold, row.at)), schema=COLUMNS)
    expected = frame.transform(twice).collect()
    assert [(row.item, row.sold) for row in expected] == [("tea", 6)]
    ps.run(ps.pipe(read, spark.write_table(tmp_path / "sales", COLUMNS, session=session)))
    assert [(row.item, row.sold) for row in session.read.parquet(str(tmp_path / "sales")).collect()] == [("tea", 3)]
    with spark.register_source("arrow_sales", read, COLUMNS, session=session):
        (row,) = session.read.format("pullstream").load("arrow_sales").collect()
    assert (row.item, row.sold, row.at) == ("tea", 3, expected[0].at)

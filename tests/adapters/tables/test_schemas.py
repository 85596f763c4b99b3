"""`write_rows` with `schema=`: the types that a column gets, and what an upsert's columns are called."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import pullstream as ps
from pullstream import tables
from tests.adapters.tables.helpers import write

MOMENT = dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)
VALUES = {
    "bool": True, "int8": 1, "int16": 1, "int32": 1, "int64": 1, "uint8": 1, "float": 0.5, "double": 0.5, "string": "a",
    "large_string": "a", "string_view": "a", "binary": b"a", "large_binary": b"a", "date32": dt.date(2020, 1, 1),
    "timestamp[us]": MOMENT.replace(tzinfo=None), "timestamp[ns]": MOMENT.replace(tzinfo=None),
    "timestamp[us, tz=UTC]": MOMENT, "timestamp[us, tz=Europe/Berlin]": MOMENT,
    "decimal128(5, 2)": Decimal("1.25"),
}  # fmt: skip
TYPES = {
    "string_view": pa.string_view(),
    "timestamp[us, tz=UTC]": pa.timestamp("us", "UTC"),
    "timestamp[us, tz=Europe/Berlin]": pa.timestamp("us", "Europe/Berlin"),
    "decimal128(5, 2)": pa.decimal128(5, 2),
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_second_run_with_the_same_schema(base, kind):
    """It finds the types that the first one has made of the schema's."""
    schema = pa.schema([("value", TYPES.get(kind) or pa.type_for_alias(kind))])
    rows = ps.values([(VALUES[kind],)] * 2, time=lambda _: 1)
    try:
        assert write(rows, base, schema=schema) == [1]
    except tables.SchemaError as exc:
        assert f"{base.kind} has no type for the column 'value'" in str(exc)  # noqa: PT017 - some types are refused
        assert kind not in {"int32", "int64", "float", "double", "string", "large_string", "binary", "date32"}
        return
    assert write(ps.values([(VALUES[kind],)], time=lambda _: 2), base, schema=schema) == [2]
    assert base.query("SELECT count(*), count(DISTINCT value) FROM sales") == [(3, 1)]


def test_columns_that_an_upsert_has(base):
    for name in "pullstream_order", "PULLSTREAM_rank":
        source = ps.values([{"n": 1, name: 1}])
        with pytest.raises(tables.SchemaError, match=f"own with pullstream_: rename the column '{name}'"):
            write(source, base, mode="upsert", key="n")
        assert write(source, base, "plain") in ([0], [])

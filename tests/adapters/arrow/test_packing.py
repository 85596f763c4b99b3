"""Values to Arrow batches of a schema: forms of rows, filled-in columns, and refusals with their messages."""

import datetime as dt
from collections import Counter, defaultdict, namedtuple
from typing import NamedTuple

import pyarrow as pa
import pytest

from adapters.arrow import Packing, SchemaError, Shape

SCHEMA = pa.schema([("k", pa.string()), ("day", pa.date32()), ("n", pa.int64()), ("x", pa.float64())])
DAY = dt.date(2013, 1, 1)
OTHER = dt.date(2014, 2, 2)


class Both(NamedTuple):
    x: object
    n: object


class Whole(NamedTuple):
    k: object
    day: object
    n: object
    x: object


class Odd(NamedTuple):
    odd: object


def rows(values, schema=SCHEMA, given=None):
    optional = {"day": DAY, "k": "key"} if given is None else given
    batches = list(Packing(schema, SchemaError, optional).batches([(values, optional)]))
    for batch in batches:
        assert batch.schema == schema
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def test_small_batches_are_joined_and_large_ones_cut():
    """Up to `most` rows or 8 MB to a batch; an empty batch stays."""
    schema = pa.schema([("n", pa.int64())])
    wide = pa.schema([(f"n{place}", pa.int64()) for place in range(2000)])

    def sizes(schema, *rows):
        values = [pa.record_batch([pa.array([n] * count, pa.int64())] * len(schema), schema) for n, count in rows]
        batches = list(Packing(schema, SchemaError, most=10_000).batches([(values, {})]))
        assert pa.Table.from_batches(batches) == pa.Table.from_batches(values)
        return [len(batch) for batch in batches]

    assert sizes(schema, *((n, 10) for n in range(2500))) == [10_000, 10_000, 5_000]
    assert sizes(schema, (1, 6_000), (2, 5_000), (3, 0), (4, 25_000)) == [6_000, 5_000, 10_000, 10_000, 5_000]
    assert sizes(wide, *((n, 100) for n in range(12))) == [500, 500, 200]
    assert sizes(schema, (1, 0)) == [0]


@pytest.mark.parametrize(
    ("value", "row"),
    [
        ((1, 2.5), ("key", DAY, 1, 2.5)),
        ([1, 2], ("key", DAY, 1, 2.0)),
        (("own", OTHER, 1, 2.5), ("own", OTHER, 1, 2.5)),
        (Both(2.5, 1), ("key", DAY, 1, 2.5)),
        (Whole("own", OTHER, 1, None), ("own", OTHER, 1, None)),
        ({"x": 2.5, "n": 1}, ("key", DAY, 1, 2.5)),
        ({"k": None, "n": 1}, (None, DAY, 1, None)),
        ({}, ("key", DAY, None, None)),
        (pa.record_batch({"x": [2.5], "n": [1]}), ("key", DAY, 1, 2.5)),
        (pa.table({"x": [2.5], "n": [1], "k": ["own"]}), ("own", DAY, 1, 2.5)),
    ],
)
def test_forms_of_rows(value, row):
    assert rows([value]) == [row]
    assert rows([value, value]) == [row, row]


NUMBERS = {"x": pa.int64(), "n": pa.int64()}
BATCH = pa.record_batch({"n": [3, 4], "x": [0, 0]})
AT = dt.datetime(1970, 1, 1, 0, 0, 1, tzinfo=dt.UTC)
OTHER_ORDER = namedtuple("Other", ["n", "x"])  # noqa: PYI024 - without types
# Spark's `_1` and `_2` become the attributes `_0` and `_1` of a row.
(CLEANED,) = Shape("rows").of(pa.record_batch({"_1": [1], "_2": [2]}))


@pytest.mark.parametrize(
    ("columns", "given", "values", "found"),
    [
        # A single column takes any value.
        ({"n": pa.int64()}, {}, [1, (2,), {"n": 3}], [(1,), (2,), (3,)]),
        ({"day": pa.date32(), "n": pa.int64()}, {"day": DAY}, [1], [(DAY, 1)]),
        ({"day": pa.date32()}, {"day": DAY}, [OTHER, (), {}], [(OTHER,), (DAY,), (DAY,)]),
        ({"t": pa.timestamp("us", "UTC")}, {}, [1_000_000, AT, None], [(AT,), (AT,), (None,)]),
        # Names count, and each named tuple has its own.
        ({"_1": pa.int64(), "_2": pa.int64()}, {}, [CLEANED, {"_2": 4, "_1": 3}], [(1, 2), (3, 4)]),
        (NUMBERS, {}, [Both(1, 2), OTHER_ORDER(3, 4), Both(5, 6)], [(1, 2), (4, 3), (5, 6)]),
        (NUMBERS, {}, [(0, 1), {"n": 2, "x": 0}, BATCH, Both(0, 5)], [(0, n) for n in range(1, 6)]),
    ],
)
def test_forms_of_rows_in_one_batch(columns, given, values, found):
    assert rows(values, pa.schema(columns), given) == found


@pytest.mark.parametrize("kind", [dict, Counter, lambda row: defaultdict(int, row)], ids=["dict", "Counter", "default"])
def test_a_dict_is_not_asked_for_missing_keys(kind):
    values = [kind({"n": 1}), kind({"x": 2})]
    schema = pa.schema([("n", pa.int64()), ("x", pa.int64())])
    assert rows(values, schema, {}) == [(1, None), (None, 2)]
    assert values == [{"n": 1}, {"x": 2}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1, "x"), r"the column 'x' is double, and cannot hold 'x' \(str\), value 6: Could not"),
        (
            (1.5, 1),
            r"the column 'n' is int64, and cannot hold 1.5 \(float\), value 6: it is not an integer",
        ),
        ((1, 2, 3), r"value 6, \(1, 2, 3\) \(tuple\), is not a row: it has 3 columns; the columns are k string, day "),
        (
            {"m": 1},
            r"value 6, {'m': 1} \(dict\), is not a row: there is no column 'm'; .*\(k and day can be left out\)",
        ),
        (Both("a", 2), r"the column 'x' is double, and cannot hold 'a'"),
        (Odd(1), r"there is no column 'odd'"),
        (
            7,
            r"value 6, 7 \(int\), is not a row: rows are dicts, named tuples, tuples, or Arrow .*; the columns are",
        ),
        (pa.record_batch({"odd": [1]}), r"an Arrow batch does not match: there is no column 'odd'"),
        (pa.record_batch({"n": ["a"]}), r"the column 'n' is int64, and cannot hold 'a' \(str\), value 6"),
    ],
)
def test_errors_name_the_bad_value(value, message):
    good = (1, 2.0)
    with pytest.raises(SchemaError, match=message):
        rows([good] * 5 + [value] + [good] * 5)


def test_an_error_lists_few_columns():
    schema = pa.schema([(f"c{place}", pa.int64()) for place in range(300)])
    with pytest.raises(
        SchemaError, match=r"no column 'c250x'; the columns are c250 int64, .*, \.\.\. \(300\)"
    ) as caught:
        list(Packing(schema, SchemaError).batches([([{"c250x": 1}], {})]))
    assert len(str(caught.value)) < 400


def test_a_nonnull_column_refuses_nulls():
    """Spark relies on the schema, and would read a null as an arbitrary value."""
    schema = pa.schema([pa.field("n", pa.int64(), nullable=False)])
    with pytest.raises(SchemaError, match="the column 'n' allows no null, but value 2 has one; convert the values"):
        rows([1, None], schema, {})


def test_filling_in_columns_does_not_change_the_values():
    mine, more = [1, 2], [3]
    schema = pa.schema([("n", pa.int64())])
    (batch,) = Packing(schema, SchemaError).batches([(mine, {}), (more, {})])
    assert batch.to_pydict() == {"n": [1, 2, 3]}
    assert (mine, more) == ([1, 2], [3])


def test_values_are_counted_across_batches():
    packing = Packing(pa.schema([("n", pa.int64())]), SchemaError, rows=2)
    (batch,) = packing.batches([([1, 2], {}), ([3], {})])
    assert len(batch) == 3
    with pytest.raises(SchemaError, match=r"value 7: ") as caught:
        list(packing.batches([([pa.record_batch({"n": [None, "x" * 500]})], {})]))
    assert len(str(caught.value)) < 500
    with pytest.raises(SchemaError, match=r"value 9, \(1, 2\) \(tuple\), is not a row"):
        list(packing.batches([([4, 5], {}), ([6, (1, 2)], {})]))


def test_an_arrow_batch_has_each_column_once():
    """Of two columns with one name, one would be lost."""
    batch = pa.RecordBatch.from_arrays([pa.array([1]), pa.array([2])], ["n", "n"])
    with pytest.raises(SchemaError, match="a column occurs twice"):
        rows([batch])

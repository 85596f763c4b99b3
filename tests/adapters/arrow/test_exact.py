"""Columns of a given type: exact values are kept, and values that would lose information are refused."""

import datetime as dt
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from adapters.arrow import exact_array

AT = dt.datetime(2020, 1, 2, 3, 4, 5, 6000, dt.UTC)
FINE = AT.replace(microsecond=6, tzinfo=None)
NIGHT = dt.datetime.combine(AT, dt.time())
NOON = NIGHT.replace(hour=12)
INTS, FLOATS = pa.list_(pa.int8()), pa.list_(pa.float64())
STRUCT = pa.struct([("n", pa.int8()), ("x", pa.float64())])
MAP = pa.map_(pa.string(), pa.float64())
NEVER_NULL = pa.field("value", pa.int8(), nullable=False)
NONE_INSIDE = pa.list_(pa.struct([NEVER_NULL]))
NO_NULL_TEXTS = pa.list_(pa.field("value", pa.string_view(), nullable=False))
EAST = dt.timezone(dt.timedelta(hours=1))


class Turned(NamedTuple):
    x: object
    n: object


class Straight(NamedTuple):
    n: object
    x: object


INEXACT = [
    (1.5, pa.int32()),
    (Decimal("1.5"), pa.int64()),
    (np.float32(1.5), pa.int64()),
    (True, pa.int8()),
    (np.True_, pa.int8()),
    (True, pa.float64()),
    (np.True_, pa.float32()),
    (1e300, pa.float32()),
    (-70_000.0, pa.float16()),
    (Decimal("1.234"), pa.decimal128(5, 2)),
    (Decimal("0.1"), pa.float64()),
    (2**53 + 1, pa.float64()),
    (5, pa.date32()),
    (1.0, pa.date64()),
    (NOON, pa.date32()),
    (1.5, pa.timestamp("us")),
    (FINE, pa.timestamp("ms")),
    (FINE.time(), pa.time32("s")),
    (dt.timedelta(microseconds=5), pa.duration("ms")),
    (1.5, pa.duration("us")),
    ([1, 1.5], INTS),
    ([[1], [1.5]], pa.list_(INTS)),
    (np.array([1.5, 2.0]), INTS),
    ([1e300], pa.list_(pa.float32())),
    ({"n": 1.5}, STRUCT),
    ((1.5, 2.0), STRUCT),
    ({"x": True}, STRUCT),
    ({"n": 1, "more": 2}, STRUCT),
    ({"a": True}, MAP),
    (1.5, pa.dictionary(pa.int8(), pa.int64())),
    (1.5, pa.run_end_encoded(pa.int32(), pa.int64())),
    ([1.5], pa.list_view(pa.int8())),
    ("tea", pa.list_(pa.string())),
    (b"tea", pa.list_(pa.int8())),
    ("tea", pa.binary()),
    (Turned(1, 2), STRUCT),
    ([Turned(1, 2)], pa.list_(STRUCT)),
    ([{"key": "a", "value": 1.5}], MAP),
    (2, pa.bool_()),
    (1.25, pa.decimal128(5, 1)),
    ("007", pa.int64()),
    (1, pa.string()),
    (NOON, pa.time64("us")),
    (NOON, pa.int64()),
    ({"x": NOON}, pa.struct([("x", pa.date32())])),
    ([1, None], pa.list_(NEVER_NULL)),
    ([{"value": None}], NONE_INSIDE),
    ({"a": None}, pa.map_(pa.string(), NEVER_NULL)),
]

AS_VALUES = [
    (1.5, pa.decimal128(5, 2)),
    (Fraction(3, 2), pa.int64()),
    ([1.5, True], FLOATS),
    ([("a", True)], MAP),
    ([("n", 1.5)], STRUCT),
    (dt.time(1, tzinfo=EAST), pa.time64("us")),
    (pd.Timestamp(5, unit="ns"), pa.timestamp("us")),
    (pd.Timedelta(5, unit="ns"), pa.duration("us")),
]
"""Values that Arrow converts exactly, or refuses, when it makes a column of them."""


@pytest.mark.parametrize(("value", "kind"), [*INEXACT, *AS_VALUES], ids=str)
def test_inexact_values_are_refused(value, kind):
    for values in ([value], [None, value], (value, None)):
        with pytest.raises((ValueError, TypeError)):
            exact_array(values, kind)


FORMS = {"values": list, "column": pa.array}
EITHER = list(FORMS)


@pytest.mark.parametrize(
    ("forms", "values", "kind", "kept"),
    [
        (["values"], [None, 2.0, Decimal(3), np.int8(4)], pa.int32(), [None, 2, 3, 4]),
        (EITHER, [1, 0.5, np.float64(2.5), None], pa.float64(), [1.0, 0.5, 2.5, None]),
        (EITHER, [float("inf"), 0.5, 2**20, None], pa.float32(), [float("inf"), 0.5, 2.0**20, None]),
        (["values"], [NIGHT, dt.date(2020, 1, 3)], pa.date32(), [dt.date(2020, 1, 2), dt.date(2020, 1, 3)]),
        (EITHER, [AT, None], pa.timestamp("ms", "UTC"), [AT, None]),
        (["values"], [5000, AT.time()], pa.time64("us"), [dt.time(0, 0, 0, 5000), AT.time()]),
        (EITHER, [[1, 2], (3,), None, [], np.array([4], np.int8)], INTS, [[1, 2], [3], None, [], [4]]),
        (EITHER, [[{"value": 1}, None], None, []], NONE_INSIDE, [[{"value": 1}, None], None, []]),
        (["values"], [["tea"], None], NO_NULL_TEXTS, [["tea"], None]),
        (EITHER, [{"n": 1}, None, {}], STRUCT, [{"n": 1, "x": None}, None, {"n": None, "x": None}]),
        (["values"], [(2, 0.5), None, Straight(3, 4)], STRUCT, [{"n": 2, "x": 0.5}, None, {"n": 3, "x": 4.0}]),
        (["values"], [[("n", 1), ("x", 0.5)]], STRUCT, [{"n": 1, "x": 0.5}]),
        (["values"], [{"a": 1}, None, [("b", 0.5)]], MAP, [[("a", 1.0)], None, [("b", 0.5)]]),
        (EITHER, ["x", None], pa.dictionary(pa.int8(), pa.string()), ["x", None]),
        (EITHER, [0.1, float("inf"), None], pa.float32(), [np.float32(0.1).item(), float("inf"), None]),
        (["column"], [1.5, None], pa.decimal128(5, 1), [Decimal("1.5"), None]),
        (EITHER, [NIGHT, None], pa.date32(), [dt.date(2020, 1, 2), None]),
        (EITHER, [2.0], pa.int8(), [2]),
        (EITHER, [None], pa.bool_(), [None]),
        (["column"], [dt.date(2020, 1, 2)], pa.timestamp("us"), [NIGHT.replace(tzinfo=None)]),
        (EITHER, [NIGHT.replace(tzinfo=EAST), None], pa.date32(), [dt.date(2020, 1, 2), None]),
        (EITHER, ["tea"], pa.large_string(), ["tea"]),
        (EITHER, ["tea"], pa.dictionary(pa.int8(), pa.string()), ["tea"]),
        (EITHER, [{"n": 1}, None], STRUCT, [{"n": 1, "x": None}, None]),
        (EITHER, [[1, None], None], pa.large_list(pa.float64()), [[1.0, None], None]),
    ],
    ids=str,
)
def test_exact_values_are_kept(forms, values, kind, kept):
    """Python values, and an Arrow column, which is cast."""
    for form in forms:
        array = exact_array(FORMS[form](values), kind)
        assert array.type == kind
        assert array.to_pylist() == kept


def test_nulls_before_a_slice_are_not_in_it():
    kind = pa.map_(pa.string(), pa.struct([NEVER_NULL]))
    rest = pa.array([{"a": {"value": None}}, {"a": {"value": 1}}], kind).slice(1)
    for column in rest, pa.chunked_array([rest]):
        assert exact_array(column, kind).to_pylist() == [[("a", {"value": 1})]]


@pytest.mark.parametrize("values", [[1.5, True], [dt.date(2020, 1, 1), NOON], [b"a", "b"]], ids=str)
def test_an_inferred_type_is_exact_as_well(values):
    """The first value sets the type; later ones are kept exactly or refused, also inside nested values."""
    for found in (values, [values], [{"n": value} for value in values], [{"n": [values]}]):
        with pytest.raises((ValueError, TypeError), match=r"a bool is not|time of day|not bytes"):
            exact_array(found)


@pytest.mark.parametrize(("value", "kind"), INEXACT, ids=str)
def test_a_column_is_cast_without_loss(value, kind):
    """An Arrow column is refused if its values would be as Python objects."""
    with pytest.raises((ValueError, TypeError), match=r"\w"):
        exact_array(pa.array([value]), kind)

"""Keys of a join: equal ones match whatever their types are, and others are refused."""

import datetime as dt
import math
from decimal import Decimal

import pytest

import pullstream as ps
from tests.adapters.columns.kit import in_arrow

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

from adapters import columns  # noqa: E402 - where polars is installed

MOMENT = dt.datetime(2026, 1, 2, 3, tzinfo=dt.UTC)
DECIMAL = pa.decimal128(9, 2)
UTC = pa.timestamp("us", "UTC")


def of_one_column(name, values, kind):
    return in_arrow(pa.record_batch({"k": pa.array(values, kind), name: range(len(values))}))


@pytest.mark.parametrize("how", ["inner", "left", "full", "semi", "asof"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (([Decimal("1.50"), Decimal(2)], DECIMAL), ([Decimal("1.5000")], pa.decimal128(20, 4))),
        (([Decimal(2), Decimal(3)], DECIMAL), ([2], pa.int8())),
        (([5, 6], pa.uint64()), ([-7, 5], pa.int64())),
        (([0.5, 1.0], pa.float32()), ([0.5], pa.float64())),
        (([MOMENT], pa.timestamp("s", "Europe/Paris")), ([MOMENT], pa.timestamp("ns", "Asia/Tokyo"))),
        (([MOMENT.replace(tzinfo=None)], pa.timestamp("ns")), ([MOMENT.replace(tzinfo=None)], pa.timestamp("ms"))),
        (([dt.timedelta(1)], pa.duration("us")), ([dt.timedelta(1)], pa.duration("s"))),
    ],
)
def test_equal_keys_of_two_types_match(one, other, how):
    """A scale, a width, a unit or a zone makes no other value; the column stays as it is in the first source."""
    keys = {"how": how, "at": "k"} if how == "asof" else {"how": how, "on": "k"}
    joined = columns.join(of_one_column("l", *one), of_one_column("r", *other), **keys)

    found = ps.run(ps.pipe(joined, columns.collect_table()))

    pairs = [(row["l"], row.get("r")) for row in found.to_dicts() if row["l"] is not None]
    assert pairs[0] == (0, None if how == "semi" else len(other[0]) - 1)
    if how != "full":
        assert found.schema["k"] == pl.from_arrow(pa.table({"k": pa.array([], one[1])})).schema["k"]


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        (["1"], [1], r"'k' is String in source 1, but Int64 in source 2; .*pl.col\('k'\).cast\(pl.String\)\)"),
        ([1], [1.0], r"'k' is Int64 in source 1, but Float64"),
        ([[1]], pa.array([[1]], pa.list_(pa.int8())), r"'k' is List\(Int64\) in source 1, but List\(Int8\)"),
        ([MOMENT], [MOMENT.replace(tzinfo=None)], r"pl.col\('k'\).dt.replace_time_zone\('UTC'\)"),
        (pa.array([2**55], UTC), pa.array([1], pa.timestamp("ns", "UTC")), r"failed in column 'k'"),
        ([Decimal(10**37)], [Decimal("0.01")], r"failed in column 'k'"),
    ],
)
@pytest.mark.parametrize("keys", [{"on": "k"}, {"how": "asof", "at": "k"}])
def test_keys_that_cannot_be_compared_name_the_column(one, other, why, keys):
    joined = columns.join(
        of_one_column("l", one, getattr(one, "type", None)),
        of_one_column("r", other, getattr(other, "type", None)),
        **keys,
    )

    with pytest.raises(columns.ColumnError, match=f"join, composed .*{why}"):
        ps.run(ps.pipe(joined, ps.drain()))


@pytest.mark.parametrize("strategy", ["backward", "forward", "nearest"])
def test_a_place_that_is_not_a_number_has_no_match(strategy):
    left = ps.values([{"at": at, "l": number} for number, at in enumerate([math.nan, 5.0, math.nan, 1.0])])
    right = ps.values([{"at": at, "r": at} for at in [9.0, math.nan, 1.0, 5.0, math.nan]])
    of_columns = columns.join(left, right, how="asof", at="at", strategy=strategy)
    of_rows = ps.join(left, right, on=lambda _: 0, how="asof", at=lambda row: row["at"], strategy=strategy)

    found = [(row["l"], row["r"]) for row in ps.run(ps.pipe(of_columns, ps.collect()))]
    pairs = [(one["l"], other and other["r"]) for one, other in ps.run(ps.pipe(of_rows, ps.collect()))]

    assert found == pairs == [(3, 1.0), (1, 5.0), (0, None), (2, None)]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"on": []}, "needs on=, the names of the columns"),
        ({"on": ["a", "a"]}, "a list of distinct names"),
        ({"on": pl.col("a")}, "needs on= to be a column's name, or a list"),
        ({"on": "a", "how": "outer"}, "'outer'"),
        ({"on": "a", "how": "asof"}, "needs at=, a column's name"),
        ({"on": "a", "at": "t"}, "needs at=, a column's name"),
        ({"left_on": "a"}, "no argument 'left_on'; on= is for both sources: in columns.join, rename a column"),
        ({"left_on": "a", "right_on": "b"}, "no argument 'left_on'; on= is for both"),
    ],
)
def test_wrong_options_are_refused_when_composing(options, why):
    with pytest.raises(ps.CompositionError, match=f"join\\(\\) at .*{why}"):
        columns.join(ps.values([]), ps.values([]), **options)


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        (pl.DataFrame({"a": range(9)}), r"DataFrame: values\(df.iter_rows\(named=True\)\) makes a source of its rows$"),
        (pa.record_batch({"a": range(9)}), r"RecordBatch: values\(batch.to_pylist\(\)\) makes a source of its rows$"),
        ([pa.record_batch({"a": range(9)})] * 2, r"list: values\(batch.to_pylist\(\)\) makes a source of its rows$"),
        ([ps.values([])] * 2, r"list: pass them one by one, join\(\*sources\)$"),
    ],
)
def test_a_table_that_is_no_source(given, hint):
    with pytest.raises(ps.CompositionError, match=f"needs sources, but got a {hint}"):
        columns.join(ps.values([]), given, on="a")


def test_a_missing_key_names_the_source():
    joined = columns.join(ps.values([{"a": 1}]), ps.values([{"b": 1}]), on="a")

    with pytest.raises(columns.ColumnError, match=r"in source 2: there is no column 'a'; the columns are 'b'"):
        ps.run(ps.pipe(joined, ps.collect()))

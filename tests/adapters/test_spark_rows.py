"""From Arrow batches to rows and runs of equal time; no Spark is needed for this."""

import datetime as dt
from decimal import Decimal
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.spark.errors import NullTimeError
from adapters.spark.rows import Rows, run_starts, values

pa = pytest.importorskip("pyarrow")


def batch(**columns):
    return pa.record_batch({name: pa.array(column) for name, column in columns.items()})


class TestRows:
    def test_rows_are_named_tuples_without_the_time_column(self):
        """A row has the names of the frame's columns, and only those."""
        rows = Rows(["day", "carrier"], "'day'")
        ((time, (row,)),) = rows.runs(batch(day=[7], carrier=["AA"], time=[7]))
        assert (time, row, row.carrier, row._fields) == (7, (7, "AA"), "AA", ("day", "carrier"))

    def test_names_that_are_no_identifiers_go_by_position(self):
        """A column named like no Python name is still there, by its place."""
        rows = Rows(["class", "a b", "ok"], "'ok'")
        ((_, (row,)),) = rows.runs(batch(a=[1], b=[2], c=[3], time=[0]))
        assert (row._0, row._1, row.ok) == (1, 2, 3)

    def test_a_null_time_is_refused_by_name(self):
        """A row without a time belongs to no batch; the message names what is null."""
        rows = Rows(["day"], "'day'")
        with pytest.raises(NullTimeError, match=r"1 of the next 2 rows have no time: 'day' is null"):
            list(rows.runs(batch(day=[None, 1], time=[None, 1])))

    @given(st.lists(st.integers(0, 3), max_size=30).map(sorted))
    def test_runs_are_the_groups_of_equal_time(self, times):
        """Splitting is `itertools.groupby`, only faster, whatever the lengths of the runs."""
        table = pa.record_batch({"n": pa.array(range(len(times)), pa.int64()), "t": pa.array(times, pa.int64())})
        expected = [
            (time, [(n,) for _, n in group])
            for time, group in groupby(zip(times, range(len(times)), strict=True), lambda p: p[0])
        ]
        assert list(Rows(["n"], "t").runs(table)) == expected

    @pytest.mark.parametrize("times", [["a", "a", "b"], [dt.date(2013, 1, 1)] * 2 + [dt.date(2013, 1, 2)]])
    def test_starts_of_other_types(self, times):
        """Strings and dates are split as numbers are."""
        assert run_starts(pa.array(times)).to_pylist() == [0, 2]


class TestValues:
    @pytest.mark.parametrize(
        ("column", "expected"),
        [
            (pa.array([1, 2], pa.int16()), [1, 2]),
            (pa.array([2**62, None], pa.int64()), [2**62, None]),
            (pa.array([0.5, None, float("inf")]), [0.5, None, float("inf")]),
            (pa.array([True, False]), [True, False]),
            (pa.array([True, None]), [True, None]),
            (pa.array(["é", None, ""]), ["é", None, ""]),
            (pa.array([b"\0", None]), [b"\0", None]),
            (
                pa.array([dt.date(1, 1, 1), None, dt.date(9999, 12, 31)]),
                [dt.date(1, 1, 1), None, dt.date(9999, 12, 31)],
            ),
            (pa.array([Decimal("1.10"), None]), [Decimal("1.10"), None]),
            (pa.array([[1, None], None]), [[1, None], None]),
            (pa.array([{"x": 1}, None]), [{"x": 1}, None]),
            (pa.array([dt.timedelta(seconds=1), None], pa.duration("us")), [dt.timedelta(seconds=1), None]),
            (pa.array([dt.timedelta(seconds=1)], pa.duration("us")), [dt.timedelta(seconds=1)]),
            (pa.array([1_000_000, None], pa.timestamp("us")), [1_000_000, None]),
            (pa.array([1_000_000], pa.timestamp("us", "Europe/Vienna")), [1_000_000]),
            (pa.array([1], pa.timestamp("s", "UTC")), [1_000_000]),
            (pa.array([], pa.int64()), []),
        ],
        ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
    )
    def test_every_type_arrives_as_the_plain_python_value(self, column, expected):
        """Nulls are None, a timestamp counts microseconds in UTC whatever its zone, the rest is as Arrow has it."""
        got = values(column)
        assert got == expected
        assert [type(value) for value in got] == [type(value) for value in expected]

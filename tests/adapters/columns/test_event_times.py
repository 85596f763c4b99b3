"""The times of a column: their types, and options that do not fit them."""

import datetime as dt

import pytest

import pullstream as ps
from pullstream.errors import CapabilityError
from tests.adapters.columns.kit import in_arrow

pa = pytest.importorskip("pyarrow")
pl = pytest.importorskip("polars")

from adapters import columns  # noqa: E402 - where polars is installed

DAY = dt.date(2026, 1, 1)


def of_types(*parts):
    return in_arrow(*(pa.record_batch({"t": pa.array([number], kind)}) for number, kind in parts))


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ((7, pa.int64()), (8, pa.timestamp("ns"))),
        ((DAY, pa.date32()), (8, pa.timestamp("us"))),
        ((7, pa.timestamp("us")), (8, pa.timestamp("us", "UTC"))),
        ((7, pa.timestamp("us")), ("noon", pa.string())),
    ],
)
def test_the_type_of_the_times_must_not_change(first, then):
    """A number that means nanoseconds must not become one without a unit; what came before is delivered."""
    got = []

    with pytest.raises(columns.ColumnError, match=r"stamp, .*'t' is (.*, but it was .* in the rows|string; times)"):
        ps.run(ps.pipe(of_types(first, then), columns.stamp("t"), ps.drain(got.append)))

    assert got == [{"t": first[0]}]


@pytest.mark.parametrize(
    ("parts", "times"),
    [
        ([(1, pa.int8()), (2, pa.uint64()), (3, pa.int64())], [1, 2, 3]),
        ([(7, pa.timestamp("s")), (8_000_000_999, pa.timestamp("ns"))], [7_000_000, 8_000_000]),
        ([(DAY, pa.date32()), (DAY.replace(day=2), pa.date64())], [DAY, DAY.replace(day=2)]),
    ],
)
def test_times_of_one_kind_may_have_several_widths(parts, times):
    found = ps.run(ps.pipe(of_types(*parts), columns.stamp("t"), ps.collect(timed=True)))

    assert [time for time, _ in found] == times


@pytest.mark.parametrize(("time", "kind"), [(2**64 - 1, pa.uint64()), (2**55, pa.timestamp("s"))])
def test_a_time_that_does_not_fit_names_the_column(time, kind):
    with pytest.raises(columns.ColumnError, match=r"the time column 't' has a time beyond"):
        ps.run(ps.pipe(of_types((time, kind)), columns.stamp("t"), ps.drain()))


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({}, r"arrived\. Sort the rows, or allow them to be out of order with stamp\(\.\.\., lateness=\.\.\.\)"),
        ({"lateness": 0}, r"arrived, and lateness=0\. Allow more lateness, or pass late=\"drop\" or a sink as late="),
    ],
)
def test_the_advice_for_a_late_row_fits_the_options(options, advice):
    rows = ps.values([{"t": 9}, {"t": 3}])

    with pytest.raises(CapabilityError, match=rf"too late: row 2, {{'t': 3}}, is at 3, but 9 has already {advice}"):
        ps.run(ps.pipe(rows, columns.stamp("t", **options), ps.drain()))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: columns.tumbling("1d", at="t", lateness=0, n=columns.count()), "positive timedelta .* 'size'"),
        (lambda: columns.sliding(4, 0, at="t", lateness=0, n=columns.count()), "positive timedelta .* 'every'"),
        (lambda: columns.sessions(-1, at="t", lateness=0, n=columns.count()), "positive timedelta .* 'gap'"),
        (lambda: columns.tumbling(4, at="t", lateness=-1, n=columns.count()), "lateness that is not negative"),
        (lambda: columns.stamp("t", late="drop"), "without lateness="),
        (lambda: columns.stamp(["t"], lateness=0), r"needs a column's name for its argument 'at', but got \['t'\]"),
        (
            lambda: columns.tumbling(4, at=pl.col("t"), lateness=0, n=columns.count()),
            r"needs a column's name for its argument 'at', but got <Expr.*compute another column with with_columns",
        ),
        (
            lambda: columns.sliding(4, 2, at="t", lateness=0, origin=1, n=columns.count()),
            "has no origin=: windows start at multiples",
        ),
        (
            lambda: columns.sessions(4, at="t", lateness=0, origin=1, n=columns.count()),
            "has no origin=: a session starts at its first row",
        ),
    ],
)
def test_wrong_options_are_refused_when_composing(make, why):
    with pytest.raises(ps.CompositionError, match=why):
        make()


def test_a_second_time_is_refused():
    given = ps.values([{"t": 1}, {"t": 2}], time=lambda row: row["t"])

    with pytest.raises(CapabilityError, match="its input already has several: 1 and 2"):
        ps.run(ps.pipe(given, columns.tumbling(10, at="t", lateness=0, n=columns.count()), ps.drain()))

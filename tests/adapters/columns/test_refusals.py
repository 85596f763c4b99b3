"""Expressions, arguments and types of columns that are refused."""

import datetime as dt
from decimal import Decimal

import pytest

import pullstream as ps
from pullstream.errors import CapabilityError
from tests.adapters.columns.kit import columns, in_arrow, pa, pl

BATCH = pa.record_batch({"a": range(9)})


def joined(*others, **options):
    return columns.join(ps.values([]), *(others or [ps.values([])]), **options)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: columns.select(pl.col("n").sum()), "which aggregates rows. Batches"),
        (lambda: columns.with_columns(m=pl.col("n") - pl.col("n").mean()), "aggregates rows, in "),
        (lambda: columns.filter(pl.col("n").shift() > 1), "looks at other rows"),
        (lambda: columns.select(pl.col("n").rank().over("key")), "looks at other rows"),
        (lambda: columns.select(pl.col("n").drop_nulls()), "changes the number of rows"),
        (lambda: columns.select(pl.col("n", "day") + 1), r"a selection of columns or fields: write one .*'a', 'b'\)$"),
        (lambda: columns.select(pl.col("s").struct.unnest()), r"fields: write one expression for each"),
        (lambda: columns.select(pl.sum_horizontal(pl.all())), "or name each column, as in pl.sum_horizontal"),
        (lambda: columns.with_columns(m=pl.lit(pl.Series([1, 2]))), "is a literal with several values"),
        (lambda: columns.filter(pl.col("n").is_in(pl.col("day"))), "may look at other rows"),
        (lambda: columns.filter(~pl.col("n").abs().is_in(pl.col("day") + 1)), "may look at other rows"),
        (lambda: columns.select(pl.col("n").replace(pl.col("day"), 2)), "may look at other rows"),
        (lambda: columns.select(pl.col("n").replace_strict([1], pl.col("day"), default=0)), "may look at other rows"),
        (columns.select, r"select\(\).* needs at least one column or expression"),
        (columns.with_columns, r"with_columns\(\).* needs at least one column or expression"),
        (columns.filter, r"filter\(\).* needs at least one column or expression"),
        (lambda: columns.select(3), "write pl.lit"),
        (lambda: columns.filter(lambda row: row.n > 1), "to ps.map or ps.filter"),
        (lambda: ps.filter(pl.col("n") > 1), "for the modules of pullstream.columns"),
        (lambda: columns.reduce_by_key("key", columns.mean("n")), r"for example result=mean"),
        (lambda: columns.reduce_by_key(n=columns.count()), "use reduce_by_time"),
        (lambda: columns.reduce_by_key("key"), "needs at least one aggregate"),
        (lambda: columns.reduce_by_key("key", n=pl.len()), "use an aggregate of columns"),
        (lambda: columns.reduce_by_key("key", "key", n=columns.count()), "got a key twice"),
        (lambda: columns.tumbling(5, at="day", lateness=0, end=columns.count()), "there is already a column 'end'"),
        (lambda: columns.tumbling(5, "key", at="day", lateness=0, key=columns.count()), "already a column 'key'"),
        (lambda: columns.reduce_by_key("key", key=columns.count()), "got key= as the name of a result, but there is"),
        (lambda: columns.reduce_by_key(["key", "n"], n=columns.count()), "without brackets: 'key', 'n'$"),
        (lambda: columns.distinct(["key"]), "without brackets: 'key'$"),
        (lambda: columns.select(["key", "n"]), "without brackets: 'key', 'n'$"),
        (lambda: columns.tumbling(5, "end", at="day", lateness=0, n=columns.count()), "a column 'end' of their own"),
        (lambda: columns.sessions(5, "start", at="day", lateness=0, n=columns.count()), "column 'start' of their own"),
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
        (lambda: joined(on=[]), "needs on=, the names of the columns"),
        (lambda: joined(on=["a", "a"]), "a list of distinct names"),
        (lambda: joined(on=pl.col("a")), "needs on= to be a column's name, or a list"),
        (lambda: joined(on="a", how="outer"), r"join\(\) at .*'outer'"),
        (lambda: joined(on="a", how="asof"), "needs at=, a column's name"),
        (lambda: joined(on="a", at="t"), "needs at=, a column's name"),
        (
            lambda: joined(left_on="a"),
            "no argument 'left_on'; on= is for both sources: in columns.join, rename a column",
        ),
        (lambda: joined(left_on="a", right_on="b"), "no argument 'left_on'; on= is for both"),
        (
            lambda: joined(pl.DataFrame({"a": range(9)}), on="a"),
            r"needs sources, but got a DataFrame: values\(df.iter_rows\(named=True\)\) makes a source of its rows$",
        ),
        (
            lambda: joined(BATCH, on="a"),
            r"needs sources, but got a RecordBatch: values\(batch.to_pylist\(\)\) makes a source of its rows$",
        ),
        (
            lambda: joined([BATCH] * 2, on="a"),
            r"needs sources, but got a list: values\(batch.to_pylist\(\)\) makes a source of its rows$",
        ),
        (
            lambda: joined([ps.values([])] * 2, on="a"),
            r"needs sources, but got a list: pass them one by one, join\(\*sources\)$",
        ),
        (lambda: columns.count("*"), r"count\(\) at .* needs one column, but got '\*'; to count the rows, write"),
        (lambda: columns.quantile(2, "n"), "needs q from 0 to 1"),
        (lambda: columns.quantile("n", 0.5), "from 0 to 1, but got .n.: its arguments are in the wrong order"),
    ],
)
def test_bad_arguments_are_refused_when_composing(make, why):
    """An expression that looks at other rows, and invalid arguments."""
    with pytest.raises(ps.CompositionError, match=why):
        make()


def big():
    return in_arrow(pa.record_batch({"n": [1], "d": pa.array([Decimal("1.50")], pa.decimal256(50, 2))}))


def test_a_type_unknown_to_polars_passes():
    passed = ps.pipe(big(), columns.filter(pl.col("n") > 0), columns.reduce_by_key("n", s=columns.sum("d")))
    assert ps.run(ps.pipe(passed, ps.collect())) == [{"n": 1, "s": Decimal("1.50")}]


NO_TYPE = r"no type for the column 'd', which is decimal256\(50, 2\); cast it"
WIDE = [{f"c{place}": place for place in range(300)}] * 2
LATE = r"too late: row 2, {'t': 3}, is at 3, but 9 has already arrived"


def at(*times, **options):
    return ps.values([{"t": time} for time in times], **options)


def of(kind, value=None):
    return in_arrow(pa.record_batch({"n": [1], "t": pa.array([value], kind)}))


def counted(**options):
    return columns.tumbling(10, **{"at": "t", **options}, n=columns.count())


@pytest.mark.parametrize(
    ("rows", "module", "why"),
    [
        (at(1), counted(lateness=2**62), r"lateness=4611686018427387904 is too long to be added to times"),
        (at(1.5), counted(lateness=0), r"column 't' is double; times must be whole numbers, dates or timestamps"),
        (at(1), counted(lateness=dt.timedelta(1)), r"lateness=.* cannot be added to the time column 't', which is int"),
        (at(1), counted(lateness=0, at="u"), r"there is no column 'u'; the columns are 't'"),
        (at(1, None), counted(lateness=1), r"the time column 't' is null in row 2"),
        (of(pa.uint64(), 2**64 - 1), columns.stamp("t"), r"the time column 't' has a time beyond"),
        (of(pa.timestamp("s"), 2**55), columns.stamp("t"), r"the time column 't' has a time beyond"),
        # The advice fits the options.
        (
            at(9, 3),
            columns.stamp("t"),
            LATE + r"\. Sort the rows, or allow them to be out of order with stamp\(\.\.\., lateness=\.\.\.\)",
        ),
        (
            at(9, 3),
            columns.stamp("t", lateness=0),
            LATE + r", and lateness=0\. Allow more lateness, or pass late=\"drop\" or a sink as late=",
        ),
        (at(1, 2, time=lambda row: row["t"]), counted(lateness=0), "its input already has several: 1 and 2"),
        (of(pa.string_view()), columns.distinct("t"), "distinct, .*column 't', which is string_view, cannot be a"),
        (of(pa.list_view(pa.int8())), columns.sort_by_time("t"), "sort_by_time, .*polars has no type for .* 't'"),
        (of(pa.list_view(pa.int8())), columns.filter(pl.col("t").is_null()), "polars has no type for .* 't'"),
        (of(pa.month_day_nano_interval()), columns.reduce_by_time(v=columns.min("t")), "does not support the type"),
        (big(), columns.filter(pl.col("d") > 1), NO_TYPE),
        (big(), columns.reduce_by_time(s=columns.sum(pl.col("d") + 1)), NO_TYPE),
        (big(), columns.sort_by_time("d"), NO_TYPE),
        (columns.join(ps.values([{"n": 1}]), big(), on="n"), ps.skip(0), NO_TYPE),
        # For wide rows, messages show only the relevant columns.
        (ps.values(WIDE), columns.select("c299x"), r"no column 'c299x'; the columns are 'c299', .*, \.\.\. \(300\)"),
        (
            ps.values([*WIDE, {**WIDE[0], "new": 1}]),
            columns.select("c1"),
            r": the second has a new column 'new'; convert",
        ),
        (ps.values([WIDE[0], {"c1": 1}]), columns.select("c1"), r"no column 'c0', .*, \.\.\. \(299\); convert"),
        (ps.values(WIDE), columns.select(pl.col("c299").cast(pl.Int8)), r"for row 1, \{'c299': 299\}"),
        (ps.values([{**WIDE[0], "c1": None}]), columns.stamp("c1"), r"row 1, \{'c0': 0, .*\.\.\.\}; remove"),
        (ps.values([WIDE[0], {**WIDE[0], "c1": 0}]), columns.stamp("c1"), r"row 2, \{'c0': 0, .*\.\.\.\}, is at 0"),
        (
            columns.join(at(1), ps.values([{"b": 1}]), on="t"),
            ps.skip(0),
            r"in source 2: there is no column 't'; .* 'b'",
        ),
    ],
)
def test_errors_of_a_run(rows, module, why):
    with pytest.raises((columns.ColumnError, CapabilityError), match=why) as caught:
        ps.run(ps.pipe(rows, module, ps.drain()))

    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert len(str(caught.value)) < 700

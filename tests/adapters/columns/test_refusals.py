"""Expressions, arguments and types of columns that are refused."""

from decimal import Decimal

import pytest

import pullstream as ps
from tests.adapters.columns.kit import columns, in_arrow, pa, pl

BATCH = pa.record_batch({"a": range(9)})


def joined(*others, **options):
    return columns.join(ps.values([]), *(others or [ps.values([])]), **options)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: columns.select(pl.col("n").sum()), "which sums up rows. Batches"),
        (lambda: columns.with_columns(m=pl.col("n") - pl.col("n").mean()), "sums up rows, in "),
        (lambda: columns.filter(pl.col("n").shift() > 1), "looks at other rows"),
        (lambda: columns.select(pl.col("n").rank().over("key")), "looks at other rows"),
        (lambda: columns.select(pl.col("n").drop_nulls()), "changes the number of rows"),
        (lambda: columns.select(pl.col("n", "day") + 1), r"a selection of columns or fields: write one .*'a', 'b'\)$"),
        (lambda: columns.select(pl.col("s").struct.unnest()), r"fields: write one expression for each"),
        (lambda: columns.select(pl.sum_horizontal(pl.all())), "or name each column, as in pl.sum_horizontal"),
        (lambda: columns.with_columns(m=pl.lit(pl.Series([1, 2]))), "values of its own for several rows"),
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
        (lambda: columns.tumbling(5, at="day", lateness=0, end=columns.count()), "there is a column 'end' already"),
        (lambda: columns.tumbling(5, "key", at="day", lateness=0, key=columns.count()), "there is a column 'key'"),
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
        (lambda: columns.quantile(2, "n"), "needs q from 0 to 1"),
        (lambda: columns.quantile("n", 0.5), "from 0 to 1, but got .n.: its arguments are in the wrong order"),
    ],
)
def test_what_depends_on_batches_is_refused_when_composing(make, why):
    """An expression that looks at other rows, and arguments that are none."""
    with pytest.raises(ps.CompositionError, match=why):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: columns.filter(pl.col("d") > 1),
        lambda: columns.reduce_by_time(s=columns.sum(pl.col("d") + 1)),
        lambda: columns.sort_by_time("d"),
        lambda: columns.join(ps.values([{"n": 1}]), big(), on="n"),
    ],
)
def test_a_type_that_polars_does_not_have(make):
    used = make()

    with pytest.raises(columns.ColumnError, match=r"no type for the column 'd', which is decimal256\(50, 2\); cast it"):
        ps.run(ps.pipe(used if isinstance(used, ps.Source) else ps.pipe(big(), used), ps.collect()))

    passed = ps.pipe(big(), columns.filter(pl.col("n") > 0), columns.reduce_by_key("n", s=columns.sum("d")))
    assert ps.run(ps.pipe(passed, ps.collect())) == [{"n": 1, "s": Decimal("1.50")}]


@pytest.mark.parametrize(
    ("make", "kind", "why"),
    [
        (lambda: columns.distinct("v"), pa.string_view(), "distinct, .*column 'v', which is string_view, cannot be a"),
        (lambda: columns.sort_by_time("v"), pa.list_view(pa.int8()), "sort_by_time, .*polars has no type for .* 'v'"),
        (lambda: columns.filter(pl.col("v").is_null()), pa.list_view(pa.int8()), "polars has no type for .* 'v'"),
        (lambda: columns.reduce_by_time(v=columns.min("v")), pa.month_day_nano_interval(), "not known for the type"),
    ],
)
def test_a_type_that_is_not_supported_names_the_column(make, kind, why):
    table = in_arrow(pa.record_batch({"n": [1], "v": pa.nulls(1, kind)}))
    with pytest.raises(columns.ColumnError, match=why):
        ps.run(ps.pipe(table, make(), ps.drain()))


WIDE = [{f"c{place}": place for place in range(300)}] * 2


@pytest.mark.parametrize(
    ("module", "rows", "why"),
    [
        (columns.select("c299x"), WIDE, r"no column 'c299x'; the columns are 'c299', .*, \.\.\. \(300\)"),
        (columns.select("c1"), [*WIDE, {**WIDE[0], "new": 1}], r": the second has a new column 'new'; convert"),
        (columns.select("c1"), [WIDE[0], {"c1": 1}], r"no column 'c0', .*, \.\.\. \(299\); convert"),
        (columns.select(pl.col("c299").cast(pl.Int8)), WIDE, r"for row 1, \{'c299': 299\}"),
        (columns.stamp("c1"), [{**WIDE[0], "c1": None}], r"row 1, \{'c0': 0, .*\.\.\.\}; remove"),
        (columns.stamp("c1"), [WIDE[0], {**WIDE[0], "c1": 0}], r"row 2, \{'c0': 0, .*\.\.\.\}, is at 0"),
    ],
)
def test_messages_about_wide_rows_show_what_matters(module, rows, why):
    with pytest.raises(ps.PullstreamError, match=why) as caught:
        ps.run(ps.pipe(ps.values(rows), module, ps.drain()))

    assert len(str(caught.value)) < 700


def big():
    return in_arrow(pa.record_batch({"n": [1], "d": pa.array([Decimal("1.50")], pa.decimal256(50, 2))}))

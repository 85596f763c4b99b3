"""Named aggregates that are kept up to date batch by batch: a state for each group, in columns.

An aggregate has partial results of a batch, a way to merge those of several batches, and a result made of them. Nulls
are left out, as in SQL and polars, except by `first` and `last`.
"""

from collections.abc import Callable, Sequence
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, Final

import attrs

from pullstream.authoring import Call, checked

from .expressions import Expression, expression
from .package import ColumnError, polars


@attrs.frozen(repr=False)
class Aggregate:
    """One aggregate of a column or expression; make it with `columns.sum("delay")` and its like."""

    kind: "Kind"
    of: Expression | None = None
    option: Any = None

    def __repr__(self) -> str:
        given = [repr(each) for each in (self.of, self.option) if each is not None]
        return f"{self.kind.name}({', '.join(given)})"


@attrs.frozen
class Merging:
    """The order in which the partial results of a group are merged, as the names of columns."""

    first_by: Sequence[str] = ()
    last_by: Sequence[str] = ()


class Reads(Enum):
    """The type in which a column is aggregated."""

    PLAIN = "as it is"
    NUMBER = "a number without loss"
    REAL = "a float"
    TRUTH = "true or false"


@attrs.frozen(repr=False)
class Kind:
    """A kind of aggregate: its partial columns, each made from a column of input and merged by expressions.

    Expressions get the columns' names with a prefix of their own.
    """

    name: str
    prepare: Callable[[Any, Any], Any]
    """From the input column's expression and type: the expression to aggregate."""
    partial: Callable[[Any, str], Sequence[Any]]
    """From the input and a prefix: the partial columns of a batch's rows."""
    merge: Callable[[str, Merging], Sequence[Any]]
    """The same columns of several partial results."""
    finish: Callable[[str, Any], Any]
    """From a prefix and the option: the result."""
    reads: "Reads"
    """The input that Arrow reads for the same partial columns."""
    by_arrow: Sequence[tuple[str, Callable[[], Any] | None, Callable[[Any, str], Any]]]
    """Arrow's functions and their options, and the partial column made of each result."""

    def __repr__(self) -> str:
        return self.name


def _column(name: str) -> Any:
    return polars().col(name)


def _as_it_is(column: Any, _: Any) -> Any:
    return column


def _refused(name: str, kind: Any, needs: str) -> ColumnError:
    return ColumnError(f"{name} needs {needs}, but its column is {kind}")


def _number(column: Any, kind: Any) -> Any:
    """A number that can be summed without loss: wide integers and floats."""
    pl = polars()
    if kind == pl.Boolean or (kind.is_integer() and kind not in (pl.Int64, pl.UInt64)):
        return column.cast(pl.Int64)
    if kind in (pl.Int64, pl.UInt64):
        # The sum of many may need more than 64 bits on its way.
        return column.cast(pl.Int128)
    if kind == pl.Float32:
        return column.cast(pl.Float64)
    if kind.is_numeric() or kind in (pl.Duration, pl.Null):
        return column
    raise _refused("sum()", kind, "numbers")


def _real(column: Any, kind: Any) -> Any:
    pl = polars()
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64)
    raise _refused("mean() or variance()", kind, "numbers")


def _truth(column: Any, kind: Any) -> Any:
    pl = polars()
    if kind in (pl.Boolean, pl.Null):
        return column.cast(pl.Boolean)
    raise _refused("any() or all()", kind, "a column of true and false")


def _plain(column: Any, kind: Any) -> Any:
    pl = polars()
    return column.cast(pl.String) if kind in (pl.Categorical, pl.Enum) else column


def _total(column: Any, prefix: str) -> list[Any]:
    return [column.sum().alias(prefix)]


def _totals(prefix: str, _: Merging) -> list[Any]:
    return [_column(prefix).sum().alias(prefix)]


def _m2(column: Any, prefix: str) -> list[Any]:
    count = column.count().cast(polars().Float64)
    return [
        count.alias(f"{prefix}n"),
        column.mean().fill_null(0.0).alias(f"{prefix}mean"),
        (column.var(ddof=0).fill_null(0.0) * count).alias(f"{prefix}m2"),
    ]


def _m2s(prefix: str, _: Merging) -> list[Any]:
    # The sums of squares around the means of the parts, moved to the common mean (Chan, Golub and LeVeque 1983).
    count, mean, m2 = (_column(f"{prefix}{part}") for part in ("n", "mean", "m2"))
    common = ((count * mean).sum() / count.sum()).fill_nan(None)
    return [
        count.sum().alias(f"{prefix}n"),
        common.fill_null(0.0).alias(f"{prefix}mean"),
        (m2.sum() + (count * (mean - common) ** 2).sum()).alias(f"{prefix}m2"),
    ]


def _variance(prefix: str, ddof: Any) -> Any:
    count = _column(f"{prefix}n")
    return polars().when(count > ddof).then(_column(f"{prefix}m2") / (count - ddof))


def _mean(column: Any, prefix: str) -> list[Any]:
    return [column.sum().alias(f"{prefix}sum"), column.count().alias(f"{prefix}n")]


def _means(prefix: str, _: Merging) -> list[Any]:
    return [_column(f"{prefix}{part}").sum().alias(f"{prefix}{part}") for part in ("sum", "n")]


def _finished_mean(prefix: str, _: Any) -> Any:
    count = _column(f"{prefix}n")
    return polars().when(count > 0).then(_column(f"{prefix}sum") / count)


def _firsts(prefix: str, merging: Merging) -> list[Any]:
    column = _column(prefix)
    return [(column.sort_by(*merging.first_by) if merging.first_by else column).first()]


def _lasts(prefix: str, merging: Merging) -> list[Any]:
    column = _column(prefix)
    return [(column.sort_by(*merging.last_by) if merging.last_by else column).last()]


def _plainly(prefix: str, _: Any) -> Any:
    return _column(prefix)


def _summed(prefix: str, _: Any) -> Any:
    return _column(prefix).fill_null(0)


def _same(column: Any, prefix: str) -> Any:
    return column.alias(prefix)


def _part_of(part: str) -> Callable[[Any, str], Any]:
    return lambda column, prefix: column.alias(f"{prefix}{part}")


def _empty_is_zero() -> Any:
    return import_module("pyarrow.compute").ScalarAggregateOptions(min_count=0)


def _with_nulls() -> Any:
    return import_module("pyarrow.compute").ScalarAggregateOptions(skip_nulls=False)


COUNT: Final = Kind(
    "count",
    _as_it_is,
    lambda column, prefix: [column.count().cast(polars().Int64).alias(prefix)],
    _totals,
    _plainly,
    Reads.PLAIN,
    [("count", None, _same)],
)
SIZE: Final = Kind(
    "count",
    _as_it_is,
    lambda _, prefix: [polars().len().cast(polars().Int64).alias(prefix)],
    _totals,
    _plainly,
    Reads.PLAIN,
    [],
)
SUM: Final = Kind("sum", _number, _total, _totals, _summed, Reads.NUMBER, [("sum", _empty_is_zero, _same)])
MIN: Final = Kind(
    "min",
    _plain,
    lambda column, prefix: [column.min().alias(prefix)],
    lambda prefix, _: [_column(prefix).min()],
    _plainly,
    Reads.PLAIN,
    [("min", None, _same)],
)
MAX: Final = Kind(
    "max",
    _plain,
    lambda column, prefix: [column.max().alias(prefix)],
    lambda prefix, _: [_column(prefix).max()],
    _plainly,
    Reads.PLAIN,
    [("max", None, _same)],
)
MEAN: Final = Kind(
    "mean",
    _real,
    _mean,
    _means,
    _finished_mean,
    Reads.REAL,
    [("sum", _empty_is_zero, _part_of("sum")), ("count", None, _part_of("n"))],
)
VARIANCE: Final = Kind(
    "variance",
    _real,
    _m2,
    _m2s,
    _variance,
    Reads.REAL,
    [
        ("count", None, lambda column, prefix: column.cast(polars().Float64).alias(f"{prefix}n")),
        ("mean", None, lambda column, prefix: column.fill_null(0.0).alias(f"{prefix}mean")),
        (
            "variance",
            None,
            lambda column, prefix: (column.fill_null(0.0) * _column(f"{prefix}in_count")).alias(f"{prefix}m2"),
        ),
    ],
)
FIRST: Final = Kind(
    "first",
    _plain,
    lambda column, prefix: [column.first().alias(prefix)],
    _firsts,
    _plainly,
    Reads.PLAIN,
    [("first", _with_nulls, _same)],
)
LAST: Final = Kind(
    "last",
    _plain,
    lambda column, prefix: [column.last().alias(prefix)],
    _lasts,
    _plainly,
    Reads.PLAIN,
    [("last", _with_nulls, _same)],
)
ANY: Final = Kind(
    "any",
    _truth,
    lambda column, prefix: [column.any().alias(prefix)],
    lambda prefix, _: [_column(prefix).any()],
    _plainly,
    Reads.TRUTH,
    [("any", _empty_is_zero, _same)],
)
ALL: Final = Kind(
    "all",
    _truth,
    lambda column, prefix: [column.all().alias(prefix)],
    lambda prefix, _: [_column(prefix).all()],
    _plainly,
    Reads.TRUTH,
    [("all", _empty_is_zero, _same)],
)
UNIQUE: Final = Kind(
    "count_unique",
    _plain,
    lambda column, prefix: [column.drop_nulls().unique().implode().alias(prefix)],
    lambda prefix, _: [_column(prefix).explode().drop_nulls().unique().implode()],
    lambda prefix, _: _column(prefix).list.len().cast(polars().Int64),
    Reads.PLAIN,
    [("distinct", None, _same)],
)
QUANTILE: Final = Kind(
    "quantile",
    _real,
    lambda column, prefix: [column.drop_nulls().implode().alias(prefix)],
    lambda prefix, _: [_column(prefix).explode().drop_nulls().implode()],
    lambda prefix, q: _column(prefix).list.agg(polars().element().quantile(q, "linear")),
    Reads.REAL,
    [("list", None, lambda column, prefix: column.list.drop_nulls().alias(prefix))],
)


def _of(call: Call, given: Any) -> Any:
    return None if given is None else expression(call, given)


Of = Annotated[Any, _of]


@checked
def count(of: Of = None) -> Aggregate:
    """Count the rows or, of a column, the values that are not null."""
    return Aggregate(SIZE if of is None else COUNT, of)


@checked
def sum(of: Of) -> Aggregate:
    """Sum a column; without values 0. Integers are summed exactly, and a result beyond 64 bits is an error.

    Floats are summed batch by batch, so the last digits of a result may depend on where batches are cut.
    """
    return Aggregate(SUM, of)


@checked
def min(of: Of) -> Aggregate:
    """Find the least value; NaN counts only if there is nothing else."""
    return Aggregate(MIN, of)


@checked
def max(of: Of) -> Aggregate:
    """Find the greatest value; NaN counts only if there is nothing else."""
    return Aggregate(MAX, of)


@checked
def mean(of: Of) -> Aggregate:
    """Compute the arithmetic mean as a float; null without values."""
    return Aggregate(MEAN, of)


@checked
def variance(of: Of, ddof: int = 1) -> Aggregate:
    """Compute the variance as a float; null unless there are more than `ddof` values."""
    return Aggregate(VARIANCE, of, ddof)


@checked
def first(of: Of) -> Aggregate:
    """Take the first value, which may be null: the first to arrive, or in a session the earliest."""
    return Aggregate(FIRST, of)


@checked
def last(of: Of) -> Aggregate:
    """Take the last value, which may be null: the last to arrive, or in a session the latest."""
    return Aggregate(LAST, of)


@checked
def any(of: Of) -> Aggregate:
    """Whether any value is true."""
    return Aggregate(ANY, of)


@checked
def all(of: Of) -> Aggregate:
    """Whether all values are true."""
    return Aggregate(ALL, of)


@checked
def count_unique(of: Of) -> Aggregate:
    """Count the distinct values exactly. Each one is kept until the end."""
    return Aggregate(UNIQUE, of)


def _part(call: Call, q: Any) -> Any:
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise call.refuse(f"needs q from 0 to 1, but got {q!r}. Example: quantile(0.5, 'delay')")
    return q


@checked
def quantile(q: Annotated[float, _part], of: Of) -> Aggregate:
    """Compute the `q`-quantile exactly, between two values by interpolation: 0.5 is the median.

    The column's values are kept until the end; only of this aggregate does memory grow with the rows.
    """
    return Aggregate(QUANTILE, of, q)


def aggregates(call: Call, named: dict[str, Any]) -> dict[str, Aggregate]:
    """Check keyword arguments: at least one aggregate, each with the name of its result."""
    if not named:
        raise call.refuse("needs at least one aggregate: n=columns.count()")
    for name, given in named.items():
        if not isinstance(given, Aggregate):
            raise call.refuse(
                f"got {name}={given!r}: use an aggregate of columns, such as columns.mean('delay'). For any other "
                f"query over all rows of a time, use columns.per_time(query)"
            )
    return named

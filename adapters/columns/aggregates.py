"""Named aggregates that are kept up to date batch by batch: a state for each group, in columns.

An aggregate computes partial results from some rows, merges those of several batches, and computes a result from them.
It ignores nulls, as in SQL and polars, except for `first` and `last`.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Any, Final

import attrs

from pullstream.authoring import Call, checked

from ..arrow import Array
from .expressions import Expression, expression
from .grouping import Grouped
from .package import ColumnError, np, pa, pl

DIGITS: Final = {"s": 0, "ms": 3, "us": 6, "ns": 9}
"""The number of decimal digits of a second, by the unit of a duration."""

Partial = Mapping[str, Array]
"""The partial columns of an aggregate, by name."""


@attrs.frozen(repr=False)
class Aggregate:
    """One aggregate of a column or expression; make one with, for example, `columns.sum("delay")`."""

    kind: "Kind"
    of: Expression | None = None
    option: Any = None

    def __repr__(self) -> str:
        given = [repr(each) for each in (self.of, self.option) if each is not None]
        return f"{self.kind.name}({', '.join(given)})"


@attrs.frozen(repr=False)
class Kind:
    """A kind of aggregate: how to compute its partial columns, with one value per group, and its result."""

    name: str
    partial: Callable[[Grouped, Array], Partial]
    """Compute partial results from the groups of rows, and a column of their values."""
    merge: Callable[[Grouped, Partial], Partial]
    """Merge partial results by group, into the same columns."""
    read: Callable[[Array], Array] = lambda column: column
    """Check the type of a column, and convert it."""
    finish: Callable[[Partial, Any], Array] = lambda parts, _: parts[""]
    """Compute the result from the partial columns and the option."""

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        # Pickled by name, for Spark's executors: its functions include lambdas, and `SUM` must stay the same object.
        return next(name for name, each in globals().items() if each is self)


def _number(column: Array) -> Array:
    """Convert a column to numbers that can be summed; true is 1."""
    types, kind = pa.types, column.type
    if types.is_boolean(kind):
        return column.cast(pa.int64())
    if types.is_floating(kind):
        return column.cast(pa.float64())
    if types.is_null(kind) or types.is_integer(kind) or types.is_decimal(kind) or types.is_duration(kind):
        return column
    raise ColumnError(f"sum() needs numbers, but its column is {kind}")


def _real(column: Array) -> Array:
    types, kind = pa.types, column.type
    if types.is_boolean(kind):
        column = column.cast(pa.int64())
    elif not (types.is_null(kind) or types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
        raise ColumnError(f"mean(), variance() or quantile() needs numbers, but its column is {kind}")
    return column.cast(pa.float64(), safe=False)


def _truth(column: Array) -> Array:
    if pa.types.is_boolean(column.type) or pa.types.is_null(column.type):
        return column.cast(pa.bool_())
    raise ColumnError(f"any() or all() needs a boolean column, but its column is {column.type}")


def _sum(groups: Grouped, column: Array) -> Partial:
    # The empty column keeps the type of the summed values when results are merged.
    parts = {"": column, "of": pa.nulls(0, column.type)}
    if pa.types.is_duration(column.type):
        # Decimal seconds allow batches of different units to be merged, and sums beyond 64 bits.
        decimals = pa.decimal128(38, DIGITS[column.type.unit])
        parts[""] = column.cast(pa.int64()).cast(pa.decimal128(38, 0)).view(decimals)
    return _sums(groups, parts)


def _sums(groups: Grouped, parts: Partial) -> Partial:
    return {"": groups.total(parts[""]), "of": pa.nulls(groups.count, parts["of"].type)}


def _totals(groups: Grouped, parts: Partial) -> Partial:
    return {name: groups.total(part) for name, part in parts.items()}


def _of_itself(name: str, function: Callable[[Grouped, Array], Array]) -> Kind:
    """An aggregate whose results are merged by aggregating them."""

    def merge(groups: Grouped, parts: Partial) -> Partial:
        return {"": function(groups, parts[""])}

    return Kind(name, lambda groups, column: merge(groups, {"": column}), merge)


def _mean(parts: Partial, _: Any) -> Array:
    return pa.compute.divide(parts["sum"], _positive(parts["n"]))


def _positive(count: Array) -> Array:
    """Counts as floats, with null for counts that are not positive."""
    return pa.compute.if_else(pa.compute.greater(count, 0), count, None).cast(pa.float64())


def _m2(groups: Grouped, column: Array) -> Partial:
    # Every value is a partial result.
    count = column.is_valid().cast(pa.int64())
    return _m2s(groups, {"n": count, "mean": column.fill_null(0.0), "m2": pa.array(np.zeros(len(column)))})


def _m2s(groups: Grouped, parts: Partial) -> Partial:
    # The sums of squares around the means of the parts, moved to the common mean (Chan, Golub and LeVeque 1983).
    multiply, total, n = pa.compute.multiply, groups.total, parts["n"]
    count = total(n)
    mean = _mean({"sum": total(multiply(parts["mean"], n)), "n": count}, None).fill_null(0.0)
    distance = pa.compute.subtract(parts["mean"], mean.take(pa.array(groups.numbers)))
    moved = multiply(multiply(distance, distance), n)
    return {"n": count, "mean": mean, "m2": total(pa.compute.add(parts["m2"], moved))}


def _variance(parts: Partial, ddof: Any) -> Array:
    return pa.compute.divide(parts["m2"], _positive(pa.compute.subtract(parts["n"], ddof)))


def _quantile(parts: Partial, q: float) -> Array:
    return pl.from_arrow(parts[""]).list.eval(pl.element().quantile(q, "linear")).list.first().to_arrow()


def _of_lists(
    name: str,
    finish: Callable[[Partial, Any], Array],
    read: Callable[[Array], Array] = lambda column: column,
    *,
    distinct: bool = False,
) -> Kind:
    """An aggregate that keeps each group's non-null values as a list."""

    def partial(groups: Grouped, column: Array) -> Partial:
        return {"": groups.lists(groups.valid(column), column.drop_null(), distinct=distinct)}

    def merge(groups: Grouped, parts: Partial) -> Partial:
        numbers = np.repeat(groups.numbers, parts[""].value_lengths().to_numpy())
        return {"": groups.lists(numbers, parts[""].flatten(), distinct=distinct)}

    return Kind(name, partial, merge, read, finish)


COUNT: Final = Kind("count", lambda groups, column: {"": groups.known(column)}, _totals)
SIZE: Final = Kind("count", lambda groups, _: {"": groups.sizes}, _totals)
SUM: Final = Kind("sum", _sum, _sums, _number)
MIN: Final = _of_itself("min", lambda groups, column: groups.extreme(column, "min"))
MAX: Final = _of_itself("max", lambda groups, column: groups.extreme(column, "max"))
MEAN: Final = Kind(
    "mean", lambda groups, column: {"sum": groups.total(column), "n": groups.known(column)}, _totals, _real, _mean
)
VARIANCE: Final = Kind("variance", _m2, _m2s, _real, _variance)
FIRST: Final = _of_itself("first", lambda groups, column: column.take(pa.array(groups.first)))
LAST: Final = _of_itself("last", lambda groups, column: column.take(pa.array(groups.last)))
ANY: Final = _of_itself("any", lambda groups, column: groups.extreme(_truth(column).fill_null(False), "max"))  # noqa: FBT003 - pyarrow's own
ALL: Final = _of_itself("all", lambda groups, column: groups.extreme(_truth(column).fill_null(True), "min"))  # noqa: FBT003 - pyarrow's own
UNIQUE: Final = _of_lists("count_unique", lambda parts, _: parts[""].value_lengths(), distinct=True)
QUANTILE: Final = _of_lists("quantile", _quantile, _real)


def _of(call: Call, given: Any) -> Any:
    if isinstance(given, str) and given == "*":
        # Polars would take all columns.
        raise call.refuse("needs one column, but got '*'; to count the rows, write columns.count()")
    return None if given is None else expression(call, given)


Of = Annotated[Any, _of]


@checked
def count(of: Of = None) -> Aggregate:
    """Count the rows or, given a column, its values that are not null."""
    return Aggregate(SIZE if of is None else COUNT, of)


@checked
def sum(of: Of) -> Aggregate:
    """Sum a column; 0 without values. Integers are summed exactly, and a result beyond 64 bits is an error.

    A sum of decimals, such as `columns.sum(pl.col("n").cast(pl.Decimal(38, 0)))`, has room for 38 digits.
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
    """Count the distinct values exactly. Each is kept until the time is complete."""
    return Aggregate(UNIQUE, of)


def _part(call: Call, q: Any) -> Any:
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        hint = ": its arguments are in the wrong order" * isinstance(q, str)
        raise call.refuse(f"needs q from 0 to 1, but got {q!r}{hint}. Example: quantile(0.5, 'delay')")
    return q


@checked
def quantile(q: Annotated[float, _part], of: Of) -> Aggregate:
    """Compute the `q`-quantile exactly, interpolating between two values: 0.5 is the median.

    The number comes first, unlike in polars. All values of the column are kept until the time is complete.
    """
    return Aggregate(QUANTILE, of, q)


def aggregates(call: Call, named: dict[str, Any], taken: Collection[str] = ()) -> dict[str, Aggregate]:
    """Check keyword arguments: at least one, each an aggregate under the name of its result, which is not taken."""
    if not named:
        raise call.refuse("needs at least one aggregate: n=columns.count()")
    for name, given in named.items():
        if name in taken:
            raise call.refuse(f"got {name}= as the name of a result, but there is already a column {name!r}")
        if not isinstance(given, Aggregate):
            raise call.refuse(
                f"got {name}={given!r}: use an aggregate of columns, such as columns.mean('delay'). For any other "
                f"query over all rows of a time, use columns.per_time(query)"
            )
    return named

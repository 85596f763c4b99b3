"""Column expressions as arguments of modules, each computed from one row at a time."""

from collections.abc import Sequence
from functools import lru_cache
from io import BytesIO
from typing import Any

import attrs

from pullstream.authoring import Call, some_of

from ..arrow import ArrowRows
from .package import ColumnError, pl


@attrs.frozen(repr=False)
class Expression:
    """A polars expression as a module's argument: plain data, which can be compared, pickled and put into a journal."""

    data: Any
    """The serialized expression, or the expression itself if polars would need cloudpickle for a Python function."""
    text: str
    """The expression as polars shows it, without the name of the result."""

    @classmethod
    def of(cls, given: Any, name: str | None = None) -> "Expression":
        """Keep a polars expression, with the name of its result if there is one."""
        expr = given if name is None else given.alias(name)
        try:
            return cls(expr.meta.serialize(), str(given))
        except (ImportError, pl.exceptions.PolarsError):
            return cls(expr, str(given))

    @property
    def expr(self) -> Any:
        """The polars expression."""
        return _deserialized(self.data) if isinstance(self.data, bytes) else self.data

    def __repr__(self) -> str:
        return self.text


@lru_cache(maxsize=1024)
def _deserialized(data: bytes) -> Any:
    return pl.Expr.deserialize(BytesIO(data))


def without_brackets(given: Any) -> str:
    """Advice for arguments that were given as a list."""
    return f"write them without brackets: {', '.join(map(repr, given))}"


def column_name(call: Call, given: Any) -> str:
    """Check an argument: a column's name."""
    if not isinstance(given, str):
        raise call.refuse(
            f"needs a column's name for its argument {call.name!r}, but got {given!r}; compute another "
            f"column with with_columns(...) upstream"
        )
    return given


def expression(call: Call, given: Any, name: str | None = None) -> Expression:
    """Check an argument: a column's name, or a polars expression that looks at one row at a time."""
    if isinstance(given, str):
        return Expression.of(pl.col(given), name)
    if not isinstance(given, pl.Expr):
        advice = "write pl.lit(...) for a value"
        if given.__class__ in {list, tuple}:
            advice = without_brackets(given)
        elif callable(given):
            advice = "pass a Python function of a row to ps.map or ps.filter"
        raise call.refuse(f"needs column names or polars expressions, but got {given!r}; {advice}")
    try:
        # For most expressions with several results, polars cannot say more; for fields of a struct it panics.
        several = given.meta.has_multiple_outputs() and not given.meta.is_column_selection()
        why = "" if several else _looks_further(given)
    except pl.exceptions.InvalidOperationError:
        several, why = True, ""
    if several:
        raise call.refuse(
            f"got the expression {given!s}, which computes with a selection of columns or fields: write one expression "
            f"for each, or name each column, as in pl.sum_horizontal('a', 'b')"
        )
    if why:
        raise call.refuse(
            f"got the expression {given!s}, which {why.removesuffix(f', in {given!s}')}. Batches are cut anywhere, so "
            f"an expression may look at one row only; use columns.per_time(query) for all rows of a time"
        )
    return Expression.of(given, name)


def expressions(call: Call, given: Sequence[Any]) -> tuple[Expression, ...]:
    """Check the arguments; at least one is needed if there are no keywords."""
    if not given and not call.has(bool):
        raise call.refuse("needs at least one column or expression")
    return tuple(expression(call, each) for each in given)


def named_expressions(call: Call, given: dict[str, Any]) -> dict[str, Expression]:
    """Check keyword arguments: each names a result."""
    return {name: expression(call, each, name) for name, each in given.items()}


def _looks_further(expr: Any) -> str:
    """The reason why an expression does not compute one value for each row; empty if it does."""
    meta = expr.meta
    if meta.is_column_selection():
        return ""
    if meta.is_literal():
        return "" if meta.is_scalar() else f"is a literal with several values, in {expr!s}"
    try:
        if meta.is_scalar():
            return "" if _of_literals(expr) else f"aggregates rows, in {expr!s}"
        if not meta.is_length_preserving():
            return f"changes the number of rows, in {expr!s}"
        alone = meta.is_row_separable()
    except pl.exceptions.ColumnNotFoundError:
        # It is a Python function of one value.
        alone = True
    if not alone:
        return f"looks at other rows, in {expr!s}"
    if any(part.meta.root_names() for part in _searched(expr)):
        return f"may look at other rows, in {expr!s} (for lists of a row, use list.contains)"
    return next((why for part in meta.pop() if (why := _looks_further(part))), "")


def _of_literals(expr: Any) -> bool:
    """Whether an expression is computed from literals only, so it has one value for all rows."""
    parts = expr.meta.pop()
    return all(map(_of_literals, parts)) if parts else expr.meta.is_literal()


def _searched(expr: Any) -> Sequence[Any]:
    """The inputs in which a function looks up a value across all rows, although polars calls it row-separable."""
    inputs = expr.meta.pop()[::-1]
    name = str(expr).removeprefix(f"{inputs[0]!s}.").partition("(")[0] if inputs else ""
    return inputs[1:] if name == "is_in" else inputs[1:3] if name in {"replace", "replace_strict"} else ()


def roots(given: Sequence[Expression]) -> set[str] | None:
    """The names of the columns that expressions read; None if a selection may read any column."""
    found: set[str] = set()
    for each in given:
        if each.expr.meta.has_multiple_outputs():
            return None
        found.update(each.expr.meta.root_names())
    return found


def check_names(where: str, rows: ArrowRows, wanted: set[str] | None) -> None:
    """Refuse rows that lack a column, with a `ColumnError` that lists the columns they have."""
    names = rows.schema.names
    for name in sorted(wanted or ()):
        if name not in names:
            has = some_of(names, name, repr)
            raise ColumnError(f"{where}: there is no column {name!r}{rows.where()}; the columns are {has}")

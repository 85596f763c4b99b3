"""Columns of a user's DataFrame, looked up as from_dataframe and on_executors are given them."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from typing_extensions import TypeVar

from .failures import first_line, unlogged
from .reading.jobs import is_connect

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from pullstream import CompositionError

T = TypeVar("T")

Refusal = Callable[[str], "CompositionError"]
"""A function that makes the error of the module that was given a column."""

TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint", "string"})
"""The types of Spark's that a time may be of."""


def functions(df: "DataFrame") -> Any:
    """Spark's functions for the kind of session that a DataFrame has."""
    return import_module("pyspark.sql.connect.functions" if is_connect(df) else "pyspark.sql.functions")


def column(df: "DataFrame", option: str, given: Any, refusal: Refusal) -> "Column":
    """The column of a name, or the expression that was given for it."""
    from pyspark.sql import Column  # noqa: PLC0415 - an optional dependency

    if isinstance(given, str):
        # A column's own name may hold dots, which otherwise lead into a struct.
        return functions(df).col(f"`{given.replace('`', '``')}`" if given in df.columns else given)
    if isinstance(given, Column):
        return given
    raise refusal(f"needs the name of a column, or a column expression, as its {option}, and got {given!r}")


def looked_up(look: Callable[[], T], df: "DataFrame", said: str, refusal: Refusal) -> T:
    """The result of a look at a column that Spark may not find, or not make; `said` is the option as it was given."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - an optional dependency

    try:
        with unlogged():
            return look()
    except AnalysisException as exc:
        if (exc.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            raise refusal(f"has no column for {said}; its columns are {', '.join(df.columns)}") from None
        raise refusal(f"cannot use {said}: {first_line(exc)}") from None

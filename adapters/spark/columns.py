"""Columns of a user's DataFrame, as given to from_dataframe and on_executors."""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from typing_extensions import TypeVar

from pullstream import CompositionError
from pullstream.authoring import of_extra

from .errors import SparkMissing, no_frame, refused
from .failures import first_line, unlogged
from .reading.jobs import STOPPED, is_connect, stands
from .types import Column, DataFrame

T = TypeVar("T")

Refusal = Callable[[str], CompositionError]
"""A function that makes an error in the name of the module that got a column."""

TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint", "string"})
"""The Spark types that a time may have."""


def check_frame(module: str, df: Any, wanted: str = "a Spark DataFrame") -> None:
    """Refuse, in a module's name, anything but a DataFrame whose session has not been stopped."""
    if not isinstance(df, of_extra("spark", "pyspark.sql", SparkMissing).DataFrame):
        raise refused(module, no_frame(wanted, df))
    if not stands(df.sparkSession):
        raise refused(module, f"got a DataFrame, and {STOPPED}")


def functions(df: "DataFrame") -> Any:
    """Spark's functions for a DataFrame's kind of session."""
    return import_module("pyspark.sql.connect.functions" if is_connect(df) else "pyspark.sql.functions")


def column(df: "DataFrame", option: str, given: Any, refusal: Refusal) -> "Column":
    """The column with a given name, or a given expression."""
    from pyspark.sql import Column  # noqa: PLC0415 - an optional dependency

    if isinstance(given, str):
        # A column's own name may contain dots, which otherwise select fields of a struct.
        return functions(df).col(f"`{given.replace('`', '``')}`" if given in df.columns else given)
    if isinstance(given, Column):
        return given
    raise refusal(f"needs {option}= to be the name of a column or a column expression, but got {given!r}")


def looked_up(look: Callable[[], T], df: "DataFrame", said: str, refusal: Refusal) -> T:
    """Resolve a column that Spark may not find; `said` is the option as it was given."""
    from pyspark.errors import AnalysisException  # noqa: PLC0415 - an optional dependency

    try:
        with unlogged():
            return look()
    except AnalysisException as exc:
        if (exc.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            raise refusal(f"has no column for {said}; its columns are {', '.join(df.columns)}") from None
        raise refusal(f"cannot use {said}: {first_line(exc)}") from None

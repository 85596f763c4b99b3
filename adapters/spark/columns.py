"""Columns of a user's DataFrame, as given to from_dataframe and on_executors."""

import reprlib
from collections.abc import Collection
from importlib import import_module
from typing import Any, Final, cast

from ..arrow import first_line
from .errors import Refusal
from .failures import unlogged
from .reading.jobs import STOPPED, is_alive, is_connect
from .types import Column, DataFrame, StructField, pyspark

TIMES: Final = frozenset({"date", "timestamp", "timestamp_ntz", "tinyint", "smallint", "int", "bigint", "string"})
"""The Spark types that a time may have."""


def check_frame(refusal: Refusal, df: Any, wanted: str = "a Spark DataFrame") -> None:
    """Refuse anything but a DataFrame of a running session with columns that PyArrow supports."""
    if not isinstance(df, pyspark.sql.DataFrame):
        kind = type(cast("object", df))
        home = kind.__module__.partition(".")[0]
        # Tables are named, not shown.
        got = f"{reprlib.repr(df)} ({kind.__name__})" if home == "builtins" else f"a {home}.{kind.__name__}"
        hint = "; session.createDataFrame(frame) converts it" if home in {"pandas", "pyarrow"} else ""
        raise refusal(f"needs {wanted}, but got {got}{hint}")
    if not is_alive(df.sparkSession):
        raise refusal(f"got a DataFrame, but {STOPPED}")
    kinds = {field.name: field.dataType.simpleString() for field in df.schema}
    months = ", ".join(name for name, kind in kinds.items() if "interval year" in kind or "interval month" in kind)
    if months:
        raise refusal(f"cannot read {months}, as PyArrow has no intervals of months: cast them to STRING or INT")


def functions(df: "DataFrame") -> Any:
    """Spark's functions for a DataFrame's kind of session."""
    return import_module("pyspark.sql.connect.functions" if is_connect(df) else "pyspark.sql.functions")


def quoted(name: str) -> str:
    """The name of a column or table, quoted for Spark's SQL."""
    return f"`{name.replace('`', '``')}`"


def typed_column(
    refusal: Refusal, df: "DataFrame", option: str, given: Any, more: Collection[str] = ()
) -> "tuple[Column, StructField]":
    """Get the column for a name or an expression, and its field; its type must be a time's or one of `more`."""
    chosen: Column = given
    if isinstance(given, str):
        # A column's own name may contain dots, which otherwise select fields of a struct.
        chosen = functions(df).col(quoted(given) if given in df.columns else given)
    elif not isinstance(given, pyspark.sql.Column):
        raise refusal(f"needs {option}= to be the name of a column or a column expression, but got {given!r}")
    try:
        with unlogged():
            fields = df.select("*", chosen).schema.fields[len(df.columns) :]
    except pyspark.errors.AnalysisException as exc:
        why = f"cannot use {option}={given!r}: {first_line(exc)}"
        if (exc.getCondition() or "").startswith("UNRESOLVED_COLUMN"):
            why = f"has no column for {option}={given!r}; its columns are {', '.join(df.columns)}"
        raise refusal(why) from None
    if len(fields) != 1:
        raise refusal(f"cannot use {option}={given!r}, which is {len(fields)} columns: give one")
    (field,) = fields
    kind = field.dataType.simpleString()
    if kind.partition("(")[0] not in {*TIMES, *more}:
        names = ", ".join(["a DATE, a TIMESTAMP, a whole number or a STRING", *map(str.upper, more)])
        raise refusal(f"cannot use {option}={given!r}, which is of type {kind}: cast it to {names}")
    return chosen, field

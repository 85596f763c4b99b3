"""The columns of a DataFrame that transformers run on: times, keys, and their positions."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import attrs

from pullstream import CompositionError
from pullstream.authoring import Module, Site

from ...arrow import As, Schema
from ..columns import TIMES, check_frame, column, looked_up
from ..refusals import refused
from ..schemas import arrow_schema
from .partition import PartitionPlan

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

P = TypeVar("P", bound=PartitionPlan)

KEYS = TIMES | {"boolean", "binary"}


@attrs.frozen(eq=False, repr=False)
class Asked:
    """The requested transformers and options, independent of the frame."""

    modules: tuple[Module, ...]
    schema: "str | StructType | Schema"
    time: "str | Column | None"
    by: "tuple[str | Column, ...]"
    as_: As
    site: Site
    module: str = "on_executors"
    """The name of the module in error messages."""

    def plan(
        self,
        kind: type[P],
        names: Sequence[str],
        keys: Sequence[str],
        time: str | None,
        schema: "StructType",
        **more: Any,
    ) -> P:
        """The executors' work, for the columns with these names."""
        places = {name: 1 + place for place, name in enumerate(keys)}
        if time is not None:
            places.setdefault(time, 0)
        return kind(
            self.modules,
            self.site,
            self.as_,
            tuple(names),
            tuple(keys),
            time,
            arrow_schema(schema),
            {name: place for name, place in places.items() if name in schema.names},
            self.module,
            **more,
        )


class Frame:
    """A DataFrame whose columns are resolved."""

    def __init__(self, df: Any) -> None:
        check_frame("on_executors", df)
        self.df: DataFrame = df

    def column(self, option: str, given: Any, kinds: frozenset[str]) -> "tuple[str, Column]":
        """A column's name, and the column."""
        chosen = column(self.df, option, given, refusal)
        (field,) = looked_up(lambda: self.df.select(chosen).schema.fields, self.df, f"{option}={given!r}", refusal)
        kind = field.dataType.simpleString()
        if kind.partition("(")[0] not in kinds | ({"decimal"} if option == "by" else set()):
            names = "a DATE, a TIMESTAMP, a whole number or a STRING" + (
                ", BOOLEAN, BINARY, DECIMAL" * (option == "by")
            )
            raise refusal(f"cannot use {option}={given!r}, which is of type {kind}: cast it to {names}")
        return field.name, chosen

    def arranged(self, keys: "list[Column]", marks: "list[Column]") -> "DataFrame":
        """The rows with keys and time in extra columns at the end."""
        df = self.df
        if keys:
            df = df.repartition(*keys)
        if marks:
            df = df.sortWithinPartitions(*marks)
        width = len(self.df.columns)
        names = [f"c{place}" for place in range(width)]
        names += [f"m{place}" for place in range(len(marks))]
        return df.select("*", *marks).toDF(*names)


def refusal(what: str) -> CompositionError:
    """Make the error for an unsuitable frame or column."""
    return refused("on_executors", what)

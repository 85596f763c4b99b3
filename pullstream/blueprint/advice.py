"""Hints for arguments that are not modules."""

import inspect
from collections.abc import AsyncIterable, Callable, Collection, Iterable
from difflib import get_close_matches
from functools import lru_cache
from io import IOBase
from os import PathLike
from types import BuiltinFunctionType, MethodDescriptorType
from typing import Any, Final, cast

from pullstream.blueprint.modules import Blueprint
from pullstream.frames import is_ours

_TABLES: Final = {
    ("pyspark", "DataFrame"): "spark.from_dataframe(df) makes a source of it (from pullstream import spark)",
    ("pandas", "DataFrame"): "values(df.itertuples(index=False)) makes a source of its rows",
    ("polars", "DataFrame"): "values(df.iter_rows(named=True)) makes a source of its rows",
    ("polars", "LazyFrame"): "values(lf.collect().iter_rows(named=True)) makes a source of its rows",
    ("pyarrow", "Table"): "values(table.to_pylist()) makes a source of its rows",
    ("pyarrow", "RecordBatch"): "values(batch.to_pylist()) makes a source of its rows",
}
"""Tables by package and class, and how to make a source of rows from each. Iterating most of them gives no rows."""


def table_advice(value: object) -> str:
    """Return how to make a source of rows from a table; "" if `value` is not a table."""
    kind: Any = type(value)
    return _table_advice(kind)


@lru_cache(maxsize=64)
def _table_advice(kind: type[object]) -> str:
    return _TABLES.get((kind.__module__.partition(".")[0], kind.__name__), "")


_OTHER_KIND: Final = {
    ("fork", "sink"): "to send a stream to several sinks, use tee(*sinks)",
    ("tee", "transformer"): "to send a stream through several transformers, use fork(*transformers)",
    ("group_by", "sink"): "for one result per key, use reduce_by_key(fold, key=f)",
}
"""The module to use instead, by the module that was given a part of another kind."""


PLAIN: Final = (type, BuiltinFunctionType, MethodDescriptorType)
"""Callables that return values, and not modules: classes, and functions not written in Python."""

_BUILTINS: Final[dict[object, str]] = {
    list: "collect() gives the values as a list",
    len: "reduce(agg.count()) counts the values",
    sum: "reduce(agg.sum()) adds up the values",
    min: "reduce(agg.min()) gives the least value",
    max: "reduce(agg.max()) gives the greatest value",
    sorted: "sort_by_time() sorts the values of each time",
}
"""Python functions that make one result from many values, and their counterparts here."""


def advice(module: str, value: object, *, wanted: str = "") -> str:
    """Return a hint for an argument that is not a module, or not of the `wanted` kind ("source", "sink", ...)."""
    source = wanted == "source"
    if isinstance(value, Blueprint):
        if source and value.kind == "pipeline":
            return ", a complete pipeline: leave out its sink"
        instead = _OTHER_KIND.get((module, value.kind), "")
        return instead and f"; {instead}"
    if isinstance(value, (map, filter, zip)):
        name = cast("type[object]", type(value)).__name__  # pyright: ignore[reportUnknownArgumentType]
        return f"; this is Python's own {name}: use ps.{name}"
    if instead := getattr(cast("object", type(value)), "instead_of_a_module", ""):
        return f"; {instead}"
    if callable(value):
        return _advice_on_callable(value, wanted)
    if inspect.iscoroutine(value):
        return f": {value.__name__} is an async function; await its call, or define it without async"
    if source and (table := table_advice(value)):
        return f"; {table}"
    if isinstance(value, (list, tuple)) and any(isinstance(part, Blueprint) for part in cast("list[object]", value)):
        return f"; pass the parts one by one: {module}(*parts)"
    if source and isinstance(value, (str, PathLike)):
        return "; to read a file, use read_text(path), read_csv(path) or others (from pullstream import files)"
    if callable(getattr(cast("object", value), "produce", None)):
        return "; decorate its class with @ps.source, @ps.transformer or @ps.sink"
    if source and isinstance(value, AsyncIterable):
        return "; from_async_iterable(...) makes a source of it"
    if source and isinstance(value, IOBase):
        return "; values(...) makes a source of it, but files.read_text(path) also closes the file"
    if source and isinstance(value, Iterable):
        return "; values(...) makes a source of it"
    return ""


def _advice_on_callable(value: Callable[..., object], wanted: str) -> str:
    name = getattr(value, "__qualname__" if isinstance(value, MethodDescriptorType) else "__name__", repr(value))
    module = f"call it to get the module: {name}()"
    nothing = f"tap({name}) or the sink drain({name})"
    plain = {
        "sink": f"for a sink that calls a function with each value, write drain({name})",
        "source": f"if it returns values, make a source of them: values({name}())",
    }.get(wanted, f"a plain function goes into map({name}), or into {nothing} if it returns nothing")
    if not wanted and isinstance(value, PLAIN) and value in _BUILTINS:
        return f"; {plain}; as a sink, {_BUILTINS[value]}"
    if is_ours(str(getattr(value, "__module__", ""))):
        return f"; {module}"
    if inspect.isasyncgenfunction(value) or inspect.iscoroutinefunction(value):
        return f"; {_advice_on_async(value, name)}"
    # A user's function may return a module; a class of values, or a callable not written in Python, does not.
    if (isinstance(value, PLAIN) and not hasattr(value, "produce")) or name == "<lambda>":
        return f"; {plain}"
    return f"; if it returns a module, call it: {name}(); {plain}"


def _advice_on_async(value: Callable[..., object], name: str) -> str:
    generates = inspect.isasyncgenfunction(value)
    first = next(iter(inspect.signature(value).parameters), None)
    if first is None:
        return f"{f'from_async_iterable({name}())' if generates else f'from_awaitable({name})'} makes a source of it"
    if first == "upstream" or generates:
        which = "source" if first != "upstream" else "transformer" if generates else "sink"
        return f"decorate it with @ps.{which} and call it to get the module: {name}()"
    return f"an async function of a value goes into map_async({name}, concurrency)"


_ONE_SIDED = "; on= is for both sources: in columns.join, rename a column of one of them upstream."
_ARGUMENTS: Final = {"left_on": _ONE_SIDED, "right_on": _ONE_SIDED}
"""Hints for arguments that other libraries have."""


def nearest(name: str, known: Collection[str]) -> str:
    """Return a hint with the most similar known name, or with what to use instead; "" if there is none."""
    if "on" in known and name in _ARGUMENTS:
        return _ARGUMENTS[name]
    matches = get_close_matches(name, list(known), n=1, cutoff=0.7)  # below, `end` is near `append`
    return f"; did you mean {matches[0]}=?" if matches else ""

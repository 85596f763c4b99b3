"""Hints for names that `pullstream` does not have: the new name, or where to find it."""

from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from typing import Final

RENAMED: Final[Mapping[str, str]] = {
    "Beside": "types.Companion",
    "Lending": "types.WorkerPool",
    "Many": "types.DynamicMerge",
    "TimedBatch": "Batch.of",
    "count": "integers",
    "distinct": "unique_by_time",
    "epochs": "stamp_epochs",
    "lend": "worker_pool",
    "live": "catch_up",
    "many": "dynamic_merge",
    "non_unique": "duplicates",
    "rate": "rate_limit",
    "restamp": "map_time",
}
"""Names of earlier versions, and their present names."""

INSTEAD: Final[Mapping[str, str]] = {
    "count": "to count the values of a stream, use the sink reduce(agg.count())",
    "infinite": "unfold(None, lambda _: (f(), None)) gives the results of f, forever",
    "keys": "values(list(mapping)) gives the keys of a mapping",
    "lending": "use worker_pool(..., dynamic=True)",
    "log": "drain(print) prints every value",
    "window": "use windowed(count, step); batch(count) gives lists that do not overlap",
}
"""Names of earlier versions, and what to use instead."""

_RECIPE: Final = "the page 'Which module do I need?' has a recipe for it"

SOUGHT: Final[Mapping[str, str]] = {
    "buffer": "batch(n) gives lists of n values, windowed(n) overlapping ones",
    "chain": "concat(source, source) reads one source after another",
    "distinct_until_changed": _RECIPE,
    "enumerate": "zip(integers(), source) numbers the values; " + _RECIPE,
    "fold": "reduce(fold) folds a whole stream, reduce_by_time(fold) each time",
    "for_each": "drain(f) calls f for each value",
    "from_iterable": "values(iterable) gives its values",
    "islice": "take(n) and skip(n) cut a stream",
    "length": "reduce(agg.count()) counts the values",
    "max": "reduce(agg.max()) gives the greatest value",
    "max_by": "reduce(agg.max_by(f)) gives the value for which f gives the most",
    "mean": "reduce(agg.mean()) gives the mean",
    "min": "reduce(agg.min()) gives the least value",
    "min_by": "reduce(agg.min_by(f)) gives the value for which f gives the least",
    "pairwise": "windowed(2) gives each value with its neighbour",
    "range": "values(range(n)) gives the numbers of a range, integers(start) gives them forever",
    "sort": "sort_by_time(key) sorts the values of each time; without times, all values are at one",
    "sorted": "sort_by_time(key) sorts the values of each time; without times, all values are at one",
    "starmap": "map(lambda parts: f(*parts)) calls f with the parts of each tuple",
    "start_with": "concat(values([first]), source) puts values in front",
    "sum": "reduce(agg.sum()) adds up the values",
    "switch_map": _RECIPE,
    "to_list": "collect() gives a list",
    "with_latest_from": _RECIPE,
}
"""Names in other libraries, and what to use here."""

DOORS: Final = (
    "types",
    "authoring",
    "duplex",
    "errors",
    "checker",
    "trace",
    "incremental",
    "files",
    "spark",
    "arrow",
    "display",
    "metrics",
    "conformance",
    "timely",
)
"""The submodules with public names of their own."""


def hint(package: str, name: str) -> str:
    """Return a sentence about what to use instead of a name the package does not have; "" if there is no hint."""
    found = [f"it is now called {RENAMED[name]}"] if name in RENAMED else []
    found += [said[name] for said in (INSTEAD, SOUGHT) if name in said]
    if found:
        return "; ".join(found)
    if name in DOORS:
        return f"it is a module: `from {package} import {name}`"
    if place := elsewhere(package, name):
        return place
    matches = get_close_matches(name, public(package), n=1)
    return f"did you mean {matches[0]}?" if matches else ""


def elsewhere(package: str, name: str) -> str:
    """Return a sentence that names the submodule with this name; "" if there is none."""
    door = next((door for door in DOORS if name in public(f"{package}.{door}")), None)
    return f"it is {door}.{name}, with `from {package} import {door}`" if door else ""


def public(module: str) -> list[str]:
    """Return the public names of a module; none if it cannot be imported, for example because a package is missing."""
    with suppress(Exception):
        found = import_module(module)
        return getattr(found, "__all__", None) or [name for name in vars(found) if not name.startswith("_")]
    return []

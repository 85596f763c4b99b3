"""Pipelines that can never give a result: a source without an end, into a module that waits for the end.

Only their composition is looked at. What is not certain is not reported: an unknown module may end the stream.
"""

from typing import Final

from pullstream.blueprint import Blueprint, Module
from pullstream.frames import is_ours

_PASSES: Final = frozenset(
    {
        "batch",
        "debounce",
        "duplicates",
        "filter",
        "filter_not",
        "flat_map",
        "late",
        "map",
        "map_async",
        "map_batches",
        "map_process",
        "map_thread",
        "on_error",
        "prefetch",
        "probe",
        "rate_limit",
        "sample",
        "scan",
        "tap",
        "throttle",
        "unique",
        "windowed",
    }
)
"""Modules that pass on the times of their values, and do not end the stream."""

_GIVES_TIMES: Final = frozenset(
    {
        "delay",
        "map_time",
        "stamp",
        "stamp_epochs",
        "timed",
    }
)
"""Modules behind which values may have times that end."""

_WAITS_FOR_TIMES: Final = frozenset(
    {
        "accumulate",
        "aggregate",
        "count_by_key",
        "reduce_by_key",
        "reduce_by_time",
        "sort_by_time",
        "write_arrow",
        "write_bytes",
        "write_csv",
        "write_jsonl",
        "write_parquet",
        "write_rows",
        "write_table",
        "write_text",
    }
)
"""Modules that do nothing for a time before it is complete."""

_WAITS_FOR_THE_END: Final = frozenset(
    {
        "collect",
        "concat_values",
        "last",
        "reduce",
    }
)
"""Sinks that keep what they return at the end."""


def never_gives(pipeline: Blueprint) -> str:
    """Say why a pipeline that only its own end stops gives no result; empty if it may give one."""
    source, *others = pipeline.modules
    if not _never_ends(source):
        return ""
    timed = "time" in dict(source.options)
    for module in others:
        name = _name(module)
        if name in _WAITS_FOR_THE_END:
            return (
                f"{module}, composed at {module.site}, returns its result at the end, and {source} never ends. End the "
                f"stream, for example with take(n), or handle each value, with drain(f) or iterate(source)"
            )
        if name in _WAITS_FOR_TIMES and not timed:
            return (
                f"{module}, composed at {module.site}, waits until a time is complete, and all values of {source} are "
                f"at the time 0, which ends only with the source: never. Assign times, with time=, stamp(...) or "
                f"stamp_epochs(...), or end the stream, for example with take(n)"
            )
        timed = timed or name in _GIVES_TIMES
        if name not in _PASSES | _GIVES_TIMES | _WAITS_FOR_TIMES:
            return ""
    return ""


def _never_ends(source: Module) -> bool:
    name = _name(source)
    if name == "repeat":
        return len(source.args) == 1
    return name in {"integers", "interval"} or (name != "" and dict(source.options).get("follow") is True)


def _name(module: Module) -> str:
    """The name of one of the toolkit's modules; a user's module of the same name may do anything."""
    return module.name if is_ours(getattr(module.make, "factory", module.make).__module__) else ""

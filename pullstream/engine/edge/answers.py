"""Checks of a module's answer: it is a batch, with times, with a sequence of values, and not too many of them (R2)."""

from collections.abc import Iterable, Mapping, Set as AbstractSet, Sized
from inspect import iscoroutine
from typing import Any, cast

from pullstream.protocol import Batch


def mistake(answer: object, limit: int) -> str:
    """The mistake in an answer to an ask for at most `limit` values; empty if there is none."""
    if iscoroutine(answer):
        answer.close()
        asked = ", or poll(limit) in a PolledKernel" if answer.__qualname__.startswith("Lane.ask") else ""
        return f"a coroutine: write `await` before the call of {answer.__qualname__}{asked}"
    if not isinstance(answer, Batch):
        return f"{answer!r}: a module answers Batch(time, values) or DONE"
    batch = cast("Batch[Any]", answer)
    if problem := wrong(batch):
        return problem
    if not 1 <= len(batch.values) <= limit:
        wanted = "one" if limit == 1 else f"1 to {limit}"
        hint = "Ask upstream again until there is a value or DONE; a source that has no more values returns DONE"
        if len(batch.values):
            hint = "Keep the rest for the next ask, for example in a Backlog, and make a new list for each answer"
        return f"{len(batch.values)} values to an ask for {wanted}. {hint}"
    return ""


def wrong(batch: Batch[Any]) -> str:
    """The mistake in a batch, apart from its number of values; empty if there is none."""
    if batch.uniform and batch.time is None:
        return "a batch whose time is None, which is not a time"
    if problem := _not_a_sequence(batch):
        return f"{batch!r}, {problem}"
    if batch.uniform:
        return ""
    times = cast("object", batch.times)
    if not isinstance(times, Sized) or isinstance(times, (AbstractSet, Mapping)):
        return f"{batch!r}, whose times are not a sequence: make a list, Batch.of(list(...), values)"
    if len(times) != len(batch.values):
        return f"a multi-time batch with different numbers of times ({len(times)}) and values ({len(batch.values)})"
    if type(None) in map(type, batch.times):
        return "a multi-time batch with the time None, which is not a time"
    return ""


def _not_a_sequence(batch: Batch[Any]) -> str:
    """The mistake in a batch whose values are not a sequence, or a string, which would be read letter by letter.

    Empty if there is none.
    """
    values = cast("object", batch.values)
    if values.__class__ is list:
        return ""
    problem = "whose values are not a sequence"
    if isinstance(values, Sized) and not isinstance(values, (AbstractSet, Mapping)):
        # A string of at most one letter gives the right values, whatever the author meant.
        if not isinstance(values, (str, bytes)) or len(values) < 2:
            return ""
        problem = "whose values are a string, which would be read letter by letter"
    if not batch.uniform:
        return f"{problem}: make a list, Batch.of(times, list(...))"
    time = batch.time
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, Mapping)):
        return f"{problem}: make a list, Batch({time!r}, list(...))"
    if not isinstance(values, Mapping) and isinstance(time, Sized) and not isinstance(time, (str, bytes)):
        return f"{problem}: the time comes first, Batch({values!r}, {time!r})"
    return f"{problem}: a single value is a list of one, Batch({time!r}, [{values!r}])"

"""Batches that are dealt with value by value: how far a function has come, and how often the time changes."""

from collections.abc import Iterator
from operator import length_hint
from typing import Any, Final

from typing_extensions import TypeVar

from pullstream.protocol import Batch, Reader, TimedBatch

A = TypeVar("A")

_KINDS: Final = {type(iter(made)) for made in (list[int](), (), range(0), "", "\u20ac", b"")}


MANY: Final = 8
"""The values in a row at one time that cost less together than each by itself."""


def seldom(batch: TimedBatch[Any]) -> bool:
    """Whether the time changes so seldom that values are better dealt with run by run than each by itself."""
    return MANY * len(batch.changes) < len(batch.times)


def spent(iterator: Iterator[Any]) -> bool:
    """Whether nothing is left of an iterator, where that is known without reading on: those of lists and the like."""
    return type(iterator) in _KINDS and not length_hint(iterator)


def countable(batch: Batch[A]) -> Iterator[A]:
    """The values of a batch; of one of many times, by an iterator that knows how many are left."""
    values = batch.values
    return iter(list(values) if isinstance(batch, TimedBatch) and not isinstance(values, (list, tuple)) else values)


def before_last(batch: TimedBatch[Any], values: Iterator[Any]) -> int:
    """The number of values that were taken, by the iterator that is `countable`, before the last one, which failed.

    >>> batch = TimedBatch([1, 2, 3], "abc")
    >>> values = countable(batch)
    >>> next(values), next(values), before_last(batch, values)
    ('a', 'b', 1)
    """
    return len(batch.values) - length_hint(values) - 1


def fails_in(upstream: Reader[Any], batch: Batch[Any], values: Iterator[Any]) -> None:
    """Acknowledge what has been dealt with of a batch when a function fails for the value taken last."""
    if isinstance(batch, TimedBatch):
        upstream.ack_but(batch.part(before_last(batch, values)))

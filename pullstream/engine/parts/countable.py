"""Value-by-value processing of a batch: how many values a function has taken, and how often the time changes."""

from collections.abc import Iterator
from operator import length_hint
from typing import Any, Final

from typing_extensions import TypeVar

from pullstream.protocol import Batch, Reader

A = TypeVar("A")

_KINDS: Final = {type(iter(made)) for made in (list[int](), (), range(0), "", "\u20ac", b"")}


MANY: Final = 8
"""The length from which handling a run of values at one time as a whole costs less than value by value."""


def seldom(batch: Batch[Any]) -> bool:
    """Whether the time changes so seldom that handling values run by run is faster than one by one."""
    return MANY * len(batch.changes) < len(batch.times)


def spent(iterator: Iterator[Any]) -> bool:
    """Whether an iterator is known to be exhausted without reading on: possible for lists, tuples and the like."""
    return type(iterator) in _KINDS and not length_hint(iterator)


def countable(batch: Batch[A]) -> Iterator[A]:
    """Iterate over the values of a batch; for a multi-time batch, the iterator knows how many are left."""
    values = batch.values
    return iter(values if batch.uniform or isinstance(values, (list, tuple)) else list(values))


def before_last(batch: Batch[Any], values: Iterator[Any]) -> int:
    """The number of values taken from a `countable` iterator before the last one, which failed.

    >>> batch = Batch.of([1, 2, 3], "abc")
    >>> values = countable(batch)
    >>> next(values), next(values), before_last(batch, values)
    ('a', 'b', 1)
    """
    return len(batch.values) - length_hint(values) - 1


def fails_in(upstream: Reader[Any], batch: Batch[Any], values: Iterator[Any]) -> None:
    """Acknowledge the values of a batch before the last one taken, for which a function has failed."""
    if not batch.uniform:
        upstream.ack_but(batch.part(before_last(batch, values)))

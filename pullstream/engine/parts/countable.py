"""Value-by-value processing of a batch: how many of its values a function has taken."""

from collections.abc import Iterator
from operator import length_hint
from typing import Any

from pullstream.blueprint.variables import A
from pullstream.protocol import Batch, listed


def countable(batch: Batch[A]) -> Iterator[A]:
    """Iterate over the values of a batch; for a multi-time batch, the iterator knows how many are left."""
    values = batch.values
    return iter(values if batch.uniform or isinstance(values, tuple) else listed(values))


def before_last(batch: Batch[Any], values: Iterator[Any]) -> int:
    """The number of values taken from a `countable` iterator before the last one, which failed.

    >>> batch = Batch.of([1, 2, 3], "abc")
    >>> values = countable(batch)
    >>> next(values), next(values), before_last(batch, values)
    ('a', 'b', 1)

    For a batch at one time the number is not needed, and 0: the whole batch stays in flight.
    """
    return 0 if batch.uniform else len(batch.values) - length_hint(values) - 1

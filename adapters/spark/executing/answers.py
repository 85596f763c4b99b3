"""Results of streams on the executors, on their way to Spark."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from adapters import arrow
from pullstream import PullstreamError


class RowError(PullstreamError, ValueError):
    """A value that a stream on the executors gave is no row of its schema."""


@attrs.frozen
class Answer:
    """Values of one answer, with their time, and the key whose stream gave them."""

    values: Sequence[Any]
    time: Any = 0
    key: tuple[Any, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows they will be."""
        first = self.values[0]
        if hasattr(first, "num_rows"):
            return sum(getattr(value, "num_rows", 1) for value in self.values)
        return len(self.values)

    def filled(self, given: Mapping[str, int]) -> arrow.Portion:
        """The same with what fills columns that are not in the values: their places among (time, key, key, ...)."""
        known = (self.time, *self.key)
        return self.values, {name: known[place] for name, place in given.items()}

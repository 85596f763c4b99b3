"""Results of streams on the executors, on their way to Spark."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from pullstream import Batch, PullstreamError

from ... import arrow


class RowError(PullstreamError, ValueError):
    """A value emitted by a stream on the executors is not a row of its schema."""


@attrs.frozen
class Answer:
    """Values of one answer, with their time or, if it is `timed`, each its own, and the key whose stream gave them."""

    values: Sequence[Any]
    time: Any = 0
    key: tuple[Any, ...] = ()
    timed: bool = False

    @property
    def rows(self) -> int:
        """The number of rows they will be."""
        if not isinstance(self.values, arrow.ArrowRows) and hasattr(self.values[0], "num_rows"):
            return sum(getattr(value, "num_rows", 1) for value in self.values)
        return len(self.values)

    def filled(self, given: Mapping[str, int]) -> Iterator[arrow.Portion]:
        """The same with what fills columns that are not in the values: their places among (time, key, key, ...)."""
        if not self.timed:
            yield self._filled(self.values, self.time, given)
        elif 0 not in given.values():
            yield self._filled(self.values, None, given)
        else:
            for run in Batch.of(self.time, self.values).runs():
                yield self._filled(run.values, run.time, given)

    def _filled(self, values: Sequence[Any], time: Any, given: Mapping[str, int]) -> arrow.Portion:
        known = (time, *self.key)
        return values, {name: known[place] for name, place in given.items()}

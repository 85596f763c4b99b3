"""Results of streams on the executors, on their way to Spark."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from pullstream import Batch, PullstreamError

from ... import arrow


class RowError(PullstreamError, ValueError):
    """A value emitted by a stream on the executors is not a row of its schema."""


@attrs.frozen
class KeyAnswer:
    """The values of one answer, with their times, and the key whose stream gave them."""

    batch: Batch[Any]
    key: tuple[Any, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows they will be."""
        values = self.batch.values
        if not isinstance(values, arrow.ArrowRows) and hasattr(values[0], "num_rows"):
            return sum(getattr(value, "num_rows", 1) for value in values)
        return len(values)

    def filled(self, given: Mapping[str, int]) -> Iterator[arrow.Portion]:
        """The same with what fills columns that are not in the values: their places among (time, key, key, ...)."""
        if 0 in given.values():
            for run in self.batch.runs():
                yield self._filled(run.values, run.time, given)
        else:
            yield self._filled(self.batch.values, None, given)

    def _filled(self, values: Sequence[Any], time: Any, given: Mapping[str, int]) -> arrow.Portion:
        known = (time, *self.key)
        return values, {name: known[place] for name, place in given.items()}

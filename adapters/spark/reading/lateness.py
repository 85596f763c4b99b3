"""Rows that are not sorted by time: how long times stay open, and what happens to late rows."""

from bisect import bisect_left
from typing import Any

import attrs

from pullstream import Batch, Sink
from pullstream.authoring import Ascending, Location, SideBranch
from pullstream.errors import CapabilityError


@attrs.frozen
class _Late:
    """Marks a value for the sink of late values."""

    value: Any


class Lateness:
    """Tracks the earliest time that may still arrive: the latest time so far, minus the lateness."""

    def __init__(self, lateness: Any, late: object, location: Location) -> None:
        self._lateness = lateness
        self._late = late
        self._location = location
        self._latest: Any = None
        self._least: Any = None

    def admitted(self, batch: Batch[Any]) -> Batch[Any] | None:
        """Return the values of a batch that are not late, in order of time; None if there are none.

        Raises:
            CapabilityError: a value is late, and the policy is "error".
        """
        times, values = batch.times, batch.values
        count = 0 if self._latest is None else bisect_left(times, self._least)
        if not count:
            return batch
        if self._late == "error":
            raise CapabilityError(
                f"{self._location} got a value that is too late: {values[0]!r} is at {times[0]!r}, after "
                f"{self._latest!r} arrived, and may be at most {self._lateness!r} behind. Allow more lateness, or "
                f'set late="drop" or late= a sink for such values'
            )
        if self._late == "drop":
            self._location.skipped += count
            return batch.part(count) if count < len(values) else None
        marks = map(_Late, values[:count])
        return Batch.of(Ascending([self._least] * count + list(times[count:])), [*marks, *values[count:]])

    def passed(self, time: Any) -> None:
        """Note the latest time of a batch, in the step in which it is delivered."""
        if self._latest is None or time > self._latest:
            self._latest, self._least = time, time - self._lateness
            self._location.advance(self._least)


def aside(sink: Sink[Any, Any]) -> SideBranch:
    """Make the module that passes late values to their sink."""
    return SideBranch(sink, _Late, _value)


def _value(late: _Late) -> Any:
    return late.value

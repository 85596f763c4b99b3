"""The least times of values that are dealt with one after another: what counts of them, as nothing else can hold up."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, cast

from timely import less_equal
from timely.order import Ascending, in_one_order, minimal


class Minima:
    """The least of some times, from each of their places on.

    >>> minima = Minima([2, 1, 3])
    >>> minima.at(0), minima.at(2), minima.at(3)
    ([1], [3], [])

    Times without a common order are compared here, and nowhere later: what that raises leaves nothing half done.
    """

    __slots__ = ("_from", "_times")

    def __init__(self, times: Sequence[Any]) -> None:
        self._times = times
        self._from: list[list[Any]] | None = (
            None if isinstance(times, Ascending) or in_one_order(times) else _in_no_order(times)
        )

    def at(self, start: int) -> Sequence[Any]:
        """The least of the times from `start` on."""
        if self._from is None:
            if isinstance(self._times, Ascending):
                return self._times[start : start + 1]
            if not start:
                # Most batches are dealt with whole.
                return [cast("Any", min)(self._times)]
            self._from = [[time] for time in accumulate(reversed(self._times), cast("Any", min))]
            self._from.reverse()
        return self._from[start] if start < len(self._from) else []


def _in_no_order(times: Sequence[Any]) -> list[list[Any]]:
    found: list[list[Any]] = []
    later: list[Any] = []
    for time in reversed(times):
        if len(later) == 1 and less_equal(time, later[0]):
            later = [time]
        elif not (len(later) == 1 and less_equal(later[0], time)):
            later = minimal([time, *later])
        found.append(later)
    found.reverse()
    return found

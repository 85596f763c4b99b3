"""The minimal times of the values still to be processed; only these hold a frontier back."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, cast

from pullstream.protocol import Batch
from pullstream.timely import less_equal
from pullstream.timely.order import Ascending


class Minima:
    """The minimal times of a batch, from each position on.

    >>> minima = Minima(Batch.of([2, 2, 1, 3], "abcd"))
    >>> minima.at(0), minima.at(3), minima.at(4)
    ([1], [3], [])

    Times without a common order fail in `__init__`, and not later: the exception then leaves nothing half done.
    """

    __slots__ = ("_at", "_freed", "_from", "_heads", "_least", "_starts", "_times")

    def __init__(self, batch: Batch[Any]) -> None:
        self._times: Sequence[Any] = batch.times
        self._from: list[Any] | None = None
        self._freed: list[Sequence[int] | None] | None = None
        """For times in no common order: for each run, the later runs that become minimal once it is done.

        None if the run's own time is not minimal.
        """
        if not isinstance(self._times, Ascending):
            # The time of each run counts once: most batches have far fewer runs than values.
            self._starts = [0, *batch.changes]
            self._heads = [self._times[start] for start in self._starts]
            if not batch.in_one_order:
                self._at = 0
                self._least, self._freed = _in_no_order(self._heads)

    def at(self, start: int) -> Sequence[Any]:
        """The minimal times from position `start` on; call it with ascending positions."""
        if start >= len(self._times):
            return []
        if isinstance(self._times, Ascending):
            return self._times[start : start + 1]
        run = bisect_right(self._starts, start) - 1
        if self._freed is not None:
            return self._advance(run, self._freed)
        if self._from is None:
            if not run:
                # Most batches are processed whole.
                return [cast("Any", min)(self._heads)]
            self._from = list(accumulate(reversed(self._heads), cast("Any", min)))
            self._from.reverse()
        return [self._from[run]]

    def _advance(self, run: int, freed: list[Sequence[int] | None]) -> list[Any]:
        """Advance run by run; only changes are stored, because storing the minima of each would take too much."""
        least = self._least
        for place in range(self._at, run):
            instead = freed[place]
            if instead is not None:
                del least[place]
                least.update((other, self._heads[other]) for other in instead)
        self._at = run
        return [least[place] for place in sorted(least)]


def _in_no_order(times: Sequence[Any]) -> tuple[dict[int, Any], list[Sequence[int] | None]]:
    """The minimal times, by position; and for each position those that its time keeps from being minimal after it.

    The minima from one position on are mutually incomparable, so a time is compared only with these.
    """
    least: dict[int, Any] = {}
    freed: list[Sequence[int] | None] = [None] * len(times)
    for place in range(len(times) - 1, -1, -1):
        time = times[place]
        for other in least.values():
            if less_equal(other, time):
                break
        else:
            after = [other for other, later in least.items() if less_equal(time, later)]
            for other in after:
                del least[other]
            least[place] = time
            freed[place] = after
    return least, freed

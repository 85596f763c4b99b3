"""The rest of an answer of many times: a lane gives it out one time after another, and has all of it in flight."""

from collections.abc import Hashable, Sequence
from itertools import accumulate
from typing import Any, cast

from pullstream.engine.sidecar.location import Counts, Port, Stamp
from pullstream.protocol import Batch, TimedBatch
from timely.order import in_one_order, minimal


class Rest:
    """Values that an answer has brought, each at its time, and that have not been given out; all are in flight.

    Of what is left the least times count, no others: while it is whole the rest cannot hold up more. With `whole` all
    values have been given out already, and what counts here are their least times but the first, until `drop`.
    """

    __slots__ = ("_at", "_batch", "_counts", "_least", "_port", "_stamps")

    def __init__(self, counts: Counts, port: Port, batch: TimedBatch[Any], *, whole: bool = False) -> None:
        self._counts, self._port = counts, port
        self._batch = batch
        self._stamps: list[Stamp] = []
        times = batch.times
        self._at = len(times) if whole else 0
        self._least: list[list[Any]] = []
        """For every place in the batch the least times from there on, worked out at once, from the back.

        Times are compared here, and nowhere later: what that raises leaves nothing half done.
        """
        if whole:
            self._place(minimal(times)[1:])
            return
        if in_one_order(times):
            self._least = [[time] for time in accumulate(reversed(times), cast("Any", min))]
        else:
            later: list[Any] = []
            for time in reversed(times):
                later = minimal([time, *later])
                self._least.append(later)
        self._least.reverse()
        self._place(self._least[0])

    @property
    def left(self) -> bool:
        """Whether there are values left."""
        return self._at < len(self._least)

    def take(self, limit: int) -> Batch[Any]:
        """The next values, at most `limit`, all at one time; then `move`, once those are counted elsewhere."""
        start, times = self._at, self._batch.times
        time = times[start]
        stop, last = start + 1, min(len(times), start + limit)
        while stop < last and ((other := times[stop]) is time or other == time):
            stop += 1
        self._at = stop
        return Batch(time, self._batch.values[start:stop])

    def move(self) -> None:
        """Count what is left, and nothing else."""
        if self.left:
            self._place(self._least[self._at])
        else:
            self.drop()

    def covers(self, time: Hashable) -> bool:
        """Whether what is counted here gives the right to speak at a time."""
        return any(stamp.covers(time) for stamp in self._stamps)

    def drop(self) -> None:
        """Count nothing any more."""
        self._place(())

    def _place(self, times: Sequence[Any]) -> None:
        stamps = self._stamps
        while len(stamps) < len(times):
            stamps.append(Stamp(self._counts, self._port))
        for stamp, time in zip(stamps, times, strict=False):
            stamp.stamp(time)
        for stamp in stamps[len(times) :]:
            stamp.live = False

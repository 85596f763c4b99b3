"""Values in flight at many times: what is left of an answer that is given out one time after another."""

from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import Any

from pullstream.engine.sidecar.location import Counts, Port, Stamp
from pullstream.engine.sidecar.minima import Minima
from pullstream.protocol import Batch, TimedBatch


class Least:
    """The least times of some values in flight at an input, a stamp for each; what comes later they hold up as well."""

    __slots__ = ("_counts", "_port", "_stamps", "times")

    def __init__(self, counts: Counts, port: Port) -> None:
        self._counts, self._port = counts, port
        self._stamps: list[Stamp] = []
        self.times: Sequence[Hashable] = ()
        """All the times of the batch that those values are of, where it was handed over whole."""

    def count(self, times: Sequence[Any]) -> None:
        """Count these times, and no others."""
        if len(times) > 1 < len(self._stamps):
            # Each keeps its time, as few of thousands change. A stamp that counts no more may have a live one's time.
            known = {stamp.stamped: stamp for stamp in self._stamps if stamp.live}
            spare = [stamp for stamp in self._stamps if not stamp.live]
            kept = [known.pop(time, None) for time in times]
            spare += known.values()
            new = (spare.pop() if spare else Stamp(self._counts, self._port) for _ in repeat(None))
            self._stamps = [stamp or next(new) for stamp in kept] + spare
        stamps = self._stamps
        while len(stamps) < len(times):
            stamps.append(Stamp(self._counts, self._port))
        for stamp, time in zip(stamps, times, strict=False):
            stamp.stamp(time)
        for stamp in stamps[len(times) :]:
            if stamp.live:
                stamp.acknowledge()

    def covers(self, time: Hashable) -> bool:
        """Whether one of them gives the right to speak at a time."""
        return any(stamp.covers(time) for stamp in self._stamps)


class Rest:
    """The values of an answer, each at its time, that no lane has been given yet; all are in flight.

    It is the edge's, whichever lane the answer came to: lanes are served in the order in which they ask (R4), and one
    that was taken for a single ask takes nothing with it.
    """

    __slots__ = ("_at", "_batch", "_in_flight", "_minima")

    def __init__(self, counts: Counts, port: Port, batch: TimedBatch[Any]) -> None:
        self._batch = batch
        self._at = 0
        self._in_flight = Least(counts, port)
        self._minima = Minima(batch.times)

    @property
    def times(self) -> Sequence[Hashable]:
        """The least times of what is left."""
        return self._minima.at(self._at)

    def take(self, limit: int) -> Batch[Any]:
        """The next values, at most `limit`, all at one time; then `count`, once those are counted elsewhere."""
        start, times = self._at, self._batch.times
        time = times[start]
        stop, last = start + 1, min(len(times), start + limit)
        while stop < last and ((other := times[stop]) is time or other == time):
            stop += 1
        self._at = stop
        return Batch(time, self._batch.values[start:stop])

    def count(self) -> bool:
        """Count what is left, and nothing else; False if that is nothing."""
        times = self.times
        self._in_flight.count(times)
        return bool(times)

    def drop(self) -> None:
        """Count nothing any more."""
        self._in_flight.count(())

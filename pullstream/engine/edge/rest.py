"""The rest of a multi-time answer that is given out one time after another; all its values are in flight."""

from collections.abc import Hashable, Sequence
from itertools import repeat
from typing import Any

from pullstream.engine.sidecar.location import Counts, Port, Stamp
from pullstream.engine.sidecar.minima import Minima
from pullstream.protocol import Batch, TimedBatch


class Least:
    """The minimal times of some values in flight at an input, one stamp each; they hold back the later times too."""

    __slots__ = ("_counts", "_port", "_stamps", "times")

    def __init__(self, counts: Counts, port: Port) -> None:
        self._counts, self._port = counts, port
        self._stamps: list[Stamp] = []
        self.times: Sequence[Hashable] = ()
        """All the times of the batch in flight, if it was handed over whole."""

    def count(self, times: Sequence[Any]) -> None:
        """Count exactly these times."""
        if len(times) > 1 < len(self._stamps):
            # Stamps keep their times, as few of thousands change. A dead stamp may have the same time as a live one.
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
        """Whether one of the stamps gives the right to answer at a time."""
        return any(stamp.covers(time) for stamp in self._stamps)


class Rest:
    """The values of a multi-time answer that no lane has been given yet; all are in flight.

    The rest belongs to the edge, whichever lane asked for the answer: lanes are served in the order in which they ask
    (R4), and a lane taken for a single ask must not take the rest with it.
    """

    __slots__ = ("_at", "_batch", "_in_flight", "_minima")

    def __init__(self, counts: Counts, port: Port, batch: TimedBatch[Any]) -> None:
        self._batch = batch
        self._at = 0
        self._in_flight = Least(counts, port)
        self._minima = Minima(batch.times)

    @property
    def times(self) -> Sequence[Hashable]:
        """The minimal times of the values left."""
        return self._minima.at(self._at)

    def take(self, limit: int) -> Batch[Any]:
        """Take the next values, at most `limit`, all at one time. Call `count` once those are counted elsewhere."""
        start, times = self._at, self._batch.times
        time = times[start]
        stop, last = start + 1, min(len(times), start + limit)
        while stop < last and ((other := times[stop]) is time or other == time):
            stop += 1
        self._at = stop
        return Batch(time, self._batch.values[start:stop])

    def count(self) -> bool:
        """Count exactly the values left; False if there are none."""
        times = self.times
        self._in_flight.count(times)
        return bool(times)

    def drop(self) -> None:
        """Count nothing any more."""
        self._in_flight.count(())

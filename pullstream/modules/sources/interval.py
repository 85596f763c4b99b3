"""`interval`: ticks of trio's clock."""

import math
from collections.abc import Callable, Hashable
from typing import Any

import trio
from typing_extensions import override

from pullstream.blueprint import Seconds, Source, TimeOf
from pullstream.decorators import opens, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.traits import Traits
from pullstream.modules.sources.batcher import stamped
from pullstream.protocol import Batch, Done


class _Interval(Kernel[int]):
    traits = Traits(trusted=True)

    def __init__(self, seconds: float, time: Callable[[Any], Hashable] | None = None) -> None:
        self._seconds = seconds
        self._time = time
        self._ticks = 0
        self._multiple = 0

    @override
    async def acquire(self) -> None:
        self._began = trio.current_time()

    @override
    async def produce(self, limit: int) -> Batch[int] | Done:
        # The next multiple, or a later one if there was no ask for a while.
        passed = (trio.current_time() - self._began) / self._seconds
        self._multiple = max(self._multiple + 1, math.ceil(passed))
        await trio.sleep_until(self._began + self._multiple * self._seconds)
        tick = self._ticks
        self._ticks += 1
        return Batch(stamped(tick, self._time), [tick])


@source
def interval(seconds: Seconds, *, time: TimeOf[int] = None) -> Source[int]:
    """Tick 0, 1, 2, ... every `seconds` of trio's clock, from the first ask on, forever.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.interval(0.001), ps.take(3), ps.collect()))
    [0, 1, 2]

    The first tick comes after `seconds`, and all ticks are at multiples of it, so they do not drift. A slow consumer
    gets no burst: without an ask there is no tick, and the next ask gets the next number at the next multiple. Ticks
    are at time 0, or at the times that `time` gives them.
    """
    return opens(_Interval(seconds, time))

"""A clock of the time that a trio program is busy: by it, and not by the wall's, a sink sets its pace."""

import sys
from time import monotonic, thread_time
from typing import Final, TypeAlias

import trio
from typing_extensions import override

Moment: TypeAlias = tuple[float, float]

NOTHING: Final = 0.001
"""The seconds that are not worth asking the system where they went."""

if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

    def _waits() -> int | None:
        """The number of times that this thread has waited, of its own accord."""
        return getrusage(RUSAGE_THREAD).ru_nvcsw

else:

    def _waits() -> int | None:
        """The system does not tell."""
        return None


class BusyClock(trio.abc.Instrument):
    """The clock of one trio program that stands still while every task waits.

    A function that sleeps, or waits for a disk, keeps all tasks from taking a step, and takes its time by this clock,
    whichever module calls it; a slow source that lets the others go on takes none.
    """

    def __init__(self) -> None:
        self._idle = 0.0
        self._since = 0.0
        self._waits = _waits()

    def now(self) -> Moment:
        """Seconds by this clock, and seconds of processor time."""
        return monotonic() - self._idle, thread_time()

    def since(self, moment: Moment) -> float:
        """Seconds that others have waited because of what was done since then."""
        now = self.now()
        busy, worked = now[0] - moment[0], now[1] - moment[1]
        # What is not processor time was slept through, or other programs had the processor; that is nobody's fault.
        return busy if busy - worked < NOTHING or self._slept() else worked

    def _slept(self) -> bool:
        """Whether this thread has waited for anything since this was last asked."""
        before, self._waits = self._waits, _waits()
        return before != self._waits or self._waits is None

    # ---- for trio

    @override
    def before_io_wait(self, timeout: float) -> None:
        if timeout:
            self._since = monotonic()

    @override
    def after_io_wait(self, timeout: float) -> None:
        if timeout:
            self._idle += monotonic() - self._since

"""A clock of the time that a trio program is busy, by which a `Pace` is set; waiting takes no time on it."""

import sys
from collections import deque
from time import monotonic, thread_time
from typing import Final, TypeAlias

import trio
from typing_extensions import override

Moment: TypeAlias = tuple[float, float]

LONG: Final = 0.002
"""The seconds that a round of turns takes at least to be remembered."""

FEW: Final = 32
"""The number of long rounds that are remembered."""

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
        self._worked = thread_time()
        """The processor time when it was last read: reading it in every round would cost too much."""
        self._round = monotonic()
        """The second of this clock at which the present round of turns began."""
        self._long: deque[tuple[float, float]] = deque(maxlen=FEW)
        """The last long rounds: when each ended, and how many seconds it took."""

    def now(self) -> Moment:
        """Seconds by this clock, and seconds of processor time."""
        self._worked = thread_time()
        return monotonic() - self._idle, self._worked

    def waited(self, moment: Moment, now: Moment) -> float:
        """The most seconds that others have waited for a turn since a moment, the present round included."""
        if moment[0] >= self._round:
            return self._spent(moment, now)
        longest = self._spent((self._round, moment[1]), now)
        for ended, seconds in reversed(self._long):
            if ended < moment[0]:
                break
            # What came before the moment in its own round does not count.
            longest = max(longest, min(seconds, ended - moment[0]))
        return longest

    def _spent(self, moment: Moment, now: Moment) -> float:
        """Seconds of work since a moment in the present round; its processor time may be an earlier one."""
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
        self._since = monotonic()
        if self._since - self._idle - self._round > LONG:
            spent = self._spent((self._round, self._worked), self.now())
            if spent > LONG:
                self._long.append((self._since - self._idle, spent))

    @override
    def after_io_wait(self, timeout: float) -> None:
        now = monotonic()
        self._idle += now - self._since
        self._round = now - self._idle

"""A clock of the time that a trio program is busy. A `Pace` uses it, because waiting takes no time on it."""

import sys
from collections import deque
from math import inf
from typing import Any, Final, TypeAlias

import attrs
import trio
from typing_extensions import override

from pullstream.engine.runtime import clocks

Moment: TypeAlias = tuple[float, float]

BREATH: Final = 0.005
"""The seconds that synchronous work may run before other tasks get a turn."""

LONG: Final = 0.002
"""The minimum duration, in seconds, of a scheduler round that is remembered."""

FEW: Final = 32
"""The number of long rounds to remember."""

NOTHING: Final = 0.001
"""A difference between busy and processor time, in seconds, too small to ask the system about."""

if sys.platform == "linux":
    from resource import RUSAGE_THREAD, getrusage

    def _waits() -> int | None:
        """The number of voluntary context switches of this thread."""
        return getrusage(RUSAGE_THREAD).ru_nvcsw

else:

    def _waits() -> int | None:
        """Return None, because the system does not count context switches."""
        return None


class BusyClock(trio.abc.Instrument):
    """The clock of one trio program. It stands still while every task waits.

    A function that sleeps, or waits for a disk, blocks all tasks, so its time counts on this clock, whichever module
    calls it. A slow source that awaits, so that other tasks can run, takes no time.
    """

    def __init__(self) -> None:
        self._idle = 0.0
        self._waking = _AfterWait(self)
        self._waits = _waits()
        self._found = -inf
        """The moment at which a sleep was last found."""
        self._worked = clocks.thread_time()
        """The processor time when it was last read: reading it in every round would cost too much."""
        self._round = clocks.monotonic()
        """The start of the current scheduler round, in seconds of this clock."""
        self.to_check: dict[Any, None] = {}
        """The things that `look` checks before the next round."""
        self._long: deque[tuple[float, float]] = deque(maxlen=FEW)
        """The last long rounds: the end of each on this clock, and its duration in seconds."""

    def now(self) -> Moment:
        """The time by this clock, and the processor time, in seconds."""
        self._worked = clocks.thread_time()
        return clocks.monotonic() - self._idle, self._worked

    def waited(self, moment: Moment, now: Moment) -> float:
        """The longest time in seconds that others have waited for a turn since `moment`, the current round included."""
        if moment[0] >= self._round:
            return self._spent(moment, now)
        longest = self._spent((self._round, moment[1]), now)
        for ended, seconds in reversed(self._long):
            if ended < moment[0]:
                break
            # In the round that contains the moment, only the time after it counts.
            longest = max(longest, min(seconds, ended - moment[0]))
        return longest

    def long_work(self, moment: Moment) -> tuple[float, float, float] | None:
        """The work since a moment, in the current round, if it keeps others waiting: its beginning, end and seconds."""
        began = max(moment, (self._round, moment[1]))
        if clocks.monotonic() - self._idle - began[0] <= 2 * BREATH:
            return None
        now = self.now()
        worked = self._spent(began, now)
        return (began[0], now[0], worked) if worked > 2 * BREATH else None

    def _spent(self, moment: Moment, now: Moment) -> float:
        """Seconds of work since a moment in the current round; its processor time may have been read earlier."""
        busy, worked = now[0] - moment[0], now[1] - moment[1]
        # The rest was spent asleep, or other programs had the processor; in that case it is not this program's work.
        return busy if busy - worked < NOTHING or self._slept(moment[0], now[0]) else worked

    def _slept(self, since: float, now: float) -> bool:
        """Whether this thread has slept since a moment; True if the system does not tell.

        A sleep that one caller finds must also count for callers whose moment is earlier.
        """
        before, self._waits = self._waits, _waits()
        if before != self._waits:
            self._found = now
        return self._waits is None or self._found > since

    def look(self) -> None:
        """Do nothing; `Rounds`, which adds to `to_check`, overrides it: a second hook would be a call in each round."""

    # ---- for trio

    @override
    def __dir__(self) -> list[str]:
        # Trio looks at every name listed here when the instrument is added, and each program adds one.
        return ["before_io_wait"]

    @override
    def before_io_wait(self, timeout: float) -> None:
        if self.to_check:
            self.look()
        now = clocks.monotonic()
        ended = now - self._idle
        if ended - self._round > LONG:
            spent = self._spent((self._round, self._worked), self.now())
            if spent > LONG:
                self._long.append((ended, spent))
        # Without a wait, the next round begins at once.
        self._round = ended
        if timeout > 0:
            trio.lowlevel.add_instrument(self._waking)

    def woke(self) -> None:
        """Note that the program has waited until now."""
        self._idle = clocks.monotonic() - self._round


@attrs.define(eq=False)
class _AfterWait(trio.abc.Instrument):
    """Notes when a program wakes. It is added for each wait, because most rounds wait for nothing."""

    clock: BusyClock

    @override
    def __dir__(self) -> list[str]:
        return ["after_io_wait"]

    @override
    def after_io_wait(self, timeout: float) -> None:
        trio.lowlevel.remove_instrument(self)
        self.clock.woke()

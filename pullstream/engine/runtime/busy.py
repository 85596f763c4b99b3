"""A clock of the time that a trio program is busy: by it, and not by the wall's, a sink sets its pace."""

from time import monotonic

import trio
from typing_extensions import override


class BusyClock(trio.abc.Instrument):
    """The clock of one trio program that stands still while every task waits.

    A function that sleeps, or waits for a disk, keeps all tasks from taking a step, and takes its time by this clock,
    whichever module calls it; a slow source that lets the others go on takes none.
    """

    def __init__(self) -> None:
        self._idle = 0.0
        self._since = 0.0

    def now(self) -> float:
        """Seconds, from some point on."""
        return monotonic() - self._idle

    # ---- for trio

    @override
    def before_io_wait(self, timeout: float) -> None:
        if timeout:
            self._since = monotonic()

    @override
    def after_io_wait(self, timeout: float) -> None:
        if timeout:
            self._idle += monotonic() - self._since

"""The kernel of modules that wait not only for their inputs, but also for other tasks or for the clock."""

from collections.abc import Callable
from math import inf

import trio
from typing_extensions import override

from pullstream.blueprint.variables import T
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.run import Run
from pullstream.engine.runtime.deadlock import Signal


class Alarm:
    """Calls a function at a moment of trio's clock. One task sleeps for it all the time, however often it is set."""

    __slots__ = ("_at", "_over", "_ring", "_run", "_sleep")

    def __init__(self, run: Run, ring: Callable[[], object]) -> None:
        self._run, self._ring = run, ring
        self._at = inf
        self._over = False
        self._sleep: trio.CancelScope | None = None
        run.spawn_watch(self._work)

    def set(self, moment: float) -> None:
        """Ring at a moment, instead of the one set before; infinity for never."""
        before, self._at = self._at, moment
        if (before < inf) != (moment < inf):
            self._run.detector.clock_set(ringing=moment < inf)
        if self._sleep is not None:
            self._sleep.deadline = moment

    def end(self) -> None:
        """Never ring again."""
        self.set(inf)
        self._over = True
        if self._sleep is not None:
            self._sleep.cancel()

    async def _work(self) -> None:
        while not self._over:
            with trio.CancelScope(deadline=self._at) as self._sleep:
                await trio.sleep_forever()
            if self._at <= trio.current_time():
                self.set(inf)
                self._ring()


class Waking(Kernel[T]):
    """A kernel that waits for a signal, which other tasks, the clock and the end of its stream set.

    A subclass that overrides `halt` must call the base method as well.
    """

    ended = False
    """Whether the stream has ended here: an answer that reaches a task now starts nothing new."""

    __wake: Callable[[], object] | None = None
    """Ends the wait. Its name is mangled, because a subclass may well have an attribute of that name."""
    __alarm: Alarm | None = None

    def awaited(self) -> Signal:
        """Make the signal to wait for next."""
        signal = self.run.signal()
        self.call_at_change(signal.set)
        return signal

    async def change(self, *, outside: bool = False) -> None:
        """Wait until `changed` is called; `outside`, if something outside the run may call it as well."""
        await self.awaited().wait(outside=outside)

    def call_at_change(self, wake: Callable[[], object] | None) -> None:
        """Make the next `changed` call a function, instead of the last one; None for none."""
        self.__wake = wake

    @property
    def attended(self) -> bool:
        """Whether the next `changed` calls a function."""
        return self.__wake is not None

    def changed(self) -> None:
        """End the wait, if there is one: the module checks again whether it can answer."""
        wake, self.__wake = self.__wake, None
        if wake is not None:
            wake()

    def change_at(self, moment: float) -> None:
        """Call `changed` at a moment of trio's clock, instead of the one given before; infinity for never."""
        if self.__alarm is None:
            self.__alarm = Alarm(self.run, self.changed)
        self.__alarm.set(moment)

    async def sleep_until(self, deadline: float) -> None:
        """Wait until a moment of trio's clock, or until `changed` is called."""
        with trio.move_on_at(deadline):
            change = self.awaited()
            self.edge.wake = change.set
            await change.wait(outside=True)

    @override
    def halt(self) -> None:
        # A task that was woken in this very step still runs once more, and must start nothing.
        self.ended = True
        if self.__alarm is not None:
            self.__alarm.end()
        self.changed()

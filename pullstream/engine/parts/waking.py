"""The kernel of modules that wait for what other tasks do, or for the clock, and not for their inputs alone."""

from collections.abc import Callable

import trio
from typing_extensions import TypeVar, override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.runtime.deadlock import Signal

T = TypeVar("T")


class Waking(Kernel[T]):
    """A kernel that waits for a signal, which other tasks and the end of its stream set.

    A subclass that overrides `halt` must call the base method as well.
    """

    __wake: Callable[[], object] | None = None
    """Ends the wait. Its name is mangled, because a subclass may well have an attribute of that name."""

    def awaited(self) -> Signal:
        """Make the signal to wait for next."""
        signal = self.run.signal()
        self.call_at_change(signal.set)
        return signal

    def call_at_change(self, wake: Callable[[], object]) -> None:
        """Let the next `changed` call a function, in place of the last one."""
        self.__wake = wake

    def changed(self) -> None:
        """End the wait, if there is one: the module looks again whether it can answer."""
        if self.__wake is not None:
            self.__wake()

    async def sleep_until(self, deadline: float) -> None:
        """Wait until a moment of trio's clock, or until `changed` is called."""
        with trio.move_on_at(deadline):
            await self.awaited().wait(outside=True)

    @override
    def halt(self) -> None:
        self.changed()

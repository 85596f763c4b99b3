"""Handles: a program uses them to control modules of open runs, or to put values into them."""

from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Any, Generic, NoReturn, cast
from weakref import ReferenceType, ref

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, OfOneRun, Site
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.waking import Waking
from pullstream.engine.run import Run
from pullstream.engine.runtime.blocked import running_program
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.traits import Traits
from pullstream.errors import PullstreamError, ReuseError
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely import BEGINNING, less_equal


def run_of(kernel: Kernel[Any] | None) -> Run | None:
    """The run of a kernel; None if it is not in one yet."""
    return getattr(kernel, "run", None)


K = TypeVar("K", bound=Kernel[Any], default=Kernel[Any])


class Held:
    """An object that a handle and its modules share. Errors name it and say where it was made; it is never pickled."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.site = Site.here()

    def __repr__(self) -> str:
        return "..."

    def __str__(self) -> str:
        return f"{self.name}, made at {self.site}"

    def check_thread(self, program: "trio.lowlevel.TrioToken | None", advice: str, *, waits: bool = False) -> None:
        """Refuse a call from another trio program than `program`, if there is one, or one that `waits` without any."""
        here = running_program()
        if (program is not None and here is not program) or (waits and here is None):
            raise PullstreamError(f"{self}, {advice}")

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self}, cannot be pickled: it is a handle, and belongs to one program")


class Grip(Held, OfOneRun, Generic[K]):
    """State that a handle and its kernel share; it belongs to one run at a time or, with `once`, to one run."""

    def __init__(self, name: str, *, once: bool = False) -> None:
        super().__init__(name)
        self._once = once
        self._kernel: ReferenceType[K] | None = None
        self._program: trio.lowlevel.TrioToken | None = None

    def attach(self, kernel: K) -> None:
        """Attach the kernel of a run; refused if another has not ended or, with `once`, if there ever was one."""
        if self._once and self.used:
            raise ReuseError(f"{self}, was opened a second time: it belongs to one run. Make another one")
        if self.alive() is not None:
            raise ReuseError(
                f"{self}, was opened a second time while it is in use: it belongs to one module of one run at a time. "
                f"Make another one"
            )
        self._kernel = ref(kernel)
        self._program = running_program()

    @override
    def give_back(self, run: object) -> None:
        if self._kernel is not None and run_of(self._kernel()) is run:
            self._kernel = None

    @property
    def used(self) -> bool:
        """Whether a run was ever opened with it."""
        return self._kernel is not None

    def alive(self) -> K | None:
        """The kernel of the open run, if there is one."""
        kernel = None if self._kernel is None else self._kernel()
        # A new kernel gets its edge a little later. A run that was refused when it was opened never ends its edges.
        if kernel is None or (hasattr(kernel, "edge") and (kernel.edge.over or kernel.run.halted)):
            return None
        return kernel

    @property
    def program(self) -> "trio.lowlevel.TrioToken | None":
        """The trio program of the open run."""
        return None if self.alive() is None else self._program

    def steer(self, function: Callable[[], None]) -> None:
        """Call a function in the run's own thread: at once if this is that thread, and otherwise soon."""
        if (program := self.program) in (None, running_program()):
            function()
        else:
            # A program that has finished has no run to steer.
            with suppress(trio.RunFinishedError):
                program.run_sync_soon(function)

    def wake(self) -> None:
        """Let the kernel, which is `Waking`, check again whether it can answer; any thread may call this."""
        self.steer(self._wake)

    def _wake(self) -> None:
        if isinstance(kernel := self.alive(), Waking):
            kernel.changed()


G = TypeVar("G", bound=Grip[Any])


class Handle(Blueprint, Generic[G]):
    """A module that is also a handle; the first argument of its last module is the grip."""

    @property
    def _grip(self) -> G:
        return cast("G", self.modules[-1].args[0])


class Stored:
    """Values that a handle has put in for a source. The source's capability follows these, not its answers."""

    def __init__(self) -> None:
        self.values = Backlog()
        """The values, and the ending."""
        self.last: Hashable = BEGINNING
        """The time before which nothing more will be put in."""
        self.kernel: Kernel[Any] | None = None
        self._changed: Signal | trio.Event = trio.Event()

    def put(self, time: Hashable, value: Any) -> None:
        """Put in a value."""
        self.values.put(Batch(time, [value]))
        self.advance(time)
        self._changed.set()

    def advance(self, time: Hashable) -> None:
        """Note that nothing before `time` will be put in."""
        if less_equal(self.last, time):
            self.last = time
        self.lower()

    def end(self, ending: Done | BaseException) -> None:
        """End after the values put in so far; the first ending counts (R3)."""
        self.values.end(ending)
        self.lower()
        self._changed.set()

    def lower(self) -> None:
        """Lower the source's capability to the first time that may still be emitted; at the end, drop it."""
        if self.kernel is None:
            return
        if self.values:
            self.kernel.location.advance(self.values.first)
        elif self.values.ending is DONE:
            self.kernel.location.drop_capability()
        else:
            self.kernel.location.advance(self.last)

    def forget(self) -> None:
        """Forget the run that has ended: a program may keep the handle, which would keep the whole run."""
        self.kernel, self._changed = None, trio.Event()

    async def change(self, kernel: Kernel[Any]) -> None:
        """Wait until something is put in."""
        self._changed = kernel.run.signal()
        await self._changed.wait(outside=True)


class StoredSource(Kernel[Any]):
    """A source of the values that a handle has put in."""

    traits = Traits(trusted=True, steered=True, follows=True)

    def __init__(self, stored: Stored) -> None:
        self.stored = stored

    @override
    def placed(self) -> None:
        self.stored.kernel = self
        self.scope.sidecar.at_start = (*self.scope.sidecar.at_start, self.stored.lower)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        stored = self.stored
        while (answer := stored.values.answer(limit)) is None:
            self.waits()
            await stored.change(self)
        if answer is not DONE:
            self.taken()
        # Lower it in the scheduler step in which the batch is in flight downstream: nothing earlier is left here.
        stored.lower()
        return answer

    def waits(self) -> None:
        """Note that there is nothing to emit."""

    def taken(self) -> None:
        """Note that values have been taken."""

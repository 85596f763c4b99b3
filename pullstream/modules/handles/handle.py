"""Handles: what a program keeps in its hand to steer a module of a run that is open."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn
from weakref import ReferenceType, ref

import trio

from pullstream.blueprint import OfOneRun, Site
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.runtime.blocked import running_program
from pullstream.errors import ReuseError


class Grip(OfOneRun):
    """The thing that a handle and its kernel share; it belongs to one run at a time, and stays in this process.

    With `once` it belongs to one run alone.
    """

    def __init__(self, name: str, site: Site, *, once: bool = False) -> None:
        self.name = name
        self.site = site
        self._once = once
        self._kernel: ReferenceType[Kernel[Any]] | None = None
        self._token: trio.lowlevel.TrioToken | None = None

    def __repr__(self) -> str:
        return "..."

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.name}, made at {self.site}, cannot be pickled: it is a handle, and belongs to one run")

    def attach(self, kernel: Kernel[Any]) -> None:
        """Attach the kernel of the run that is steered from now on.

        Raises:
            ReuseError: another one is, and has not ended; or was ever, if it is for one.
        """
        if self._once and self.used:
            raise ReuseError(
                f"{self.name}, made at {self.site}, was opened a second time: it belongs to one run, make another one"
            )
        if self.alive() is not None:
            raise ReuseError(
                f"{self.name}, made at {self.site}, was opened a second time while it is in use: it belongs to one "
                f"module of one run at a time, make another one",
            )
        self._kernel = ref(kernel)
        self._token = running_program()

    @property
    def used(self) -> bool:
        """Whether a run was ever opened with it."""
        return self._kernel is not None

    def alive(self) -> Kernel[Any] | None:
        """The kernel of the run that is open, if one is."""
        kernel = None if self._kernel is None else self._kernel()
        # A kernel that was made is connected a little later.
        if kernel is None or (hasattr(kernel, "edge") and kernel.edge.over):
            return None
        return kernel

    def elsewhere(self) -> "trio.lowlevel.TrioToken | None":
        """The program of the run that is open, if this is not its thread."""
        if self._token is None or self.alive() is None:
            return None
        return None if running_program() is self._token else self._token

    def steer(self, function: Callable[[], None]) -> None:
        """Call a function in the run's own thread: at once if this is it, and otherwise soon."""
        token = self.elsewhere()
        if token is None:
            function()
        else:
            # A program that has finished has no run that could be steered.
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(function)

"""Encoding in the background: one unit is encoded and written while the next is prepared."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import ParamSpec

from pullstream.authoring import start_in_thread

P = ParamSpec("P")


class WriteBehind:
    """A thread for one call at a time; an exception is raised by the next call, or by `done`."""

    def __init__(self) -> None:
        self._call: Future[object] | None = None

    def put(self, function: Callable[P, object], *args: P.args, **kwargs: P.kwargs) -> None:
        """Start a call after the previous one has ended."""
        self.done()
        self._call = start_in_thread(function, *args, **kwargs)

    def done(self) -> None:
        """Wait for the running call."""
        call, self._call = self._call, None
        if call is not None:
            call.result()

    def leave(self) -> None:
        """Wait for the running call and ignore its result."""
        call, self._call = self._call, None
        if call is not None:
            wait([call])

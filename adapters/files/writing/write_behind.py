"""Encoding one unit behind: the last is encoded and written while the next is got ready."""

from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import ParamSpec

from ..threads import start_in_thread

P = ParamSpec("P")


class WriteBehind:
    """A thread for one call at a time; what a call raises comes with the next, or with `done`."""

    def __init__(self) -> None:
        self._call: Future[None] | None = None

    def put(self, function: Callable[P, None], *args: P.args, **kwargs: P.kwargs) -> None:
        """Begin a call, when the last is over."""
        self.done()
        self._call = start_in_thread(function, *args, **kwargs)

    def done(self) -> None:
        """Wait for the call under way."""
        call, self._call = self._call, None
        if call is not None:
            call.result()

    def leave(self) -> None:
        """Wait for it, whatever becomes of it: nobody wants it any more."""
        call, self._call = self._call, None
        if call is not None:
            wait([call])

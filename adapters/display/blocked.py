"""Detection, from another thread, of a function that blocks the run's thread."""

import sys
import threading
from pathlib import Path
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pullstream.authoring import is_between

from .history import QUIET

if TYPE_CHECKING:
    from .history import History
    from .screens import Screen

LOOK = 1.0
"""The seconds between two checks."""


class Lookout:
    """Reports the current Python function when the display could not be updated for a while.

    All waits of a run are trio's, during which the display works. A function that computes, or waits in another way,
    blocks everything else.
    """

    def __init__(self, screen: "Screen", history: "History") -> None:
        self._screen = screen
        self._history = history
        self._watched = threading.get_ident()
        self._alive = monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="pullstream display", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def alive(self) -> None:
        """Note that the display was just updated."""
        self._alive = monotonic()

    def _look(self) -> None:
        while not self._over.wait(LOOK):
            seconds = monotonic() - self._alive
            where = self._where() if seconds >= QUIET else ""
            if where:
                self._screen.say(f"{where} has blocked the run for {seconds:.0f} s")

    def _where(self) -> str:
        """The innermost user function in the run's thread; empty if the run is waiting."""
        frame = sys._current_frames().get(self._watched)  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        innermost = frame
        while frame is not None:
            module = frame.f_globals.get("__name__", "")
            if frame is innermost and module.startswith("trio."):
                return ""
            if not is_between(module) and module.partition(".")[0] not in sys.stdlib_module_names:
                return f"{frame.f_code.co_qualname} ({Path(frame.f_code.co_filename).name}:{frame.f_lineno})"
            frame = frame.f_back
        return ""

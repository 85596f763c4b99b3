"""The task that samples a run several times a second and displays it."""

import sys
import threading
import warnings
from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from importlib import import_module
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Self

import trio
from typing_extensions import override

import pullstream as ps
from pullstream.authoring import Call, Count, function, is_between, of_extra, seconds

from .history import QUIET, History, of_time

if TYPE_CHECKING:
    from rich.console import Console

    from .screens import Screen

LOOK = 1.0
"""The seconds between two checks."""


class Lookout:
    """Reports the current Python function when the display could not be updated for a while.

    The display continues to work while the run waits in trio. A function that computes, or waits in another way, blocks
    everything else.
    """

    def __init__(self, screen: "Screen") -> None:
        self._screen = screen
        self._watched = threading.get_ident()
        self._alive = monotonic()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="pullstream display", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
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


REFRESH = 0.25
"""The seconds between two samples."""


class DisplayMissing(ps.PullstreamError, ImportError):
    """rich is not installed."""


def display(
    *,
    times: int | None = None,
    shown: Callable[[Hashable], str] = of_time,
    every: float = 10.0,
    console: "Console | None" = None,
) -> Callable[[ps.types.Running[Any]], Awaitable[None]]:
    """Show the progress of a run: `run(pipeline, beside=display())`, `pipeline.open(beside=display())`.

    >>> import sys, pullstream as ps
    >>> from rich.console import Console
    >>> shops = ps.pipe(ps.values(["tea", "rice", "salt"], time=len), ps.map(str.title), ps.collect())
    >>> ps.run(shops, beside=display(console=Console(file=sys.stdout, width=80)))  # doctest: +ELLIPSIS
    finished in 0:00:00 · 2 times done · 3 values, .../s
    module                in       out        /s   busy
    ...
    ['Tea', 'Rice', 'Salt']

    The first line shows the state of the run and its duration; the frontier at the sinks, that is, the earliest
    incomplete times; the number of complete times; and the number of values from the sources, with the current
    rate (at the end, the average). Each module has a row: values in and out, values per second, and the share
    of recent time in which it was busy, computing or waiting for the outside world. Below it is the module's own
    status, for example the file that it reads. After 5 s without any progress, a line says what the run waits for.

    `times` is the total number of times, if known; it adds a progress bar. `shown` formats a time. Without a terminal,
    a line is printed every `every` seconds, and the table at the end. `console` is a rich Console, by default on
    stderr, so that the program's own output can go elsewhere. On a terminal, Python's prints, warnings and logs appear
    above the display; the output of other processes (such as Java's logs) may garble a line.

    A program that uses rich itself should pass its own `console`: two separate consoles would overwrite each other.

    The display runs in the run's own thread. If the console can no longer be written to, or the display fails (with a
    `RuntimeWarning`), the display ends and the run continues.

    Raises:
        DisplayMissing: rich is not installed.
        CompositionError: an argument is invalid.
    """
    if times is not None:
        Count(1)(Call("display", name="times"), times)
    function(Call("display", name="shown"), shown)
    seconds(Call("display", name="every"), every)
    rich = of_extra("display", "rich.console", DisplayMissing)
    screens: Any = import_module(".screens", __package__)
    if console is not None and not isinstance(console, rich.Console):
        raise Call("display").refuse(
            f"needs a rich Console for its argument 'console', but got {console!r}: use "
            f"rich.console.Console(file=...) for a file"
        )
    screen_for = partial(screens.screen_for, console, every)
    return Display(_display, screen_for, partial(History, times=times, shown=shown))


class Display(partial[Awaitable[None]]):
    """A display, as messages show it."""

    instead_of_a_module: ClassVar = "it runs beside a pipeline: run(pipeline, beside=display())"

    @override
    def __repr__(self) -> str:
        return "display()"


async def _display(screen_for: Any, history: Callable[[Any], History], running: ps.types.Running[Any]) -> None:
    try:
        await _show(history(running), screen_for())
    except Exception as exc:  # noqa: BLE001 - reported, and no reason to end the run
        warnings.warn(f"the display failed, and the run continues without it: {exc!r}", RuntimeWarning, 2)


async def _show(history: History, screen: "Screen") -> None:
    with screen, Lookout(screen) as lookout:
        try:
            while not history.running.finished:
                history.look()
                screen.show(history)
                await trio.sleep(REFRESH)
                lookout.alive()
        finally:
            history.look()
            screen.show(history, last=True)

"""The task that looks at a run a few times a second, and shows what it sees."""

import warnings
from collections.abc import Awaitable, Callable, Hashable
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs
import trio

import pullstream as ps
from pullstream.authoring import Call, Count, Site, function, of_extra, seconds

from .blocked import Lookout
from .history import History
from .words import of_time

if TYPE_CHECKING:
    from rich.console import Console

    from .screens import Screen

REFRESH = 0.25
"""Seconds from one look to the next."""


class DisplayMissing(ps.PullstreamError, ImportError):
    """rich is not installed."""


def display(
    *,
    times: int | None = None,
    shown: Callable[[Hashable], str] = of_time,
    every: float = 10.0,
    console: "Console | None" = None,
) -> Callable[[ps.Running[Any]], Awaitable[None]]:
    """Show how a run is getting on: `run(pipeline, beside=display())`, `pipeline.open(beside=display())`.

    >>> import sys, pullstream as ps
    >>> from rich.console import Console
    >>> shops = ps.pipe(ps.values(["tea", "rice", "salt"], time=len), ps.map(str.title), ps.collect())
    >>> ps.run(shops, beside=display(console=Console(file=sys.stdout, width=80)))  # doctest: +ELLIPSIS
    finished in 0:00:00 · 2 times done · 3 values, .../s
    module                in       out        /s   busy
    ...
    ['Tea', 'Rice', 'Salt']

    The first line: how the run stands, for how long; the frontier at the sinks, the least times that are not complete
    yet; how many times are complete; how many values the sources have given, and how many a second of late (at the
    end, on average). Then a row a module: values in and out, values a second, and how much of late it was the one
    that was busy: it computed, or waited for the outside world. Below stands what a module says of itself, such as the
    file it reads. When nothing has moved for 5 s, a line says what it waits for.

    `times` is how many times there will be, where that is known: then there is a bar. `shown` gives a time's text.
    Where there is no terminal, a line comes `every` so many seconds, and the table at the end. `console` is a rich
    Console; without one it is stderr, so that what a program prints can go elsewhere. On a terminal, prints, warnings
    and logs of Python appear above the display; what another process writes there (Java's logs) spoils a line or two.

    A program that uses rich itself gives its own `console`, for two that know nothing of each other write over one
    another.

    It looks a few times a second, in the run's own thread. A run is worth more than its display: if the console can be
    written to no longer, or something fails in here (a `RuntimeWarning` says what), the display ends and the run goes
    on.

    Raises:
        DisplayMissing: rich is not installed.
        CompositionError: an argument is not what it should be.
    """
    if times is not None:
        Count(1)(Call("display", name="times"), times)
    function(Call("display", name="shown"), shown)
    seconds(Call("display", name="every"), every)
    rich = of_extra("display", "rich.console", DisplayMissing)
    screens: Any = import_module(".screens", __package__)
    if console is not None and not isinstance(console, rich.Console):
        raise ps.CompositionError(
            f"display() at {Site.here()} needs a rich Console as its console, and got {console!r}: "
            f"rich.console.Console(file=...) makes one of a file"
        )
    return Display(screens.screen_for, console, times, shown, every)


@attrs.frozen
class Display:
    """The display that `display()` gives; it can be used for any number of runs."""

    screen_for: "Callable[[Console | None, float], Screen]"
    console: "Console | None"
    times: int | None
    shown: Callable[[Hashable], str]
    every: float

    async def __call__(self, running: ps.Running[Any]) -> None:
        """Show `running` until it ends."""
        try:
            await self._show(running)
        except Exception as exc:  # noqa: BLE001 - told, and no reason to end the work of a night
            warnings.warn(f"the display has failed, and the run goes on without it: {exc!r}", RuntimeWarning, 2)

    async def _show(self, running: ps.Running[Any]) -> None:
        history = History(running, self.times, self.shown)
        screen = self.screen_for(self.console, self.every)
        with screen, Lookout(screen, history) as lookout:
            try:
                while not running.finished:
                    history.look()
                    screen.show(history)
                    await trio.sleep(REFRESH)
                    lookout.alive()
            finally:
                history.look()
                screen.end(history)

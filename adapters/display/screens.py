"""Screens: a terminal, a pipe or log, a notebook."""

import logging
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from functools import cache
from importlib import import_module
from io import StringIO
from threading import RLock
from typing import Any, Never, Self, TextIO

from rich.console import Console, Group
from rich.file_proxy import FileProxy
from rich.live import Live
from rich.text import Text
from typing_extensions import override

from .history import History
from .layout import headline, lines, quiet

WIDEST = 100
"""The maximum width of a line."""


class Screen(ABC):
    """A place that shows a run; it is skipped once writing to it has failed."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.failed = False
        self._last: list[Text] = []
        self._lock = RLock()
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._guarded(self._stack.close)

    def show(self, history: History, *, last: bool = False) -> None:
        """Show the state of the run; the `last` one stays."""
        self._guarded(self.draw, history, last)

    def say(self, text: str) -> None:
        """Print a line from another thread while the run's thread is busy."""
        self._guarded(self.interject, text)

    def _guarded(self, draw: Any, *what: Any) -> None:
        with self._lock:
            if self.failed:
                return
            # On a broken pipe, rich would discard the program's own output and exit.
            vars(self.console)["on_broken_pipe"] = _broken_pipe
            try:
                draw(*what)
            except OSError:
                # The run is more important than its display.
                self.failed = True
                with suppress(OSError):
                    self._stack.close()
            finally:
                vars(self.console).pop("on_broken_pipe", None)

    @property
    def width(self) -> int:
        """The width of a line in characters."""
        return min(self.console.width, WIDEST)

    def draw(self, history: History, last: bool) -> None:  # noqa: FBT001
        """Draw the state."""
        self._last = lines(history, self.width, 0 if last else self.height)
        self.put(self._last)

    def interject(self, text: str) -> None:
        """Print a line."""
        self.put([*self._last, Text(text, style="yellow")])

    @property
    def height(self) -> int:
        """The maximum number of lines to draw during the run; 0 for all."""
        return 0

    @abstractmethod
    def put(self, rows: list[Text]) -> None:
        """Show these lines; if possible, they replace the previous ones."""


class Terminal(Screen):
    """A live display below the program's output."""

    @override
    def __enter__(self) -> Self:
        self._guarded(self._begin)
        return self

    def _begin(self) -> None:
        # Output to a file or another program must not be redirected.
        self._live = Live(
            console=self.console,
            auto_refresh=False,
            redirect_stdout=_is_terminal(sys.stdout),
            redirect_stderr=_is_terminal(sys.stderr),
            vertical_overflow="crop",
        )
        before = sys.stdout, sys.stderr
        self._stack.enter_context(self._live)
        _redirect_logs(self._stack, dict(zip(before, (sys.stdout, sys.stderr), strict=True)))

    @property
    @override
    def height(self) -> int:
        return self.console.height

    @override
    def put(self, rows: list[Text]) -> None:
        self._live.update(_group(rows), refresh=True)


class Log(Screen):
    """A line from time to time, and the table at the end."""

    def __init__(self, console: Console, every: float) -> None:
        super().__init__(console)
        self._every = every
        self._next = every
        self._quiet = False

    @override
    def draw(self, history: History, last: bool) -> None:
        if last:
            self.put(lines(history, self.width))
            return
        silent = quiet(history)
        if silent and not self._quiet:
            self.put([Text(line) for line in silent])
        self._quiet = bool(silent)
        if history.seconds >= self._next:
            self._next = history.seconds + self._every
            self.put(headline(history))

    @override
    def put(self, rows: list[Text]) -> None:
        for row in rows:
            # Plain text: a dumb terminal must not get control codes here.
            text = row.plain.encode(self.console.encoding, "replace").decode(self.console.encoding)
            self.console.print(Text(text), soft_wrap=True, highlight=False)


class Notebook(Screen):
    """The output of a notebook cell, updated in place."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._handle: Any = None

    @override
    def put(self, rows: list[Text]) -> None:
        ipython: Any = import_module("IPython.display")
        page = Console(file=StringIO(), record=True, width=WIDEST, force_terminal=True, force_jupyter=False)
        page.print(_group(rows))
        html = page.export_html(inline_styles=True, code_format='<pre style="line-height: 1.2">{code}</pre>')
        data = {"text/html": html, "text/plain": "\n".join(row.plain for row in rows)}
        if self._handle is None:
            self._handle = ipython.display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def screen_for(console: Console | None, every: float) -> Screen:
    """The screen for the environment of the program."""
    console = console or _stderr()
    if console.is_jupyter:
        return Notebook(console)
    if console.is_terminal and not console.is_dumb_terminal:
        return Terminal(console)
    return Log(console, every)


@cache
def _stderr() -> Console:
    """The console that all displays share, so that several runs do not overwrite each other's lines."""
    return Console(stderr=True)


def _broken_pipe() -> Never:
    raise BrokenPipeError


def _group(rows: Iterable[Text]) -> Group:
    for row in rows:
        row.no_wrap = True
        row.overflow = "ellipsis"
    return Group(*rows)


def _is_terminal(stream: TextIO | Any) -> bool:
    return stream is not None and not isinstance(stream, FileProxy) and stream.isatty()


def _redirect_logs(stack: ExitStack, streams: dict[Any, Any]) -> None:
    """Make log handlers print above the display; each holds the stream that it was created with."""
    loggers = [logging.getLogger(), *logging.Logger.manager.loggerDict.values()]
    handlers: list[Any] = [handler for logger in loggers for handler in getattr(logger, "handlers", ())]
    for handler in handlers:
        stream = getattr(handler, "stream", None)
        if hasattr(handler, "setStream") and streams.get(stream, stream) is not stream:
            handler.setStream(streams[stream])
            stack.callback(handler.setStream, stream)

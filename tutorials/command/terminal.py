"""Output in colour on a terminal that supports it, plain elsewhere, and reading single keys."""

import os
import pydoc
import select
import shutil
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from typing import Final

COLOURS: Final = {"right": "32", "done": "32", "wrong": "31", "took": "31", "cannot": "33", "begun": "33"}
"""The colours of lines by their first word."""


def is_terminal() -> bool:
    """Whether the output goes to a terminal."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """Return the number of columns."""
    return max(20, shutil.get_terminal_size((100, 24)).columns)


def show(text: str) -> None:
    """Print text; colour the first word of a line if it is a status."""
    if is_terminal() and not os.environ.get("NO_COLOR"):
        text = "\n".join(map(_coloured, text.split("\n")))
    print(text)


def _coloured(line: str) -> str:
    word = line.split(maxsplit=1)[0].strip(":") if line.strip() else ""
    colour = COLOURS.get(word)
    return line if colour is None else line.replace(word, f"\x1b[1;{colour}m{word}\x1b[0m", 1)


def bar(done: int, of: int, columns: int) -> str:
    """Return a progress bar."""
    room = max(5, min(40, columns - 20))
    full = room * done // of
    return f"[{'#' * full}{'-' * (room - full)}] {done} of {of}"


def paged(tell: Callable[[], None]) -> None:
    """Print page by page on a terminal."""
    if not (is_terminal() and sys.stdin.isatty()):
        tell()
        return
    kept = StringIO()
    with redirect_stdout(kept):
        tell()
    pydoc.pager(kept.getvalue())


@contextmanager
def keys() -> Generator[Callable[[float], str]]:
    """Provide a function that waits up to some seconds for a key, and returns it, or an empty string.

    A key needs no Enter. The terminal's settings are restored in any case.
    """
    if not sys.stdin.isatty():
        yield _no_key
        return
    import termios  # noqa: PLC0415 - missing on Windows
    import tty  # noqa: PLC0415

    number = sys.stdin.fileno()
    before = termios.tcgetattr(number)
    try:
        tty.setcbreak(number)
        yield _key
    finally:
        termios.tcsetattr(number, termios.TCSADRAIN, before)


def _key(seconds: float) -> str:
    ready, _, _ = select.select([sys.stdin], [], [], seconds)
    return os.read(sys.stdin.fileno(), 1).decode(errors="ignore") if ready else ""


def _no_key(seconds: float) -> str:
    select.select([], [], [], seconds)
    return ""

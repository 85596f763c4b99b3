"""What is printed: in colour on a terminal that wants it, plain elsewhere; keys read one by one."""

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
"""Words by which a line is coloured, if it begins with one."""


def is_terminal() -> bool:
    """Whether somebody looks at what is printed."""
    return sys.stdout.isatty() and os.environ.get("TERM") != "dumb"


def width() -> int:
    """The columns that there are."""
    return max(20, shutil.get_terminal_size((100, 24)).columns)


def show(text: str) -> None:
    """Print, and colour the first word of a line where that says how it stands."""
    if is_terminal() and not os.environ.get("NO_COLOR"):
        text = "\n".join(map(_coloured, text.split("\n")))
    print(text)


def _coloured(line: str) -> str:
    word = line.split(maxsplit=1)[0].strip(":") if line.strip() else ""
    colour = COLOURS.get(word)
    return line if colour is None else line.replace(word, f"\x1b[1;{colour}m{word}\x1b[0m", 1)


def bar(done: int, of: int, columns: int) -> str:
    """How much is done, as a bar."""
    room = max(5, min(40, columns - 20))
    full = room * done // of
    return f"[{'#' * full}{'-' * (room - full)}] {done} of {of}"


def paged(tell: Callable[[], None]) -> None:
    """Print by pages, if somebody looks."""
    if not (is_terminal() and sys.stdin.isatty()):
        tell()
        return
    kept = StringIO()
    with redirect_stdout(kept):
        tell()
    pydoc.pager(kept.getvalue())


@contextmanager
def keys() -> Generator[Callable[[float], str]]:
    """A function that waits, for so many seconds at most, for a key, and gives it, or nothing.

    A key need not be followed by Enter. Whatever happens, the terminal is left as it was.
    """
    if not sys.stdin.isatty():
        yield _no_key
        return
    import termios  # noqa: PLC0415 - there is none on Windows
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

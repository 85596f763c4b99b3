"""Lines of the author's code: where a module, or a function in it, raised or is defined."""

import inspect
import os
import sysconfig
from pathlib import Path
from traceback import walk_tb
from typing import Any, Final

import trio

from pullstream.blueprint import Site
from pullstream.frames import OURS, chain, users_frames

_ROOT: Final = Path(__file__).parents[2]
_NOBODYS: Final = tuple(
    f"{folder}{os.sep}"
    for folder in (
        *(_ROOT / package for package in OURS),
        *(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib")),
        # trio may be elsewhere: on PYTHONPATH, or beside the author's files.
        Path(inspect.getfile(trio)).parent,
    )
)
"""Folders that contain no author's files: the toolkit's and the libraries'."""


def is_authors(filename: str) -> bool:
    """Whether a file may belong to the module's author: not to the toolkit or a library."""
    return not filename.startswith((*_NOBODYS, "<"))


def shown_place(filename: str, line: int) -> str:
    """Return a file and line for display: relative to the working directory if it is inside."""
    path = Path(filename)
    here = Path.cwd()
    return f"{path.relative_to(here) if path.is_relative_to(here) else path}:{line}"


def place_of(exc: BaseException) -> str | None:
    """Return the innermost line of the author's code at which an exception, or its cause, was raised."""
    for each in chain(exc):
        found: str | None = None
        for frame, line in walk_tb(users_frames(each.__traceback__)):
            if is_authors(frame.f_code.co_filename):
                found = shown_place(frame.f_code.co_filename, line)
        if found is not None:
            return found
    return None


def defined(function: Any) -> Site | None:
    """Return the line where a function is defined, because the line that composes its module is inside the kit."""
    function = inspect.unwrap(function)
    try:
        filename, (_, line) = inspect.getsourcefile(function), inspect.getsourcelines(function)
    except (OSError, TypeError):
        return None
    return None if filename is None else Site(filename, line)

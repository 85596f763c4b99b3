"""Refusals of a file system, in words that name the module and its target."""

from collections.abc import Generator
from contextlib import contextmanager
from errno import (
    EACCES,
    EDQUOT,
    EEXIST,
    EISDIR,
    ENAMETOOLONG,
    ENOENT,
    ENOSPC,
    ENOTDIR,
    EPERM,
    EROFS,
)  # fmt: skip
from typing import Final

_IN_THE_WAY = "give another target, or move away what is in the way"
_NOT_THERE = "the disk, folder or bucket that it would be in is not there, or does not stay"
_NOT_ALLOWED = "write where this user may, or change the permissions"
_NO_ROOM = "make room there, or write somewhere else"

_ADVICE: Final = {
    EEXIST: _IN_THE_WAY, ENOTDIR: _IN_THE_WAY, EISDIR: _IN_THE_WAY, ENOENT: _NOT_THERE,
    EACCES: _NOT_ALLOWED, EPERM: _NOT_ALLOWED, EROFS: _NOT_ALLOWED, ENOSPC: _NO_ROOM, EDQUOT: _NO_ROOM,
    ENAMETOOLONG: "give a target, times and keys whose names are shorter",
}  # fmt: skip

_NUMBERS: Final = ((FileNotFoundError, ENOENT), (PermissionError, EACCES), (FileExistsError, EEXIST))
"""The numbers of errors of fsspec's file systems, which have none."""


@contextmanager
def explained(what: str) -> Generator[None]:
    """Let an OSError say also what could not be done, and what to do about it; it stays the exception that it is."""
    try:
        yield
    except OSError as exc:
        number = exc.errno or next((number for kind, number in _NUMBERS if isinstance(exc, kind)), None)
        # TLS and name servers have numbers of their own for what goes wrong, which mean something else.
        ours = number is not None and isinstance(exc, type(OSError(number, "")))
        advice = f"; {_ADVICE[number]}" if ours and number in _ADVICE else ""
        if exc.errno is None:
            exc.args = (f"{str(exc) or type(exc).__name__}, so {what}{advice}",)
        else:
            exc.strerror = f"{exc.strerror}, so {what}{advice}"
            exc.args = (exc.errno, exc.strerror)
        raise

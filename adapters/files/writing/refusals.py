"""Errors of the writing sinks about their targets, and explanations of file system errors."""

import errno
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from pullstream import PullstreamError


class FileTargetError(PullstreamError):
    """A file cannot be written to its target."""


class FileBusyError(FileTargetError):
    """Another run, or another sink of this run, is writing to the same target."""


_IN_THE_WAY = "write to another target, or move the existing file or folder away"
_NOT_THERE = "its disk, folder or bucket does not exist, or was removed"
_NOT_ALLOWED = "write to a place where this user has permission, or change the permissions"
_NO_ROOM = "free some space, or write somewhere else"

_ADVICE: Final = {
    errno.EEXIST: _IN_THE_WAY, errno.ENOTDIR: _IN_THE_WAY, errno.EISDIR: _IN_THE_WAY, errno.ENOENT: _NOT_THERE,
    errno.EACCES: _NOT_ALLOWED, errno.EPERM: _NOT_ALLOWED, errno.EROFS: _NOT_ALLOWED,
    errno.ENOSPC: _NO_ROOM, errno.EDQUOT: _NO_ROOM,
    errno.ENAMETOOLONG: "use a target, times and keys with shorter names",
}  # fmt: skip

_NUMBERS: Final = (
    (FileNotFoundError, errno.ENOENT), (PermissionError, errno.EACCES), (FileExistsError, errno.EEXIST),
)  # fmt: skip
"""Error numbers for exceptions of fsspec's file systems, which carry none."""


@contextmanager
def explained(what: str) -> Generator[None]:
    """Add to an OSError what failed because of it, and what to do; the exception keeps its type."""
    try:
        yield
    except OSError as exc:
        number = exc.errno or next((number for kind, number in _NUMBERS if isinstance(exc, kind)), None)
        # TLS and name servers use the same attribute for their own error numbers.
        ours = number is not None and isinstance(exc, type(OSError(number, "")))
        advice = f"; {_ADVICE[number]}" if ours and number in _ADVICE else ""
        if exc.errno is None:
            exc.args = (f"{str(exc) or type(exc).__name__}, so {what}{advice}",)
        else:
            exc.strerror = f"{exc.strerror}, so {what}{advice}"
            exc.args = (exc.errno, exc.strerror)
        raise

"""Digests of the ends of files, by which a journal detects changes that keep a file's size and time."""

import hashlib
import os
import stat
from typing import Final

from .listing import File, is_local

AT_AN_END: Final = 1 << 16
"""The number of bytes at each end; smaller files are digested as a whole."""


def ends_of(file: File) -> bytes | None:
    """A digest of a file's ends; None if the file is remote, missing or not a regular file."""
    if not is_local(file.fs):
        return None
    try:
        opened = os.open(file.key, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        # Reading the file will report the error.
        return None
    with open(opened, "rb", buffering=0) as raw:  # noqa: PTH123 - a file that is open already
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            return None
        digest = hashlib.sha256(raw.read(AT_AN_END))
        raw.seek(max(AT_AN_END, status.st_size - AT_AN_END))
        digest.update(raw.read(AT_AN_END))
    return digest.digest()[:16]

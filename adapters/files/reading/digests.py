"""The ends of a file, by which a journal knows that it has changed where its size and time have not."""

import hashlib
import os
import stat
from typing import Final

from .listing import File, is_local

AT_AN_END: Final = 1 << 16
"""The number of bytes of each end; smaller files are looked at whole."""


def ends_of(file: File) -> bytes | None:
    """A digest of a file's ends; None where that would be more than a look, or there is no file."""
    if not is_local(file.fs):
        return None
    try:
        opened = os.open(file.key, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        # Whoever reads it will say so.
        return None
    with open(opened, "rb", buffering=0) as raw:  # noqa: PTH123 - a file that is open already
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            return None
        digest = hashlib.sha256(raw.read(AT_AN_END))
        raw.seek(max(AT_AN_END, status.st_size - AT_AN_END))
        digest.update(raw.read(AT_AN_END))
    return digest.digest()[:16]

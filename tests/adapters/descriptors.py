"""The open descriptors of this process."""

from contextlib import suppress
from pathlib import Path


def opened():
    """The targets of its descriptors: paths, also of deleted files, `socket:[…]`, `pipe:[…]`."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(str(link.readlink()))
    return found


def opened_files():
    """The files among them."""
    return [name for name in opened() if name.startswith("/") and not name.startswith(("/dev/", "/proc/"))]

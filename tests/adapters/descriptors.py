"""What this process has open."""

from contextlib import suppress
from pathlib import Path


def opened():
    """What its descriptors lead to: paths, also of deleted files, `socket:[…]`, `pipe:[…]`."""
    found = []
    for link in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            found.append(str(link.readlink()))
    return found


def opened_files():
    """The files among them."""
    return [name for name in opened() if name.startswith("/") and not name.startswith(("/dev/", "/proc/"))]

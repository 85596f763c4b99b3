"""What the tests of writing share."""

import os
import threading
from pathlib import Path

import pullstream as ps


def content(folder):
    """Every file below a folder, hidden ones too, and what is in it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def visible(folder):
    """Every file that a reader would look at. Hidden ones are not opened: they may go while one looks."""
    seen = {}
    for inside, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(inside, name) for name in names if not name.startswith(".")):
            seen[str(path.relative_to(folder))] = path.read_bytes()
    return seen


def left_behind():
    """Descriptors and threads of this process, to be compared with those of before.

    Sockets are left out: writing files opens none, and those of a Spark session that other tests keep come and go; so
    are pools of threads, of which the same is true.
    """
    names_of_others = ("Trio thread", "ThreadPoolExecutor-")
    threads = {thread.name for thread in threading.enumerate() if not thread.name.startswith(names_of_others)}
    names = list(Path("/proc/self/fd").iterdir())
    # The one by which they are listed is gone.
    opened = [os.readlink(name) for name in names if os.path.lexists(name)]  # noqa: PTH115 - pipes, too
    return sorted(name for name in opened if not name.startswith("socket:")), threads


def written(values, write, limit=4096, time=None):
    """The result of writing."""
    return ps.run(ps.pipe(ps.values(values, time=time), write), limit=limit)

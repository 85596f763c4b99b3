"""Functions for all tests of writing."""

import os
import threading
from pathlib import Path

import pytest

import pullstream as ps
from tests.adapters.descriptors import opened
from tests.programs import wait


def content(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


def visible(folder):
    """All files that a reader would find. Hidden files are not opened, because they may disappear meanwhile."""
    seen = {}
    for inside, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for path in (Path(inside, name) for name in names if not name.startswith(".")):
            seen[str(path.relative_to(folder))] = path.read_bytes()
    return seen


def left_behind():
    """Descriptors and threads of this process, for comparison.

    Sockets are omitted, because writing files opens none, but a Spark session of other tests may. Thread pools are
    omitted for the same reason.
    """
    descriptors = sorted(name for name in opened() if not name.startswith(("socket:", "/proc/")))
    # A thread becomes one of trio's idle threads again a moment after it delivers its result.
    wait(lambda: any(thread.name == "pullstream work" for thread in threading.enumerate()))
    names_of_others = ("Trio thread", "ThreadPoolExecutor-")
    threads = {thread.name for thread in threading.enumerate() if not thread.name.startswith(names_of_others)}
    return descriptors, threads


def written(values, write, limit=4096, time=None):
    return ps.run(ps.pipe(ps.values(values, time=time), write), limit=limit)


def fails_once(at):
    """A transformer that fails at a value, but only the first time."""
    left = [at]

    def check(value):
        if value in left:
            left.clear()
            raise ZeroDivisionError

    return ps.tap(check)


def stopped(pipeline, journal):
    with pytest.raises(ZeroDivisionError):
        ps.run(pipeline, journal=journal, limit=1)

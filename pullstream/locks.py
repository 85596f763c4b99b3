"""Locks on files: the system releases them when the process ends, for any reason."""

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

_LOCKED: Final[set[int]] = set()
"""The descriptors of files that are locked, or about to be."""


def lock(file: int) -> None:
    """Lock a file until it is closed, or raise BlockingIOError; does nothing without flock (Windows)."""
    if os.name == "posix":
        fcntl: Any = import_module("fcntl")
        # Added before locking, because another thread may fork in between.
        _LOCKED.add(file)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def locked(begin: Callable[[], int], status: Callable[[], os.stat_result]) -> int:
    """Open a file with `begin` and lock it, or raise BlockingIOError; retries if it is removed or replaced meanwhile.

    `status` returns the status of the file that has the name now.
    """
    while True:
        file = begin()
        try:
            lock(file)
            if os.path.samestat(os.fstat(file), status()):
                return file
        except FileNotFoundError:
            pass
        except BaseException:
            close_locked(file)
            raise
        close_locked(file)


def close_locked(file: int) -> None:
    """Close a file that may be locked, or that `lock` has refused."""
    if file in _LOCKED:
        # A child forked before `lock` added the file, or after the next line, has a copy, which would keep the lock.
        fcntl: Any = import_module("fcntl")
        fcntl.flock(file, fcntl.LOCK_UN)
        _LOCKED.discard(file)
    os.close(file)


def _forked() -> None:
    """Give up all locks in a forked child: it takes no part in the run, and would keep them if its parent died."""
    if _LOCKED:
        nothing = os.open(os.devnull, os.O_RDWR)
        for file in _LOCKED:
            # Not closed: the number could be reused for another file, which code of the run would then close.
            os.dup2(nothing, file, inheritable=False)
        os.close(nothing)
        _LOCKED.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

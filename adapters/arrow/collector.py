"""Control of Python's cyclic garbage collector while many rows are made."""

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_lock: Final = threading.Lock()
_makers: Final[set[object]] = set()
_found = False
"""Whether the collector was enabled when the first of the current users began."""


@contextmanager
def between_its_rounds() -> Generator[None]:
    """Disable the garbage collector in a block, or in several at once in threads; the last to end restores it.

    The collector tracks rows as long as they could be part of a cycle. Ten thousands of new rows would survive several
    collections and so trigger full ones again and again, which costs more than making the named tuples. With the
    collector off, most rows are freed before the next collection.
    """
    global _found  # noqa: PLW0603 - there is one collector per process
    maker = object()
    try:
        # The lock keeps one user from enabling the collector between another's check and use.
        with _lock:
            if not _makers:
                _found = gc.isenabled()
            _makers.add(maker)
            gc.disable()
        yield
    finally:
        with _lock:
            _makers.discard(maker)
            if _found and not _makers:
                gc.enable()

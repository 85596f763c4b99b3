"""Python's cyclic collector, while rows are made by the ten thousand."""

import gc
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_lock: Final = threading.Lock()
_makers: Final[set[object]] = set()
_found = False
"""Whether the collector was at work when the first of those who make rows now began."""


@contextmanager
def between_its_rounds() -> Generator[None]:
    """Keep the collector still in a block, or in several in threads: the last one to end restores what was.

    It follows rows, as long as they may be in a circle. Made by the ten thousand, they survive so many of its rounds
    that it goes through all there is in the program, again and again, which costs more than twice what named tuples do.
    Made between two rounds, most are gone before it comes to them.
    """
    global _found  # noqa: PLW0603 - the collector is one for the process, too
    maker = object()
    try:
        # Under a lock, or one would find it waiting for another, who lets it go on before this one has it wait.
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

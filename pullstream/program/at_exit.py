"""Closes the streams that are open when the program ends, the latest first.

`atexit` keeps a place for each function that it was ever given, and passes over all of them to remove one. Therefore
one function closes all streams, and is removed only now and then. It is registered again for each stream: so it is
called before the functions that the program registered earlier, which may close things that the stream uses.
"""

import atexit
from collections.abc import Callable
from contextlib import ExitStack
from itertools import count
from typing import Final

MANY: Final = 1000
"""The number of streams after which the function is removed from `atexit`, which by then has it as often."""

_OPEN: dict[Callable[[], object], None] = {}
_OPENED = count(1)


def opened(close: Callable[[], object]) -> None:
    """Call `close` when the program ends, unless `closed` is called before."""
    _OPEN[close] = None
    if next(_OPENED) % MANY == 0:
        atexit.unregister(_close)
    atexit.register(_close)


def closed(close: Callable[[], object]) -> None:
    """Note that a stream has closed."""
    _OPEN.pop(close, None)


def _close() -> None:
    # Each is called, even if others fail.
    with ExitStack() as stack:
        for close in list(_OPEN):
            stack.callback(close)

"""The functions that close open streams when the program ends.

They are kept here, and `atexit` knows one function only. Each `atexit.unregister` passes over all functions that were
ever registered: with one per stream, the cost of a stream would grow with the number of streams before it.
"""

import atexit
from collections.abc import Callable
from contextlib import ExitStack

AT_EXIT: dict[Callable[[], object], None] = {}
"""The functions; add one when a stream opens, and remove it when the stream has closed."""


@atexit.register
def _close() -> None:
    # Each is called, the last one first, even if others fail.
    with ExitStack() as stack:
        for function in list(AT_EXIT):
            stack.callback(function)

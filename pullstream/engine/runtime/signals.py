"""Signals of a program that has another event loop in this thread: they are lent to the run, and passed on.

Only one event loop of a program is told by the operating system that a signal came (Python's wakeup descriptor).
asyncio's handlers depend on it; while trio has it, what comes is written on to asyncio's, and found when it goes on.
"""

import os
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress

import trio


@contextmanager
def borrowed_wakeups() -> Generator[int | None, None, None]:
    """Take the wakeup descriptor from the event loop that has it, if one has, and give it back at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    theirs = signal.set_wakeup_fd(-1)
    try:
        yield None if theirs == -1 or os.name == "nt" else theirs
    finally:
        signal.set_wakeup_fd(theirs)


async def pass_on_wakeups(theirs: int) -> None:
    """Write every signal on to the descriptor that was taken, until cancelled."""
    receiving, sending = socket.socketpair()
    with receiving, sending:
        receiving.settimeout(0)
        sending.settimeout(0)
        trios = signal.set_wakeup_fd(sending.fileno())
        try:
            while True:
                await trio.lowlevel.wait_readable(receiving)
                _pass_on(receiving, theirs)
        finally:
            signal.set_wakeup_fd(trios)
            _pass_on(receiving, theirs)


def _pass_on(receiving: socket.socket, theirs: int) -> None:
    # Nothing there, or no room there: as many signals as fit have been passed on already.
    with suppress(BlockingIOError):
        # Ctrl-C is the run's own: it aborts, and is raised where that ends.
        os.write(theirs, receiving.recv(4096).replace(bytes([signal.SIGINT]), b""))

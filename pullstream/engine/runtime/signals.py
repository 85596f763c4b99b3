"""Signals while this thread has another event loop: the run borrows its wakeup descriptor and forwards them.

Python notifies only one event loop of signals, through the wakeup descriptor (`signal.set_wakeup_fd`). asyncio's
handlers depend on it. While trio has it, signals are forwarded to asyncio's descriptor, which finds them when it
resumes.
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
    """Take the wakeup descriptor from the event loop that has it, if any, and give it back at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield None
        return
    theirs = signal.set_wakeup_fd(-1)
    try:
        yield None if theirs == -1 or os.name == "nt" else theirs
    finally:
        signal.set_wakeup_fd(theirs)


async def pass_on_wakeups(theirs: int) -> None:
    """Forward every signal to the descriptor that was taken, until cancelled."""
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
    # Nothing to read, or no room to write: as many signals as fit have been forwarded already.
    with suppress(BlockingIOError):
        # Ctrl-C belongs to the run: it aborts the run, and is raised where the run ends.
        os.write(theirs, receiving.recv(4096).replace(bytes([signal.SIGINT]), b""))

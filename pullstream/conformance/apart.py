"""A process for each module under test, so that a module that spins, blocks or exits affects nothing else."""

import faulthandler
import multiprocessing
import os
import re
import signal
import tempfile
import warnings
from collections.abc import Callable
from math import inf
from multiprocessing.connection import Connection
from pickle import dumps, loads
from time import monotonic
from typing import Any, Final, cast

from pullstream.conformance.places import is_authors, place_of, shown_place
from pullstream.conformance.report import Trouble
from pullstream.errors import PullstreamError

Send = Callable[[object], None]

SLICES: Final = 20
"""The number of parts of a wait: while the whole program is stopped, at most one of them passes."""

ABANDONED: Final = 600.0
"""The seconds after which a process ends itself, if its parent is gone and cannot end it."""

_FRAME: Final = re.compile(r'^  File "(.*)", line (\d+) in (.*)$', re.MULTILINE)


def can_be_apart() -> bool:
    """Whether this system can run any function in a separate process."""
    return "fork" in multiprocessing.get_all_start_methods()


def apart(work: Callable[[Send], None], receive: Callable[[Any], None], limit: float) -> Trouble | None:
    """Run `work` in a separate process, and call `receive` with all it sends; what `work` raises is raised here.

    The process is killed when it has sent nothing for `limit` seconds, not counting those in which all is stopped.
    """
    context: Any = multiprocessing.get_context("fork")
    mine, its = cast("tuple[Connection, Connection]", context.Pipe(duplex=False))
    with tempfile.TemporaryFile("w+") as dump:
        process = context.Process(target=_inside, args=(work, its, dump, max(ABANDONED, 2 * limit)))
        with warnings.catch_warnings():
            # The warning is about threads of this process: the copy has none of them and uses none of their locks.
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        its.close()
        try:
            return _receive(process, mine, receive, limit, dump)
        finally:
            if process.is_alive():
                process.kill()
            process.join()
            process.close()
            mine.close()


def _inside(work: Callable[[Send], None], its: Connection, dump: Any, backstop: float) -> None:
    faulthandler.register(signal.SIGUSR1, file=dump, all_threads=False)
    armed = -inf

    def send(message: object) -> None:
        nonlocal armed
        # Each call starts a thread, which takes an eighth of a cell's time.
        if (now := monotonic()) > armed + 1:
            faulthandler.dump_traceback_later(backstop, exit=True, file=dump)
            armed = now
        its.send(("sent", message))

    try:
        work(send)
        its.send(("end", None))
    except BaseException as exc:  # noqa: BLE001 - raised in the parent
        its.send(("raised", _sendable(exc)))
    finally:
        its.close()
        print(end="", flush=True)  # noqa: T201 - `sys.stdout` may be None
        # Do not wait for threads and children that the module has left behind.
        os._exit(0)


def _sendable(exc: BaseException) -> BaseException:
    """Make an exception that can be sent; its traceback stays here, so a note names the author's line."""
    place = place_of(exc)
    if place is not None:
        exc.add_note(f"raised at {place}")
    try:
        loads(dumps(exc))  # noqa: S301 - our own
    except Exception:  # noqa: BLE001 - pickling runs code of its class
        sent = PullstreamError(f"{type(exc).__name__}: {exc}")
        for note in getattr(exc, "__notes__", ()):
            sent.add_note(note)
        return sent
    return exc


def _receive(process: Any, mine: Connection, receive: Callable[[Any], None], limit: float, dump: Any) -> Trouble | None:
    while any(mine.poll(limit / SLICES) for _ in range(SLICES)):
        try:
            kind, message = mine.recv()
        except EOFError:
            process.join()
            return Trouble("crash", f"its process ended in the middle of a cell with exit code {process.exitcode}")
        if kind == "end":
            return None
        if kind == "raised":
            raise message
        receive(message)
    os.kill(process.pid, signal.SIGUSR1)
    process.join(0.5)
    dump.seek(0)
    # The frames after this file's are those of the program that has called the kit: the process is a copy of it.
    inside = dump.read().partition(f'"{__file__}"')[0]
    frames = [(file, line, name) for file, line, name in _FRAME.findall(inside) if is_authors(file)]
    where = f"; it is in {frames[0][2]}, line {frames[0][1]}" if frames else ""
    place = shown_place(frames[0][0], int(frames[0][1])) if frames else None
    return Trouble("spin", f"it has not finished within {limit:g} seconds of real time{where}", place)

"""Calls to Spark's Java: handle Ctrl-C during a call, and report that Java has ended.

PySpark leaves both to py4j. At Ctrl-C, py4j closes the connection, but the job behind it continues although nobody
waits for it. When Java has ended, py4j reports only that a connection was refused. All calls go through one method of
py4j's client, which `guard` replaces for the sessions that the module `session` creates:

- Ctrl-C during a call of the main thread is held back, and the jobs that the thread has started are cancelled, by a
  tag. The call then returns soon, with the connection intact, and KeyboardInterrupt is raised. If there is no job to
  cancel, because Java is doing something else, it is raised after a second. A second Ctrl-C does not wait.
- A call that fails because Java has ended raises `JavaEnded`.
"""

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, TypeAlias
from uuid import uuid4
from weakref import ref

from typing_extensions import override

from pullstream.authoring import Interrupts

from .ended import DYING_SECONDS, again, java_ended
from .errors import JavaEnded
from .types import SparkSession

REPEAT_SECONDS = 0.05
"""Seconds between cancellations: one that falls between two jobs of an action has no effect."""

PATIENCE_SECONDS = 1.0
"""Seconds to wait for a call that has no job to cancel."""

AFTERMATH_SECONDS = 10.0
"""Seconds in which Java's jobs are still cancelled after their call was abandoned."""

_FAILED = "x"
"""The return value of py4j's client if it received no answer."""

_JOINS = "getResult"
"""The method with which PySpark waits for the end of rows that it reads over a separate connection."""

_KNOWN = {("java_gateway", "send_command"), ("clientserver", "shutdown_socket")}
"""The functions, by module, in which py4j logs an error that it also raises."""

Send: TypeAlias = Callable[[str, bool, bool], Any]


def guard(session: "SparkSession") -> None:
    """Guard the calls of a session, unless py4j has no such method or another program has started Java."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    client: Any = getattr(gateway, "_gateway_client", None)
    send: Any = getattr(client, "send_command", None)
    if send is None or getattr(gateway, "proc", None) is None:
        return
    known = getattr(send, "__self__", None)
    if isinstance(known, _Calls):
        # The next session uses the stopped session's Java.
        known.serve(session)
        return
    client.send_command = _Calls(session, client, send).send_command
    for logger in (None, "py4j.clientserver"):
        logging.getLogger(logger).addFilter(_is_news)
    with suppress(AttributeError):
        # Its thread prints a traceback when Java closes a connection.
        session.sparkContext._accumulatorServer.handle_error = _nothing  # type: ignore[method-assign] # noqa: SLF001


class _Calls:
    """The calls to one Java, from any thread."""

    def __init__(self, session: "SparkSession", client: Any, send: Send) -> None:
        self.session = session
        self._client = client
        self._send = send
        self._waiting: _Held | None = None
        self._tag = ""
        self._tagged: Callable[[], Any] = _nothing
        """The connection whose jobs carry the tag."""

    def serve(self, session: "SparkSession") -> None:
        """Switch to another session."""
        self.session, self._tagged = session, _nothing

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Send a command and wait for its answer; the parameters are those of py4j's method."""
        if threading.current_thread() is not threading.main_thread() or not hasattr(
            self._client, "get_thread_connection"
        ):
            return self._sent(command, retry, binary)
        if (outer := self._waiting) is not None:
            # py4j makes this call itself, or Java called back during another call.
            outer.check()
            return self._sent(command, retry, binary)
        interrupted = sys.exc_info()[1]
        with _Held(self._cancel_until) as held:
            self._waiting = held
            try:
                self._have_tag()
                if isinstance(interrupted, KeyboardInterrupt) and f"\n{_JOINS}\n" in command:
                    # Ctrl-C came while rows were read: PySpark's error about the cancelled job must not replace it.
                    held.kept.append(interrupted)
                    held.begin()
                return self._sent(command, retry, binary)
            finally:
                self._waiting = None
                if held.hurried:
                    self._clear_up()
                held.returned()

    def _sent(self, command: str, retry: bool, binary: bool) -> Any:  # noqa: FBT001
        try:
            answer = self._send(command, retry, binary)
        except JavaEnded:
            raise
        except Exception:
            self._check_java()
            raise
        if answer == _FAILED:
            self._check_java()
        return answer

    def _check_java(self) -> None:
        held = self._waiting
        if held is not None and held.kept and threading.current_thread() is threading.main_thread():
            # The connection was cut because of Ctrl-C.
            held.check()
        if (end := java_ended(self.session.sparkContext, DYING_SECONDS)) is not None:
            raise again(end) from None

    def _have_tag(self) -> None:
        """Tag all jobs of this thread's connection; each connection has its own thread in Java."""
        context: Any = self.session.sparkContext
        tagged = self._tagged()
        valid = tagged is not None and tagged.socket is not None and tagged is self._client.get_thread_connection()
        if valid or not context._jsc:  # noqa: SLF001
            return
        # This tag belongs to no run: all actions of the main thread have it.
        self._tag = f"ctrl-c-{uuid4().hex}"
        with suppress(Exception):
            context.addJobTag(self._tag)
        connection = self._client.get_thread_connection()
        self._tagged = _nothing if connection is None else ref(connection)

    # ---- in threads of their own

    def _cancel_until(self, returned: threading.Event) -> None:
        """Cancel the main thread's jobs until its call returns, and cut the connection if it does not."""
        tag, connection = self._tag, self._tagged()
        patience = time.monotonic() + PATIENCE_SECONDS
        while not returned.wait(REPEAT_SECONDS):
            if self._cancel_jobs(tag):
                patience = time.monotonic() + PATIENCE_SECONDS
            elif time.monotonic() > patience:
                self._clear_up()
                with suppress(OSError, AttributeError):
                    connection.socket.shutdown(socket.SHUT_RDWR)
                return

    def _clear_up(self) -> None:
        """Cancel the jobs that Java still starts for an abandoned call; the next call gets another tag."""
        tag, end = self._tag, time.monotonic() + AFTERMATH_SECONDS

        def cancel() -> None:
            while time.monotonic() < end:
                self._cancel_jobs(tag)
                time.sleep(REPEAT_SECONDS)

        threading.Thread(target=cancel, daemon=True).start()

    def _cancel_jobs(self, tag: str) -> bool:
        """Cancel the jobs with a tag, except streaming queries, which inherit it; return whether there were any."""
        context: Any = self.session.sparkContext
        with suppress(Exception):
            scala, tracker = context._jsc.sc(), context.statusTracker()  # noqa: SLF001
            jobs = set(scala.statusTracker().getJobIdsForTag(tag)) & set(tracker.getActiveJobsIds())
            for query in self.session.streams.active if jobs else ():
                jobs -= set(tracker.getJobIdsForGroup(str(query.runId)))
            for job in jobs:
                scala.cancelJob(job, "Ctrl-C")
            return bool(jobs)
        return False


class _Held(Interrupts):
    """Holds Ctrl-C back until a call returns; a second Ctrl-C is raised at once."""

    def __init__(self, cancel: Callable[[threading.Event], None]) -> None:
        super().__init__()
        self._cancel = cancel
        self._canceller: threading.Thread | None = None
        self._returned = threading.Event()
        self.listen(self.begin)

    @property
    def hurried(self) -> bool:
        """Whether there was a second Ctrl-C."""
        return len(self.kept) > 1

    def begin(self) -> None:
        """Start to cancel jobs."""
        if self._canceller is None:
            self._canceller = threading.Thread(target=self._cancel, args=(self._returned,), daemon=True)
            self._canceller.start()

    def returned(self) -> None:
        """Stop cancelling: the next jobs belong to the next call."""
        self._returned.set()
        if self._canceller is not None:
            self._canceller.join()

    @override
    def raises(self, frame: FrameType) -> bool:
        return self.hurried


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a log record is more than py4j's note of a closed connection, or of a failure that it also raises."""
    return (record.module, record.funcName) not in _KNOWN


def _nothing(*_: object) -> None:
    pass

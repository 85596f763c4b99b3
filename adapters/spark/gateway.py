"""The calls to Spark's Java: what Ctrl-C does while one waits, and what one says when Java has ended.

PySpark leaves both to py4j, which at Ctrl-C closes the connection with whatever runs behind it, so that a job goes on
that nobody waits for, and at Java's end says that a connection was refused. All calls pass one method of one object,
py4j's client. That of a session which `session` makes is guarded here:

- Ctrl-C in a call of the main thread's is kept, the jobs that the thread has started are cancelled, by a tag, and
  KeyboardInterrupt is raised when the call comes back, which is soon, with the connection in order. Where no job was to
  be cancelled, and for what Java does instead, it is raised after a second all the same. A second Ctrl-C does not wait.
- A call that cannot be made because Java has ended raises `JavaEnded`.
"""

import logging
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4
from weakref import ref

from typing_extensions import override

from pullstream.authoring import Interrupts

from .ended import DYING_SECONDS, again, java_ended
from .errors import JavaEnded

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

REPEAT_SECONDS = 0.05
"""Seconds until a cancellation is repeated: one that falls between two jobs of an action strikes nothing."""

PATIENCE_SECONDS = 1.0
"""Seconds to wait for a call in which there is no job to be cancelled."""

AFTERMATH_SECONDS = 10.0
"""Seconds in which jobs are cancelled that begin in Java after nobody waits for their call any more."""

_FAILED = "x"
"""The answer that py4j's client gives when it got none."""

_JOINS = "getResult"
"""The method by which PySpark waits for the end of what it has read, or stopped reading, by a connection of its own."""

_KNOWN = {("java_gateway", "send_command"), ("clientserver", "shutdown_socket")}
"""The loggers to which py4j tells what it raises as well."""

Send: TypeAlias = Callable[[str, bool, bool], Any]


def guard(session: "SparkSession") -> None:
    """Guard the calls of a session; without py4j's method, or with a Java that is not ours, they stay as they are."""
    gateway: Any = session.sparkContext._gateway  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    client: Any = getattr(gateway, "_gateway_client", None)
    send: Any = getattr(client, "send_command", None)
    if send is None or getattr(gateway, "proc", None) is None:
        return
    known = getattr(send, "__self__", None)
    if isinstance(known, _Calls):
        # The Java of a session that was stopped serves the next one.
        known.serve(session)
        return
    client.send_command = _Calls(session, client, send).send_command
    for logger in (None, "py4j.clientserver"):
        logging.getLogger(logger).addFilter(_is_news)
    with suppress(AttributeError):
        # Its thread tells the terminal that Java has closed a connection, with a traceback.
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
        """The connection whose jobs have the tag."""

    def serve(self, session: "SparkSession") -> None:
        """Serve another session from now on."""
        self.session, self._tagged = session, _nothing

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> Any:  # noqa: FBT001, FBT002
        """Send a command and wait for its answer, as py4j's method does, whose parameters these are.

        Raises:
            JavaEnded: Java has ended.
        """
        if threading.current_thread() is not threading.main_thread() or not hasattr(
            self._client, "get_thread_connection"
        ):
            return self._sent(command, retry, binary)
        if (outer := self._waiting) is not None:
            # Made by py4j itself, or called by Java in the midst of another.
            outer.check()
            return self._sent(command, retry, binary)
        interrupted = sys.exc_info()[1]
        with _Held(self._cancel_until) as held:
            self._waiting = held
            try:
                self._have_tag()
                if isinstance(interrupted, KeyboardInterrupt) and f"\n{_JOINS}\n" in command:
                    # It struck while rows were read; what PySpark says of the cancelled job does not take its place.
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
            # The connection was cut for that.
            held.check()
        if (end := java_ended(self.session.sparkContext, DYING_SECONDS)) is not None:
            raise again(end) from None

    def _have_tag(self) -> None:
        """Put a tag on all jobs that this thread's connection starts, which is a thread of Java's."""
        context: Any = self.session.sparkContext
        tagged = self._tagged()
        stands = tagged is not None and tagged.socket is not None and tagged is self._client.get_thread_connection()
        if stands or not context._jsc:  # noqa: SLF001
            return
        # No run's: all actions of the main thread have it.
        self._tag = f"ctrl-c-{uuid4().hex}"
        with suppress(Exception):
            context.addJobTag(self._tag)
        connection = self._client.get_thread_connection()
        self._tagged = _nothing if connection is None else ref(connection)

    # ---- in threads of their own

    def _cancel_until(self, returned: threading.Event) -> None:
        """Cancel what the main thread has started until its call is back; see to it that it comes."""
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
        """Cancel what Java starts of a call that nobody waits for any more; the next one's has another tag."""
        tag, end = self._tag, time.monotonic() + AFTERMATH_SECONDS

        def cancel() -> None:
            while time.monotonic() < end:
                self._cancel_jobs(tag)
                time.sleep(REPEAT_SECONDS)

        threading.Thread(target=cancel, daemon=True).start()

    def _cancel_jobs(self, tag: str) -> bool:
        """Cancel the jobs with a tag, and say whether there were any; streaming queries, which inherit it, go on."""
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
    """Ctrl-C during a call, kept until the call is back; a second one is raised at once."""

    def __init__(self, cancel: Callable[[threading.Event], None]) -> None:
        super().__init__()
        self._cancel = cancel
        self._canceller: threading.Thread | None = None
        self._returned = threading.Event()
        self.listen(self.begin)

    @property
    def hurried(self) -> bool:
        """Whether there was a second one."""
        return len(self.kept) > 1

    def begin(self) -> None:
        """Begin to cancel."""
        if self._canceller is None:
            self._canceller = threading.Thread(target=self._cancel, args=(self._returned,), daemon=True)
            self._canceller.start()

    def returned(self) -> None:
        """Cancel no more: the next jobs are the next call's."""
        self._returned.set()
        if self._canceller is not None:
            self._canceller.join()

    @override
    def raises(self, frame: FrameType) -> bool:
        return self.hurried


def _is_news(record: logging.LogRecord) -> bool:
    """Whether a line is not py4j's about a call that failed, which it raises, too, or about the end of a connection."""
    return (record.module, record.funcName) not in _KNOWN


def _nothing(*_: object) -> None:
    pass

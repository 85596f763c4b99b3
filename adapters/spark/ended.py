"""Unexpected ends of Spark's Java: the error is raised, and PySpark's state is reset, so that another can start.

PySpark keeps its Java in class attributes, cannot drop one that has ended, and reports refused connections. All access
to these attributes is in this file.
"""

import signal
import subprocess
import threading
from contextlib import suppress
from typing import Any, NoReturn, Self, cast
from weakref import WeakKeyDictionary

from .errors import JavaEnded
from .failures import MORE_MEMORY
from .types import SparkContext, pyspark

DYING_SECONDS = 1.0
"""The seconds to wait for Java to end after its connections break."""

EXITING_SECONDS = 10.0
"""The seconds that a Java may take to stop everything in it before it ends."""

_OUT_OF_MEMORY = 52
"""The exit code with which Spark ends a Java in which a task ran out of memory."""

_SIGNALLED = 128
"""The offset that a shell, and a Java that handles a signal, adds to the signal's number."""

_lock = threading.RLock()
_graves: "WeakKeyDictionary[SparkContext, JavaEnded]" = WeakKeyDictionary()


def java_ended(context: "SparkContext", seconds: float = 0.0) -> JavaEnded | None:
    """The error for a context whose Java has ended, or ends within `seconds`; None otherwise.

    After that, PySpark has no session and no Java, and another can be started.
    """
    with _lock:
        if (known := _graves.get(context)) is not None:
            return known
    gateway: Any = context._gateway  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    process: Any = getattr(gateway, "proc", None)
    if process is None:
        return None
    with suppress(subprocess.TimeoutExpired):
        code: int = process.wait(seconds)
        with _lock:
            if context not in _graves:
                _graves[context] = _error(code)
                _bury(context, gateway)
            return _graves[context]
    return None


def again(known: JavaEnded) -> JavaEnded:
    """Copy the error for another raise: an error that is raised twice would keep both tracebacks.

    The copy is also a Py4JError, which PySpark expects when, for example, it stops a session.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark

    kind: Any = type("JavaEnded", (JavaEnded, Py4JError), {"__module__": JavaEnded.__module__})
    return cast("JavaEnded", kind(*known.args, known.details))


def _error(code: int) -> JavaEnded:
    number = -code if code < 0 else code - _SIGNALLED if code > _SIGNALLED else 0
    if code == _OUT_OF_MEMORY:
        how, help_ = "with exit code 52: it ran out of memory, java.lang.OutOfMemoryError", MORE_MEMORY
    elif number == signal.SIGKILL:
        how = "killed by SIGKILL"
        help_ = "If nobody killed it, the system ran out of memory: give Java or its Python workers less"
    elif number in list(map(int, signal.Signals)):
        how = f"killed by {signal.Signals(number).name}"
        help_ = "If nobody killed it, see the standard error, or a file hs_err_pid*.log"
    else:
        how, help_ = f"with exit code {code}", "See the standard error"
    return JavaEnded(
        f"Spark's Java process has ended, {how}. {help_}. Its sessions and DataFrames are lost; spark.session() starts "
        f"another",
        f"exit code {code}",
    )


class _Nothing:
    """A Java without effect, in which `SparkSession.stop` clears its defaults; a call with arguments raises."""

    def __init__(self, known: JavaEnded) -> None:
        self._known = known

    def __getattr__(self, name: str) -> Self:
        return self

    def __call__(self, *given: object) -> Self:
        if given:
            raise again(self._known)
        return self


class _Grave:
    """The Java side of a context whose Java has ended: it is false, as PySpark expects, and its attributes raise."""

    def __init__(self, known: JavaEnded) -> None:
        self._known = known

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise again(self._known)


def _bury(context: Any, gateway: Any) -> None:
    contexts, sessions = pyspark.SparkContext, pyspark.sql.SparkSession
    context._jsc = _Grave(_graves[context])  # noqa: SLF001
    if contexts._gateway is gateway:  # noqa: SLF001
        contexts._gateway = contexts._jvm = contexts._active_spark_context = None  # noqa: SLF001
        for session in {sessions._instantiatedSession, sessions._activeSession} - {None}:  # noqa: SLF001
            session._jvm = _Nothing(_graves[context])  # noqa: SLF001
        sessions._instantiatedSession = sessions._activeSession = None  # noqa: SLF001
    # Left-over threads in this process: listeners, and the one that reports garbage.
    with suppress(Exception):
        gateway.shutdown_callback_server()
    with suppress(Exception):
        from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER  # noqa: PLC0415

        gateway._gateway_client.finalizer_deque.appendleft(SHUTDOWN_FINALIZER_WORKER)  # noqa: SLF001
    with suppress(Exception):
        context._accumulatorServer.shutdown()  # noqa: SLF001
        context._accumulatorServer = None  # noqa: SLF001

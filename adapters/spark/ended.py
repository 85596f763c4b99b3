"""The end of Spark's Java though nobody ended it: it is said, and forgotten, so that another can be started.

PySpark keeps its Java in attributes of classes, has no way to let go of one that is gone, and says of it that a
connection was refused. These attributes are all touched here, and nowhere else.
"""

import signal
import subprocess
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn, Self, cast
from weakref import WeakKeyDictionary

from .errors import JavaEnded
from .failures import MORE_MEMORY

if TYPE_CHECKING:
    from pyspark import SparkContext

DYING_SECONDS = 1.0
"""Seconds in which a Java whose connections break is seen to have ended, if it has."""

EXITING_SECONDS = 10.0
"""Seconds that a Java may take which is stopping all that runs in it before it ends."""

_OUT_OF_MEMORY = 52
"""The exit code that Spark gives a Java in which a task had no memory left."""

_SIGNALLED = 128
"""The number that a shell, and a Java that catches it, adds to that of a signal."""

_lock = threading.RLock()
_graves: "WeakKeyDictionary[SparkContext, JavaEnded]" = WeakKeyDictionary()


def java_ended(context: "SparkContext", seconds: float = 0.0) -> JavaEnded | None:
    """The error for a context whose Java has ended, or does within so many seconds; None if it has not.

    From then on PySpark has no session and no Java, and another can be started.
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
    """The same error once more, for another who meets it: one that is raised twice would keep both tracebacks.

    Where PySpark expects errors of its bridge to Java, as when it stops a session, it is one.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - comes with pyspark

    kind: Any = type("JavaEnded", (JavaEnded, Py4JError), {"__module__": JavaEnded.__module__})
    return cast("JavaEnded", kind(*known.args, known.details))


def _error(code: int) -> JavaEnded:
    number = -code if code < 0 else code - _SIGNALLED if code > _SIGNALLED else 0
    if code == _OUT_OF_MEMORY:
        how, help_ = "with exit code 52: it had no memory left, java.lang.OutOfMemoryError", MORE_MEMORY
    elif number == signal.SIGKILL:
        how = "killed by SIGKILL"
        help_ = "If nobody did, the system had no memory left: give Java, or its Python workers, less, or it more"
    elif number in list(map(int, signal.Signals)):
        how = f"killed by {signal.Signals(number).name}"
        help_ = "If nobody did, its last words are on the standard error, or in a file hs_err_pid*.log"
    else:
        how, help_ = f"with exit code {code}", "Its last words are on the standard error"
    return JavaEnded(
        f"Spark's Java process has ended, {how}. {help_}. What was in its session is gone; spark.session() begins "
        f"another",
        f"exit code {code}",
    )


class _Nothing:
    """The Java in which `SparkSession.stop` clears its defaults: whatever is called, nothing happens."""

    def __getattr__(self, name: str) -> Self:
        return self

    def __call__(self) -> Self:
        return self


class _Grave:
    """The Java side of a context that has none any more: false, as PySpark has it, and else the error that says so."""

    def __init__(self, known: JavaEnded) -> None:
        self._known = known

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise again(self._known)


def _bury(context: Any, gateway: Any) -> None:
    from pyspark import SparkContext as Contexts  # noqa: PLC0415 - an optional dependency
    from pyspark.sql import SparkSession as Sessions  # noqa: PLC0415

    pyspark: Any = Contexts
    sessions: Any = Sessions
    context._jsc = _Grave(_graves[context])  # noqa: SLF001
    if pyspark._gateway is gateway:  # noqa: SLF001
        pyspark._gateway = pyspark._jvm = pyspark._active_spark_context = None  # noqa: SLF001
        for session in {sessions._instantiatedSession, sessions._activeSession} - {None}:  # noqa: SLF001
            session._jvm = _Nothing()  # noqa: SLF001
        sessions._instantiatedSession = sessions._activeSession = None  # noqa: SLF001
    # What is left of it here: threads that listen, and one that says what is not needed any more.
    with suppress(Exception):
        gateway.shutdown_callback_server()
    with suppress(Exception):
        from py4j.clientserver import SHUTDOWN_FINALIZER_WORKER  # noqa: PLC0415

        gateway._gateway_client.finalizer_deque.appendleft(SHUTDOWN_FINALIZER_WORKER)  # noqa: SLF001
    with suppress(Exception):
        context._accumulatorServer.shutdown()  # noqa: SLF001
        context._accumulatorServer = None  # noqa: SLF001

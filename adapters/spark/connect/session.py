"""Sessions of Spark Connect: the active one, or one at an address, `sc://host:port`."""

import os
import socket
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from pullstream import CompositionError

from ..errors import SessionMismatch, SparkJobError, SparkMissing
from ..types import SparkSession, pyspark

SCHEME = "sc://"

DEFAULT_PORT = 15002

ANSWER_SECONDS = 20.0
"""The seconds within which a server must accept a connection; PySpark itself would retry for ten minutes."""

_PROXIES = ("grpc_proxy", "https_proxy", "http_proxy", "GRPC_PROXY", "HTTPS_PROXY", "HTTP_PROXY")


def is_meant(master: str | None) -> bool:
    """Whether Connect is requested: by an address or the environment, or because PySpark already uses it."""
    remote: bool = pyspark.sql.utils.is_remote()
    return (master or os.environ.get("SPARK_REMOTE", "")).startswith(SCHEME) or (master is None and remote)


def connect_session(master: str | None, config: Mapping[str, str], elsewhere: Sequence[str]) -> "SparkSession":
    """The active session, or else a new one at `master`, or at SPARK_REMOTE.

    `elsewhere` are the names of given arguments that apply to the program in which Spark runs.
    """
    if elsewhere:
        raise CompositionError(
            f"session() got {elsewhere[0]}=, which applies to the program in which Spark runs. With Spark Connect "
            f"that is another program: set it where the server is started"
        )
    try:
        from pyspark.sql.connect.session import SparkSession  # noqa: PLC0415 - an optional dependency
    except ImportError as exc:
        raise SparkMissing(
            f"{exc.name or 'a package'} is not installed, which Spark Connect needs: `pip install 'pyspark[connect]'`",
            name=exc.name,
        ) from exc
    active: Any = None
    with suppress(Exception):
        active = SparkSession.active()
    if active is not None:
        _compare(active, master, config)
        return active
    address = master or os.environ.get("SPARK_REMOTE")
    if address is None:
        raise SessionMismatch(
            "this program uses Spark Connect, but has no session: give the server's address, "
            "session(master='sc://host:port')"
        )
    return _opened(address, config)


def _opened(address: str, config: Mapping[str, str]) -> "SparkSession":
    _reach(address)
    builder = pyspark.sql.SparkSession.Builder().remote(address).config(map={**config})
    try:
        opened = builder.getOrCreate()
        # The first call shows whether it is a server, and accepts this client.
        opened.version  # noqa: B018
    except pyspark.errors.PySparkException as exc:
        if exc.getCondition() == "SESSION_ALREADY_EXIST":
            raise SessionMismatch(
                f"a classic Spark session is active in this program, but {address} is a Spark Connect server, and a "
                f"program uses one kind. Call session() without master= to use the active one, or stop() it first"
            ) from None
        raise SparkJobError(f"session() could not use the Connect server {address}: {exc}", str(exc)) from None
    return opened


def _reach(address: str) -> None:
    """Fail at once if nothing answers at an address."""
    place = _place(address)
    if not place[0] or any(name in os.environ for name in _PROXIES):
        return
    try:
        socket.create_connection(place, ANSWER_SECONDS).close()
    except OSError as exc:
        raise SparkJobError(
            f"session() cannot reach a Connect server at {address}: {exc}. Check that it runs, and its address",
            str(exc),
        ) from None


def _compare(found: Any, master: str | None, config: Mapping[str, str]) -> None:
    differences: list[str] = []
    if master is not None:
        client, (host, port) = found.client, _place(master)
        # The port, which distinguishes servers, is private in PySpark.
        has = str(getattr(getattr(client, "_builder", None), "endpoint", client.host))
        wanted = f"{f'[{host}]' if ':' in host else host}:{port}"
        if not master.startswith(SCHEME):
            differences.append(f"it is one of Spark Connect, at {has}, not {master!r}")
        # A PySpark that does not reveal the port reports only the host.
        elif has not in {wanted, wanted.rpartition(":")[0]}:
            differences.append(f"its server is {has}, not {wanted}")
    match(found, config, differences)


def _place(address: str) -> tuple[str, int]:
    """The host and port of an address; the host may be missing."""
    place = urlsplit(address)
    return place.hostname or "", place.port or DEFAULT_PORT


def match(found: Any, wanted: Mapping[str, str], differences: Sequence[str] = ()) -> None:
    """Refuse a session whose settings are not the wanted ones, or that has other known differences."""
    reasons = [*differences]
    for key, value in wanted.items():
        current = found.conf.get(key, None)
        if current != value:
            reasons.append(f"its {key} is {current!r}, not {value!r}")
    if reasons:
        raise SessionMismatch(
            f"a Spark session is already active, and {'; '.join(reasons)}. This cannot be changed in a session: call "
            f"session() without these arguments to use it as it is, or stop() it first"
        )

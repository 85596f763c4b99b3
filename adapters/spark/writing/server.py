"""The driver's server, from which Spark's processes fetch sources: a trio program in a thread.

There is one per Spark context. The first source starts it, and it closes with the context, or at the end of the
program. It listens at the address in the session's settings, by default the loopback.
"""

import atexit
import secrets
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any
from weakref import WeakSet

import trio

from ..errors import CannotListen
from ..reading.jobs import in_one_process
from ..types import SparkContext, SparkSession, pyspark
from . import frames
from .filters import RowFilter
from .reading_task import ReadingTask
from .served_source import ServedSource, SourceRefused, failure_text

PORT = "spark.pullstream.port"
"""The setting for the port on which the driver listens, for a firewall; by default a free one."""

STOPPED_SECONDS = 1.0
"""Seconds between checks whether the context was stopped."""

HANG_UP_SECONDS = 5

LOOPBACK = "127.0.0.1"

_servers: "dict[SparkContext, SourceServer]" = {}
_lock = threading.Lock()


def server_for(session: "SparkSession") -> "SourceServer":
    """Get the server of a session's context, and register its data source in the session."""
    context = session.sparkContext
    with _lock:
        server = _servers.get(context)
        if server is None or not server.thread.is_alive():
            server = _servers[context] = SourceServer(session)
        server.introduce(session)
    return server


class SourceServer:
    """Serves sources to Spark's processes, by name."""

    def __init__(self, session: "SparkSession") -> None:
        self.sources: dict[str, ServedSource] = {}
        self._context = session.sparkContext
        self._bind, self._host = _addresses(self._context)
        self._secret = secrets.token_hex(16)
        self._introduced: WeakSet[SparkSession] = WeakSet()
        self._offering = threading.Lock()
        self._ended = False
        self._token: trio.lowlevel.TrioToken
        self._scope: trio.CancelScope
        self._nursery: trio.Nursery
        # A daemon, because a program can end before Spark has read its sources; `atexit` then closes it properly.
        started: Future[int] = Future()
        self.thread = threading.Thread(
            target=self._work, args=(_port(self._context), started), name="pullstream server", daemon=True
        )
        self.thread.start()
        self._port = started.result()
        atexit.register(self.close)

    def introduce(self, session: "SparkSession") -> None:
        """Register the data source, with this server's address, in a session."""
        if session in self._introduced:
            return

        from . import remote  # noqa: PLC0415 - needs pyspark

        address = (self._host, self._port, self._secret)
        pyspark.cloudpickle.register_pickle_by_value(remote)
        try:
            session.dataSource.register(type("PullSource", (remote.PullSource,), {"address": address}))
        finally:
            pyspark.cloudpickle.unregister_pickle_by_value(remote)
        self._introduced.add(session)

    def offer(self, served: ServedSource) -> None:
        """Make a source available to Spark; if the server has ended, the source ends as well."""
        with self._offering:
            self.sources[served.name] = served
            if self._ended:
                served.over.set()

    def call(self, function: Callable[..., object], *args: object) -> None:
        """Call a function in the server's thread or, if that has ended, in this one."""
        try:
            self._token.run_sync_soon(partial(function, *args))
        except trio.RunFinishedError:
            function(*args)

    def close(self) -> None:
        """Release all sources and the socket; returns when that is done."""
        self.call(self._scope.cancel)
        self.thread.join()

    # ---- in the server's thread

    def _work(self, port: int, started: "Future[int]") -> None:
        try:
            trio.run(self._serve, port, started)
        except BaseException as exc:
            if started.done():
                raise
            started.set_exception(exc)
        finally:
            with self._offering:
                self._ended = True
                for served in list(self.sources.values()):
                    served.over.set()
                    served.forget()
            if _servers.get(self._context) is self:
                del _servers[self._context]
            atexit.unregister(self.close)

    async def _serve(self, port: int, started: "Future[int]") -> None:
        try:
            listeners = await trio.open_tcp_listeners(port, host=self._bind)
        except OSError as exc:
            raise CannotListen(
                f"the driver cannot listen at {self._bind}:{port}, from where Spark's processes fetch sources "
                f"({exc}): set {PORT} to a free port, or omit it to let the system choose one, and set "
                f"spark.driver.bindAddress to an address of this machine"
            ) from exc
        self._token = trio.lowlevel.current_trio_token()
        with trio.CancelScope() as self._scope:
            async with trio.open_nursery() as self._nursery:
                self._nursery.start_soon(self._until_stopped)
                self._nursery.start_soon(
                    partial(trio.serve_listeners, self._handle, listeners, handler_nursery=self._nursery)
                )
                started.set_result(listeners[0].socket.getsockname()[1])

    async def _until_stopped(self) -> None:
        while self._context._jsc:  # noqa: SLF001, ASYNC110 # pyright: ignore[reportPrivateUsage] - no event for it
            await trio.sleep(STOPPED_SECONDS)
        self._scope.cancel()

    async def _handle(self, stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            async with stream:
                hello = await frames.receive_hello(stream, self._secret)
                if hello is None:
                    return
                try:
                    await self._answer(stream, hello)
                except (trio.Cancelled, trio.BrokenResourceError, trio.ClosedResourceError):
                    raise
                except BaseException as exc:  # noqa: BLE001 - sent to the client, which raises it
                    text = str(exc) if isinstance(exc, SourceRefused) else failure_text("the pull source", exc)
                    await frames.send_frame(stream, b"X", text.encode())
                    await _hung_up(stream)

    async def _answer(self, stream: trio.SocketStream, hello: dict[str, Any]) -> None:
        served = self._find(hello.get("name"))
        match hello["op"]:
            case "describe":
                await frames.send_frame(stream, b"J", served.describe())
            case "plan":
                served.check()
                await frames.send_frame(stream, b"J", b"null")
            case "read":
                filters = [RowFilter.of(parts) for parts in hello.get("filters", ())]
                await served.read(stream, ReadingTask.of(hello), self._context, self._nursery, filters)
            case "slice":
                await served.slice(stream, hello["begin"], hello["end"])
            case _:
                await served.query(stream, await served.log(self._nursery), hello["rows"])

    def _find(self, name: object) -> ServedSource:
        served = self.sources.get(str(name))
        if served is None:
            known = ", ".join(name for name in sorted(self.sources) if not name.startswith("to_dataframe-")) or "none"
            raise SourceRefused(
                f"no pull source is registered as {name!r}, only: {known}. "
                f"Register one for .load(name) with spark.register_source(name, source, schema)"
            )
        return served


def _port(context: "SparkContext") -> int:
    setting = str(context.getConf().get(PORT) or 0)
    if not setting.isdecimal() or int(setting) >= 65536:
        raise CannotListen(f"the setting {PORT} must be a port number below 65536, but is {setting!r}")
    return int(setting)


async def _hung_up(stream: trio.SocketStream) -> None:
    """Wait briefly until the other side has read everything: an earlier close could discard it."""
    with trio.move_on_after(HANG_UP_SECONDS):
        await stream.send_eof()
        while await frames.receive_frame(stream) is not None:
            pass


def _addresses(context: "SparkContext") -> tuple[str, str]:
    """The address on which the driver listens, and its address for executors; in local mode, both the loopback."""
    if in_one_process(context):
        return LOOPBACK, LOOPBACK
    settings = context.getConf()
    host = settings.get("spark.driver.host") or LOOPBACK
    return settings.get("spark.driver.bindAddress") or host, host

"""`map_thread` and `map_process`: functions that block, in threads, and functions that compute, in processes."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final, Literal, Self, overload

import trio
from typing_extensions import override

from pullstream.blueprint import Call, Emits, Positive, Sync, Transformer, shown_callable
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import A, B
from pullstream.decorators import alike, opens, transformer
from pullstream.errors import CompositionError, Unpicklable, WorkerDied
from pullstream.failures import Failed
from pullstream.modules.values.map_async import MapAsync
from pullstream.modules.values.on_error import Handled, OnError
from pullstream.modules.values.process_worker import HEADER, IMPORTING, RAISED, RESULT, dumps, frame


class MapThread(MapAsync):
    """Calls await threads. Each thread holds one of the limiter's tokens until it has finished."""

    def __init__(self, function: Callable[[Any], Any], concurrency: int, **options: Any) -> None:
        super().__init__(self._call, concurrency, **options)
        self._blocking = function
        self._tokens = trio.CapacityLimiter(concurrency)

    async def _call(self, value: Any) -> Any:
        return await trio.to_thread.run_sync(self._blocking, value, abandon_on_cancel=True, limiter=self._tokens)

    @override
    async def release(self) -> None:
        try:
            await super().release()
        finally:
            # Running threads were abandoned. Their resources are released once all of them have finished.
            for _ in range(self._concurrency if self._tokens.borrowed_tokens else 0):
                await self._tokens.acquire_on_behalf_of(object())


@overload
def map_thread(
    function: Function[A, B], concurrency: int, *, ordered: bool = True, on_error: OnError[A] = "fail"
) -> Transformer[A, B]: ...
@overload
def map_thread(
    function: Function[A, B], concurrency: int, *, ordered: bool = True, on_error: Literal["result"]
) -> Transformer[A, B | Failed[A]]: ...
@transformer
@Emits.AT_ONCE
def map_thread(
    function: Annotated[
        Callable[[Any], Any], Sync("use map_async(function, concurrency), which needs no thread", generates=True)
    ],
    concurrency: Positive,
    *,
    ordered: bool = True,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply a blocking function (a driver, a disk) to up to `concurrency` values at the same time, in threads.

    >>> import time, pullstream as ps
    >>> def slowly(n):
    ...     time.sleep(0.01)
    ...     return n * 2
    >>> ps.run(ps.pipe(ps.values(range(4)), ps.map_thread(slowly, concurrency=4), ps.collect()))
    [0, 2, 4, 6]

    Order, demand, failures and `on_error` are as in `map_async`. A call costs about 0.1 ms. The threads share one
    interpreter: use `map_process` for functions that compute in Python.

    Python cannot cancel a thread. When the stream ends, no further calls start, and the end waits for running calls, up
    to the run's `release_timeout`. Then it fails with `ReleaseTimeout` and leaves the threads behind; they do not keep
    the program from exiting. A long-running function can check for cancellation itself with
    `trio.from_thread.check_cancelled()`.
    """
    return opens(MapThread(function, concurrency, ordered=ordered, on_error=on_error))


SCRIPT: Final = Path(__file__).with_name("process_worker.py")

# Outside the terminal's process group: Ctrl-C would reach a worker that is still starting and cannot handle it.
APART: Final[dict[str, Any]] = (
    {"start_new_session": True}
    if os.name == "posix"
    else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
)


class Worker:
    """A process that makes one call at a time."""

    def __init__(self, process: trio.Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout

    @classmethod
    async def start(cls) -> Self:
        """Start a process, without a function to call yet."""
        command = [sys.executable, "-P", os.fspath(SCRIPT)]
        process: Any = None
        with trio.CancelScope(shield=True):
            process = await trio.lowlevel.open_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **APART)
        return cls(process)

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process.returncode is not None

    async def send(self, data: bytes) -> None:
        """Send a frame."""
        await self._stdin.send_all(frame(data))

    async def receive(self) -> bytes:
        """Receive a frame. Raises `EOFError` if the process has ended."""
        (length,) = HEADER.unpack(await self._read(HEADER.size))
        return await self._read(length)

    async def _read(self, number: int) -> bytes:
        parts: list[bytes | bytearray] = []
        while number:
            part = await self._stdout.receive_some(min(number, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            number -= len(part)
        return b"".join(parts)

    async def leave(self) -> None:
        """Close an idle process's input, and give it a moment to exit."""
        await self._stdin.aclose()
        with trio.move_on_after(1):
            await self._process.wait()

    async def kill(self) -> int | None:
        """Kill the process, whatever it is doing, and return its exit code."""
        with trio.CancelScope(shield=True):
            self._process.kill()
            await self._process.wait()
            await self._stdin.aclose()
            await self._stdout.aclose()
        return self._process.returncode


class MapProcess(MapAsync):
    """Calls await processes, which are started as needed and reused."""

    def __init__(self, function: Callable[[Any], Any], concurrency: int, **options: Any) -> None:
        super().__init__(self._call, concurrency, **options)
        # In the workers, the script's classes are pickled under this module name.
        sys.modules.setdefault("__mp_main__", sys.modules["__main__"])
        self._hello = dumps((sys.path, sys.argv, _script() if dumps is pickle.dumps else None, dumps(function)))
        self._all: set[Worker] = set()
        self._free: list[Worker] = []

    @override
    async def acquire(self) -> None:
        if IMPORTING in os.environ:
            raise CompositionError(
                f"{self.location}, is run again while a worker process imports the script. Put the code that runs the "
                f'pipeline under `if __name__ == "__main__":`'
            )
        await super().acquire()

    async def _call(self, value: Any) -> Any:
        try:
            data = dumps(value)
        except Exception as exc:
            raise Unpicklable(f"{self.location}: {value!r} cannot be sent to another process: {exc}") from exc
        while self._free and self._free[-1].ended:
            # It was killed between two calls, and no call is lost.
            worker = self._free.pop()
            self._all.discard(worker)
            await worker.kill()
        worker = self._free.pop() if self._free else await Worker.start()
        try:
            if worker not in self._all:
                self._all.add(worker)
                await worker.send(self._hello)
            await worker.send(data)
            reply = await worker.receive()
        except (EOFError, trio.BrokenResourceError):
            code = await worker.kill()
            self._all.discard(worker)
            raise WorkerDied(self._died(value, code)) from None
        self._free.append(worker)
        return self._opened(value, reply)

    def _opened(self, value: Any, reply: bytes) -> Any:
        try:
            kind, result, text = pickle.loads(reply)  # noqa: S301 - from a process of our own
        except Exception as exc:
            raise Unpicklable(f"{self.location}: the worker's reply for {value!r} cannot be unpickled: {exc}") from exc
        if kind == RESULT:
            return result
        failure = result if kind == RAISED else Unpicklable(f"{self.location}, called with {value!r}: {result}")
        failure.add_note(f"in the worker process:\n{text.rstrip()}")
        raise failure

    def _died(self, value: Any, code: int | None) -> str:
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        return (
            f"{self.location}: a worker process {how} while it worked on {value!r}. Check whether the function, or a "
            f"library that it calls, exits or crashes, and whether the machine ran out of memory"
        )

    @override
    async def release(self) -> None:
        try:
            await super().release()
            async with trio.open_nursery() as nursery:
                for worker in self._free:
                    nursery.start_soon(worker.leave)
        finally:
            for worker in self._all:
                await worker.kill()


def _sendable(call: Call, function: Any) -> Any:
    """Refuse a function that another process could not load."""
    shown, hint = shown_callable(function), "install cloudpickle, or define the function in a module"
    try:
        data = dumps(function)
    except Exception as exc:
        raise call.refuse(f"cannot send {shown} to another process: {exc}; {hint}") from exc
    if dumps is pickle.dumps and b"__main__" in data and _script() is None:
        raise call.refuse(
            f"cannot send {shown} to another process: it was defined interactively, so no other process can import it; "
            f"{hint}"
        )
    return function


@alike(map_thread)
@transformer
@Emits.AT_ONCE
def map_process(
    function: Annotated[Callable[[Any], Any], Sync("use map_async(function, concurrency), in this process"), _sendable],
    concurrency: Positive,
    *,
    ordered: bool = True,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply a CPU-bound function in up to `concurrency` processes, each working on one value at a time.

    >>> import math, pullstream as ps
    >>> ps.run(ps.pipe(ps.values([3, 4, 5]), ps.map_process(math.factorial, concurrency=2), ps.collect()))
    [6, 24, 120]

    Order, demand, failures and `on_error` are as in `map_async`. The function, values and results are pickled. With
    `cloudpickle` installed, the function may be anything, including a lambda. Otherwise it must be defined in a module,
    or in the running script, which every worker then imports: as with `multiprocessing`, put the code that runs the
    pipeline under `if __name__ == "__main__":`. A function that cannot be pickled is refused when the pipeline is
    composed. A call costs about 0.2 ms plus the pickling, so give it chunks of work that are worth that (`batch`).

    Fresh processes are started by `sys.executable` when needed, reused, and stopped when the stream has ended. An
    abort, Ctrl-C or a failure kills the busy ones. An exception raised in a worker is raised here unchanged, with the
    worker's traceback as a note. Output that the function prints goes to stderr.

    Raises: WorkerDied: a process exited, crashed or was killed during a call. No call is repeated. Unpicklable: a
    value, a result or an exception cannot be pickled.
    """
    return opens(MapProcess(function, concurrency, ordered=ordered, on_error=on_error))


def _script() -> tuple[str, str] | None:
    """Find the running script: a module by name, or a file. None if it is neither."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return "module", spec.name
    file = getattr(main, "__file__", None)
    # Code from a pipe or a prompt has no file, whatever `__file__` says.
    return None if file is None or not Path(file).exists() else ("file", os.path.abspath(file))  # noqa: PTH100 - fixed even if the folder changes

"""`map_process`: functions that compute, in processes."""

import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Final

import trio
from typing_extensions import override

from pullstream.blueprint import Call, Positive, Sync, Transformer, shown_callable
from pullstream.decorators import alike, opens, transformer
from pullstream.engine.nested.on_error import Handled, catches, guarded_async
from pullstream.errors import CompositionError, Unpicklable, WorkerDied
from pullstream.modules.values.map_async import MapAsync
from pullstream.modules.values.map_thread import map_thread
from pullstream.modules.values.process_worker import HEADER, IMPORTING, RAISED, RESULT, dumps, frame

SCRIPT: Final = Path(__file__).with_name("process_worker.py")

# Apart from the terminal's group, for whose Ctrl-C a worker that is just starting would not be ready.
APART: Final[dict[str, Any]] = (
    {"start_new_session": True}
    if os.name == "posix"
    else {"creationflags": getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0)}
)


class Worker:
    """A process that makes one call at a time."""

    def __init__(self) -> None:
        self.process: trio.Process | None = None

    async def start(self) -> None:
        """Begin the process; it is not told yet what to call."""
        command = [sys.executable, "-P", os.fspath(SCRIPT)]
        with trio.CancelScope(shield=True):
            self.process = await trio.lowlevel.open_process(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **APART
            )

    @property
    def _pipes(self) -> tuple[trio.abc.SendStream, trio.abc.ReceiveStream]:
        assert self.process is not None
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        return self.process.stdin, self.process.stdout

    async def send(self, data: bytes) -> None:
        """Send a frame."""
        await self._pipes[0].send_all(frame(data))

    async def receive(self) -> bytes:
        """Receive a frame; raises `EOFError` when the process is gone."""
        (length,) = HEADER.unpack(await self._read(HEADER.size))
        return await self._read(length)

    async def _read(self, number: int) -> bytes:
        _, source = self._pipes
        parts: list[bytes | bytearray] = []
        while number:
            part = await source.receive_some(min(number, 1 << 20))
            if not part:
                raise EOFError
            parts.append(part)
            number -= len(part)
        return b"".join(parts)

    async def leave(self) -> None:
        """Let an idle process go, which takes it a moment."""
        await self._pipes[0].aclose()
        assert self.process is not None
        with trio.move_on_after(1):
            await self.process.wait()

    async def kill(self) -> int | None:
        """End it, whatever it does; what it left with."""
        if self.process is None:
            return None
        with trio.CancelScope(shield=True):
            self.process.kill()
            await self.process.wait()
            for pipe in self._pipes:
                await pipe.aclose()
        return self.process.returncode


class MapProcess(MapAsync):
    """Calls wait for processes, which are started as they are needed, and used again."""

    def __init__(
        self, function: Callable[[Any], Any], concurrency: int, *, ordered: bool, on_error: object = "fail"
    ) -> None:
        super().__init__(guarded_async(self._call) if catches(on_error) else self._call, concurrency, ordered=ordered)
        # By the name that the script has in the workers, its classes come back.
        sys.modules.setdefault("__mp_main__", sys.modules["__main__"])
        self._hello = dumps((sys.path, _script() if dumps is pickle.dumps else None, dumps(function)))
        self._all: set[Worker] = set()
        self._free: list[Worker] = []

    @override
    async def acquire(self) -> None:
        if IMPORTING in os.environ:
            raise CompositionError(
                f"{self.location}, is run while a worker process of it imports the script: what runs the pipeline goes "
                f'behind `if __name__ == "__main__":`'
            )
        await super().acquire()

    async def _call(self, value: Any) -> Any:
        try:
            data = dumps(value)
        except Exception as exc:
            raise Unpicklable(f"{self.location}: {value!r} cannot be sent to another process: {exc}") from exc
        worker = self._free.pop() if self._free else Worker()
        try:
            if worker.process is None:
                self._all.add(worker)
                await worker.start()
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
            raise Unpicklable(f"{self.location}: what came back for {value!r} cannot be unpickled: {exc}") from exc
        if kind == RESULT:
            return result
        failure = result if kind == RAISED else Unpicklable(f"{self.location}, called with {value!r}: {result}")
        failure.add_note(f"in the worker process:\n{text.rstrip()}")
        raise failure

    def _died(self, value: Any, code: int | None) -> str:
        how = f"was killed by signal {-code}" if code is not None and code < 0 else f"ended with exit code {code}"
        return (
            f"{self.location}: a worker process {how} while it worked on {value!r}. Look whether the function, or a "
            f"library that it calls, exits or crashes, and whether memory was short"
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
    """Refuse what another process could not load."""
    shown, hint = shown_callable(function), "install cloudpickle, or use a function that is defined in a module"
    try:
        data = dumps(function)
    except Exception as exc:
        raise call.refuse(f"cannot send {shown} to another process: {exc}; {hint}") from exc
    if dumps is pickle.dumps and b"__main__" in data and _script() is None:
        raise call.refuse(
            f"cannot send {shown} to another process: it is defined in what was typed in, which another process does "
            f"not have; {hint}"
        )
    return function


@alike(map_thread)
@transformer
def map_process(
    function: Annotated[
        Callable[[Any], Any], Sync("map_async(function, concurrency) awaits it, in this process"), _sendable
    ],
    concurrency: Positive,
    *,
    ordered: bool = True,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply a function that computes, in `concurrency` processes at most, to a value each at a time.

    >>> import math, pullstream as ps
    >>> ps.run(ps.pipe(ps.values([3, 4, 5]), ps.map_process(math.factorial, concurrency=2), ps.collect()))
    [6, 24, 120]

    Order, demand, failures and `on_error` are those of `map_async`. The function, values and results are pickled: with
    `cloudpickle`, if that is installed, and then the function may be anything, as a lambda; otherwise it must have a
    name in a module, or in the script that runs, which every worker then imports: as with `multiprocessing`, what the
    script runs goes behind `if __name__ == "__main__":`. What cannot be pickled is refused when composing. A call costs
    some 0.2 ms and the pickling: give it work in pieces worth that (`batch`).

    Processes are started when they are first needed (each anew, by `sys.executable`), used again, and gone when the
    stream has ended, in whatever way: an abort, Ctrl-C or a failure kills those that work. What is raised in one
    arrives as itself, with the traceback there as a note. What a function prints goes to stderr.

    Raises:
        WorkerDied: a process exited, crashed or was killed at a call; nothing is called twice.
        Unpicklable: a value, a result or an exception cannot be pickled.
    """
    return opens(MapProcess(function, concurrency, ordered=ordered, on_error=on_error))


def _script() -> tuple[str, str] | None:
    """The script that runs, as a module by its name or as a file; None if it is neither."""
    main = sys.modules["__main__"]
    spec = getattr(main, "__spec__", None)
    if spec is not None:
        return "module", spec.name
    file = getattr(main, "__file__", None)
    # What is piped in or typed in has no file, whatever it is called.
    return None if file is None or not Path(file).exists() else ("file", os.path.abspath(file))  # noqa: PTH100 - the folder may change, the text not

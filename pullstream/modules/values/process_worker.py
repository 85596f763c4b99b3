"""A worker process of `map_process`: reads calls, makes them, writes what they give. Imports the standard library only.

It is run as a script, so that it starts fast and is nobody's copy. A frame is a length of 8 bytes and a pickle: first
comes (sys.path, the script to import or nothing, the pickled function), then a value at a time; each is answered by
(kind, result, traceback).
"""

import functools
import importlib
import os
import pickle
import queue
import runpy
import signal
import struct
import sys
import threading
import traceback
import types
from collections.abc import Callable
from typing import Any, BinaryIO, Final

HEADER = struct.Struct(">Q")

IMPORTING: Final = "PULLSTREAM_IMPORTING_MAIN"
"""Set in the environment while a worker imports the program's script, which must then start no workers of its own."""

RESULT, RAISED, UNPICKLABLE = "result", "raised", "unpicklable"


def _dumps() -> Callable[[object], bytes]:
    try:
        return importlib.import_module("cloudpickle").dumps
    except ImportError:
        return pickle.dumps


dumps: Final = _dumps()


def frame(data: bytes) -> bytes:
    """The data with its length before it."""
    return HEADER.pack(len(data)) + data


def read_frames(source: BinaryIO, frames: "queue.SimpleQueue[bytes | None]", idle: threading.Event) -> None:
    """Read until nobody is there any more; then nothing that is still computed is of use."""
    while len(header := source.read(HEADER.size)) == HEADER.size:
        frames.put(source.read(HEADER.unpack(header)[0]))
    if not idle.is_set():
        os._exit(1)
    frames.put(None)


@functools.cache
def import_main(kind: str, name: str) -> None:
    """Import the script that the program runs, as `multiprocessing` does: not as `__main__`, which would run it."""
    os.environ[IMPORTING] = "1"
    try:
        run = runpy.run_module if kind == "module" else runpy.run_path
        module = types.ModuleType("__mp_main__")
        vars(module).update(run(name, run_name="__mp_main__"))
    finally:
        del os.environ[IMPORTING]
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def loads(script: tuple[str, str] | None, data: bytes) -> Any:
    """Load what was pickled; of a script, what is in it is there once it is imported."""
    if script is not None and b"__main__" in data:
        import_main(*script)
    return pickle.loads(data)  # noqa: S301 - from the process that started this one


@functools.cache
def load(script: tuple[str, str] | None, pickled: bytes) -> Callable[[Any], Any]:
    """The function to call."""
    return loads(script, pickled)


def called(script: tuple[str, str] | None, pickled: bytes, data: bytes) -> bytes:
    """The reply to one call."""
    try:
        # The function is loaded by the first call, so that what goes wrong is raised by it.
        result = load(script, pickled)(loads(script, data))
    except BaseException as exc:  # noqa: BLE001 - raised where the call came from
        text = traceback.format_exc()
        try:
            reply = dumps((RAISED, exc, text))
            pickle.loads(reply)  # noqa: S301 - some exceptions are pickled, but not back
        except Exception:  # noqa: BLE001 - said in the reply
            return dumps((UNPICKLABLE, f"it raised {exc!r}, which cannot be pickled", text))
        return reply
    try:
        return dumps((RESULT, result, ""))
    except Exception:  # noqa: BLE001 - said in the reply
        return dumps((UNPICKLABLE, f"its result, a {type(result).__name__}, cannot be pickled", traceback.format_exc()))


def main() -> None:
    """Serve until the other end closes."""
    # Ctrl-C is for the program, which ends its workers in order.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # What a function prints goes where errors go, and what it reads is empty.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    idle = threading.Event()
    threading.Thread(target=read_frames, args=(source, frames, idle), daemon=True).start()
    hello = frames.get()
    if hello is None:
        return
    path, script, pickled = pickle.loads(hello)  # noqa: S301 - from the process that started this one
    sys.path[:] = path
    while True:
        idle.set()
        data = frames.get()
        idle.clear()
        if data is None:
            return
        replies.write(frame(called(script, pickled, data)))
        replies.flush()


if __name__ == "__main__":
    main()

"""The worker process of `map_process`: reads calls, makes them and writes the results. Needs only the standard library.

It runs as a script, so that it starts fast and inherits nothing. A frame is an 8-byte length followed by a pickle. The
first frame is (sys.path, sys.argv, the script to import or None, the pickled function); every later one is a value.
The reply to each value is (kind, result, traceback).
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
"""Environment variable that is set while a worker imports the program's script, which must not start workers then."""

RESULT, RAISED, UNPICKLABLE = "result", "raised", "unpicklable"


def _dumps() -> Callable[[object], bytes]:
    try:
        return importlib.import_module("cloudpickle").dumps
    except ImportError:
        return pickle.dumps


dumps: Final = _dumps()


def frame(data: bytes) -> bytes:
    """Prefix data with its length."""
    return HEADER.pack(len(data)) + data


def read_frames(source: BinaryIO, frames: "queue.SimpleQueue[bytes | None]", idle: threading.Event) -> None:
    """Read until the program has exited; a computation that is still running is then useless, so exit."""
    while len(header := source.read(HEADER.size)) == HEADER.size:
        frames.put(source.read(HEADER.unpack(header)[0]))
    if not idle.is_set():
        os._exit(1)
    frames.put(None)


@functools.cache
def import_main(kind: str, name: str) -> None:
    """Import the program's script as `multiprocessing` does: not as `__main__`, which would run it."""
    os.environ[IMPORTING] = "1"
    try:
        run = runpy.run_module if kind == "module" else runpy.run_path
        module = types.ModuleType("__mp_main__")
        vars(module).update(run(name, run_name="__mp_main__"))
    finally:
        del os.environ[IMPORTING]
    sys.modules["__main__"] = sys.modules["__mp_main__"] = module


def loads(script: tuple[str, str] | None, data: bytes) -> Any:
    """Unpickle data. Objects defined in the script need it to be imported first."""
    if script is not None and b"__main__" in data:
        import_main(*script)
    return pickle.loads(data)  # noqa: S301 - from the process that started this one


load: Final = functools.cache(loads)
"""The same, but only once for each function."""


def called(script: tuple[str, str] | None, pickled: bytes, data: bytes) -> bytes:
    """Make one call, and return the reply."""
    try:
        # The first call loads the function, so that a failure to load it is reported by that call.
        result = load(script, pickled)(loads(script, data))
    except BaseException as exc:  # noqa: BLE001 - raised in the calling process
        text = traceback.format_exc()
        try:
            reply = dumps((RAISED, exc, text))
            pickle.loads(reply)  # noqa: S301 - some exceptions can be pickled but not unpickled
        except Exception:  # noqa: BLE001 - reported in the reply
            return dumps((UNPICKLABLE, f"it raised {exc!r}, which cannot be pickled", text))
        return reply
    try:
        return dumps((RESULT, result, ""))
    except Exception:  # noqa: BLE001 - reported in the reply
        return dumps((UNPICKLABLE, f"its result, a {type(result).__name__}, cannot be pickled", traceback.format_exc()))


def main() -> None:
    """Serve calls until the program closes its end."""
    # Ctrl-C is handled by the program, which stops its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    # A function's output goes to stderr, and its input is empty.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)

    frames: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    idle = threading.Event()
    threading.Thread(target=read_frames, args=(source, frames, idle), daemon=True).start()
    hello = frames.get()
    if hello is None:
        return
    # The path and the arguments are the program's: its modules may read both when they are imported.
    sys.path[:], sys.argv[:], script, pickled = pickle.loads(hello)  # noqa: S301 - from the process that started this
    process = os.getpid()
    while True:
        idle.set()
        data = frames.get()
        idle.clear()
        if data is None:
            return
        reply = called(script, pickled, data)
        if os.getpid() != process:
            # A child that the function has forked: its reply would be taken for that of the next call.
            os._exit(1)
        replies.write(frame(reply))
        replies.flush()


if __name__ == "__main__":
    main()

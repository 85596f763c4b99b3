"""Function calls in their own threads."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def start_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    """Call a function in its own daemon thread, which cannot block the program's exit even if it hangs."""
    future: Future[T] = Future()
    Thread(target=_call, args=(future, function, args, kwargs), name="pullstream files", daemon=True).start()
    return future


def _call(future: "Future[Any]", function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    try:
        future.set_result(function(*args, **kwargs))
    except BaseException as exc:  # noqa: BLE001 - raised where the result is used
        future.set_exception(exc)
        # The exception refers to this frame: break the cycle, or it lives until the garbage collector runs.
        del future

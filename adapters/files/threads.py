"""Calls in threads of their own."""

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def start_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    """Call it in a thread of its own, which is no obstacle to the program's exit, wherever it hangs."""
    future: Future[T] = Future()
    Thread(target=_call, args=(future, function, args, kwargs), name="pullstream files", daemon=True).start()
    return future


def _call(future: "Future[Any]", function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    try:
        future.set_result(function(*args, **kwargs))
    except BaseException as exc:  # noqa: BLE001 - raised where the result is wanted
        future.set_exception(exc)
        # Else the exception, which has this frame, would be kept until the collector finds it.
        del future

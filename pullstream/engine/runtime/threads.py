"""Function calls in threads of their own, besides trio's."""

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import Context
from typing import Any, ParamSpec, TypeVar

from trio.lowlevel import start_thread_soon

P = ParamSpec("P")
T = TypeVar("T")


def start_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
    """Call a function in its own daemon thread, which cannot block the program's exit even if it hangs.

    The function must not wait for what the caller does later: a simulation calls it at once.
    """
    future: Future[T] = Future()
    start(_call, (future, function, args, kwargs))
    return future


def _start(function: Callable[..., object], args: tuple[Any, ...]) -> None:
    # Emptied by the call: an exception refers to all frames below it, which must not refer to its future.
    calls = [args]
    # An idle thread is taken first; the call gets an empty context, as in a new one.
    start_thread_soon(lambda: Context().run(function, *calls.pop()), _left, name="pullstream work")


def _left(_outcome: object) -> None:
    """Ignore what a thread returns: `_call` has passed it on."""


start: Callable[[Callable[..., object], tuple[Any, ...]], object] = _start
"""Starts a thread; a simulation replaces it."""


def _call(future: "Future[Any]", function: Callable[..., Any], args: Any, kwargs: Any) -> None:
    try:
        future.set_result(function(*args, **kwargs))
    except BaseException as exc:  # noqa: BLE001 - raised where the result is used
        future.set_exception(exc)
        # The exception refers to this frame: break the cycle, or it lives until the garbage collector runs.
        del future

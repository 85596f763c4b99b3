"""Onlookers of a run: async functions of the `Running`, checked when opening and when called."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from pullstream.blueprint import Site, shown_callable
from pullstream.errors import CompositionError


def looker_argument(beside: object) -> None:
    """Refuse, when opening, what cannot look on, as far as it can be seen without calling it."""
    where = f" at {Site.here()}"
    if not callable(beside):
        raise _no_beside(beside, f" ({type(beside).__name__})", where)
    try:
        signature = inspect.signature(beside)
    except ValueError:
        # Of some that are not written in Python nobody knows what they take; the call will tell.
        return
    try:
        signature.bind(None)
    except TypeError as exc:
        why = f", which cannot be called with it alone: {exc}"
        if not inspect.iscoroutinefunction(beside) and not any(
            parameter.default is parameter.empty for parameter in signature.parameters.values()
        ):
            why = f"; call it: beside={shown_callable(beside)}()"
        raise _no_beside(beside, why, where) from None


def look_on(beside: Callable[[Any], Awaitable[object]], running: object) -> Awaitable[object]:
    """Call it; what it gives is to be awaited."""
    awaited: object = beside(running)
    if not inspect.isawaitable(awaited):
        raise _no_beside(beside, f", which has returned {awaited!r}, and nothing to wait for")
    return awaited


def _no_beside(beside: object, why: str, where: str = "") -> CompositionError:
    shown = shown_callable(beside) if callable(beside) else repr(beside)
    return CompositionError(
        f"beside={where} takes an async function of the Running, or what display() gives, and got {shown}{why}"
    )

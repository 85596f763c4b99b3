"""The companion of a run, given as `beside=`: checked when opening and when called."""

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from pullstream.blueprint import Site, shown_callable
from pullstream.blueprint.shown import shown_argument
from pullstream.errors import CompositionError


def check_beside(beside: object) -> None:
    """Refuse an unsuitable companion when opening, as far as this can be checked without calling it."""
    where = f" at {Site.here()}"
    if not callable(beside):
        hint = ""
        if inspect.ismodule(beside):
            hint = ": write `from pullstream.display import display`, and beside=display()"
        elif type(beside) in {list, tuple}:
            hint = (
                ": to run several, pass an async function that starts each of them in a trio nursery, "
                "nursery.start_soon(display(), running)"
            )
        raise _no_beside(beside, f" ({type(beside).__name__}){hint}", where)
    try:
        signature = inspect.signature(beside)
    except ValueError:
        # Some callables not written in Python have no signature; the call will show whether they fit.
        return
    try:
        signature.bind(None)
    except TypeError as exc:
        why = f", which cannot be called with only the Running: {exc}"
        if not inspect.iscoroutinefunction(beside) and not any(
            parameter.default is parameter.empty for parameter in signature.parameters.values()
        ):
            why = f"; call it: beside={shown_callable(beside)}()"
        raise _no_beside(beside, why, where) from None


def call_beside(beside: Callable[[Any], Awaitable[object]], running: object) -> Awaitable[object]:
    """Call the companion and return its awaitable."""
    awaited: object = beside(running)
    if not inspect.isawaitable(awaited):
        raise _no_beside(beside, f", which returned {awaited!r}, not an awaitable")
    return awaited


def _no_beside(beside: object, why: str, where: str = "") -> CompositionError:
    return CompositionError(
        f"beside={where} needs an async function that takes the Running, or a display() result, but got "
        f"{shown_argument(beside)}{why}"
    )

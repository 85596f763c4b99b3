"""Refusing arguments when composing: each check names the module, the line, the argument and what was given."""

import inspect

from pullstream.blueprint.advice import advice
from pullstream.blueprint.modules import Blueprint, Source
from pullstream.blueprint.shown import shown_callable
from pullstream.blueprint.site import Site
from pullstream.errors import CompositionError


def callable_argument(module: str, name: str, value: object) -> None:
    """Refuse, when composing, an argument that cannot be called."""
    if not callable(value):
        got = f"{value!r} ({type(value).__name__})"
        hint = (
            f": for a column, operator.attrgetter({value!r}) or, of dicts, itemgetter" if isinstance(value, str) else ""
        )
        raise CompositionError(f"{module}() at {Site.here()} needs a callable as its {name}, and got {got}{hint}")


def sync_argument(module: str, name: str, value: object, instead: str) -> None:
    """Refuse, when composing, an argument that cannot be called, or only with `await`."""
    callable_argument(module, name, value)
    if inspect.iscoroutinefunction(value):
        shown = shown_callable(value)
        raise CompositionError(f"{module}() at {Site.here()} got the async function {shown}: {instead}")


def count_argument(module: str, name: str, value: object, least: int = 0) -> None:
    """Refuse, when composing, an argument that is not a whole number of at least `least`."""
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise CompositionError(
            f"{module}() at {Site.here()} needs a whole number of at least {least} as its {name}, and got {value!r}",
        )


def seconds_argument(module: str, name: str, value: object) -> None:
    """Refuse, when composing, an argument that is not a positive number of seconds."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise CompositionError(
            f"{module}() at {Site.here()} needs a positive number of seconds as its {name}, and got {value!r}",
        )


def source_argument(name: str, source: object) -> None:
    """Refuse what is not a source."""
    if not isinstance(source, Source):
        hint = advice(name, source, source=True)
        if isinstance(source, Blueprint) and source.kind == "pipeline":
            hint = ", a whole pipeline; leave its sink out"
        raise CompositionError(f"{name}() at {Site.here()} reads a source, and got {source!r}{hint}")

"""Changes, how they are taken apart by key, and in which verb of a program a failure came up."""

import inspect
from collections.abc import Callable, Hashable, Iterable
from operator import index
from typing import Any

from typing_extensions import TypeVar

from pullstream.authoring import Site
from pullstream.blueprint import shown_callable
from pullstream.errors import CompositionError
from pullstream.incremental.trace import Time

P = TypeVar("P")

Changes = list[tuple[Any, int]]
"""Records, and for each how often it comes or, below 0, goes."""

Listener = Callable[[Time, Changes], None]
"""A function that deals with changes at a time."""

Parts = Callable[[Changes], Iterable[tuple[Hashable, Hashable, int]]]
"""The keys, values and weights of changes."""

TakeParts = Callable[[Time, list[tuple[Any, Any, int]]], None]
"""A function that deals with such parts at a time."""


def pairs(verb: str) -> Parts:
    """Records that are pairs, by their first part."""

    def parts(changes: Changes) -> Iterable[tuple[Hashable, Hashable, int]]:
        for record, diff in changes:
            try:
                key, value = record
            except (TypeError, ValueError):
                raise TypeError(
                    f"{verb}() goes by key, and needs records that are pairs of a key and a value, not {record!r}"
                ) from None
            yield key, value, diff

    return parts


def whole(key: Any, value: Any) -> int:
    """A value of a key, if it is a whole number."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(
            f"sum() adds whole numbers, which go as exactly as they came, and {value!r} of {key!r} is none: map to "
            f"whole numbers, such as cents, or use reduce()"
        ) from None


def noted(verb: str, site: Site, take: Callable[[Time, P], None]) -> Callable[[Time, P], None]:
    """Add to a failure in which verb of the program it came up."""

    def noting(time: Time, changes: P) -> None:
        try:
            take(time, changes)
        except Exception as exc:
            if not getattr(exc, "__notes__", None):
                exc.add_note(f"in {verb}() at {site}{remedy(exc)}")
            raise

    return noting


def called_with(verb: str, function: Callable[..., Any], *arguments: str) -> None:
    """Refuse, when composing, a function that cannot be called with so many arguments."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # one that is not written in Python, and does not say
    except TypeError:
        raise CompositionError(f"{verb}() at {Site.here()} needs a function, and got {function!r}") from None
    try:
        signature.bind(*arguments)
    except TypeError:
        raise CompositionError(
            f"{verb}() at {Site.here()} calls its function with {' and '.join(arguments)}, and "
            f"{shown_callable(function)} takes {signature}"
        ) from None


def remedy(exc: Exception) -> str:
    """The remedy for a record that cannot be one, for the end of a note."""
    return ": what it gives is to have a hash, make it a tuple, or frozen" if "unhashable" in str(exc) else ""

"""Changes, how they are split by key, and notes that name the verb in which a failure occurred."""

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
"""Records, each with how often it is added or, if negative, removed."""

Listener = Callable[[Time, Changes], None]
"""A function that receives changes at a time."""

Parts = Callable[[Changes], Iterable[tuple[Hashable, Hashable, int]]]
"""A function from changes to their keys, values and weights."""

TakeParts = Callable[[Time, list[tuple[Any, Any, int]]], None]
"""A function that receives keys, values and weights at a time."""


def pairs(verb: str) -> Parts:
    """Make a function that splits records, which must be pairs, into key and value."""

    def parts(changes: Changes) -> Iterable[tuple[Hashable, Hashable, int]]:
        for record, diff in changes:
            match record:
                case (key, value):  # a text of two letters does not match
                    yield key, value, diff
                case _:
                    raise TypeError(
                        f"{verb}() works by key and needs records that are pairs of a key and a value, not {record!r}"
                    )

    return parts


def whole(key: Any, value: Any) -> int:
    """Return a value of a key, which must be an integer."""
    try:
        return index(value)
    except TypeError:
        raise TypeError(
            f"sum() adds only integers, because they can be subtracted exactly, but {key!r} has the value {value!r}: "
            f"map to integers, such as cents, or use reduce()"
        ) from None


def noted(verb: str, site: Site, take: Callable[[Time, P], None]) -> Callable[[Time, P], None]:
    """Add a note to a failure that names the verb of the program in which it occurred."""

    def noting(time: Time, changes: P) -> None:
        try:
            take(time, changes)
        except Exception as exc:
            if not getattr(exc, "__notes__", None):
                exc.add_note(f"in {verb}() at {site}{remedy(exc)}")
            raise

    return noting


def called_with(verb: str, function: Callable[..., Any], *arguments: str) -> None:
    """Refuse, when composing, a function that cannot be called with these arguments."""
    try:
        signature = inspect.signature(function)
    except ValueError:
        return  # a function that is not written in Python and has no signature
    except TypeError:
        raise CompositionError(f"{verb}() at {Site.here()} needs a function, but got {function!r}") from None
    try:
        signature.bind(*arguments)
    except TypeError:
        raise CompositionError(
            f"{verb}() at {Site.here()} calls its function with {' and '.join(arguments)}, but "
            f"{shown_callable(function)} takes {signature}"
        ) from None


def remedy(exc: Exception) -> str:
    """The end of a note: what to do about a record that is not hashable."""
    return ": its results must be hashable, so make them tuples" if "unhashable" in str(exc) else ""

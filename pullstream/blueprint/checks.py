"""Checks of arguments when composing: each names the module, the line, the argument and what was given.

They stand beside the type of a parameter, see `factory`.
"""

import inspect
from collections.abc import Hashable
from typing import Annotated, Any, Final, TypeAlias, TypeVar, cast

import attrs

from pullstream.blueprint.advice import advice
from pullstream.blueprint.factory import Call
from pullstream.blueprint.modules import Blueprint, OneShot, Source
from pullstream.blueprint.parts import Function
from pullstream.blueprint.shown import shown_callable

A = TypeVar("A")
K = TypeVar("K")


@attrs.frozen
class Count:
    """A whole number, of at least `least`."""

    least: int = 0

    def __call__(self, call: Call, value: Any) -> Any:
        """Give the number, or refuse what is none."""
        if not isinstance(value, int) or isinstance(value, bool) or value < self.least:
            raise call.refuse(f"needs a whole number of at least {self.least} as its {call.name}, and got {value!r}")
        return value


def seconds(call: Call, value: Any) -> Any:
    """A positive number of seconds."""
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < float("inf"):
        raise call.refuse(f"needs a positive number of seconds as its {call.name}, and got {value!r}")
    return value


def function(call: Call, value: Any) -> Any:
    """A check for something that can be called, maybe with `await`."""
    if not callable(value):
        got = f"{value!r} ({type(value).__name__})"
        hint = (
            f": for a column, operator.attrgetter({value!r}) or, of dicts, itemgetter" if isinstance(value, str) else ""
        )
        raise call.refuse(f"needs a callable as its {call.name}, and got {got}{hint}")
    return value


@attrs.frozen
class Sync:
    """A check for what can be called without `await`; for what cannot, the message says what to do `instead`."""

    instead: str

    def __call__(self, call: Call, value: Any) -> Any:
        """Give the function, or refuse what is none."""
        if inspect.iscoroutinefunction(function(call, value)):
            raise call.refuse(f"got the async function {shown_callable(value)}: {self.instead}")
        return value


class OneOf:
    """A check for one of a few words."""

    def __init__(self, *known: str) -> None:
        self.known = known

    def __call__(self, call: Call, value: Any) -> Any:
        """Give the word, or refuse another one."""
        if value not in self.known:
            *others, last = map(repr, self.known)
            raise call.refuse(f"got {call.name}={value!r}: it is {', '.join(others)} or {last}")
        return value


@attrs.frozen
class Instance:
    """An object of a class; the message says what the module `needs`, such as `Instance(Path, "needs a path")`."""

    kind: type[Any]
    needs: str
    once: bool = False
    """Whether it can be used by one run alone."""

    def __call__(self, call: Call, value: Any) -> Any:
        """Give the object, or refuse another one."""
        if not isinstance(value, self.kind):
            hint = advice(call.module, value, source=self.kind is Source)
            if self.kind is Source and isinstance(value, Blueprint) and value.kind == "pipeline":
                hint = ", a whole pipeline; leave its sink out"
            raise call.refuse(f"{self.needs}, and got {value!r}{hint}")
        return OneShot(value) if self.once else value


def sources(call: Call, value: Any) -> Any:
    """A source, or several."""
    several: Any = cast("object", value) if isinstance(value, tuple) else (value,)
    for source in several:
        if not isinstance(source, Source):
            hint = "values(...) makes a source of an iterable, and pipe(source, transformer) is one too"
            if isinstance(source, (list, tuple)):
                hint = f"give the sources one by one, {call.module}(*sources); {hint}"
            raise call.refuse(f"takes sources, and got {source!r}: {hint}")
    return cast("object", value)


@attrs.frozen
class Each:
    """Several parts, at least one, each checked by itself."""

    check: Instance

    def __call__(self, call: Call, value: Any) -> Any:
        """Give the parts, or refuse one of them."""
        for part in value:
            self.check(call, part)
        if not value:
            raise call.refuse(f"needs at least one {self.check.kind.__name__.lower()}")
        return value


KEYS: Final = Sync("a key is computed at once; map_async the values to (key, value) first")
Key: TypeAlias = Annotated[Function[A, K], KEYS]
"""A function that gives a value its key."""


TimeOf: TypeAlias = Annotated[Function[A, Hashable] | None, Sync("a value's time is known at once, from the value")]
"""An option `time=`, the function that gives a value its time."""

READS: Final = Instance(Source, "reads a source")
"""The check of what is read from outside of a pipeline."""

Natural: TypeAlias = Annotated[int, Count()]
Positive: TypeAlias = Annotated[int, Count(1)]
Seconds: TypeAlias = Annotated[float, seconds]

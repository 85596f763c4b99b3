"""Checks of arguments when composing. Each error names the module, the line, the argument and its value.

A check is written beside a parameter's type, see `factory`.
"""

import inspect
from collections.abc import Hashable, Mapping
from datetime import timedelta
from dis import get_instructions
from itertools import pairwise
from operator import index
from types import CodeType, MethodDescriptorType
from typing import Annotated, Any, Final, TypeAlias, TypeVar, cast

import attrs

from pullstream.blueprint.advice import advice, table_advice
from pullstream.blueprint.factory import Call
from pullstream.blueprint.modules import Blueprint, OneShot, Source
from pullstream.blueprint.parts import Function
from pullstream.blueprint.shown import shown_callable

A = TypeVar("A")
K = TypeVar("K")


def as_int(value: Any) -> Any:
    """A whole number of another kind, such as NumPy's, as an int; any other value as it is."""
    try:
        return value if isinstance(value, bool) else index(value)
    except TypeError:
        return value


@attrs.frozen
class Count:
    """A check for a whole number of at least `least`."""

    least: int = 0

    def __call__(self, call: Call, value: Any) -> Any:
        """Return the number, or refuse another value."""
        value = as_int(value)
        if not isinstance(value, int) or isinstance(value, bool) or value < self.least:
            raise call.refuse(
                f"needs a whole number of at least {self.least} for its argument {call.name!r}, but got {value!r}"
            )
        return value


def seconds(call: Call, value: Any) -> Any:
    """Check that an argument is a positive number of seconds."""
    value = as_int(value)
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0 < value < float("inf"):
        hint = ": use its total_seconds()" if isinstance(value, timedelta) else ""
        raise call.refuse(f"needs a positive number of seconds for its argument {call.name!r}, but got {value!r}{hint}")
    return value


def function(call: Call, value: Any, instead: str = "") -> Any:
    """Check that an argument is callable; an async function is, too. `instead` is the hint for another value."""
    given: object = value
    if not callable(given):
        if isinstance(given, str):
            hint = f"for a column, operator.attrgetter({value!r}); for dicts, itemgetter"
        elif call.has(callable):
            hint = "its arguments are in the wrong order"
        elif isinstance(given, Mapping):
            hint = "to look up values, pass its method get"
        elif type(given).__module__.startswith("polars."):
            hint = "expressions of polars are for the modules of pullstream.columns"
        else:
            hint = instead or "pass the function itself, and not the result of calling it"
        raise call.refuse(
            f"needs a callable for its argument {call.name!r}, but got {value!r} ({type(value).__name__}): {hint}"
        )
    return value


def runs(call: Call, value: Any) -> Any:
    """Check that a function is not a generator function: calling one runs none of its code."""
    if inspect.isgeneratorfunction(value) or inspect.isasyncgenfunction(value):
        name = shown_callable(value)
        raise call.refuse(f"got the generator function {name}: leave out its yield, so that a call runs its code")
    return value


def _constant(result: str, value: object) -> str:
    """Return which function to write instead of a value."""
    if result == TRUTH:
        if value is None:
            return "to keep the true values, write bool"
        return f"to look for equal values, write lambda value: value == {value!r}"
    return (
        f"for the same {result.rsplit(maxsplit=1)[-1]} everywhere, write lambda _: {value!r}"
        if result and value is not None
        else ""
    )


TRUTH: Final = "true or false"
"""The result of a test."""


@attrs.frozen
class Sync:
    """A check for a function that is not async; the message for others says what to do `instead`."""

    instead: str
    result: str = ""
    """The name of its result, such as "a key", if a function that never returns a value must be a mistake."""
    generates: bool = False
    """Whether the function may return a generator."""

    def __call__(self, call: Call, value: Any) -> Any:
        """Return the function, or refuse another value."""
        instead = _constant(self.result, value)
        if inspect.iscoroutinefunction(function(call, value, instead)):
            raise call.refuse(f"got the async function {shown_callable(value)}: {self.instead}")
        if not self.generates:
            runs(call, value)
        if self.result and _returns_nothing(value):
            raise call.refuse(f"got {shown_callable(value)}, which never returns a value: it must return {self.result}")
        return value


_CHANGES: Final = frozenset({"list.append", "list.extend", "set.add", "set.update", "dict.update", "bytearray.extend"})
"""Methods that change their object and return nothing."""


def _returns_nothing(function: Any) -> bool:
    """Whether a function written with `def` can return, but never returns a value, as far as its code shows."""
    if isinstance(function, MethodDescriptorType):
        return function.__qualname__ in _CHANGES
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType) or code.co_name == "<lambda>":
        return False
    ends = False
    for before, step in pairwise(get_instructions(code)):
        if step.opname == "RETURN_CONST":
            nothing = step.argval is None
        elif step.opname == "RETURN_VALUE":
            # A jump to it, as in `return value or None`, may return something else.
            nothing = before.opname == "LOAD_CONST" and before.argval is None and not step.is_jump_target
        else:
            continue
        if not nothing:
            return False
        ends = True
    return ends


class OneOf:
    """A check for one of a few words, or for True or False."""

    def __init__(self, *known: str | bool) -> None:
        self.known = known

    def __call__(self, call: Call, value: Any) -> Any:
        """Return the argument, or refuse another value."""
        if value not in self.known:
            *others, last = map(repr, self.known)
            raise call.refuse(f"got {call.name}={value!r}: it must be {', '.join(others)} or {last}")
        return value


@attrs.frozen
class Instance:
    """A check for an object of a class; the message says what the module `needs`: `Instance(Path, "needs a path")`."""

    kind: type[Any]
    needs: str
    once: bool = False
    """Whether only one run can use it."""

    def __call__(self, call: Call, value: Any) -> Any:
        """Return the object, or refuse another value."""
        if not isinstance(value, self.kind):
            hint = advice(call.module, value, wanted=getattr(self.kind, "kind", ""))
            if not hint and call.has(lambda other: isinstance(other, self.kind)):
                hint = ": its arguments are in the wrong order"
            if isinstance(value, type) and issubclass(value, self.kind):
                hint = f": make one with {value.__name__}(...)"
            raise call.refuse(f"{self.needs}, but got {value!r}{hint}")
        return OneShot(value) if self.once else value


FAILURE: Final = Instance(BaseException, "needs an exception")
"""A check for the exception that a stream fails with."""


def sources(call: Call, value: Any) -> Any:
    """Check that an argument is one or more sources."""
    several: Any = cast("object", value) if isinstance(value, tuple) else (value,)
    for source in several:
        if not isinstance(source, Source):
            hint = "values(...) makes a source of an iterable, and pipe(source, transformer) is a source, too"
            if isinstance(source, Blueprint) and source.kind == "pipeline":
                hint = "leave out its sink"
            elif callable(source):
                hint = advice(call.module, source, wanted="source").removeprefix("; ")
            if isinstance(source, (list, tuple)):
                parts = cast("Any", source)
                if any(isinstance(part, Source) for part in parts):
                    hint = f"pass them one by one, {call.module}(*sources)"
                elif parts and (table := table_advice(parts[0])):
                    hint = table
                raise call.refuse(f"needs sources, but got a {type(parts).__name__}: {hint}")
            if table := table_advice(cast("object", source)):
                raise call.refuse(f"needs sources, but got a {type(cast('object', source)).__name__}: {table}")
            raise call.refuse(f"needs sources, but got {source!r}: {hint}")
    # A run must not keep a handle that the program has dropped, so the module gets the handle's own modules.
    plain = tuple([Source[Any](source.modules) for source in several])
    return plain if isinstance(value, tuple) else plain[0]


@attrs.frozen
class Each:
    """A check for one or more parts, each checked by `check`."""

    check: Instance

    def __call__(self, call: Call, value: Any) -> Any:
        """Return the parts, or refuse one of them."""
        for part in value:
            self.check(call, part)
        if not value:
            raise call.refuse(f"needs at least one {self.check.kind.__name__.lower()}")
        return value


KEYS: Final = Sync("a key is computed synchronously; use map_async to make (key, value) pairs first", "a key")
Key: TypeAlias = Annotated[Function[A, K], KEYS]
"""A function from a value to its key."""


TimeOf: TypeAlias = Annotated[
    Function[A, Hashable] | None, Sync("use map_async to make (time, value) pairs first, then stamp(...)", "a time")
]
"""The option `time=`: a function from a value to its time."""

READS: Final = Instance(Source, "reads a source")
"""The check for a source that is read from outside a pipeline."""

Natural: TypeAlias = Annotated[int, Count()]
Positive: TypeAlias = Annotated[int, Count(1)]
Seconds: TypeAlias = Annotated[float, seconds]

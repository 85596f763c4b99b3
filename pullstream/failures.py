"""Markers for values whose function raised: `Failed` and, inside the toolkit, `Caught`."""

from typing import Any, Generic

import attrs
from typing_extensions import TypeVar

A = TypeVar("A")


@attrs.frozen
class Failed(Generic[A]):
    """A value whose function raised, and the exception: `on_error="result"` emits it in place of the result.

    >>> import pullstream as ps
    >>> numbers = ps.pipe(ps.values(["1", "x", "3"]), ps.map(int, on_error="result"))
    >>> for number in ps.run(ps.pipe(numbers, ps.collect())):
    ...     print(f"no number: {number.value}" if isinstance(number, ps.Failed) else number)
    1
    no number: x
    3

    The error's notes name the module and the line that composed it.
    """

    value: A
    error: Exception


@attrs.frozen
class Caught:
    """The internal mark in place of a value whose function raised; it stands for `count` values."""

    value: Any
    error: Exception
    count: int = 1


class Mistake(TypeError):
    """A mistake in the program, which fails the run whatever `on_error` says."""


class Unawaited(Mistake):
    """A function returned a coroutine."""


def caught(value: Any, error: Exception, count: int = 1) -> Caught:
    """Mark a value. Call it where the error was caught, so that its traceback begins in the user's code."""
    if isinstance(error, Mistake):
        raise error
    traceback = error.__traceback__
    return Caught(value, error.with_traceback(None if traceback is None else traceback.tb_next), count)

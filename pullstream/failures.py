"""Values whose function raised: `Failed` and, between a module and its policy, `Caught`."""

from typing import Any, Generic

import attrs
from typing_extensions import TypeVar

A = TypeVar("A")


@attrs.frozen
class Failed(Generic[A]):
    """A value whose function raised, and what it raised: `on_error="result"` answers it in the value's place.

    >>> import pullstream as ps
    >>> numbers = ps.pipe(ps.values(["1", "x", "3"]), ps.map(int, on_error="result"))
    >>> for number in ps.run(ps.pipe(numbers, ps.collect())):
    ...     print(f"no number: {number.value}" if isinstance(number, ps.Failed) else number)
    1
    no number: x
    3

    The error's notes name the module, and the line that composed it.
    """

    value: A
    error: Exception


@attrs.frozen
class Caught:
    """The private mark in the place of a value whose function raised; `count` is how many values it stands for."""

    value: Any
    error: Exception
    count: int = 1


def caught(value: Any, error: Exception, count: int = 1) -> Caught:
    """Mark a value. Called where its error was caught: its traceback then begins in the user's code."""
    traceback = error.__traceback__
    return Caught(value, error.with_traceback(None if traceback is None else traceback.tb_next), count)

"""Sources that make their values: `count`, `repeat`, `unfold`."""

from collections.abc import Callable, Iterator
from itertools import count as counting
from itertools import repeat as repeating
from typing import Annotated, Any

from typing_extensions import TypeVar

from pullstream.blueprint import Natural, Source, Sync, TimeOf
from pullstream.blueprint.parts import Function
from pullstream.decorators import opens, source
from pullstream.modules.sources.values import Values

S = TypeVar("S")
T = TypeVar("T")


@source
def count(start: int = 0, step: int = 1, *, time: TimeOf[int] = None) -> Source[int]:
    """Count from `start`, for ever; `time` is that of `values`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.count(1), ps.take(3), ps.collect()))
    [1, 2, 3]
    """
    return opens(Values(counting(start, step), time))


@source
def repeat(value: T, times: Natural | None = None) -> Source[T]:
    """Give one value again and again: `times` times, or for ever.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.repeat("ab", 2), ps.collect()))
    ['ab', 'ab']

    A collection is repeated value by value when it is flattened:

    >>> ps.run(ps.pipe(ps.repeat("ab"), ps.flat_map(list), ps.take(5), ps.collect()))
    ['a', 'b', 'a', 'b', 'a']
    """
    return opens(Values(repeating(value) if times is None else repeating(value, times)))


@source
def unfold(
    state: S,
    function: Annotated[
        Function[S, tuple[T, S] | None], Sync("an async generator decorated with @ps.source may await")
    ],
    *,
    time: TimeOf[T] = None,
) -> Source[T]:
    """Make each value of a state: `function(state)` gives `(value, next_state)`, or None to end.

    >>> import pullstream as ps
    >>> digits = ps.unfold(1234, lambda n: (n % 10, n // 10) if n else None)
    >>> ps.run(ps.pipe(digits, ps.collect()))
    [4, 3, 2, 1]

    `state` is where every run begins, so the function gives a new one instead of changing it. Values are at time 0,
    or at the time that `time` gives each, which must not go back. If the function raises, the values before are
    delivered first (R8), and there is no `on_error`, for there is no state to go on from.
    """
    return opens(Values(_Unfolded(state, function), time))


class _Unfolded:
    def __init__(self, state: Any, function: Callable[[Any], tuple[Any, Any] | None]) -> None:
        self._state = state
        self._function = function

    def __iter__(self) -> Iterator[Any]:
        state = self._state
        while (pair := self._function(state)) is not None:
            value, state = pair
            yield value

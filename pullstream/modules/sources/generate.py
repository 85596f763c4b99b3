"""`integers`, `repeat` and `unfold`: sources that make their values."""

from collections.abc import Callable, Iterator
from itertools import count
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
def integers(start: int = 0, step: int = 1, *, time: TimeOf[int] = None) -> Source[int]:
    """Give the integers from `start` on, in steps of `step`, forever; `time` is as in `values`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.integers(1), ps.take(3), ps.collect()))
    [1, 2, 3]
    """
    return opens(Values(count(start, step), time))


@source
def repeat(value: T, times: Natural | None = None) -> Source[T]:
    """Give one value repeatedly: `times` times, or forever.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.repeat("ab", 2), ps.collect()))
    ['ab', 'ab']

    To repeat the values of a collection, flatten it:

    >>> ps.run(ps.pipe(ps.repeat("ab"), ps.flat_map(list), ps.take(5), ps.collect()))
    ['a', 'b', 'a', 'b', 'a']
    """
    return opens(Values(repeating(value) if times is None else repeating(value, times)))


@source
def unfold(
    state: S,
    function: Annotated[Function[S, tuple[T, S] | None], Sync("write an async generator with @ps.source instead")],
    *,
    time: TimeOf[T] = None,
) -> Source[T]:
    """Make each value from a state: `function(state)` returns `(value, next_state)`, or None to end.

    >>> import pullstream as ps
    >>> digits = ps.unfold(1234, lambda n: (n % 10, n // 10) if n else None)
    >>> ps.run(ps.pipe(digits, ps.collect()))
    [4, 3, 2, 1]

    Every run begins with `state`, so the function must return a new state instead of changing it. Values are at time 0,
    or at the times that `time` gives them, which must not go back. If the function raises, the values before are
    delivered first (R8). There is no `on_error`, because there is no next state to continue from.
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

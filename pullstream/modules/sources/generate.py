"""`integers`, `repeat`, `unfold` and `interval`: sources that make their values."""

import math
from collections.abc import Callable, Hashable, Iterator
from itertools import count, repeat as repeating
from typing import Annotated, Any

import trio
from typing_extensions import override

from pullstream.blueprint import Natural, Seconds, Source, Sync, TimeOf
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import S, T
from pullstream.decorators import opens, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.traits import Traits
from pullstream.modules.sources.batcher import stamped
from pullstream.modules.sources.values import Values
from pullstream.protocol import Batch, Done


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


class _Interval(Kernel[int]):
    traits = Traits(trusted=True)

    def __init__(self, seconds: float, time: Callable[[Any], Hashable] | None = None) -> None:
        self._seconds = seconds
        self._time = time
        self._ticks = 0
        self._multiple = 0

    @override
    async def acquire(self) -> None:
        self._began = trio.current_time()

    @override
    async def produce(self, limit: int) -> Batch[int] | Done:
        # The next multiple, or a later one if there was no ask for a while.
        passed = (trio.current_time() - self._began) / self._seconds
        self._multiple = max(self._multiple + 1, math.ceil(passed))
        await trio.sleep_until(self._began + self._multiple * self._seconds)
        tick = self._ticks
        self._ticks += 1
        return Batch(stamped(tick, self._time), [tick])


@source
def interval(seconds: Seconds, *, time: TimeOf[int] = None) -> Source[int]:
    """Tick 0, 1, 2, ... every `seconds` of trio's clock, from the first ask on, forever.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.interval(0.001), ps.take(3), ps.collect()))
    [0, 1, 2]

    The first tick comes after `seconds`, and all ticks are at multiples of it, so they do not drift. A slow consumer
    gets no burst: without an ask there is no tick, and the next ask gets the next number at the next multiple. Ticks
    are at time 0, or at the times that `time` gives them.
    """
    return opens(_Interval(seconds, time))

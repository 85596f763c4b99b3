"""Sources of given values, of values made one from another, of clock ticks, and of a failure."""

import inspect
import math
from collections.abc import Awaitable, Callable, Generator, Hashable, Iterable, Iterator, Mapping
from itertools import count, repeat as repeating
from numbers import Number
from typing import Annotated, Any, cast, overload

import trio
from typing_extensions import override

from pullstream.blueprint import Call, Emits, Instance, Natural, OneShot, Seconds, Source, Sync, TimeOf, table_advice
from pullstream.blueprint.checks import FAILURE
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import S, T
from pullstream.decorators import opens, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.fused import result_of
from pullstream.engine.parts.waking import Waking
from pullstream.engine.runtime.busy import BREATH
from pullstream.engine.traits import PROMPT, Traits
from pullstream.frames import shown
from pullstream.modules.sources.batcher import Batcher, stamped
from pullstream.protocol import DONE, WAIT, Batch, Done, Unanswered


class Values(PolledKernel[Any]):
    """Reads an iterable as far as values are asked for."""

    traits = PROMPT

    def __init__(self, iterable: Iterable[Any], time: Callable[[Any], Hashable] | None = None) -> None:
        self._iterable = iterable
        # A slice costs a tenth of iterating.
        self._sequence = iterable if time is None and isinstance(iterable, (list, tuple, range)) else None
        self._batcher = Batcher(time) if self._sequence is None else None
        self._next = 0
        self._quick = False

    @override
    async def acquire(self) -> None:
        self._iterator: Iterator[Any] = iter(self._iterable)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done:
        if self._batcher is not None:
            if not self._quick:
                self._asked = self.run.clock.now()
            return self._batcher.batch(self._iterator, limit, None if self._quick else self._slow) or DONE
        assert self._sequence is not None
        values = self._sequence[self._next : self._next + limit]
        self._next += len(values)
        return Batch(0, values) if values else DONE

    def _slow(self) -> bool:
        """Whether a value took long; then it must not wait for other slow ones."""
        self._quick = self.run.clock.waited(self._asked, self.run.clock.now()) <= BREATH
        return not self._quick

    @override
    async def release(self) -> None:
        # Generators hold resources, including one made by a collection's own `__iter__`.
        if isinstance(self._iterable, Iterator) or isinstance(cast("object", self._iterator), Generator):
            close_iterator(self._iterator)
        # An ended stream is a cycle, which the garbage collector may find late: it must not keep a large collection.
        del self._iterable, self._iterator, self._sequence

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        # An iterator is closed even if it was never read.
        if not self.edge.acquired and isinstance(self._iterable, Iterator):
            close_iterator(self._iterable)


def close_iterator(iterator: object) -> None:
    """Close an iterator that can be closed, such as a generator."""
    close = getattr(iterator, "close", None)
    if close is not None:
        close()


def readable(call: Call, iterable: Any) -> Any:
    """Check an argument whose values a source emits."""
    if table := table_advice(iterable):  # most tables are iterable, but not by rows
        raise call.refuse(f"would not iterate a {type(iterable).__name__} by rows: {table}")
    if not isinstance(iterable, Iterable):
        hint = f". For a single value, use once({iterable!r})"
        if inspect.isgeneratorfunction(iterable):
            hint = f". Call it: values({iterable.__name__}())"
        elif hasattr(iterable, "__aiter__"):
            hint = ". Use from_async_iterable(), or a function decorated with @ps.source, for async iterables"
        raise call.refuse(f"needs an iterable, but got {iterable!r}{hint}")
    return OneShot(cast("object", iterable)) if isinstance(iterable, Iterator) else cast("object", iterable)


@overload
def values(iterable: Mapping[Any, T], *, time: TimeOf[T] = None) -> Source[T]: ...
@overload
def values(iterable: Iterable[T], *, time: TimeOf[T] = None) -> Source[T]: ...
@source
def values(iterable: Annotated[Iterable[Any], readable], *, time: TimeOf[Any] = None) -> Source[Any]:
    """Emit the values of an iterable, in order; for a mapping, its values.

    All values are at time 0, unless `time` gives each its own; times must not go back. If `time` raises, the stream
    fails. Sources have no `on_error`: to handle errors value by value, use `stamp(time, on_error=...)` after the
    source.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values({"a": 1, "b": 2}), ps.collect()))
    [1, 2]

    A collection can be read by any number of runs. An iterator can be read by one run; a second one is refused with
    `ReuseError`. A generator is closed however the stream ends.

    An iterator that blocks also blocks everything else, and when its values arrive quickly, many are taken at a time.
    So write a live feed as an async generator, decorated with `source`.
    """
    if isinstance(iterable, Mapping):
        return opens(Values(cast("Mapping[Any, Any]", iterable).values(), time))
    return opens(Values(iterable, time))


class _Fail(Kernel[Any]):
    def __init__(self, failure: BaseException) -> None:
        self._given = failure

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        raise self._given


@source
def fail(failure: Annotated[BaseException, FAILURE]) -> Source[Any]:
    """Fail at the first ask.

    >>> import pullstream as ps
    >>> try:
    ...     ps.run(ps.pipe(ps.fail(ValueError("no data today")), ps.collect()))
    ... except ValueError as error:
    ...     print(error, error.__notes__)  # doctest: +ELLIPSIS
    no data today ['raised in fail, composed at ...']
    """
    return opens(_Fail(failure))


@source
def once(value: T, *, time: TimeOf[T] = None) -> Source[T]:
    """Emit one value, then end: `values([value])`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.once(None), ps.collect()))
    [None]
    """
    return opens(Values((value,), time))


@source
def empty() -> Source[Any]:
    """End at once: `values([])`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.empty(), ps.collect()))
    []
    """
    return opens(Values(()))


@source
@Emits.FOREVER
def integers(
    start: Annotated[int, Instance(Number, "needs a number for its argument 'start'")] = 0,
    step: Annotated[int, Instance(Number, "needs a number for its argument 'step'")] = 1,
    *,
    time: TimeOf[int] = None,
) -> Source[int]:
    """Emit the integers from `start` on, in steps of `step`, forever; `time` is as in `values`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.integers(1), ps.take(3), ps.collect()))
    [1, 2, 3]
    """
    return opens(Values(count(start, step), time))


@source
@Emits.by(lambda module: Emits.UNKNOWN if module.args[1:] else Emits.FOREVER)
def repeat(value: T, times: Natural | None = None) -> Source[T]:
    """Emit one value repeatedly: `times` times, or forever.

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

    Every run begins with `state`, so the function must return a new state instead of changing it. `time` is as in
    `values`. If the function raises, earlier values are delivered first (R8). There is no `on_error`, because there is
    no next state to continue from.
    """
    return opens(Values(_Unfolded(state, function), time))


class _Unfolded:
    def __init__(self, state: Any, function: Callable[[Any], tuple[Any, Any] | None]) -> None:
        self._state = state
        self._function = function

    def __iter__(self) -> Iterator[Any]:
        state = self._state
        while (pair := self._function(state)) is not None:
            try:
                made, state = pair
            except (TypeError, ValueError):
                got = shown(result_of(self._function, pair))
                raise TypeError(
                    f"the function of unfold returned {got}. It must return a pair (value, next_state), or None to end"
                ) from None
            yield made


class _Interval(Waking[int], PolledKernel[int]):
    traits = Traits(trusted=True)

    def __init__(self, seconds: float, time: Callable[[Any], Hashable] | None = None) -> None:
        self._seconds = seconds
        self._time = time
        self._ticks = 0
        self._multiple = 0
        self._next = math.inf
        """The moment of the next tick, once it is asked for."""

    @override
    async def acquire(self) -> None:
        self._began = trio.current_time()

    @override
    def poll(self, limit: int) -> Batch[int] | Done | Unanswered:
        now = trio.current_time()
        if self._next == math.inf:
            # The next multiple, or a later one if there was no ask for a while.
            self._multiple = max(self._multiple + 1, math.ceil((now - self._began) / self._seconds))
            self._next = self._began + self._multiple * self._seconds
        if now < self._next:
            return WAIT
        self._next = math.inf
        tick = self._ticks
        self._ticks += 1
        return Batch(stamped(tick, self._time), [tick])

    @override
    def wait(self) -> Awaitable[None]:
        return self.sleep_until(self._next)

    @override
    def __wakes__(self, wake: Callable[[], object]) -> bool:
        self.call_at_change(wake)
        self.change_at(self._next)
        return True


@source
@Emits.FOREVER
def interval(seconds: Seconds, *, time: TimeOf[int] = None) -> Source[int]:
    """Tick 0, 1, 2, ... every `seconds` of trio's clock, from the first ask on, forever.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.interval(0.001), ps.take(3), ps.collect()))
    [0, 1, 2]

    The first tick comes after `seconds`, and all ticks are at multiples of it, so they do not drift. A slow consumer
    gets no burst: without an ask there is no tick, and the next ask gets the next number at the next multiple. `time`
    is as in `values`.
    """
    return opens(_Interval(seconds, time))

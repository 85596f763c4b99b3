"""Sources: `values`, `once`, `empty`, `fail`, `count`, `infinite`."""

import random
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import count as counting
from itertools import islice
from time import monotonic
from typing import Any, ClassVar, Final, cast, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, OneShot, Site, Source, callable_argument
from pullstream.engine.kernel import Kernel
from pullstream.errors import CompositionError
from pullstream.protocol import DONE, Batch, Done

T = TypeVar("T")

_END: Final = object()


class Values(Kernel[Any]):
    """Reads an iterable, as much of it as is asked for."""

    waits: ClassVar[bool] = False
    trusted: ClassVar[bool] = True

    def __init__(self, iterable: Iterable[Any], time: Callable[[Any], Hashable] | None) -> None:
        self._iterable = iterable
        self._time = time
        self._failed: BaseException | None = None
        self._kept: list[Any] = []

        # A slice costs a tenth of an iterator's steps.
        self._sequence = iterable if isinstance(iterable, (list, tuple, range)) else None
        self._next = 0

    @override
    async def acquire(self) -> None:
        self._iterator: Iterator[Any] = iter(self._iterable)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._failed is not None:
            raise self._failed
        if self._sequence is not None and self._time is None:
            return self._slice(self._sequence, limit)
        began = monotonic()
        try:
            return self._untimed(limit) if self._time is None else self._timed(limit, self._time)
        finally:
            self.run.blocked += monotonic() - began

    def _slice(self, sequence: Sequence[Any], limit: int) -> Batch[Any] | Done:
        values = sequence[self._next : self._next + limit]
        self._next += len(values)
        return Batch(0, values) if values else DONE

    def _untimed(self, limit: int) -> Batch[Any] | Done:
        values: list[Any] = []
        try:
            values.extend(islice(self._iterator, limit))
        except BaseException as exc:  # noqa: BLE001 - raised with the next ask, if anything came before
            self._fail(exc, values)
        return Batch(0, values) if values else DONE

    def _timed(self, limit: int, time_of: Callable[[Any], Hashable]) -> Batch[Any] | Done:
        values: list[Any] = []
        time: Hashable = None
        try:
            while len(values) < limit:
                if self._kept:
                    value, value_time = self._kept
                    self._kept = []
                else:
                    value = next(self._iterator, _END)
                    if value is _END:
                        break
                    value_time = time_of(value)
                    if value_time is None:
                        raise TypeError(f"{value!r} has no time: what was given as time= returned None")  # noqa: TRY301
                if values and value_time != time:
                    self._kept = [value, value_time]
                    break
                time = value_time
                values.append(value)
        except BaseException as exc:  # noqa: BLE001 - raised with the next ask, if anything came before
            self._fail(exc, values)
        return Batch(time, values) if values else DONE

    def _fail(self, exc: BaseException, values: list[Any]) -> None:
        """Deliver what came before; the failure comes with the next ask."""
        if not values:
            raise exc
        self._failed = exc

    @override
    async def release(self) -> None:
        # Generators hold resources; collections and their iterators have no `close`.
        close = getattr(self._iterator, "close", None)
        if close is not None and isinstance(self._iterable, Iterator):
            close()


def values(iterable: Iterable[T], *, time: Callable[[T], Hashable] | None = None) -> Source[T]:
    """Give the values of an iterable, in order; of a mapping, its values.

    All are at time 0, unless `time` gives each its own, which must not go back.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values({"a": 1, "b": 2}), ps.collect()))
    [1, 2]

    A collection can be read by any number of runs. An iterator can be read by one: a second run is refused with
    `ReuseError`. A generator is closed when the stream ends, however it ends.
    """
    if not isinstance(iterable, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        hint = (
            "; what is awaited goes into a function decorated with @ps.source" if hasattr(iterable, "__aiter__") else ""
        )
        raise CompositionError(f"values() at {Site.here()} needs an iterable, and got {iterable!r}{hint}")
    if time is not None:
        callable_argument("values", "time", time)
    given: object = OneShot(iterable) if isinstance(iterable, Iterator) else iterable
    return Source((Module("values", _values, (given,), () if time is None else (("time", time),)),))


def _values(iterable: Iterable[Any], time: Callable[[Any], Hashable] | None = None) -> Values:
    if isinstance(iterable, Mapping):
        return Values(cast("Mapping[Any, Any]", iterable).values(), time)
    return Values(iterable, time)


def once(value: T) -> Source[T]:
    """Give one value, then end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.once(None), ps.collect()))
    [None]
    """
    return Source((Module("once", _once, (value,)),))


def _once(value: object) -> Values:
    return Values((value,), None)


def empty() -> Source[Any]:
    """End at once.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.empty(), ps.collect()))
    []
    """
    return Source((Module("empty", _empty),))


def _empty() -> Values:
    return Values((), None)


class _Fail(Kernel[Any]):
    def __init__(self, failure: BaseException) -> None:
        self._given = failure

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        raise self._given


def fail(failure: BaseException) -> Source[Any]:
    """Fail at the first ask.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.fail(ValueError("no data today")), ps.collect()))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: no data today
    raised in fail, composed at ...
    """
    if not isinstance(failure, BaseException):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionError(f"fail() at {Site.here()} needs an exception, and got {failure!r}")
    return Source((Module("fail", _Fail, (failure,)),))


def count(start: int = 0, step: int = 1) -> Source[int]:
    """Count from `start`, for ever.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.count(1), ps.take(3), ps.collect()))
    [1, 2, 3]
    """
    return Source((Module("count", _count, (start, step)),))


def _count(start: int, step: int) -> Values:
    return Values(counting(start, step), None)


@overload
def infinite() -> Source[float]: ...
@overload
def infinite(function: Callable[[], T]) -> Source[T]: ...
def infinite(function: Callable[[], Any] = random.random) -> Source[Any]:
    """Call a function for each value, for ever.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.infinite(lambda: "tick"), ps.take(2), ps.collect()))
    ['tick', 'tick']
    """
    callable_argument("infinite", "function", function)
    return Source((Module("infinite", _infinite, (function,)),))


def _infinite(function: Callable[[], Any]) -> Values:
    return Values(_Calls(function), None)


class _Calls:
    """The results of calling a function, one at a time; unlike `iter(f, sentinel)` it compares nothing."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield self._function()

"""Sources of what there is: `values`, `fail`."""

import inspect
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, cast

from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Instance, OneShot, Source, TimeOf, table_advice
from pullstream.decorators import opens, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.batcher import Batcher
from pullstream.engine.traits import PROMPT
from pullstream.protocol import DONE, Batch, Done

T = TypeVar("T")


class Values(Kernel[Any]):
    """Reads an iterable, as much of it as is asked for."""

    traits = PROMPT

    def __init__(self, iterable: Iterable[Any], time: Callable[[Any], Hashable] | None = None) -> None:
        self._iterable = iterable
        self._batcher = Batcher(time)
        # A slice costs a tenth of an iterator's steps.
        self._sequence = iterable if time is None and isinstance(iterable, (list, tuple, range)) else None
        self._next = 0
        self._begun = False

    @override
    async def acquire(self) -> None:
        self._begun = True
        self._iterator: Iterator[Any] = iter(self._iterable)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._sequence is not None:
            return self._slice(self._sequence, limit)
        return self._batcher.batch(self._iterator, limit) or DONE

    def _slice(self, sequence: Sequence[Any], limit: int) -> Batch[Any] | Done:
        values = sequence[self._next : self._next + limit]
        self._next += len(values)
        return Batch(0, values) if values else DONE

    @override
    async def release(self) -> None:
        # Generators hold resources, those that a collection's own `__iter__` makes, too.
        if isinstance(self._iterable, Iterator) or isinstance(cast("object", self._iterator), Generator):
            _close(self._iterator)

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        # What was given to be read once is closed, even if nobody has asked for it.
        if not self._begun and isinstance(self._iterable, Iterator):
            _close(self._iterable)


def _close(iterator: object) -> None:
    close = getattr(iterator, "close", None)
    if close is not None:
        close()


def _readable(call: Call, iterable: Any) -> Any:
    if table := table_advice(iterable):  # most can be iterated, though not by rows
        raise call.refuse(f"takes a {type(iterable).__name__} apart by columns, if at all: {table}")
    if not isinstance(iterable, Iterable):
        hint = ""
        if inspect.isgeneratorfunction(iterable):
            hint = f": call it, values({iterable.__name__}())"
        elif hasattr(iterable, "__aiter__"):
            hint = "; from_async_iterable() awaits its values, and so does a function decorated with @ps.source"
        raise call.refuse(f"needs an iterable, and got {iterable!r}{hint}")
    return OneShot(cast("object", iterable)) if isinstance(iterable, Iterator) else cast("object", iterable)


@source
def values(iterable: Annotated[Iterable[T], _readable], *, time: TimeOf[T] = None) -> Source[T]:
    """Give the values of an iterable, in order; of a mapping, its values.

    All are at time 0, unless `time` gives each its own, which must not go back. What `time` raises fails the stream,
    here and in every source, which have no `on_error`: `stamp(time, on_error=...)` below one deals with it by value.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values({"a": 1, "b": 2}), ps.collect()))
    [1, 2]

    A collection can be read by any number of runs. An iterator can be read by one: a second run is refused with
    `ReuseError`. A generator is closed when the stream ends, however it ends.
    """
    if isinstance(iterable, Mapping):
        return opens(Values(cast("Mapping[Any, T]", iterable).values(), time))
    return opens(Values(iterable, time))


class _Fail(Kernel[Any]):
    def __init__(self, failure: BaseException) -> None:
        self._given = failure

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        raise self._given


@source
def fail(failure: Annotated[BaseException, Instance(BaseException, "needs an exception")]) -> Source[Any]:
    """Fail at the first ask.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.fail(ValueError("no data today")), ps.collect()))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    ValueError: no data today
    raised in fail, composed at ...
    """
    return opens(_Fail(failure))

"""`values`, `once`, `empty` and `fail`: sources of given values, and of a failure."""

import inspect
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping
from typing import Annotated, Any, cast

from typing_extensions import override

from pullstream.blueprint import Call, Instance, OneShot, Source, TimeOf, table_advice
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import T
from pullstream.decorators import opens, source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.traits import PROMPT
from pullstream.modules.sources.batcher import Batcher
from pullstream.protocol import DONE, Batch, Done


class Values(PolledKernel[Any]):
    """Reads an iterable as far as values are asked for."""

    traits = PROMPT

    def __init__(self, iterable: Iterable[Any], time: Callable[[Any], Hashable] | None = None) -> None:
        self._iterable = iterable
        # A slice costs a tenth of iterating.
        self._sequence = iterable if time is None and isinstance(iterable, (list, tuple, range)) else None
        self._batcher = Batcher(time) if self._sequence is None else None
        self._next = 0
        self._begun = False

    @override
    async def acquire(self) -> None:
        self._begun = True
        self._iterator: Iterator[Any] = iter(self._iterable)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done:
        if self._batcher is not None:
            return self._batcher.batch(self._iterator, limit) or DONE
        assert self._sequence is not None
        values = self._sequence[self._next : self._next + limit]
        self._next += len(values)
        return Batch(0, values) if values else DONE

    @override
    async def release(self) -> None:
        # Generators hold resources, including one made by a collection's own `__iter__`.
        if isinstance(self._iterable, Iterator) or isinstance(cast("object", self._iterator), Generator):
            _close(self._iterator)

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        # An iterator is closed even if it was never read.
        if not self._begun and isinstance(self._iterable, Iterator):
            _close(self._iterable)


def _close(iterator: object) -> None:
    close = getattr(iterator, "close", None)
    if close is not None:
        close()


def _readable(call: Call, iterable: Any) -> Any:
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


@source
def values(iterable: Annotated[Iterable[T], _readable], *, time: TimeOf[T] = None) -> Source[T]:
    """Give the values of an iterable, in order; for a mapping, its values.

    All values are at time 0, unless `time` gives each its own; times must not go back. If `time` raises, the stream
    fails. Sources have no `on_error`: to handle errors value by value, use `stamp(time, on_error=...)` after the
    source.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values({"a": 1, "b": 2}), ps.collect()))
    [1, 2]

    A collection can be read by any number of runs. An iterator can be read by one run; a second one is refused with
    `ReuseError`. A generator is closed however the stream ends.
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


def once(value: T, *, time: Function[T, Hashable] | None = None) -> Source[T]:
    """Give one value, then end: `values([value])`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.once(None), ps.collect()))
    [None]
    """
    return values((value,), time=time)


def empty() -> Source[Any]:
    """End at once: `values([])`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.empty(), ps.collect()))
    []
    """
    return values(())

"""Transformers that give several values for one, or for a batch: `flat_map`, `map_batches`."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from time import monotonic
from typing import Annotated, Any, Literal, cast, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, Transformer, checks
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.inner import forget_inner, open_inner
from pullstream.engine.nested.on_error import Handled, OnError, catches, guarded_iterable
from pullstream.engine.parts.outbox import spent
from pullstream.engine.parts.pace import Pace
from pullstream.engine.traits import Traits
from pullstream.failures import Failed
from pullstream.protocol import DONE, Batch, Done, State

A = TypeVar("A")
B = TypeVar("B")


class _Expand(Kernel[Any]):
    """Gives the values of one iterator after another, as many at a time as are asked for."""

    traits = Traits(waits=False, trusted=True)

    def __init__(self) -> None:
        self._inner: Iterator[Any] | None = None
        self._time: Hashable = None
        self._failed: BaseException | None = None

    @abstractmethod
    async def next_inner(self, limit: int) -> Iterator[Any] | None:
        """The next iterator, or None at the end; sets `_time`."""

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._failed is not None:
            raise self._failed
        values: list[Any] = []
        while True:
            try:
                if self._inner is None:
                    self._inner = await self.next_inner(limit)
                    if self._inner is None:
                        return DONE
                began = monotonic()
                try:
                    self._extend(values, limit)
                finally:
                    self.run.blocked += monotonic() - began
            except BaseException as exc:
                if not values:
                    raise
                self._failed = exc
            if values:
                if self._failed is None and self.over():
                    self.upstream.settle()
                return Batch(self._time, values)
            if not await self.breathe():
                return DONE

    def over(self) -> bool:
        """Whether nothing is left of the batch above; while anything is, or may be, it stays in flight."""
        return self._inner is None

    def _extend(self, values: list[Any], limit: int) -> None:
        assert self._inner is not None
        values.extend(islice(self._inner, limit))
        if len(values) < limit or spent(self._inner):
            self._inner = None

    @override
    async def release(self) -> None:
        close = getattr(self._inner, "close", None)
        if close is not None:
            close()


class _MapBatches(_Expand):
    def __init__(self, function: Callable[[list[Any]], Iterable[Any]]) -> None:
        super().__init__()
        self._function = function

    @override
    async def next_inner(self, limit: int) -> Iterator[Any] | None:
        batch = await self.upstream.ask(limit)
        if batch is DONE:
            return None
        self._time = batch.time
        return iter(self._function(list(batch.values)))


@overload
def map_batches(
    function: Callable[[list[A]], Iterable[B]], *, on_error: OnError[list[A]] = "fail"
) -> Transformer[A, B]: ...
@overload
def map_batches(
    function: Callable[[list[A]], Iterable[B]], *, on_error: Literal["result"]
) -> Transformer[A, B | Failed[list[A]]]: ...
@transformer
def map_batches(
    function: Annotated[Callable[[list[Any]], Iterable[Any]], checks.function], *, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Apply a function to whole batches: lists of values at one time, at most as long as what was asked for.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.map_batches(sorted), ps.collect()))
    [1, 2, 3]

    How long the lists are depends on who asks: this is for speed (a vectorised function), not for grouping. The
    result may have any length; what exceeds the ask is kept for the next one. If the function raises, it is its whole
    list that failed; with an `on_error` (see `map`) that is the value of a `Failed`, and all its values are left out.
    """
    return opens(_MapBatches(guarded_iterable(function, whole=True) if catches(on_error) else function))


class _FlatMap(_Expand):
    def __init__(self, function: Callable[[Any], Iterable[Any] | Source[Any]]) -> None:
        super().__init__()
        self._function = function
        self._outer: Iterator[Any] = iter(())
        self._lane: Lane[Any] | None = None
        self._pace = Pace()

    @override
    async def next_inner(self, limit: int) -> Iterator[Any] | None:
        if self._lane is not None:
            return await self._of_source(self._lane, limit)
        for value in self._outer:
            return self._begin(value)
        batch = await self.upstream.ask(min(limit, self._pace.next()))
        if batch is DONE:
            return None
        self._pace.took(len(batch.values))
        self._time = batch.time
        self._outer = iter(batch.values)
        return iter(())

    async def _of_source(self, lane: Lane[Any], limit: int) -> Iterator[Any] | None:
        batch = await lane.ask(limit)
        if batch is not DONE:
            return iter(batch.values)
        if self.state is not State.OPEN:
            return None
        forget_inner(self, [lane])
        self._lane = None
        return iter(())

    @override
    def over(self) -> bool:
        return self._inner is None and self._lane is None and spent(self._outer)

    @override
    def _extend(self, values: list[Any], limit: int) -> None:
        assert self._inner is not None
        values.extend(islice(self._inner, limit))
        while len(values) < limit or spent(self._inner):
            self._inner = None
            if self._lane is not None or len(values) == limit:
                return
            for value in self._outer:
                self._inner = self._begin(value)
                values.extend(islice(self._inner, limit - len(values)))
                break
            else:
                self._outer = iter(())
                return

    def _begin(self, value: Any) -> Iterator[Any]:
        given = self._function(value)
        if isinstance(given, Source):
            self._lane = open_inner(self, cast("Source[Any]", given))
            return iter(())
        return iter(given)


@overload
def flat_map(
    function: Callable[[A], Iterable[B] | Source[B]], *, on_error: OnError[A] = "fail"
) -> Transformer[A, B]: ...
@overload
def flat_map(
    function: Callable[[A], Iterable[B] | Source[B]], *, on_error: Literal["result"]
) -> Transformer[A, B | Failed[A]]: ...
@transformer
def flat_map(
    function: Annotated[Callable[[Any], Iterable[Any] | Source[Any]], checks.function], *, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Apply a function that gives any number of values for each, and give them one after another.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["a b", "", "c"]), ps.flat_map(str.split), ps.collect()))
    ['a', 'b', 'c']

    The iterables are read only as far as is asked for, so they may be endless; one that is a generator is closed if
    the stream ends in its middle. If the function raises, or an iterable does, see `map`; what came of the value
    before has come.

    Upstream is asked for one value at a time, and for more as long as what comes of them is given in a moment.

    The function may give a source instead, which is opened, and read to its end, before the next value is taken:

    >>> ps.run(ps.pipe(ps.values("ab"), ps.flat_map(lambda value: ps.repeat(value, 2)), ps.collect()))
    ['a', 'a', 'b', 'b']

    Its values are at the time of the value it was given for, and its failure is the stream's. Several side by side,
    or nested ones, are for `flatten` after `map`.
    """
    return opens(_FlatMap(guarded_iterable(function) if catches(on_error) else function))

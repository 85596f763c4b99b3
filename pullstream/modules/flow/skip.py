"""`skip`: a stream without its beginning."""

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, ClassVar, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Site, Transformer, count_argument, sync_argument
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.nested.on_error import OnError, catches, with_policy
from pullstream.engine.sidecar.location import Carries
from pullstream.errors import CompositionError
from pullstream.failures import Failed, caught
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")


class _Skip(Kernel[Any]):
    waits: ClassVar[bool] = False
    trusted: ClassVar[bool] = True
    carries: Carries = Carries.MEMORY

    def __init__(self, count: int) -> None:
        self._left = count

    @override
    def restore(self) -> None:
        self._left = self.memory.get("left", self._left)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            batch = await self.upstream.ask(limit)
            if batch is DONE:
                return DONE
            if self._left == 0:
                self.upstream.settle()
                return batch
            count = len(batch.values)
            left, self._left = self._left, max(0, self._left - count)
            self.memory.at(batch.time)["left"] = self._left
            if left < count:
                self.upstream.settle()
                return Batch(batch.time, batch.values[left:])
            if not await self.breathe():
                return DONE


class _SkipWhile(Kernel[Any]):
    waits: ClassVar[bool] = False
    trusted: ClassVar[bool] = True
    carries: Carries = Carries.MEMORY

    def __init__(self, test: Callable[[Any], object], on_error: object = "fail") -> None:
        self._test = test
        self._catches = catches(on_error)
        self._skipping = True

    @override
    def restore(self) -> None:
        self._skipping = self.memory.get("skipping", True)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            batch = await self.upstream.ask(limit)
            if batch is DONE:
                return DONE
            if not self._skipping:
                self.upstream.settle()
                return batch
            began = monotonic()
            values = self._rest(batch.values)
            self.memory.at(batch.time)["skipping"] = self._skipping
            self.run.blocked += monotonic() - began
            if values:
                self.upstream.settle()
                return Batch(batch.time, values)
            if not await self.breathe():
                return DONE

    def _rest(self, values: Sequence[Any]) -> list[Any]:
        """What is left of a batch; a failure needs no keeping, for nothing comes before it."""
        marks: list[Any] = []
        for position, value in enumerate(values):
            try:
                holds = self._test(value)
            except Exception as exc:
                if not self._catches:
                    raise
                marks.append(caught(value, exc))
                continue
            if not holds:
                self._skipping = False
                return [*marks, *values[position:]]
        return marks


@overload
def skip(what: int, /) -> Transformer[A, A]: ...
@overload
def skip(what: Callable[[A], object], /, *, on_error: OnError[A] = "fail") -> Transformer[A, A]: ...
@overload
def skip(what: Callable[[A], object], /, *, on_error: Literal["result"]) -> Transformer[A, A | Failed[A]]: ...
def skip(what: int | Callable[[Any], object], /, *, on_error: object = "fail") -> Transformer[Any, Any]:
    """Leave out the first values, so many or while a test holds, and give the rest.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcd"), ps.skip(2), ps.collect()))
    ['c', 'd']
    >>> ps.run(ps.pipe(ps.values([1, 2, 9, 1]), ps.skip(lambda n: n < 5), ps.collect()))
    [9, 1]

    Times are kept. If the test raises, see `map`; a value whose test raised ends nothing.
    """
    if not callable(what):
        count_argument("skip", "count", what)
        if on_error != "fail":
            raise CompositionError(f"skip({what!r}) at {Site.here()} got on_error=, which goes with a test")
        return Transformer((Module("skip", _Skip, (what,)),))
    sync_argument("skip", "test", what, "a test answers at once; map_async the values first, and skip by the results")
    return Transformer(with_policy(Module("skip", _SkipWhile, (what,)), on_error))

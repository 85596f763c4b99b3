"""`take`, `take_times`: a stream's beginning."""

from collections.abc import Callable, Hashable, Sequence
from time import monotonic
from typing import Any, ClassVar, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Site, Transformer, count_argument, sync_argument
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.nested.on_error import OnError, catches, with_policy
from pullstream.engine.parts.notified import Notified
from pullstream.engine.sidecar.location import Carries
from pullstream.errors import CompositionError
from pullstream.failures import Failed, caught
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")


class _Take(Kernel[Any]):
    carries: Carries = Carries.COUNT
    waits: ClassVar[bool] = False
    prompt: ClassVar[bool] = True
    trusted: ClassVar[bool] = True

    def __init__(self, count: int) -> None:
        self._left = count
        if count == 0:
            self.carries = Carries.NOTHING

    @override
    def restore(self) -> None:
        self._left = self.memory.get("left", self._left)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._left == 0:
            return DONE
        batch = await self.upstream.ask(min(limit, self._left))
        if batch is not DONE:
            self._left -= len(batch.values)
            self.memory.at(batch.time)["left"] = self._left
            self.upstream.settle()
        return batch


class _TakeWhile(Kernel[Any]):
    waits: ClassVar[bool] = False
    prompt: ClassVar[bool] = True
    trusted: ClassVar[bool] = True

    def __init__(
        self, test: Callable[[Any], object], *, last: bool = False, ahead: int = 1, on_error: object = "fail"
    ) -> None:
        self._test = test
        self._last = last
        self._ahead = ahead
        self._catches = catches(on_error)
        self._ended = False
        self._failed: BaseException | None = None

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._failed is not None:
            raise self._failed
        if self._ended:
            return DONE
        batch = await self.upstream.ask(min(limit, self._ahead))
        if batch is DONE:
            return DONE
        values: list[Any] = []
        began = monotonic()
        try:
            self._pass(batch.values, values)
        except BaseException as exc:
            if not values:
                raise
            self._failed = exc
        self.run.blocked += monotonic() - began
        if self._failed is None:
            self.upstream.settle()
        return Batch(batch.time, values) if values else DONE

    def _pass(self, values: Sequence[Any], out: list[Any]) -> None:
        test, guarded = self._test, self._catches
        for value in values:
            try:
                holds = test(value)
            except Exception as exc:
                if not guarded:
                    raise
                out.append(caught(value, exc))
                continue
            if not holds:
                self._ended = True
                if self._last:
                    out.append(value)
                return
            out.append(value)


@overload
def take(what: int, /) -> Transformer[A, A]: ...
@overload
def take(
    what: Callable[[A], object], /, *, last: bool = False, ahead: int = 1, on_error: OnError[A] = "fail"
) -> Transformer[A, A]: ...
@overload
def take(
    what: Callable[[A], object], /, *, last: bool = False, ahead: int = 1, on_error: Literal["result"]
) -> Transformer[A, A | Failed[A]]: ...
def take(
    what: int | Callable[[Any], object], /, *, last: bool = False, ahead: int = 1, on_error: object = "fail"
) -> Transformer[Any, Any]:
    """Give the first values, so many or while a test holds, then abort what is upstream and end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.count(), ps.take(3), ps.collect()))
    [0, 1, 2]

    It never asks for more than it gives, and aborts with the ask after the last value (R7). It may end in the middle
    of a time, which is then complete with a part of its values: `take_times` takes whole times.

    With a test it gives the values before the first that fails it, and with `last` that one too:

    >>> ps.run(ps.pipe(ps.count(), ps.take(lambda n: n < 3), ps.collect()))
    [0, 1, 2]
    >>> ps.run(ps.pipe(ps.count(), ps.take(lambda n: n < 3, last=True), ps.collect()))
    [0, 1, 2, 3]

    It then asks for one value at a time, so that nothing past the last is produced; `ahead` allows it to ask for so
    many at a time, which is faster, and may have values produced that nobody gets. If the test raises, see `map`; a
    value whose test raised is not the last.
    """
    if not callable(what):
        count_argument("take", "count", what)
        if last or ahead != 1 or on_error != "fail":
            raise CompositionError(
                f"take({what!r}) at {Site.here()} got last=, ahead= or on_error=, which go with a test: "
                f"take(lambda value: ..., last=True)"
            )
        return Transformer((Module("take", _Take, (what,)),))
    sync_argument("take", "test", what, "a test answers at once; map_async the values first, and take by the results")
    count_argument("take", "ahead", ahead, least=1)
    options: tuple[tuple[str, object], ...] = (("last", True),) if last else ()
    if ahead != 1:
        options += (("ahead", ahead),)
    return Transformer(with_policy(Module("take", _TakeWhile, (what,), options), on_error))


class _TakeTimes(Notified):
    carries: Carries = Carries.COUNT

    def __init__(self, count: int) -> None:
        super().__init__()
        self._count = count
        self._taken: set[Hashable] = set()
        self._pending = count
        if count == 0:
            self.carries = Carries.NOTHING
            self.stop()

    @override
    def restore(self) -> None:
        # Those in the memory were complete, and come no more.
        self._taken = set(self.memory)
        self._pending -= len(self._taken)
        if self._pending == 0:
            self.stop()

    @override
    def receive(self, time: Hashable, values: Sequence[Any]) -> None:
        if time not in self._taken and len(self._taken) < self._count:
            self._taken.add(time)
            self.memory.at(time, ordered=False)[time] = None
            self.remind(time)
        if time in self._taken:
            self.give(time, values)

    @override
    def complete(self, time: Hashable) -> None:
        self._pending -= 1
        if self._pending == 0:
            self.stop()


def take_times(count: int) -> Transformer[A, A]:
    """Give all values of the first `count` times that come, then abort what is upstream and end.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([10, 11, 20, 21, 30], time=lambda n: n // 10), ps.take_times(2), ps.collect()))
    [10, 11, 20, 21]

    It ends as soon as those times are complete at its input: for a source in time order, when the next time comes,
    or sooner if the source knows sooner. Batches at other times that come before are dropped.
    """
    count_argument("take_times", "count", count)
    return Transformer((Module("take_times", _TakeTimes, (count,)),))

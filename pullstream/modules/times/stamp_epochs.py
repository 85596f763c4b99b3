"""`stamp_epochs`: times 0, 1, 2, ..., by count, by the values, or by the clock."""

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from operator import ne
from typing import Annotated, Any, Final, overload

import trio
from typing_extensions import override

from pullstream.blueprint import Call, Emits, Positive, Seconds, Sync, Transformer, together
from pullstream.blueprint.parts import Function, Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.fused import result_of
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.sidecar.location import NOTHING
from pullstream.engine.traits import Carries, Traits
from pullstream.failures import caught
from pullstream.modules.times.stamp import Clock, Stamping, several_times
from pullstream.modules.values.on_error import OnError, catches
from pullstream.protocol import DONE, Batch, Done
from pullstream.timely import BEGINNING

_AT_ONCE: Final = Sync("a test or key cannot be awaited; use map_async first")


class _Counted(Clock):
    hold: Any = 0

    def __init__(self, count: int) -> None:
        self._count = count
        self._left = count

    @override
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        out += values
        left = len(values)
        while left >= self._left:
            times += [self.hold] * self._left
            left -= self._left
            self.hold += 1
            self._left = self._count
        times += [self.hold] * left
        self._left -= left


class _Begun(Clock):
    """Starts a new epoch when `begins` is true for the results of a function for a value and the one before it."""

    hold: Any = 0

    def __init__(
        self, function: Callable[[Any], object], begins: Callable[[object, object], object], on_error: object
    ) -> None:
        self._function = function
        self._begins = begins
        self._catches = catches(on_error)
        self._before: object = NOTHING

    @override
    def give(self, values: Sequence[Any], out: list[Any], times: list[Hashable]) -> None:
        function = self._function
        for value in values:
            given = value
            try:
                result = function(value)
                if self._before is NOTHING:
                    result_of(function, result)
                elif self._begins(result, self._before):
                    self.hold += 1
                self._before = result
            except Exception as exc:
                if not self._catches:
                    raise
                given = caught(value, exc)
            times.append(self.hold)
            out.append(given)


class _Ticking(TaskKernel[Any]):
    """Delivers values at the number of the period in which they arrive. A period ends even without values."""

    traits = Traits(trusted=True, summaries=((),), carries=Carries.LOST)

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._first: Hashable = BEGINNING
        self._epoch: Any = BEGINNING

    @override
    def placed(self) -> None:
        self.location.hold(BEGINNING)

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._start = trio.current_time()
        self._advance(0)
        self.start(self._tick)

    async def _tick(self) -> None:
        while True:
            await trio.sleep_until(self._start + (self._epoch + 1) * self._seconds)
            passed = int((trio.current_time() - self._start) // self._seconds)
            # The clock's rounding must not make it tick in an endless loop.
            self._advance(max(passed, self._epoch + 1))

    def _advance(self, epoch: int) -> None:
        self.location.hold(epoch)
        self.location.drop(self._epoch)
        self._epoch = epoch

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        batch = await self.upstream.ask(limit)
        if batch is DONE:
            return DONE
        if batch.time != self._first:
            if self._first is not BEGINNING:
                raise several_times(self.location, self._first, batch.time)
            self._first = batch.time
        self.upstream.settle()
        return Batch(self._epoch, batch.values)


def _one_of_four(call: Call) -> None:
    named = {name: value for name in ("count", "begin", "key", "seconds") if (value := call[name]) is not None}
    if len(named) != 1:
        raise call.refuse(f"needs exactly one of count, begin, key and seconds, but got {named or 'none'}")
    if "seconds" in named and call["nest"]:
        raise call.refuse(
            "got nest= with seconds=, but periods of the clock cannot be nested in the times of the input"
        )


@overload
def stamp_epochs(count: int, *, nest: bool = False) -> Same[V]: ...
@overload
def stamp_epochs(*, begin: Function[V, object], nest: bool = False, on_error: OnError[V] = "fail") -> Same[V]: ...
@overload
def stamp_epochs(*, key: Function[V, object], nest: bool = False, on_error: OnError[V] = "fail") -> Same[V]: ...
@overload
def stamp_epochs(*, seconds: float) -> Same[V]: ...
@transformer
@together(_one_of_four)
@Emits.AT_OTHER_TIMES
def stamp_epochs(
    count: Positive | None = None,
    *,
    begin: Annotated[Callable[[Any], object] | None, _AT_ONCE] = None,
    key: Annotated[Callable[[Any], object] | None, _AT_ONCE] = None,
    seconds: Seconds | None = None,
    nest: bool = False,
    on_error: OnError[Any] = "fail",
) -> Transformer[Any, Any]:
    """Stamp values with epoch numbers 0, 1, 2, ...: `count` values each, or by test, key or clock.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.stamp_epochs(2), ps.collect(timed=True)))
    [(0, 'a'), (0, 'b'), (1, 'c'), (1, 'd'), (2, 'e')]

    With `begin`, each value that passes the test starts an epoch. With `key`, each value whose key differs from that of
    the value before starts one:

    >>> lines = ps.values(["# tea", "3", "4", "# rice", "5"])
    >>> by_title = ps.stamp_epochs(begin=lambda line: line.startswith("#"))
    >>> ps.run(ps.pipe(lines, by_title, ps.count_by_key(lambda _: "lines"), ps.collect(timed=True)))
    [(0, ('lines', 3)), (1, ('lines', 2))]

    With `seconds`, an epoch is a period of trio's clock, starting at the first ask. It is complete when the period
    ends, even if no value arrives. An epoch of `count` values is complete with its last value. Any other epoch is
    complete with the first value of the next.

    The new times replace those of the input, which may have only one; `nest=True` lifts that limit, as in `stamp`.
    Errors in `begin` and `key` are handled as in `map`, except that there is no `on_error="result"`.

    Raises: CapabilityError: the input has a second time.
    """
    if count is not None:
        return opens(Stamping(partial(_Counted, count), nest=nest, counts=True))
    if begin is not None:
        return opens(Stamping(partial(_Begun, begin, lambda passes, _: passes, on_error), nest=nest, counts=True))
    if key is not None:
        return opens(Stamping(partial(_Begun, key, ne, on_error), nest=nest, counts=True))
    assert seconds is not None, "the check requires one of the four"
    return opens(_Ticking(seconds))

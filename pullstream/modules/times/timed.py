"""`timed`: makes times part of the values."""

from collections.abc import Callable, Hashable
from typing import Annotated, Any, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Sync, Transformer
from pullstream.blueprint.parts import TimedValues
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.per_batch import PassOn
from pullstream.failures import Failed, caught
from pullstream.modules.values.on_error import Handled, OnError, catches
from pullstream.protocol import Batch

A = TypeVar("A")
V = TypeVar("V", default=Any)
B = TypeVar("B")


def _pair(time: Hashable, value: Any) -> tuple[Hashable, Any]:
    return time, value


class _Timed(PassOn):
    def __init__(self, function: Callable[[Any, Any], Any], on_error: object) -> None:
        self._function = function
        self._catches = catches(on_error)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        out: list[Any] = []
        times = batch.times
        try:
            for value, time in zip(batch.values, times, strict=True):
                try:
                    out.append(self._function(time, value))
                except Exception as exc:
                    if not self._catches:
                        raise
                    out.append(caught(value, exc))
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.fail(exc, out, batch, len(out))
        return Batch(batch.time, out) if batch.uniform else Batch.of(times[: len(out)], out)


@overload
def timed() -> TimedValues[V]: ...
@overload
def timed(function: Callable[[Any, A], B], *, on_error: OnError[A] = "fail") -> Transformer[A, B]: ...
@overload
def timed(function: Callable[[Any, A], B], *, on_error: Literal["result"]) -> Transformer[A, B | Failed[A]]: ...
@transformer
def timed(
    function: Annotated[
        Callable[[Any, Any], Any], Sync("use timed() without a function, then map_async(function, concurrency)")
    ] = _pair,
    *,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Replace every value by `function(time, value)`; by default, by the pair `(time, value)`.

    Use it, for example, to write the day into each line of a report:

    >>> import pullstream as ps
    >>> sold = ps.values([(1, "tea"), (1, "rice"), (1, "tea"), (2, "tea")], time=lambda sale: sale[0])
    >>> lines = ps.timed(lambda day, counted: {"day": day, "item": counted[0], "sold": counted[1]})
    >>> for line in ps.run(ps.pipe(sold, ps.count_by_key(lambda sale: sale[1]), lines, ps.collect())):
    ...     print(line)
    {'day': 1, 'item': 'tea', 'sold': 2}
    {'day': 1, 'item': 'rice', 'sold': 1}
    {'day': 2, 'item': 'tea', 'sold': 1}

    Values stay at their times; to change those, use `map_time`. In a stream without times, the time is 0. Errors in the
    function are handled as in `map`.
    """
    return opens(_Timed(function, on_error))

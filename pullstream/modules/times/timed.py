"""`timed`: the times as values."""

from collections.abc import Callable, Hashable, Sequence
from typing import Annotated, Any, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Transformer
from pullstream.blueprint.checks import Sync
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.per_batch import PerBatch

A = TypeVar("A")
B = TypeVar("B")


def _pair(time: Hashable, value: Any) -> tuple[Hashable, Any]:
    return time, value


class _Timed(PerBatch):
    def __init__(self, function: Callable[[Any, Any], Any] = _pair) -> None:
        self._function = function

    @override
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        for value in values:
            out.append(self._function(time, value))  # noqa: PERF401 - what came before a failure is kept


@overload
def timed() -> Transformer[A, tuple[Any, A]]: ...
@overload
def timed(function: Callable[[Any, A], B]) -> Transformer[A, B]: ...
@transformer
def timed(
    function: Annotated[
        Callable[[Any, Any], Any], Sync("map_async(function, concurrency) awaits it, of pairs from timed()")
    ] = _pair,
) -> Transformer[Any, Any]:
    """Make of every value, and the time that it is at, what `function(time, value)` gives; by default both, as a pair.

    So that the day stands in a report's lines, and not only in the names of files:

    >>> import pullstream as ps
    >>> sold = ps.values([(1, "tea"), (1, "rice"), (1, "tea"), (2, "tea")], time=lambda sale: sale[0])
    >>> lines = ps.timed(lambda day, counted: {"day": day, "item": counted[0], "sold": counted[1]})
    >>> for line in ps.run(ps.pipe(sold, ps.count_by_key(lambda sale: sale[1]), lines, ps.collect())):
    ...     print(line)
    {'day': 1, 'item': 'tea', 'sold': 2}
    {'day': 1, 'item': 'rice', 'sold': 1}
    {'day': 2, 'item': 'tea', 'sold': 1}

    Values stay at their times, which `restamp` changes. What has no times is all at 0.
    """
    return opens(_Timed(function))

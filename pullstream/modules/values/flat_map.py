"""`flat_map` and `map_batches`: several results per value or batch."""

import inspect
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, overload

from typing_extensions import override

from pullstream.blueprint import Call, Source, Sync, Transformer, checks
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import A, B
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.expand import Expand
from pullstream.failures import Failed
from pullstream.modules.values.on_error import Handled, OnError, catches, guarded_iterable


class _MapBatches(Expand):
    """Treats each batch, as a list, as one value."""

    @override
    def wanted(self, limit: int) -> int:
        return limit

    @override
    def batch(self, values: Sequence[Any]) -> Iterator[Any]:
        return iter([list(values)])


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
    """Apply a function to whole batches: lists of values at one time, at most as long as the ask.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.map_batches(sorted), ps.collect()))
    [1, 2, 3]

    The length of the lists depends on the consumer's asks. Use this for speed (a vectorised function), not for
    grouping. The result may have any length; results beyond the ask are kept for the next one. If the function raises,
    its whole list has failed: with `on_error` (see `map`), the list is the value of the `Failed`, and none of its
    values is delivered.
    """
    return opens(_MapBatches(guarded_iterable(function, whole=True) if catches(on_error) else function))


def _made_at_once(call: Call, function: Any) -> Any:
    if inspect.isasyncgenfunction(function):
        name = function.__name__
        raise call.refuse(
            f"got the async generator function {name}: make a source of what it returns, with "
            f"flat_map(lambda value: from_async_iterable({name}(value)))"
        )
    return Sync("use map_async(function, concurrency), then flatten()")(call, function)


@overload
def flat_map(function: Function[A, Iterable[B] | Source[B]], *, on_error: OnError[A] = "fail") -> Transformer[A, B]: ...
@overload
def flat_map(
    function: Function[A, Iterable[B] | Source[B]], *, on_error: Literal["result"]
) -> Transformer[A, B | Failed[A]]: ...
@transformer
def flat_map(
    function: Annotated[Callable[[Any], Iterable[Any] | Source[Any]], _made_at_once], *, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Apply a function that returns any number of values for each value, and deliver them one after another.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["a b", "", "c"]), ps.flat_map(str.split), ps.collect()))
    ['a', 'b', 'c']

    Iterables are read only as far as the consumer asks, so they may be endless. A generator is closed if the stream
    ends before the generator does. Errors in the function or in an iterable are handled as in `map`; results that the
    iterable gave before the error are delivered.

    Upstream is asked for one value at a time, or for more while the results of each are delivered quickly.

    The function may return a source instead. It is opened and read to its end before the next value is taken:

    >>> ps.run(ps.pipe(ps.values("ab"), ps.flat_map(lambda value: ps.repeat(value, 2)), ps.collect()))
    ['a', 'a', 'b', 'b']

    Its values are at the time of the value that it was made for, and its failure fails the stream. To read several
    sources concurrently, or sources of sources, use `map` and `flatten`.
    """
    return opens(Expand(guarded_iterable(function) if catches(on_error) else function))

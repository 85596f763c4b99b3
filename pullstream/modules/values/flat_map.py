"""Transformers that give several values for one, or for a batch: `flat_map`, `map_batches`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Source, Transformer, checks
from pullstream.blueprint.parts import Function
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.expand import Expand
from pullstream.engine.nested.on_error import Handled, OnError, catches, guarded_iterable
from pullstream.failures import Failed

A = TypeVar("A")
B = TypeVar("B")


class _MapBatches(Expand):
    """Takes the values of a batch, as a list, for one value."""

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
    """Apply a function to whole batches: lists of values at one time, at most as long as what was asked for.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.map_batches(sorted), ps.collect()))
    [1, 2, 3]

    How long the lists are depends on who asks: this is for speed (a vectorised function), not for grouping. The
    result may have any length; what exceeds the ask is kept for the next one. If the function raises, it is its whole
    list that failed; with an `on_error` (see `map`) that is the value of a `Failed`, and all its values are left out.
    """
    return opens(_MapBatches(guarded_iterable(function, whole=True) if catches(on_error) else function))


@overload
def flat_map(function: Function[A, Iterable[B] | Source[B]], *, on_error: OnError[A] = "fail") -> Transformer[A, B]: ...
@overload
def flat_map(
    function: Function[A, Iterable[B] | Source[B]], *, on_error: Literal["result"]
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
    return opens(Expand(guarded_iterable(function) if catches(on_error) else function))

"""Short names of what other modules do as well, for those who know them from pull-stream: a line each."""

import random
from collections.abc import Callable, Hashable, Mapping
from typing import Annotated, Any, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Instance, Key, Positive, Source, Sync, Transformer, checked
from pullstream.blueprint.parts import Function
from pullstream.decorators import alike, opens, transformer
from pullstream.engine.nested.on_error import Handled, catches
from pullstream.engine.parts.fused import Kind, Stage
from pullstream.modules.sources.generate import unfold
from pullstream.modules.sources.values import values
from pullstream.modules.values.map import Test, filter
from pullstream.modules.values.unique import seen_before, unique

K = TypeVar("K")
T = TypeVar("T")


@checked
def keys(
    mapping: Annotated[Mapping[K, object], Instance(Mapping, "needs a mapping")],
    *,
    time: Function[K, Hashable] | None = None,
) -> Source[K]:
    """Give the keys that a mapping has: `values(tuple(mapping))`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.keys({"a": 1, "b": 2}), ps.collect()))
    ['a', 'b']
    """
    return values(tuple(mapping), time=time)


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


@overload
def infinite() -> Source[float]: ...
@overload
def infinite(function: Callable[[], T], *, time: Function[T, Hashable] | None = None) -> Source[T]: ...
@checked
def infinite(
    function: Annotated[
        Callable[[], Any], Sync("pipe(repeat(None), map_async(...)) awaits a function's results")
    ] = random.random,
    *,
    time: Callable[[Any], Hashable] | None = None,
) -> Source[Any]:
    """Call a function for each value, for ever: `unfold(None, lambda _: (function(), None))`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.infinite(lambda: "tick"), ps.take(2), ps.collect()))
    ['tick', 'tick']

    As there, there is no `on_error`.
    """
    return unfold(None, lambda _: (function(), None), time=time)


@alike(filter)
@transformer
def filter_not(test: Test, *, on_error: Handled = "fail") -> Transformer[Any, Any]:
    """Keep the values for which `test` is false: `filter(lambda value: not test(value))`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["a", " ", "b"]), ps.filter_not(str.isspace), ps.collect()))
    ['a', 'b']
    """
    return opens(Stage(Kind.FILTER_NOT, test, catches(on_error)))


@alike(unique)
@transformer
def non_unique(
    key: Key[Any, Hashable] | None = None,
    *,
    capacity: Positive | None = None,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Keep what `unique(key)` leaves out: the values whose key has come before.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["tea", "rice", "Tea"]), ps.non_unique(str.lower), ps.collect()))
    ['Tea']
    """
    test, memory = seen_before(key, capacity)
    return opens(Stage(Kind.FILTER, test, catches(on_error), memory))

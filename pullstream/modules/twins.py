"""Short names of what other modules do as well, for those who know them from pull-stream: a line each."""

import random
from collections.abc import Callable, Hashable, Mapping
from typing import Any, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Site, Source, sync_argument
from pullstream.errors import CompositionError
from pullstream.modules.sources.generate import unfold
from pullstream.modules.sources.values import values

K = TypeVar("K")
T = TypeVar("T")


def keys(mapping: Mapping[K, object], *, time: Callable[[K], Hashable] | None = None) -> Source[K]:
    """Give the keys that a mapping has: `values(tuple(mapping))`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.keys({"a": 1, "b": 2}), ps.collect()))
    ['a', 'b']
    """
    if not isinstance(mapping, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionError(f"keys() at {Site.here()} needs a mapping, and got {mapping!r}")
    return values(tuple(mapping), time=time)


def once(value: T, *, time: Callable[[T], Hashable] | None = None) -> Source[T]:
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
def infinite(function: Callable[[], T], *, time: Callable[[T], Hashable] | None = None) -> Source[T]: ...
def infinite(
    function: Callable[[], Any] = random.random, *, time: Callable[[Any], Hashable] | None = None
) -> Source[Any]:
    """Call a function for each value, for ever: `unfold(None, lambda _: (function(), None))`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.infinite(lambda: "tick"), ps.take(2), ps.collect()))
    ['tick', 'tick']
    """
    sync_argument("infinite", "function", function, "pipe(repeat(None), map_async(...)) awaits a function's results")
    return unfold(None, lambda _: (function(), None), time=time)

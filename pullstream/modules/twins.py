"""Short names for special cases of other modules, as pull-stream has them."""

from collections.abc import Hashable
from typing import Any

from typing_extensions import TypeVar

from pullstream.blueprint import Key, Positive, Source, Transformer
from pullstream.blueprint.parts import Function
from pullstream.decorators import alike, opens, transformer
from pullstream.engine.parts.fused import Kind, Stage
from pullstream.modules.sources.values import values
from pullstream.modules.values.map import Test, filter
from pullstream.modules.values.on_error import Handled, catches
from pullstream.modules.values.unique import seen_before, unique

K = TypeVar("K")
T = TypeVar("T")


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
def duplicates(
    key: Key[Any, Hashable] | None = None,
    *,
    capacity: Positive | None = None,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Keep the values whose key was seen before in the stream: the ones that `unique(key)` drops.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["tea", "rice", "Tea"]), ps.duplicates(str.lower), ps.collect()))
    ['Tea']
    """
    test, memory = seen_before(key, capacity)
    return opens(Stage(Kind.FILTER, test, catches(on_error), memory))

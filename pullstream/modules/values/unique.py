"""`unique` and `duplicates`: the values whose key is new, and the others."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from itertools import islice
from typing import Any, Literal, overload

from pullstream.blueprint import Key, Positive, Transformer
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.blueprint.variables import V
from pullstream.decorators import alike, opens, transformer
from pullstream.engine.parts.fused import Kind, Stage, StageMemory, result_of
from pullstream.failures import Failed
from pullstream.modules.values.on_error import Handled, OnError, catches


@overload
def unique(
    key: Function[V, Hashable] | None = None, *, capacity: int | None = None, on_error: OnError[V] = "fail"
) -> Same[V]: ...
@overload
def unique(
    key: Function[V, Hashable] | None = None, *, capacity: int | None = None, on_error: Literal["result"]
) -> SameOrFailed[V, V | Failed[V]]: ...
@transformer
def unique(
    key: Key[Any, Hashable] | None = None,
    *,
    capacity: Positive | None = None,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Keep the first value with each key in the stream; without `key`, a value is its own key.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([1, "1", 1, 2, 1]), ps.unique(), ps.collect()))
    [1, '1', 2]

    `unique_by_time` keeps the first value with each key at each time. `duplicates` keeps the values that `unique`
    drops.

    Keys must be hashable. All keys are kept for the whole run, across all times. With a `capacity`, only the latest
    `capacity` keys are kept, so a key that returns after that many others counts as new.

    >>> ps.run(ps.pipe(ps.values([1, 2, 1, 3, 4, 1]), ps.unique(capacity=2), ps.collect()))
    [1, 2, 3, 4, 1]

    Values keep their times. Errors in `key`, and keys that cannot be hashed, are handled as in `map`.
    """
    test, memory = _seen_before(key, capacity)
    return opens(Stage(Kind.FILTER_NOT, test, catches(on_error), memory))


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
    test, memory = _seen_before(key, capacity)
    return opens(Stage(Kind.FILTER, test, catches(on_error), memory))


SeenKeys = tuple[Callable[[Any], bool], StageMemory]


def _seen_before(key: Callable[[Any], Hashable] | None, capacity: int | None) -> SeenKeys:
    """Make a test that remembers the keys it has seen. Each run needs its own."""
    if capacity is not None:
        return _seen_lately(key, capacity)
    seen: dict[Hashable, None] = {}
    saved = 0

    def before(value: Any) -> bool:
        name = value if key is None else key(value)
        if name in seen:
            return True
        if not seen and key is not None:
            # The first key tells whether the function is a plain one.
            result_of(key, name)
        seen[name] = None
        return False

    def save(memory: MutableMapping[Any, Any]) -> None:
        nonlocal saved
        for name in islice(reversed(seen), len(seen) - saved):
            memory[name] = None
        saved = len(seen)

    def load(memory: Mapping[Any, Any]) -> None:
        nonlocal saved
        seen.update(dict.fromkeys(memory))
        saved = len(seen)

    return before, StageMemory(save, load)


def _seen_lately(key: Callable[[Any], Hashable] | None, capacity: int) -> SeenKeys:
    seen: OrderedDict[Hashable, None] = OrderedDict()

    def lately(value: Any) -> bool:
        name = value if key is None else key(value)
        if name in seen:
            seen.move_to_end(name)
            return True
        if not seen and key is not None:
            result_of(key, name)
        seen[name] = None
        if len(seen) > capacity:
            seen.popitem(last=False)
        return False

    def save(memory: MutableMapping[Any, Any]) -> None:
        memory["seen"] = seen

    def load(memory: Mapping[Any, Any]) -> None:
        seen.update(memory.get("seen", ()))

    return lately, StageMemory(save, load)

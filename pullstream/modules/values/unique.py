"""`unique`: values that come for the first time, told from those that come again."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from itertools import islice
from typing import Any, Literal, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Key, Positive, Transformer
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.on_error import Handled, OnError, catches
from pullstream.engine.parts.fused import Kind, Stage, StageMemory
from pullstream.failures import Failed

A = TypeVar("A", default=Any)


@overload
def unique(
    key: Function[A, Hashable] | None = None, *, capacity: int | None = None, on_error: OnError[A] = "fail"
) -> Same[A]: ...
@overload
def unique(
    key: Function[A, Hashable] | None = None, *, capacity: int | None = None, on_error: Literal["result"]
) -> SameOrFailed[A, A | Failed[A]]: ...
@transformer
def unique(
    key: Key[Any, Hashable] | None = None,
    *,
    capacity: Positive | None = None,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Keep the values whose key comes for the first time; without `key`, a value is its own.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([1, "1", 1, 2, 1]), ps.unique(), ps.collect()))
    [1, '1', 2]

    Keys are hashable, and equal or not as Python has it. All are kept for as long as the run lasts, over all times;
    with a `capacity`, only that many: those that came last, so that a key which comes again after `capacity` others is
    new.

    >>> ps.run(ps.pipe(ps.values([1, 2, 1, 3, 4, 1]), ps.unique(capacity=2), ps.collect()))
    [1, 2, 3, 4, 1]

    Times are kept. If `key` raises, or gives what has no hash, see `map`.
    """
    test, memory = seen_before(key, capacity)
    return opens(Stage(Kind.FILTER_NOT, test, catches(on_error), memory))


Seen = tuple[Callable[[Any], bool], StageMemory]


def seen_before(key: Callable[[Any], Hashable] | None, capacity: int | None) -> Seen:
    """A test that remembers what it was given; one for each run."""
    if capacity is not None:
        return _seen_lately(key, capacity)
    seen: dict[Hashable, None] = {}
    saved = 0

    def before(value: Any) -> bool:
        name = value if key is None else key(value)
        if name in seen:
            return True
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


def _seen_lately(key: Callable[[Any], Hashable] | None, capacity: int) -> Seen:
    seen: OrderedDict[Hashable, None] = OrderedDict()

    def lately(value: Any) -> bool:
        name = value if key is None else key(value)
        if name in seen:
            seen.move_to_end(name)
            return True
        seen[name] = None
        if len(seen) > capacity:
            seen.popitem(last=False)
        return False

    def save(memory: MutableMapping[Any, Any]) -> None:
        memory["seen"] = seen

    def load(memory: Mapping[Any, Any]) -> None:
        seen.update(memory.get("seen", ()))

    return lately, StageMemory(save, load)

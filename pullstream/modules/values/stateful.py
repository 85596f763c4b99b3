"""`scan`, `unique` and `duplicates`: stages that keep a state."""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, MutableMapping
from functools import partial
from itertools import islice
from typing import Annotated, Any, Literal, cast, overload

from pullstream.blueprint import Emits, Key, Positive, Transformer
from pullstream.blueprint.parts import Function, Function2, Same, SameOrFailed
from pullstream.blueprint.variables import A, R, V
from pullstream.decorators import alike, opens, transformer
from pullstream.engine.parts.fused import Kind, Stage, StageMemory, result_of
from pullstream.engine.sidecar.location import NOTHING
from pullstream.failures import Failed
from pullstream.modules.folds.fold import Emitted, Fold, fresh, itself, may_change, step_or_fold
from pullstream.modules.values.on_error import Handled, OnError, catches


@overload
def scan(function: Fold[A, R], /, *, on_error: OnError[A] = "fail") -> Transformer[A, R]: ...
@overload
def scan(function: Fold[A, R], /, *, on_error: Literal["result"]) -> Transformer[A, R | Failed[A]]: ...
@overload
def scan(function: Function2[A, A, A], /, *, on_error: OnError[A] = "fail") -> Same[A]: ...
@overload
def scan(function: Function2[A, A, A], /, *, on_error: Literal["result"]) -> SameOrFailed[A, A | Failed[A]]: ...
@overload
def scan(function: Function2[R, A, R], initial: R, /, *, on_error: OnError[A] = "fail") -> Transformer[A, R]: ...
@overload
def scan(
    function: Function2[R, A, R], initial: R, /, *, on_error: Literal["result"]
) -> Transformer[A, R | Failed[A]]: ...
@transformer
@Emits.AT_ONCE
def scan(
    function: Annotated[Any, step_or_fold], initial: Any = NOTHING, /, *, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Fold the values, and emit the state after each one: one output per input.

    >>> import operator, pullstream as ps
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.scan(operator.add), ps.collect()))
    [1, 3, 6]
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.scan(operator.add, 10), ps.collect()))
    [11, 13, 16]

    Without `initial`, the first value is the first state. Every run starts with `initial`, of which a list, dict, set,
    deque or bytearray is copied; another object must not be changed in place. A function that changes its state in
    place would emit the same object each time: pass a `Fold`, whose `finish` turns the state into the output. Such a
    list, dict or set is refused with a TypeError.

    >>> seen = ps.Fold(set, lambda names, name: names | {name}, len)
    >>> ps.run(ps.pipe(ps.values(["tea", "rice", "tea"]), ps.scan(seen), ps.collect()))
    [1, 2, 2]

    Each state is at the time of its value; the fold continues across times. If a function raises, the state stays as it
    was, and the error is handled as in `map`.
    """
    if isinstance(cast("object", function), Fold):
        step, memory = _keeping(function.step, function.initial, function.finish)
    else:
        step, memory = _keeping(function, partial(fresh, initial), itself)
    return opens(Stage(Kind.MAP, step, catches(on_error), memory))


def _keeping(
    function: Callable[[Any, Any], Any], initial: Callable[[], Any], finish: Callable[[Any], Any]
) -> tuple[Callable[[Any], Any], StageMemory]:
    """Make a step that keeps its state, and the memory that saves it."""
    state: Any = NOTHING
    emitted = Emitted()
    checks = True
    """Whether steps are still checked."""

    def begin(value: Any) -> Any:
        nonlocal state, checks
        before = initial() if state is NOTHING else state
        if state is not NOTHING:
            emitted.before(state)
        after = value if before is NOTHING else function(before, value)
        emitted.after(after, "scan")
        state, checks = after, finish is itself and may_change(after) and not emitted.ended
        return finish(after)

    def step(value: Any) -> Any:
        nonlocal state
        if checks:
            return begin(value)
        state = function(state, value)
        return state if finish is itself else finish(state)

    def save(memory: MutableMapping[Any, Any]) -> None:
        if state is not NOTHING:
            memory["state"] = state

    def load(memory: Mapping[Any, Any]) -> None:
        nonlocal state, checks
        state = memory.get("state", state)
        checks = state is NOTHING

    return step, StageMemory(save, load)


@overload
def unique(
    key: Function[V, Hashable] | None = None, *, capacity: int | None = None, on_error: OnError[V] = "fail"
) -> Same[V]: ...
@overload
def unique(
    key: Function[V, Hashable] | None = None, *, capacity: int | None = None, on_error: Literal["result"]
) -> SameOrFailed[V, V | Failed[V]]: ...
@transformer
@Emits.AT_ONCE
def unique(
    key: Key[Any, Hashable] | None = None, *, capacity: Positive | None = None, on_error: Handled = "fail"
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
@Emits.AT_ONCE
def duplicates(
    key: Key[Any, Hashable] | None = None, *, capacity: Positive | None = None, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Keep the values whose key was seen before in the stream: the ones that `unique(key)` drops.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(["tea", "rice", "Tea"]), ps.duplicates(str.lower), ps.collect()))
    ['Tea']
    """
    test, memory = _seen_before(key, capacity)
    return opens(Stage(Kind.FILTER, test, catches(on_error), memory))


def _seen_before(
    key: Callable[[Any], Hashable] | None, capacity: int | None
) -> tuple[Callable[[Any], bool], StageMemory]:
    """Make a test that remembers the keys it has seen, or the latest ones. Each run needs its own."""
    kind: Any = dict if capacity is None else OrderedDict
    seen = kind()
    saved = 0

    def before(value: Any) -> bool:
        name = value if key is None else key(value)
        if name in seen:
            if capacity is not None:
                seen.move_to_end(name)
            return True
        if not seen and key is not None:
            # The first key shows whether the function returns coroutines.
            result_of(key, name)
        seen[name] = None
        if capacity is not None and len(seen) > capacity:
            seen.popitem(last=False)
        return False

    def save(memory: MutableMapping[Any, Any]) -> None:
        nonlocal saved
        if capacity is not None:
            memory["seen"] = seen
            return
        for name in islice(reversed(seen), len(seen) - saved):
            memory[name] = None
        saved = len(seen)

    def load(memory: Mapping[Any, Any]) -> None:
        nonlocal saved
        seen.update(dict.fromkeys(memory) if capacity is None else memory.get("seen", ()))
        saved = len(seen)

    return before, StageMemory(save, load)

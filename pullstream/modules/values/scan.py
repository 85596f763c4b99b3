"""`scan`: a running fold that emits every intermediate state."""

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from typing import Annotated, Any, Literal, cast, overload

from pullstream.blueprint import Transformer
from pullstream.blueprint.parts import Function2, Same, SameOrFailed
from pullstream.blueprint.variables import A, R
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.fused import Kind, Stage, StageMemory
from pullstream.failures import Failed
from pullstream.modules.folds.fold import NOTHING, Fold, fresh, itself, step_or_fold
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
    place emits the same object each time: pass a `Fold`, whose `finish` turns the state into the output.

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
    state = NOTHING

    def begin(value: Any) -> Any:
        first = initial()
        return value if first is NOTHING else function(first, value)

    def step(value: Any) -> Any:
        nonlocal state
        state = begin(value) if state is NOTHING else function(state, value)
        return state if finish is itself else finish(state)

    def save(memory: MutableMapping[Any, Any]) -> None:
        if state is not NOTHING:
            memory["state"] = state

    def load(memory: Mapping[Any, Any]) -> None:
        nonlocal state
        state = memory.get("state", state)

    return step, StageMemory(save, load)

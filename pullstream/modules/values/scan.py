"""`scan`: a running fold that emits every intermediate state."""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Annotated, Any, Final, Literal, cast, overload

from pullstream.blueprint import Call, Sync, Transformer
from pullstream.blueprint.parts import Function2, Same, SameOrFailed
from pullstream.blueprint.variables import A, R
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.fused import Kind, Stage, StageMemory
from pullstream.failures import Failed
from pullstream.modules.folds.fold import Fold, fresh
from pullstream.modules.values.on_error import Handled, OnError, catches

_NOTHING: Final = object()


def _step_or_fold(call: Call, function: Any) -> Any:
    if not isinstance(function, Fold):
        return Sync("a fold cannot await; use map_async first", "the new state")(call, function)
    if call["initial"] is not _NOTHING:
        raise call.refuse("got a Fold and an initial state. A Fold has its own initial state: leave the other one out")
    return cast("Fold[Any, Any]", function)


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
    function: Annotated[Any, _step_or_fold], initial: Any = _NOTHING, /, *, on_error: Handled = "fail"
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
    folds = isinstance(cast("object", function), Fold)
    step, memory = _folding(function) if folds else _stepping(function, initial)
    return opens(Stage(Kind.MAP, step, catches(on_error), memory))


def _stepping(function: Callable[[Any, Any], Any], initial: Any) -> tuple[Callable[[Any], Any], StageMemory]:
    first = fresh(initial)

    def begin(value: Any) -> Any:
        return value if first is _NOTHING else function(first, value)

    return _keeping(begin, function, None)


def _folding(fold: Fold[Any, Any]) -> tuple[Callable[[Any], Any], StageMemory]:
    def begin(value: Any) -> Any:
        return fold.step(fold.initial(), value)

    return _keeping(begin, fold.step, fold.finish)


def _keeping(
    begin: Callable[[Any], Any], function: Callable[[Any, Any], Any], finish: Callable[[Any], Any] | None
) -> tuple[Callable[[Any], Any], StageMemory]:
    """Make a step that keeps its state, and the memory that saves it."""
    state = _NOTHING

    def step(value: Any) -> Any:
        nonlocal state
        state = begin(value) if state is _NOTHING else function(state, value)
        return state if finish is None else finish(state)

    def save(memory: MutableMapping[Any, Any]) -> None:
        if state is not _NOTHING:
            memory["state"] = state

    def load(memory: Mapping[Any, Any]) -> None:
        nonlocal state
        state = memory.get("state", state)

    return step, StageMemory(save, load)

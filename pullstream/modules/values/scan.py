"""`scan`: a fold that answers every state on its way."""

from collections.abc import Callable, Mapping, MutableMapping
from typing import Annotated, Any, Final, Literal, cast, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Call, Sync, Transformer
from pullstream.blueprint.parts import Function2, Same, SameOrFailed
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.on_error import Handled, OnError, catches
from pullstream.engine.parts.fold import Fold
from pullstream.engine.parts.fused import Kind, Stage, StageMemory
from pullstream.failures import Failed

A = TypeVar("A")
R = TypeVar("R")

_NOTHING: Final = object()


def _step_or_fold(call: Call, function: Any) -> Any:
    if not isinstance(function, Fold):
        return Sync("a state is computed at once; map_async the values first")(call, function)
    if call["initial"] is not _NOTHING:
        raise call.refuse("got a Fold, which has an initial state, and another one")
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
    """Fold the values, and give the state after each: one for one.

    >>> import operator, pullstream as ps
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.scan(operator.add), ps.collect()))
    [1, 3, 6]
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.scan(operator.add, 10), ps.collect()))
    [11, 13, 16]

    Without `initial` the first value is the first state. `initial` is used by every run of the blueprint, so it must
    not be changed in place: for a state that is, give a `Fold`, which makes a new one for each run, and whose `finish`
    makes what comes out.

    >>> seen = ps.Fold(set, lambda names, name: names | {name}, len)
    >>> ps.run(ps.pipe(ps.values(["tea", "rice", "tea"]), ps.scan(seen), ps.collect()))
    [1, 2, 2]

    Each state comes at its value's time; the fold runs on over all times. If a function raises, the state stays as
    it was, and for the rest see `map`.
    """
    folds = isinstance(cast("object", function), Fold)
    step, memory = _folding(function) if folds else _stepping(function, initial)
    return opens(Stage(Kind.MAP, step, catches(on_error), memory))


def _stepping(function: Callable[[Any, Any], Any], initial: Any) -> tuple[Callable[[Any], Any], StageMemory]:
    def begin(value: Any) -> Any:
        return value if initial is _NOTHING else function(initial, value)

    return _keeping(begin, function, None)


def _folding(fold: Fold[Any, Any]) -> tuple[Callable[[Any], Any], StageMemory]:
    def begin(value: Any) -> Any:
        return fold.step(fold.initial(), value)

    return _keeping(begin, fold.step, fold.finish)


def _keeping(
    begin: Callable[[Any], Any], function: Callable[[Any, Any], Any], finish: Callable[[Any], Any] | None
) -> tuple[Callable[[Any], Any], StageMemory]:
    """A step that keeps its state, and how that is saved."""
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

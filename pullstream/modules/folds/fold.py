"""`Fold`: the description of a fold of values."""

from collections import deque
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from operator import is_
from typing import Any, Final, Generic, cast, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Site, Sync
from pullstream.blueprint.checks import function
from pullstream.blueprint.parts import Function, Function2
from pullstream.blueprint.shown import shown_callable
from pullstream.blueprint.variables import A, R, S
from pullstream.engine.sidecar.location import NOTHING
from pullstream.errors import CompositionError
from pullstream.failures import Mistake

# Module-level functions instead of closures, so that a blueprint can be pickled.


def itself(value: Any) -> Any:
    """Return the value."""
    return value


def one_more(number: int, _: object) -> int:
    """The step of a count."""
    return number + 1


def _and(values: list[Any], value: Any) -> list[Any]:
    values.append(value)
    return values


_STATE: Final = Sync("a fold cannot await; use map_async first", "the new state")


_CONTAINERS: Final = (list, dict, set, bytearray, deque)


def _making(initial: Any) -> str:
    """Return the source of a function that makes a state like this one."""
    kind: type[object] = initial.__class__
    return kind.__name__ if kind in {int, float, str, *_CONTAINERS} and not initial else f"lambda: {initial!r}"


def _named(function: Any) -> str:
    """Return the name of a function, with the arguments that it is bound to."""
    if not isinstance(function, partial):
        return shown_callable(function)
    bound = [_named(part) if callable(part) else repr(part) for part in cast("partial[Any]", function).args]
    return f"{_named(function.func)}({', '.join(bound)})"


@attrs.frozen(init=False, repr=False)
class Fold(Generic[A, R]):
    """A fold of values: how to make a state, how a value changes it, and how to get the result from it.

    `initial` is a factory, called once for each state; `step` returns the next state, and may change the one it was
    given; `finish` makes the result (without it, the state is the result). If results are emitted while the fold
    continues, as by `accumulate`, `scan` and `eager=True`, `finish` must copy a state that `step` changes.

    >>> import pullstream as ps
    >>> counting = ps.Fold(int, lambda n, _: n + 1)
    >>> mean = ps.Fold(lambda: (0, 0), lambda state, n: (state[0] + n, state[1] + 1), lambda state: state[0] / state[1])
    >>> mean
    Fold(<lambda>, <lambda>, <lambda>)

    `merge` combines the states of two parts of the values, the earlier part first, and may change the first. So parts
    can be folded separately, for example on several machines, and `merging` folds their results:

    >>> counting = ps.Fold(int, lambda n, _: n + 1, merge=lambda n, more: n + more)
    >>> parts = [ps.pipe(ps.values(part), ps.reduce_by_time(counting.partial())) for part in ("ab", "cde")]
    >>> ps.run(ps.pipe(ps.concat(*parts), ps.reduce_by_time(counting.merging()), ps.collect()))
    [5]
    """

    initial: Callable[[], Any]
    step: Callable[[Any, A], Any]
    finish: Callable[[Any], R]
    merge: Callable[[Any, Any], Any] | None

    # Written out because the arguments share the state's type, which none of the fields shows.
    @overload
    def __init__(
        self, initial: Callable[[], R], step: Function2[R, A, R], *, merge: Function2[R, R, R] | None = None
    ) -> None: ...
    @overload
    def __init__(
        self,
        initial: Callable[[], S],
        step: Function2[S, A, S],
        finish: Function[S, R],
        merge: Function2[S, S, S] | None = None,
    ) -> None: ...
    def __init__(
        self,
        initial: Callable[[], Any],
        step: Callable[[Any, Any], Any],
        finish: Callable[[Any], Any] = itself,
        merge: Callable[[Any, Any], Any] | None = None,
    ) -> None:
        call = Call("Fold", {"initial": initial, "step": step})
        function(Call("Fold", name="initial"), initial, "give a function that makes it: " + _making(initial))
        _STATE(call.about("step"), step)
        _STATE(call.about("merge"), itself if merge is None else merge)
        function(call.about("finish"), finish)
        if isinstance(step, type) and not isinstance(initial, type):
            raise call.refuse(f"has its arguments in the wrong order: write Fold({step.__name__}, step)")
        self.__attrs_init__(initial, step, finish, merge)  # type: ignore[attr-defined]  # made by attrs

    @override
    def __repr__(self) -> str:
        parts = [_named(self.initial), _named(self.step)]
        parts += [_named(self.finish)] * (self.finish is not itself)
        return f"Fold({', '.join(parts)})"

    def partial(self) -> "Fold[A, Any]":
        """The same fold without its `finish`: its result is the state of a part, for `merging`."""
        return Fold(self.initial, self.step, itself, self.merge)

    def merging(self) -> "Fold[Any, R]":
        """The fold of the states that `partial` gives: the result is that of all the values, in the order of the parts.

        Raises: CompositionError: the fold has no `merge`.
        """
        if self.merge is None:
            raise CompositionError(
                f"merging() at {Site.here()}: this fold cannot merge two states; write "
                f"Fold(..., merge=lambda state, other: ...)"
            )
        return Fold(self.initial, self.merge, self.finish, self.merge)


def fresh(initial: Any) -> Any:
    """Return the initial state for one run: a container is copied, because a function may change it in place."""
    return deepcopy(initial) if issubclass(initial.__class__, _CONTAINERS) else initial


def may_change(state: Any) -> bool:
    """Whether `Emitted` can see that a state was changed in place."""
    return isinstance(state, (list, dict, set))


CHECKS: Final = 100
"""The number of steps to check; a check takes time in proportion to the size of the state."""


class Emitted:
    """The check that a step does not change in place a state that was emitted as a result.

    Otherwise this result would change too, wherever it is kept or waits. The check ends when a step returns a new
    object instead of changing the state, or after `CHECKS` steps.
    """

    ended = False

    def __init__(self) -> None:
        self._checks = 0
        self._state: Any = None
        self._parts: list[Any] | None = None

    @property
    def waits(self) -> bool:
        """Whether `before` noted a state that `after` has not checked yet."""
        return self._parts is not None

    def before(self, state: Any) -> None:
        """Note a state just before the step, which is not to blame if a module downstream has changed its value."""
        self._state, self._parts = state, _parts(state) if may_change(state) else None

    def after(self, state: Any, whose: str) -> None:
        """Check that the step, which returned `state`, left the noted state unchanged; raises `Mistake` if not."""
        parts, self._parts = self._parts, None
        if parts is None:
            return
        now = _parts(self._state)
        if len(now) != len(parts) or not all(map(is_, now, parts)):
            kind = type(self._state).__name__
            raise Mistake(
                f"{whose}: the step of its fold has changed in place a {kind} that was already emitted as a result. "
                f"Copy it in finish, Fold(initial, step, {kind}), or return a new one from step"
            )
        self._checks += 1
        self.ended = state is not self._state or self._checks == CHECKS


def _parts(state: Any) -> list[Any]:
    return [*state, *cast("dict[Any, Any]", state).values()] if isinstance(state, dict) else [*state]


def emitting(fold: Fold[Any, Any]) -> tuple[Callable[[], Any], Callable[[Any, Any], Any]]:
    """Return `initial` and `step` of a fold whose states are all emitted, and checked until a step replaces one."""
    fresh: Any = None
    emitted = Emitted()

    def initial() -> Any:
        nonlocal fresh
        fresh = fold.initial()
        return fresh

    def step(state: Any, value: Any) -> Any:
        nonlocal fresh
        new, fresh = state is fresh, None
        if new or emitted.ended:
            return fold.step(state, value)
        emitted.before(state)
        after = fold.step(state, value)
        emitted.after(after, "eager=True")
        return after

    return initial, step


LISTING: Final[Fold[Any, list[Any]]] = Fold(list, _and)
"""The list of the values."""


def a_fold(call: Call, fold: Any) -> Any:
    """Check that an argument is a fold; see `pullstream.authoring`."""
    if not isinstance(fold, Fold):
        name = shown_callable(fold) if callable(fold) and not isinstance(fold, type) else ""
        instead = fold_instead(fold) or (f": write Fold(initial, {name})" if name.isidentifier() else "")
        raise call.refuse(
            f"needs a Fold(initial, step, finish), or a fold of ps.agg, such as agg.count(), but got {fold!r}{instead}"
        )
    return cast("Fold[Any, Any]", fold)


def fold_instead(function: Any) -> str:
    """Return a hint for a function that has the name of a fold but is not one; "" for any other."""
    name: Any = getattr(function, "__name__", "")
    ours = getattr(function, "__module__", "") == "pullstream.modules.folds.agg"
    if ours or any(function is builtin for builtin in (sum, min, max)):
        return f": write agg.{name}()"
    if isinstance(function, Mapping) or repr(function).startswith("aggregate("):
        return ": for several results, write agg.several(n=agg.count(), ...)"
    return ": write agg.count()" if function is len else ""


def folds(call: Call, named: Any) -> Any:
    """Check named folds; there must be at least one."""
    if not named:
        raise call.refuse("needs at least one aggregate: n=ps.agg.count()")
    for name, fold in named.items():
        a_fold(Call(f"{call.module}({name}=...)"), fold)
    return named


def step_or_fold(call: Call, function: Any) -> Any:
    """Check for a fold, or a step with a separate initial state."""
    if not isinstance(function, Fold):
        return _STATE(call, function)
    if call["initial"] is not NOTHING:
        raise call.refuse("got a Fold and an initial state. A Fold has its own initial state: leave the other one out")
    return cast("Fold[Any, Any]", function)

"""`Fold`: a fold of values, as a value."""

from collections.abc import Callable
from typing import Any, Generic, overload

import attrs
from typing_extensions import TypeVar

from pullstream.blueprint import Site, callable_argument
from pullstream.errors import CompositionError

A = TypeVar("A")
S = TypeVar("S")
R = TypeVar("R")


def _same(state: Any) -> Any:
    return state


@attrs.frozen(init=False)
class Fold(Generic[A, R]):
    """A fold of values: a fresh state, how a value changes it, and the result made of it at the end.

    `initial` is a factory, called once for each state; `step` gives the next state, and may change the one it was
    given; `finish` makes the result (without it, the state is the result).

    >>> import pullstream as ps
    >>> counting = ps.Fold(int, lambda n, _: n + 1)
    >>> mean = ps.Fold(list, lambda seen, n: [*seen, n], lambda seen: sum(seen) / len(seen))
    """

    initial: Callable[[], Any]
    step: Callable[[Any, A], Any]
    finish: Callable[[Any], R]

    # Written out because the state's type ties the three together, and shows in none of the fields.
    @overload
    def __init__(self, initial: Callable[[], R], step: Callable[[R, A], R]) -> None: ...
    @overload
    def __init__(self, initial: Callable[[], S], step: Callable[[S, A], S], finish: Callable[[S], R]) -> None: ...
    def __init__(
        self, initial: Callable[[], Any], step: Callable[[Any, Any], Any], finish: Callable[[Any], Any] = _same
    ) -> None:
        for name, given in (("initial", initial), ("step", step), ("finish", finish)):
            callable_argument("Fold", name, given)
        self.__attrs_init__(initial, step, finish)  # type: ignore[attr-defined]  # made by attrs


def fold_argument(module: str, fold: object) -> None:
    """Refuse, when composing, what is not a fold."""
    if not isinstance(fold, Fold):
        place = module if module.endswith(")") else f"{module}()"
        raise CompositionError(
            f"{place} at {Site.here()} needs a Fold(initial, step, finish), or what a function of ps.agg returns, as "
            f"agg.count() does, and got {fold!r}",
        )

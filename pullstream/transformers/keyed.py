"""Results per key and time: `reduce_by_key`, and the folds it applies."""

from collections.abc import AsyncIterator, Callable, Hashable
from typing import Any, Generic, Literal, overload

import attrs
from typing_extensions import TypeVar

from pullstream.blueprint import Site, Transformer, callable_argument
from pullstream.decorators import transformer
from pullstream.engine.context import Completed, Context
from pullstream.errors import CompositionError
from pullstream.protocol import Batch, Reader

A = TypeVar("A")
S = TypeVar("S")
K = TypeVar("K", bound=Hashable)
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


@transformer
async def _reduce_by_key(
    upstream: Reader[Any], ctx: Context, key: Callable[[Any], Hashable], fold: Fold[Any, Any], on_error: str = "fail"
) -> AsyncIterator[Batch[Any]]:
    initial, step, finish = fold.initial, fold.step, fold.finish
    tables: dict[Hashable, dict[Hashable, Any]] = {}
    async for event in ctx.events(upstream):
        match event:
            case Batch(time, values):
                ctx.notify_at(time)
                table = tables.setdefault(time, {})
                for value in values:
                    try:
                        name = key(value)
                        table[name] = step(table[name] if name in table else initial(), value)
                    except Exception:
                        if on_error == "fail":
                            raise
                        ctx.skipped()
            case Completed(time):
                # Everything at a time may have been left out.
                if table := tables.pop(time):
                    yield Batch(time, [(name, finish(state)) for name, state in table.items()])


def reduce_by_key(
    key: Callable[[A], K], fold: Fold[A, R], *, on_error: Literal["fail", "skip"] = "fail"
) -> Transformer[A, tuple[K, R]]:
    """Fold the values of each key and time; `(key, result)` pairs come when the time is complete, and not before.

    >>> import pullstream as ps
    >>> words = ps.values([(1, "a"), (1, "b"), (1, "a"), (2, "a")], time=lambda pair: pair[0])
    >>> counts = ps.reduce_by_key(lambda pair: pair[1], ps.Fold(int, lambda n, _: n + 1))
    >>> ps.run(ps.pipe(words, counts, ps.collect()))
    [('a', 2), ('b', 1), ('a', 1)]

    The pairs of a time come in the order in which their keys were first seen; times come as they complete, the least
    first. The states of a time are kept until then, and dropped with it. With `on_error="skip"` a value whose key or
    step raises is left out, and counted; what `finish` raises is no value's fault.
    """
    callable_argument("reduce_by_key", "key", key)
    if not isinstance(fold, Fold):  # pyright: ignore[reportUnnecessaryIsInstance] - scripts are not all typed
        raise CompositionError(
            f"reduce_by_key() at {Site.here()} needs a Fold(initial, step, finish), and got {fold!r}"
        )
    if on_error not in ("fail", "skip"):
        raise CompositionError(f"reduce_by_key() at {Site.here()} got on_error={on_error!r}: it is 'fail' or 'skip'")
    options = {} if on_error == "fail" else {"on_error": on_error}
    (module,) = _reduce_by_key(key, fold, **options).modules
    return Transformer((attrs.evolve(module, name="reduce_by_key"),))

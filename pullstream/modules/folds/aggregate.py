"""`aggregate`: several folds of the same values at once, with a name for each."""

from collections.abc import Callable, Hashable
from typing import Any, overload

import attrs
from typing_extensions import TypeVar

from pullstream.blueprint import Site, Transformer
from pullstream.errors import CompositionError
from pullstream.modules.folds.agg import several
from pullstream.modules.folds.fold import Fold, fold_argument
from pullstream.modules.folds.reduce import reduce_by_key, reduce_by_time

A = TypeVar("A")
K = TypeVar("K", bound=Hashable)


@overload
def aggregate(*, eager: bool = False, **aggregates: Fold[A, Any]) -> Transformer[A, dict[str, Any]]: ...
@overload
def aggregate(
    key: Callable[[A], K], /, *, eager: bool = False, **aggregates: Fold[A, Any]
) -> Transformer[A, tuple[K, dict[str, Any]]]: ...
def aggregate(
    key: Callable[[Any], Hashable] | None = None, /, *, eager: bool = False, **aggregates: Fold[Any, Any]
) -> Transformer[Any, Any]:
    """Compute several aggregates of the values of each time, or of each key and time, when the time is complete.

    >>> import pullstream as ps
    >>> sales = ps.values([("tea", 3), ("rice", 5), ("tea", 4)])
    >>> table = ps.aggregate(lambda sale: sale[0], n=ps.agg.count(), most=ps.agg.max(lambda sale: sale[1]))
    >>> ps.run(ps.pipe(sales, table, ps.collect()))
    [('tea', {'n': 2, 'most': 4}), ('rice', {'n': 1, 'most': 5})]

    Without a key the result is the dict alone. Any `Fold` is an aggregate; `ps.agg` has those that are often needed.
    Order and `eager` are those of `reduce_by_key`.
    """
    if not aggregates:
        raise CompositionError(f"aggregate() at {Site.here()} needs at least one aggregate: n=ps.agg.count()")
    for name, given in aggregates.items():
        fold_argument(f"aggregate({name}=...)", given)
    fold = several(**aggregates)
    made: Transformer[Any, Any] = (
        reduce_by_time(fold, eager=eager) if key is None else reduce_by_key(key, fold, eager=eager)
    )
    (module,) = made.modules
    return Transformer((attrs.evolve(module, name="aggregate"),))

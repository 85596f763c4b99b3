"""`aggregate`: several named folds of the same values."""

from collections.abc import Hashable
from typing import Annotated, Any, overload

from typing_extensions import TypeVar

from pullstream.blueprint import Example, Key, Transformer
from pullstream.blueprint.parts import Function
from pullstream.decorators import opens, transformer
from pullstream.modules.folds.agg import several
from pullstream.modules.folds.fold import Fold, folds
from pullstream.modules.folds.reduce import Folding
from pullstream.modules.values.on_error import OnError

A = TypeVar("A")
K = TypeVar("K", bound=Hashable)


@overload
def aggregate(
    *, key: None = None, eager: bool = False, on_error: OnError[A] = "fail", **aggregates: Fold[A, Any]
) -> Transformer[A, dict[str, Any]]: ...
@overload
def aggregate(
    *, key: Function[A, K], eager: bool = False, on_error: OnError[A] = "fail", **aggregates: Fold[A, Any]
) -> Transformer[A, tuple[K, dict[str, Any]]]: ...
@transformer
def aggregate(
    *,
    key: Key[Any, Hashable] | None = None,
    eager: bool = False,
    on_error: OnError[Any] = "fail",
    **aggregates: Annotated[Fold[Any, Any], folds, Example("n=agg.count()")],
) -> Transformer[Any, Any]:
    """Compute several named results for each time, or for each key and time; emit them when the time is complete.

    >>> import pullstream as ps
    >>> sales = ps.values([("tea", 3), ("rice", 5), ("tea", 4)])
    >>> table = ps.aggregate(key=lambda sale: sale[0], n=ps.agg.count(), most=ps.agg.max(lambda sale: sale[1]))
    >>> ps.run(ps.pipe(sales, table, ps.collect()))
    [('tea', {'n': 2, 'most': 4}), ('rice', {'n': 1, 'most': 5})]

    Each keyword argument names a result, and its value is a `Fold`; `ps.agg` has ready-made ones. Without `key`, the
    result is the dict alone. For a single result per key, use `reduce_by_key`. Order, `eager` and `on_error` are as in
    `reduce_by_key`.
    """
    return opens(Folding(several(**aggregates), key=key, eager=eager, on_error=on_error))

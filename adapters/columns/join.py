"""`join`: the rows of two sources that have equal keys, time by time."""

from collections.abc import Hashable, Sequence
from typing import Annotated, Any, Final, Literal, TypeAlias, get_args

import attrs
from typing_extensions import override

from pullstream import Batch, Source, Transformer, merge, pipe, transformer
from pullstream.authoring import PROMPT, Call, Notified, OneOf, PassOn, checked, opens, sources, together

from ..arrow import ArrowRows, RowForm, pyarrow
from .expressions import check_names, first_line
from .frames import ColumnReader, decoded, rows_at_once, rows_of, same
from .package import ColumnError, polars

How: TypeAlias = Literal["inner", "left", "full", "semi", "anti", "asof"]
Strategy: TypeAlias = Literal["backward", "forward", "nearest"]

HOW: Final[tuple[str, ...]] = get_args(How)


class LeftRows(ArrowRows):
    """Rows of the first source on their way to the join."""


class RightRows(ArrowRows):
    """Rows of the second source."""


class _Marking(PassOn):
    """Marks the rows of a source."""

    traits = PROMPT

    def __init__(self, kind: type[ArrowRows]) -> None:
        self._kind = kind
        self._reader: ColumnReader | None = None

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        if self._reader is None:
            self._reader = ColumnReader(str(self.location))
        rows = self._reader.rows(batch.values)
        marked = self._kind(rows.batch, rows.form)
        return Batch(batch.time, marked) if batch.uniform else Batch.of(batch.times, marked)


@transformer
def left_rows() -> Transformer[Any, Any]:
    """Mark the rows of the first source."""
    return opens(_Marking(LeftRows))


@transformer
def right_rows() -> Transformer[Any, Any]:
    """Mark the rows of the second source."""
    return opens(_Marking(RightRows))


@attrs.frozen
class JoinPlan:
    """The arguments of a join; immutable."""

    on: tuple[str, ...]
    how: How
    at: str | None
    strategy: Strategy


class _Joining(Notified):
    """Keeps the rows of both sources until their time is complete."""

    def __init__(self, plan: JoinPlan) -> None:
        super().__init__()
        self._plan = plan
        self._form: RowForm | None = None
        self._rows: dict[Hashable, tuple[list[ArrowRows], list[ArrowRows]]] = {}
        self._schemas: list[Any] = [None, None]

    @override
    def most(self) -> int:
        return rows_at_once(self.run.limit)

    @override
    def receive(self, batch: Batch[Any]) -> None:
        for run in self.apart(batch):
            rows: Any = run.values
            right = isinstance(rows, RightRows)
            if self._form is None or not right:
                self._form = rows.form
            if self._schemas[right] is None:
                wanted = {*self._plan.on, *([] if self._plan.at is None else [self._plan.at])}
                check_names(f"{self.location}, in source {right + 1}", rows, wanted)
                self._schemas[right] = rows.schema
            if run.time not in self._rows:
                self.notify(run.time, run.time)
                self._rows[run.time] = ([], [])
            self._rows[run.time][right].append(rows)

    @override
    def complete(self, time: Hashable) -> None:
        left, right = map(self._frame, self._rows.pop(time), self._schemas)
        assert self._form is not None, "rows have arrived"
        try:
            made = self._joined(left, right)
        except polars().exceptions.PolarsError as exc:
            raise ColumnError(f"{self.location}: {first_line(exc)}, at the time {time!r}") from None
        if made is not None:
            self.give(time, rows_of(made, self._form))

    def _frame(self, rows: Sequence[ArrowRows], schema: Any) -> Any:
        """The rows of a source at a time as a frame; None if its columns are not known yet."""
        pa, pl = pyarrow(), polars()
        if rows:
            return same([pl.from_arrow(decoded(pa.Table.from_batches([part.batch]))) for part in rows])
        return None if schema is None else pl.from_arrow(decoded(schema.empty_table()))

    def _joined(self, left: Any, right: Any) -> Any:
        plan = self._plan
        if left is None or right is None:
            # One source has given no row yet: what it lacks has no columns.
            keeps = ("left", "anti", "asof", "full") if right is None else ("full",)
            return (left if right is None else right) if plan.how in keeps else None
        if plan.how == "asof":
            assert plan.at is not None, "it is checked when composing"
            by = list(plan.on) or None
            return left.sort(plan.at, maintain_order=True).join_asof(
                right.sort(plan.at, maintain_order=True),
                on=plan.at,
                by=by,
                strategy=plan.strategy,
                check_sortedness=False,
            )
        order = "left" if plan.how in {"semi", "anti"} else "left_right"
        return left.join(right, on=list(plan.on), how=plan.how, coalesce=True, maintain_order=order)


@transformer
def join_rows(plan: JoinPlan) -> Transformer[Any, Any]:
    """Join the marked rows of two sources."""
    return opens(_Joining(plan))


def _keys(call: Call, on: Any) -> tuple[str, ...]:
    names = (on,) if isinstance(on, str) else tuple(on)
    if not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
        raise call.refuse(f"needs on= to be a column's name, or a list of distinct names, but got {on!r}")
    return names


def _with_at(call: Call) -> None:
    how, at, on = call["how"], call["at"], call["on"]
    if (how == "asof") != isinstance(at, str):
        raise call.refuse(f"got how={how!r} and at={at!r}: how='asof', and only that, needs at=, a column's name")
    if not on and how != "asof":
        raise call.refuse("needs on=, the names of the columns that must be equal")


@checked
@together(_with_at)
def join(
    left: Annotated[Source[Any], sources],
    right: Annotated[Source[Any], sources],
    *,
    on: Annotated[Any, _keys] = (),
    how: Annotated[How, OneOf(*HOW)] = "inner",
    at: str | None = None,
    strategy: Annotated[Strategy, OneOf(*get_args(Strategy))] = "backward",
) -> Source[Any]:
    """Join the rows of two sources that have equal keys, at each time.

    >>> import pullstream as ps
    >>> from pullstream import columns
    >>> orders = ps.values([{"item": "tea", "n": 2}, {"item": "figs", "n": 1}])
    >>> prices = ps.values([{"item": "tea", "price": 3}, {"item": "rice", "price": 5}])
    >>> ps.run(ps.pipe(columns.join(orders, prices, on="item", how="left"), ps.collect()))
    [{'item': 'tea', 'n': 2, 'price': 3}, {'item': 'figs', 'n': 1, 'price': None}]

    `on` names the columns that must be equal in both; null equals nothing, as in SQL. `how` is "inner", "left", "full",
    "semi" (rows of the first source with a match), "anti" (rows without one), or "asof": for each row of the first
    source the row of the second whose column `at` is nearest, at or before it; `strategy` "forward" looks after it, and
    "nearest" at both sides:

    >>> trades = ps.values([{"at": 5, "item": "tea"}])
    >>> quotes = ps.values([{"at": at, "item": "tea", "price": price} for at, price in [(1, 3), (4, 6), (7, 9)]])
    >>> ps.run(ps.pipe(columns.join(trades, quotes, on="item", how="asof", at="at"), ps.collect()))
    [{'at': 5, 'item': 'tea', 'price': 6}]

    A time is joined when it is complete in both sources, and its rows are emitted in the order of the first source (by
    `at`, for "asof"). Until then, the rows of both are kept in columns. A column of the second source whose name is
    taken gets the suffix `_right`. Until a source has given a row, its columns are not known and results lack them.

    Raises:
        ColumnError: at an ask; a column is missing, or the types of keys do not match.
    """
    both = merge(pipe(left, left_rows()), pipe(right, right_rows()))
    return pipe(both, join_rows(JoinPlan(on, how, at, strategy)))

"""`select`, `with_columns` and `filter`: column expressions, each computed from one row at a time."""

from abc import abstractmethod
from collections.abc import Sequence, Sized
from itertools import compress
from typing import Annotated, Any, Final

from typing_extensions import override

from pullstream import Batch, Transformer, transformer
from pullstream.authoring import NOT_YET, PROMPT, Ascending, Backlog, Done, Emits, Pace, PassOn, Unanswered, opens

from ..arrow import ArrowRows, first_line
from .expressions import Expression, check_names, expressions, named_expressions, roots
from .frames import ColumnReader, Frame, computed, frame_from, rows_at_once, rows_of
from .package import ColumnError, pa, pl

WIDE: Final = 20
"""For rows with more columns, a message shows only the columns that the expressions read."""


class _PerRow(PassOn):
    """Computes expressions, and fails at the first row for which one fails."""

    traits = PROMPT

    def __init__(self, given: Sequence[Expression]) -> None:
        self._given = given
        self._roots = roots(given)
        self._rows = 0

    @override
    def placed(self) -> None:
        self._columns = ColumnReader(str(self.location))

    @abstractmethod
    def computed(self, rows: ArrowRows, frame: Frame) -> ArrowRows:
        """The result for some rows; `frame` has the columns that the expressions read."""

    def times(self, times: Sequence[Any], count: int) -> Sequence[Any]:
        """The times of the `count` rows of the last result."""
        return times[:count]

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        made, count, failure = self._columns.until_failure(batch.values, self._computed)
        if failure is not None:
            self.fail(failure, made or (), batch, count)
        self._rows += count
        if not made:
            return None
        return Batch(batch.time, made) if batch.uniform else Batch.of(self.times(batch.times, len(made)), made)

    def _computed(self, rows: ArrowRows) -> ArrowRows:
        where, read, batch = self._columns.where, self._roots, rows.batch
        check_names(where, rows, read)
        if read is not None:
            batch = batch.select([name for name in batch.schema.names if name in read])
        # Without columns, polars would forget how many rows there are.
        frame = frame_from(where, batch) if batch.num_columns else pl.DataFrame({"": [None] * len(rows)})
        try:
            return self.computed(rows, frame)
        except ColumnError:
            raise
        except Exception as exc:
            # These are the fewest rows for which it fails, so the last one is to blame.
            place = len(rows) - 1
            row = rows[place] if len(rows.schema) <= WIDE else rows.with_batch(batch)[place]
            what = f"for row {self._rows + place + 1}, {row!r}{rows.where(place)}"
            if isinstance(exc, pl.exceptions.PolarsError):
                raise ColumnError(f"{where}: {first_line(exc)}; {what}{self._untyped(rows)}") from None
            exc.add_note(what)
            raise

    def _untyped(self, rows: ArrowRows) -> str:
        """Advice about a column of unknown type, because all its values are null so far; empty if there is none."""
        null = pa.null()
        names = [field.name for field in rows.schema if field.type == null and field.name in (self._roots or ())]
        if not names:
            return ""
        return (
            f". So far, all values of the column {names[0]!r} are null, so its type is not known: give it one, for "
            f"example with pl.col({names[0]!r}).cast(pl.String)"
        )


class _Selecting(_PerRow):
    def __init__(self, given: Sequence[Expression], *, keep: bool) -> None:
        super().__init__(given)
        self._keep = keep

    @override
    def computed(self, rows: ArrowRows, frame: Frame) -> ArrowRows:
        made = computed(frame, *(each.expr for each in self._given))
        new, kept = rows_of(self._columns.where, made, rows.form).batch, rows.batch
        # The other columns keep their Arrow types.
        columns = dict(zip(kept.schema.names, kept.columns, strict=True)) if self._keep else {}
        columns.update(zip(new.schema.names, new.columns, strict=True))
        return ArrowRows(pa.RecordBatch.from_pydict(columns), rows.form, origin=rows.origin)


class _Filtering(_PerRow):
    """Asks at its own pace, because it may consume any number of rows for each that it emits."""

    _chosen: Sequence[bool] = ()

    @override
    def placed(self) -> None:
        super().placed()
        self._pace = Pace(self.run, rows_at_once(self.run.limit))
        self._ready = Backlog(self)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        ready = self._ready
        if not (ready or ready.known):
            batch = self.upstream.poll(self._pace.next(self.upstream))
            if not isinstance(batch, Batch):
                return batch
            self._pace.took()
            answer = self.answer(batch)
            if answer is not None:
                ready.put(answer)
            if not ready.known:
                self.upstream.settle()
        return ready.answer(limit) or NOT_YET

    @override
    def fail(self, exc: BaseException, out: Sized, batch: Batch[Any], taken: int) -> None:
        if not batch.uniform:
            self.upstream.ack_but(batch.part(taken))
        self._ready.end(exc)

    @override
    def computed(self, rows: ArrowRows, frame: Frame) -> ArrowRows:
        parts = computed(frame, *(each.expr.alias(str(at)) for at, each in enumerate(self._given)))
        for each, kind in zip(self._given, parts.dtypes, strict=True):
            if kind not in (pl.Boolean, pl.Null):
                raise ColumnError(
                    f"{self._columns.where}: the predicate {each!r} gives {kind}, not true or false: compare it, as in "
                    f"pl.col('n') > 0, or cast it with .cast(pl.Boolean)"
                )
        mask = parts.select(pl.all_horizontal(pl.all().cast(pl.Boolean))).to_series().fill_null(value=False)
        if mask.all():
            self._chosen = [True] * len(rows)
            return rows
        self._chosen = mask.to_list()
        return rows.filtered(mask.to_numpy())

    @override
    def times(self, times: Sequence[Any], count: int) -> Sequence[Any]:
        chosen = list(compress(times, self._chosen))
        return Ascending(chosen) if isinstance(times, Ascending) else chosen


@transformer
@Emits.AT_ONCE
def select(*columns: Annotated[Any, expressions], **named: Annotated[Any, named_expressions]) -> Transformer[Any, Any]:
    """Turn each row into a row of the given columns and expressions.

    >>> import polars as pl, pullstream as ps
    >>> from pullstream import columns
    >>> flights = ps.values([{"carrier": "AA", "delay": 30}, {"carrier": "UA", "delay": 15}])
    >>> ps.run(ps.pipe(flights, columns.select("carrier", hours=pl.col("delay") / 60), ps.collect()))
    [{'carrier': 'AA', 'hours': 0.5}, {'carrier': 'UA', 'hours': 0.25}]

    An argument is a column's name or a polars expression; a keyword names its result. Expressions look at one row at a
    time: aggregates, `shift`, `over`, `is_in` of a column and the like are refused when composing, because they would
    depend on where batches are cut. Rows keep their times, order and form: dicts stay dicts, named tuples named tuples.

    Raises:
        ColumnError: at an ask; a column is missing, or an expression failed for a row, which the message names.
    """
    return opens(_Selecting([*columns, *named.values()], keep=False))


@transformer
@Emits.AT_ONCE
def with_columns(
    *columns: Annotated[Any, expressions], **named: Annotated[Any, named_expressions]
) -> Transformer[Any, Any]:
    """Add columns to each row, or replace those that have the same name.

    >>> import polars as pl, pullstream as ps
    >>> from pullstream import columns
    >>> flights = ps.values([{"carrier": "AA", "delay": 30}])
    >>> ps.run(ps.pipe(flights, columns.with_columns(late=pl.col("delay") > 15), ps.collect()))
    [{'carrier': 'AA', 'delay': 30, 'late': True}]

    Arguments and errors are those of `select`. The other columns keep their Arrow types.
    """
    return opens(_Selecting([*columns, *named.values()], keep=True))


@transformer
@Emits.AT_ONCE
def filter(*predicates: Annotated[Any, expressions]) -> Transformer[Any, Any]:
    """Keep the rows for which all predicates are true; null counts as false.

    >>> import polars as pl, pullstream as ps
    >>> from pullstream import columns
    >>> flights = ps.values([{"carrier": "AA", "delay": 30}, {"carrier": "UA", "delay": None}])
    >>> ps.run(ps.pipe(flights, columns.filter(pl.col("delay") > 15), ps.collect()))
    [{'carrier': 'AA', 'delay': 30}]

    Predicates are polars expressions, or names of boolean columns. `select` says which rows they may look at, and
    which errors they raise. Columns are not converted. `filter` asks at its own pace, so chosen rows may wait in it.
    """
    return opens(_Filtering(predicates))

"""Groups of rows with the same keys: partial results of a batch, merged with those before."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from .aggregates import SUM, Aggregate, Merging
from .expressions import check_names, first_line
from .frames import Frame, same
from .package import ColumnError, polars

FIRST: Final = "__first__"
"""A partial column: the number of a group's first row."""

LAST: Final = "__last__"
"""A partial column: the number of a group's last row."""


class Groups:
    """Computes aggregates for each group of equal keys, in the order in which the groups first arrived.

    `where` names the module in errors. With `numbered`, rows have a number of arrival, and partial results that are not
    merged in the order of arrival still give the right `first` and `last`.
    """

    def __init__(
        self,
        where: str,
        keys: Sequence[str],
        aggregates: Mapping[str, Aggregate],
        merging: Merging | None = None,
        *,
        extra: Sequence[Any] = (),
        merged: Sequence[Any] = (),
    ) -> None:
        self._where = where
        self.keys = keys
        self._aggregates = aggregates
        self._merging = merging or Merging()
        self._extra, self._merged = extra, merged
        self._prefixes = {name: f"__{number}__" for number, name in enumerate(aggregates)}
        wanted: set[str] | None = set(keys)
        for aggregate in aggregates.values():
            if aggregate.of is not None and wanted is not None:
                expr = aggregate.of.expr
                wanted = None if expr.meta.has_multiple_outputs() else wanted | set(expr.meta.root_names())
        self.columns = wanted
        """The columns that are read; None if they may be any."""

    def partial(self, frame: Frame) -> Frame:
        """The partial results of some rows."""
        check_names(self._where, frame.columns, self.columns and self.columns & {*self.columns})
        work = self._inputs(frame)
        parts: list[Any] = []
        for name, aggregate in self._aggregates.items():
            prefix = self._prefixes[name]
            kind = work.schema.get(f"{prefix}in")
            column = None
            if kind is not None:
                try:
                    column = aggregate.kind.prepare(polars().col(f"{prefix}in"), kind)
                except ColumnError as exc:
                    raise ColumnError(f"{self._where}: {name}={aggregate!r}: {exc}") from None
            parts += aggregate.kind.partial(column, prefix)
        return self._grouped(work, [*parts, *self._extra])

    def merged(self, partials: Sequence[Frame]) -> Frame:
        """The partial results of all parts, in their order."""
        try:
            whole = same(partials)
        except polars().exceptions.PolarsError as exc:
            raise ColumnError(
                f"{self._where}: a column has values without a common type: {first_line(exc)}; convert them above"
            ) from None
        if len(partials) == 1:
            return whole
        parts = [
            part
            for name, aggregate in self._aggregates.items()
            for part in aggregate.kind.merge(self._prefixes[name], self._merging)
        ]
        return self._grouped(whole, [*parts, *self._merged])

    def finished(self, state: Frame, before: Sequence[Any] = ()) -> Frame:
        """The results: the keys, and a column for each aggregate."""
        pl = polars()
        results: list[Any] = []
        for name, aggregate in self._aggregates.items():
            prefix = self._prefixes[name]
            result = aggregate.kind.finish(prefix, aggregate.option).alias(name)
            if aggregate.kind is SUM and state.schema[prefix] == pl.Int128:
                total = state.get_column(prefix)
                if total.is_between(pl.lit(-(2**63), pl.Int128), pl.lit(2**63 - 1, pl.Int128)).not_().any():
                    raise ColumnError(f"{self._where}: {name}={aggregate!r} does not fit into 64 bits")
                result = result.cast(pl.Int64)
            results.append(result)
        made: Frame = state.select(*before, *self.keys, *results)
        return made

    def _inputs(self, frame: Frame) -> Frame:
        pl = polars()
        inputs = [
            aggregate.of.expr.alias(f"{self._prefixes[name]}in")
            for name, aggregate in self._aggregates.items()
            if aggregate.of is not None
        ]
        own = [name for name in frame.columns if name.startswith("__") and name not in self.keys]
        try:
            chosen: Frame = frame.select(*self.keys, *own, *inputs) if self.keys or own or inputs else frame
            return chosen if len(chosen) == len(frame) else frame.with_columns(*inputs)
        except pl.exceptions.PolarsError as exc:
            raise ColumnError(f"{self._where}: {first_line(exc)}") from None

    def _grouped(self, frame: Frame, parts: Sequence[Any]) -> Frame:
        made: Frame = frame.group_by(self.keys, maintain_order=True).agg(parts) if self.keys else frame.select(parts)
        return made

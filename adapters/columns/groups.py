"""Groups of rows with the same keys: partial results of a batch, merged with those before."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..arrow import ArrowRows, pyarrow
from .aggregates import SUM, Aggregate, Merging
from .arrow_partials import Table, partial_by_arrow
from .expressions import check_names, first_line
from .frames import Frame, decoded, same
from .package import ColumnError, polars

Extra = Sequence[tuple[str, str, str]]
"""Further partial columns: of a column the "min", "max", "first" or "last", and its name."""


class Groups:
    """Computes aggregates for each group of equal keys, in the order in which the groups first arrived.

    `where` names the module in errors. Where partial results are not merged in the order of arrival, `merging` names
    `extra` columns that tell which is the first and which the last.
    """

    def __init__(
        self,
        where: str,
        keys: Sequence[str],
        aggregates: Mapping[str, Aggregate],
        merging: Merging | None = None,
        *,
        extra: Extra = (),
    ) -> None:
        self._where = where
        self.keys = keys
        self._aggregates = {name: (f"__{number}__", each) for number, (name, each) in enumerate(aggregates.items())}
        self._merging = merging or Merging()
        self._extra = extra
        self._known: Any = None
        self._parts: list[Any] = []
        self._plain: dict[str, str] = {}
        """The aggregates of a column as it is, which need no expression."""
        wanted: set[str] | None = set(keys)
        for name, aggregate in aggregates.items():
            if aggregate.of is not None:
                meta = aggregate.of.expr.meta
                if meta.is_column():
                    self._plain[name] = meta.output_name()
                if wanted is not None:
                    wanted = None if meta.has_multiple_outputs() else wanted | set(meta.root_names())
        self.columns = wanted
        """The columns that are read; None if they may be any."""

    def table(self, rows: Sequence[ArrowRows], more: Mapping[str, Any] | None = None) -> Table:
        """The columns of rows that are read, and `more` columns; dictionaries become plain."""
        pa = pyarrow()
        batches = [part.batch for part in rows]
        names: list[str] = batches[0].schema.names
        check_names(self._where, names, self.columns and self.columns - (more or {}).keys())
        # Without any column, a table would not know how many rows it has.
        chosen = [name for name in names if self.columns is None or name in self.columns] or names[:1]
        try:
            table = pa.concat_tables(
                [decoded(pa.Table.from_batches([batch]).select(chosen)) for batch in batches],
                promote_options="permissive",
            )
        except pa.ArrowException as exc:
            raise self._no_common_type(exc) from None
        for name, column in (more or {}).items():
            table = table.append_column(name, column)
        return table

    def partial(self, table: Table) -> Frame:
        """The partial results of some rows."""
        return self._collected(self._partial(table))

    def results(self, table: Table) -> Frame:
        """The results of rows that have no partial results."""
        return self._collected(self._finished(self._partial(table), ()))

    def _no_common_type(self, exc: Exception) -> ColumnError:
        return ColumnError(
            f"{self._where}: a column has values without a common type: {first_line(exc)}; convert them above"
        )

    def merged(self, partials: Sequence[Frame]) -> Frame:
        """The partial results of all parts, in their order."""
        try:
            whole = same(partials)
        except polars().exceptions.PolarsError as exc:
            raise self._no_common_type(exc) from None
        return whole if len(partials) == 1 else self.regrouped(whole)

    def regrouped(self, whole: Frame) -> Frame:
        """Merge the partial results with equal keys."""
        return self._collected(self.regrouping(whole.lazy()))

    def regrouping(self, whole: Any) -> Any:
        """A lazy query that merges the partial results with equal keys."""
        parts = [
            part
            for prefix, aggregate in self._aggregates.values()
            for part in aggregate.kind.merge(prefix, self._merging)
        ]
        return self._grouped(whole, [*parts, *self._extras()])

    def finished(self, state: Any, before: Sequence[Any] = ()) -> Frame:
        """The results of partial results, in a frame or of a lazy query: the keys, and a column for each aggregate."""
        return self._collected(self._finished(state.lazy(), before))

    def _extras(self, *, merged: bool = True) -> list[Any]:
        pl = polars()
        found: list[Any] = []
        for name, function, made in self._extra:
            column = pl.col(made if merged else name)
            by = {"first": self._merging.first_by, "last": self._merging.last_by}.get(function, ()) if merged else ()
            found.append(getattr(column.sort_by(*by) if by else column, function)().alias(made))
        return found

    def _partial(self, table: Table) -> Any:
        self._prepare(table)
        if self.keys:
            query = partial_by_arrow(table, self.keys, self._inputs(table), self._aggregates, self._extra)
            if query is not None:
                return query
        return self._grouped(polars().from_arrow(table).lazy(), [*self._parts, *self._extras(merged=False)])

    def _inputs(self, table: Table) -> dict[str, Any]:
        """The columns to aggregate, by the name of the result."""
        made = {name: table.column(column) for name, column in self._plain.items()}
        rest = {
            name: each.of.expr
            for name, (_, each) in self._aggregates.items()
            if each.of is not None and name not in self._plain
        }
        if rest:
            pl = polars()
            count = pl.int_range(pl.len()).alias("__row__")
            frame = self._collected(pl.from_arrow(table).lazy().select(count, **rest))
            made.update(zip(rest, frame.drop("__row__").to_arrow(compat_level=pl.CompatLevel.oldest()), strict=True))
        return made

    def _prepare(self, table: Table) -> None:
        """Check the types of the inputs, and make the partial columns of them."""
        if self._known is not None and self._known.equals(table.schema):
            return
        inputs = {name: each.of.expr for name, (_, each) in self._aggregates.items() if each.of is not None}
        try:
            kinds = polars().from_arrow(table.slice(0, 0)).lazy().select(**inputs).collect_schema()
        except polars().exceptions.PolarsError as exc:
            raise ColumnError(f"{self._where}: {first_line(exc)}") from None
        self._parts = []
        for name, (prefix, aggregate) in self._aggregates.items():
            column = inputs.get(name)
            if column is not None:
                try:
                    column = aggregate.kind.prepare(column, kinds[name])
                except ColumnError as exc:
                    raise ColumnError(f"{self._where}: {name}={aggregate!r}: {exc}") from None
            self._parts += aggregate.kind.partial(column, prefix)
        self._known = table.schema

    def _finished(self, state: Any, before: Sequence[Any]) -> Any:
        pl = polars()
        schema = state.collect_schema()
        results: list[Any] = []
        for name, (prefix, aggregate) in self._aggregates.items():
            result = aggregate.kind.finish(prefix, aggregate.option)
            if aggregate.kind is SUM and schema[prefix] == pl.Int128:
                result = result.cast(pl.Int64)
            results.append(result.alias(name))
        return state.select(*before, *self.keys, *results)

    def _grouped(self, frame: Any, parts: Sequence[Any]) -> Any:
        return frame.group_by(self.keys, maintain_order=True).agg(parts) if self.keys else frame.select(parts)

    def _collected(self, query: Any) -> Frame:
        try:
            made: Frame = query.collect()
        except polars().exceptions.PolarsError as exc:
            why = first_line(exc)
            if "i128" in why:
                sums = [f"{name}={each!r}" for name, (_, each) in self._aggregates.items() if each.kind is SUM]
                why = f"a sum does not fit into 64 bits, of {', '.join(sums)}"
            raise ColumnError(f"{self._where}: {why}") from None
        return made

"""Groups of rows with the same keys: partial results of a batch, merged with earlier ones."""

from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import TypeAlias

from ..arrow import Array, ArrowRows, DataType, RecordBatch, decoded, first_line
from .aggregates import SUM, Aggregate
from .expressions import check_names, roots
from .frames import computed, frame_from, joined, rows_of
from .grouping import Grouped, grouped
from .package import ColumnError, pa, pl

Marks: TypeAlias = tuple[Sequence[str], Sequence[str]]
"""Columns of numbers that decide which row of a group is first and which is last; partial results keep them."""


class Groups:
    """Computes aggregates for each group of equal keys, in the order in which the groups first arrived.

    `where` names the module in errors. `added` are the keys that the module adds to those of the rows. Without `marks`,
    rows and partial results are in the order of arrival.
    """

    def __init__(
        self,
        where: str,
        keys: Sequence[str],
        aggregates: Mapping[str, Aggregate],
        *,
        added: Sequence[str] = (),
        marks: Marks = ((), ()),
    ) -> None:
        self._where = where
        self._keys = keys
        self._grouped_by = (*added, *keys)
        self._aggregates = {name: (f"__{number}__", each) for number, (name, each) in enumerate(aggregates.items())}
        self._marks = marks
        inputs = {name: each.of for name, each in aggregates.items() if each.of is not None}
        self._computed = {name: of.expr for name, of in inputs.items() if not of.expr.meta.is_column()}
        """The inputs of the aggregates that must be computed; the others are columns."""
        self._inputs = {
            name: self._aggregates[name][0] if name in self._computed else of.expr.meta.output_name()
            for name, of in inputs.items()
        }
        """The column of each input."""
        read = roots(list(inputs.values()))
        self._columns = None if read is None else read | set(keys)

    def table(self, rows: Sequence[ArrowRows], more: Mapping[str, Array]) -> RecordBatch:
        """The columns to read from the rows, `more` columns, and the inputs that must be computed."""
        whole = ArrowRows.join_values(rows)
        # Polars would treat a dictionary as a column of categories.
        encoded = whole is not None and not self._computed
        batches = [part.encoded if encoded else part.batch for part in (rows if whole is None else [whole])]
        names: list[str] = batches[0].schema.names
        check_names(self._where, rows[0], self._columns)
        chosen = [name for name in names if self._columns is None or name in self._columns]
        # A record batch of no columns would forget how many rows it has.
        columns: Sequence[Array] = (
            joined(self._where, [each.select(chosen) for each in batches]).columns if chosen else []
        )
        table = pa.RecordBatch.from_arrays([*columns, *more.values()], [*chosen, *more])
        if not self._computed:
            return table
        try:
            made = rows_of(self._where, computed(frame_from(self._where, table), **self._computed), "rows").batch
        except pl.exceptions.PolarsError as exc:
            raise ColumnError(f"{self._where}: {first_line(exc)}") from None
        names = [*table.schema.names, *(self._inputs[name] for name in self._computed)]
        return pa.RecordBatch.from_arrays([*table.columns, *made.columns], names)

    def partial(self, table: RecordBatch, groups: Grouped | None = None) -> RecordBatch:
        """The partial results of some rows, grouped by the keys unless `groups` are given."""
        groups = groups or self._grouped(table)
        parts: dict[str, Array] = {}
        for name, (prefix, aggregate) in self._aggregates.items():
            kind = aggregate.kind
            with self._naming(name, aggregate):
                # A count of rows has no input.
                column = decoded(table.column(self._inputs[name])) if name in self._inputs else table.column(0)
                made = kind.partial(groups, kind.read(column))
                parts.update({prefix + part: values for part, values in made.items()})
        return self._of_groups(table, groups, parts)

    def joined(self, partials: Sequence[RecordBatch]) -> RecordBatch:
        """Concatenate partial results."""
        return joined(self._where, partials, self._shown)

    def _shown(self, column: str) -> str:
        """The name that users know for a column of partial results."""
        for name, (prefix, aggregate) in self._aggregates.items():
            if column.startswith(prefix):
                return f"{name}={aggregate!r}"
        return f"the key {column!r}"

    def regrouped(self, whole: RecordBatch, groups: Grouped | None = None) -> RecordBatch:
        """Merge the partial results with equal keys or, given `groups`, those of each group."""
        groups = groups or self._grouped(whole)
        parts: dict[str, Array] = {}
        merged = self._parts(whole)
        for name, (prefix, aggregate) in self._aggregates.items():
            with self._naming(name, aggregate):
                made = aggregate.kind.merge(groups, merged[prefix])
            parts.update({prefix + part: column for part, column in made.items()})
        return self._of_groups(whole, groups, parts)

    def finished(self, partial: RecordBatch) -> RecordBatch:
        """The final results: the keys of the rows, and a column for each aggregate."""
        made = {key: partial.column(key) for key in self._keys}
        merged = self._parts(partial)
        for name, (prefix, aggregate) in self._aggregates.items():
            with self._naming(name, aggregate):
                parts = merged[prefix]
                made[name] = aggregate.kind.finish(parts, aggregate.option)
                if aggregate.kind is SUM:
                    made[name] = self._narrow(partial, made[name], parts["of"].type)
        return pa.RecordBatch.from_pydict(made)

    def _narrow(self, partial: RecordBatch, total: Array, of: DataType) -> Array:
        """Convert sums to the type of a result; intermediate sums may need more bits."""
        types = pa.types
        if not types.is_decimal(total.type):
            return total
        scale, whole = total.type.scale, not types.is_decimal(of)
        if types.is_duration(of):
            total = total.cast(pa.decimal256(76, scale)).view(pa.decimal256(76, 0))
        try:
            made = total.cast(pa.int64() if whole else pa.decimal128(38, scale))
        except pa.ArrowInvalid:
            most = 2**63 if whole else 10 ** (38 - scale)
            place = next(place for place, sum_ in enumerate(total.to_pylist()) if not -most <= sum_ < most)
            key = ", ".join(f"{key}={partial.column(key)[place].as_py()!r}" for key in self._keys)
            advice = "; for 38 digits, sum .cast(pl.Decimal(38, 0))" if types.is_integer(of) else ""
            raise ColumnError(
                f"a sum does not fit into {'64 bits' if whole else '38 digits'}{key and ', for '}{key}{advice}"
            ) from None
        return made.cast(of) if types.is_duration(of) else made

    def _grouped(self, table: RecordBatch) -> Grouped:
        made = grouped([table.column(name) for name in self._grouped_by], len(table))
        first, last = ([table.column(name).to_numpy() for name in names] for names in self._marks)
        if first:
            made.first, made.last = made.ends(first), made.ends(last, last=True)
        return made

    def _of_groups(self, table: RecordBatch, groups: Grouped, parts: Mapping[str, Array]) -> RecordBatch:
        """The keys and marks of each group, and its partial results."""
        made: dict[str, Array] = {}
        for names, end in zip((self._grouped_by, *self._marks), ("first", "first", "last"), strict=True):
            for name in names:
                column = table.column(name)
                try:
                    made[name] = decoded(column.take(pa.array(getattr(groups, end))))
                except pa.ArrowNotImplementedError:
                    raise ColumnError(
                        f"{self._where}: the column {name!r}, which is {column.type}, cannot be a key; cast it where "
                        f"it is read"
                    ) from None
        return pa.RecordBatch.from_pydict({**made, **parts})

    def _parts(self, table: RecordBatch) -> dict[str, dict[str, Array]]:
        """The partial results of each aggregate, by its prefix."""
        parts: dict[str, dict[str, Array]] = {prefix: {} for prefix, _ in self._aggregates.values()}
        for name, column in zip(table.schema.names, table.columns, strict=True):
            prefix = name[: name.find("__", 2) + 2]
            if prefix in parts:
                parts[prefix][name.removeprefix(prefix)] = column
        return parts

    @contextmanager
    def _naming(self, name: str, aggregate: Aggregate) -> Generator[None]:
        try:
            yield
        except ColumnError as exc:
            raise ColumnError(f"{self._where}: {name}={aggregate!r}: {exc}") from None
        except pa.ArrowNotImplementedError:
            raise ColumnError(f"{self._where}: {name}={aggregate!r} does not support the type of its column") from None

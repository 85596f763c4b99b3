"""Base classes of modules that receive columns, and of modules that keep columns per time until it is complete."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from typing_extensions import override

from pullstream import Batch
from pullstream.authoring import Notified

from ..arrow import ArrowRows, RowForm
from .frames import ColumnReader, rows_at_once

S = TypeVar("S")


class InColumns(Notified):
    """Receives rows in columns, many at once."""

    form: RowForm = "rows"
    """The form of the latest rows."""

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self.where = str(self.location)
        self.reader = ColumnReader(self.where)

    @override
    def most(self) -> int:
        return rows_at_once(self.run.limit)


class ByTime(InColumns, Generic[S]):
    """Keeps a state for each open time, made by `begin`."""

    def __init__(self, begin: Callable[[], S]) -> None:
        super().__init__()
        self._begin = begin
        self.kept: dict[Hashable, S] = {}

    def arrivals(self, batch: Batch[Any]) -> Iterator[tuple[ArrowRows, Sequence[tuple[Hashable, slice]]]]:
        """Yield the rows of a batch in columns, with each range's time; every time then has a state."""
        try:
            # Convert all at once: a conversion of one row costs as much as one of hundreds.
            parts = iter([(batch, self.reader.rows(batch.values))])
        except Exception:  # noqa: BLE001 - raised again, after the times before the row that fails
            parts = ((part, self.reader.rows(part.values)) for part in self.apart(batch))
        for part, rows in parts:
            self.form = rows.form
            changes = () if part.uniform else part.changes
            ranges = list(map(slice, (0, *changes), (*changes, len(rows))))
            times = [part.time] if part.uniform else [part.times[each.start] for each in ranges]
            for time in times:
                if time not in self.kept:
                    self.notify(time, time)
                    self.kept[time] = self._begin()
            yield rows, list(zip(times, ranges, strict=True))

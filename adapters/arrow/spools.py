"""The rows of open times as Arrow data, in memory or in temporary files, until their times are complete."""

import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final

import attrs

from pullstream import Batch

from .arrow_rows import ArrowRows
from .package import RecordBatch, pa
from .packing import Packing, Portion

IN_MEMORY: Final = 64 << 20
"""The most bytes to keep in memory, per time and in total; the rest goes to temporary files."""

SORTED_BYTES = 8 << 20
"""The bytes of rows to sort by time at once."""

WIDTH: Final = 8
"""Rows wait until there is one for this many columns: wide rows are converted several at a time.

A conversion has a fixed cost per column, as high as that of dozens of values.
"""

WAITING: Final = 1 << 20
"""The most values that may wait for that reason: as Python objects, they take up to a hundred megabytes."""

SHARE: Final = 8
"""The rows of a time are copied if they are smaller than 1/SHARE of all rows sorted with them."""


class Spool:
    """Keeps the rows of one time: in memory or, if they are many, in a temporary file."""

    def __init__(self, schema: Any, time: Hashable) -> None:
        self.schema = schema
        self.time = time
        self.rows = 0
        self.held = 0
        """The bytes in memory."""
        self._batches: list[RecordBatch] = []
        self._file: Any = None
        self._writer: Any = None

    @property
    def in_memory(self) -> bool:
        """Whether all rows are in memory."""
        return self._file is None

    def add(self, batch: RecordBatch) -> None:
        """Add rows."""
        self.rows += batch.num_rows
        self.held += batch.nbytes
        self._batches.append(batch)
        if self.held > IN_MEMORY:
            self.spill()

    def spill(self) -> None:
        """Move the rows to a temporary file."""
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115 - open until it is written
            self._writer = pa.ipc.new_stream(self._file, self.schema)
        for batch in self._batches:
            self._writer.write_batch(batch)
        self._file.flush()
        self._batches, self.held = [], 0

    def finish(self) -> None:
        """End the temporary file: there are no more rows."""
        if self._file is not None:
            self._writer.close()
            self._file.flush()

    def batches(self) -> Iterator[RecordBatch]:
        """Yield the batches of a finished spool; the second call yields them again."""
        if self._file is not None:
            self._file.seek(0)
            with pa.ipc.open_stream(self._file) as reader:
                yield from reader
        yield from self._batches

    def close(self) -> None:
        """Delete the rows."""
        self._batches = []
        if self._file is not None:
            # Closing retries the write that a full disk refused.
            with suppress(OSError):
                self._file.close()


@attrs.define(eq=False, slots=False)
class OpenTimes:
    """Keeps the rows of times that are not complete.

    Rows are converted to Arrow in the order in which they arrive. Arrow sorts many rows by time at once, so the cost of
    a row does not depend on the number of times in a batch. Rows may lack the `column` with their time. If a temporary
    file cannot be written, the `failure` is raised.

    After a refused row, no more rows are converted. Of its batch, only the rows at the times before it are kept. Rows
    of wide tables are converted several at a time, and the rest when a time is complete.
    """

    _packing: Packing
    _opened: Callable[[Hashable], Spool]
    _failure: Callable[[str], Exception]
    column: str | None = None

    def __attrs_post_init__(self) -> None:
        self._packing.place = self.place
        self._waiting: list[Batch[Any]] = []
        """Batches that are not converted yet."""
        self._awaited = 0
        """The number of rows to wait for."""
        self._spools: dict[Hashable, Spool] = {}
        self._unsorted: list[RecordBatch] = []
        self._runs: list[tuple[Hashable, int]] = []
        """The runs of the unsorted rows: each time, with its number of rows."""
        self._arriving: list[tuple[Hashable, int]] = []
        """The same for rows that are being converted."""
        self._cut: set[Hashable] = set()
        """The times of the refused row and of all rows after it."""
        self._size = 0
        """The bytes of the unsorted rows."""
        self._spooled = 0
        """The bytes of spools in memory."""
        self._sorted = 0
        """The number of rows in spools."""
        self.refusal: Exception | None = None
        """The refusal of a row, if one was refused."""
        self.taken = 0
        """The number of values kept from the last batch, if a row was refused."""

    def add(self, batch: Batch[Any]) -> None:
        """Add the rows of a batch, up to a row that is refused."""
        self._waiting.append(batch)
        self._awaited -= row_count(batch.values)
        if self._awaited <= 0:
            self._convert()

    def _convert(self) -> None:
        """Convert the rows that wait, up to a row that is refused."""
        waiting, self._waiting = self._waiting, []
        refused = self.refusal is not None
        if refused or not self._keep(waiting):
            for batch in waiting:
                self.taken = 0
                for run in batch.runs():
                    refused = refused or not self._keep([run])
                    if refused:
                        self._cut.add(run.time)
                    else:
                        self.taken += len(run.values)
        width = self._packing.width
        self._awaited = 0 if refused else min(width // WIDTH, WAITING // max(1, width))

    def _keep(self, batches: Sequence[Batch[Any]]) -> bool:
        """Convert the rows of batches and keep them, or none of them."""
        rows = self._packing.rows
        try:
            packed = self._packed(batches)
        except Exception as exc:  # noqa: BLE001 - kept for the caller to raise
            self._packing.rows = rows
            self.refusal = exc
            return False
        self.refusal = None
        for time, count in self._arriving:
            before = self._runs.pop()[1] if self._runs and self._runs[-1][0] == time else 0
            self._runs.append((time, before + count))
        self._unsorted += packed
        self._size += sum(some.nbytes for some in packed)
        if self._size >= SORTED_BYTES:
            self._sort()
        return True

    def _packed(self, batches: Sequence[Batch[Any]]) -> list[RecordBatch]:
        self._arriving = []
        runs = [run for batch in batches for run in batch.runs()]
        for run in runs:
            if run.time not in self._spools:
                self._spools[run.time] = self._opened(run.time)
            self._arriving.append((run.time, row_count(run.values)))
        portions: list[Portion] = [(batch.values, {}) for batch in batches]
        if self.column is not None:
            portions = [(run.values, {self.column: run.time}) for run in runs]
        rows = self._packing.rows
        packed = list(self._packing.batches(portions))
        self.check(packed, self._arriving, rows)
        return packed

    def check(self, packed: list[RecordBatch], runs: Sequence[tuple[Hashable, int]], rows: int) -> None:
        """Refuse rows, in a subclass; `runs` has their times and numbers of rows; `rows` other rows precede them."""

    @contextmanager
    def complete(self, times: Sequence[Hashable]) -> Generator[list[Spool]]:
        """Yield the spools of times that get no more rows; delete them after the block.

        If one of the times has a refused row, only the times before it are yielded, and the refusal is raised after the
        block. If there are none before it, the refusal is raised at once.
        """
        if self._waiting:
            self._convert()
        kept = list(itertools.takewhile(lambda time: time not in self._cut, times))
        if self.refusal is not None and not kept:
            raise self.refusal
        self._sort()
        try:
            spools = [self._spools[time] for time in kept]
            for spool in spools:
                with self._writing(spool):
                    spool.finish()
            yield spools
        finally:
            for time in kept:
                spool = self._spools.pop(time)
                self._spooled -= spool.held
                spool.close()
        if self.refusal is not None and len(kept) < len(times):
            raise self.refusal

    @property
    def held(self) -> int:
        """The bytes of all times in memory."""
        return self._size + self._spooled

    @property
    def full(self) -> bool:
        """Whether all times together have too much in memory."""
        return self.held > IN_MEMORY

    def spill(self) -> None:
        """Move the rows of the largest times to temporary files, until at most half of the bytes in memory are left."""
        allowed = self.held // 2
        for spool in sorted(self._spools.values(), key=lambda spool: -spool.held):
            if self.held <= allowed:
                break
            self._spooled -= spool.held
            with self._writing(spool):
                spool.spill()

    def close(self) -> None:
        """Release all spools."""
        for spool in self._spools.values():
            spool.close()

    def place(self, number: int) -> str:
        """Name a row by its number in the order of arrival."""
        runs = itertools.chain(self._runs, self._arriving)
        return row_place(number - self._sorted, runs, lambda time: self._spools[time].rows)

    def _sort(self) -> None:
        """Move the unsorted rows to the spools of their times; rows of one time stay in order."""
        if not self._unsorted:
            return
        batches, runs = self._unsorted, self._runs
        self._sorted += sum(count for _, count in runs)
        self._unsorted, self._runs, self._size = [], [], 0
        if len(runs) == 1:
            for batch in batches:
                self._put(runs[0][0], batch)
            return
        rows = pa.concat_batches(batches)
        counts = Counter[Hashable]()
        for time, count in runs:
            counts[time] += count
        if len(counts) < len(runs):
            numbers = dict(zip(counts, itertools.count(), strict=False))
            places = itertools.chain.from_iterable(itertools.repeat(numbers[time], count) for time, count in runs)
            rows = rows.take(pa.compute.sort_indices(pa.array(places)))
        begin = 0
        for time, count in counts.items():
            part = rows.slice(begin, count)
            if part.nbytes * SHARE < rows.nbytes:
                # A slice would keep all rows in memory, as long as its time is open.
                part = pa.concat_batches([part])
            self._put(time, part)
            begin += count

    def _put(self, time: Hashable, rows: RecordBatch) -> None:
        spool = self._spools[time]
        before = spool.held
        try:
            with self._writing(spool):
                spool.add(rows)
        finally:
            self._spooled += spool.held - before

    @contextmanager
    def _writing(self, spool: Spool) -> Generator[None]:
        try:
            yield
        except OSError as exc:
            raise self._failure(
                f"at the time {spool.time!r}: its rows wait in a temporary file in {tempfile.gettempdir()}, which "
                f"cannot be written: {exc}. Make room there, or set TMPDIR to another folder"
            ) from exc


def row_place(
    number: int, runs: Iterable[tuple[Hashable, int]], before: Callable[[Hashable], int] = lambda _: 0
) -> str:
    """Name a row by its place in its time, which is the same in every run; `runs` are times and numbers of rows.

    >>> row_place(4, [(1, 2), (2, 2), (1, 3)])
    'row 3 of the time 1'
    """
    seen = Counter[Hashable]()
    for time, count in runs:
        if number < count:
            return f"row {before(time) + seen[time] + number + 1} of the time {time!r}"
        number -= count
        seen[time] += count
    raise IndexError(number)


def row_count(values: Sequence[Any]) -> int:
    """Return the number of rows; a value may be an Arrow batch with many."""
    tables: tuple[type, ...] = (pa.RecordBatch, pa.Table)
    if isinstance(values, ArrowRows) or not any(issubclass(kind, tables) for kind in set(map(type, values))):
        return len(values)
    return sum(value.num_rows if isinstance(value, tables) else 1 for value in values)

"""Values of a target before they are encoded: in memory, and on disk if there are too many.

A unit is the amount that is encoded at once. Units are cut at fixed sizes, regardless of batches and of when values
went to disk, so the same values give the same file, byte for byte.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from ...arrow import ArrowRows, Columns, RecordBatch, joined_rows, pa, serialized
from .disk import BLOCK, Disk

LOOSE = 1024
"""The number of rows kept as Python objects before they become a record batch."""


class RawBytes:
    """Bytes; a unit is 1 MiB."""

    rows = 0
    loose = 0

    def __init__(self, disk: Disk, path: Path, lines: Callable[[Sequence[Any]], bytes]) -> None:
        self._disk = disk
        self._path = path
        self._lines = lines
        self._memory = bytearray()
        self._end = 0
        self._read = 0

    @property
    def held(self) -> int:
        """The bytes in memory."""
        return len(self._memory)

    @property
    def full(self) -> bool:
        """Whether there is a whole unit."""
        return self._end - self._read + len(self._memory) >= BLOCK

    def add(self, values: Sequence[Any]) -> None:
        """Add values."""
        self._memory += self._lines(values)
        self.rows += len(values)

    def spill(self) -> None:
        """Move the values from memory to disk."""
        if self._memory:
            self._disk.append(self._path, self._memory)
            self._end += len(self._memory)
            self._memory = bytearray()

    def settle(self) -> None:
        """Do nothing: there are no loose objects."""

    def units(self, *, last: bool) -> Iterator[bytes]:
        """Take out whole units; with `last`, the remainder as well."""
        while self.full or (last and (self._memory or self._read < self._end)):
            unit = b""
            if self._read < self._end:
                self._disk.check(self._path, self._end)
                unit = self._disk.part_of(self._path, self._read, min(BLOCK, self._end - self._read))
                self._read += len(unit)
                if self._read == self._end:
                    self._disk.remove(self._path)
                    self._read = self._end = 0
            missing = BLOCK - len(unit)
            if missing and self._read == self._end:
                unit += self._memory[:missing]
                del self._memory[:missing]
            yield unit


class RawRows:
    """Rows as Arrow record batches; a unit is a table of a fixed size, and the first unit fixes the schema."""

    rows = 0
    held = 0
    """The bytes in memory."""

    def __init__(self, disk: Disk, path: Path, columns: Columns, unit: int) -> None:
        self._disk = disk
        self._path = path
        self.columns = columns
        self._unit = unit
        self._loose: list[Any] = []
        self._columns: list[ArrowRows] = []
        self._columns_size = 0
        # Rows are in this order: read back from disk, on disk, in memory.
        self._back: deque[RecordBatch] = deque()
        self._memory: deque[RecordBatch] = deque()
        self._spilled: deque[tuple[int, int]] = deque()
        self._end = 0
        self._waiting = 0
        self._given = False

    @property
    def loose(self) -> int:
        """The number of Python objects in memory, whose size is unknown."""
        return len(self._loose) + self._columns_size

    @property
    def full(self) -> bool:
        """Whether there is a whole unit."""
        return self._waiting >= self._unit

    def add(self, values: Sequence[Any]) -> None:
        """Add values."""
        if isinstance(values, ArrowRows):
            if self._loose or (self._columns and not self._columns[0].schema.equals(values.schema)):
                self.settle()
            self._columns.append(values)
            self._columns_size += len(values)
            if self._columns_size >= LOOSE:
                self.settle()
            return
        if self._columns:
            self.settle()
        if isinstance(values[0], (pa.RecordBatch, pa.Table)):
            self.settle()
            for value in values:
                self._keep([value])
            return
        self._loose.extend(values)
        if len(self._loose) >= LOOSE:
            self.settle()

    def settle(self) -> None:
        """Convert loose objects to a form whose size is known."""
        loose: Sequence[Any] = self._loose
        if self._columns:
            loose = joined_rows(self._columns)
            self._columns, self._columns_size = [], 0
        self._loose = []
        if not self.columns.fixed and len(loose) > self._unit - self.rows > 0:
            # Only the first unit determines the columns, regardless of rows that arrived together with its last one.
            first = self._unit - self.rows
            self._keep(loose[:first])
            loose = loose[first:]
        if loose:
            self._keep(loose)

    def _keep(self, values: Sequence[Any]) -> None:
        for batch in self.columns.batches(values):
            self._memory.append(batch)
            self.held += _size(batch)
            self._waiting += batch.num_rows
            self.rows += batch.num_rows
        if self.rows >= self._unit:
            self.columns.fix()

    def spill(self) -> None:
        """Move the values from memory to disk."""
        self.settle()
        while self._memory:
            # One stream per spill, because each may have its own schema until the file's is fixed.
            schema, batches = self._memory[0].schema, list[RecordBatch]()
            while self._memory and self._memory[0].schema.equals(schema):
                batches.append(self._memory.popleft())
            data = serialized(*batches)
            self._disk.append(self._path, data)
            self._spilled.append((self._end, data.size))
            self._end += data.size
        self.held = 0

    def units(self, *, last: bool) -> Iterator[Any]:
        """Take out whole units as tables; with `last`, the remainder as well, or else a table without rows."""
        if last:
            self.settle()
        while self.full or (last and self._waiting):
            self.columns.fix()
            yield self._table(min(self._unit, self._waiting))
        if last and not self._given:
            yield pa.Table.from_batches([], schema=self.columns.fix())

    def _table(self, rows: int) -> Any:
        taken: list[RecordBatch] = []
        missing = rows
        while missing:
            if not self._back and self._spilled:
                self._unspill()
            oldest = self._back or self._memory
            batch = oldest.popleft()
            if oldest is self._memory:
                self.held -= _size(batch)
            if batch.num_rows > missing:
                rest = batch.slice(missing)
                oldest.appendleft(rest)
                if oldest is self._memory:
                    self.held += _size(rest)
                batch = batch.slice(0, missing)
            missing -= batch.num_rows
            taken.append(self.columns.fitted(batch))
        self._waiting -= rows
        self._given = True
        # A single chunk, so that the file does not depend on how the values were batched.
        return pa.Table.from_batches(taken).combine_chunks()

    def _unspill(self) -> None:
        """Read back the oldest values on disk."""
        offset, size = self._spilled.popleft()
        with pa.ipc.open_stream(self._disk.part_of(self._path, offset, size)) as stream:
            self._back.extend(stream)
        if not self._spilled:
            self._disk.remove(self._path)
            self._end = 0


Raw: TypeAlias = RawBytes | RawRows
"""The values of a target that are not encoded yet."""


def _size(batch: RecordBatch) -> int:
    """The approximate bytes in memory; a batch of one row is mostly overhead."""
    return batch.nbytes + 512 * (batch.num_columns + 1)

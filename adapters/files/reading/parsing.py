"""Parsing of lines into Arrow tables, block by block with fixed types, and the search for bad lines."""

import re
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from itertools import accumulate
from typing import Any, Final

import attrs
from more_itertools import mark_ends, split_when

from pullstream.authoring import start_in_thread

from ...arrow import RecordBatch, pa
from ...arrow.columns import one_batch
from .blocks import Block, Overlong, Quoting, count_lines, records
from .errors import FileReadError
from .formats import Agreed, Bad, Piece, Start, TablePiece, problem_of
from .listing import File
from .streams import Stream

FEW: Final = 64
"""The number of rows up to which the search splits them at the row that the parser names, not in the middle."""

WIDTH: Final = 2
"""The number of blocks parsed ahead."""

HELD: Final = 8
"""The number of blocks that are searched for the end of a quoted value."""

UNENDED: Final = "the row does not end at the end of its line; is a quote or bracket left open?"

MOST: Final = 2**31 - 1
"""The maximum bytes that pyarrow parses in one piece."""

_COUNTED = re.compile(r"^((?:CSV parse error|In CSV column #(\d+)): )Row #\d+: | in row \d+$")
"""The row number in pyarrow's messages, which counts within the parsed piece, and the column number."""

_ROW = re.compile(r"Row #(\d+): ")

Parse = Callable[[bytes], Any]
"""A function that parses whole lines into a table; it raises if a line cannot be parsed or does not match."""


@attrs.frozen(eq=False)
class Sieve:
    """Parses whole blocks and, if that fails, finds the bad lines by bisection."""

    _file: File
    _parse: Parse
    _look: Callable[[], None]
    _quoting: Quoting | None
    """Tells where rows end if a value may have line breaks, or must not have one; else every line ends a row."""
    _blank: bytes
    """The characters that may fill a line that is not a row."""
    _strict: bool = attrs.field(default=True, kw_only=True, alias="strict")
    """Whether every line must be a row, so that a line that swallows the next is found."""
    _names: Sequence[str] = attrs.field(default=(), kw_only=True, alias="names")
    _width: int = attrs.field(default=WIDTH, kw_only=True, alias="width")
    _held: list[tuple[Block, Any]] = attrs.field(factory=list[tuple[Block, Any]], init=False)
    """Consecutive blocks with their tables. The first begins with a row whose quote is open to the end of the last."""
    _unreadable: Any = attrs.field(factory=lambda: (ValueError, pa.ArrowException), init=False)

    def settled(self, blocks: Iterable[Block], agreed: Agreed, settle: Callable[[Block], None]) -> Iterator[Block]:
        """Yield the blocks; call `settle` with one that has rows if columns and types are not settled yet.

        Rows of white space have only empty fields, which show no types, so a few such blocks wait for another one.
        """
        waiting: list[Block] = []

        def released() -> Iterator[Block]:
            released, waiting[:] = [*waiting], []
            rows = [block for block in released if not isinstance(block, Overlong) and block.data.lstrip(self._blank)]
            if rows and agreed.schema is None:
                settle(rows[-1])
            yield from released

        try:
            for block in blocks:
                waiting.append(block)
                tells = not isinstance(block, Overlong) and not block.data.isspace()
                if agreed.schema is not None or tells or len(waiting) > HELD:
                    yield from released()
        except Exception:
            # A reading error comes after everything read before it (R8).
            yield from released()
            raise
        yield from released()

    def pieces(self, blocks: Iterable[Block], stream: Stream) -> Iterator[Piece]:
        """Parse blocks, and yield their tables and bad parts in order."""
        # Threads would take longer than parsing a small file.
        in_turn = ((block, self._whole(block)) for block in blocks)
        parsed = in_turn if stream.raw.small else self._ahead(blocks)
        with closing(parsed):
            try:
                for block, table in parsed:
                    yield from self._of_block(block, table, stream)
            except Exception:
                # A reading error comes after everything read before it (R8).
                yield from self._rest(stream)
                raise
            yield from self._rest(stream)

    def _ahead(self, blocks: Iterable[Block]) -> Generator[tuple[Block, Any]]:
        """Blocks with their tables; a few are parsed ahead."""
        rest = iter(blocks)
        reading: Future[Block | None] = start_in_thread(next, rest, None)
        parsed: deque[tuple[Block, Future[Any]]] = deque()
        over = False
        try:
            while parsed or not over:
                if not over and len(parsed) <= self._width and reading.done():
                    block = None if reading.exception() else reading.result()
                    if block is None:
                        over = True
                    else:
                        parsed.append((block, start_in_thread(self._whole, block)))
                        reading = start_in_thread(next, rest, None)
                elif parsed and (over or len(parsed) > self._width or parsed[0][1].done()):
                    block, future = parsed.popleft()
                    yield block, future.result()
                else:
                    # Wait for either, because reading may take long.
                    wait([reading, *(future for _, future in parsed)], return_when=FIRST_COMPLETED)
            reading.result()
        finally:
            wait([reading, *(future for _, future in parsed)])

    def _of_block(self, block: Block, table: Any, stream: Stream) -> Iterator[Piece]:
        if isinstance(block, Overlong):
            yield from self._rest(stream)
            yield block.bad(stream)
            return
        if self._held:
            self._held.append((block, table))
            first, _ = self._held[0]
            block = attrs.evolve(first, data=b"".join(held.data for held, _ in self._held))
            row = self._quoting.careful.match(block.data) if self._quoting else None
            if row is None or not row["open"]:
                self._held.clear()
                yield from self._searched(block, stream)
            elif len(self._held) >= HELD:
                yield from self._released(stream)
            return
        start = block.start(stream)
        if table is not None:
            yield from _pieces_of(table, block.line if table.num_rows == block.count else None, start)
            return
        yield from self._searched(block, stream)

    def _searched(self, block: Block, stream: Stream, *, last: bool = False) -> Iterator[Piece]:
        """Separate good from bad rows; unless `last`, hold the rows after a quote that may be closed later."""
        rows = self._rows(block, last=last)
        lines = list(accumulate((row.count(b"\n") for row in rows), initial=block.line))
        if rest := block.data[sum(map(len, rows)) :]:
            self._held.append((Block(rest, lines[-1], block.offset + len(block.data) - len(rest)), None))
        yield from self._sieved(_NumberedRows(rows, lines, block.start(stream)), 0, len(rows))

    def _rest(self, stream: Stream) -> Iterator[Piece]:
        while self._held:
            yield from self._released(stream)

    def _released(self, stream: Stream) -> Iterator[Piece]:
        """Pieces of the held blocks if nothing closes the first quote, so that only its line is bad."""
        (first, _), *rest = self._held
        self._held.clear()
        yield from self._searched(first, stream, last=True)
        for block, table in rest:
            yield from self._of_block(block, table, stream)

    def _rows(self, block: Block, *, last: bool) -> list[bytes]:
        """The rows of a bad block, up to a row that has not ended at the end of the block."""
        if self._quoting is None or not self._strict:
            return records(block, self._quoting)
        data, begin = block.data, 0
        rows: list[bytes] = []
        while begin < len(data):
            # A part of a row with line breaks must not be read as a whole row.
            row = self._quoting.careful.match(data, begin)
            if row and row["open"] is not None and not last:
                break
            end = row.end() if row and not row["open"] else data.find(b"\n", begin) + 1 or len(data)
            rows.append(data[begin:end])
            begin = end
        return rows

    def _whole(self, block: Block) -> Any:
        if isinstance(block, Overlong) or not block.data.lstrip(self._blank):
            return None
        try:
            return self._checked(block.data, block.count)
        except self._unreadable:
            # Bisection raises it again, with its line.
            return None

    def _checked(self, data: bytes, lines: int) -> Any:
        self._look()
        table = self._parse(data)
        if self._strict:
            if table.num_rows != lines:
                lines = sum(bool(line.strip(self._blank)) for line in data.split(b"\n"))
            # Check the last non-empty line: an open quote swallows empty lines after it, which do not count.
            last = data.rstrip(self._blank or b"\r\n")
            last = last[last.rfind(b"\n") + 1 :] + b"\n"
            if table.num_rows != lines or (self._quoting and not self._quoting.is_whole(last)):
                raise ValueError(UNENDED)
        return table

    def _sieved(self, numbered: "_NumberedRows", begin: int, end: int) -> Iterator[Piece]:
        rows, lines = numbered.rows, numbered.lines
        data = b"".join(rows[begin:end])
        if not data.lstrip(self._blank):
            return
        try:
            table = self._checked(data, count_lines(data))
        except self._unreadable:
            table = None
        if table is not None:
            exact = table.num_rows == end - begin == lines[end - 1] - lines[begin] + 1
            yield from _pieces_of(table, lines[begin] if exact else None, numbered.start)
            return
        # If the user's handler may drop rows, rows and lines do not correspond.
        if end - begin > (FEW if self._width else 1):
            middle = (begin + end) // 2
            yield from self._sieved(numbered, begin, middle)
            yield from self._sieved(numbered, middle, end)
            return
        # Without blank lines: a parser that counts them as rows would name the wrong one.
        places = [place for place in range(begin, end) if rows[place].strip(self._blank)]
        for _, last, piece in mark_ends(self._few(numbered, places)):
            yield attrs.evolve(piece, more=not last)

    def _few(self, numbered: "_NumberedRows", places: Sequence[int]) -> Iterator[Piece]:
        """Separate good from bad rows among a few, in order."""
        if not places:
            return
        rows, lines = numbered.rows, numbered.lines
        try:
            batch = self._of_rows([rows[place] for place in places])
        except self._unreadable as exc:
            problem = exc
        else:
            for run in split_when(places, lambda one, other: lines[other] != lines[one] + 1):
                yield TablePiece(batch.slice(0, len(run)), lines[run[0]], numbered.start)
                batch = batch.slice(len(run))
            return
        if len(places) == 1:
            # Not chained to pyarrow's own error, which would be shown with other row numbers.
            error = FileReadError(self._file.path, self._described(problem), lines[places[0]])
            yield Bad(rows[places[0]].rstrip(b"\r\n"), error, numbered.start)
            return
        named = _ROW.search(str(problem))
        at = len(places) // 2 if named is None else min(int(named[1]), len(places)) - 1
        yield from self._few(numbered, places[:at])
        if named is not None:
            # The named row is usually the bad one, but only parsing it separately can tell.
            yield from self._few(numbered, places[at : at + 1])
            at += 1
        yield from self._few(numbered, places[at:])

    def _of_rows(self, rows: Sequence[bytes]) -> RecordBatch:
        """Parse rows into a batch, and check that it has one row for each."""
        data = b"".join(rows)
        table = self._checked(data, count_lines(data))
        if table.num_rows != len(rows):
            raise ValueError(UNENDED)
        return one_batch(table)

    def _described(self, problem: Exception) -> str:
        if isinstance(problem, UnicodeDecodeError):
            return problem_of(problem)
        return f"{uncounted(problem, self._names)}{_advice(str(problem), csv=bool(self._names))}"


@attrs.frozen
class _NumberedRows:
    """Rows of a block, and the numbers of the lines where they begin."""

    rows: Sequence[bytes]
    lines: Sequence[int]
    start: Start | None


def _pieces_of(table: Any, line: int | None, start: Start | None) -> Iterator[TablePiece]:
    """The batches of a table; if `line` is given, each row is a line, and the first one has this number."""
    for batch in table.to_batches():
        yield TablePiece(batch, line, start)
        line = None if line is None else line + len(batch)


def uncounted(problem: Exception, names: Sequence[str] = ()) -> str:
    """Pyarrow's message about a line, without its row number and with the column's name."""

    def named(match: re.Match[str]) -> str:
        start, column = match.groups()
        return (start or "") if column is None else f"the column {names[int(column)]!r}: "

    return _COUNTED.sub(named, problem_of(problem))


def _advice(text: str, *, csv: bool) -> str:
    if "invalid UTF8" in text or "invalid UTF-8" in text:
        return "; set encoding="
    if "conversion error" in text or "changed from" in text:
        return (
            "; name a type in schema= that fits all values: types that it does not name come from the first block of "
            "the first file"
        )
    if "Expected" in text and "columns" in text:
        return "; check delimiter and quotes"
    if csv and "quote" in text:
        return "; values with line breaks need parse_options=pyarrow.csv.ParseOptions(newlines_in_values=True)"
    if "unexpected field" in text:
        return "; name it in schema=, or select columns="
    return ""

"""Blocks of whole lines, with their positions in the file."""

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from io import BytesIO
from typing import Any

import attrs
from typing_extensions import override

from .errors import FileReadError
from .formats import Agreed, Bad, Piece, ReadFormat, Start, Values, problem_of
from .listing import File
from .streams import RawFile, Stream, compression_of, explained, transcoded

BLOCK = 4 << 20
FIRST = 1 << 20
"""The size of the first block, which is smaller so that the first values arrive soon."""

LONGEST = 64
"""The maximum length of a line, in blocks."""

SHOWN = 1 << 16
"""The number of bytes kept of a line that is too long."""

BOM = b"\xef\xbb\xbf"


@attrs.frozen
class Block:
    """Lines of a file: their bytes, the number of the first line, and its offset."""

    data: bytes
    line: int
    offset: int

    @cached_property
    def count(self) -> int:
        """The number of lines; the last may lack its line end."""
        return count_lines(self.data)

    def start(self, stream: Stream) -> Start | None:
        """The position from which the block can be read again; None for the beginning of the file."""
        return Start(self.offset, self.line) if stream.plain else None

    @property
    def lines(self) -> list[bytes]:
        """The lines without their line ends."""
        return [line.removesuffix(b"\n").removesuffix(b"\r") for line in BytesIO(self.data)]


@attrs.frozen
class Overlong(Block):
    """The beginning of a line that is too long, or whose quote is never closed."""

    error: FileReadError

    def bad(self, stream: Stream) -> Bad:
        """Convert to an error in the stream."""
        return Bad(self.data, self.error, self.start(stream))


@contextmanager
def opened(
    file: File, raw: RawFile, start: Start, compression: str | None, encoding: str | None = None
) -> Generator[Stream]:
    """Open a file's content from `start` on, decompressed and in UTF-8; errors name the file."""
    how = compression_of(file.path, compression)
    with explained(file, raw, "cannot be read" if how is None else f"cannot be decompressed as {how}"):
        stream = Stream(raw, how, encoding)
        try:
            stream.skip(start.at)
            yield stream
        finally:
            stream.close()


def count_lines(data: bytes) -> int:
    """The number of lines; the last may lack its line end."""
    return data.count(b"\n") + (not data.endswith(b"\n"))


class Cutter:
    """Cuts a stream at line ends from `start`, its current position; with `quoting`, only at those outside quotes.

    A line that is too long, or whose quote is never closed, is reported separately, and cutting resumes after it.
    """

    def __init__(self, path: str, stream: Stream, size: int, start: Start, quoting: "Quoting | None" = None) -> None:
        self._path = path
        self._stream = stream
        self._size = size
        self._quoting = quoting
        self._line = start.line
        self._offset = start.at
        self._rest: list[bytes] = []
        """The bytes since the last cut, in which no row ends."""
        self._open = False
        """Whether a quote is open at the end of `_rest`."""

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of whole lines; the last may lack its line end."""
        step = min(self._size, FIRST)
        begin = self._stream.fill(len(BOM)) if self._offset == 0 else b""
        if begin == BOM:
            self._offset, begin = len(BOM), b""
        elif len(begin) < len(BOM):
            # The whole file, or the whole part that can be decoded.
            yield from self._taken(begin)
            begin = b""
        ended = False
        while not ended and (data := begin + self._stream.fill(step)):
            # A last line without a line end belongs to the block before it, which may set the types.
            ended = len(data) < len(begin) + step and self._stream.failure is None
            begin = b""
            step = min(self._size, step * 2)
            yield from self._taken(data, ended=ended)
            while sum(map(len, self._rest)) > LONGEST * self._size:
                yield from self._given_up(f"longer than {LONGEST * self._size:,} bytes")
        while self._open:
            yield from self._given_up("open to the end of the file")
        if last := b"".join(self._rest):
            yield Block(last, self._line, self._offset)

    def _taken(self, data: bytes, *, ended: bool = False) -> Iterator[Block]:
        quoting = self._quoting
        if quoting is None:
            end = len(data) if ended else data.rfind(b"\n") + 1
        elif self._open and quoting.char not in data:
            end = 0
        else:
            # What is before a quote tells whether it opens a value.
            data, self._rest = b"".join([*self._rest, data]), []
            end = quoting.end_of_rows(data)
            self._open = quoting.is_open(data[end:])
            if ended and not self._open:
                end = len(data)
        self._rest.append(data[:end] if end else data)
        if end:
            block = Block(b"".join(self._rest), self._line, self._offset)
            self._passed(block.data)
            self._rest = [data[end:]]
            yield block

    def _passed(self, data: bytes) -> None:
        self._line += data.count(b"\n")
        self._offset += len(data)

    def _given_up(self, how: str) -> Iterator[Block]:
        """Report the line that the pending bytes begin with, and continue after it."""
        what = f"a quote is {how}: close it, or" if self._open else f"a line is {how}:"
        line, ended, behind = b"".join(self._rest).partition(b"\n")
        self._rest, self._open = [], False
        error = FileReadError(self._path, f"{what} raise block_size=", self._line)
        yield Overlong(line.removesuffix(b"\r")[:SHOWN], self._line, self._offset, error)
        self._passed(line + ended)
        while not ended and (data := self._stream.read(self._size)):
            line, ended, behind = data.partition(b"\n")
            self._passed(line + ended)
        if behind:
            yield from self._taken(behind)


@attrs.frozen
class LineByLine(ReadFormat):
    """A format in which each line is a value."""

    of_block: Callable[[File, Block, Start | None], Iterator[Values | Bad]] = attrs.field(kw_only=True)
    """Parses lines; yields the values and the bad lines."""
    encoding: str = attrs.field(kw_only=True)

    decodes = False

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        with opened(file, raw, start, self.compression, transcoded(self.encoding)) as stream:
            for block in Cutter(file.path, stream, self.block_size, start).blocks():
                if isinstance(block, Overlong):
                    yield block.bad(stream)
                else:
                    yield from self.of_block(file, block, block.start(stream))


class Quoting:
    """The grammar of rows with line breaks in values, by pyarrow's parse options.

    A quote opens a value only at the beginning of a field; any other is a part of its value, as in `5" pipe`.
    """

    def __init__(self, parse: Any) -> None:
        self.char = (parse.quote_char or "").encode()
        special = re.escape(self.char + (parse.escape_char or "").encode())
        never = b"(?!)"
        quote, escape = (re.escape(char.encode()) if char else never for char in (parse.quote_char, parse.escape_char))
        delimiter = re.escape(parse.delimiter.encode())
        before = rb"[^%s\r\n]" % delimiter
        pairs = b"|".join([quote * 2] * parse.double_quote + [escape + b".?+"] * bool(parse.escape_char))
        opening = b"%s[^%s]*+(?:(?:%s)[^%s]*+)*+" % (quote, special, pairs, special)

        def up_to(end: bytes, value: bytes) -> bytes:
            quoted = b"(?<!%s)%s(?:%s%s)*+|(?<=%s)%s" % (before, value, delimiter, value, before, quote)
            return b"(?:[^%s%s]++|%s|%s.(?:%s)*+)*+" % (special, end, quoted, escape, quote)

        def row(value: bytes) -> re.Pattern[bytes]:
            return re.compile(rb"%s(?:\n|(?P<open>(?:%s)?\Z))" % (up_to(rb"\n", value), opening), re.DOTALL)

        self._closed = re.compile(up_to(b"", opening + quote), re.DOTALL)
        """Matches everything up to a quote that is not closed, or to an escape character at the end."""
        self.row = row(opening + quote)
        """Matches a row. If its line end is missing, `open` is the value whose quote is not closed, or empty."""
        self.careful = row(rb"%s%s(?=[%s\r\n]|\Z)" % (opening, quote, delimiter))
        """Like `row`, if each quote that closes a value is before a delimiter or a line end.

        So a stray quote does not join the lines up to the next quote into one row.
        """

    def end_of_rows(self, data: bytes) -> int:
        """The end of the last whole row."""
        end = data.rfind(b"\n")
        while (found := self._closed.match(data, 0, end)) and found.end() < end:
            end = data.rfind(b"\n", 0, found.end())
        return end + 1

    def is_open(self, row: bytes) -> bool:
        """Whether a row has a quote that is not closed."""
        return bool((found := self.row.match(row)) and found["open"])

    def is_whole(self, line: bytes) -> bool:
        """Whether a line with its line end is a row."""
        return bool((found := self.row.match(line)) and found["open"] is None)

    def rows(self, data: bytes) -> Iterator[bytes]:
        """The rows with their line ends; the last may lack it, or have a quote that is not closed."""
        begin = 0
        while begin < len(data):
            found = self.row.match(data, begin)
            end = found.end() if found else len(data)
            yield data[begin:end]
            begin = end


def records(block: Block, quoting: Quoting | None) -> list[bytes]:
    """The rows of a block with their line ends: lines, or several lines if a quote is open at the end of one."""
    return [*BytesIO(block.data)] if quoting is None else [*quoting.rows(block.data)]


def one_by_one(
    file: File, lines: Sequence[bytes], first: int, start: Start | None, parse: Callable[[bytes], Any], *, blank: bool
) -> Iterator[Values | Bad]:
    """Parse lines from number `first` on separately, to find the bad ones; `blank` keeps empty lines. Slow."""
    good: list[Any] = []
    begin = first
    for number, line in enumerate(lines, first):
        problem: Exception | None = None
        if blank or line.strip():
            try:
                good.append(parse(line))
                continue
            except (ValueError, TypeError) as exc:
                problem = exc
        if good:
            yield Values(good, begin, start)
        good, begin = [], number + 1
        if problem is not None:
            error = FileReadError(file.path, problem_of(problem), number)
            error.__cause__ = problem
            yield Bad(line, error, start)
    if good:
        yield Values(good, begin, start)

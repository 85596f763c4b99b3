"""Blocks of whole lines, with their positions in the file."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
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
        lines = self.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        return [line.removesuffix(b"\r") for line in lines] if b"\r" in self.data else lines


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
    """Cuts a stream at line ends from `start`, its current position; with `quote`, only at those outside quotes.

    A line that is too long, or whose quote is never closed, is reported separately, and cutting resumes after it.
    """

    def __init__(self, path: str, stream: Stream, size: int, start: Start, quote: bytes | None = None) -> None:
        self._path = path
        self._stream = stream
        self._size = size
        self._quote = quote
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
        while data := begin + self._stream.read(step):
            begin = b""
            step = min(self._size, step * 2)
            yield from self._taken(data)
            while sum(map(len, self._rest)) > LONGEST * self._size:
                yield from self._given_up(f"longer than {LONGEST * self._size:,} bytes")
        if self._open:
            yield from self._given_up("open to the end of the file")
        if last := b"".join(self._rest):
            yield Block(last, self._line, self._offset)

    def _taken(self, data: bytes) -> Iterator[Block]:
        end = self._cut(data)
        self._rest.append(data[:end] if end else data)
        if end:
            block = Block(b"".join(self._rest), self._line, self._offset)
            self._passed(block.data)
            self._rest = [data[end:]]
            self._open = False
            yield block
        self._open ^= self._odd(data, end, len(data))

    def _passed(self, data: bytes) -> None:
        self._line += data.count(b"\n")
        self._offset += len(data)

    def _cut(self, data: bytes) -> int:
        """The position after the last line end outside quotes; 0 if there is none."""
        cut = data.rfind(b"\n") + 1
        if self._quote is None:
            return cut
        inside = self._open ^ self._odd(data, 0, cut)
        while cut and inside:
            earlier = data.rfind(b"\n", 0, cut - 1) + 1
            inside ^= self._odd(data, earlier, cut)
            cut = earlier
        return cut

    def _odd(self, data: bytes, begin: int, end: int) -> bool:
        return self._quote is not None and data.count(self._quote, begin, end) % 2 == 1

    def _given_up(self, how: str) -> Iterator[Block]:
        """Report the line that the pending bytes begin with, and continue after it."""
        data = b"".join(self._rest)
        self._rest, self._open = [], False
        line, ended, behind = data.partition(b"\n")
        what = f"a line is {how}: raise block_size="
        if ended:
            what = f"a quote is {how}: close it, or raise block_size="
        yield Overlong(
            line.removesuffix(b"\r")[:SHOWN], self._line, self._offset, FileReadError(self._path, what, self._line)
        )
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


def records(block: Block, quote: bytes | None) -> list[bytes]:
    """The rows of a block with their line ends: lines, or several lines if a quote is open at the end of one."""
    lines = [line + b"\n" for line in block.data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    if quote is None:
        return lines
    rows: list[bytes] = []
    row: list[bytes] = []
    inside = False
    for line in lines:
        row.append(line)
        inside ^= line.count(quote) % 2 == 1
        if not inside:
            rows.append(b"".join(row))
            row.clear()
    return [*rows, b"".join(row)] if row else rows


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

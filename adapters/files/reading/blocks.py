"""Blocks of whole lines, with their places in the file."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import attrs

from adapters.files.reading.errors import FileReadError
from adapters.files.reading.pieces import Bad, Start, Values, problem_of
from adapters.files.reading.places import File
from adapters.files.reading.streams import Raw, Stream, compression_of, explained

BLOCK = 4 << 20
FIRST = 1 << 20
"""The first block is smaller, so that the first values come soon."""

LONGEST = 64
"""So many blocks may a line take."""

BOM = b"\xef\xbb\xbf"


@attrs.frozen
class Block:
    """Some lines of a file: their bytes, the number of the first, and the offset at which it begins."""

    data: bytes
    line: int
    offset: int

    @cached_property
    def count(self) -> int:
        """How many lines there are, the last of which may lack its end."""
        return count_lines(self.data)

    def start(self, stream: Stream) -> Start | None:
        """Where to begin to read it again; None if that is the beginning of the file."""
        return Start(self.offset, self.line) if stream.plain else None

    @property
    def lines(self) -> list[bytes]:
        """The lines, without what ends them."""
        lines = self.data.split(b"\n")
        if not lines[-1]:
            lines.pop()
        return [line.removesuffix(b"\r") for line in lines] if b"\r" in self.data else lines


@contextmanager
def opened(
    file: File, raw: Raw, start: Start, compression: str | None, encoding: str | None = None
) -> Generator[Stream]:
    """What comes out of a file, decompressed and as UTF-8, from `start` on; its errors name the file."""
    how = compression_of(file.path, compression)
    with explained(file, raw, "cannot be read" if how is None else f"cannot be decompressed as {how}"):
        stream = Stream(raw, how, encoding)
        try:
            stream.skip(start.at)
            yield stream
        finally:
            stream.close()


def count_lines(data: bytes) -> int:
    """How many lines there are, the last of which may lack its end."""
    return data.count(b"\n") + (not data.endswith(b"\n"))


def blocks(path: str, stream: Stream, size: int, start: Start, quote: bytes | None = None) -> Iterator[Block]:
    """Cut a stream, which stands at `start`, where lines end; with `quote`, not within quotes."""
    rest: list[bytes] = []
    line, offset = start.line, start.at
    step = min(size, FIRST)
    if offset == 0:
        begin = stream.fill(len(BOM))
        if begin == BOM:
            offset = len(BOM)
        else:
            rest = [begin]
    while data := stream.read(step):
        step = min(size, step * 2)
        if quote is not None:
            data = b"".join([*rest, data])
            rest = []
        end = _cut(data, quote)
        if end:
            block = Block(b"".join([*rest, memoryview(data)[:end]]), line, offset)
            rest = [data[end:]]
            yield block
            line += block.count
            offset += len(block.data)
            continue
        rest.append(data)
        if sum(map(len, rest)) > LONGEST * size:
            reason = "; a quote may be open" if quote else ""
            raise FileReadError(
                path, f"a line is longer than {LONGEST * size:,} bytes{reason}: raise block_size=", line
            )
    if last := b"".join(rest):
        yield Block(last, line, offset)


def _cut(data: bytes, quote: bytes | None) -> int:
    """Behind the last line's end; with `quote`, the last that is outside of quotes."""
    cut = data.rfind(b"\n") + 1
    if quote is None:
        return cut
    odd = data.count(quote, 0, cut) % 2
    while cut and odd:
        earlier = data.rfind(b"\n", 0, cut - 1) + 1
        odd = (odd + data.count(quote, earlier, cut)) % 2
        cut = earlier
    return cut


def records(block: Block, quote: bytes | None) -> list[bytes]:
    """The rows of a block, each with what ends it: lines, or several if a quote is open at the end of one."""
    lines = [line + b"\n" for line in block.data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    if not lines[-1]:
        lines.pop()
    if quote is None:
        return lines
    rows: list[bytes] = []
    row = b""
    for line in lines:
        row += line
        if row.count(quote) % 2 == 0:
            rows.append(row)
            row = b""
    return [*rows, row] if row else rows


def one_by_one(
    file: File, lines: Sequence[bytes], first: int, start: Start | None, parse: Callable[[bytes], Any], *, blank: bool
) -> Iterator[Values | Bad]:
    """Lines from number `first` on, each parsed by itself to find the bad, which is slow; with `blank`, empty count."""
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

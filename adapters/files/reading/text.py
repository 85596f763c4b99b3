"""`read_text` and `read_bytes`."""

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any, Literal, overload

import attrs
from typing_extensions import Unpack, override

from pullstream import Failed, Source
from pullstream.authoring import OnError

from .blocks import Block, LineByLine, one_by_one, opened
from .formats import Agreed, Bad, Piece, ReadFormat, Start, Values, decoded
from .listing import File, Paths
from .options import Options, encoding_argument, files_source
from .streams import RawFile


def _lines(file: File, block: Block, start: Start | None) -> Iterator[Values | Bad]:
    text = decoded(block.data)
    if text is None:
        yield from one_by_one(file, block.lines, block.line, start, bytes.decode, blank=True)
        return
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    elif lines[-1].endswith("\r"):
        lines[-1] = lines[-1][:-1]
    yield Values(lines, block.line, start)


@overload
def read_text(
    paths: Paths, *, encoding: str = "utf-8", on_error: OnError[Any] = "fail", **options: Unpack[Options]
) -> Source[str]: ...
@overload
def read_text(
    paths: Paths, *, encoding: str = "utf-8", on_error: Literal["result"], **options: Unpack[Options]
) -> Source[str | Failed[Any]]: ...
def read_text(
    paths: Paths, *, encoding: str = "utf-8", on_error: Any = "fail", **options: Unpack[Options]
) -> Source[Any]:
    r"""Read text files line by line, without the line endings: `\n`, `\r\n`, or `\r` at the end of a file.

    >>> import tempfile, pathlib, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for day in (1, 2):
    ...         _ = pathlib.Path(f"{folder}/2026-03-0{day}.log").write_text(f"started\nday {day}\n")
    ...     lines = files.read_text(f"{folder}/*.log", time=files.name_time(r"\d{4}-\d\d-\d\d"))
    ...     ps.run(ps.pipe(lines, ps.filter(lambda line: "day" in line), ps.collect(timed=True)))
    [('2026-03-01', 'day 1'), ('2026-03-02', 'day 2')]

    `paths` is a path, a glob, a folder (all files in it, at any depth), a URL that fsspec supports, or a list of these.
    In a folder, hidden and unfinished files and folders are skipped: their names begin with `.` or `_` (but `_day=1` is
    data), or end in `.part`, `.tmp`, `.temp`, `.partial`, `.crdownload`, `.filepart`, `.swp` or `~`. A pattern finds
    them only if it has such a name, as in `_*/*.tmp`, and matches files, not folders. Nothing else is skipped silently.
    These are errors: an unreadable folder, a link to a folder, a pipe, socket or device, and a compressed file that is
    empty, truncated, or followed by other data.

    All readers share the other options: see `Options`. `on_error` (see `map`) applies to everything that cannot be
    read. The value of its `Failed` is the bytes of a line that is not valid in `encoding`, or the path of a file of
    which the rest cannot be decompressed. A line longer than 64 times the `block_size` is also such an error: only that
    line is skipped, and the value is its first 64 KiB.

    Raises:
        CompositionError: when composing; an argument is invalid, or fsspec lacks a package for a URL.
        NoFilesError: at the first ask; there is no such file.
        FileReadError: a line or a file cannot be read; the message names it.
        NoColumnError: a file lacks a column named in time=, columns= or schema=, whatever `on_error` says.
        FileChangedError: a file was truncated or removed while it was needed.
    """
    encoding_argument("read_text", encoding)
    extra = {} if encoding == "utf-8" else {"encoding": encoding}
    format = partial(LineByLine, of_block=_lines, encoding=encoding)
    return files_source("read_text", paths, format, options, on_error=on_error, extra=extra)


@attrs.frozen
class BytesFormat(ReadFormat):
    """Blocks of bytes, unchanged."""

    decodes = False

    @override
    def pieces(self, file: File, raw: RawFile, start: Start, agreed: Agreed) -> Generator[Piece]:
        with opened(file, raw, start, self.compression) as stream:
            at = start.at
            while data := stream.fill(self.block_size):
                yield Values([data], None, Start(at) if stream.plain else None)
                at += len(data)


@overload
def read_bytes(paths: Paths, *, on_error: OnError[Any] = "fail", **options: Unpack[Options]) -> Source[bytes]: ...
@overload
def read_bytes(
    paths: Paths, *, on_error: Literal["result"], **options: Unpack[Options]
) -> Source[bytes | Failed[Any]]: ...
def read_bytes(paths: Paths, *, on_error: Any = "fail", **options: Unpack[Options]) -> Source[Any]:
    r"""Read files as blocks of `block_size` bytes (by default 4 MiB); the last block of a file may be shorter.

    >>> import tempfile, pathlib, pullstream as ps
    >>> from pullstream import files
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "numbers.bin")
    ...     _ = path.write_bytes(bytes(range(5)))
    ...     ps.run(ps.pipe(files.read_bytes(path, block_size=3), ps.collect()))
    [b'\x00\x01\x02', b'\x03\x04']

    Compressed files are decompressed, unless `compression=None`. `paths`, the other options and the errors are those of
    `read_text`.
    """
    return files_source("read_bytes", paths, BytesFormat, options, on_error=on_error)

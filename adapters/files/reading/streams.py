"""A file's bytes: read in threads, decompressed, and converted to UTF-8."""

import codecs
import stat
import zlib
from bz2 import BZ2Decompressor
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from io import RawIOBase
from lzma import LZMADecompressor, LZMAError
from pathlib import Path
from threading import Event
from typing import Any, Final, Protocol
from zipfile import BadZipFile

from typing_extensions import override

from ...arrow import first_line, pa
from ..conflicts import kind_of
from ..names import CODECS
from .errors import FileChangedError, FileReadError, Stopped
from .listing import File, is_local, vanished
from .tree import no_file

INVALID: Final = 0xC0
"""A byte that UTF-8 never has, in place of what is not valid in another encoding."""


def _marked(exc: Any) -> tuple[str, int]:
    """The replacement of what a decoder found invalid, and the place where it continues."""
    return chr(0xDC00 + INVALID), exc.end


codecs.register_error("pullstream.marked", _marked)

STEP: Final = 64 << 10

SMALL: Final = 64 << 10
"""The number of bytes up to which a file is read faster without extra threads."""

UNREADABLE: Final = (OSError, EOFError, ValueError, LZMAError, zlib.error, BadZipFile)
"""Exceptions of decoders, besides pyarrow's own."""


class RawFile(RawIOBase):
    """An undecoded file; remembers errors, and stops reading when its stream has ended."""

    _inner: Any = None

    def __init__(self, file: File, stop: "Stop", block_size: int = SMALL) -> None:
        self._file = file
        self.size = file.size
        self._most = min(SMALL, block_size)
        self.stop = stop
        self.failure: BaseException | None = None
        self.ended_at = 0
        self.small = False
        """Whether the content is small, and is read in order."""
        self.over = False
        """Whether the remaining values need no more reading."""
        with self._remembered():
            if is_local(file.fs) and kind_of(Path(file.key)) not in {None, stat.S_IFREG}:
                # Another kind of file may have replaced it since it was found; opening a pipe would block.
                raise no_file(file.path)
            try:
                self._inner = file.fs.open(file.key, "rb")
            except FileNotFoundError:
                raise vanished(file) from None

    @contextmanager
    def _remembered(self) -> Generator[None]:
        try:
            self.stop.look()
            yield
        except BaseException as exc:
            self.failure = self.failure or exc
            raise

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes; empty at the end."""
        with self._remembered():
            data: bytes = self._inner.read(size)
            self.ended_at += len(data)
            return data

    @override
    def seek(self, offset: int, whence: int = 0) -> int:
        with self._remembered():
            self.ended_at = self._inner.seek(offset, whence)
            return self.ended_at

    @override
    def tell(self) -> int:
        return self._inner.tell()

    @override
    def readable(self) -> bool:
        return True

    @override
    def seekable(self) -> bool:
        return bool(self._inner.seekable())

    @override
    def close(self) -> None:
        super().close()
        try:
            if self._inner is not None:
                self._inner.close()
        except BaseException as exc:
            self.failure = self.failure or exc
            raise

    def content(self) -> Any:
        """The bytes of a small file, because pyarrow calls back into Python for each read; else the file itself."""
        size = self.size
        data = b"" if size is None or size > SMALL else self.read(size + 1)
        if data and len(data) == size:
            return pa.BufferReader(data)
        self.seek(0)
        return self

    def read_in_order(self, size: int | None) -> None:
        """Note that its bytes are read in order, and the size of its content, if it is known."""
        self.small = size is not None and size <= self._most

    @property
    def spent(self) -> bool:
        """Whether a small file was read to its end; not if it has grown."""
        return self.over or (self.small and self.ended_at == self.size)

    def check_whole(self) -> None:
        """Check, at the end of a sequential read, that the file was not truncated meanwhile."""
        size = self.size
        if size is not None and self.ended_at < size:
            raise FileChangedError(
                self._file.path,
                f"had {size:,} bytes, but ended after {self.ended_at:,}: it was truncated while it was read. Write "
                f"files under another name and rename them into place",
            )


class Stop(Event):
    """Whether the reading stream has ended."""

    def look(self) -> None:
        """Raise `Stopped`, which ends the thread's work, if the stream has ended."""
        if self.is_set():
            raise Stopped


class _Decoder(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _GzipDecompressor:
    """A decoder for one member of a gzip file, with the interface of the decoders in `bz2` and `lzma`."""

    def __init__(self) -> None:
        self._inner: Any = zlib.decompressobj(zlib.MAX_WBITS | 16)
        self._rest: bytes = b""
        self.needs_input = True

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        data = self._rest + data
        taken = len(data)
        while True:
            # A failing call returns nothing, but the data before the bad position is needed.
            before = self._inner.copy()
            try:
                decoded = self._inner.decompress(data[:taken], max_length)
            except zlib.error:
                if taken <= 1:
                    raise
                self._inner, taken = before, taken // 2
            else:
                self._rest = self._inner.unconsumed_tail + data[taken:]
                # If the output is full, zlib may hold back more.
                self.needs_input = not self._rest and len(decoded) < max_length
                return decoded


_DECODERS: Final[Mapping[str, Callable[[], _Decoder]]] = {
    # pyarrow's decoder loses the data before a bad position, and rejects empty streams between others.
    "gzip": _GzipDecompressor,
    "bz2": BZ2Decompressor,
    "xz": LZMADecompressor,
    "lzma": LZMADecompressor,
}


class Streams(RawIOBase):
    """Concatenated compressed streams, read as one; any other data after the last one is an error."""

    def __init__(self, raw: RawFile, decoder: Callable[[], _Decoder]) -> None:
        self._raw = raw
        self._make = decoder
        self._decoder: _Decoder | None = None
        self._first = b""

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes; empty at the end."""
        while True:
            decoder, rest = self._decoder, b""
            if decoder is None or decoder.eof:
                rest = (b"" if decoder is None else decoder.unused_data) or self._raw.read(STEP)
                if not rest:
                    return b""
                self._first = self._first or rest[:1]
                if not rest.startswith(self._first):
                    raise EOFError("other data follows the end of a compressed stream")
                decoder = self._decoder = self._make()
            elif decoder.needs_input:
                rest = self._raw.read(STEP)
                if not rest:
                    raise EOFError("Truncated compressed stream")
            if data := decoder.decompress(rest, size):
                return data

    @override
    def readable(self) -> bool:
        return True


class Transcoded:
    """A file's text in UTF-8, in which `INVALID` makes a line bad that was not valid in its encoding."""

    def __init__(self, inner: Any, encoding: str) -> None:
        self._inner = inner
        self._decoder = codecs.getincrementaldecoder(encoding)("pullstream.marked")
        self._rest = b""

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes; empty at the end."""
        ended = False
        while not self._rest and not ended:
            data: bytes = self._inner.read(size)
            ended = not data
            self._rest = self._decoder.decode(data, ended).encode(errors="surrogateescape")
        decoded, self._rest = self._rest[:size], self._rest[size:]
        return decoded


class Stream:
    """A file's content, read sequentially."""

    def __init__(self, raw: RawFile, compression: str | None, encoding: str | None = None) -> None:
        self.raw = raw
        self.plain = compression is None and encoding is None
        """Whether positions in the stream are positions in the file."""
        if self.plain:
            raw.read_in_order(raw.size)
        self._passed = 0
        self._compressed = compression is not None
        self.failure: Exception | None = None
        """An error that the next read raises, after the data before it."""
        self._layers: list[Any] = [raw]
        if compression is not None:
            decoder = _DECODERS.get(compression)
            self._layers.append(Streams(raw, decoder) if decoder else pa.CompressedInputStream(raw, compression))
        top = self._layers[-1]
        self.arrow: Any = top if encoding is None else Transcoded(top, encoding)
        """The input for pyarrow's own readers."""

    def read(self, size: int) -> bytes:
        """Read at most `size` bytes; empty at the end."""
        if self.failure is not None:
            raise self.failure
        if self.plain:
            data = self.raw.read(size)
            if not data:
                self.raw.check_whole()
            return data
        # In small steps, so that the data before an undecodable position is not lost.
        parts: list[bytes] = []
        try:
            while size > 0 and (part := self.arrow.read(min(size, STEP))):
                parts.append(part)
                size -= len(part)
            if not parts and size > 0 and self._compressed and self.raw.ended_at == 0:
                # Decoders accept this silently.
                raise EOFError("the file is empty, but even compressed empty data takes some bytes")  # noqa: TRY301
        except Exception as exc:
            if not parts:
                raise
            self.failure = exc
        data = b"".join(parts)
        self._passed += len(data)
        if size > 0:
            # The content has ended.
            self.raw.read_in_order(self._passed)
        return data

    def fill(self, size: int) -> bytes:
        """Read `size` bytes; fewer only at the end or before a failure."""
        data = self.read(size)
        try:
            while data and len(data) < size and self.failure is None and (more := self.read(size - len(data))):
                data += more
        except Exception as exc:  # noqa: BLE001 - the next read raises it
            self.failure = exc
        return data

    def skip(self, size: int) -> None:
        """Skip bytes."""
        if self.plain:
            if size:
                self.raw.seek(size, 1)
            return
        while size and (data := self.read(min(size, 1 << 20))):
            size -= len(data)

    def close(self) -> None:
        """Close the file."""
        for layer in reversed(self._layers):
            layer.close()


def compression_of(path: str, given: str | None) -> str | None:
    """The compression of a file: as given or, for "infer", from its name."""
    if given != "infer":
        return given
    name = path.partition("::")[0].rpartition("/")[2].lower()
    return CODECS.get(f".{name.rpartition('.')[2]}")


def transcoded(encoding: str) -> str | None:
    """The encoding to convert to UTF-8; None if it already is UTF-8."""
    return None if codecs.lookup(encoding).name in {"utf-8", "utf-8-sig"} else encoding


@contextmanager
def explained(file: File, raw: RawFile | None, what: str) -> Generator[None]:
    """Turn decoders' errors into errors that name the file; errors of the file system pass unchanged."""
    try:
        yield
    except FileReadError:
        raise
    except (pa.ArrowException, *UNREADABLE) as exc:
        opening = exc if isinstance(exc, OSError) else None
        failure = opening if raw is None else raw.failure
        if failure is not None:
            if not isinstance(failure, (FileReadError, Stopped)):
                failure.add_note(f"reading {file.path}")
            raise failure from None
        raise FileReadError(file.path, f"{what}: {first_line(exc)}") from exc

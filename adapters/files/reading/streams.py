"""A file's bytes: read in threads, decompressed, and made UTF-8."""

import codecs
import os
from bz2 import BZ2Decompressor
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from importlib import import_module
from lzma import FORMAT_ALONE, FORMAT_XZ, LZMADecompressor, LZMAError
from typing import Any, Final, Protocol
from zipfile import BadZipFile
from zlib import MAX_WBITS, decompressobj
from zlib import error as ZlibError  # noqa: N812 - an exception's class, which is not written as one

from .errors import FileChangedError, FileReadError, Stopped
from .listing import File, is_local, vanished
from .tree import no_file

CODECS: Final = {
    ".gz": "gzip", ".bgz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd", ".lz4": "lz4", ".br": "brotli",
    ".xz": "xz", ".lzma": "lzma",
}  # fmt: skip

STEP: Final = 64 << 10

UNREADABLE: Final = (OSError, EOFError, ValueError, LZMAError, ZlibError, BadZipFile)
"""Exceptions of decoders, beside pyarrow's own."""


class RawFile:
    """A file as the file system gives it: what it raises is remembered, and a stream that has ended reads no more."""

    def __init__(self, file: File, stop: "Stop") -> None:
        self._file = file
        self.stop = stop
        self.failure: BaseException | None = None
        self.ended_at = 0
        with self._remembered():
            if is_local(file.fs) and os.path.exists(file.key) and not os.path.isfile(file.key):  # noqa: PTH110, PTH113 - text
                # Another may have come into its place since it was found; to open a pipe would take for ever.
                raise no_file(file.path)
            try:
                self._inner: Any = file.fs.open(file.key, "rb")
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
        """The next bytes, at most `size`; none at the end."""
        with self._remembered():
            data: bytes = self._inner.read(size)
            self.ended_at += len(data)
            return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to another place."""
        with self._remembered():
            self.ended_at = self._inner.seek(offset, whence)
            return self.ended_at

    def tell(self) -> int:
        """The place in the file."""
        return self._inner.tell()

    def readable(self) -> bool:
        """Whether bytes come out."""
        return True

    def writable(self) -> bool:
        """Whether bytes go in."""
        return False

    def seekable(self) -> bool:
        """Whether there is a way back."""
        return bool(self._inner.seekable())

    def flush(self) -> None:
        """Do nothing, as nothing is written."""

    @property
    def closed(self) -> bool:
        """Whether the file has been let go."""
        return bool(self._inner.closed)

    def close(self) -> None:
        """Let the file go."""
        try:
            self._inner.close()
        except BaseException as exc:
            self.failure = self.failure or exc
            raise

    def check_whole(self) -> None:
        """At the end of a file that was read from front to back: that it has not been shortened meanwhile."""
        size = self._file.size
        if size is not None and self.ended_at < size:
            raise FileChangedError(
                self._file.path,
                f"had {size:,} bytes, and ended after {self.ended_at:,}: it was shortened while it was read. Write "
                f"files beside their place and rename them into it",
            )


class Stop:
    """Whether the stream that reads has ended."""

    def __init__(self) -> None:
        self._set = False

    def set(self) -> None:
        """From now on nothing is read."""
        self._set = True

    def look(self) -> None:
        """Leave the thread, if nobody waits for it."""
        if self._set:
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
    """A member of a gzip file, decoded by zlib as `bz2` and `lzma` decode theirs."""

    def __init__(self) -> None:
        self._inner: Any = decompressobj(MAX_WBITS | 16)
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
            # A call that fails gives nothing, and what stands in front of the bad place is wanted.
            before = self._inner.copy()
            try:
                decoded = self._inner.decompress(data[:taken], max_length)
            except ZlibError:
                if taken <= 1:
                    raise
                self._inner, taken = before, taken // 2
            else:
                self._rest = self._inner.unconsumed_tail + data[taken:]
                # What fills all the room may not be all: zlib keeps output back that had no place.
                self.needs_input = not self._rest and len(decoded) < max_length
                return decoded


def _of_lzma(begin: bytes) -> LZMADecompressor:
    return LZMADecompressor(FORMAT_XZ if begin.startswith(b"\xfd") else FORMAT_ALONE)


_DECODERS: Final[Mapping[str, Callable[[bytes], _Decoder]]] = {
    # pyarrow's loses what it had decoded in front of a bad place, and takes no stream of nothing between others.
    "gzip": lambda _: _GzipDecompressor(),
    "bz2": lambda _: BZ2Decompressor(),
    "xz": _of_lzma,
    "lzma": _of_lzma,
}


class Streams:
    """A file of compressed streams, read as one file; what follows the last is one, too, or an error."""

    def __init__(self, raw: RawFile, decoder: Callable[[bytes], _Decoder]) -> None:
        self._raw = raw
        self._make = decoder
        self._decoder: _Decoder | None = None
        self._first = b""
        self.closed = False

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        while True:
            decoder, rest = self._decoder, b""
            if decoder is None or decoder.eof:
                rest = (b"" if decoder is None else decoder.unused_data) or self._raw.read(STEP)
                if not rest:
                    return b""
                self._first = self._first or rest[:1]
                if not rest.startswith(self._first):
                    raise EOFError("something else follows the end of a compressed stream")
                decoder = self._decoder = self._make(rest)
            elif decoder.needs_input:
                rest = self._raw.read(STEP)
                if not rest:
                    raise EOFError("Truncated compressed stream")
            if data := decoder.decompress(rest, size):
                return data

    def readable(self) -> bool:
        """Whether bytes come out."""
        return True

    def close(self) -> None:
        """Do nothing: the file is let go by whoever opened it."""
        self.closed = True


class Stream:
    """A file's content, read from front to back."""

    def __init__(self, raw: RawFile, compression: str | None, encoding: str | None = None) -> None:
        self.raw = raw
        self.plain = compression is None and encoding is None
        """Whether places in the stream are places in the file."""
        self._compressed = compression is not None
        self._trouble: Exception | None = None
        self._layers: list[Any] = [raw]
        decoder = None if compression is None else _DECODERS.get(compression)
        if decoder is not None:
            self._layers.append(Streams(raw, decoder))
        elif compression is not None:
            self._layers.append(import_module("pyarrow").CompressedInputStream(raw, compression))
        if encoding is not None:
            pa = import_module("pyarrow")
            top = self._layers[-1]
            native = top if isinstance(top, pa.NativeFile) else pa.PythonFile(top, mode="r")
            self._layers.append(pa.transcoding_input_stream(native, encoding, "utf-8"))

    def read(self, size: int) -> bytes:
        """The next bytes, at most `size`; none at the end."""
        if self.plain:
            data = self.raw.read(size)
            if not data:
                self.raw.check_whole()
            return data
        # In small steps: what comes before a place that cannot be decoded is not lost.
        parts: list[bytes] = []
        if self._trouble is not None:
            raise self._trouble
        try:
            while size > 0 and (part := self._layers[-1].read(min(size, STEP))):
                parts.append(part)
                size -= len(part)
            if not parts and size > 0:
                self.check_end()
        except Exception as exc:
            if not parts:
                raise
            self._trouble = exc
        return b"".join(parts)

    def check_end(self) -> None:
        """At the end: that there was something to be decompressed; of nothing, decoders make nothing."""
        if self._compressed and self.raw.ended_at == 0:
            raise EOFError("the file is empty, where even nothing takes some bytes when it is compressed")

    def arrow(self) -> Any:
        """The input that pyarrow's own readers take."""
        return self._layers[-1]

    def fill(self, size: int) -> bytes:
        """The next `size` bytes; fewer only at the end."""
        data = self.read(size)
        # What cannot be decoded is told of with the next call, behind what could.
        while data and len(data) < size and self._trouble is None and (more := self.read(size - len(data))):
            data += more
        return data

    def skip(self, size: int) -> None:
        """Go on behind the next bytes."""
        if self.plain:
            self.raw.seek(size, 1)
            return
        while size and (data := self.read(min(size, 1 << 20))):
            size -= len(data)

    def close(self) -> None:
        """Let go of the file."""
        for layer in reversed(self._layers):
            layer.close()


def compression_of(path: str, given: str | None) -> str | None:
    """The compression of a file: as was said or, for "infer", as its name says."""
    if given != "infer":
        return given
    name = path.partition("::")[0].rpartition("/")[2].lower()
    return CODECS.get(f".{name.rpartition('.')[2]}")


def transcoded(encoding: str) -> str | None:
    """The encoding that has to be changed to UTF-8; None for what is UTF-8 already."""
    return None if codecs.lookup(encoding).name in {"utf-8", "utf-8-sig", "ascii"} else encoding


@contextmanager
def explained(file: File, raw: RawFile | None, what: str) -> Generator[None]:
    """Turn what decoders raise into an error with the file's name; what the file system raised stays what it is."""
    try:
        yield
    except FileReadError:
        raise
    except (import_module("pyarrow").ArrowException, *UNREADABLE) as exc:
        opening = exc if isinstance(exc, OSError) else None
        failure = opening if raw is None else raw.failure
        if failure is not None:
            if not isinstance(failure, (FileReadError, Stopped)):
                failure.add_note(f"reading {file.path}")
            raise failure from None
        raise FileReadError(file.path, f"{what}: {_first_line(exc)}") from exc


def _first_line(exc: BaseException) -> str:
    return (str(exc) or type(exc).__name__).strip().split("\n")[0]

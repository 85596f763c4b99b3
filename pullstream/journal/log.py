"""The journal's file: a header and records, each checked, in a file that one run at a time has.

    header   magic, format, whether keyed, identity · checksum · digest
    record   length, number · checksum · payload · digest

A digest is SHA-256 over the digest before it and all of the record so far: a record that is changed, lost, doubled, out
of its place or another journal's is found. With a secret it is an HMAC, and whoever does not know the secret can make
no record. What may be missing is the end: a process killed while it writes leaves a record that is cut short, a
machine that loses its power one that ends in zeros. It was never said to be written, and the next run removes it.
"""

import hashlib
import hmac
import os
import secrets
import stat
import struct
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from typing_extensions import Buffer

from pullstream.errors import JournalError

FORMAT: Final = 3
"""1 was a SQLite database; 2 held what modules keep in other shapes."""

MAGIC: Final = b"\x89pullstream\r\n\x1a\n\0"

_HEAD: Final = struct.Struct(">16sHH16s")
_FRAME: Final = struct.Struct(">QQ")
_CHECK: Final = struct.Struct(">I")
_DIGEST: Final = 32
_SECTOR: Final = 512
"""Disks write so many bytes at once, or a multiple of it."""

HEADER: Final = _HEAD.size + _CHECK.size + _DIGEST

_ANEW: Final = "Restore a copy of it, or begin anew with another journal"
_ANOTHER: Final = "Give a journal a path of its own"

_open: "weakref.WeakSet[Log]" = weakref.WeakSet()


class Log:
    """An open journal's file, locked. It is used by one thread at a time, whichever."""

    def __init__(self, path: Path, secret: bytes | None = None) -> None:
        self.path = path
        self._secret = secret
        self._file = -1
        self._failed = False
        try:
            while not self._take():
                pass
            self._begin()
        except OSError as exc:
            self.close()
            raise self.trouble(exc) from None
        except BaseException:
            self.close()
            raise
        _open.add(self)

    # ---- opening

    def _take(self) -> bool:
        """Open the file, make sure whose it is, and lock it; not if another run has just put one in its place."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_symlink():
            raise JournalError(f"the journal {self.path} is a link: give the path of the file itself")
        if self.path.is_dir():
            raise JournalError(f"the journal {self.path} is a folder: give the path of a file in it")
        flags = os.O_RDWR | os.O_CREAT | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK") | _flag("O_BINARY")
        self._file = os.open(self.path, flags, 0o600)
        status = os.fstat(self._file)
        self._check_owner(status)
        _lock(self._file)
        if (status.st_dev, status.st_ino) == _identity(self.path):
            return True
        self.close()
        return False

    def _check_owner(self, status: os.stat_result) -> None:
        """Refuse what somebody else could have written: reading a journal runs what it says."""
        if not stat.S_ISREG(status.st_mode):
            raise JournalError(f"{self.path} is no journal: it is no regular file. {_ANOTHER}")
        if os.name != "posix":
            return
        if status.st_uid != os.geteuid():
            raise JournalError(
                f"the journal {self.path} belongs to another user (number {status.st_uid}): reading a journal runs "
                f"what it says, so it is read by its owner only. {_ANOTHER}"
            )
        if status.st_mode & 0o022:
            raise JournalError(
                f"the journal {self.path} can be written to by others than its owner: reading a journal runs what it "
                f"says. If nobody has, say chmod 600; or begin anew with another journal"
            )

    def _begin(self) -> None:
        size = os.fstat(self._file).st_size
        if size == 0:
            self._write_header()
            self._end = HEADER
            sync_folder(self.path.parent)
        else:
            self._check_header(_pread(self._file, HEADER, 0), size)
            # Where it ends is known when it has been read.
            self._end = -1
        self._digest = self._first
        self._number = 0

    def _write_header(self) -> None:
        if os.name == "posix":
            os.fchmod(self._file, 0o600)
        head = _HEAD.pack(MAGIC, FORMAT, self._secret is not None, secrets.token_bytes(16))
        self._head = head + _CHECK.pack(zlib.crc32(head))
        self._first = self._digested(self._head)
        _write(self._file, self._head + self._first, 0)

    def _check_header(self, header: bytes, size: int) -> None:
        path = self.path
        if header.startswith(b"SQLite format 3\0"):
            kind, format = header[68:72] if len(header) > 71 else _pread(self._file, 4, 68), 1
            if kind == b"pstr":
                raise self._other_format(format)
            raise JournalError(f"{path} is no journal: it is a SQLite database of something else. {_ANOTHER}")
        if not header.startswith(MAGIC[: len(header)]) or size < len(MAGIC):
            raise JournalError(f"{path} is no journal: it is a file of another kind. {_ANOTHER}")
        if size < HEADER:
            raise self.damaged(size, f"it is cut short: its header has {HEADER} bytes")
        self._head, self._first = header[:-_DIGEST], header[-_DIGEST:]
        head, (check,) = self._head[: _HEAD.size], _CHECK.unpack(self._head[_HEAD.size :])
        if check != zlib.crc32(head):
            raise self.damaged(0, "the checksum of its header is wrong")
        _, format, keyed, _ = _HEAD.unpack(head)
        if format != FORMAT:
            raise self._other_format(format)
        if keyed and self._secret is None:
            raise JournalError(f"the journal {path} was written with a secret: Journal({path.name!r}, secret=...)")
        if not keyed and self._secret is not None:
            raise JournalError(
                f"the journal {path} was written without a secret, so that anybody may have written it: open it "
                f"without one, or begin anew with another journal"
            )
        if not hmac.compare_digest(self._first, self._digested(self._head)):
            why = "it was written with another secret, or is damaged" if keyed else "its header is damaged"
            raise JournalError(f"the journal {path} cannot be read: {why}. {_ANEW}")

    def _other_format(self, format: int) -> JournalError:
        return JournalError(
            f"the journal {self.path} is written in format {format}, and this is format {FORMAT}: finish it with the "
            f"version of pullstream that began it, or begin anew with another journal"
        )

    # ---- reading

    def records(self) -> Iterator[bytes]:
        """The payloads of all records, from the first; a record that is not whole, at the end, is cut off.

        Raises:
            JournalError: it is damaged.
        """
        size = os.fstat(self._file).st_size
        at, number, digest = HEADER, 0, self._first
        while at < size:
            payload = self._payload(at, size, number)
            if payload is None:
                break
            frame, data, told = payload
            digest = self._digested(digest, frame, data)
            if not hmac.compare_digest(told, digest):
                last = at + len(frame) + len(data) + _DIGEST == size
                if last and (not any(told) or self._unwritten(at, size, size)):
                    break
                raise self.damaged(at, f"record {number} is not what was written, or not in its place")
            yield data
            at += len(frame) + len(data) + _DIGEST
            number += 1
            self._digest = digest
        self._number = number
        if at < size:
            os.ftruncate(self._file, at)
            os.fsync(self._file)
        self._end = at

    def _payload(self, at: int, size: int, number: int) -> tuple[bytes, bytes, bytes] | None:
        """The parts of a record: its beginning, its content and its digest; None if it is not whole."""
        frame = _pread(self._file, _FRAME.size + _CHECK.size, at)
        if len(frame) < _FRAME.size + _CHECK.size:
            return None
        if not any(frame) and self._zeros(at, size):
            return None
        length, digest = _FRAME.unpack(frame[: _FRAME.size])
        if _CHECK.unpack(frame[_FRAME.size :])[0] != zlib.crc32(frame[: _FRAME.size]):
            if self._unwritten(at, at + len(frame), size):
                return None
            raise self.damaged(at, f"the checksum of record {number}'s beginning is wrong")
        if digest != number:
            raise self.damaged(at, f"there is record {digest} in the place of record {number}")
        if at + len(frame) + length + _DIGEST > size:
            return None
        data = _pread(self._file, length, at + len(frame))
        return frame, data, _pread(self._file, _DIGEST, at + len(frame) + length)

    def _unwritten(self, at: int, end: int, size: int) -> bool:
        """Whether there are only zeros from a place on, behind `at` and before `end`, where a disk's sector begins."""
        sector = end - 1 - (end - 1) % _SECTOR
        return sector > at and self._zeros(sector, size)

    def _zeros(self, at: int, size: int) -> bool:
        return not any(any(_pread(self._file, 1 << 16, begin)) for begin in range(at, size, 1 << 16))

    # ---- writing

    @property
    def size(self) -> int:
        """The number of its bytes."""
        return self._end

    def append(self, payload: bytes) -> None:
        """Write a record; it is on the disk when this returns.

        Raises:
            OSError: it could not be written, and nothing can be any more.
        """
        if self._failed:
            raise OSError("an earlier record could not be written")
        record, digest = self._record(payload, self._number, self._digest)
        try:
            _write(self._file, record, self._end)
            _sync(self._file)
        except BaseException:
            self._failed = True
            with suppress(OSError):
                os.ftruncate(self._file, self._end)
            raise
        self._end += len(record)
        self._number += 1
        self._digest = digest

    def replace(self, payloads: Iterable[bytes]) -> None:
        """Put other records in place of all that are there, at once: a new file takes the old one's name.

        Raises:
            OSError: it could not be written; the old one is as it was.
        """
        new = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.part")
        file = os.open(new, os.O_RDWR | os.O_CREAT | os.O_EXCL | _flag("O_NOFOLLOW") | _flag("O_BINARY"), 0o600)
        try:
            _lock(file)
            _write(file, self._head + self._first, 0)
            end, number, digest = HEADER, 0, self._first
            for payload in payloads:
                record, digest = self._record(payload, number, digest)
                _write(file, record, end)
                end += len(record)
                number += 1
            os.fsync(file)
            new.replace(self.path)
        except BaseException:
            os.close(file)
            new.unlink(missing_ok=True)
            raise
        os.close(self._file)
        self._file, self._end, self._number, self._digest = file, end, number, digest
        sync_folder(self.path.parent)

    def tidy(self) -> None:
        """Remove what runs have left that were killed while they replaced it; nothing that is not this journal's."""
        for left in self.path.parent.glob(f".{_literal(self.path.name)}.*.part"):
            with suppress(OSError):
                file = os.open(left, os.O_RDONLY | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK"))
                try:
                    ours = _pread(file, len(self._head), 0) == self._head
                finally:
                    os.close(file)
                if ours:
                    left.unlink()

    def _record(self, payload: bytes, number: int, before: bytes) -> tuple[bytes, bytes]:
        frame = _FRAME.pack(len(payload), number)
        frame += _CHECK.pack(zlib.crc32(frame))
        digest = self._digested(before, frame, payload)
        return b"".join((frame, payload, digest)), digest

    def _digested(self, *parts: bytes) -> bytes:
        digest: Any = hashlib.sha256() if self._secret is None else hmac.new(self._secret, digestmod="sha256")
        for part in parts:
            digest.update(part)
        return digest.digest()

    # ---- the end

    def close(self) -> None:
        """Let go of the file."""
        file, self._file = self._file, -1
        if file >= 0:
            os.close(file)

    def trouble(self, exc: OSError) -> JournalError:
        """The error about a file that cannot be used."""
        if isinstance(exc, BlockingIOError):
            return JournalError(
                f"the journal {self.path} is in use: another run goes on with it. Two runs with one journal would do "
                f"everything twice; wait for it to end, or give each a journal of its own"
            )
        return JournalError(
            f"the journal {self.path} cannot be used ({exc}): give the path of a file that can be written to, in a "
            f"folder that can"
        )

    def damaged(self, at: int, what: str) -> JournalError:
        """The error about a file that is not as it was written."""
        return JournalError(f"the journal {self.path} is damaged at byte {at}: {what}. {_ANEW}")


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where a system can."""
    if os.name == "posix":
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def _flag(name: str) -> int:
    return getattr(os, name, 0)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat(follow_symlinks=False)
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _lock(file: int) -> None:
    """Lock a file until it is closed, or raise BlockingIOError; without flock (Windows) nobody is kept out."""
    if os.name == "posix":
        fcntl: Any = import_module("fcntl")
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _literal(name: str) -> str:
    """A pattern that matches a name alone."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _pread(file: int, size: int, at: int) -> bytes:
    """Read `size` bytes, or as many as there are."""
    os.lseek(file, at, os.SEEK_SET)
    parts: list[bytes] = []
    while size > 0 and (part := os.read(file, min(size, 1 << 30))):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _write(file: int, data: Buffer, at: int) -> None:
    os.lseek(file, at, os.SEEK_SET)
    view = memoryview(data)
    while view:
        view = view[os.write(file, view) :]


_sync: Final[Callable[[int], None]] = getattr(os, "fdatasync", os.fsync)


def _forked() -> None:
    """A child that is forked has no part in the run, and would keep the lock when its parent has been killed."""
    for log in list(_open):
        log.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

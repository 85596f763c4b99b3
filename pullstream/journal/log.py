"""The journal's file: a header and records, each with a digest. Only one run at a time can open it.

    header   magic, format, whether keyed, identity · checksum · digest
    record   length, number · checksum · payload · digest

A digest is SHA-256 over the digest before it and the record up to here. It reveals a record that was changed, lost,
duplicated, moved or taken from another journal. With a secret it is an HMAC, and nobody can make a record without the
secret. Only the end may be missing: a process killed while writing leaves a truncated record, and a power failure may
leave one that ends in zeros. Such a record was never confirmed as written, and the next run removes it.
"""

import hashlib
import hmac
import os
import secrets
import stat
import struct
import zlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from glob import escape
from pathlib import Path
from typing import Any, Final

from typing_extensions import Buffer

from pullstream.errors import JournalError
from pullstream.locks import close_locked, lock, locked

FORMAT: Final = 3
"""Format 1 was a SQLite database. Format 2 stored the state of modules differently."""

MAGIC: Final = b"\x89pullstream\r\n\x1a\n\0"

_HEAD: Final = struct.Struct(">16sHH16s")
_FRAME: Final = struct.Struct(">QQ")
_CHECK: Final = struct.Struct(">I")
_DIGEST: Final = 32
_SECTOR: Final = 512
"""The number of bytes that a disk writes at once, or a divisor of it."""

HEADER: Final = _HEAD.size + _CHECK.size + _DIGEST

_RESTORE: Final = "Restore a copy of it, or start over with another journal"
_OWN_PATH: Final = "Give the journal a path of its own"


class JournalLog:
    """The open, locked file of a journal. Any thread may use it, but only one at a time."""

    def __init__(self, path: Path, secret: bytes | None = None) -> None:
        self.path = path
        self._secret = secret
        self.size: int
        """The size of the file in bytes."""
        self._file = self._new = -1
        """The open file, and the one that will replace it; both are locked."""
        self._failed = False
        try:
            self._file = locked(self._opened, self.path.lstat)
            self._check_owner(os.fstat(self._file))
            self._begin()
        except OSError as exc:
            self.close()
            raise self.error_for(exc) from None
        except BaseException:
            self.close()
            raise

    # ---- opening

    def _opened(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.is_symlink():
            raise JournalError(f"the journal {self.path} is a link: give the path of the file itself")
        if self.path.is_dir():
            raise JournalError(f"the journal {self.path} is a folder: give the path of a file in it")
        flags = os.O_RDWR | os.O_CREAT | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK") | _flag("O_BINARY")
        return os.open(self.path, flags, 0o600)

    def _check_owner(self, status: os.stat_result) -> None:
        """Refuse a file that another user could have written: reading a journal can execute code in it (pickle)."""
        if not stat.S_ISREG(status.st_mode):
            raise JournalError(f"{self.path} is not a journal: it is not a regular file. {_OWN_PATH}")
        if os.name != "posix":
            return
        if status.st_uid != os.geteuid():
            raise JournalError(
                f"the journal {self.path} belongs to another user (number {status.st_uid}): reading a journal can "
                f"execute code in it, so only its owner may read it. {_OWN_PATH}"
            )
        if status.st_mode & 0o022:
            raise JournalError(
                f"the journal {self.path} can be written to by users other than its owner: reading a journal can "
                f"execute code in it. If no one else has written to it, run chmod 600 on it; otherwise start over with "
                f"another journal"
            )

    def _begin(self) -> None:
        size = os.fstat(self._file).st_size
        if size == 0:
            self._make_header()
            # In a new file, which then takes the name: a kill or a power failure leaves no part of a header.
            self.replace(())
        else:
            self._check_header(_pread(self._file, HEADER, 0), size)
            # Known only after reading all records.
            self.size = -1
        self._digest = self._first
        self._number = 0

    def _make_header(self) -> None:
        head = _HEAD.pack(MAGIC, FORMAT, self._secret is not None, secrets.token_bytes(16))
        self._head = head + _CHECK.pack(zlib.crc32(head))
        self._first = self._digested(self._head)

    def _check_header(self, header: bytes, size: int) -> None:
        path = self.path
        if header.startswith(b"SQLite format 3\0"):
            kind, format = header[68:72] if len(header) > 71 else _pread(self._file, 4, 68), 1
            if kind == b"pstr":
                raise self._other_format(format)
            raise JournalError(f"{path} is not a journal: it is some other SQLite database. {_OWN_PATH}")
        if not header.startswith(MAGIC[: len(header)]) or size < len(MAGIC):
            raise JournalError(f"{path} is not a journal: it is a file of another kind. {_OWN_PATH}")
        if size < HEADER:
            raise self.damaged(size, f"it is truncated: its header should have {HEADER} bytes")
        self._head, self._first = header[:-_DIGEST], header[-_DIGEST:]
        head, (check,) = self._head[: _HEAD.size], _CHECK.unpack(self._head[_HEAD.size :])
        if check != zlib.crc32(head):
            raise self.damaged(0, "the checksum of its header is wrong")
        _, format, keyed, _ = _HEAD.unpack(head)
        if format != FORMAT:
            raise self._other_format(format)
        if keyed and self._secret is None:
            raise JournalError(
                f"the journal {path} was written with a secret: open it with ps.Journal({str(path)!r}, secret=...)"
            )
        if not keyed and self._secret is not None:
            raise JournalError(
                f"the journal {path} was written without a secret, so anyone may have written it: open it without a "
                f"secret, or start over with another journal"
            )
        if not hmac.compare_digest(self._first, self._digested(self._head)):
            why = "it was written with another secret, or is damaged" if keyed else "its header is damaged"
            raise JournalError(f"the journal {path} cannot be read: {why}. {_RESTORE}")

    def _other_format(self, format: int) -> JournalError:
        return JournalError(
            f"the journal {self.path} is written in format {format}, but this version of pullstream uses format "
            f"{FORMAT}: finish the run with the version that began it, or start over with another journal"
        )

    # ---- reading

    def records(self) -> Iterator[bytes]:
        """Yield the payloads of all records, and cut off an incomplete one at the end; damage is a `JournalError`."""
        size = os.fstat(self._file).st_size
        at, number, digest = HEADER, 0, self._first
        while at < size:
            payload = self._payload(at, size, number)
            if payload is None:
                break
            frame, data, stored = payload
            digest = self._digested(digest, frame, data)
            if not hmac.compare_digest(stored, digest):
                last = at + len(frame) + len(data) + _DIGEST == size
                if last and (not any(stored) or self._unwritten(at, size, size)):
                    break
                raise self.damaged(at, f"record {number} is not what was written, or is out of place")
            yield data
            at += len(frame) + len(data) + _DIGEST
            number += 1
            self._digest = digest
        self._number = number
        if at < size:
            os.ftruncate(self._file, at)
            os.fsync(self._file)
        self.size = at

    def _payload(self, at: int, size: int, number: int) -> tuple[bytes, bytes, bytes] | None:
        """The parts of a record: its frame, its payload and its digest; None if it is incomplete."""
        frame = _pread(self._file, _FRAME.size + _CHECK.size, at)
        if len(frame) < _FRAME.size + _CHECK.size:
            return None
        if not any(frame) and self._zeros(at, size):
            return None
        length, stored = _FRAME.unpack(frame[: _FRAME.size])
        if _CHECK.unpack(frame[_FRAME.size :])[0] != zlib.crc32(frame[: _FRAME.size]):
            if self._unwritten(at, at + len(frame), size):
                return None
            raise self.damaged(at, f"the checksum of record {number}'s frame is wrong")
        if stored != number:
            raise self.damaged(at, f"record {stored} is in the place of record {number}")
        if at + len(frame) + length + _DIGEST > size:
            return None
        data = _pread(self._file, length, at + len(frame))
        return frame, data, _pread(self._file, _DIGEST, at + len(frame) + length)

    def _unwritten(self, at: int, end: int, size: int) -> bool:
        """Whether the file has only zeros from the last sector boundary that lies after `at` and before `end`."""
        sector = end - 1 - (end - 1) % _SECTOR
        return sector > at and self._zeros(sector, size)

    def _zeros(self, at: int, size: int) -> bool:
        return not any(any(_pread(self._file, 1 << 16, begin)) for begin in range(at, size, 1 << 16))

    # ---- writing

    def append(self, payload: bytes) -> None:
        """Write a record to the disk; after an `OSError`, later calls fail, too."""
        if self._failed:
            raise OSError("an earlier record could not be written")
        record, digest = self._record(payload, self._number, self._digest)
        try:
            _write(self._file, record, self.size)
            _sync(self._file)
        except BaseException:
            self._failed = True
            with suppress(OSError):
                os.ftruncate(self._file, self.size)
            raise
        self.size += len(record)
        self._number += 1
        self._digest = digest

    def replace(self, payloads: Iterable[bytes]) -> None:
        """Replace all records atomically, by a new file; after an `OSError` the old one is unchanged."""
        new = self.path.with_name(f".{self.path.name}.{secrets.token_hex(8)}.part")
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | _flag("O_NOFOLLOW") | _flag("O_BINARY")
        self._new = file = os.open(new, flags, 0o600)
        try:
            lock(file)
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
            self._new = -1
            close_locked(file)
            new.unlink(missing_ok=True)
            raise
        old, self._file, self._new = self._file, file, -1
        close_locked(old)
        self.size, self._number, self._digest = end, number, digest
        sync_folder(self.path.parent)

    def tidy(self) -> None:
        """Remove partial files from runs that were killed in `replace`: those of this journal, or new ones."""
        for left in self.path.parent.glob(f".{escape(self.path.name)}.*.part"):
            with suppress(OSError):
                file = os.open(left, os.O_RDONLY | _flag("O_NOFOLLOW") | _flag("O_NONBLOCK"))
                try:
                    head = _pread(file, HEADER + 1, 0)
                finally:
                    os.close(file)
                # A new file has no records yet, and after a power failure perhaps no data.
                new = len(head) <= HEADER and (not any(head) or head.startswith(MAGIC[: len(head)]))
                if new or head.startswith(self._head):
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
        """Close the file and release the lock."""
        files, self._file, self._new = (self._file, self._new), -1, -1
        for file in files:
            if file >= 0:
                close_locked(file)

    def error_for(self, exc: OSError) -> JournalError:
        """Make the error for a file that cannot be used."""
        if isinstance(exc, BlockingIOError):
            return JournalError(
                f"the journal {self.path} is in use by another run. Two runs with one journal would do everything "
                f"twice: wait for the other run to end, or give each run its own journal"
            )
        return JournalError(
            f"the journal {self.path} cannot be used ({exc}): give the path of a writable file in a writable folder"
        )

    def damaged(self, at: int, what: str) -> JournalError:
        """Make the error for a damaged file."""
        return JournalError(f"the journal {self.path} is damaged at byte {at}: {what}. {_RESTORE}")


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, if the system supports this."""
    if os.name == "posix":
        file = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)


def _flag(name: str) -> int:
    return getattr(os, name, 0)


def _pread(file: int, size: int, at: int) -> bytes:
    """Read up to `size` bytes."""
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


def _sync(file: int) -> None:
    getattr(os, "fdatasync", os.fsync)(file)

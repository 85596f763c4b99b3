"""Growing files, to which complete times are appended."""

import stat
from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import attrs

from ...arrow import SchemaError
from .disk import Disk, Out
from .formats import WriteFormat, encoded
from .pending import PendingFile
from .refusals import FileTargetError
from .staging import StagingFolder
from .store import Local

TAIL: Final = 1 << 12
"""The number of bytes at a file's end that identify it."""


@attrs.frozen
class Length:
    """A file's length, the bytes it begins with, and its key."""

    size: int
    head: bytes
    key: Hashable = None
    tail: bytes = b""
    """A digest of its last bytes, to detect another file at the same path when a run is resumed."""


class GrowingFiles:
    """The growing files of a run; the first time creates a file, and every other one extends it."""

    def __init__(
        self, disk: Disk, format: WriteFormat, staging: StagingFolder, store: Local, *, resumable: bool
    ) -> None:
        self._disk = disk
        self._resumable = resumable
        self._format = format
        self._staging = staging
        self._store = store
        self.lengths: dict[str, Length] = {}
        self._new: dict[str, Path] = {}
        """The files that have not appeared yet, by target."""
        self._longer: dict[str, int] = {}
        """The sizes, at the last `settle`, of the files that have been appended to since."""

    def resume(self, lengths: dict[str, Length]) -> None:
        """Continue the files of a killed run, cut back to their completed length; a changed file is refused."""
        for target, length in lengths.items():
            with self._store.beside(target) as path:
                size = self._size(path)
                if size < length.size:
                    raise self._changed(target, f"has {size} bytes, but the interrupted run had written {length.size}")
                if self._tail(path, length.size) != length.tail:
                    raise self._changed(target, "is not the file that the interrupted run had written")
                if size > length.size:
                    self._disk.cut(path, length.size)
                    self._disk.flush(path)
        self.lengths = dict(lengths)

    def _size(self, path: Path) -> int:
        try:
            status = self._disk.look(path)
        except FileNotFoundError:
            return 0
        if not stat.S_ISREG(status.st_mode):
            raise self._changed(str(path), "is a link, or not a file")
        return status.st_size

    def _tail(self, path: Path, size: int) -> bytes:
        begin = max(0, size - TAIL)
        return sha256(self._disk.part_of(path, begin, size - begin)).digest()[:16]

    def _changed(self, target: str, how: str) -> FileTargetError:
        return FileTargetError(
            f"{self._format.module}: {target} {how}: another program changed it. Put it back, or start over with "
            f"another journal"
        )

    def append(self, parts: Sequence[PendingFile]) -> list[int]:
        """Append a complete time, which `settle` makes durable; return the offset in each file."""
        before = {part.target: self.lengths.get(part.target) for part in parts}
        try:
            return [self._append(part) for part in parts]
        except BaseException:
            # As in `settle`.
            for target, known in before.items():
                if known is None:
                    self._new.pop(target, None)
                    self.lengths.pop(target, None)
                elif self.lengths[target] is not known:
                    with self._at(target) as path:
                        self._disk.cut(path, known.size)
                    self.lengths[target] = known
            raise

    def _at(self, target: str) -> AbstractContextManager[Path]:
        """The path where a file is written."""
        return nullcontext(self._new[target]) if target in self._new else self._store.beside(target)

    def _append(self, part: PendingFile) -> int:
        head = bytes(memoryview(self._format.head(part.raw)))
        known = self.lengths.get(part.target)
        if known is None:
            start = self._begin(part, head)
        else:
            if known.head != head:
                raise SchemaError(
                    f"{self._format.module}, {part.target}: the file's columns are {_shown(known.head)}, but those of "
                    f"its next time are {_shown(head)}; give a schema= for all times"
                )
            start = known.size
        size = start + part.size
        with self._at(part.target) as path:
            if known is not None:
                self._lengthen(part, path, start)
            tail = self._tail(path, size) if self._resumable else b""
        if part.target not in self._new:
            self._longer.setdefault(part.target, start)
        self.lengths[part.target] = Length(size, head, part.key, tail)
        return start

    def settle(self) -> None:
        """Sync what has been appended, and make new files appear."""
        new, self._new = self._new, {}
        longer, self._longer = self._longer, {}
        try:
            self._store.sync(longer)
        except BaseException:
            # Keep whole times only, if the file system still allows it.
            for target, size in longer.items():
                with self._store.beside(target) as path:
                    self._disk.cut(path, size)
            raise
        self._store.publish([(path, target) for target, path in new.items()])

    def _begin(self, part: PendingFile, head: bytes) -> int:
        path, size = part.path, 0
        if head:
            path = self._staging.part()
            out = Out(self._disk, path)
            encoder = encoded(self._format.codec, out)
            encoder.write(head)
            encoder.finish()
            size = out.size
            part.out.append_to(path)
        else:
            part.out.settle()
        self._new[part.target] = path
        return size

    def _lengthen(self, part: PendingFile, path: Path, size: int) -> None:
        if (now := self._disk.size(path)) != size:
            raise FileTargetError(
                f"{self._format.module}: {path} has {now} bytes, but {size} were written: another program writes to it"
            )
        try:
            part.out.append_to(path)
        except BaseException:
            # As in `settle`.
            self._disk.cut(path, size)
            raise


def _shown(head: Any) -> str:
    return head.decode(errors="replace").strip()

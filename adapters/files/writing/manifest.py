"""The manifest: a list of the files that a run has written, one per line."""

import json
import os
import stat
from collections.abc import Hashable, Iterable
from datetime import date, time
from pathlib import Path
from typing import Any, Final, TypeAlias

from pullstream.authoring import locked

from .disk import Disk
from .refusals import FileBusyError, FileTargetError

FileEntry: TypeAlias = dict[str, Any]

BEGIN: Final = b'{"time": '
"""The beginning of every line."""

LONGEST: Final = 1 << 20
"""The maximum length of a manifest's first line."""

_NAMED: Final = {"time", "key", "path", "rows", "bytes"}
"""The members of every line."""


def plain(value: Hashable) -> Any:
    """Convert a time or key for JSON: numbers and text stay as they are, everything else becomes text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):  # noqa: PLR0124 - not NaN
        return value
    if isinstance(value, tuple):
        return [plain(part) for part in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


class Manifest:
    """A JSON Lines file that gets a line for each file that appears."""

    def __init__(self, disk: Disk, path: Path, module: str) -> None:
        self._disk = disk
        self._path = path
        self._module = module
        self._size = 0
        self._file: int | None = None
        """The open file while this sink owns it; it is locked."""

    def open(self, entries: Iterable[FileEntry]) -> None:
        """Continue or start the manifest; refuse it if another sink writes it, or the file is not a manifest."""
        disk, folder = self._disk, self._path.parent
        lines = _lines(entries)
        disk.folders(folder)
        with disk.held(folder, link=True):
            before = self._taken()
            try:
                self._begin(lines)
            finally:
                disk.close(before)
            disk.flush(folder)
        self._size = len(lines)

    def _taken(self) -> int:
        """The existing manifest, or an empty one, locked, so that no other run starts one meanwhile."""

        def begin() -> int:
            self._check(self._path)
            return self._disk.open(self._path, os.O_RDWR | os.O_CREAT)

        try:
            return locked(begin, lambda: self._disk.look(self._path))
        except BlockingIOError:
            raise FileBusyError(
                f"another run, or another sink of this run, is writing the manifest {self._path}: give each sink its "
                f"own manifest"
            ) from None

    def _begin(self, lines: bytes) -> None:
        """Put a new manifest into place; it is already locked when it appears."""
        disk = self._disk
        part = self._path.with_name(f".{self._path.name}.part")
        if self._check(part):
            disk.remove(part)
        self._file = disk.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND)
        try:
            disk.lock(self._file)
            disk.put(self._file, part, lines)
            disk.sync(self._file)
            disk.rename(part, self._path)
        except BaseException:
            disk.remove(part)
            raise

    def _check(self, path: Path) -> bool:
        """Whether the file exists; a file that no run wrote is refused, as it must not be replaced."""
        try:
            if not stat.S_ISREG(self._disk.look(path).st_mode):
                what = "is not a file, or is a link"
            elif not _is_manifest(self._disk.part_of(path, 0, LONGEST)):
                what = "is not a manifest"
            else:
                return True
        except FileNotFoundError:
            return False
        raise FileTargetError(
            f"{self._module}: {path} {what}, and the manifest would replace it: give another manifest=, or move it away"
        )

    def close(self) -> None:
        """Release the file."""
        if self._file is not None:
            file, self._file = self._file, None
            self._disk.close(file)

    def add(self, entries: Iterable[FileEntry]) -> None:
        """Add lines for files that have appeared."""
        assert self._file is not None
        lines = _lines(entries)
        try:
            self._disk.put(self._file, self._path, lines)
        except BaseException:
            self._disk.shorten(self._file, self._size)
            raise
        self._size += len(lines)
        self._disk.sync(self._file)


def _is_manifest(begin: bytes) -> bool:
    """Whether the beginning of a file looks like a manifest; the first line may be cut off."""
    line, ended, _ = begin.partition(b"\n")
    if not ended or not line.startswith(BEGIN):
        return BEGIN.startswith(line[: len(BEGIN)]) and not ended and len(line) < LONGEST
    try:
        return set(json.loads(line)) >= _NAMED
    except ValueError:
        return False


def _lines(entries: Iterable[FileEntry]) -> bytes:
    # A name may not be UTF-8: what Python writes in place of its surrogates are JSON's escapes.
    lines = (json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries)
    return "".join(lines).encode(errors="backslashreplace")

"""The list of what a run has written, a line a file."""

import json
import os
from collections.abc import Hashable, Iterable
from datetime import date, time
from pathlib import Path
from typing import Any, TypeAlias

from adapters.files.writing.errors import FileBusyError
from adapters.files.writing.place import Place

Entry: TypeAlias = dict[str, Any]


def plain(value: Hashable) -> Any:
    """A time or a key as JSON has it: numbers and text as they are, the rest as text."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):  # noqa: PLR0124 - not NaN
        return value
    if isinstance(value, tuple):
        return [plain(part) for part in value]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return value.isoformat() if isinstance(value, (date, time)) else str(value)


class Manifest:
    """A JSON Lines file, lengthened as targets appear."""

    def __init__(self, place: Place, path: Path, *, durable: bool) -> None:
        self._place = place
        self._path = path
        self._durable = durable
        self._size = 0
        self._file: int | None = None
        """Open as long as it is ours: it is locked."""

    def open(self, entries: Iterable[Entry]) -> None:
        """Begin with what earlier runs have written; anew, if there is nothing.

        Raises:
            FileBusyError: somebody writes it.
        """
        lines = _lines(entries)
        self._place.folders(self._path.parent, durable=self._durable)
        part = self._path.with_name(f".{self._path.name}.part")
        if os.name == "posix":
            self._take(part)
        self._place.append(part, lines, anew=True)
        if self._durable:
            self._place.flush(part)
        self._place.rename(part, self._path)
        if self._durable:
            self._place.flush(self._path.parent)
        self._size = len(lines)

    def _take(self, part: Path) -> None:
        """Lock what will be the manifest, and find out whether that which is there is locked."""
        self._file = self._place.open(part, os.O_RDWR | os.O_CREAT)
        ours = False
        try:
            self._place.lock(self._file)
            ours = True
            if self._path.exists():
                before = self._place.open(self._path, os.O_RDONLY)
                try:
                    self._place.lock(before)
                finally:
                    self._place.close(before)
        except BlockingIOError:
            if ours:
                self._place.remove(part)
            raise FileBusyError(
                f"another run, or another sink of this one, is writing the manifest {self._path}: give each sink one "
                f"of its own",
            ) from None

    def close(self) -> None:
        """Let go of it."""
        if self._file is not None:
            file, self._file = self._file, None
            self._place.close(file)

    def add(self, entries: Iterable[Entry]) -> None:
        """Note what has appeared."""
        lines = _lines(entries)
        try:
            self._place.append(self._path, lines)
        except BaseException:
            self._place.shorten(self._path, self._size)
            raise
        self._size += len(lines)
        if self._durable:
            self._place.flush(self._path)


def _lines(entries: Iterable[Entry]) -> bytes:
    return "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode()

"""The list of what a run has written, a line a file."""

import json
from collections.abc import Hashable, Iterable
from datetime import date, time
from pathlib import Path
from typing import Any, TypeAlias

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

    def open(self, entries: Iterable[Entry]) -> None:
        """Begin with what earlier runs have written; anew, if there is nothing."""
        lines = _lines(entries)
        self._place.folders(self._path.parent, durable=self._durable)
        part = self._path.with_name(f".{self._path.name}.part")
        self._place.append(part, lines, anew=True)
        if self._durable:
            self._place.flush(part)
        self._place.rename(part, self._path)
        if self._durable:
            self._place.flush(self._path.parent)
        self._size = len(lines)

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

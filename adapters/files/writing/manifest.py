"""The list of what a run has written, a line a file."""

import json
from collections.abc import Hashable, Iterable
from datetime import date, time
from pathlib import Path
from typing import Any

from adapters.files.writing.place import Place


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
        self.size = 0

    def open(self, size: int | None) -> None:
        """Begin anew, or go on after the first `size` bytes."""
        self._place.folders(self._path.parent, durable=self._durable)
        if size is None:
            self._place.append(self._path, b"", anew=True)
        else:
            self._place.append(self._path)
            self._place.shorten(self._path, size)
        self.size = size or 0
        if self._durable:
            self._place.flush(self._path)
            self._place.flush(self._path.parent)

    def add(self, entries: Iterable[dict[str, Any]]) -> None:
        """Note what has appeared."""
        lines = "".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in entries).encode()
        try:
            self._place.append(self._path, lines)
        except BaseException:
            self._place.shorten(self._path, self.size)
            raise
        self.size += len(lines)
        if self._durable:
            self._place.flush(self._path)

"""Files that appear whole or not at all: written beside their place, and renamed into it."""

import os
from collections.abc import Hashable
from pathlib import Path
from string import Formatter
from typing import BinaryIO

from pullstream import CompositionError, PullstreamError


class FileTargetError(PullstreamError):
    """A file cannot be written where it was meant to go."""


def _fields(template: str) -> set[str]:
    """The names of a template's fields, those inside a field's format too."""
    fields: set[str] = set()
    for _, name, spec, _ in Formatter().parse(template):
        if name is not None:
            fields |= {name} | _fields(spec or "")
    return fields


class Target:
    """A path with `{time}` in it: the place of each time's file."""

    def __init__(self, template: str | os.PathLike[str], module: str) -> None:
        self._template = os.fspath(template)
        self._module = module
        self._taken: dict[Path, Hashable] = {}
        try:
            fields = _fields(self._template)
        except ValueError as exc:
            raise CompositionError(f"{module}({self._template!r}): {exc}; write {{{{ for a brace itself") from None
        if fields != {"time"}:
            extra = ", ".join(f"{{{name}}}" for name in sorted(fields - {"time"}))
            problem = f"cannot fill in {extra}" if extra else "has no {time} in it, so all times would share one file"
            raise CompositionError(
                f"{module}({self._template!r}) {problem}; a target looks like 'delays/{{time}}.jsonl'",
            )

    def path(self, time: Hashable) -> Path:
        """The place of `time`'s file; two times must not share one, nor may a time lead out of its folder."""
        text = str(time)
        if text in {"", ".", ".."} or "/" in text or os.sep in text or "\0" in text:
            raise FileTargetError(
                f"{self._module}: the time {time!r} cannot be part of a file's name; "
                "give the values times whose text has no separators",
            )
        path = Path(self._template.format(time=time))
        other = self._taken.setdefault(path, time)
        if other != time:
            raise FileTargetError(f"{self._module}: the times {other!r} and {time!r} would share the file {path}")
        return path


class WholeFile:
    """A file that is written beside its place until `publish` renames it there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._part = path.with_name(f".{path.name}.part")
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file: BinaryIO = self._part.open("wb")

    def write(self, data: bytes) -> None:
        """Append to the file."""
        self._file.write(data)

    def publish(self) -> None:
        """Make the file appear, whole and on the disk."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._part.replace(self.path)
        # The name, too, must survive a power cut.
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def discard(self) -> None:
        """Leave nothing behind."""
        self._file.close()
        self._part.unlink(missing_ok=True)

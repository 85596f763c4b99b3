"""Folders of this machine: every file is told of, and what cannot be looked at is an error.

The links of a folder that lead to other folders are not followed, for they may lead round, or to the same files twice;
those that a pattern matches by name are.
"""

import os
import re
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from glob import has_magic
from typing import Any

from ..names import is_aside
from ..urls import fsspec
from .errors import FileReadError

Info = Mapping[str, Any]


class Tree:
    """The files of a folder, at any depth, or those that a pattern matches; with `waits`, links may lead nowhere."""

    def __init__(self, *, waits: bool) -> None:
        self._waits = waits

    def inside(self, folder: str) -> Iterator[tuple[str, Info]]:
        """All files but those that are called as no data is."""
        yield from self._below(folder, lambda name: not is_aside(name))

    def matching(self, pattern: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Info]]:
        """The files that a pattern matches, with names that are wanted."""
        first, *rest = pattern.split("/")
        seen = dict(self._matching(first or "/", rest, wanted))
        yield from seen.items()

    def _below(self, folder: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, Info]]:
        for name, path in self._names(folder):
            if wanted(name):
                if self._is_folder(path):
                    self._refuse_link(path)
                    yield from self._below(path, wanted)
                else:
                    yield from self._file(path)

    def _matching(self, folder: str, parts: Sequence[str], wanted: Callable[[str], bool]) -> Iterator[tuple[str, Info]]:
        part, rest = parts[0], parts[1:]
        if part == "**":
            yield from self._at_any_depth(folder, rest, wanted)
            return
        for name, path in self._fitting(folder, part):
            if self._is_there(path):
                if self._is_folder(path):
                    yield from self._matching(path, rest, wanted) if rest else ()
                elif not rest and wanted(name):
                    yield from self._file(path)

    def _fitting(self, folder: str, part: str) -> list[tuple[str, str]]:
        """The entries that a part of a pattern matches; a folder that is only gone through need not be readable."""
        if not has_magic(part):
            return [(part, f"{folder.rstrip('/')}/{part}")]
        fits = re.compile(fsspec().utils.glob_translate(part)).fullmatch
        return [(name, path) for name, path in self._names(folder) if fits(name)]

    def _at_any_depth(
        self, folder: str, rest: Sequence[str], wanted: Callable[[str], bool]
    ) -> Iterator[tuple[str, Info]]:
        if rest:
            yield from self._matching(folder, rest, wanted)
        for name, path in self._names(folder):
            if self._is_folder(path):
                self._refuse_link(path)
                yield from self._at_any_depth(path, rest, wanted)
            elif not rest and wanted(name):
                yield from self._file(path)

    def _names(self, folder: str) -> list[tuple[str, str]]:
        """Names in a folder, and their paths; none if it has just been taken away."""
        try:
            return [(name, f"{folder.rstrip('/')}/{name}") for name in sorted(os.listdir(folder))]  # noqa: PTH208 - text
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as exc:
            exc.add_note(f"looking for files to read: {folder} cannot be read. Allow it, or name what is to be read")
            raise

    def _is_there(self, path: str) -> bool:
        """Whether something has a path; what may not be looked at is an error, and not nothing."""
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as exc:
            exc.add_note(f"looking for files to read: {path} cannot be looked at. Allow it, or name what is to be read")
            raise
        return True

    def _is_folder(self, path: str) -> bool:
        return os.path.isdir(path)  # noqa: PTH112 - paths are text here, as fsspec has them

    def _refuse_link(self, path: str) -> None:
        if os.path.islink(path):  # noqa: PTH114 - as above
            raise FileReadError(
                path, "is a link to a folder, which is not followed: name that folder among the paths, or move it away"
            )

    def _file(self, path: str) -> Iterator[tuple[str, Info]]:
        try:
            status = os.stat(path)  # noqa: PTH116 - as above
        except FileNotFoundError:
            if os.path.islink(path) and not self._waits:  # noqa: PTH114 - as above
                raise FileReadError(path, "is a link that leads nowhere: mend it, or move it away") from None
            return
        if not stat.S_ISREG(status.st_mode):
            raise no_file(path)
        yield path, {"type": "file", "size": status.st_size, "mtime": status.st_mtime}


def no_file(path: str) -> FileReadError:
    """The error of a pipe, a socket or a device, which might never end, nor begin."""
    return FileReadError(
        path, "is a pipe, a socket or a device, and no file: move it away, or read what comes from it with ps.values"
    )

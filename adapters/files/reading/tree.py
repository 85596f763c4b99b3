"""Local folders: every file is reported, and anything unreadable is an error.

Links to other folders inside a folder are not followed, because they may form a cycle or lead to the same files twice.
Links that a pattern matches by name are followed.
"""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from glob import has_magic
from typing import Any

from ..names import fsspec, is_hidden
from .errors import FileReadError

Info = Mapping[str, Any]


class Tree:
    """The files in a folder at any depth, or those that match a pattern; with `waits`, dangling links are allowed."""

    def __init__(self, *, waits: bool) -> None:
        self._waits = waits

    def matching(self, pattern: str) -> Iterator[tuple[str, Info]]:
        """The files that match a pattern; some may come twice."""
        first, *rest = pattern.split("/")
        return self._matching(first or "/", rest)

    def _matching(self, folder: str, parts: Sequence[str]) -> Iterator[tuple[str, Info]]:
        part, rest = parts[0], parts[1:]
        if part == "**":
            yield from self.inside(folder, rest)
            return
        for path in self._fitting(folder, part):
            if self._is_there(path):
                if os.path.isdir(path):  # noqa: PTH112 - paths are text here, as in fsspec
                    yield from self._matching(path, rest) if rest else ()
                elif not rest:
                    yield from self._file(path)

    def _fitting(self, folder: str, part: str) -> list[str]:
        """The entries that match one part of a pattern; without wildcards, the folder need not be readable."""
        if not has_magic(part):
            return [f"{folder.rstrip('/')}/{part}"]
        fits = re.compile(fsspec().utils.glob_translate(part)).fullmatch
        return [path for name, path in self._names(folder) if fits(name) and (is_hidden(part) or not is_hidden(name))]

    def inside(self, folder: str, rest: Sequence[str] = ()) -> Iterator[tuple[str, Info]]:
        """The files at any depth except hidden and unfinished ones, or those that match the rest of a pattern."""
        if rest:
            yield from self._matching(folder, rest)
        for name, path in self._names(folder):
            if is_hidden(name):
                continue
            if os.path.isdir(path):  # noqa: PTH112 - as above
                if os.path.islink(path):  # noqa: PTH114 - as above
                    raise FileReadError(
                        path,
                        "is a link to a folder, which is not followed: add that folder to the paths, or remove the "
                        "link",
                    )
                yield from self.inside(path, rest)
            elif not rest:
                yield from self._file(path)

    def _names(self, folder: str) -> list[tuple[str, str]]:
        """The names in a folder with their paths; none if the folder was just removed."""
        try:
            return [(name, f"{folder.rstrip('/')}/{name}") for name in sorted(os.listdir(folder))]  # noqa: PTH208 - text
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as exc:
            exc.add_note(f"looking for files to read: {folder} cannot be read. Allow it, or give the paths to read")
            raise

    def _is_there(self, path: str) -> bool:
        """Whether a path exists; a path that may not be accessed is an error."""
        try:
            os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as exc:
            exc.add_note(f"looking for files to read: {path} cannot be accessed. Allow it, or give the paths to read")
            raise
        return True

    def _file(self, path: str) -> Iterator[tuple[str, Info]]:
        try:
            status = os.stat(path)  # noqa: PTH116 - as above
        except FileNotFoundError:
            if os.path.islink(path) and not self._waits:  # noqa: PTH114 - as above
                raise FileReadError(path, "is a dangling link: fix it, or remove it") from None
            return
        if not stat.S_ISREG(status.st_mode):
            raise no_file(path)
        yield path, {"type": "file", "size": status.st_size, "mtime": status.st_mtime}


def no_file(path: str) -> FileReadError:
    """Make the error for a pipe, socket or device, which might block or never end."""
    return FileReadError(
        path, "is a pipe, socket or device, not a regular file: remove it, or read its data with ps.values"
    )

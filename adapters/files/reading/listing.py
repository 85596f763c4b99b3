"""Paths, globs, folders and fsspec URLs, and the files found there."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from glob import has_magic
from importlib import import_module
from typing import Any, TypeAlias
from zipfile import is_zipfile

import attrs

from pullstream.authoring import LOG, Call

from ..conflicts import ReadPaths
from ..names import fsspec, is_hidden, passes_over, url_argument
from .errors import FileChangedError, FileReadError, NoFilesError
from .tree import Info, Tree, no_file

Path: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = Path | Sequence[Path]

VERSIONS = ("mtime", "ETag", "etag", "LastModified", "last_modified", "updated", "created")
"""Keys of file systems' listings whose values change when a file does."""


@attrs.frozen
class File:
    """A file that was found: its shown path, its key in its file system, and its size and version at that moment."""

    path: str
    key: str = attrs.field(repr=False)
    size: int | None
    version: str | None
    fs: Any = attrs.field(repr=False, eq=False)

    @property
    def identity(self) -> tuple[int | None, str | None]:
        """The size and version; they change when the file does."""
        return self.size, self.version


@attrs.frozen
class GivenPath:
    """A path that was given to a source, with its file system."""

    given: str
    key: str
    fs: Any = attrs.field(repr=False)
    tail: str
    """The rest of a chained URL, which names the archive that contains this path."""

    def files(self, *, waits: bool = False) -> Iterator[File]:
        """The files that exist now, sorted by name; with `waits`, dangling links are allowed."""
        tree = Tree(waits=waits)
        try:
            info = self.fs.info(self.key)
        except FileNotFoundError:
            entries = self._matches(tree)
        else:
            if info["type"] == "directory":
                entries = self._inside(tree)
            elif self.on_disk and info["type"] != "file":
                raise no_file(self.key)
            else:
                entries = {self.key: info}
        for key in sorted(entries, key=lambda key: key.split("/")):
            yield File(self._shown(key), key, *_identity(entries[key]), self.fs)

    @property
    def on_disk(self) -> bool:
        """Whether the path is on the local file system, without a cache or archive in between."""
        return isinstance(self.fs, import_module("fsspec.implementations.local").LocalFileSystem)

    def _matches(self, tree: Tree) -> Mapping[str, Info]:
        if not has_magic(self.key):
            raise NoFilesError(self.given, f"does not exist{self._looked_for}") from None
        if self.on_disk:
            return dict(tree.matching(self.key))
        entries: dict[str, Info] = self.fs.glob(self.key, detail=True)
        return {
            key: info for key, info in entries.items() if info["type"] != "directory" and not passes_over(self.key, key)
        }

    def _inside(self, tree: Tree) -> Mapping[str, Info]:
        if self.on_disk:
            return dict(tree.inside(self.key))
        entries: dict[str, Info] = self.fs.find(self.key, detail=True)
        return {key: info for key, info in entries.items() if not any(map(is_hidden, key[len(self.key) :].split("/")))}

    def nothing(self) -> NoFilesError:
        """Make the error for a path where no files were found."""
        why = f"matches no file{self._looked_for}; check the pattern, or wait for files with follow=True"
        if not has_magic(self.key):
            why = "is a folder without files (names such as .a, _a, a.part and a.tmp are skipped)"
        elif any(info["type"] == "directory" for info in self.fs.glob(self.key, detail=True).values()):
            why = f"matches only folders; to read the files in them, write {self.given.rstrip('/')}/*"
        return NoFilesError(self.given, why)

    @property
    def _looked_for(self) -> str:
        """The absolute path for a message, if the given path is relative and may mean another folder."""
        return f", looked for as {self.key}" if self.on_disk and self.key not in self.given else ""

    def _shown(self, key: str) -> str:
        return key if is_local(self.fs) else f"{self.fs.unstrip_protocol(key)}{self.tail}"


class Listing:
    """Finds and opens files; a run creates it in its thread and closes it at the end."""

    def __init__(self, paths: Sequence[str], filesystem: Any, options: Mapping[str, Any], absence: str = "") -> None:
        """Make a listing; `absence` explains in the log what a missing path means."""
        self._absence = absence
        self._ours: list[Any] = []
        self.absent: list[str] = []
        """The paths that did not exist at the last look."""
        try:
            self._places = [self._place(path, filesystem, options) for path in paths]
        except BaseException:
            self.close()
            raise

    def _place(self, path: str, filesystem: Any, options: Mapping[str, Any]) -> GivenPath:
        _, chained, rest = path.partition("::")
        if filesystem is not None:
            return GivenPath(path, filesystem._strip_protocol(path), filesystem, "")  # noqa: SLF001 - fsspec's way
        # An archive's file system keeps a file open: use a separate one, which this run can close.
        own = {"skip_instance_cache": True} if chained else {}
        try:
            if path.startswith("zip://"):
                # fsspec would detect another file too, but leave it open.
                with fsspec().open(rest or options["fo"], "rb") as file:
                    if not is_zipfile(file):
                        raise FileReadError(path, "cannot be opened: the file is not a zip archive")
            fs, key = fsspec().core.url_to_fs(path, **{**own, **options})
        except FileNotFoundError:
            raise NoFilesError(path, "does not exist") from None
        if chained:
            self._ours.append(fs)
        return GivenPath(path, key, fs, f"::{rest}" if chained else "")

    def look(self, *, follow: bool) -> list[File]:
        """The files that exist now, each once; unless `follow`, a missing or empty path is an error."""
        files: dict[tuple[int, str], File] = {}
        real = cache(os.path.realpath)
        absent: list[str] = []
        for place in self._places:
            if follow:
                place.fs.invalidate_cache()
            try:
                here = list(place.files(waits=follow))
            except NoFilesError:
                if not follow:
                    raise
                absent.append(place.given)
                continue
            if not here and not follow:
                raise place.nothing()
            for file in here:
                key = file.key
                if place.on_disk:
                    # Two spellings of one path are one file; a link counts as another file.
                    folder, name = os.path.split(key)
                    key = os.path.join(real(folder), name)  # noqa: PTH118 - text, as fsspec has it
                files.setdefault((id(file.fs), key), file)
        for path in absent:
            if self._absence and path not in self.absent:
                LOG.warning("%s does not exist: %s", path, self._absence)
        self.absent = absent
        return list(files.values())

    def reads(self) -> list[ReadPaths]:
        """The places for `RunFiles`, so that sinks do not write there."""
        return [ReadPaths(each.given, each.key, None if is_local(each.fs) else each.fs) for each in self._places]

    def close(self) -> None:
        """Close the archives."""
        while self._ours:
            fs = self._ours.pop()
            for part in (fs, getattr(fs, "of", None)):
                close = getattr(part, "close", None)
                if close is not None:
                    close()


def again(file: File) -> File | None:
    """The file as it is now; None if it no longer exists."""
    file.fs.invalidate_cache()
    try:
        info = file.fs.info(file.key)
    except FileNotFoundError:
        return None
    size, version = _identity(info)
    return attrs.evolve(file, size=size, version=version)


def _identity(info: Mapping[str, Any]) -> tuple[int | None, str | None]:
    version = next((info[name] for name in VERSIONS if info.get(name) is not None), None)
    return info.get("size"), None if version is None else str(version)


def vanished(file: File) -> FileChangedError:
    """Make the error for a file that was removed."""
    return FileChangedError(file.path, "no longer exists: keep files until they have been read")


def checked_paths(module: str, paths: Any, filesystem: Any) -> tuple[str, ...]:
    """The paths given to a source, as text; invalid paths and unsupported URLs are refused."""
    items: Iterable[Any] = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(items, Iterable) or isinstance(items, (bytes, Iterator)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Call(module).refuse(f"needs a path or a list of paths, but got {paths!r}")
    texts: list[str] = []
    for path in items:
        if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes) or not os.fspath(path):
            raise Call(module).refuse(f"got {path!r}, which is not a path")
        texts.append(os.fspath(path))
        if filesystem is None:
            url_argument(module, texts[-1])
    if not texts:
        raise Call(module).refuse("got an empty list of paths")
    return tuple(texts)


def is_local(fs: Any) -> bool:
    """Whether a file system is the local one."""
    return "file" in ((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)

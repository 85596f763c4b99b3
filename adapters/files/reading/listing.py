"""Places of files: paths, globs, folders and fsspec's URLs, and the files that are found there."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from glob import has_magic
from importlib import import_module
from typing import Any, TypeAlias
from zipfile import is_zipfile

import attrs

from pullstream import CompositionError
from pullstream.authoring import LOG, Site

from ..conflicts import ReadPaths
from ..names import is_aside
from ..urls import fsspec, url_argument
from .errors import FileChangedError, FileReadError, NoFilesError
from .tree import Tree, no_file

Path: TypeAlias = str | os.PathLike[str]
Paths: TypeAlias = Path | Sequence[Path]

VERSIONS = ("mtime", "ETag", "etag", "LastModified", "last_modified", "updated", "created")
"""Entries of file systems' listings that change when a file does."""


@attrs.frozen
class File:
    """A file that was found: what it is called, where it is in its file system, and how it was then."""

    path: str
    key: str = attrs.field(repr=False)
    size: int | None
    version: str | None
    fs: Any = attrs.field(repr=False, eq=False)

    @property
    def identity(self) -> tuple[int | None, str | None]:
        """A value that is another when the file is."""
        return self.size, self.version


@attrs.frozen
class GivenPath:
    """A path that a source was given, with the file system it is in."""

    given: str
    key: str
    fs: Any = attrs.field(repr=False)
    tail: str
    """The rest of a chained URL, which names the file that this one is in."""

    def files(self, *, waits: bool = False) -> Iterator[File]:
        """The files that are there now, in the order of names; with `waits`, links may lead nowhere yet."""
        try:
            info = self.fs.info(self.key)
        except FileNotFoundError:
            yield from self._matches(Tree(waits=waits))
            return
        if info["type"] == "directory":
            yield from self._inside(self.key, Tree(waits=waits))
        elif self.on_disk and info["type"] != "file":
            raise no_file(self.key)
        else:
            yield self._file(self.key, info)

    @property
    def on_disk(self) -> bool:
        """Whether it is this machine's own, and nobody stands between."""
        return isinstance(self.fs, import_module("fsspec.implementations.local").LocalFileSystem)

    def _matches(self, tree: Tree) -> Iterator[File]:
        if not has_magic(self.key):
            raise NoFilesError(self.given, f"does not exist{self._looked_for}") from None
        # What is meant by name is read, whatever it is called.
        plain = not self.key.rpartition("/")[2].startswith((".", "_"))
        entries: dict[str, Any]
        if self.on_disk:
            entries = dict(tree.matching(self.key, lambda name: not (plain and is_aside(name))))
        else:
            entries = self.fs.glob(self.key, detail=True)
        for key in sorted(entries, key=_parts):
            if entries[key]["type"] != "directory" and not (plain and is_aside(key.rpartition("/")[2])):
                yield self._file(key, entries[key])

    def _inside(self, folder: str, tree: Tree) -> Iterator[File]:
        entries: dict[str, Any] = dict(tree.inside(folder)) if self.on_disk else self.fs.find(folder, detail=True)
        for key in sorted(entries, key=_parts):
            if not any(map(is_aside, key[len(folder) :].split("/"))):
                yield self._file(key, entries[key])

    def nothing(self) -> NoFilesError:
        """The error of a place where there are no files, though it exists or may exist."""
        if not has_magic(self.key):
            return NoFilesError(
                self.given,
                "is a folder with no files in it (names that begin with . or _, or end as .part, are left out)",
            )
        folders = any(info["type"] == "directory" for info in self.fs.glob(self.key, detail=True).values())
        return NoFilesError(
            self.given,
            f"matches folders and no file; to read what is in them, write {self.given.rstrip('/')}/*"
            if folders
            else f"matches no file{self._looked_for}; look at the pattern, or wait for files with follow=True",
        )

    @property
    def _looked_for(self) -> str:
        """The whole path, where what was given is another: who gives a relative one may think of another folder."""
        return f", looked for as {self.key}" if self.on_disk and self.key not in self.given else ""

    def _file(self, key: str, info: Mapping[str, Any]) -> File:
        return File(self._shown(key), key, *_identity(info), self.fs)

    def _shown(self, key: str) -> str:
        return key if is_local(self.fs) else f"{self.fs.unstrip_protocol(key)}{self.tail}"


class Listing:
    """Finds and opens files; made by a run, in its thread, and closed with it."""

    def __init__(self, paths: Sequence[str], filesystem: Any, options: Mapping[str, Any], absence: str = "") -> None:
        """A listing; `absence` is what the log says of the meaning of a place that is not there."""
        self._absence = absence
        self._ours: list[Any] = []
        self.absent: list[str] = []
        """Places that were not there when they were looked at last."""
        try:
            self._places = [self._place(path, filesystem, options) for path in paths]
        except BaseException:
            self.close()
            raise

    def _place(self, path: str, filesystem: Any, options: Mapping[str, Any]) -> GivenPath:
        _, chained, rest = path.partition("::")
        if filesystem is not None:
            return GivenPath(path, filesystem._strip_protocol(path), filesystem, "")  # noqa: SLF001 - fsspec's own way
        # An archive is a file system that holds a file open: one for this run, which can be closed with it.
        own = {"skip_instance_cache": True} if chained else {}
        try:
            if path.startswith("zip://"):
                _check_archive(path, rest, options)
            fs, key = fsspec().core.url_to_fs(path, **{**own, **options})
        except FileNotFoundError:
            raise NoFilesError(path, "does not exist") from None
        if chained:
            self._ours.append(fs)
        return GivenPath(path, key, fs, f"::{rest}" if chained else "")

    def look(self, *, follow: bool) -> list[File]:
        """The files there are now, each once; no place, or one without any, is an error, unless they are waited for."""
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
                    # Two spellings of one name are one file; a link is a name of its own.
                    folder, name = os.path.split(key)
                    key = os.path.join(real(folder), name)  # noqa: PTH118 - text, as fsspec has it
                files.setdefault((id(file.fs), key), file)
        for path in absent:
            if self._absence and path not in self.absent:
                LOG.warning("%s does not exist: %s", path, self._absence)
        self.absent = absent
        return list(files.values())

    def reads(self) -> list[ReadPaths]:
        """The places, for those who write meanwhile."""
        return [ReadPaths(each.given, each.key, None if is_local(each.fs) else each.fs) for each in self._places]

    def close(self) -> None:
        """Let go of archives."""
        while self._ours:
            fs = self._ours.pop()
            for part in (fs, getattr(fs, "of", None)):
                close = getattr(part, "close", None)
                if close is not None:
                    close()


def _check_archive(path: str, archive: str, options: Mapping[str, Any]) -> None:
    """Refuse what is no archive; fsspec, which finds out too, would leave it open."""
    with fsspec().open(archive or options["fo"], "rb") as file:
        if not is_zipfile(file):
            raise FileReadError(path, "cannot be opened: the file is no zip archive")


def again(file: File) -> File | None:
    """The file as it is now; None if it is not there any more."""
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
    """The error of a file that is gone."""
    return FileChangedError(file.path, "was there, and is not any more: keep files until they have been read")


def checked_paths(module: str, paths: Any, filesystem: Any) -> tuple[str, ...]:
    """The paths that a source was given, as text; refuses what is none, and URLs that nobody here can read."""
    items: Iterable[Any] = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    if not isinstance(items, Iterable) or isinstance(items, (bytes, Iterator)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionError(f"{module}() at {Site.here()} reads a path, or a list of paths, and got {paths!r}")
    texts: list[str] = []
    for path in items:
        if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes) or not os.fspath(path):
            raise CompositionError(f"{module}() at {Site.here()} got {path!r}, which is no path")
        texts.append(os.fspath(path))
        if filesystem is None:
            url_argument(module, texts[-1])
    if not texts:
        raise CompositionError(f"{module}() at {Site.here()} got an empty list of paths")
    return tuple(texts)


def is_local(fs: Any) -> bool:
    """Whether a file system is this machine's own."""
    return "file" in ((fs.protocol,) if isinstance(fs.protocol, str) else fs.protocol)


def _parts(key: str) -> list[str]:
    return key.split("/")

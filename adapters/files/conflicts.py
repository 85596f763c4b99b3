"""Conflicts between the files of one run: a target must not be an input, the journal, a manifest or another target.

Sources and sinks register what they read and write, in any order. Local files are compared by identity, as the system
does, so links, spellings and letter case do not matter.
"""

import errno
import os
import re
import stat
from collections.abc import Callable, Hashable, Iterator, MutableMapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from glob import has_magic
from pathlib import Path
from threading import Lock
from typing import Any, Final

import attrs

from pullstream import CompositionError

from .names import fsspec, is_hidden, passes_over

NAME: Final = "adapters.files"
"""The key under which the modules of a run find their shared `RunFiles`."""


@attrs.frozen(eq=False)
class Place:
    """A path at which a file is or would be, in a file system; `fs` is None for the local one."""

    path: str
    fs: Any = None
    _below: dict[str, str | None] = attrs.field(factory=dict[str, str | None], init=False)

    @cached_property
    def local(self) -> Path:
        """The path as given."""
        return Path(self.path)

    @cached_property
    def real(self) -> Path:
        """The path with the links in its folders resolved."""
        return self._above[0] / self.local.name

    @property
    def around(self) -> Sequence[tuple[Path, Hashable]]:
        """The existing folders around the path, with their identities."""
        return self._above[1]

    @cached_property
    def _above(self) -> tuple[Path, Sequence[tuple[Path, Hashable]]]:
        folder = self.local.parent
        identity = _identity(str(folder))
        return (_folders if identity is None else _known_folders)(folder, identity)

    def names(self) -> Iterator[Hashable]:
        """Yield the names of the place and of the folders around it: paths, and the system's numbers for files."""
        if self.fs is not None:
            parts = self.path.split("/")
            yield from ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
            return
        yield str(self.real)
        yield _identity(self.path)
        for folder, identity in self.around:
            yield str(folder)
            yield identity

    def below(self, folder: str) -> str | None:
        """Return the path relative to a folder, if it is inside."""
        if folder not in self._below:
            here = _identity(folder)
            above = next((path for path, identity in self.around if identity == here), None)
            self._below[folder] = None if above is None else self.real.relative_to(above).as_posix()
        return self._below[folder]


@attrs.frozen(eq=False)
class ReadPaths:
    """A path, folder or pattern that a source reads in a file system; `fs` is None for the local one."""

    given: str
    key: str
    fs: Any = None

    def takes(self, place: Place) -> bool:
        """Whether the source reads a file at this place, or would if it existed."""
        if self.fs is None and place.fs is None:
            return self._takes_local(place)
        if not _same_store(self.fs, place.fs):
            return False
        path = place.path
        if has_magic(self.key):
            return _matches(self.key, path)
        inside = path.startswith(f"{self.key.rstrip('/')}/") and _is_data(path[len(self.key) :])
        return path == self.key or inside

    def _takes_local(self, place: Place) -> bool:
        key = Path(self.key)
        kind = kind_of(key)
        if kind == stat.S_IFDIR:
            below = place.below(self.key)
            return below is not None and _is_data(below)
        if kind is not None or not has_magic(self.key):
            return same_file(place.local, key)
        base = next(folder for folder in key.parents if not has_magic(str(folder)))
        below = place.below(str(base))
        return below is not None and _matches(self.key, (base / below).as_posix())

    def names(self) -> Sequence[Hashable]:
        """Return the names of its file or folder; each `Place` that it takes has one of them.

        A pattern has no names, nor has a path where nothing exists yet.
        """
        if self.fs is not None:
            return () if has_magic(self.key) else (self.key.rstrip("/"),)
        identity = _identity(self.key)
        return () if identity is None else (str(Place(self.key).real), identity)


@attrs.frozen(eq=False)
class WritePaths:
    """The target of a sink: its template, sample paths with placeholder values, and the paths written so far."""

    where: str
    template: str
    root: str
    samples: Sequence[str]
    taken: Callable[[str], bool]
    fs: Any = None
    manifest: str | None = None

    def takes(self, place: Place) -> bool:
        """Whether the sink has begun this file or will append to it."""
        if self.fs is not None or place.fs is not None:
            return _same_store(self.fs, place.fs) and self.taken(place.path)
        below = place.below(self.root)
        return below is not None and self.taken(os.path.join(self.root, below))  # noqa: PTH118 - as templates have it


class RunFiles:
    """The files that a run reads and writes; thread-safe."""

    def __init__(self, journal: Path | None) -> None:
        # Folders may have been moved between two runs.
        _known_folders.cache_clear()
        self._journal = journal
        self._reads: dict[ReadPaths, Sequence[Hashable]] = {}
        """The open sources, each with its names."""
        self._named: dict[Hashable, dict[ReadPaths, None]] = {}
        """The same sources by name, because a run may read and write thousands of files."""
        self._unnamed: dict[ReadPaths, None] = {}
        self._writes: list[WritePaths] = []
        self._written: list[WritePaths] = []
        """Targets of finished sinks: no other sink may replace their files."""
        self._lock = Lock()

    @classmethod
    def of(cls, common: MutableMapping[str, Any], journal: Path | None) -> "RunFiles":
        """The record of a run, created on first use."""
        return common.setdefault(NAME, cls(journal))

    def read(self, read: ReadPaths) -> None:
        """Register a source that begins to read; refuse it if a sink writes there, or the journal is there."""
        with self._lock:
            journal = self._journal
            if journal is not None and read.takes(Place(str(journal))):
                raise CompositionError(
                    f"the journal {journal} is among the files that are read ({read.given!r}): give it another path"
                )
            for write in self._writes:
                _keep_apart(read, write)
            names = self._reads[read] = read.names()
            for name in names:
                self._named.setdefault(name, {})[read] = None
            if not names:
                self._unnamed[read] = None

    def write(self, write: WritePaths) -> None:
        """Register a sink; refuse it if a source reads there, or it would replace a journal or manifest."""
        with self._lock:
            if why := self._kept(Path(write.samples[0]), [*self._writes, write]) if write.fs is None else None:
                raise CompositionError(f"{write.where}: {write.template} {why}")
            if write.manifest is not None and (why := self._kept(Path(write.manifest), [])):
                raise CompositionError(f"{write.where}: its manifest, {write.manifest}, {why}")
            for read in self._reads:
                _keep_apart(read, write)
            self._writes.append(write)

    def over(self, what: ReadPaths | WritePaths) -> None:
        """Unregister a source or sink that has finished."""
        with self._lock:
            if isinstance(what, ReadPaths):
                self._unnamed.pop(what, None)
                for name in self._reads.pop(what, ()):
                    del self._named[name][what]
            elif what in self._writes:
                self._writes.remove(what)
                self._written.append(what)

    def refusal(self, path: str, mine: WritePaths) -> str | None:
        """The reason why a sink may not write a target; None if it may."""
        place = Place(path, mine.fs)
        with self._lock:
            if place.fs is None and (why := self._kept(place.local, self._writes)):
                return why
            # A sink composed once may run again inside another module, and may rewrite its own files.
            over = (other for other in self._written if (other.where, other.template) != (mine.where, mine.template))
            for other in (*self._writes, *over):
                if other is not mine and other.takes(place):
                    return f"is also written by {other.where}: give each of the two its own targets"
            read = next((read for read in self._near(place) if read.takes(place)), None)
            return None if read is None else f"is among the files that are read ({read.given!r}): {_ADVICE}"

    def _near(self, place: Place) -> Iterator[ReadPaths]:
        """Yield the sources that may read a file at a place."""
        yield from self._unnamed
        for name in place.names() if self._named else ():
            yield from self._named.get(name, ())

    def _kept(self, path: Path, writes: list[WritePaths]) -> str | None:
        journal = self._journal
        if journal is not None and same_file(path, journal):
            return f"is the run's journal ({journal}), which it would replace: give one of them another path"
        for write in writes:
            if write.manifest is not None and same_file(path, Path(write.manifest)):
                return f"is a manifest ({write.manifest}), which it would replace: give one of them another path"
        return None


_ADVICE: Final = (
    "it would replace an input, or be read as one: by the next run or, with follow=True, by this run, endlessly. Write "
    "to another folder, or read a pattern that excludes it"
)


def _keep_apart(read: ReadPaths, write: WritePaths) -> None:
    manifest = write.manifest
    taken = [f"its manifest, {manifest},"] if manifest is not None and read.takes(Place(manifest)) else []
    if all(read.takes(Place(path, write.fs)) for path in write.samples):
        taken = [write.template]
    for what in taken:
        raise CompositionError(f"{write.where}: {what} is among the files that are read ({read.given!r}): {_ADVICE}")


def _same_store(fs: Any, other: Any) -> bool:
    """Whether two file systems are the same; fsspec may create one per thread, and those do not compare equal."""
    if fs is None or other is None:
        return False
    options = ("storage_args", "storage_options")
    return fs == other or (type(fs) is type(other) and all(getattr(fs, a) == getattr(other, a) for a in options))


def kind_of(path: Path) -> int | None:
    """The kind of file that a path leads to, such as `stat.S_IFDIR`; None if there is nothing."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except ValueError:
        return None
    except OSError as exc:
        if exc.errno not in _NOTHING:
            raise
        return None


_NOTHING: Final = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL}
"""Errors which mean that a path does not exist; Windows raises the last one for a pattern."""


def same_file(path: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, or would if it existed."""
    try:
        return os.path.samestat(path.stat(), other.stat())
    except OSError:
        return path.name == other.name and path.parent.resolve() == other.parent.resolve()


def _identity(path: str) -> Hashable:
    """The system's numbers for a file or folder; None if there is nothing."""
    with suppress(OSError, ValueError):
        status = os.stat(path)  # noqa: PTH116 - this is called for each of thousands of files
        return status.st_dev, status.st_ino
    return None


def _folders(folder: Path, _: Hashable) -> tuple[Path, Sequence[tuple[Path, Hashable]]]:
    """A folder with its links resolved, and the existing folders from it to the root, with their identities."""
    real = folder.resolve()
    folders = ((each, _identity(str(each))) for each in (real, *real.parents))
    return real, [(each, identity) for each, identity in folders if identity is not None]


_known_folders: Final = lru_cache(maxsize=64)(_folders)
"""The same for an existing folder, cached because a run may write thousands of files there."""


def _is_data(path: str) -> bool:
    return not any(map(is_hidden, path.split("/")))


def _matches(pattern: str, path: str) -> bool:
    match = re.match(fsspec().utils.glob_translate(pattern), path)
    return match is not None and not passes_over(pattern, path)

"""Stores for finished files: local disks, which rename, and URLs, to which files are uploaded."""

import errno
import secrets
import stat
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from more_itertools import map_reduce

from pullstream.authoring import start_in_thread

from ..conflicts import kind_of
from ..names import fsspec
from .disk import PART, Disk
from .refusals import FileTargetError
from .target import Target

_PUT_IS_ATOMIC = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "oci", "r2", "tos", "cos"})
"""Object stores: an object appears only when its upload is complete, and a rename would copy it."""

SYNCS: Final = 4
"""The number of files that are synced at once."""

UPLOADS: Final = 3
"""The number of times that a file is uploaded if its upload disappears before it is moved."""


class Local:
    """Renames files into place; files that have appeared survive a power cut."""

    def __init__(self, place: Disk, target: Target) -> None:
        self._disk = place
        self._module = target.module
        self._root = Path(target.root)

    def open(self, folder: str) -> None:
        """Do nothing: `StagingFolder` removes the leftovers of dead runs."""

    def close(self) -> None:
        """Do nothing, as above."""

    def check(self, target: str) -> None:
        """Refuse a target that cannot become a file."""
        path = Path(target)
        kind = kind_of(path)
        if kind == stat.S_IFDIR:
            raise FileTargetError(
                f"{self._module}: {target} is a folder, so no file can appear there: name a file in it, or move it away"
            )
        if kind not in {None, stat.S_IFREG}:
            raise FileTargetError(
                f"{self._module}: {target} is a device or a pipe, which a file would replace: write to another path"
            )
        self._check_above(path)

    def _check_above(self, path: Path) -> None:
        for folder in path.parents:
            below = folder.is_relative_to(self._root) and folder != self._root
            if below and folder.is_symlink():
                raise FileTargetError(
                    f"{self._module}: {folder} is a link, so {path} would be in another folder than the target says: "
                    f"write a target that names the linked folder before its first field"
                )
            kind = kind_of(folder)
            if kind is not None:
                if kind != stat.S_IFDIR:
                    raise FileTargetError(
                        f"{self._module}: {folder} is a file, so it cannot contain {path}: move the file away"
                    )
                if not below:
                    return

    @contextmanager
    def beside(self, target: str) -> Generator[Path]:
        """Hold the folder of a target, which is created if it does not exist."""
        path = Path(target)
        with self._disk.inside(self._root, path.parent):
            yield path

    def publish(self, made: Sequence[tuple[Path, str]]) -> None:
        """Make files appear at their targets, whole."""
        if self._disk.durable:
            self._sync([path for path, _ in made])
        # Each folder is opened and synced once.
        for folder, some in map_reduce(made, lambda each: Path(each[1]).parent).items():
            with self.beside(some[0][1]):
                for path, target in some:
                    self._rename(path, target)
                # The new names must survive a power cut as well.
                self._disk.flush(folder)

    def sync(self, targets: Iterable[str]) -> None:
        """Sync files that have appeared before."""
        folders = map_reduce(targets, lambda target: Path(target).parent)
        for some in folders.values() if self._disk.durable else ():
            with self.beside(some[0]):
                self._sync([*map(Path, some)])

    def _sync(self, paths: Sequence[Path]) -> None:
        """Sync files; a disk syncs several together in hardly more time than one."""
        others = [start_in_thread(self._sync_each, paths[n::SYNCS]) for n in range(1, min(SYNCS, len(paths)))]
        try:
            self._sync_each(paths[::SYNCS])
        finally:
            wait(others)
        for other in others:
            other.result()

    def _sync_each(self, paths: Sequence[Path]) -> None:
        for path in paths:
            self._disk.flush(path)

    def _rename(self, path: Path, target: str) -> None:
        try:
            self._disk.rename(path, Path(target))
        except OSError as exc:
            if exc.errno != errno.EXDEV:
                raise
            raise FileTargetError(
                f"{self._module}: {target} is on another disk than {path.parent.parent}, so the file cannot be "
                f"renamed into place; use a target whose folder before its first field is on that disk"
            ) from exc

    def shown(self, target: str) -> Path:
        """A target as the caller sees it."""
        return Path(target)


class Remote:
    """Uploads local files: directly where an upload is atomic, else under another name, and then moves them."""

    def __init__(self, target: Target, options: Mapping[str, Any] | None) -> None:
        self._target = target
        self._options = options or {}
        self._fs: Any = None
        self._beside: str | None = None
        # A run on another machine, which no lock keeps out, must not move this run's uploads.
        self._put = secrets.randbits(48)

    def check(self, target: str) -> None:
        """Do nothing: `publish` refuses a target that cannot become a file."""

    def open(self, folder: str) -> None:
        """Begin, and remove the leftovers of dead runs in `folder`, which holds unfinished files."""
        self._fs, root = fsspec().core.url_to_fs(self._target.root, **self._options)
        protocols = {self._fs.protocol} if isinstance(self._fs.protocol, str) else set(self._fs.protocol)
        if not protocols & _PUT_IS_ATOMIC:
            self._beside = f"{root.rstrip('/')}/{folder}"
            self._clear()

    def publish(self, made: Sequence[tuple[Path, str]]) -> None:
        """Make files appear at their targets, whole."""
        for path, target in made:
            place = self._fs._strip_protocol(target)  # noqa: SLF001 - the common interface of fsspec's file systems
            if self._kind(place) == "directory":
                raise FileTargetError(
                    f"{self._target.module}: {target} is a folder, so no file can appear there: name a file in it"
                )
            self._fs.makedirs(self._fs._parent(place), exist_ok=True)  # noqa: SLF001 - as above
            if self._beside is None:
                self._fs.put_file(str(path), place)
            else:
                self._put_and_move(path, place, self._beside)

    def _put_and_move(self, path: Path, place: str, folder: str) -> None:
        self._put += 1
        beside = f"{folder}/{self._put}.part"
        for left in reversed(range(UPLOADS)):
            try:
                self._fs.makedirs(folder, exist_ok=True)
                self._fs.put_file(str(path), beside)
                self._fs.mv(beside, place)
                break
            except FileNotFoundError:
                # A run on another machine, which began or ended at this moment, removed it as a dead run's leftover.
                if not left:
                    raise

    def shown(self, target: str) -> str:
        """A target as the caller sees it."""
        return target

    def close(self) -> None:
        """Remove temporary files."""
        if self._fs is not None:
            self._clear()

    def _clear(self) -> None:
        """Remove temporary uploads of earlier runs, and nothing else."""
        if self._beside is None or self._kind(self._beside) != "directory":
            return
        for info in self._fs.ls(self._beside, detail=True):
            if info["type"] == "file" and PART.fullmatch(info["name"].rpartition("/")[2]):
                self._fs.rm_file(info["name"])
        with suppress(FileNotFoundError):
            if not self._fs.ls(self._beside, detail=False):
                self._fs.rmdir(self._beside)

    def _kind(self, place: str) -> str | None:
        """The kind of an existing entry; unlike fsspec's `exists` and `isdir`, this fails if the store fails."""
        try:
            return self._fs.info(place)["type"]
        except FileNotFoundError:
            return None

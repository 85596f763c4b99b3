"""The local file system: all disk operations of the writing sinks go through `Disk`.

No file stays open between two operations. Data is collected in blocks, and each block is appended by opening the file,
writing and closing it. So the number of unfinished targets is not limited by the system's maximum of open files, and no
error leaves a file open. Growing files are synced before they are renamed.

No file is opened through a link. A folder can be held: its entries are then reached by its descriptor, so they stay
the same even if something else takes over its name.
"""

import errno
import os
import re
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from io import RawIOBase
from pathlib import Path
from typing import Final

from typing_extensions import Buffer, override

from pullstream.authoring import close_locked, lock

BLOCK = 1 << 20

PART: Final = re.compile(r"[0-9]+\.part")
"""The names of unfinished files."""


_HOLDS: Final = {os.open, os.mkdir, os.rmdir, os.rename, os.stat, os.unlink} <= os.supports_dir_fd
"""Whether the system can reach a folder's entries by its descriptor; Windows cannot."""


class Disk:
    """Operations on local files; all of them block, and raise OSError. Only a `durable` one syncs."""

    def __init__(self, *, durable: bool) -> None:
        self.durable = durable
        self._held: dict[Path, int] = {}

    def _at(self, path: Path) -> tuple[Path | str, int | None]:
        """A path's name, and the folder in which to look it up."""
        folder = self._held.get(path.parent)
        return (path, None) if folder is None else (path.name, folder)

    # ---- single steps

    def open(self, path: Path, flags: int, *, link: bool = False) -> int:
        """Open a file or folder that is not a link, unless `link`; the caller closes it."""
        name, folder = self._at(path)
        flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
        flags |= 0 if link else getattr(os, "O_NOFOLLOW", 0)
        return os.open(name, flags, 0o666, dir_fd=folder)

    def write(self, file: int, data: memoryview) -> int:
        """Write as much as possible in one call; returns the number of bytes."""
        return os.write(file, data)

    def sync(self, file: int) -> None:
        """Sync a file to disk."""
        if self.durable:
            os.fsync(file)

    def close(self, file: int) -> None:
        """Close a descriptor."""
        close_locked(file)

    def lock(self, file: int) -> None:
        """Lock a file until it is closed, or raise BlockingIOError; does nothing without flock (Windows)."""
        lock(file)

    def rename(self, old: Path, new: Path) -> None:
        """Rename a file, atomically replacing an existing one."""
        (name, folder), (new_name, new_folder) = self._at(old), self._at(new)
        os.replace(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)

    def remove(self, path: Path) -> None:
        """Remove a file if it exists."""
        name, folder = self._at(path)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)

    def make_folder(self, path: Path) -> None:
        """Create a single folder if it does not exist."""
        name, folder = self._at(path)
        try:
            os.mkdir(name, dir_fd=folder)
        except FileExistsError:
            if not path.is_dir():
                raise

    def make_private(self, path: Path) -> None:
        """Create a single folder that other users cannot access."""
        name, folder = self._at(path)
        os.mkdir(name, 0o700, dir_fd=folder)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        name, folder = self._at(path)
        os.rmdir(name, dir_fd=folder)

    def listing(self, folder: Path) -> list[Path]:
        """List the paths in a folder."""
        return [folder / name for name in os.listdir(self._held.get(folder, folder))]  # noqa: PTH208 - a descriptor

    def look(self, path: Path) -> os.stat_result:
        """The status of a path; for a link, its own status."""
        name, folder = self._at(path)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def shorten(self, file: int, size: int) -> None:
        """Truncate a file."""
        os.ftruncate(file, size)

    def read(self, file: int, offset: int, size: int) -> bytes:
        """Read a part of a file."""
        os.lseek(file, offset, os.SEEK_SET)
        return os.read(file, size)

    # ---- combined steps

    def append(self, path: Path, *data: Buffer) -> None:
        """Append to a file, which is created if it does not exist."""
        with self.opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
            self.put(file, path, *data)

    def put(self, file: int, path: Path, *data: Buffer) -> None:
        """Write all data to an open file."""
        try:
            for piece in data:
                rest = memoryview(piece).cast("B")
                while rest:
                    rest = rest[self.write(file, rest) :]
        except OSError as exc:
            exc.filename = exc.filename or str(path)
            raise

    @contextmanager
    def opened(self, path: Path, flags: int) -> Generator[int]:
        """Open a file for several operations."""
        file = self.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(errno.EEXIST, "is not a regular file", str(path))
            yield file
        finally:
            self.close(file)

    def part_of(self, path: Path, offset: int, size: int) -> bytes:
        """Read a part of a file; shorter only at its end."""
        data = bytearray()
        with self.opened(path, os.O_RDONLY) as file:
            while len(data) < size and (more := self.read(file, offset + len(data), size - len(data))):
                data += more
        return bytes(data)

    def cut(self, path: Path, size: int) -> None:
        """Truncate a file."""
        with self.opened(path, os.O_WRONLY) as file:
            self.shorten(file, size)

    def copy(self, old: Path, new: Path, size: int) -> None:
        """Append one file, of a known size, to another."""
        for offset in range(0, size, 4 * BLOCK):
            self.append(new, self.part_of(old, offset, min(4 * BLOCK, size - offset)))

    def size(self, path: Path) -> int:
        """The length of a file."""
        return self.look(path).st_size

    def check(self, path: Path, size: int) -> None:
        """Refuse a file whose length changed despite its lock: not all network disks share locks."""
        if (now := self.size(path)) != size:
            what = f"has {now} bytes, but {size} were written: another program writes there"
            raise OSError(errno.EIO, what, str(path))

    def flush(self, path: Path) -> None:
        """Sync a file's content, or a folder's names, to disk."""
        if not self.durable:
            return
        if path in self._held:
            self.sync(self._held[path])
            return
        file = self.open(path, os.O_RDONLY)
        try:
            self.sync(file)
        finally:
            self.close(file)

    def folders(self, path: Path) -> None:
        """Create a folder and its parents so that they survive a power cut."""
        missing = [path]
        while not missing[-1].is_dir() and missing[-1].parent != missing[-1]:
            missing.append(missing[-1].parent)
        while len(missing) > 1:
            above = missing.pop()
            self.make_folder(missing[-1])
            self.flush(above.resolve())

    @contextmanager
    def held(self, folder: Path, *, link: bool = False) -> Generator[os.stat_result]:
        """Hold a folder, or with `link` a link to one, and yield its status; else raise NotADirectoryError."""
        file = self.open(folder, os.O_RDONLY | os.O_DIRECTORY, link=link) if _HOLDS else None
        try:
            if file is not None:
                self._held[folder] = file
            yield self.look(folder.resolve() if link else folder) if file is None else os.fstat(file)
        finally:
            if file is not None:
                del self._held[folder]
                self.close(file)

    @contextmanager
    def inside(self, root: Path, folder: Path) -> Generator[None]:
        """Hold `root` or a folder in it, created if missing; NotADirectoryError if a part is a file or a link."""
        self.folders(root)
        with ExitStack() as holding:
            holding.enter_context(self.held(root, link=True))
            for name in folder.relative_to(root).parts:
                above, root = root, root / name
                try:
                    holding.enter_context(self.held(root))
                except FileNotFoundError:
                    self.make_folder(root)
                    self.flush(above)
                    holding.enter_context(self.held(root))
            yield


class Out(RawIOBase):
    """A growing file for encoders: `write` collects data, which goes to the file in blocks."""

    def __init__(self, disk: Disk, path: Path, *, keeps: bool = False) -> None:
        self._disk = disk
        self._path = path
        self._keeps = keeps
        """Whether content of less than a block stays in memory until `settle` or `append_to`."""
        self._block = bytearray()
        self._discarded = False
        self.size = 0

    @override
    def write(self, data: Buffer) -> int:
        """Append data."""
        view = memoryview(data).cast("B")
        if self._discarded:
            return len(view)
        if len(self._block) + len(view) < BLOCK:
            self._block += view
        else:
            self._disk.append(self._path, self._block, view)
            self._block = bytearray()
        self.size += len(view)
        return len(view)

    def hand_over(self) -> None:
        """Write the buffered data to the file."""
        if self._block:
            self._disk.append(self._path, self._block)
            self._block = bytearray()

    def finish(self) -> None:
        """Write the remaining data."""
        if not self._kept:
            self.settle()

    @property
    def _kept(self) -> bool:
        return self._keeps and len(self._block) == self.size

    def append_to(self, path: Path) -> None:
        """Append the content to another file, and remove this one."""
        if self._kept:
            self._disk.append(path, self._block)
        else:
            self._disk.copy(self._path, path, self.size)
            self._disk.remove(self._path)

    def settle(self) -> None:
        """Make the file whole; an empty one is created, too."""
        self.hand_over()
        if not self.size:
            self._disk.append(self._path)
        self._disk.check(self._path, self.size)

    def discard(self) -> None:
        """Ignore all further data: pyarrow's writers write the end of a file even when they are discarded."""
        self._discarded = True
        self._block = bytearray()

    @override
    def close(self) -> None:
        """Do nothing: pyarrow calls it, but the owner calls `finish`."""

    @override
    def writable(self) -> bool:
        return True

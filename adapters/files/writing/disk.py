"""The local file system: every operation that writing does on it goes through `Disk`.

No file is kept open between two operations: what is written is collected in blocks, and a block is appended by opening
the file, writing and closing it. So the number of targets under way is not bounded by the system's limit on open
files, and nothing is left open by whatever goes wrong. Files that grow are synced before they are renamed.

No file is opened through a link. A folder may be held: what is in it is then reached by the folder's descriptor, and
stays the same whatever somebody else puts in the place of its name.
"""

import errno
import os
import re
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from typing_extensions import Buffer

BLOCK = 1 << 20

PART: Final = re.compile(r"[0-9]+\.part")
"""The names of files under way."""


_HOLDS: Final = {os.open, os.mkdir, os.rmdir, os.rename, os.stat, os.unlink} <= os.supports_dir_fd
"""Whether the system reaches what is in a folder by its descriptor; Windows does not."""


class Disk:
    """Operations on local files; all of them block, and raise OSError."""

    def __init__(self) -> None:
        self._held: dict[Path, int] = {}

    def _at(self, path: Path) -> tuple[Path | str, int | None]:
        """A path's name, and the folder that it is looked up in."""
        folder = self._held.get(path.parent)
        return (path, None) if folder is None else (path.name, folder)

    # ---- the single steps

    def open(self, path: Path, flags: int) -> int:
        """Open a file, or a folder, that is no link; the caller closes it."""
        name, folder = self._at(path)
        flags |= getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        return os.open(name, flags, 0o666, dir_fd=folder)

    def write(self, file: int, data: memoryview) -> int:
        """Write as much as goes at once."""
        return os.write(file, data)

    def sync(self, file: int) -> None:
        """Wait until it is on the disk."""
        os.fsync(file)

    def close(self, file: int) -> None:
        """Close what was opened."""
        os.close(file)

    def lock(self, file: int) -> None:
        """Lock a file until it is closed, or raise BlockingIOError; without flock (Windows) nobody is kept out."""
        if os.name == "posix":
            fcntl: Any = import_module("fcntl")
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def rename(self, old: Path, new: Path) -> None:
        """Put a file where another one may be, at once."""
        (name, folder), (new_name, new_folder) = self._at(old), self._at(new)
        os.replace(name, new_name, src_dir_fd=folder, dst_dir_fd=new_folder)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        name, folder = self._at(path)
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=folder)

    def make_folder(self, path: Path) -> None:
        """Make one folder, if it is not there."""
        name, folder = self._at(path)
        try:
            os.mkdir(name, dir_fd=folder)
        except FileExistsError:
            if not path.is_dir():
                raise

    def make_private(self, path: Path) -> None:
        """Make one folder that is closed to others.

        Raises:
            FileExistsError: something has its name.
        """
        name, folder = self._at(path)
        os.mkdir(name, 0o700, dir_fd=folder)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        name, folder = self._at(path)
        os.rmdir(name, dir_fd=folder)

    def listing(self, folder: Path) -> list[Path]:
        """The names in a folder."""
        return [folder / name for name in os.listdir(self._held.get(folder, folder))]  # noqa: PTH208 - of a descriptor

    def look(self, path: Path) -> os.stat_result:
        """The status of what is there: of a link itself, and not of where it leads."""
        name, folder = self._at(path)
        return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def shorten(self, file: int, size: int) -> None:
        """Cut a file off."""
        os.ftruncate(file, size)

    def read(self, file: int, offset: int, size: int) -> bytes:
        """A part of a file."""
        os.lseek(file, offset, os.SEEK_SET)
        return os.read(file, size)

    # ---- what is made of them

    def append(self, path: Path, *data: Buffer) -> None:
        """Write at the end of a file, which is made if it is not there."""
        with self.opened(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND) as file:
            self.put(file, path, *data)

    def put(self, file: int, path: Path, *data: Buffer) -> None:
        """Write all of it to an open file."""
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
        """A file, for some operations."""
        file = self.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(file).st_mode):
                raise OSError(errno.EEXIST, "is no file", str(path))
            yield file
        finally:
            self.close(file)

    def part_of(self, path: Path, offset: int, size: int) -> bytes:
        """A part of a file, shorter only at its end."""
        data = bytearray()
        with self.opened(path, os.O_RDONLY) as file:
            while len(data) < size and (more := self.read(file, offset + len(data), size - len(data))):
                data += more
        return bytes(data)

    def cut(self, path: Path, size: int) -> None:
        """Cut a file off."""
        with self.opened(path, os.O_WRONLY) as file:
            self.shorten(file, size)

    def copy(self, old: Path, new: Path) -> None:
        """Append one file to another."""
        offset = 0
        while data := self.part_of(old, offset, 4 * BLOCK):
            self.append(new, data)
            offset += len(data)

    def size(self, path: Path) -> int:
        """The length of a file."""
        return self.look(path).st_size

    def flush(self, path: Path) -> None:
        """Wait until a file's content, or a folder's names, are on the disk."""
        if path in self._held:
            self.sync(self._held[path])
            return
        file = self.open(path, os.O_RDONLY)
        try:
            self.sync(file)
        finally:
            self.close(file)

    def folders(self, path: Path, *, durable: bool) -> None:
        """Make a folder and those above it, so that they survive a power cut."""
        missing = [path]
        while not missing[-1].is_dir() and missing[-1].parent != missing[-1]:
            missing.append(missing[-1].parent)
        while len(missing) > 1:
            above = missing.pop()
            self.make_folder(missing[-1])
            if durable:
                self.flush(above.resolve())

    @contextmanager
    def held(self, folder: Path, *, link: bool = False) -> Generator[os.stat_result]:
        """Reach what is in a folder by its descriptor; what it is. Only if said so may it be a `link`.

        Raises:
            NotADirectoryError: it is none.
        """
        path = folder.resolve() if link else folder
        file = self.open(path, os.O_RDONLY | os.O_DIRECTORY) if _HOLDS else None
        try:
            if file is not None:
                self._held[folder] = file
            yield self.look(path) if file is None else os.fstat(file)
        finally:
            if file is not None:
                del self._held[folder]
                self.close(file)

    @contextmanager
    def inside(self, root: Path, folder: Path, *, durable: bool) -> Generator[None]:
        """Hold a folder that is `root` or below it; what is not there is made, and nothing below `root` is a link.

        Raises:
            NotADirectoryError: something is.
        """
        self.folders(root, durable=durable)
        with ExitStack() as holding:
            holding.enter_context(self.held(root, link=True))
            for name in folder.relative_to(root).parts:
                above, root = root, root / name
                try:
                    holding.enter_context(self.held(root))
                except FileNotFoundError:
                    self.make_folder(root)
                    if durable:
                        self.flush(above)
                    holding.enter_context(self.held(root))
            yield


class Out:
    """A growing file as encoders want it: `write` collects, a block at a time goes to the file."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self._path = path
        self._block = bytearray()
        self._discarded = False
        self.closed = False
        self.size = 0

    def write(self, data: Buffer) -> int:
        """Append."""
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
        """Keep nothing back."""
        if self._block:
            self._disk.append(self._path, self._block)
            self._block = bytearray()

    def finish(self) -> None:
        """Hand over what is left; an empty file is a file, too."""
        self.hand_over()
        if not self.size:
            self._disk.append(self._path)

    def discard(self) -> None:
        """Take nothing any more: pyarrow's writers write what ends a file even when they are thrown away."""
        self._discarded = True
        self._block = bytearray()

    def flush(self) -> None:
        """Do nothing: pyarrow says it after each row group."""

    def close(self) -> None:
        """Do nothing: pyarrow says it, and whoever made this calls `finish`."""

    def writable(self) -> bool:
        """Whether it can be written to, as files say it."""
        return True

"""The local file system: every operation that writing does on it goes through `Place`.

No file is kept open between two operations: what is written is collected in blocks, and a block is appended by opening
the file, writing and closing it. So the number of targets under way is not bounded by the system's limit on open
files, and nothing is left open by whatever goes wrong. Files that grow are synced before they are renamed.
"""

import os
from importlib import import_module
from pathlib import Path
from typing import Any

from typing_extensions import Buffer

BLOCK = 1 << 20


class Place:
    """Operations on local files; all of them block, and raise OSError."""

    # ---- the single steps

    def open(self, path: Path, flags: int) -> int:
        """Open a file; the caller closes it."""
        return os.open(path, flags | getattr(os, "O_BINARY", 0), 0o666)

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
        old.replace(new)

    def remove(self, path: Path) -> None:
        """Remove a file, if it is there."""
        path.unlink(missing_ok=True)

    def make_folder(self, path: Path) -> None:
        """Make one folder, if it is not there."""
        path.mkdir(exist_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        path.rmdir()

    def listing(self, folder: Path) -> list[Path]:
        """What is in a folder."""
        return list(folder.iterdir())

    def size(self, path: Path) -> int:
        """How long a file is."""
        return path.stat().st_size

    def shorten(self, path: Path, size: int) -> None:
        """Cut a file off."""
        os.truncate(path, size)

    def read(self, path: Path, offset: int, size: int) -> bytes:
        """A part of a file."""
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(size)

    # ---- what is made of them

    def append(self, path: Path, *data: Buffer, anew: bool = False) -> None:
        """Write at the end of a file, which is made if it is not there; or write it `anew`."""
        file = self.open(path, os.O_WRONLY | os.O_CREAT | (os.O_TRUNC if anew else os.O_APPEND))
        try:
            for piece in data:
                rest = memoryview(piece).cast("B")
                while rest:
                    rest = rest[self.write(file, rest) :]
        except OSError as exc:
            exc.filename = exc.filename or str(path)
            raise
        finally:
            self.close(file)

    def flush(self, path: Path) -> None:
        """Wait until a file's content, or a folder's names, are on the disk."""
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
                self.flush(above)

    def copy(self, old: Path, new: Path) -> None:
        """Append one file to another."""
        offset = 0
        while data := self.read(old, offset, 4 * BLOCK):
            self.append(new, data)
            offset += len(data)


class Out:
    """A growing file as encoders want it: `write` collects, a block at a time goes to the file."""

    def __init__(self, place: Place, path: Path) -> None:
        self._place = place
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
            self._place.append(self._path, self._block, view)
            self._block = bytearray()
        self.size += len(view)
        return len(view)

    def hand_over(self) -> None:
        """Keep nothing back."""
        if self._block:
            self._place.append(self._path, self._block)
            self._block = bytearray()

    def finish(self) -> None:
        """Hand over what is left; an empty file is a file, too."""
        self.hand_over()
        if not self.size:
            self._place.append(self._path)

    def discard(self) -> None:
        """Take nothing any more: pyarrow's writers write what ends a file even when they are thrown away."""
        self._discarded = True
        self._block = bytearray()

    def flush(self) -> None:
        """Do nothing: pyarrow says it after each row group."""

    def close(self) -> None:
        """Do nothing: pyarrow says it, and whoever made this calls `finish`."""

    def writable(self) -> bool:
        """As files say it."""
        return True

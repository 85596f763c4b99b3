"""The folder where the files of a run are made: locked while it works there, emptied by the next one.

Others may write to the folder that it is in: `/tmp`, or one that is shared. So nobody can know its name beforehand, it
is closed to others, and what is in it is reached by its descriptor. A dead run's is known by its name, which follows
from the target; by being its user's, closed to others, and no link; and by the lock in it, which nobody holds any
more. Of what is in such a folder only files that are called like those of a run are removed.
"""

import hashlib
import os
import secrets
import stat
import tempfile
from contextlib import ExitStack
from errno import EACCES, EEXIST, ELOOP, ENOENT, ENOTDIR, ENOTEMPTY, EPERM
from pathlib import Path
from time import monotonic, sleep
from typing import Final, Literal

from .disk import PART, Disk
from .errors import FileBusyError
from .target import Target

LOCK: Final = "pullstream.lock"

_NOT_OURS: Final = frozenset({ENOENT, ENOTDIR, EEXIST, ELOOP, EACCES, EPERM})
"""The system's errors for a folder that is gone, is another's or is none at all."""

PATIENCE: Final = 5.0
"""Seconds that a run which has just begun may look around before it is taken for one at work."""


class StagingFolder:
    """`.pullstream-…` in the target's folder (of a URL, in the system's folder for temporaries).

    The lock is the system's (flock), and is let go when the process dies, however it does.
    """

    def __init__(self, disk: Disk, target: Target, *, durable: bool) -> None:
        self._disk = disk
        self._target = target
        self._durable = durable
        self._root = Path(tempfile.gettempdir()) if target.is_url else Path(target.root)
        rest = target.template if target.is_url else target.template.removeprefix(target.root)
        digest = hashlib.sha256(rest.encode(errors="surrogatepass")).hexdigest()[:12]
        self.name = f".pullstream-{digest}"
        """The beginning of the names of all such folders for this target."""
        self._holding = ExitStack()
        self._begins = 0
        self.folds = False
        """Whether the file system takes names for the same that differ in the case of letters."""
        self.folder: Path
        self._made: os.stat_result | None = None

    def open(self) -> None:
        """Become the only one of this user's who works here, and remove what dead runs have left.

        Raises:
            FileBusyError: somebody works here.
        """
        self._disk.folders(self._root, durable=self._durable)
        try:
            while (lock := self._begun()) is None:
                self._holding.close()
            for other in sorted(self._disk.listing(self._root)):
                if other.name.startswith(f"{self.name}-") and other != self.folder:
                    self._give_way(other)
            self.folds = self._is_there(self.folder / LOCK.upper())
            # Whoever comes now will see that this one has looked around.
            self._disk.put(lock, self.folder / LOCK, b"\n")
        except BaseException:
            self.close()
            raise

    def _begun(self) -> int | None:
        """The lock in a new folder; None if another run has taken it for what a dead one left."""
        disk = self._disk
        self.folder = self._root / f"{self.name}-{secrets.token_hex(8)}"
        try:
            disk.make_private(self.folder)
            self._made = self._holding.enter_context(disk.held(self.folder))
            lock = disk.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            self._holding.callback(disk.close, lock)
            disk.lock(lock)
            return lock if disk.look(self.folder / LOCK).st_ino == os.fstat(lock).st_ino else None
        except (FileNotFoundError, FileExistsError, BlockingIOError):
            return None

    def _give_way(self, other: Path) -> None:
        """Empty what is dead, and leave to others what is alive: of two that begin at once one goes on."""
        until = monotonic() + PATIENCE
        while (state := self._state(other)) is not None:
            if state == "at work" or other < self.folder or monotonic() > until:
                raise FileBusyError(
                    f"{self._target.module}: another run, or another sink of this one, is writing to "
                    f"{self._target.template!r}: wait for it, or write somewhere else",
                )
            sleep(0.01)

    def _state(self, other: Path) -> Literal["begins", "at work"] | None:
        """The state of a run there; None if it is dead, and all it left removed, or if no run of this user made it."""
        try:
            with self._disk.held(other) as status:
                if not self._alike(status):
                    return None
                try:
                    with self._disk.opened(other / LOCK, os.O_RDWR) as lock:
                        try:
                            self._disk.lock(lock)
                        except BlockingIOError:
                            return "at work" if os.fstat(lock).st_size else "begins"
                        self._empty(other)
                except FileNotFoundError:
                    # It was killed before it had a lock, or has not got one yet, and will begin again.
                    pass
        except OSError as exc:
            if exc.errno not in _NOT_OURS:
                raise
            return None
        self._leave(other)
        return None

    def _alike(self, made: os.stat_result) -> bool:
        """Whether a folder is whose this one is, and as closed to others."""
        mine = self._made
        return mine is not None and (made.st_uid, made.st_mode & 0o777) == (mine.st_uid, mine.st_mode & 0o777)

    def _empty(self, folder: Path) -> None:
        """Remove what a run has made, which is locked, and the lock in the end."""
        for path in self._disk.listing(folder):
            if PART.fullmatch(path.name) and stat.S_ISREG(self._disk.look(path).st_mode):
                self._disk.remove(path)
        # While it is locked: whoever has it open already will find that it is gone, and make another.
        self._disk.remove(folder / LOCK)

    def _is_there(self, path: Path) -> bool:
        try:
            self._disk.look(path)
        except FileNotFoundError:
            return False
        return True

    def _leave(self, folder: Path) -> None:
        try:
            self._disk.remove_folder(folder)
        except OSError as exc:
            # Then there is something in it that is not ours, or it is gone.
            if exc.errno not in {ENOTEMPTY, EEXIST, ENOENT, ENOTDIR}:
                raise

    def part(self) -> Path:
        """A place for a file under way."""
        self._begins += 1
        return self.folder / f"{self._begins}.part"

    def close(self) -> None:
        """Leave nothing behind, and let go of the lock."""
        if self._made is None:
            return
        self._made = None
        try:
            self._empty(self.folder)
        finally:
            self._holding.close()
        self._leave(self.folder)

"""The folder where a run makes its files: locked while the run works, and emptied by the next run.

Its parent may be writable for other users, such as `/tmp`. So its name is unpredictable, other users cannot access it,
and its files are reached by its descriptor. A dead run's folder is recognized by its name, which derives from the
target; by its owner and permissions; by not being a link; and by its lock, which no process holds. Only files whose
names fit those of a run are removed from it.
"""

import hashlib
import os
import secrets
import stat
import tempfile
from contextlib import ExitStack, suppress
from errno import EACCES, EEXIST, ELOOP, ENOENT, ENOTDIR, ENOTEMPTY, EPERM
from itertools import count
from pathlib import Path
from time import monotonic, sleep
from typing import Final, Literal

from .disk import PART, Disk
from .refusals import FileBusyError
from .target import Target

LOCK: Final = "pullstream.lock"

_NOT_OURS: Final = frozenset({ENOENT, ENOTDIR, EEXIST, ELOOP, EACCES, EPERM})
"""The system's errors for a folder that is gone, belongs to another user or is not a folder."""

PATIENCE: Final = 5.0
"""The seconds a starting run may take before others count it as working."""


class StagingFolder:
    """`.pullstream-…` in the target's folder (for a URL, in the system's temporary folder).

    The lock is the system's (flock), which releases it when the process ends for any reason.
    """

    def __init__(self, disk: Disk, target: Target) -> None:
        self._disk = disk
        self._target = target
        self._root = Path(tempfile.gettempdir()) if target.is_url else Path(target.root)
        rest = target.template if target.is_url else target.template.removeprefix(target.root)
        digest = hashlib.sha256(rest.encode(errors="surrogatepass")).hexdigest()[:12]
        self.name = f".pullstream-{digest}"
        """The common name prefix of all such folders for this target."""
        self._holding = ExitStack()
        self._numbers = count(1)  # two threads may take numbers at once
        self.folds = False
        """Whether the file system ignores the case of letters in names."""
        self.folder: Path
        self._made: os.stat_result | None = None

    def open(self) -> None:
        """Become this user's only run that writes there, or raise `FileBusyError`; remove leftovers of dead runs."""
        self._disk.folders(self._root)
        try:
            while (lock := self._begun()) is None:
                self._holding.close()
            for other in sorted(self._disk.listing(self._root)):
                if other.name.startswith(f"{self.name}-") and other != self.folder:
                    self._give_way(other)
            with suppress(FileNotFoundError):
                self._disk.look(self.folder / LOCK.upper())
                self.folds = True
            # From here on, other runs see this one as working.
            self._disk.put(lock, self.folder / LOCK, b"\n")
        except BaseException:
            self.close()
            raise

    def _begun(self) -> int | None:
        """The lock in a new folder; None if another run removed the folder as a leftover."""
        disk = self._disk
        self.folder = self._root / f"{self.name}-{secrets.token_hex(8)}"
        try:
            disk.make_private(self.folder)
        except FileExistsError:
            return None
        try:
            self._made = self._holding.enter_context(disk.held(self.folder))
            lock = disk.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            self._holding.callback(disk.close, lock)
            disk.lock(lock)
            return lock if disk.look(self.folder / LOCK).st_ino == os.fstat(lock).st_ino else None
        except (FileNotFoundError, BlockingIOError):
            return None

    def _give_way(self, other: Path) -> None:
        """Empty a dead run's folder, and yield to a live one: if two runs start at once, one continues."""
        until = monotonic() + PATIENCE
        while (state := self._state(other)) is not None:
            if state == "at work" or other < self.folder or monotonic() > until:
                raise FileBusyError(
                    f"{self._target.module}: another run, or another sink of this one, is writing to "
                    f"{self._target.template!r}: wait until it ends, or write somewhere else"
                )
            sleep(0.01)

    def _state(self, other: Path) -> Literal["begins", "at work"] | None:
        """The state of a folder's run; None if it is not this user's, or was dead and is now removed."""
        try:
            with self._disk.held(other) as status:
                mine = self._made
                # A run's folder has the same owner and permissions as this one.
                if mine is None or (status.st_uid, status.st_mode & 0o777) != (mine.st_uid, mine.st_mode & 0o777):
                    return None
                # A run without a lock was killed before it had one, or has not locked yet and will start over.
                with suppress(FileNotFoundError), self._disk.opened(other / LOCK, os.O_RDWR) as lock:
                    try:
                        self._disk.lock(lock)
                    except BlockingIOError:
                        return "at work" if os.fstat(lock).st_size else "begins"
                    self._empty(other)
        except OSError as exc:
            if exc.errno not in _NOT_OURS:
                raise
            return None
        self._leave(other)
        return None

    def _empty(self, folder: Path) -> None:
        """Remove the files of a run whose lock is held, and finally the lock."""
        for path in self._disk.listing(folder):
            if PART.fullmatch(path.name) and stat.S_ISREG(self._disk.look(path).st_mode):
                self._disk.remove(path)
        # Remove it while locked: a run that has it open will notice and make another folder.
        self._disk.remove(folder / LOCK)

    def _leave(self, folder: Path) -> None:
        try:
            self._disk.remove_folder(folder)
        except OSError as exc:
            # The folder contains something else, or is gone.
            if exc.errno not in {ENOTEMPTY, EEXIST, ENOENT, ENOTDIR}:
                raise

    def part(self) -> Path:
        """A new path for an unfinished file."""
        return self.folder / f"{next(self._numbers)}.part"

    def close(self) -> None:
        """Remove the folder, and release the lock."""
        if self._made is None:
            return
        self._made = None
        try:
            self._empty(self.folder)
        finally:
            self._holding.close()
        self._leave(self.folder)

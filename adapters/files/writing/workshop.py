"""The folder where the files of a run are made: locked while it works there, emptied by the next one."""

import errno
import getpass
import hashlib
import os
import tempfile
from pathlib import Path

from adapters.files.writing.errors import FileBusyError
from adapters.files.writing.place import Place
from adapters.files.writing.target import Target


class Workshop:
    """`.pullstream-…` in the target's folder (of a URL, in the system's folder for temporaries).

    Its name follows from the target, so that a run finds what a dead one has left, and removes it. The lock is the
    system's (flock), and is let go when the process dies, however it does.
    """

    def __init__(self, place: Place, target: Target, *, durable: bool) -> None:
        self._place = place
        self._target = target
        self._durable = durable
        self._lock: int | None = None
        self._made = 0
        if target.is_url:
            digest = hashlib.sha256(target.template.encode()).hexdigest()[:12]
            self._root = Path(tempfile.gettempdir())
            self.folder = self._root / f"pullstream-{getpass.getuser()}-{digest}"
        else:
            rest = target.template.removeprefix(target.root)
            digest = hashlib.sha256(rest.encode()).hexdigest()[:12]
            self._root = Path(target.root)
            self.folder = self._root / f".pullstream-{digest}"

    def open(self) -> None:
        """Take the lock, and remove what a dead run has left.

        Raises:
            FileBusyError: somebody works here.
        """
        self._place.folders(self._root, durable=self._durable)
        while not self._locked():
            pass
        for path in self._place.listing(self.folder):
            if path.name != "lock":
                self._place.remove(path)

    def _locked(self) -> bool:
        """Whether the lock is ours; not if whoever had it has just taken the folder away."""
        self._place.make_folder(self.folder)
        path = self.folder / "lock"
        try:
            file = self._place.open(path, os.O_RDWR | os.O_CREAT)
        except FileNotFoundError:
            return False
        try:
            self._place.lock(file)
            if os.fstat(file).st_ino == path.stat().st_ino:
                self._lock = file
        except FileNotFoundError:
            pass
        except BlockingIOError:
            raise FileBusyError(
                f"{self._target.module}: another run, or another sink of this one, is writing to "
                f"{self._target.template!r}: wait for it, or write somewhere else",
            ) from None
        finally:
            if self._lock is None:
                self._place.close(file)
        return self._lock is not None

    def part(self) -> Path:
        """A place for a file under way."""
        self._made += 1
        return self.folder / f"{self._made}.part"

    def close(self) -> None:
        """Leave nothing behind, and let go of the lock."""
        if self._lock is None:
            return
        file, self._lock = self._lock, None
        try:
            for path in self._place.listing(self.folder):
                if path.name != "lock":
                    self._place.remove(path)
            # While it is locked: whoever has it open already will find that it is gone, and make another.
            self._place.remove(self.folder / "lock")
        finally:
            self._place.close(file)
        try:
            self._place.remove_folder(self.folder)
        except OSError as exc:
            if exc.errno not in {errno.ENOTEMPTY, errno.ENOENT}:  # then the next run is there already
                raise

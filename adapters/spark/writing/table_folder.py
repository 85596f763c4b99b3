"""Folders of a table that appear as a whole: written separately, and renamed into place, by Spark's own file system.

Everything that is not in place yet is in the hidden folder `.pullstream` of the table, which Spark and pyarrow skip:
`new-…` contains new partitions, and `old-…` replaced ones, until the new ones are in place.
"""

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from pullstream import PullstreamError

from ...files.writing.errors import FileBusyError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HIDDEN = ".pullstream"


_busy: set[str] = set()
_lock = threading.Lock()


class TableTargetError(PullstreamError):
    """A table's folder cannot be written, or a time cannot be the name of one."""


def claim(name: str) -> None:
    """Claim a table within this program; a second claim is refused."""
    with _lock:
        if name in _busy:
            raise FileBusyError(
                f"write_table: another run, or another sink of this run, is writing to {name!r}: wait until it ends, "
                f"or write somewhere else"
            )
        _busy.add(name)


def release(name: str) -> None:
    """Release the claim."""
    with _lock:
        _busy.remove(name)


class TableFolder:
    """A table's folder in any file system that Spark supports."""

    def __init__(self, session: "SparkSession", path: str) -> None:
        context: Any = session.sparkContext
        # Spark's file systems are accessible only through Java.
        self._path_of = context._jvm.org.apache.hadoop.fs.Path  # noqa: SLF001
        self._root = self._path_of(path)
        self._files = self._root.getFileSystem(context._jsc.hadoopConfiguration())  # noqa: SLF001
        self._root = self._files.makeQualified(self._root)
        self.name: str = self._root.toString()

    def mend(self) -> None:
        """Restore folders that a killed run had moved away, and remove its leftovers."""
        hidden = self._path_of(self._root, HIDDEN)
        for left in self._folders(hidden):
            if left.getName().startswith("old-"):
                for folder in self._folders(left):
                    place = self._path_of(self._root, folder.getName())
                    if not self._files.exists(place):
                        self._rename(folder, place)
        self._files.delete(hidden, True)  # noqa: FBT003 - Java's

    def new_folder(self) -> str:
        """The path of a new hidden folder for writing."""
        return str(self._path_of(self._root, f"{HIDDEN}/new-{uuid4().hex}").toString())

    def publish(self, new: str) -> None:
        """Move every folder of `new` into place, replacing existing ones; each appears as a whole or not at all.

        Raises:
            TableTargetError: one cannot be moved; the existing folder was restored.
        """
        old = self._path_of(self._root, f"{HIDDEN}/old-{uuid4().hex}")
        for folder in self._folders(self._path_of(new)):
            place = self._path_of(self._root, folder.getName())
            before = self._path_of(old, folder.getName())
            replaced: bool = self._files.exists(place)
            if replaced:
                self._files.mkdirs(old)
                self._rename(place, before)
            try:
                self._rename(folder, place)
            except BaseException:
                # If a rename copies, a part may already be there.
                self._files.delete(place, True)  # noqa: FBT003
                if replaced:
                    self._rename(before, place)
                self._files.delete(old, True)  # noqa: FBT003
                raise
        self._files.delete(old, True)  # noqa: FBT003
        self.discard(new)

    def discard(self, new: str) -> None:
        """Remove a written folder, and the hidden folder if no one else uses it."""
        self._files.delete(self._path_of(new), True)  # noqa: FBT003
        hidden = self._path_of(self._root, HIDDEN)
        if self._files.exists(hidden) and not len(self._files.listStatus(hidden)):
            self._files.delete(hidden, False)  # noqa: FBT003

    def _rename(self, source: Any, target: Any) -> None:
        if not self._files.rename(source, target):
            raise TableTargetError(f"{source.toString()} could not be renamed to {target.toString()}")

    def _folders(self, path: Any) -> Iterator[Any]:
        if self._files.exists(path):
            for status in self._files.listStatus(path):
                if status.isDirectory():
                    yield status.getPath()

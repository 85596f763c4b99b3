"""The contents of a journal, and their representation as records of its file.

A record has the changes since the previous one. When the file is larger than `SLACK` times its current contents, it is
rewritten with only those. The file is therefore never larger than that, or than `SMALL`.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import attrs

from pullstream.blueprint import Site
from pullstream.errors import CompositionError, JournalError
from pullstream.journal.log import JournalLog
from pullstream.resuming.memory import apply

SLACK: Final = 4

SMALL: Final = 1 << 20

CHUNK: Final = 1 << 16
"""The approximate size in bytes of a record of notes when a file is rewritten."""


@attrs.frozen
class Journal:
    """A journal with options: `run(pipeline, journal=Journal(path, version="2"))`.

    `version` replaces the comparison of the program's functions. With the same version, a run continues even if the
    functions have changed; with another version it is refused. Use it when functions refer to objects that cannot be
    compared (connections, locks), or when you have fixed a function and the completed results are still right. You may
    add a version to an existing journal: the next run that completes a time stores it.

    `secret`, bytes or text, signs the records of the file (HMAC). Only records written with the secret are then read.
    It does not keep anyone from reading the file, or from restoring an older state of it.

    >>> import pullstream as ps
    >>> ps.Journal("night.journal", version="2")
    Journal('night.journal', version='2')
    """

    path: "str | PathLike[str]"
    version: str | None = attrs.field(default=None, kw_only=True)
    secret: str | bytes | None = attrs.field(default=None, kw_only=True, repr=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.path, (str, PathLike)) or isinstance(fspath(self.path), bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompositionError(
                f"journal= at {Site.here()} needs the path of a file or a Journal, but got {self.path!r}"
            )
        if not (self.version is None or isinstance(self.version, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompositionError(f"Journal(version=...) must be text, such as '2', but got {self.version!r}")
        if self.secret is not None and (not isinstance(self.secret, (str, bytes)) or not self.secret):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompositionError("Journal(secret=...) must be text or bytes, and not empty")

    def __repr__(self) -> str:
        version = "" if self.version is None else f", version={self.version!r}"
        return f"Journal({fspath(self.path)!r}{version}{'' if self.secret is None else ', secret=...'})"

    @classmethod
    def of(cls, given: "str | PathLike[str] | Journal") -> "Journal":
        """Return the journal that was given as `journal=`: a path or a journal; anything else is refused."""
        return given if isinstance(given, Journal) else cls(given)

    @property
    def key(self) -> bytes | None:
        """The secret as bytes."""
        return self.secret.encode() if isinstance(self.secret, str) else self.secret


@attrs.define
class SinkState:
    """The state of one sink."""

    frontiers: bytes
    result: bytes | None = None
    """The sink's pickled result, if it has finished."""


@attrs.frozen
class Record:
    """Changes that are written together, all or nothing; several records, added up, are the contents of a journal."""

    sinks: dict[int, SinkState] = attrs.field(factory=dict[int, SinkState])
    memory: dict[int, dict[bytes, Any]] = attrs.field(factory=dict[int, dict[bytes, Any]])
    ledger: dict[int, dict[bytes, Any]] = attrs.field(factory=dict[int, dict[bytes, Any]])
    about: dict[str, bytes] = attrs.field(factory=dict[str, bytes])
    notes: dict[int, list[bytes]] = attrs.field(factory=dict[int, list[bytes]])

    def __bool__(self) -> bool:
        return bool(self.sinks or self.memory or self.ledger or self.notes or self.about)

    def packed(self, *, notes: bool = True) -> bytes:
        """Return the record as bytes."""
        sinks = {node: (entry.frontiers, entry.result) for node, entry in self.sinks.items()}
        return pickle.dumps((self.about, sinks, self.memory, self.ledger, self.notes if notes else {}), 5)

    @classmethod
    def unpacked(cls, data: bytes) -> "Record":
        """Return the record of bytes from `packed`."""
        about, sinks, memory, ledger, notes = pickle.loads(data)  # noqa: S301 - its digest has been checked
        return cls({node: SinkState(*entry) for node, entry in sinks.items()}, memory, ledger, about, notes)

    def add(self, record: "Record", *, notes: bool = True) -> None:
        """Apply another record to this one, which is the sum of all before it."""
        self.about.update(record.about)
        self.sinks.update(record.sinks)
        for here, changed in ((self.memory, record.memory), (self.ledger, record.ledger)):
            for node, changes in changed.items():
                apply(changes, here.setdefault(node, {}))
        for node, some in record.notes.items() if notes else ():
            self.notes.setdefault(node, []).extend(some)


class JournalStore:
    """An open, locked journal. Any thread may use it, but only one at a time."""

    def __init__(self, path: Path, secret: bytes | None = None) -> None:
        self.path = path
        self._log = JournalLog(path, secret)
        self._holds = 0
        """The approximate number of bytes of the current contents."""

    def contents(self) -> Record:
        """Read the journal's contents, or raise `JournalError` if it is damaged. Call this first."""
        contents = Record()
        try:
            for data in self._log.records():
                contents.add(Record.unpacked(data))
            self._log.tidy()
        except OSError as exc:
            raise self._log.error_for(exc) from exc
        self._holds = len(contents.packed(notes=False)) + _size(contents.notes)
        return contents

    def write(self, record: Record) -> None:
        """Write a record to the disk, completely or, with a `JournalError`, not at all."""
        log = self._log
        try:
            log.append(record.packed())
            self._holds += _size(record.notes)
            if log.size > max(SMALL, SLACK * self._holds):
                log.replace(self._shortened())
                self._holds = log.size
        except OSError as exc:
            raise JournalError(
                f"the journal {self.path} could not be written ({exc}): its contents are intact, and the next run with "
                f"it resumes from there"
            ) from exc

    def _shortened(self) -> Iterator[bytes]:
        """Yield records equal to the whole file: the current contents, then all notes, in parts to save memory."""
        contents = Record()
        for data in self._log.records():
            contents.add(Record.unpacked(data), notes=False)
        yield contents.packed()
        del contents
        waiting: dict[int, list[bytes]] = {}
        for data in self._log.records():
            for node, notes in Record.unpacked(data).notes.items():
                waiting.setdefault(node, []).extend(notes)
            if _size(waiting) > CHUNK:
                yield Record(notes=waiting).packed()
                waiting = {}
        if waiting:
            yield Record(notes=waiting).packed()

    def close(self) -> None:
        """Close the file."""
        self._log.close()


def _size(notes: Mapping[int, Sequence[bytes]]) -> int:
    return sum(len(note) for some in notes.values() for note in some)


def unpickled(data: bytes, path: Path) -> Any:
    """Load a value that was pickled into a journal; raises `JournalError` if that is no longer possible."""
    try:
        return pickle.loads(data)  # noqa: S301 - the user's own file, trusted like the program
    except Exception as exc:
        raise JournalError(
            f"the journal {path} contains a value that can no longer be loaded ({type(exc).__name__}: {exc}): has the "
            f"program that wrote it changed?"
        ) from exc

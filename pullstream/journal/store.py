"""Contents of a journal, and how they become records of its file.

A record says what has changed since the one before. When the changes have outgrown what holds by `SLACK` times, the
file is written anew with what holds: so it has at most that many times the size, or `SMALL`.
"""

import pickle
from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Final

import attrs

from pullstream.engine.sidecar.memory import Changes
from pullstream.errors import CompositionError, JournalError
from pullstream.journal.log import Log

SLACK: Final = 4

SMALL: Final = 1 << 20

CHUNK: Final = 1 << 16
"""About so many bytes of notes are one record when a file is written anew."""


@attrs.frozen
class Journal:
    """A journal of which more is to be said than its path: `run(pipeline, journal=Journal(path, version="2"))`.

    `version` is what you say of the program, in place of the comparison of its functions: with the same version a run
    goes on, however the functions have changed meanwhile; with another one it is refused. Say it where functions
    hold on to what cannot be compared (connections, locks), or where one has been mended, and what it completed was
    right. What a journal has not been told yet it is told by the next run that completes a time.

    `secret`, bytes or text, makes the digests of the file's records keyed ones (HMAC), so that nothing is read from it
    that was not written by somebody who knows the secret. It keeps nobody from reading it, or from putting back an
    older state of it.

    >>> import pullstream as ps
    >>> ps.Journal("night.journal", version="2")
    Journal('night.journal', version='2')
    """

    path: "str | PathLike[str]"
    version: str | None = attrs.field(default=None, kw_only=True)
    secret: str | bytes | None = attrs.field(default=None, kw_only=True, repr=False)

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.path, (str, PathLike)) or isinstance(fspath(self.path), bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompositionError(f"journal= is the path of a file, or a Journal, and got {self.path!r}")
        if not (self.version is None or isinstance(self.version, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompositionError(f"Journal(version=...) is text, such as '2', and got {self.version!r}")
        if self.secret is not None and (not isinstance(self.secret, (str, bytes)) or not self.secret):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise CompositionError("Journal(secret=...) is text or bytes, and not empty")

    def __repr__(self) -> str:
        version = "" if self.version is None else f", version={self.version!r}"
        return f"Journal({fspath(self.path)!r}{version}{'' if self.secret is None else ', secret=...'})"

    @classmethod
    def of(cls, given: "str | PathLike[str] | Journal") -> "Journal":
        """The journal that was given as `journal=`.

        Raises:
            CompositionError: it is none.
        """
        return given if isinstance(given, Journal) else cls(given)

    @property
    def key(self) -> bytes | None:
        """The secret's bytes."""
        return self.secret.encode() if isinstance(self.secret, str) else self.secret


@attrs.define
class Entry:
    """A record of one sink."""

    frontiers: bytes
    result: bytes | None = None
    """The sink's result, pickled, if it came to its end."""


Notes = Sequence[bytes]


@attrs.frozen
class Record:
    """A record of all that is written at once."""

    sinks: Mapping[int, Entry]
    memory: Mapping[int, Changes]
    ledger: Mapping[int, Changes]
    about: Mapping[str, bytes] = {}
    notes: Mapping[int, Notes] = {}

    def __bool__(self) -> bool:
        return bool(self.sinks or self.memory or self.ledger or self.notes or self.about)

    def packed(self) -> bytes:
        """Bytes of it."""
        sinks = {node: (entry.frontiers, entry.result) for node, entry in self.sinks.items()}
        return pickle.dumps((dict(self.about), sinks, dict(self.memory), dict(self.ledger), dict(self.notes)), 5)

    @classmethod
    def unpacked(cls, data: bytes) -> "Record":
        """The record of such bytes."""
        about, sinks, memory, ledger, notes = pickle.loads(data)  # noqa: S301 - its digest was that of the run's own
        return cls({node: Entry(*entry) for node, entry in sinks.items()}, memory, ledger, about, notes)


@attrs.frozen
class Contents:
    """The state after some records."""

    about: dict[str, bytes] = attrs.field(factory=dict[str, bytes])
    sinks: dict[int, Entry] = attrs.field(factory=dict[int, Entry])
    memory: dict[int, dict[bytes, bytes]] = attrs.field(factory=dict[int, dict[bytes, bytes]])
    ledger: dict[int, dict[bytes, bytes]] = attrs.field(factory=dict[int, dict[bytes, bytes]])
    notes: dict[int, list[bytes]] = attrs.field(factory=dict[int, list[bytes]])

    def add(self, record: Record, *, notes: bool = True) -> None:
        """Another record follows."""
        self.about.update(record.about)
        self.sinks.update(record.sinks)
        for here, changed in ((self.memory, record.memory), (self.ledger, record.ledger)):
            for node, changes in changed.items():
                kept = here.setdefault(node, {})
                for key, value in changes.items():
                    if value is None:
                        kept.pop(key, None)
                    else:
                        kept[key] = value
        for node, some in record.notes.items() if notes else ():
            self.notes.setdefault(node, []).extend(some)

    def record(self) -> Record:
        """The whole of it but the notes, in one record."""
        return Record(self.sinks, self._changes(self.memory), self._changes(self.ledger), self.about)

    def _changes(self, table: dict[int, dict[bytes, bytes]]) -> dict[int, Changes]:
        return {node: dict(changes) for node, changes in table.items() if changes}


class Store:
    """An open journal. It is used by one thread at a time, whichever; nobody else can open it meanwhile."""

    def __init__(self, path: Path, secret: bytes | None = None) -> None:
        self.path = path
        self._log = Log(path, secret)
        self._holds = 0
        """About how many bytes of the file hold."""

    def contents(self) -> Contents:
        """The journal's contents; to be asked first.

        Raises:
            JournalError: it is damaged.
        """
        contents = Contents()
        try:
            for data in self._log.records():
                contents.add(Record.unpacked(data))
            self._log.tidy()
        except OSError as exc:
            raise self._log.trouble(exc) from exc
        self._holds = len(contents.record().packed()) + _size(contents.notes)
        return contents

    def write(self, record: Record) -> None:
        """Record all of it, or nothing; it is on the disk when this returns.

        Raises:
            JournalError: it could not be written.
        """
        log = self._log
        try:
            log.append(record.packed())
            self._holds += _size(record.notes)
            if log.size > max(SMALL, SLACK * self._holds):
                log.replace(self._shortened())
                self._holds = log.size
        except OSError as exc:
            raise JournalError(
                f"the journal {self.path} could not be written ({exc}): what it holds is whole, and a run with it goes "
                f"on from there"
            ) from exc

    def _shortened(self) -> Iterator[bytes]:
        """Records that say the same as all there are: what holds, and all notes, which are never in memory at once."""
        contents = Contents()
        for data in self._log.records():
            contents.add(Record.unpacked(data), notes=False)
        yield contents.record().packed()
        del contents
        waiting: dict[int, list[bytes]] = {}
        for data in self._log.records():
            for node, notes in Record.unpacked(data).notes.items():
                waiting.setdefault(node, []).extend(notes)
            if _size(waiting) > CHUNK:
                yield Record({}, {}, {}, notes=waiting).packed()
                waiting = {}
        if waiting:
            yield Record({}, {}, {}, notes=waiting).packed()

    def close(self) -> None:
        """Let go of the file."""
        self._log.close()


def _size(notes: Mapping[int, Notes]) -> int:
    return sum(len(note) for some in notes.values() for note in some)


def unpickled(data: bytes, path: Path) -> Any:
    """A value that was pickled into a journal.

    Raises:
        JournalError: it cannot be read any more.
    """
    try:
        return pickle.loads(data)  # noqa: S301 - the user's own file, which is trusted as the program is
    except Exception as exc:
        raise JournalError(
            f"the journal {path} holds something that cannot be read any more ({type(exc).__name__}: {exc}): has the "
            f"program that wrote it changed?"
        ) from exc

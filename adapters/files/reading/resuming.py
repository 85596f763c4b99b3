"""The files that an earlier run with the same journal read, and the position where this run continues."""

import hashlib
import os
import stat
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NoReturn

import attrs

from pullstream.errors import JournalError

from .errors import GROWING
from .formats import Start
from .listing import File, is_local
from .times import PathTime

AT_AN_END: Final = 1 << 16
"""The number of bytes at each end; smaller files are digested as a whole."""


def ends_of(file: File) -> bytes | None:
    """A digest of a file's ends; None if the file is remote, missing or not a regular file."""
    if not is_local(file.fs):
        return None
    try:
        opened = os.open(file.key, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except OSError:
        # Reading the file will report the error.
        return None
    try:
        status = os.fstat(opened)
        if not stat.S_ISREG(status.st_mode):
            return None
        digest = hashlib.sha256(os.read(opened, AT_AN_END))
        if status.st_size > AT_AN_END:
            os.lseek(opened, max(AT_AN_END, status.st_size - AT_AN_END), os.SEEK_SET)
            digest.update(os.read(opened, AT_AN_END))
    finally:
        os.close(opened)
    return digest.digest()[:16]


Identity = tuple[int | None, str | None]

Known = tuple[int, Identity, bytes | None]
"""A file's number, its identity, and a digest of its ends."""


@attrs.frozen
class Turn:
    """The file to read next."""

    file: File
    number: int
    """The number of files before it; with `follow` this is also its time, unless it has another."""
    time: Hashable | None = None
    """The time of the whole file, if it has only one."""
    floor: Hashable | None = None
    """The lower bound for times after it, if known."""
    start: Start = attrs.field(factory=Start)
    last: tuple[Hashable, ...] = ()
    """The time of the values before `start`, if there are any."""


@attrs.frozen
class Position:
    """The position of the last value at some time."""

    path: str
    start: Start | None
    """The position where reading the file continues; None after its end."""
    last: tuple[Hashable, ...]


@attrs.frozen
class EarlierRun:
    """The record of the files that were read; empty without a journal."""

    journal: bool = False
    files: Mapping[str, Known] = attrs.field(factory=dict[str, Any])
    ended: bool = False
    """Whether a run reached the end of the last file."""
    schema: bytes | None = None
    place: Position | None = None
    done: Callable[[Hashable], bool] = lambda _: False

    @property
    def count(self) -> int:
        """The number of numbered files."""
        return 1 + max((number for number, _, _ in self.files.values()), default=-1)

    @property
    def order(self) -> list[str]:
        """The paths in the order in which they were read; files with times from their paths all have the number 0."""
        return sorted(self.files, key=lambda path: (self.files[path][0], path.split("/")))

    def mended(self, there: Sequence[File], time: object, *, numbered: bool) -> set[str]:
        """The changed files without any completed time, such as one fixed after an error."""
        known = [file for file in there if file.path in self.files]
        return {
            file.path for file in known if self._nothing_done(file.path, time, numbered) and self._has_changed(file)
        }

    def _nothing_done(self, path: str, time: object, numbered: bool) -> bool:  # noqa: FBT001
        """Whether no time of a file is complete; with `numbered`, files without times have their numbers as times."""
        number = self.files[path][0]
        if isinstance(time, PathTime):
            return not self.done(time.of(path))
        if time is None:
            return not self.done(number if numbered else 0)
        # Files are read in order, and `place` is the position of the last completed value.
        return self.place is None or number > self.files[self.place.path][0]

    def as_now(self, there: Sequence[File], paths: set[str]) -> "EarlierRun":
        """The record with some files replaced by their current state."""
        now = {file.path: (self.files[file.path][0], file.identity, None) for file in there if file.path in paths}
        return attrs.evolve(self, files={**self.files, **now})

    def check(self, there: Sequence[File]) -> None:
        """Refuse files that have changed since they were read."""
        for file in there:
            if file.path in self.files and self._has_changed(file):
                size = self.files[file.path][1][0]
                grown = size is not None and file.size is not None and file.size > size
                _refuse(file.path, "has changed since it was read", f". {GROWING}" if grown else "")

    def _has_changed(self, file: File) -> bool:
        _, identity, ends = self.files[file.path]
        return identity != file.identity or (ends is not None and ends != ends_of(file))

    def check_over(self, there: Sequence[File]) -> None:
        """Refuse changed files after a finished run, which may not have needed all of them."""
        before, now = self.files, {file.path: file for file in there}
        for path in dict.fromkeys([*self.order, *now]):
            if path not in before and not self.ended:
                continue
            if path not in before or path not in now or self._has_changed(now[path]):
                what = "is new" if path not in before else "is gone" if path not in now else "has changed"
                raise JournalError(
                    f"{path} {what} since a run with this journal finished, so its result would differ now. Start "
                    f"over with another journal, or put the files back as they were (a file is identified by its "
                    f"size, its modification time and its ends). If files keep arriving, use available=True, with "
                    f"which each run reads the new ones, or follow=True, which waits for them"
                )

    def by_path(self, dated: Sequence[tuple[Hashable, File]], time: PathTime) -> list[tuple[Hashable, File]]:
        """The files whose times are not complete, from those that have one time each."""
        paths = {file.path for _, file in dated}
        for path in self.files:
            if path not in paths and not self.done(time.of(path)):
                _refuse(path, "is gone, but is needed again: it was begun, but not completed")
        left: list[tuple[Hashable, File]] = []
        for at, file in dated:
            if not self.done(at):
                left.append((at, file))
            elif file.path not in self.files:
                _refuse(file.path, f"is new, and its time {at!r} was completed without it", new=True)
        return left

    def numbered(self, there: Mapping[str, File]) -> list[Turn]:
        """The begun files whose numbers, which are also their times, are not complete."""
        paths = [path for path in self.order if not self.done(self.files[path][0])]
        return [Turn(_present(there, path), self.files[path][0]) for path in paths]

    def placed(self, order: Sequence[str], there: Mapping[str, File]) -> list[Turn]:
        """The files in a given order, starting at the position of the last completed value."""
        place = self.place
        if place is None:
            return self._turns(order, there)
        if place.path in order:
            at = order.index(place.path)
        elif place.start is not None:
            _refuse(place.path, "is gone, but was read only in part")
        else:
            # It was read entirely, like all files before it; the times of new files will show if they are too late.
            order = [path for path in order if self.files.get(path, (self.count,))[0] > self.files[place.path][0]]
            at = -1
        for path in order[: max(at, 0)]:
            if path not in self.files:
                _refuse(path, "is new, and comes before files that were already read", new=True)
        turns = self._turns(order[at if place.start is not None else at + 1 :], there)
        if turns:
            turns[0] = attrs.evolve(turns[0], start=place.start or Start(), last=place.last)
        return turns

    def _turns(self, order: Sequence[str], there: Mapping[str, File]) -> list[Turn]:
        known = {path: self.files[path][0] for path in order if path in self.files}
        numbers = iter(range(self.count, self.count + len(order)))
        return [Turn(_present(there, path), known[path] if path in known else next(numbers)) for path in order]


def _present(there: Mapping[str, File], path: str) -> File:
    if path not in there:
        _refuse(path, "is gone, but is needed again: it was begun, but not completed")
    return there[path]


def _refuse(path: str, what: str, tail: str = "", *, new: bool = False) -> NoReturn:
    if new:
        remedy = "Move it away, rename it so that it comes later"
    else:
        remedy = "Put it back as it was (a file is identified by its size, its modification time and its ends)"
    raise JournalError(
        f"{path} {what}. New results would not be consistent with those that an earlier run with this journal has "
        f"completed. {remedy}, or start over with another journal{tail}"
    )

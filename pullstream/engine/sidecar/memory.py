"""The memory of a module beyond a time: a dict with a version for every time, of which the journal saves one."""

import pickle
from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, MutableMapping
from numbers import Number
from typing import Any, Final, cast

from typing_extensions import override

from pullstream.blueprint import shortened
from pullstream.engine.sidecar.location import Location
from pullstream.errors import JournalError
from pullstream.timely import less_equal

Changes = dict[bytes, bytes | None]
"""Keys and their new values, both pickled; None for a key that is gone."""

_NONE: Final = object()


_PLAIN: Final = frozenset({int, str})
"""The commonest types of keys; what is equal to one of those, and of its type, is pickled as the same bytes."""


class _Noting(MutableMapping[Any, Any]):
    """A dict that notes which keys were changed."""

    def __init__(self, location: Location | None) -> None:
        self._location = location
        self._now: dict[Any, Any] = {}
        self._names: dict[Any, bytes] = {}
        """The bytes by which keys are saved that are not plain: equal ones can be pickled in several ways."""

    @abstractmethod
    def _touch(self, key: Any) -> None:
        """Note that the value of a key was set, or the key deleted."""

    @abstractmethod
    def pickle(self, what: object) -> bytes:
        """Bytes for a key or a value."""

    def _begin(self, saved: Mapping[bytes, bytes], unpickle: Callable[[bytes], Any]) -> None:
        """Begin with what was saved, each key by the bytes that it had."""
        for name, value in saved.items():
            key = unpickle(name)
            self._now[key] = unpickle(value)
            if type(key) not in _PLAIN:
                self._names[key] = name

    def _pickled(self, keys: Iterable[Any]) -> Changes:
        """The changes of keys. One is saved by what it, or its equal, was first saved by: 1.0 by 1, or else by 1.0.

        Also two tuples that are equal can be pickled in two ways, by whether parts of them are the same object.
        """
        changes: Changes = {}
        now, names = self._now, self._names
        for key in keys:
            name = names.get(key) if names else None
            if name is None:
                name = self.pickle(key)
                if type(key) not in _PLAIN:
                    names[key] = name
                    if (plain := _plain(key)) is not None:
                        changes[self.pickle(plain)] = None
            if key in now:
                changes[name] = self.pickle(now[key])
            else:
                changes[name] = None
                names.pop(key, None)
        return changes

    @override
    def __getitem__(self, key: Any) -> Any:
        return self._now[key]

    @override
    def __setitem__(self, key: Any, value: Any) -> None:
        self._now[key] = value
        self._touch(key)

    @override
    def __delitem__(self, key: Any) -> None:
        del self._now[key]
        self._touch(key)

    @override
    def __contains__(self, key: object) -> bool:
        return key in self._now

    @override
    def __iter__(self) -> Iterator[Any]:
        return iter(self._now)

    @override
    def __len__(self) -> int:
        return len(self._now)

    @override
    def __repr__(self) -> str:
        return repr(self._now)


class Memory(_Noting):
    """A module's own dict, which a journal, if there is one, saves as of the times that are done.

    `memory.at(time)` is called before it is changed because of what came at `time`, and gives the dict itself: what was
    there before is then the state as of the time before. Times must be in order, or the module has no state as of a
    time, and the run fails; with `ordered=False` they need not, and a key must be written at one time only. A value
    that is changed in place is saved if it is assigned again. Keys and values are pickled.

    >>> memory = Memory()
    >>> memory.at(3)["tea"] = 1
    >>> memory
    {'tea': 1}
    """

    def __init__(self, location: Location | None = None, *, saves: bool = False) -> None:
        super().__init__(location)
        self.saves = saves
        """Whether there is a journal; without one nothing is noted, and times may be in any order."""
        self._time: Any = _NONE
        self._touched: dict[Hashable, set[Any]] = {}
        self._sealed: list[tuple[Any, Changes]] = []
        self.ledger = Ledger(location)
        """Decisions that hold from now on, whatever the time, and are saved before anything that follows from them."""
        self.notes = Notes(location)
        """Entries that only a later run wants to know; nothing of them stays in memory."""

    def at(self, time: Hashable, *, ordered: bool = True) -> "Memory":
        """The dict, to be changed because of what came at `time`.

        Raises:
            JournalError: `time` is not at or after the one before.
        """
        if self.saves and time is not self._time and time != self._time:
            if ordered:
                self._follow(time)
            self._time = time
        return self

    def _follow(self, time: Hashable) -> None:
        before = self._time
        if before is _NONE:
            return
        if not less_equal(before, time):
            raise JournalError(
                f"{self._location}, carries a state from value to value, and {time!r} came after {before!r}: such a "
                f"state cannot be told for a time, so no journal can save it. Have the values in the order of their "
                f"times: sort_by_time() above it does that"
            )
        self._seal(before)

    def _seal(self, time: Hashable) -> None:
        touched = self._touched.pop(time, None)
        if touched:
            self._sealed.append((time, self._pickled(touched)))

    @override
    def pickle(self, what: object) -> bytes:
        return pickled(what, f"{self._location}, keeps it beyond its time")

    # ---- for the journal

    def restore(
        self,
        saved: Mapping[bytes, bytes],
        ledger: Mapping[bytes, bytes],
        unpickle: Callable[[bytes], Any],
        notes: Iterable[Any] = (),
    ) -> None:
        """Begin with what was saved."""
        self._begin(saved, unpickle)
        self.ledger.restore(ledger, unpickle)
        self.notes.restore(notes)

    def take(self, done: Callable[[Hashable], bool]) -> Changes:
        """The changes up to and with the times that are done that were not taken before."""
        changes: Changes = {}
        while self._sealed and done(self._sealed[0][0]):
            changes |= self._sealed.pop(0)[1]
        if not self._sealed:
            for time in [time for time in self._touched if done(time)]:
                changes |= self._pickled(self._touched.pop(time))
        return changes

    # ---- a dict

    @override
    def _touch(self, key: Any) -> None:
        if self.saves:
            if self._time is _NONE:
                raise JournalError(
                    f"{self._location}, changed its memory outside of a time: memory.at(time)[key] = value"
                )
            self._touched.setdefault(self._time, set()).add(key)


class Ledger(_Noting):
    """Decisions made once: saved as they are with whatever is recorded next."""

    def __init__(self, location: Location | None = None) -> None:
        super().__init__(location)
        self._changed: set[Any] = set()

    def restore(self, saved: Mapping[bytes, bytes], unpickle: Callable[[bytes], Any]) -> None:
        """Begin with what was saved."""
        self._begin(saved, unpickle)

    def take(self) -> Changes:
        """The changes since the last time."""
        changed, self._changed = self._changed, set()
        return self._pickled(changed)

    @override
    def pickle(self, what: object) -> bytes:
        return pickled(what, f"{self._location}, decides by it")

    @override
    def _touch(self, key: Any) -> None:
        self._changed.add(key)


class Notes:
    """Entries that are written down at their times, in any order, and are read again by the next run alone.

    >>> notes = Notes()
    >>> notes.add(3, "a file")
    >>> len(notes.take(lambda time: time <= 3)), len(notes.take(lambda time: time <= 3))
    (1, 0)
    """

    def __init__(self, location: Location | None = None) -> None:
        self._location = location
        self._waiting: dict[Hashable, list[bytes]] = {}
        self._earlier: Iterable[Any] = ()

    def restore(self, earlier: Iterable[Any]) -> None:
        """Begin with what was saved."""
        self._earlier = earlier

    def earlier(self) -> Iterable[Any]:
        """The entries of earlier runs at times that are done, in that order; given away once."""
        earlier, self._earlier = self._earlier, ()
        return earlier

    def add(self, time: Hashable, entry: object) -> None:
        """Write down, because of what came at `time`, what is saved when that is done."""
        self._waiting.setdefault(time, []).append(pickled(entry, f"{self._location}, keeps it beyond its time"))

    def take(self, done: Callable[[Hashable], bool]) -> list[bytes]:
        """The entries at times that are done, and were not taken before."""
        return [entry for time in [time for time in self._waiting if done(time)] for entry in self._waiting.pop(time)]


def _plain(key: Any) -> int | str | None:
    """The plain key that is equal to another one, if there is one."""
    if isinstance(key, str):
        return str.__str__(key)
    if isinstance(key, Number):
        try:
            whole = int(cast("int", key))
        except (TypeError, ValueError, OverflowError):
            return None
        return whole if whole == key else None
    return None


def pickled(what: object, reason: str) -> bytes:
    """Bytes for what a journal saves.

    Raises:
        JournalError: it cannot be pickled.
    """
    try:
        return pickle.dumps(what, protocol=5)
    except Exception as exc:
        raise JournalError(
            f"{shortened(repr(what))} ({type(what).__name__}) cannot be written to a "
            f"journal, because it cannot be pickled ({exc}); {reason}"
        ) from exc

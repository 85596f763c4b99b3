"""The memory of a module across times: a dict with a version for every time, one of which the journal saves."""

import pickle
from abc import abstractmethod
from bisect import bisect_left
from collections import UserDict
from collections.abc import Callable, Hashable, Iterable, Mapping, MutableMapping
from functools import cached_property
from numbers import Number
from typing import Any, Final, Self, cast

import trio
from typing_extensions import override

from pullstream.blueprint import shortened
from pullstream.errors import JournalError
from pullstream.timely import less_equal

MemoryChanges = dict[bytes, bytes | None]
"""Keys and their new values, both pickled; None for a deleted key."""


def apply(changes: MemoryChanges, kept: MutableMapping[bytes, bytes]) -> None:
    """Apply changes to saved entries."""
    for key, value in changes.items():
        if value is None:
            kept.pop(key, None)
        else:
            kept[key] = value


_NONE: Final = object()


_PLAIN: Final = frozenset({int, str})
"""The most common types of keys: equal keys of one of these types are pickled to the same bytes."""

_BY_CONTENT: Final = frozenset({int, str, bool, bytes, type(None)})
"""The most common types whose values equal their copies."""

_CONTAINERS: Final[tuple[type[Any], ...]] = (dict, set, frozenset, tuple)
"""The types of states in which keys may be looked up."""


class _Noting(UserDict[Any, Any]):
    """A dict that records which keys were changed."""

    reason: str
    """The reason for saving a key or a value, as the end of the error for one that cannot be pickled."""

    def __init__(self, location: object) -> None:
        # Without `UserDict`'s slower constructor, because one is made for each module of a run.
        self.data = {}
        self._location = location
        self._names: dict[Any, bytes] = {}
        """The bytes under which keys that are not plain are saved: equal keys can be pickled in several ways."""

    @abstractmethod
    def _touch(self, key: Any) -> None:
        """Record that the value of a key was set, or the key deleted."""

    def pickle(self, what: object) -> bytes:
        """Pickle a key or a value."""
        return pickled(what, f"{self._location}, {self.reason}")

    def check(self, what: object) -> None:
        """Refuse a key whose copy from a journal would not equal it: a later run would not find it."""
        if type(what) is tuple:
            for part in cast("tuple[object, ...]", what):
                self.check(part)
        elif type(what) not in _BY_CONTENT and pickle.loads(self.pickle(what)) != what:  # noqa: S301 - just pickled
            raise JournalError(
                f"{shortened(repr(what))} ({type(what).__name__}) cannot be looked up in a later run, because its copy "
                f"from the journal does not equal it; {self._location}, {self.reason}. Use values that equal their "
                f"copies: a class with __eq__ and __hash__, such as a frozen dataclass, and None in place of NaN"
            )

    def check_inside(self, state: Any) -> None:
        """Refuse a state with a key whose copy would not equal it, in a set or dict."""
        # Containers may contain each other.
        found, waiting = {id(state)}, [state]
        while waiting:
            container = waiting.pop()
            inside: Iterable[Any] = container
            if not isinstance(container, tuple):
                if not _BY_CONTENT.issuperset(map(type, inside)):
                    keys = frozenset(inside)
                    if pickle.loads(self.pickle(keys)) != keys:  # noqa: S301 - just pickled
                        for key in keys:
                            self.check(key)
                inside = cast("dict[Any, Any]", container).values() if isinstance(container, dict) else ()
            for part in inside:
                if isinstance(part, _CONTAINERS) and id(part) not in found:
                    found.add(id(part))
                    waiting.append(part)

    def begin(self, saved: Mapping[bytes, bytes], unpickle: Callable[[bytes], Any]) -> None:
        """Begin with the saved state, each key under the bytes it had."""
        for name, value in saved.items():
            key = unpickle(name)
            self.data[key] = unpickle(value)
            if type(key) not in _PLAIN:
                self._names[key] = name

    def _pickled(self, keys: Iterable[Any]) -> MemoryChanges:
        """The changes to keys. A key is saved under the bytes that it, or an equal key, was first saved under.

        So 1.0 is saved under 1 if that was saved, or else under 1.0. Equal tuples can be pickled in two ways, too,
        depending on whether parts of them are the same object.
        """
        changes: MemoryChanges = {}
        now, names = self.data, self._names
        for key in keys:
            name = names.get(key) if names else None
            if name is None:
                name = self.pickle(key)
                if type(key) not in _PLAIN:
                    self.check(key)
                    names[key] = name
                    if (plain := _plain(key)) is not None:
                        changes[self.pickle(plain)] = None
            if key in now:
                if isinstance(now[key], _CONTAINERS):
                    self.check_inside(now[key])
                changes[name] = self.pickle(now[key])
            else:
                changes[name] = None
                names.pop(key, None)
        return changes

    @override
    def __setitem__(self, key: Any, item: Any) -> None:
        self.data[key] = item
        self._touch(key)

    @override
    def __delitem__(self, key: Any) -> None:
        del self.data[key]
        self._touch(key)

    # `UserDict`'s own versions of these change `data` itself, or make a second object that saves.

    @override
    def __ior__(self, other: Any) -> Self:
        self.update(other)
        return self

    @override
    def __or__(self, other: Any) -> Any:
        return self.data | other

    @override
    def __ror__(self, other: Any) -> Any:
        return other | self.data

    @override
    def copy(self) -> Any:
        """A plain dict."""
        return self.data.copy()


class Memory(_Noting):
    """A module's own dict, which a journal, if there is one, saves as of the times that are done.

    Call `memory.at(time)` before changing it because of something that arrived at `time`; it returns the dict itself.
    The state before that call is then the state as of the previous time. Times must be in order, or the module has no
    state as of a time, and the run fails. With `ordered=False` they need not be, and each key must be written at one
    time only. A value changed in place is saved only if it is assigned again. Keys and values are pickled, and
    a key must equal its copy.

    >>> memory = Memory()
    >>> memory.at(3)["tea"] = 1
    >>> memory
    {'tea': 1}
    """

    reason = "keeps it beyond its time"

    def __init__(self, location: object = None, *, saves: bool = False) -> None:
        super().__init__(location)
        self.saves = saves
        """Whether there is a journal; without one nothing is recorded, and times may be in any order."""
        self._time: Any = _NONE
        self._open = False
        """Whether it may be changed: `at` was called, and its task has got nothing at another time since."""
        self._task: trio.lowlevel.Task | None = None
        """The task that called `at`."""
        self._touched: dict[Hashable, set[Any]] = {}
        self._sealed: list[tuple[Any, MemoryChanges]] = []

    @cached_property
    def ledger(self) -> "Ledger":
        """Decisions that hold from now on, at every time, and are saved before anything that follows from them."""
        return Ledger(self._location)

    @cached_property
    def notes(self) -> "Notes":
        """Entries that only a later run reads; they do not stay in memory."""
        return Notes(self._location)

    def at(self, time: Hashable, *, ordered: bool = True) -> "Memory":
        """The dict, for changes because of something that arrived at `time`.

        Raises: JournalError: `time` is not at or after the previous time.
        """
        if self.saves:
            if time is not self._time and time != self._time:
                if ordered:
                    self._follow(time)
                self._time = time
            self._open, self._task = True, trio.lowlevel.current_task() if trio.lowlevel.in_trio_task() else None
        return self

    def leave(self, event: object) -> None:
        """Note that a task has got an event, as `arrived` does for its times; the end of the stream has none."""
        self.arrived(getattr(event, "time", _NONE) if getattr(event, "uniform", True) else _NONE)

    def arrived(self, time: object) -> None:
        """Note that a task has got something: if that is at another time, the task must call `at` before a change."""
        if self._open and time != self._time:
            # Another task may read ahead of the one that changes the memory.
            self._open = self._task not in (None, trio.lowlevel.current_task())

    def _follow(self, time: Hashable) -> None:
        before = self._time
        if before is _NONE:
            return
        if not less_equal(before, time):
            raise JournalError(
                f"{self._location}, carries a state from value to value, and {time!r} arrived after {before!r}: such a "
                f"state belongs to no single time, so no journal can save it. Put the values in the order of their "
                f"times: sort_by_time(lambda _: 0) in front does that"
            )
        self._seal(before)

    def _seal(self, time: Hashable) -> None:
        touched = self._touched.pop(time, None)
        if touched:
            self._sealed.append((time, self._pickled(touched)))

    # ---- for the journal

    def restore(
        self,
        saved: Mapping[bytes, bytes],
        ledger: Mapping[bytes, bytes],
        unpickle: Callable[[bytes], Any],
        notes: Iterable[Any] = (),
    ) -> None:
        """Begin with the saved state."""
        self.begin(saved, unpickle)
        self.ledger.begin(ledger, unpickle)
        self.notes.restore(notes)

    def take(self, done: Callable[[Hashable], bool]) -> MemoryChanges:
        """The changes at times that are done, except those taken before."""
        changes: MemoryChanges = {}
        # The times are in order, so all before a done one are done. There may be many since the last record.
        number = bisect_left(self._sealed, x=True, key=lambda sealed: not done(sealed[0]))
        for _, sealed in self._sealed[:number]:
            changes |= sealed
        del self._sealed[:number]
        if not self._sealed:
            for time in [time for time in self._touched if done(time)]:
                changes |= self._pickled(self._touched.pop(time))
        return changes

    # ---- a dict

    @override
    def _touch(self, key: Any) -> None:
        if self.saves:
            if not self._open:
                raise JournalError(
                    f"{self._location}, changed its memory outside of a time: write memory.at(time)[key] = value, with "
                    f"the time of what has just arrived"
                )
            self._touched.setdefault(self._time, set()).add(key)


class Ledger(_Noting):
    """Decisions made once: saved as they are with the next record."""

    reason = "decides by it"

    def __init__(self, location: object = None) -> None:
        super().__init__(location)
        self._changed: set[Any] = set()

    def take(self) -> MemoryChanges:
        """The changes since the last call."""
        changed, self._changed = self._changed, set()
        return self._pickled(changed)

    @override
    def _touch(self, key: Any) -> None:
        self._changed.add(key)


class Notes:
    """Entries added at their times, in any order, and read only by the next run.

    >>> notes = Notes()
    >>> notes.add(3, "a file")
    >>> len(notes.take(lambda time: time <= 3)), len(notes.take(lambda time: time <= 3))
    (1, 0)
    """

    def __init__(self, location: object = None) -> None:
        self._location = location
        self._waiting: dict[Hashable, list[bytes]] = {}
        self._earlier: Iterable[Any] = ()

    def restore(self, earlier: Iterable[Any]) -> None:
        """Begin with the saved state."""
        self._earlier = earlier

    def earlier(self) -> Iterable[Any]:
        """The entries of earlier runs at times that are done, in the order in which they were saved; returned once."""
        earlier, self._earlier = self._earlier, ()
        return earlier

    def add(self, time: Hashable, entry: object) -> None:
        """Add an entry because of something that arrived at `time`; it is saved when `time` is done."""
        self._waiting.setdefault(time, []).append(pickled(entry, f"{self._location}, keeps it beyond its time"))

    def take(self, done: Callable[[Hashable], bool]) -> list[bytes]:
        """The entries at times that are done, except those taken before."""
        return [entry for time in [time for time in self._waiting if done(time)] for entry in self._waiting.pop(time)]


def _plain(key: Any) -> int | str | None:
    """The plain key that equals another one; None if there is none."""
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
    """Pickle something that a journal saves, or raise `JournalError`."""
    try:
        return pickle.dumps(what, protocol=5)
    except Exception as exc:
        raise JournalError(
            f"{shortened(repr(what))} ({type(what).__name__}) cannot be written to a "
            f"journal, because it cannot be pickled ({exc}); {reason}"
        ) from exc

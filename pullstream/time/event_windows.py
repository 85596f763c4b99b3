"""`tumbling`, `sliding`, `sessions`: windows of event time, as mappings of times (DESIGN 5).

A value of a window comes at the window's end. So what computes per time below computes per window, and a window is
complete when the last time in it is. A window has its start and not its end: what is at the end is in the next one.
"""

import datetime as dt
from collections.abc import Callable, Hashable, Sequence
from operator import itemgetter
from typing import Any

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Site, Transformer, sync_argument
from pullstream.errors import CompositionError
from pullstream.protocol import DONE, Batch, Done
from pullstream.time.notified import Notified
from pullstream.time.restamp import Restamping
from timely import Delay, SummaryError

A = TypeVar("A")

_DAY = dt.timedelta(days=1)


@attrs.frozen
class _Windows:
    """Windows of one size that begin every so often, of which one begins at `origin`."""

    size: Any
    every: Any
    origin: Any = None

    def _first_start(self, time: Any) -> Any:
        """Where the first window begins that `time` is in, or the next one if it is in none."""
        origin = self.origin
        if origin is None:
            origin = _origin_of(time, self.size, self.every)
        return origin + ((time - self.size - origin) // self.every + 1) * self.every

    def first_end(self, time: Any) -> Any:
        """Where the first window ends that `time` is in."""
        return self._first_start(time) + self.size

    def ends(self, time: Any) -> list[Any]:
        """Where the windows end that `time` is in, the first one first."""
        start = self._first_start(time)
        ends: list[Any] = []
        while start <= time:
            ends.append(start + self.size)
            start += self.every
        return ends


def _origin_of(time: Any, *steps: Any) -> Any:
    if isinstance(time, dt.datetime):
        return dt.datetime(1970, 1, 1, tzinfo=time.tzinfo)
    if isinstance(time, dt.date):
        if any(step % _DAY for step in steps):
            raise TypeError(f"windows of dates are of whole days, and not of {steps[0]}: give datetimes")
        return dt.date(1970, 1, 1)
    return 0


class _Sliding(Restamping):
    """Answers each batch once for every window; until that is done its stamp, in flight, stands for the rest."""

    def __init__(self, size: Any, every: Any, origin: Any = None) -> None:
        self._windows = _Windows(size, every, origin)
        super().__init__(self._windows.first_end)
        self._values: Sequence[Any] = ()
        self._ends: list[Any] = []
        self._at = 0

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._ends:
            batch = await self.upstream.ask(limit)
            if batch is DONE:
                return self.end()
            self._values, self._ends = batch.values, self._windows.ends(batch.time)
        end, start = self._ends[0], self._at
        self._at = min(start + limit, len(self._values))
        answer = Batch(end, self._values[start : self._at])
        if self._at == len(self._values):
            del self._ends[0]
            self._at = 0
        return answer

    @override
    def acknowledged(self) -> None:
        if not self._ends:
            self.upstream.ack()


@attrs.define(eq=False)
class _Session:
    start: Any
    end: Any
    values: list[tuple[Any, Any]]


class _Sessions(Notified):
    """Keeps values until nothing can prolong, or join, the session they are in."""

    def __init__(self, gap: Any, key: Callable[[Any], Hashable] | None = None) -> None:
        super().__init__()
        self._gap = gap
        self._key = key
        self.summaries = (Delay(gap),)
        self._open: dict[Hashable, list[_Session]] = {}
        self._due: dict[Hashable, dict[_Session, Hashable]] = {}

    @override
    def receive(self, time: Any, values: Sequence[Any]) -> None:
        key = self._key
        rows: dict[Hashable, list[tuple[Any, Any]]] = {}
        for value in values:
            rows.setdefault(None if key is None else key(value), []).append((time, value))
        for name, new in rows.items():
            self._add(name, _Session(time, time + self._gap, new))

    def _add(self, name: Hashable, new: _Session) -> None:
        sessions = self._open.setdefault(name, [])
        touched = [each for each in sessions if each.start < new.end and new.start < each.end]
        if len(touched) == 1 and touched[0].end == new.end:
            touched[0].values += new.values
            touched[0].start = min(touched[0].start, new.start)
            return
        whole = _Session(
            min(each.start for each in (new, *touched)),
            max(each.end for each in (new, *touched)),
            [row for each in (*touched, new) for row in each.values],
        )
        sessions.append(whole)
        if whole.end not in self._due:
            self.notify(whole.end, whole.end, before=True)
            self._due[whole.end] = {}
        self._due[whole.end][whole] = name
        for each in touched:
            sessions.remove(each)
            self._no_longer_due(each)

    def _no_longer_due(self, session: _Session) -> None:
        due = self._due[session.end]
        del due[session]
        if not due:
            del self._due[session.end]
            self.forget(session.end)

    @override
    def complete(self, time: Hashable) -> None:
        for session, name in self._due.pop(time).items():
            session.values.sort(key=itemgetter(0))
            self.give(time, [value for _, value in session.values])
            sessions = self._open[name]
            sessions.remove(session)
            if not sessions:
                del self._open[name]


def tumbling(size: Any, *, origin: Any = None) -> Transformer[A, A]:
    """Put every value into the window of its time, one after another, all of one size: it comes at the window's end.

    >>> import pullstream as ps
    >>> readings = ps.values([1, 4, 5, 12], time=lambda n: n)
    >>> ps.run(ps.pipe(readings, ps.tumbling(5), ps.reduce_by_time(ps.agg.count()), ps.collect(timed=True)))
    [(5, 2), (10, 1), (15, 1)]

    Times are numbers, or dates with a `timedelta` as the size; windows are counted from `origin`, which is 0, or the
    beginning of 1970 (a Thursday: weeks from Monday on have `origin=date(1970, 1, 5)`). What is below may compute per
    window, as it does per time; a window is complete when all of its times are. Nothing is kept.
    """
    _size_argument("tumbling", "size", size)
    return Transformer((Module("tumbling", _tumbling, (size,), _origin_option(origin)),))


def _tumbling(size: Any, origin: Any = None) -> Restamping:
    return Restamping(_Windows(size, size, origin).first_end)


def sliding(size: Any, every: Any, *, origin: Any = None) -> Transformer[A, A]:
    """Put every value into all windows that its time is in; one begins `every` so often. See `tumbling`.

    >>> import pullstream as ps
    >>> readings = ps.values([1, 4, 5], time=lambda n: n)
    >>> ps.run(ps.pipe(readings, ps.sliding(4, 2), ps.reduce_by_time(ps.agg.count()), ps.collect(timed=True)))
    [(2, 1), (4, 1), (6, 2), (8, 2)]

    A value comes once for each window, at its end, at most `size / every` times, rounded up. The values of one window
    stay in order; how they come among those of another depends on how they travelled, in batches.
    """
    _size_argument("sliding", "size", size)
    _size_argument("sliding", "every", every)
    try:
        too_rare = size < every
    except TypeError:
        too_rare = True
    if too_rare:
        raise CompositionError(
            f"sliding() at {Site.here()} got every={every!r} for windows of {size!r}: values would be in none"
        )
    return Transformer((Module("sliding", _Sliding, (size, every), _origin_option(origin)),))


def sessions(gap: Any, key: Callable[[A], Hashable] | None = None) -> Transformer[A, A]:
    """Put values into sessions: those, of a key, with less than `gap` between each and the next.

    >>> import pullstream as ps
    >>> clicks = ps.values([1, 3, 4, 9, 10], time=lambda n: n)
    >>> ps.run(ps.pipe(clicks, ps.sessions(3), ps.reduce_by_time(ps.Fold(list, lambda s, n: [*s, n])), ps.collect()))
    [[1, 3, 4], [9, 10]]

    A session ends, and its values come, `gap` after the last one, which is its time; they come in the order of their
    times. Sessions of different keys may end together: reduce them by the same key. Values are kept until no other can
    join them, whatever comes late within the input's times.
    """
    _size_argument("sessions", "gap", gap)
    if key is None:
        return Transformer((Module("sessions", _Sessions, (gap,)),))
    sync_argument("sessions", "key", key, "a key is computed at once; map_async the values to (key, value) first")
    return Transformer((Module("sessions", _Sessions, (gap, key)),))


def _size_argument(module: str, name: str, size: Any) -> None:
    try:
        positive = Delay(size).strict
    except SummaryError:
        positive = False
    if not positive:
        raise CompositionError(
            f"{module}() at {Site.here()} needs a positive number, or a timedelta, as its {name}, and got {size!r}"
        )


def _origin_option(origin: Any) -> tuple[tuple[str, object], ...]:
    return () if origin is None else (("origin", origin),)

"""`sessions`: windows in event time that last as long as values follow each other closely.

Values enter sessions in the order of their times: a value waits until everything before its time is complete. So
sessions are only extended, never merged, and a fold sees its values in order. A session, and a waiting value, is held
at the earliest end that the session can have; the hold moves along as the session is extended.
"""

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import islice, repeat
from operator import attrgetter, gt, itemgetter
from sys import maxsize
from typing import Annotated, Any, Final, Unpack, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Emits, Key, Transformer
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import A, K, R, V
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.fused import result_of
from pullstream.engine.traits import Carries, Traits
from pullstream.failures import caught
from pullstream.modules.folds.accumulator import Accumulator
from pullstream.modules.folds.fold import Fold, a_fold
from pullstream.modules.values.on_error import OnError, catches
from pullstream.modules.windows.grid import duration, is_cut, refusal
from pullstream.modules.windows.window import FoldOptions, Window, Windowed, WindowLists, WindowListsByKey
from pullstream.protocol import Batch
from pullstream.resuming.interfaces import Resumable
from pullstream.timely import Delay, less_than
from pullstream.timely.order import is_total

FEW: Final = 64
"""Up to this many values are inserted one by one, if `RATIO` times as many wait: sorting takes a step for each."""
RATIO: Final = 32
_ORDER: Final = attrgetter("end", "number")
"""Sessions with equal ends close in the order in which they began."""


@attrs.define(eq=False)
class _Session:
    """An open session, with the state of its values."""

    start: Any
    end: Any
    state: Any
    key: Hashable
    number: int


class _Sessions(Windowed, Resumable):
    traits = Traits(trusted=True, carries=Carries.MEMORY, later=True)

    def __init__(
        self,
        gap: Any,
        fold: Fold[Any, Any] | None = None,
        *,
        key: Callable[[Any], Hashable] | None = None,
        eager: bool = False,
        on_error: object = "fail",
    ) -> None:
        super().__init__(Accumulator(fold, eager=eager, on_error=on_error))
        self._catches = catches(on_error)
        self._gap = gap
        self._key = key
        self._sessions: OrderedDict[Hashable, _Session] = OrderedDict()
        """The open sessions by end. Values enter in order of times, so a session that gets one moves to the end."""
        self._moments: list[Any] = []
        """The times of waiting values, in order; they begin at `_begin`."""
        self._waiting: list[Any] = []
        """The waiting values, in the order of their times."""
        self._begin = 0
        self._new_moments: list[Any] = []
        """The times of values that have arrived since the last sorting, which is when the first one gets its turn."""
        self._arrived: list[Any] = []
        self._least: Any = None
        """The least of `_new_moments`."""
        self._now: Any = None
        """The time of the last values that entered sessions."""
        self._number = 0
        self._held: Any = None
        """The earliest end of all sessions, including those of waiting values."""
        self._listening: Any = None
        """The moment for which a notification is requested."""
        self.traits = attrs.evolve(self.traits, summaries=[Delay(gap)])

    @override
    def restore(self) -> None:
        for key, (start, end, states, number) in sorted(self.memory.items(), key=lambda item: item[1][1]):
            self._sessions[key] = _Session(start, end, states[None], key, number)
            self._number = max(self._number, number)
        # Before the run begins: later, other branches of the stream may have advanced, and dropped this capability.
        self._listen()

    @override
    def receive(self, batch: Batch[Any]) -> None:
        # An eager result must follow the results of the sessions that have ended by then.
        if not (batch.uniform or self.accumulator.eager) and self._usual(batch):
            self.note_times(batch)
            self._arrive(batch.least[0], batch.times, batch.values)
            self._listen()
            return
        for run in self.apart(batch):
            self.note_times(run)
            time = run.time
            self._end_after(time)
            self._arrive(time, repeat(time, len(run.values)), run.values)
            if time == self._now or self._reached(time):
                self._advance(time)
            self._listen()

    def _arrive(self, least: Any, times: Iterable[Any], values: Sequence[Any]) -> None:
        if not self._new_moments or least < self._least:
            self._least = least
        self._new_moments += times
        self._arrived += values

    def _sort_in(self) -> None:
        """Sort the newly arrived values in."""
        if len(self._new_moments) <= min(FEW, (len(self._moments) - self._begin) // RATIO):
            for time, value in zip(self._new_moments, self._arrived, strict=True):
                place = bisect_right(self._moments, time, self._begin)
                self._moments.insert(place, time)
                self._waiting.insert(place, value)
        else:
            times = self._moments[self._begin :] + self._new_moments
            values = self._waiting[self._begin :] + self._arrived
            new = times[-1 - len(self._new_moments) :]
            if any(map(gt, new, islice(new, 1, None))):
                in_order = itemgetter(*sorted(range(len(times)), key=times.__getitem__))
                times, values = in_order(times), in_order(values)
            self._moments[:], self._waiting[:] = times, values
            self._begin = 0
        self._new_moments.clear()
        self._arrived.clear()

    def _usual(self, batch: Batch[Any]) -> bool:
        """Whether the times are totally ordered and the gap can be added to all of them."""
        if not batch.in_one_order:
            return False
        try:
            ends = (batch.least[0], max(batch.times))
            return all(time < time + self._gap and not is_cut(time, self._gap) for time in ends)
        except (TypeError, OverflowError):
            return False

    @override
    def complete(self, time: Any) -> None:
        self._listening = None
        self._advance(time)
        fronts = self.events.fronts()
        self._advance(min(fronts) if fronts else None, enough=True)
        self._listen()

    def _reached(self, moment: Any) -> bool:
        """Whether everything before the moment is complete."""
        if self.events.knows(moment, before=True):
            return True
        return not any(less_than(front, moment) for front in self.events.now())

    def _advance(self, last: Any, *, enough: bool = False) -> None:
        """Let waiting values enter sessions, in the order of their times, and close the sessions that end by then.

        Stop after the time `last`, or after all times if it is None; with `enough`, as soon as an answer is full.
        """
        sessions, times, waiting, gap = self._sessions, self._moments, self._waiting, self._gap
        key_of, accumulator, memory = self._key, self.accumulator, self.memory
        follows = memory.saves or accumulator.eager
        # Without keys, all values of a run are one step.
        whole = accumulator.plain and key_of is None
        step = accumulator.fold if whole else accumulator.step
        room = self.room if enough else maxsize
        soonest, newest = self._first(), self._number
        if self._new_moments and (last is None or self._least <= last):
            self._sort_in()
        place = self._begin
        while place < len(times):
            time = times[place]
            if not (last is None or time <= last):
                break
            if soonest <= time:
                closed, soonest = self._close_over(time, room)
                room -= closed
            if room <= 0:
                break
            begin = place
            place += 1
            if place < len(times) and times[place] == time:
                place = bisect_right(times, time, place)
            end = time + gap
            if memory.saves:
                # Before a step changes a state in place: the journal saves it as it was.
                memory.at(time)
            values = waiting[begin:place]
            for value in (values,) if whole else values:
                try:
                    key = None if key_of is None else key_of(value)
                    session = sessions.get(key)
                    if session is None:
                        if key_of is not None:
                            result_of(key_of, key)
                        session = _Session(time, end, accumulator.initial(), key, newest + 1)
                    session.state = step(session.state, value)
                except Exception as exc:
                    if not self._catches:
                        raise
                    # A value that is left out neither starts nor extends a session.
                    self.give(end, [caught(value, exc)])
                    room -= enough
                    continue
                if session.number > newest:
                    self._number = newest = session.number
                    sessions[key] = session
                else:
                    session.end = end
                    sessions.move_to_end(key)
                if follows:
                    if memory.saves:
                        memory[key] = session.start, end, {None: session.state}, session.number
                    if accumulator.eager:
                        self.give(end, [self._result(session)])
                        room -= enough
            self._now = time
        self._begin = place
        if place > len(times) - place:
            # In bulk, which is faster.
            del times[:place], waiting[:place]
            self._begin = 0
        self._close_over(last, room)

    def _first_end(self) -> Any:
        """Return the end of the session that ends first; None if none is open."""
        return next(iter(self._sessions.values())).end if self._sessions else None

    def _first_waiting(self) -> Any:
        """Return the first time of waiting values; None if there are none."""
        first = self._moments[self._begin] if self._begin < len(self._moments) else None
        return self._least if self._new_moments and (first is None or self._least < first) else first

    def _close_over(self, last: Any, room: int) -> tuple[int, Any]:
        """Close the sessions that have ended at the time `last`, at most about `room` of them.

        Sessions with equal ends close together. Returns their number, and the end of the next one, or `last`.
        """
        over: list[_Session] = []
        soonest = last
        for session in self._sessions.values():
            if (last is not None and not session.end <= last) or (
                len(over) >= room and not (over and session.end == over[-1].end)
            ):
                soonest = session.end
                break
            over.append(session)
        if over:
            over.sort(key=_ORDER)
            memory = self.memory
            for session in over:
                del self._sessions[session.key]
                if memory.saves:
                    del memory.at(session.end)[session.key]
                self.give(session.end, [self._result(session)])
        return len(over), soonest

    def _first(self) -> Any:
        """Return the next moment, if there is one: either a session ends, or a waiting time gets its turn."""
        ends, first = self._first_end(), self._first_waiting()
        return ends if first is None or (ends is not None and ends < first) else first

    def _listen(self) -> None:
        """Hold the earliest end, and request a notification for the next moment."""
        waiting = self._first_waiting()
        least = self._first_end()
        # Without keys, a value that waits will extend the session that is open at its time, unless it may be left out.
        extends = self._key is None and not self._catches
        if waiting is not None and (least is None or (extends and waiting < least)):
            least = self._end_after(waiting)
        if least != self._held:
            if least is not None:
                self.location.hold(least)
            if self._held is not None:
                self.drop(self._held)
            self._held = least
        first = self._first()
        if first != self._listening:
            if self._listening is not None:
                self.forget(self._listening)
            if first is not None:
                self.remind(first, before=True)
            self._listening = first

    def _result(self, session: _Session) -> Window[Any]:
        value = self.accumulator.result(None, session.state)
        return Window(session.start, session.end, value if self._key is None else (session.key, value))

    def _end_after(self, time: Any) -> Any:
        cause: BaseException | None = None
        try:
            if is_total(time) and time < (end := time + self._gap) and not is_cut(time, self._gap):
                return end
        except (TypeError, OverflowError) as exc:
            cause = exc
        self.edge.stop_tracking()
        raise refusal(str(self.location), time, self._gap) from cause


@overload
def sessions(gap: Any, *, key: Function[A, K], **options: Unpack[FoldOptions[A]]) -> WindowListsByKey[A, K]: ...
@overload
def sessions(gap: Any, **options: Unpack[FoldOptions[V]]) -> WindowLists[V]: ...
@overload
def sessions(
    gap: Any, fold: Fold[A, R], *, key: Function[A, K], **options: Unpack[FoldOptions[A]]
) -> Transformer[A, Window[tuple[K, R]]]: ...
@overload
def sessions(gap: Any, fold: Fold[A, R], **options: Unpack[FoldOptions[A]]) -> Transformer[A, Window[R]]: ...
@transformer
@Emits.PER_TIME
def sessions(
    gap: Annotated[Any, duration],
    fold: Annotated[Fold[Any, Any] | None, a_fold] = None,
    *,
    key: Key[Any, Hashable] | None = None,
    eager: bool = False,
    on_error: OnError[Any] = "fail",
) -> Transformer[Any, Window[Any]]:
    """Group values into windows in event time that end after a gap without values, overall or for each key.

    >>> import pullstream as ps
    >>> clicks = ps.values([1, 3, 4, 20, 24], time=lambda second: second)
    >>> for window in ps.run(ps.pipe(clicks, ps.sessions(5), ps.collect())):
    ...     print(window)
    Window(start=1, end=9, value=[1, 3, 4])
    Window(start=20, end=29, value=[20, 24])

    A session starts at the time of its first value and ends `gap` after the time of its last. A value belongs to it if
    its time is before that end. The result is emitted at the end of the session, when everything before that is
    complete: only then is it certain that the session does not continue. Times are numbers with a number as the gap, or
    dates and datetimes with a `timedelta`; for zones whose clocks change, see `stamp`. They may arrive in any order: a
    value waits until everything before its time is complete, so sessions and folds get values in the order of their
    times.

    `fold`, `key`, `eager` and `on_error` are as in `tumbling`. Each key has sessions of its own. A value that is left
    out neither starts nor extends a session. Sessions with equal ends are emitted in the order in which they began.
    With `eager=True`, an early result has the session's end so far, and is at that time.

    >>> moves = ps.values([(1, "a"), (2, "b"), (3, "a"), (9, "b")], time=lambda move: move[0])
    >>> for window in ps.run(ps.pipe(moves, ps.sessions(4, ps.agg.count(), key=lambda move: move[1]), ps.collect())):
    ...     print(window)
    Window(start=2, end=6, value=('b', 1))
    Window(start=1, end=7, value=('a', 2))
    Window(start=9, end=13, value=('b', 1))

    Raises: TimeDomainError: `gap` cannot be added to a time, or times are only partially ordered.
    """
    return opens(_Sessions(gap, fold, key=key, eager=eager, on_error=on_error))

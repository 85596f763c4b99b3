"""`sessions`: windows in event time that last as long as values follow each other closely.

Values enter sessions in the order of their times: a value waits until everything before its time is complete. So
sessions are only extended, never merged, and a fold sees its values in order. A session, and a waiting value, is held
at the earliest end that the session can have; the hold moves along as the session is extended.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from heapq import heappop, heappush
from operator import attrgetter
from typing import Annotated, Any, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Key, Transformer
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import A, K, R, V
from pullstream.decorators import opens, transformer
from pullstream.engine.traits import Carries, Traits
from pullstream.failures import Caught, caught
from pullstream.modules.folds.accumulator import Accumulator, EarlyResults, KeyStates
from pullstream.modules.folds.fold import Fold, a_fold
from pullstream.modules.values.on_error import OnError, catches
from pullstream.modules.windows.grid import duration, refusal
from pullstream.modules.windows.window import OpenWindow, Window, Windowed, WindowLists, WindowListsByKey
from pullstream.protocol import Batch
from pullstream.resuming.interfaces import Resumable
from pullstream.timely import Delay
from pullstream.timely.order import in_one_order, is_total


@attrs.define(eq=False)
class _Session(OpenWindow):
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
        """The open sessions by end. Values come in the order of times, so a session that gets one moves to the end."""
        self._waiting: dict[Any, list[Any]] = {}
        self._now: Any = None
        self._number = 0
        self._plain = self.accumulator.plain
        self._held: Any = None
        """The least end of all sessions, including those of waiting values."""
        self.traits = attrs.evolve(self.traits, summaries=[Delay(gap)])

    @override
    def restore(self) -> None:
        for key, (start, end, states, number) in sorted(self.memory.items(), key=lambda item: item[1][1]):
            session = self._sessions[key] = _Session(start, end, self.accumulator.new(), key, number)
            session.table.update(states)
            self._number = max(self._number, number)
        self._plain = self.accumulator.plain and not self.memory.saves
        # Before the run begins: later, other branches of the stream may have moved on, and given up the right to this.
        self.listen()

    @override
    def receive(self, batch: Batch[Any]) -> None:
        # An eager result must follow the results of the sessions that are over by then.
        if not (batch.uniform or self.accumulator.eager) and self._usual(batch.times):
            self.note_times(batch)
            self._receive_each(batch)
            return
        for run in self.apart(batch):
            self._receive(run.time, run.values)
            self.note_times(run)

    def _receive(self, time: Any, values: Sequence[Any]) -> None:
        self._end_after(time)
        if time == self._now or (time not in self._waiting and self.reached(time)):
            self._now = time
            self._feed(time, values)
        else:
            self._wait(time).extend(values)
        self.listen()

    def _receive_each(self, batch: Batch[Any]) -> None:
        waiting = self._waiting
        for time, value in zip(batch.times, batch.values, strict=True):
            values = waiting.get(time)
            if values is None:
                waiting[time] = [value]
                heappush(self.moments, time)
            else:
                values.append(value)
        self.listen()

    def _usual(self, times: Sequence[Any]) -> bool:
        """Whether the times are in one order and the gap can be added to all of them."""
        if not in_one_order(times):
            return False
        try:
            return all(time < time + self._gap for time in (min(times), max(times)))
        except (TypeError, OverflowError):
            return False

    def _wait(self, time: Any) -> list[Any]:
        """Give the list of a time's values, which wait until everything before that time is complete."""
        if time not in self._waiting:
            self._waiting[time] = []
            self.expect(time)
        return self._waiting[time]

    @override
    def complete(self, time: Any) -> None:
        self.listening = None
        self.reach(time)
        if self._plain:
            values: list[Any] = []
            # `_tables` appends each value before it yields the table of its session.
            self.accumulator.add_each(self._tables(values), values, [])
        while not self.full and (first := self.first()) is not None and self.events.knows(first, before=True):
            self.reach(first)
        self.listen()

    def _tables(self, values: list[Any]) -> Iterator[KeyStates]:
        """Give the table of the session of each waiting value whose turn has come; append the value first."""
        sessions, moments, waiting = self._sessions, self.moments, self._waiting
        key_of, new = self._key, self.accumulator.new
        fronts = self.events.fronts()
        last = min(fronts) if fronts else None
        gap, soonest = self._gap, self.first()
        key: Hashable = None
        while moments and (last is None or moments[0] <= last):
            time = moments[0]
            if soonest <= time:
                # Close the sessions that end at or before `time`, the first ones first.
                while sessions and (soonest := next(iter(sessions.values())).end) <= time and not self.full:
                    self._close_until(soonest)
                if self.full:
                    return
            heappop(moments)
            self._now = time
            end = time + gap
            for value in waiting.pop(time):
                if key_of is not None:
                    key = key_of(value)
                session = sessions.get(key)
                if session is None:
                    self._number += 1
                    session = sessions[key] = _Session(time, time, new(), key, self._number)
                session.end = end
                sessions.move_to_end(key)
                values.append(value)
                yield session.table

    @override
    def reach(self, moment: Any) -> None:
        self._close_until(moment)
        if self.moments and self.moments[0] == moment:
            heappop(self.moments)
            self._now = moment
            self._feed(moment, self._waiting.pop(moment))

    def _close_until(self, moment: Any) -> None:
        """Close the sessions that are over. Those with equal ends close in the order in which they began."""
        over: list[_Session] = []
        for session in self._sessions.values():
            if not session.end <= moment:
                break
            over.append(session)
        if not over:
            return
        over.sort(key=attrgetter("number"))
        memory = self.memory.at(moment)
        for session in over:
            del self._sessions[session.key]
            if memory.saves:
                del memory[session.key]
        for session in over:
            self.give(moment, self.results(session))

    @override
    def first(self) -> Any:
        # Either a session ends, or a waiting time gets its turn.
        ends = next(iter(self._sessions.values())).end if self._sessions else None
        if not self.moments:
            return ends
        return self.moments[0] if ends is None or self.moments[0] <= ends else ends

    @override
    def listen(self) -> None:
        if self._sessions:
            least = next(iter(self._sessions.values())).end
        else:
            least = self._end_after(self.moments[0]) if self.moments else None
        if least != self._held:
            if least is not None:
                self.location.hold(least)
            if self._held is not None:
                self.drop(self._held)
            self._held = least
        super().listen()

    def _feed(self, time: Any, values: Sequence[Any]) -> None:
        end = self._end_after(time)
        memory = self.memory.at(time)
        touched: dict[Hashable, _Session] = {}
        for key, part in self._keyed(values, end):
            session = self._sessions.get(key) or _Session(time, time, self.accumulator.new(), key, self._number + 1)
            early: EarlyResults = []
            try:
                self.accumulator.add((session.table,), part, early)
            finally:
                # A value that is left out neither starts nor extends a session.
                if not early or sum(result.__class__ is Caught for _, result in early) < len(part):
                    session.end = end
                    self._number = max(self._number, session.number)
                    self._sessions[key] = session
                    self._sessions.move_to_end(key)
                    touched[key] = session
                if early:
                    self.give(end, [self.result(session, result) for _, result in early])
        if memory.saves:
            memory.update({key: (each.start, each.end, dict(each.table), each.number) for key, each in touched.items()})

    def _keyed(self, values: Sequence[Any], end: Any) -> Iterator[tuple[Hashable, Sequence[Any]]]:
        """Give the values with their keys, or all values at once without a key function."""
        if self._key is None:
            yield None, values
            return
        for value in values:
            try:
                key = self._key(value)
            except Exception as exc:
                if not self._catches:
                    raise
                self.give(end, [caught(value, exc)])
            else:
                yield key, (value,)

    @override
    def result(self, window: OpenWindow, value: Any) -> Any:
        assert isinstance(window, _Session), "all windows here are sessions"
        keyed = self._key is not None and value.__class__ is not Caught
        return super().result(window, (window.key, value) if keyed else value)

    def _end_after(self, time: Any) -> Any:
        cause: BaseException | None = None
        try:
            if is_total(time) and time < (end := time + self._gap):
                return end
        except (TypeError, OverflowError) as exc:
            cause = exc
        self.edge.stop_tracking()
        raise refusal(str(self.location), time, self._gap) from cause


@overload
def sessions(gap: Any, *, eager: bool = False, on_error: OnError[V] = "fail") -> WindowLists[V]: ...
@overload
def sessions(
    gap: Any, *, key: Function[A, K], eager: bool = False, on_error: OnError[A] = "fail"
) -> WindowListsByKey[A, K]: ...
@overload
def sessions(
    gap: Any, fold: Fold[A, R], *, eager: bool = False, on_error: OnError[A] = "fail"
) -> Transformer[A, Window[R]]: ...
@overload
def sessions(
    gap: Any, fold: Fold[A, R], *, key: Function[A, K], eager: bool = False, on_error: OnError[A] = "fail"
) -> Transformer[A, Window[tuple[K, R]]]: ...
@transformer
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
    dates and datetimes with a `timedelta`. They may arrive in any order: a value waits until everything before its time
    is complete, so sessions and folds get values in the order of their times.

    `fold`, `key`, `eager` and `on_error` are as in `tumbling`. Each key has sessions of its own. A value that is left
    out neither starts nor extends a session. Sessions with equal ends are emitted in the order in which they began.
    With `eager=True`, a result so far has the end so far, and is at that time.

    >>> moves = ps.values([(1, "a"), (2, "b"), (3, "a"), (9, "b")], time=lambda move: move[0])
    >>> for window in ps.run(ps.pipe(moves, ps.sessions(4, ps.agg.count(), key=lambda move: move[1]), ps.collect())):
    ...     print(window)
    Window(start=2, end=6, value=('b', 1))
    Window(start=1, end=7, value=('a', 2))
    Window(start=9, end=13, value=('b', 1))

    Raises: TimeDomainError: `gap` cannot be added to a time, or times are only partially ordered.
    """
    return opens(_Sessions(gap, fold, key=key, eager=eager, on_error=on_error))

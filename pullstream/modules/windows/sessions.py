"""`sessions`: windows in event time that last as long as values come close together.

Values go into sessions in the order of their times: those that come before everything earlier is complete wait until
it is. So sessions are only ever prolonged, never joined, and a fold sees values in order. What has a session, or waits
to have one, is held at the end that the session will have at least; while it goes on the hold goes with it.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, overload

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Transformer
from pullstream.engine.traits import Carries, Traits
from pullstream.modules.folds.fold import Fold
from pullstream.modules.windows.grid import duration_argument, refusal
from pullstream.modules.windows.window import Open, Window, Windowed, account, made_argument
from timely import Delay, TimeDomainError
from timely.order import is_total

A = TypeVar("A")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


@attrs.define(eq=False)
class _Session(Open):
    key: Hashable
    number: int


class _Sessions(Windowed):
    traits = Traits(trusted=True, carries=Carries.MEMORY, later=True)

    def __init__(
        self,
        gap: Any,
        fold: Fold[Any, Any] | None = None,
        key: Callable[[Any], Hashable] | None = None,
        *,
        eager: bool = False,
    ) -> None:
        super().__init__(account(fold, None), eager=eager)
        self._gap = gap
        self._key = key
        self._sessions: dict[Hashable, _Session] = {}
        self._closing: dict[Any, dict[int, _Session]] = {}
        self._early: dict[Any, list[Sequence[Any]]] = {}
        self._now: Any = None
        self._number = 0
        self.traits = attrs.evolve(self.traits, summaries=[Delay(gap)])

    @override
    def restore(self) -> None:
        for key, (start, end, state, number) in self.memory.items():
            session = self._sessions[key] = _Session(start, end, state, key, number)
            self._number = max(self._number, number)
            self._close(session, end)

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self.listen()

    @override
    def receive(self, time: Any, values: Sequence[Any]) -> None:
        end = self._end_after(time)
        if time != self._now:
            self.met(time)
        if time == self._now or (time not in self._early and self.reached(time)):
            self._now = time
            self._feed(time, values)
        elif time in self._early:
            self._early[time].append(values)
        else:
            self.location.hold(end)
            self._early[time] = [values]
            self.expect(time)
        self.listen()

    @override
    def reach(self, moment: Any) -> None:
        closed = self._closing.pop(moment, None)
        if closed is not None:
            memory = self.memory.at(moment)
            for _, session in sorted(closed.items()):
                del self._sessions[session.key]
                if memory.saves:
                    del memory[session.key]
                self.give(moment, [self.result(session, value) for value in self.account.results(session.state)])
            self.location.drop(moment)
        early = self._early.pop(moment, None)
        if early is not None:
            self._now = moment
            for values in early:
                self._feed(moment, values)
            self.location.drop(self._end_after(moment))

    @override
    def listen(self) -> None:
        # Ends that have been put off stay among the moments until they are reached, or are too many.
        expected = len(self._closing) + len(self._early)
        if len(self.moments) > 2 * expected + 8:
            self.moments = sorted({*self._closing, *self._early})
        super().listen()

    def _feed(self, time: Any, values: Sequence[Any]) -> None:
        end = self._end_after(time)
        memory = self.memory.at(time)
        touched: dict[Hashable, _Session] = {}
        if self._key is None:
            touched[None] = session = self._session(None, time, end)
            self.add([session], values)
        else:
            for value in values:
                name = self._key(value)
                touched[name] = session = self._session(name, time, end)
                self.add([session], [value])
        if memory.saves:
            memory.update({key: (each.start, each.end, each.state, each.number) for key, each in touched.items()})

    def _session(self, key: Hashable, time: Any, end: Any) -> _Session:
        """The session of a key, which goes on until `end`."""
        session = self._sessions.get(key)
        if session is None:
            self._number += 1
            session = self._sessions[key] = _Session(time, end, self.account.new(), key, self._number)
            self._close(session, end)
        elif session.end != end:
            before, session.end = session.end, end
            self._close(session, end)
            del self._closing[before][session.number]
            if not self._closing[before]:
                del self._closing[before]
                self.location.drop(before)
        return session

    def _close(self, session: _Session, end: Any) -> None:
        if end not in self._closing:
            self.location.hold(end)
            self._closing[end] = {}
            self.expect(end)
        self._closing[end][session.number] = session

    @override
    def result(self, window: Open, value: Any) -> Window[Any]:
        assert isinstance(window, _Session), "there are no others here"
        return Window(window.start, window.end, value if self._key is None else (window.key, value))

    def _end_after(self, time: Any) -> Any:
        try:
            if is_total(time) and time < (end := time + self._gap):
                return end
        except (TypeError, OverflowError) as exc:
            self.distrust()
            raise self._refusal(time) from exc
        self.distrust()
        raise self._refusal(time)

    def _refusal(self, time: Any) -> TimeDomainError:
        return refusal(str(self.location), time, self._gap)


@overload
def sessions(gap: Any, *, eager: bool = False) -> Transformer[A, Window[list[A]]]: ...
@overload
def sessions(gap: Any, *, key: Callable[[A], K], eager: bool = False) -> Transformer[A, Window[tuple[K, list[A]]]]: ...
@overload
def sessions(gap: Any, fold: Fold[A, R], *, eager: bool = False) -> Transformer[A, Window[R]]: ...
@overload
def sessions(
    gap: Any, fold: Fold[A, R], *, key: Callable[[A], K], eager: bool = False
) -> Transformer[A, Window[tuple[K, R]]]: ...
def sessions(
    gap: Any,
    fold: Fold[Any, Any] | None = None,
    *,
    key: Callable[[Any], Hashable] | None = None,
    eager: bool = False,
) -> Transformer[Any, Window[Any]]:
    """Windows in event time that last until nothing has come for as long as `gap`, of all values or of each key.

    >>> import pullstream as ps
    >>> clicks = ps.values([1, 3, 4, 20, 24], time=lambda second: second)
    >>> for window in ps.run(ps.pipe(clicks, ps.sessions(5), ps.collect())):
    ...     print(window)
    Window(start=1, end=9, value=[1, 3, 4])
    Window(start=20, end=29, value=[20, 24])

    A session starts at the time of its first value and ends `gap` after that of its last; the next value belongs to it
    if its time is before that end. It is answered at its end, when everything before that is complete: only then is
    it certain that it does not go on. Times are numbers, or dates and datetimes with a `timedelta` as the gap, and come
    in any order: a value waits until everything before its time is complete, so sessions and folds get values in the
    order of their times.

    `fold`, `key` and `eager` are as with `tumbling`; a key has sessions of its own. Sessions that end at one time come
    in the order in which they began. With `eager=True` the result so far names the end so far, and is at that time.

    >>> moves = ps.values([(1, "a"), (2, "b"), (3, "a"), (9, "b")], time=lambda move: move[0])
    >>> for window in ps.run(ps.pipe(moves, ps.sessions(4, ps.agg.count(), key=lambda move: move[1]), ps.collect())):
    ...     print(window)
    Window(start=2, end=6, value=('b', 1))
    Window(start=1, end=7, value=('a', 2))
    Window(start=9, end=13, value=('b', 1))

    Raises:
        TimeDomainError: `gap` cannot be added to a time, or times are only partially ordered.
    """
    duration_argument("sessions", "gap", gap)
    made_argument("sessions", fold, key)
    given = (("fold", fold), ("key", key), ("eager", eager or None))
    options = tuple((name, value) for name, value in given if value is not None)
    return Transformer((Module("sessions", _Sessions, (gap,), options),))

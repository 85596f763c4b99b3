"""`sessions`: windows in event time that last as long as values come close together.

Values go into sessions in the order of their times: those that come before everything earlier is complete wait until
it is. So sessions are only ever prolonged, never joined, and a fold sees values in order. What has a session, or waits
to have one, is held at the end that the session will have at least; while it goes on the hold goes with it.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Annotated, Any, overload

import attrs
from typing_extensions import TypeVar, Unpack, override

from pullstream.blueprint import Key, Transformer
from pullstream.decorators import opens, transformer
from pullstream.engine.interfaces import Resumable
from pullstream.engine.nested.on_error import OnError, catches
from pullstream.engine.parts.accumulator import Accumulator, Told
from pullstream.engine.parts.fold import Fold, a_fold
from pullstream.engine.traits import Carries, Traits
from pullstream.failures import Caught, caught
from pullstream.modules.folds.reduce import FoldOptions
from pullstream.modules.windows.grid import duration, refusal
from pullstream.modules.windows.window import OpenWindow, Window, Windowed
from timely import Delay, TimeDomainError
from timely.order import is_total

A = TypeVar("A")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


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
        self._sessions: dict[Hashable, _Session] = {}
        self._closing: dict[Any, dict[int, _Session]] = {}
        self._early: dict[Any, list[Sequence[Any]]] = {}
        self._now: Any = None
        self._number = 0
        self.traits = attrs.evolve(self.traits, summaries=[Delay(gap)])

    @override
    def restore(self) -> None:
        for key, (start, end, states, number) in self.memory.items():
            session = self._sessions[key] = _Session(start, end, self.accumulator.new(), key, number)
            session.table.update(states)
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
                self.give(moment, self.results(session))
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
        for key, part in self._keyed(values, end):
            session = self._sessions.get(key) or _Session(time, time, self.accumulator.new(), key, self._number + 1)
            answers: Told = []
            try:
                self.accumulator.add((session.table,), part, answers)
            finally:
                # What is left out neither begins a session nor prolongs one.
                if not answers or sum(result.__class__ is Caught for _, result in answers) < len(part):
                    self._prolong(session, end)
                    touched[key] = session
                self.give(end, [self.result(session, result) for _, result in answers])
        if memory.saves:
            memory.update({key: (each.start, each.end, dict(each.table), each.number) for key, each in touched.items()})

    def _keyed(self, values: Sequence[Any], end: Any) -> Iterator[tuple[Hashable, Sequence[Any]]]:
        """The values with their keys, or all at once if there are none."""
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

    def _prolong(self, session: _Session, end: Any) -> None:
        """Let a session, a new one perhaps, go on until `end`."""
        before, session.end = session.end, end
        if session.number > self._number:
            self._number = session.number
            self._sessions[session.key] = session
            self._close(session, end)
        elif before != end:
            self._close(session, end)
            del self._closing[before][session.number]
            if not self._closing[before]:
                del self._closing[before]
                self.location.drop(before)

    def _close(self, session: _Session, end: Any) -> None:
        if end not in self._closing:
            self.location.hold(end)
            self._closing[end] = {}
            self.expect(end)
        self._closing[end][session.number] = session

    @override
    def result(self, window: OpenWindow, value: Any) -> Any:
        assert isinstance(window, _Session), "there are no others here"
        keyed = self._key is not None and value.__class__ is not Caught
        return super().result(window, (window.key, value) if keyed else value)

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
def sessions(gap: Any, **options: Unpack[FoldOptions[A]]) -> Transformer[A, Window[list[A]]]: ...
@overload
def sessions(
    gap: Any, *, key: Callable[[A], K], **options: Unpack[FoldOptions[A]]
) -> Transformer[A, Window[tuple[K, list[A]]]]: ...
@overload
def sessions(gap: Any, fold: Fold[A, R], **options: Unpack[FoldOptions[A]]) -> Transformer[A, Window[R]]: ...
@overload
def sessions(
    gap: Any, fold: Fold[A, R], *, key: Callable[[A], K], **options: Unpack[FoldOptions[A]]
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

    `fold`, `key`, `eager` and `on_error` are as with `tumbling`; a key has sessions of its own, and a value that is
    left out neither begins one nor prolongs it. Sessions that end at one time come
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
    return opens(_Sessions(gap, fold, key=key, eager=eager, on_error=on_error))

"""`join`: pairs the values of two sources by key and time."""

from collections.abc import Callable, Hashable, Iterator
from typing import Annotated, Any, Final, Literal, TypeAlias, TypedDict, Unpack, cast, get_args, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, OneOf, Positive, Source, checks, together
from pullstream.blueprint.variables import A, B
from pullstream.decorators import opens, source
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.parts.fan_in import FanIn, Input
from pullstream.engine.parts.pace import Pace
from pullstream.engine.sidecar.waiting import completion
from pullstream.engine.traits import Traits
from pullstream.errors import Overflow
from pullstream.logger import LOG
from pullstream.modules.combining.join_by_time import AsOf, How, Strategy, owing, place_of_asof
from pullstream.modules.combining.join_pairs import Chunk, Pairing, Side, reach_of
from pullstream.modules.combining.join_state import MatchState, Near
from pullstream.modules.values.on_error import OnError, catches
from pullstream.modules.windows.grid import TIMELESS, duration, timeless
from pullstream.protocol import DONE, WAIT, Batch, Done, Unanswered
from pullstream.timely import BEGINNING

CAPACITY: Final = 1_000_000
"""The default limit on the values that a join keeps of each source."""


class _Join(FanIn):
    traits = Traits(trusted=True, reorders=True)

    def __init__(
        self,
        sources: tuple[Source[Any], Source[Any]],
        keys: tuple[Callable[[Any], Hashable], Callable[[Any], Hashable]],
        how: How = "inner",
        within: Any = None,
        *,
        capacity: int = CAPACITY,
        on_error: object = "fail",
    ) -> None:
        super().__init__(*sources)
        self._catches = catches(on_error)
        self._keys = keys
        self._how: How = how
        self._within = within
        if within is not None:
            self.traits = attrs.evolve(self.traits, lasting=self._last_match, later=True)
        self._capacity = capacity
        self._sides: list[Side] = []
        self._ready = Backlog(self)
        self._work: Iterator[Chunk] | None = None
        self._rest = Backlog()
        self._answered_up_to = 0
        """The position in the current batch up to which all values are done when the pairs made so far are emitted."""
        self._stale = True
        self._turn = 0

    @override
    async def acquire(self) -> None:
        await super().acquire()
        owes = owing(self._how)
        marks = owes[0] or self._how == "semi", owes[1]
        self._sides = [
            Side(
                *each,
                MatchState(marks=marked) if self._within is None else Near(marks=owed),
                pace=Pace(self.run),
                owes=owed,
                marks=marked,
            )
            for each, owed, marked in zip(
                zip(self.all, self.location.ports, self._keys, strict=True), owes, marks, strict=True
            )
        ]
        left, right = self._sides
        left.other, right.other = right, left
        self._pairing = Pairing(self.location, self._sides, self._how, self._within, catches=self._catches)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        while True:
            batch = self._answer(limit)
            if batch is not None:
                return batch
            if self._pairing.failed is not None:
                raise self._pairing.failed
            if not (self._forget() or self._begin()):
                break
        if self.failure_above is not None:
            raise self.failure_above
        if self._over():
            if fault := self._pairing.fault():
                LOG.warning("%s, found no pair: %s", self.location, fault)
            return DONE
        self._ask_sides()
        return WAIT

    @override
    async def release(self) -> None:
        faulty = [number for number, side in enumerate(self._sides, 1) if timeless(side.port.values, side.times)]
        if self._within is not None and faulty:
            LOG.warning(
                "%s with within=, got every value of its source %s at the time 0. %s",
                self.location,
                " and of its source ".join(map(str, faulty)),
                TIMELESS,
            )
        await super().release()

    # ---- answers

    def _answer(self, limit: int) -> Batch[Any] | None:
        """Return the next results: those that are ready, or pairs of the current batch."""
        if self._ready:
            return self._ready.take(limit)
        rest = self._rest
        while rest.left < limit and self._work is not None:
            before, chunk = self._pairing.place, next(self._work, None)
            if chunk is None:
                break
            self._answered_up_to = before
            rest.put(chunk)
        if not rest:
            return None
        answer = rest.take(limit)
        if self._pairing.worked and not rest and self._pairing.failed is None:
            self._finish()
        elif self._work is not None:
            self._go_on()
        return answer

    def _go_on(self) -> None:
        """Acknowledge the values of the current batch whose pairs have all been emitted."""
        each = self._sides[self._turn].each
        if each.times is not None:
            each.used = min(self._answered_up_to if self._rest else self._pairing.place, len(each.head.values) - 1)
            each.settle()

    def _finish(self) -> None:
        """End the current batch: all of its pairs have been emitted."""
        self._work = None
        each = self._sides[self._turn].each
        # After a multi-time batch, many times may have become unmatchable.
        self._stale = self._stale or each.times is not None
        each.drop()

    def _begin(self) -> bool:
        """Take the next batch, if there is one; it is in flight until its results are emitted."""
        if self._work is not None:
            self._finish()
        for number in (1 - self._turn, self._turn):
            if self._sides[number].each:
                self._turn = number
                self._work = self._pairing.of(self._sides[number])
                return True
        return False

    # ---- what is kept

    def _last_match(self, number: int, time: Any) -> list[Any]:
        del number
        return [time if time is BEGINNING else reach_of(self.location, time, self._within)]

    def _forget(self) -> bool:
        """Drop the values that can no longer match anything; True if that gave results."""
        if not self._stale:
            return False
        self._stale = False
        for side in self._sides:
            for time, values in side.kept.forget(side.other.arriving()) if side.kept.size else ():
                if side.owes:
                    if values:
                        self._ready.put(Batch(time, [self._pairing.alone(side, value) for value in values]))
                    if not side.kept.keeps(time):
                        self.location.drop(time)
        return bool(self._ready)

    def _over(self) -> bool:
        over = [side.each.done and not side.kept.size for side in self._sides]
        return all(over) or any(one and not side.other.owes for one, side in zip(over, self._sides, strict=True))

    # ---- asking

    def _ask_sides(self) -> None:
        rooms = [self._capacity - side.kept.size for side in self._sides]
        if max(rooms) <= 0:
            raise Overflow(
                f"{self.location} keeps {self._sides[0].kept.size} and {self._sides[1].kept.size} values of its two "
                f"sources, and its capacity is {self._capacity} for each. A value is dropped once its time is complete "
                f"in the other source: assign times that complete, or raise capacity="
            )
        for side, room in zip(self._sides, rooms, strict=True):
            if room > 0 and not side.each and side.each.ending is None:
                self.ask_beside(side.each.lane, side.pace.next(side.each.lane, at_most=room))

    @override
    def input_answered(self, each: Input) -> None:
        self._sides[each.number].pace.took()
        self._stale = True

    @override
    async def wait(self) -> None:
        """Wait until an answer arrives, or until a kept value can be dropped."""
        watches = [
            completion(self.location, [side.other.port.place], time)
            for side in self._sides
            for time in side.kept.waiting()
        ]
        await self.edge.until(watches, self.awaited())
        self._stale = True


def _keys(call: Call, on: Any) -> Any:
    keys = _pair(on)
    if len(keys) != 2:
        raise call.refuse(f"needs one key or a pair of keys for its argument {call.name!r}, but got {on!r}")
    for key in keys:
        checks.KEYS(call, key)
    return keys[0] if keys[0] is keys[1] else keys


def _pair(given: Any) -> tuple[Any, ...]:
    return cast("tuple[Any, ...]", given) if isinstance(given, tuple) else (given, given)


def _with_at(call: Call) -> None:
    place_of_asof(call, "a function of a value whose results are compared")
    if call["how"] == "asof" and call["within"] is not None:
        raise call.refuse(
            "got within= with how='asof', which pairs values at equal times. Leave within= out, and assign times that "
            "are equal. To limit the distance of a pair by at=, filter the pairs: help(join) has an example"
        )


_On: TypeAlias = Callable[[Any], Hashable] | tuple[Callable[[A], Hashable], Callable[[B], Hashable]]


class _Options(TypedDict, total=False):
    """The options of every join, except `within`."""

    capacity: int
    on_error: OnError[Any]  # not of `A | B`: basedpyright would refuse two sources of the same type


class _Within(_Options, total=False):
    within: Any


@overload
def join(
    left: Source[A],
    right: Source[B],
    *,
    on: _On[A, B],
    how: Literal["inner"] = "inner",
    **options: Unpack[_Within],
) -> Source[tuple[A, B]]: ...


@overload
def join(
    left: Source[A], right: Source[B], *, on: _On[A, B], how: Literal["left"], **options: Unpack[_Within]
) -> Source[tuple[A, B | None]]: ...


@overload
def join(
    left: Source[A], right: Source[B], *, on: _On[A, B], how: Literal["full"], **options: Unpack[_Within]
) -> Source[tuple[A | None, B | None]]: ...


@overload
def join(
    left: Source[A], right: Source[B], *, on: _On[A, B], how: Literal["semi", "anti"], **options: Unpack[_Within]
) -> Source[A]: ...


@overload
def join(
    left: Source[A],
    right: Source[B],
    *,
    on: _On[A, B],
    how: Literal["asof"],
    at: Callable[[Any], Any] | tuple[Callable[[A], Any], Callable[[B], Any]],
    strategy: Strategy = "backward",
    **options: Unpack[_Options],
) -> Source[tuple[A, B | None]]: ...


@source
@together(_with_at)
def join(
    left: Annotated[Source[Any], checks.sources],
    right: Annotated[Source[Any], checks.sources],
    *,
    on: Annotated[Callable[[Any], Hashable] | tuple[Callable[[Any], Hashable], Callable[[Any], Hashable]], _keys],
    how: Annotated[How, OneOf(*get_args(How))] = "inner",
    within: Annotated[Any, duration] = None,
    at: Annotated[Any, _keys] = None,
    strategy: Annotated[Strategy, OneOf(*get_args(Strategy))] = "backward",
    capacity: Positive = CAPACITY,
    on_error: OnError[Any] = "fail",
) -> Source[Any]:
    """Pair the values of two sources that have equal keys and equal (or near) times.

    >>> import pullstream as ps
    >>> orders = ps.values([("tea", 2), ("rice", 1)])
    >>> prices = ps.values([("rice", 5), ("tea", 3)])
    >>> sorted(ps.run(ps.pipe(ps.join(orders, prices, on=lambda row: row[0]), ps.collect())))
    [(('rice', 1), ('rice', 5)), (('tea', 2), ('tea', 3))]

    `on` is a key function, or a pair of them, one for each source. With `how="left"`, a value of the first source
    without a match is paired with None, at its own time, once it is certain that there is no match:

    >>> both = ps.join(orders, ps.values(["rice"]), on=(lambda row: row[0], str), how="left")
    >>> sorted(ps.run(ps.pipe(both, ps.collect())))
    [(('rice', 1), 'rice'), (('tea', 2), None)]

    With `how="full"`, values of the second source without a match are paired, too: (None, value). `how="semi"` and
    `how="anti"` make no pairs. They emit each value of the first source that has a match, at its first one, or each
    value without a match:

    >>> ps.run(ps.pipe(ps.join(orders, ps.values(["rice"]), on=(lambda row: row[0], str), how="anti"), ps.collect()))
    [('tea', 2)]

    `how="asof"` pairs each value of the first source with the nearest one of the second that has the same key and time:
    the last one whose `at` is at or before its own, or None. `at` is a function, or a pair of them. `strategy`
    "forward" looks at or after it, and "nearest" on both sides. The pairs of a time are emitted in the order of `at`,
    when the time is complete in both sources:

    >>> trades, quotes = ps.values([(5, "tea")]), ps.values([(1, "tea", 3), (4, "tea", 6), (7, "tea", 9)])
    >>> options = {"on": lambda row: row[1], "at": lambda row: row[0]}
    >>> ps.run(ps.pipe(ps.join(trades, quotes, how="asof", **options), ps.collect()))
    [((5, 'tea'), (4, 'tea', 6))]

    It takes no `within`. For quotes at most 5 old, filter the pairs: if the nearest value is too far away, so are all
    others.

    >>> near = ps.filter(lambda pair: pair[1] and pair[0][0] - pair[1][0] <= 5)
    >>> ps.run(ps.pipe(ps.join(trades, quotes, how="asof", **options), near, ps.collect()))
    [((5, 'tea'), (4, 'tea', 6))]

    Times match if they are equal or, with `within`, if they are at most that far apart; `within` is a number or a
    `timedelta` that can be added to the times. A pair is emitted as soon as both of its values have arrived, at the
    later of their times. The order of pairs depends on how the sources take turns.

    A value is kept until everything that could match it is complete in the other source. At most about `capacity`
    values are kept of each source: a source that is too far ahead is not asked until the other has caught up. The join
    ends when no more pairs are possible, and aborts the source that is still running (R7). If a source fails, the other
    is ended (R6). Errors in a key are handled as in `map`, except that there is no `on_error="result"`.

    Raises: Overflow: the limit of both sources is reached, and their times do not complete. TimeDomainError: `within`
    cannot be added to a time, or times are only partially ordered.
    """
    keys: Any = _pair(on)
    if how == "asof":
        options: Any = {"capacity": capacity, "catches": catches(on_error)}
        return opens(AsOf((left, right), keys, cast("Any", _pair(at)), strategy, **options))
    return opens(_Join((left, right), keys, how, within, capacity=capacity, on_error=on_error))

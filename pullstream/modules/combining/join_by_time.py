"""The kernel of joins that look at all values of a time, and the as-of join of values."""

from abc import abstractmethod
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Hashable, Iterable, Iterator, Sequence
from itertools import chain
from operator import itemgetter
from typing import Any, Final, Literal, TypeAlias

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Source
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.parts.fan_in import FanIn, Input
from pullstream.engine.parts.pace import Pace
from pullstream.engine.sidecar.waiting import Requests
from pullstream.engine.traits import Traits
from pullstream.errors import Overflow
from pullstream.failures import Caught
from pullstream.logger import LOG
from pullstream.modules.values.on_error import guarded
from pullstream.protocol import DONE, NOT_YET, WAIT, Batch, Done, Unanswered

How: TypeAlias = Literal["inner", "left", "full", "semi", "anti", "asof"]
Strategy: TypeAlias = Literal["backward", "forward", "nearest"]


def owing(how: How) -> tuple[bool, bool]:
    """Whether a join emits unmatched values of the first source, and of the second."""
    return how in {"left", "full", "anti", "asof"}, how == "full"


def place_of_asof(call: Call, wanted: str) -> None:
    """Check that `at=` is given for an as-of join, and for no other."""
    how, at = call["how"], call["at"]
    if (how == "asof") != (at is not None):
        raise call.refuse(f"got how={how!r} and at={at!r}: how='asof', and only that, needs at=, {wanted}")


Both: TypeAlias = tuple[list[Sequence[Any]], list[Sequence[Any]]]
"""The values of both sources at a time, in parts as they arrived."""


class JoinByTime(FanIn):
    """Joins the values of a time when it is complete in both sources.

    A source is not asked while it has more than `ahead` values waiting, and more than the other. `how` decides which
    source may end the join: one that every result needs.
    """

    traits = Traits(trusted=True)

    def __init__(self, both: tuple[Source[Any], Source[Any]], ahead: int, how: How = "full") -> None:
        super().__init__(*both)
        self._ahead = ahead
        self._owes = owing(how)
        self._open: Requests[Both] = Requests()
        """The values that wait until their time is complete in both sources."""
        self._complete: dict[Hashable, Both] = {}
        """The values of complete times, until they are joined."""
        self.sizes = [0, 0]
        """The number of values of each source that are kept."""
        self._ready = Backlog(self)
        self._failure: BaseException | None = None
        self._compared = how != "asof"
        """Whether any time had values of both sources; if none had, an as-of join logs a warning."""

    # ---- what a module supplies

    @abstractmethod
    def joined(self, time: Hashable, left: list[Sequence[Any]], right: list[Sequence[Any]]) -> Sequence[Any]:
        """The results of a time, given its values in parts as they arrived."""

    def all_joined(self, times: Sequence[Hashable]) -> Iterator[Sequence[Any]]:
        """The results of each time; an override may `take` and join several times at once."""
        return (self.joined(time, *self.take(time)) for time in times)

    def converted(self, number: int, values: Sequence[Any]) -> tuple[Sequence[Any], Exception | None]:
        """The values of a source (0 or 1) in the form to keep, up to the first that fails, and its error."""
        del number
        return values, None

    def ready(self) -> bool:
        """Whether complete times can be joined yet; this may change when a source answers."""
        return True

    def most(self) -> int:
        """The most values to ask a source for."""
        return self.run.limit

    # ----

    def take(self, time: Hashable) -> Both:
        """Remove and return the values of both sources at a time."""
        both = self._complete.pop(time)
        for number, parts in enumerate(both):
            self.sizes[number] -= sum(map(len, parts))
        self._compared = self._compared or all(both)
        return both

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self._paces = Pace(self.run, self.most()), Pace(self.run, self.most())

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if self._ready:
            return self._ready.take(limit)
        try:
            if self._join_complete():
                return NOT_YET
        except BaseException as exc:  # noqa: BLE001 - raised after the results before it
            self._failure = exc
            self._open.clear()
            return NOT_YET
        if self._failure is not None:
            raise self._failure
        failures = [self._keep(each) for each in self.all if each]
        self._failure = next(filter(None, failures), None)
        if self._failure is not None or (failures and self.failure_above is not None):
            return NOT_YET
        if self.failure_above is not None:
            raise self.failure_above
        if self._over():
            if not self._compared and all(port.values for port in self.location.ports):
                LOG.warning(
                    "%s, found no pair: how='asof' compares values at equal times only, and its sources have no time "
                    "in common. Give both coarser times with map_time(...), such as days; map_time(lambda _: 0) "
                    "compares all values, when both sources have ended",
                    self.location,
                )
            return DONE
        return WAIT if self._ask() else NOT_YET

    @override
    def wait(self) -> Awaitable[None]:
        return self.until_complete(self._open.first if self.ready() else ())

    def _over(self) -> bool:
        left, right = (each.done and not size for each, size in zip(self.all, self.sizes, strict=True))
        return (left and right) or (left and not self._owes[1]) or (right and not self._owes[0])

    def _join_complete(self) -> bool:
        """Join the times that are complete; True if there were any."""
        if not self.ready():
            return False
        fronts = [each.lane.arriving() for each in self.all if not each.done]
        self._complete = self._open.pop_over(lambda time: any(front.less_equal(time) for front in fronts))
        times = [*self._complete]
        for time, made in zip(times, self.all_joined(times), strict=True):
            if made:
                self._ready.put(Batch(time, made))
            self.location.drop(time)
        return bool(times)

    def _keep(self, each: Input) -> BaseException | None:
        """Keep the values of a batch; return the error of the first that fails."""
        try:
            values, failure = self.converted(each.number, each.head.values)
        except BaseException as exc:  # noqa: BLE001 - raised after the results before it
            return exc
        begin = 0
        for run in each.head.runs():
            if begin == len(values):
                break
            if run.time not in self._open:
                self.location.hold(run.time)
                self._open[run.time] = [], []
            part = values[begin : begin + len(run.values)]
            self._open[run.time][each.number].append(part)
            begin += len(part)
        self.sizes[each.number] += begin
        if failure is None:
            each.drop()
        else:
            # The value that fails, and those after it, stay in flight.
            each.used = begin
            each.settle()
        return failure

    def _ask(self) -> bool:
        """Ask the sources, except one that is far ahead; True if no answer has arrived."""
        for each, other, pace in zip(self.all, reversed(self.all), self._paces, strict=True):
            near = self.sizes[each.number] <= max(self._ahead, self.sizes[other.number]) or other.ending is not None
            if near and each.ending is None and not self.asked(each):
                self.ask_beside(each.lane, pace.next(each.lane))
        return not any(self.all)

    @override
    def input_answered(self, each: Input) -> None:
        self._paces[each.number].took()


@attrs.frozen
class _Places:
    """Reads the key and the place of a value."""

    key: Callable[[Any], Hashable]
    at: Callable[[Any], Any]

    def __call__(self, value: Any) -> tuple[Hashable, Any]:
        key = self.key(value)
        hash(key)
        return key, self.at(value)


_AT: Final = itemgetter(1)


def _ordered(at: Any) -> bool:
    """Whether a place can be compared with others: NaN, which does not equal itself, has no order."""
    return at == at  # noqa: PLR0124


class AsOf(JoinByTime):
    """Pairs each value of the first source with the nearest of the second."""

    def __init__(
        self,
        both: tuple[Source[Any], Source[Any]],
        keys: tuple[Callable[[Any], Hashable], Callable[[Any], Hashable]],
        at: tuple[Callable[[Any], Any], Callable[[Any], Any]],
        strategy: Strategy,
        *,
        capacity: int,
        catches: bool,
    ) -> None:
        super().__init__(both, capacity, "asof")
        self._capacity, self._strategy = capacity, strategy
        read = [_Places(*each) for each in zip(keys, at, strict=True)]
        self._read: list[Callable[[Any], Any]] = [*map(guarded, read)] if catches else [*read]

    @override
    def converted(self, number: int, values: Sequence[Any]) -> tuple[Sequence[Any], Exception | None]:
        if min(self.sizes) >= self._capacity:
            sizes = " and ".join(map(str, self.sizes))
            raise Overflow(
                f"{self.location} keeps {sizes} values of its two sources, and its capacity is {self._capacity} for "
                f"each. Values are kept until their time is complete: assign times that complete, or raise capacity="
            )
        return values, None

    @override
    def joined(self, time: Hashable, left: list[Sequence[Any]], right: list[Sequence[Any]]) -> Sequence[Any]:
        marks: list[Any] = []
        found: dict[Hashable, tuple[list[Any], list[Any]]] = {}
        for key, at, value in self._placed(1, right, marks):
            if _ordered(at):
                ats, values = found.setdefault(key, ([], []))
                ats.append(at)
                values.append(value)
        nothing: tuple[list[Any], list[Any]] = [], []
        placed = self._placed(0, left, marks)
        return [*marks, *((value, self._nearest(at, *found.get(key, nothing))) for key, at, value in placed)]

    def _placed(self, number: int, parts: Iterable[Sequence[Any]], marks: list[Any]) -> list[tuple[Hashable, Any, Any]]:
        """The keys, places and values of a source, sorted by the place; `marks` gets the failures."""
        read = self._read[number]
        found: list[tuple[Hashable, Any, Any]] = []
        last: list[tuple[Hashable, Any, Any]] = []
        for value in chain.from_iterable(parts):
            place = read(value)
            if place.__class__ is Caught:
                marks.append(place)
            else:
                (found if _ordered(place[1]) else last).append((*place, value))
        return [*sorted(found, key=_AT), *last]

    def _nearest(self, at: Any, ats: list[Any], values: list[Any]) -> Any:
        """The value at the nearest place; None if there is none."""
        if not _ordered(at):
            return None
        before, after = bisect_right(ats, at) - 1, bisect_left(ats, at)
        earlier = before >= 0 and self._strategy != "forward"
        later = after < len(ats) and self._strategy != "backward"
        if later and self._strategy == "nearest":
            later = not earlier or ats[after] - at <= at - ats[before]
            # Of several values at one place, the last one counts, as in the other direction.
            after = bisect_right(ats, ats[after]) - 1
        return values[after] if later else values[before] if earlier else None

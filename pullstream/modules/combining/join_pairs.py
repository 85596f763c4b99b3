"""The pairs that `join` makes from a batch of one side and the kept values of the other."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice, pairwise, repeat
from operator import add
from typing import Any, Final, cast

import attrs

from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.pace import Pace
from pullstream.engine.sidecar.location import Location, Port
from pullstream.failures import Caught, caught
from pullstream.frames import shown
from pullstream.modules.combining.join_state import MatchState, Near, ValuesByKey
from pullstream.modules.folds.accumulator import keys_of
from pullstream.modules.windows.grid import refusal
from pullstream.protocol import DONE, Batch
from pullstream.timely import Antichain, TimeDomainError
from pullstream.timely.order import is_total

SAMPLE: Final = 64
"""The number of keys to keep of each side until there is a pair, to explain why there is none."""

MANY: Final = 256
"""The number of pairs to make before they are emitted."""

Chunk = Batch[tuple[Any, Any]]

_NOBODY: Final = (None,)


@attrs.define(eq=False, slots=False)
class Side:
    """A source of the join, with its kept values."""

    each: Input
    port: Port
    key: Callable[[Any], Hashable]
    kept: MatchState | Near
    pace: Pace
    owes: bool
    """Whether values without a match are emitted, too."""
    marks: bool
    """Whether it matters which values have had a match."""
    times: set[Any] = attrs.field(factory=set[Any], init=False)
    """Times of its first values: enough to tell whether there is more than one."""
    sample: dict[Hashable, Any] = attrs.field(factory=dict[Hashable, Any], init=False)
    """Some of its keys, each with a time."""
    other: "Side" = attrs.field(init=False)

    def arriving(self) -> Antichain[Any]:
        """Return the frontier of the times that may still arrive."""
        if self.each.ending is DONE:
            return Antichain(self.each.least)
        return self.each.lane.arriving()


class Pairs:
    """Pairs that have been made, each with its time."""

    def __init__(self) -> None:
        self.pairs: list[Any] = []
        self.times: list[Any] = []

    def take(self, time: Any, pairs: Iterable[Any]) -> bool:
        """Take pairs at a time until there are `MANY`; True if these were all of them."""
        before = len(self.pairs)
        try:
            self.pairs += islice(pairs, max(1, MANY - before))
        finally:
            self.times += [time] * (len(self.pairs) - before)
        return len(self.pairs) < MANY

    def add(self, times: Sequence[Any], pairs: Sequence[Any]) -> None:
        """Add pairs, each with its time."""
        self.times += times
        self.pairs += pairs

    def chunk(self) -> Chunk:
        """Remove and return all pairs."""
        chunk = Batch.of(self.times, self.pairs)
        self.pairs, self.times = [], []
        return chunk


class Pairing:
    """Makes the pairs of a batch, value by value, because each may be emitted or acknowledged alone."""

    def __init__(self, location: Location, sides: Sequence[Side], how: str, within: Any, *, catches: bool) -> None:
        self._location = location
        self._sides = sides
        self._how = how
        self._within = within
        self._catches = catches
        self.place = 0
        """The position of the current value in the current batch."""
        self.worked = False
        """Whether all pairs of the current batch have been made."""
        self.failed: BaseException | None = None
        """The failure after which no pairs are made."""
        self._matched = within is not None
        """Whether there was a pair; always true with `within`."""

    def fault(self) -> str:
        """Return why there was no pair, and what to do; "" if there was one, or if no mistake explains it."""
        one, two = (side.sample for side in self._sides)
        if self._matched or not (one and two):
            return ""
        for key in one.keys() & two.keys():
            return (
                f"only values at equal times are paired, and the key {shown(key)} is at {one[key]!r} in source 1 and "
                f"at {two[key]!r} in source 2. Allow a distance with within=, or equal times with map_time(...)"
            )
        types = [{type(key).__name__ for key in keys} for keys in (one, two)]
        if types[0].isdisjoint(types[1]):
            return (
                f"the keys of source 1 are of type {', '.join(types[0])}, like {shown(next(iter(one)))}, and those of "
                f"source 2 of type {', '.join(types[1])}, like {shown(next(iter(two)))}. Give on= a pair of functions"
            )
        return ""

    def of(self, side: Side) -> Iterator[Chunk]:
        """Make the pairs of the current batch of a side, in chunks; a failure is kept in `failed`."""
        self.place, self.worked = 0, False
        return self._parts(side)

    def _parts(self, side: Side) -> Iterator[Chunk]:
        made = Pairs()
        make = self._at_once if self._within is None else self._near
        try:
            yield from make(side, made)
        except GeneratorExit:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised after the pairs before it
            self.failed = exc
        else:
            self.place = len(side.each.head.values)
        self.worked = True
        if made.pairs:
            yield made.chunk()

    def _at_once(self, side: Side, made: Pairs) -> Iterator[Chunk]:
        """Make the pairs of a batch whose values match those at the same time, with a few calls per time."""
        batch, arriving = side.each.head, side.other.arriving()
        values = batch.values
        changes = batch.changes
        kept, others = cast("tuple[MatchState, MatchState]", (side.kept, side.other.kept))
        for start, end in pairwise((0, *changes, len(values))):
            begin = start
            time = batch.time if batch.uniform else batch.times[start]
            if len(side.times) < 2:
                side.times.add(time)
            keep = arriving.less_equal(time)
            while begin < end:
                self.place = begin
                keys, wrong = keys_of(side.key, values[begin:end])
                some = values[begin : begin + len(keys)]
                there = others.at(time)
                if not self._matched:
                    self._matched = there is not None and not there.keys().isdisjoint(keys)
                    if len(side.sample) < SAMPLE:
                        side.sample.update(dict.fromkeys(keys[:SAMPLE], time))
                pairs = self._matches(side, keys, some, there or {}, time, keep=keep)
                while not made.take(time, pairs):
                    yield made.chunk()
                if there is not None:
                    others.match(time, keys)
                if keep and keys:
                    if kept.add(time, keys, some) and side.owes:
                        self._location.hold(time)
                    if there is not None and side.marks:
                        kept.match(time, there.keys() & keys)
                begin += len(keys)
                if wrong is not None:
                    made.take(time, [self._mark(*wrong)])
                    begin += 1

    def alone(self, side: Side, value: Any) -> Any:
        """The result of a value without a match."""
        if self._how == "anti":
            return value
        return (value, None) if side is self._sides[0] else (None, value)

    def _mark(self, value: Any, failure: BaseException) -> Caught:
        """Mark a value whose key has failed; raise the failure if it is not caught."""
        if not (self._catches and isinstance(failure, Exception)):
            raise failure
        return caught(value, failure)

    def _matches(
        self,
        side: Side,
        keys: Sequence[Hashable],
        values: Sequence[Any],
        there: ValuesByKey,
        time: Any,
        *,
        keep: bool,
    ) -> Iterator[Any]:
        """Pair values with the kept values at their time. Each pair is made when it is taken."""
        each, is_left = zip(values, keys, strict=True), side is self._sides[0]
        nobody = _NOBODY if side.owes and not keep else ()
        if not (there or nobody):
            return iter(())
        if self._how == "anti":
            return (value for value, key in each if key not in there) if nobody else iter(())
        if self._how == "semi":
            if is_left:
                return (value for value, key in each if key in there)
            matched = cast("MatchState", side.other.kept).matched(time)
            new = (key for key in dict.fromkeys(keys) if key in there and key not in matched)
            return (value for key in new for value in there[key])
        found = zip(values, map(there.get, keys, repeat(nobody)), strict=False)
        if is_left:
            return ((value, match) for value, matches in found if matches for match in matches)
        return ((match, value) for value, matches in found if matches for match in matches)

    def _near(self, side: Side, made: Pairs) -> Iterator[Chunk]:
        """Make the pairs of a batch whose values match those at nearby times."""
        batch = side.each.head
        values, times = batch.values, [*batch.times]
        if len(side.times) < 2:
            side.times.update(times)
        reaches, refused = self._reaches(batch)
        keeps = [*map(side.other.arriving().less_equal, reaches)]
        begin = 0
        while begin < len(reaches):
            self.place = begin
            keys, wrong = keys_of(side.key, values[begin : len(reaches)])
            end = begin + len(keys)
            part = keys, times[begin:end], reaches[begin:end], values[begin:end], keeps[begin:end]
            yield from self._nearest(side, made, begin, part)
            begin = end
            if wrong is not None:
                self.place = begin
                made.add((times[begin],), [self._mark(*wrong)])
                begin += 1
        if refused is not None:
            self.place = begin
            raise refused

    def _nearest(
        self,
        side: Side,
        made: Pairs,
        begin: int,
        part: tuple[Sequence[Hashable], Sequence[Any], Sequence[Any], Sequence[Any], Sequence[bool]],
    ) -> Iterator[Chunk]:
        """Make the pairs of a part of a batch, from `begin` on, and keep the values that may match more.

        `part` has the keys, the times, the last times that match, the values, and whether to keep each.
        """
        keys, times, reaches, values, keeps = part
        rows = cast("Near", side.other.kept).rows
        is_left, owes, marks = side is self._sides[0], side.owes, side.other.marks
        once, never = self._how == "semi", self._how == "anti"
        matched = bytearray(len(keys))
        entries = zip(keys, times, reaches, values, matched, keeps, strict=True)
        kept = 0
        pairs, pair_times = made.pairs, made.times
        for place, (time, reach, row) in enumerate(zip(times, reaches, map(rows.get, keys), strict=True)):
            if row is not None:
                first = bisect_left(row.reaches, time, row.begin)
                last = bisect_right(row.times, reach, first)
                if first < last:
                    matched[place] = 1
                    value = values[place]
                    if once and is_left:
                        made.add((max(time, row.times[first]),), [value])
                    elif once:
                        new = [each for each in range(first, last) if not row.matched[each]]
                        made.add([max(time, row.times[each]) for each in new], [row.values[each] for each in new])
                    elif not never:
                        # Most values match a few: for those, this is the fastest way.
                        for match in row.values[first:last]:
                            pairs.append((value, match) if is_left else (match, value))
                        for other in row.times[first:last]:
                            pair_times.append(other if other > time else time)  # noqa: FURB136 - a call costs more
                    if marks:
                        row.matched[first:last] = b"\1" * (last - first)
                    if len(pairs) > MANY:
                        self._keep(side, islice(entries, place + 1 - kept))
                        kept = place + 1
                        self.place = begin + place
                        yield made.chunk()
                        pairs, pair_times = made.pairs, made.times
                    continue
            if owes and not keeps[place]:
                made.add((time,), [self.alone(side, values[place])])
        self._keep(side, entries)

    def _keep(self, side: Side, entries: Iterable[tuple[Hashable, Any, Any, Any, int, bool]]) -> None:
        for time in cast("Near", side.kept).add(entries):
            self._location.hold(time)

    def _reaches(self, batch: Batch[Any]) -> tuple[list[Any], BaseException | None]:
        """Compute the last time that each value matches, up to the first without one; return its refusal, too."""
        reaches: list[Any] = []
        if batch.in_one_order:
            with suppress(TypeError, OverflowError):
                reaches += map(add, batch.times, repeat(self._within))
        try:
            for time in islice(batch.times, len(reaches), None):
                reaches.append(reach_of(self._location, time, self._within))
        except TimeDomainError as refused:
            return reaches, refused
        return reaches, None


def reach_of(location: Location, time: Any, within: Any) -> Any:
    """Compute the last time that a value at `time` matches."""
    try:
        # NumPy's integers wrap around.
        if is_total(time) and time <= (reach := time + within):
            return reach
    except (TypeError, OverflowError) as exc:
        raise refusal(str(location), time, within) from exc
    raise refusal(str(location), time, within)

"""The operators with state: arrangements and joins act at once, the others when a time is complete."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, final

from typing_extensions import override

from pullstream.authoring import Site
from pullstream.incremental.errors import DivergenceError, MultiplicityError
from pullstream.incremental.parts import Changes, Listener, Parts, TakeParts, remedy
from pullstream.incremental.region import Iteration, Operator, Region
from pullstream.incremental.trace import KeyedTrace, Time

Compute = Callable[[Any, dict[Any, int]], Mapping[Any, int]]
"""A function from a key and the counts of its values to records and their counts."""

Due = dict[Hashable, "set[Any] | None"]
"""Keys to recompute, each with the values that have changed; None if these are unknown."""


class Arrangement:
    """The changes of a collection of pairs by key, stored once for all its joins.

    Two changes that follow from the same one must meet exactly once in a join, whatever paths they took. Therefore the
    joins that have this arrangement on the left are called before a change is stored, in the order in which they were
    made. Those that have it on the right are called afterwards, in reverse order. The results of a change in one join
    then meet the change in the next join if, and only if, they have not met it yet.
    """

    def __init__(self, trace: KeyedTrace, parts: Parts) -> None:
        self.trace = trace
        self._parts = parts
        self.lefts: list[TakeParts] = []
        self.rights: list[TakeParts] = []

    def take(self, time: Time, changes: Changes) -> None:
        """Store changes and pass them to the joins."""
        parts = [*self._parts(changes)]
        for meet in self.lefts:
            meet(time, parts)
        add = self.trace.add
        for key, value, diff in parts:
            add(key, value, time, diff)
        for meet in reversed(self.rights):
            meet(time, parts)


class JoinByKey:
    """Pairs the changes of one side with all changes of the other; each pair at the join of both times."""

    def __init__(self, region: Region, make: Callable[[Any, Any, Any], Any], give: Listener) -> None:
        self._order = region.order
        self._make = make
        self._give = give

    def place(self, left: Arrangement, right: Arrangement, noted: Callable[[TakeParts], TakeParts]) -> None:
        """Listen to both sides. `noted` adds the name of the join to failures."""
        make = self._make
        left.lefts.append(noted(lambda time, parts: self._meet(time, parts, right.trace, make)))
        right.rights.append(
            noted(lambda time, parts: self._meet(time, parts, left.trace, lambda k, w, v: make(k, v, w)))
        )

    def _meet(
        self, time: Time, parts: list[tuple[Any, Any, int]], trace: KeyedTrace, make: Callable[[Any, Any, Any], Any]
    ) -> None:
        now: Changes = []
        later: dict[Time, Changes] = {}
        join = self._order.join
        for key, value, diff in parts:
            trace.compact(key)
            for (other, then), weight in trace.of(key):
                made = make(key, value, other), diff * weight
                if then == time or (both := join(then, time)) == time:
                    now.append(made)
                else:
                    later.setdefault(both, []).append(made)
        if now:
            self._give(time, now)
        for both, changes in later.items():
            self._give(both, changes)


class Reduce(Operator):
    """Computes a result from all values of a key, again at each time at which it may differ.

    These are the times of changes, and their joins with the times at which the key changed before: at such a join both
    changes are present for the first time.
    """

    def __init__(
        self,
        region: Region,
        site: Site,
        verb: str,
        compute: Compute,
        give: Listener,
        *,
        inputs: KeyedTrace | None = None,
    ) -> None:
        super().__init__(region, site, verb)
        self._compute = compute
        self._give = give
        self.inputs = region.keep(KeyedTrace(region.order) if inputs is None else inputs)
        self._outputs = region.keep(KeyedTrace(region.order))
        self._due: dict[Time, Due] = {}
        self._joins = region.depth > 0 or region.order.compacts

    def take(self, time: Time, parts: Iterable[tuple[Any, Any, int]]) -> None:
        """Store changes by key; the keys are recomputed when the time is complete."""
        add, due = self.inputs.add, self.due_at(time)
        for key, value, diff in parts:
            add(key, value, time, diff)
            due[key] = None

    def due_at(self, time: Time) -> Due:
        """The keys to recompute when a time is complete, for adding keys; schedules the time."""
        due = self._due.get(time)
        if due is None:
            due = self._due[time] = {}
            self.region.schedule(self, time)
        return due

    @override
    def work(self, time: Time) -> None:
        changes: Changes = []
        inputs, outputs = self.inputs, self._outputs
        for key, changed in self._due.pop(time, _NO_KEYS).items():
            inputs.compact(key)
            outputs.compact(key)
            made = self._made(key, time, changed)
            before = outputs.at(key, time)
            if made != before:
                new = [(record, -count) for record, count in before.items() if record not in made]
                new += [(record, diff) for record, count in made.items() if (diff := count - before.get(record, 0))]
                for record, diff in new:
                    outputs.add(key, record, time, diff)
                changes += new
            if self._joins:
                self._look_again(key, time, changed)
        if changes:
            self._give(time, changes)

    def _made(self, key: Any, time: Time, changed: set[Any] | None) -> Mapping[Any, int]:
        try:
            counts = self.counted(key, time, changed)
            return self._compute(key, counts) if counts else _NOTHING
        except MultiplicityError:
            raise
        except Exception as exc:
            exc.add_note(f"in {self.verb}() at {self.site}, for {key!r}{remedy(exc)}")
            raise

    def counted(self, key: Any, time: Time, changed: set[Any] | None) -> dict[Any, int]:
        """Count how often each of a key's values is present, as far as the result depends on it.

        `changed` has the values whose counts may have changed; None means that any may have.
        """
        del changed
        counts = self.inputs.at(key, time)
        if counts and (min(counts.values()) < 0 or SUM in counts):
            self.check_counts(key, counts)
        return counts

    def _look_again(self, key: Hashable, time: Time, changed: set[Any] | None) -> None:
        join = self.region.order.join
        for trace in (self.inputs, self._outputs):
            for then in trace.times(key):
                if then != time and (both := join(then, time)) != time:
                    due = self.due_at(both)
                    known = None if changed is None else due.setdefault(key, set())
                    if changed is None or known is None:
                        due[key] = None
                    else:
                        known |= changed

    def check_counts(self, key: Any, counts: Mapping[Any, int]) -> None:
        """Check that no count is negative; raises `MultiplicityError` for one."""
        for value, count in counts.items():
            # For a sum, only the number of a key's values is known.
            if (count < 0 and value is not SUM) or (value is SUM and counts.get(ITSELF, 0) < 1):
                raise MultiplicityError(
                    f"{self.verb}() at {self.site}: {key if value is ITSELF else (key, value)!r} has the count {count} "
                    f"at a complete time: it was removed more often than it was added. Check the changes that remove it"
                )


class Together(Operator):
    """Emits the changes of a time together when it is complete, without those that cancel out."""

    def __init__(self, region: Region, site: Site, give: Listener, verb: str = "consolidate") -> None:
        super().__init__(region, site, verb)
        self._give = give
        self._kept: dict[Time, dict[Hashable, int]] = {}

    def take(self, time: Time, changes: Changes, sign: int = 1) -> None:
        """Keep changes until the time is complete."""
        kept = self._kept.setdefault(time, {})
        for record, diff in changes:
            kept[record] = kept.get(record, 0) + sign * diff
        self.region.schedule(self, time)

    @override
    def work(self, time: Time) -> None:
        if changes := [(record, diff) for record, diff in self._kept.pop(time, _NOTHING).items() if diff]:
            self.emit(time, changes)

    def emit(self, time: Time, changes: Changes) -> None:
        """Emit the changes of a time; there is at least one."""
        self._give(time, changes)


class Delay(Together):
    """The feedback of a loop: passes the changes of one round together to the next."""

    def __init__(self, loop: Iteration, give: Listener) -> None:
        super().__init__(loop.body, loop.site, give, "iterate")
        self._loop = loop

    @override
    def take(self, time: Time, changes: Changes, sign: int = 1) -> None:
        super().take((*time[:-1], time[-1] + 1), changes, sign)

    @override
    def names(self, time: Time) -> list[str]:
        return [f"round {time[-1]}"]

    @override
    def emit(self, time: Time, changes: Changes) -> None:
        if time[-1] > self._loop.limit:
            raise DivergenceError(
                f"the iteration at {self.site} still changes after {self._loop.limit} rounds: {changes[0][0]!r}, for "
                f"example. Make its body converge, for example with min() or distinct(), or allow more with rounds="
            )
        super().emit(time, changes)


@final
class Mark:
    """A value that no record can have. Unpickling it from a journal gives the same object."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    @override
    def __reduce__(self) -> str:
        return self._name

    @override
    def __repr__(self) -> str:
        return self._name


ITSELF: Final = Mark("ITSELF")
"""The value used where the key is the whole record."""

SUM: Final = Mark("SUM")
"""The value that stands for all values of a key; its count is their sum."""

_NOTHING: Final[Mapping[Any, int]] = {}
_NO_KEYS: Final[Due] = {}


def records(changes: Changes) -> Iterable[tuple[Hashable, Hashable, int]]:
    """Split changes so that the whole record is the key."""
    for record, diff in changes:
        yield record, ITSELF, diff

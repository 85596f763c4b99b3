"""A program of collections as a module: changes in, what changes by them out, time by time."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any, cast, overload

from typing_extensions import TypeVar, override

import pullstream as ps
from pullstream.authoring import Call, Carries, Notified, Resumable, Traits, minimal, opens
from pullstream.errors import JournalError
from pullstream.incremental.changes import following
from pullstream.incremental.collection import Collection
from pullstream.incremental.program import ONE, Dataflow, Program, inputs_of
from pullstream.incremental.saving import Saved, Saving
from pullstream.incremental.trace import LatticeOrder, RoundOrder
from pullstream.timely import BEGINNING
from pullstream.timely.order import is_total

A = TypeVar("A", bound=Hashable)


class _Maintaining(Notified, Resumable):
    """Keeps the changes of a time until it is complete, and then has the program deal with all of them."""

    traits = Traits(trusted=True, carries=Carries.MEMORY)

    def __init__(self, program: Program) -> None:
        super().__init__()
        self._program = program
        self._names = inputs_of(program)
        self._changes: dict[Hashable, dict[str, list[tuple[Any, int]]]] = {}
        self._flow: Dataflow | None = None
        self._lattice: LatticeOrder | None = None
        self._last: Hashable = BEGINNING
        self._saving: list[Saving] = []
        self._awaited: set[Hashable] = set()

    @override
    def receive(self, time: Hashable, values: Sequence[Any]) -> None:
        self._await(time)
        here = self._changes.setdefault(time, {})
        for value in values:
            name, record, diff = self._change(value)
            here.setdefault(name, []).append((record, diff))

    def _await(self, time: Hashable) -> None:
        if time not in self._awaited:
            self._awaited.add(time)
            self.notify(time, time)
            self.location.holders = self._holders

    def _holders(self, time: Hashable) -> Sequence[str]:
        """Holders of a time, by names: inputs that change at it, and operators to which something of it has come."""
        names = [*self._changes.get(time, ())]
        if self._flow is not None and self._lattice is not None:
            names += self._flow.names((time,))
        return names

    def _change(self, value: Any) -> tuple[str, Any, int]:
        """The parts of a change."""
        names = self._names
        try:
            name, record, diff = (names[0], *value) if len(names) == 1 else value
        except (TypeError, ValueError):
            raise TypeError(
                f"{value!r} is no change: this program takes "
                + ("(record, diff)" if len(names) == 1 else f"(name, record, diff), with a name of {', '.join(names)}")
            ) from None
        if name not in names:
            raise ValueError(f"{value!r} changes {name!r}, and this program takes {', '.join(names)}")
        if type(diff) is not int:
            raise TypeError(f"{value!r} changes by {diff!r}: how often a record comes, or goes, is a whole number")
        try:
            hash(record)
        except TypeError as exc:
            raise TypeError(f"{record!r} cannot be a record, for it has no hash: make it a tuple, or frozen") from exc
        return name, record, diff

    @override
    def complete(self, time: Hashable) -> None:
        flow = self._flow or self._begin(time)
        self._awaited.discard(time)
        place = () if self._lattice is None else (time,)
        if self._lattice is None:
            # They were in one order when they began, and what they left behind was added up by that.
            self._last = following(self.location, self._last, time)
        else:
            self._lattice.reach(minimal([*self.upstream.arriving(), *self._awaited, time]))
        for name, changes in self._changes.pop(time, {}).items():
            flow.take(name, place, changes)
        out = flow.run(place)
        for other in flow.times:
            # Where two times that are beside one another have both come there may be more to say.
            self._await(other[0])
        if self.memory.saves:
            memory = self.memory.at(time)
            for saving in self._saving:
                saving.save(memory)
        self.give(time, [(record, diff) for _, record, diff in out] if flow.outputs == [ONE] else out)

    def _begin(self, time: Hashable) -> Dataflow:
        if not is_total(time):
            if self.memory.saves:
                raise JournalError(
                    f"{self.location}, keeps a state from time to time, and no journal can save it as of a time like "
                    f"{time!r}, which has others beside it: map_time(f) to times that are in one order"
                )
            self._lattice = LatticeOrder()
        return self._made()

    def _made(self) -> Dataflow:
        self._flow = Dataflow(self._program, self._lattice or RoundOrder())
        if self.memory.saves:
            self._saving = [Saving(number, trace) for number, trace in enumerate(self._flow.region.traces)]
        return self._flow

    @override
    def restore(self) -> None:
        if not self.memory:
            return
        self._made()
        saved: dict[tuple[int, Hashable], dict[int, Saved]] = {}
        for (number, key, slot), changes in cast("Mapping[tuple[int, Hashable, int], Saved]", self.memory).items():
            saved.setdefault((number, key), {})[slot] = changes
        for (number, key), slots in saved.items():
            self._saving[number].restore(key, slots)


def _program(call: Call, program: Any) -> Any:
    if not callable(program):
        raise call.refuse(f"needs a program, a function from collections to collections, and got {program!r}")
    Dataflow(program, RoundOrder())
    return program


@overload
def maintain(program: Callable[..., Collection[A]]) -> ps.Transformer[Any, tuple[A, int]]: ...
@overload
def maintain(program: Callable[..., dict[str, Collection[Any]]]) -> ps.Transformer[Any, tuple[str, Any, int]]: ...
@ps.transformer
def maintain(program: Annotated[Program, _program]) -> ps.Transformer[Any, Any]:
    """Maintain what a program makes of collections while these change: changes in, and what changes by them out.

    A change is `(record, diff)`: the record comes so often or, below 0, goes. Where the program has several inputs it
    is `(name, record, diff)`, with the name of a parameter; where it gives a dict of collections, what comes out has
    the names of that.

    >>> import pullstream as ps
    >>> from pullstream.incremental import maintain
    >>> def words(lines):
    ...     return lines.flat_map(str.split).count()
    >>> changes = ps.values([(0, "a b a", 1), (1, "b", 1), (2, "a b a", -1)], time=lambda change: change[0])
    >>> changes = ps.pipe(changes, ps.map(lambda change: change[1:]))
    >>> for time, change in ps.run(ps.pipe(changes, maintain(words), ps.collect(timed=True))):
    ...     print(time, change)
    0 (('a', 2), 1)
    0 (('b', 1), 1)
    1 (('b', 1), -1)
    1 (('b', 2), 1)
    2 (('a', 2), -1)
    2 (('b', 2), -1)
    2 (('b', 1), 1)

    The changes of a time come when it is complete, and those that cancel not at all. What it costs is what changes, in
    the input and in all that the program makes of it, and not what there is. Times may be of any order; where two are
    beside one another, what comes of both together comes at their join. Everything that may still change is kept: the
    records of what is joined, reduced, counted and iterated, by key; with a journal it is saved, by key.

    What holds a time, `Progress.explain` and the display tell by the program's own names: the inputs that change at it;
    and, where two times have to meet, the verbs that have something to say of both, with the loops around them.

    The program is called with collections, once to look at it and once a run, and calls no more than their verbs;
    functions that it gives them say the same of the same record each time. A parameter with a default is its own.

    Raises:
        CompositionError: the program takes or gives something else than collections.
        CapabilityError: times that were in one order when they began come beside one another.
        MultiplicityError: when a time is complete a record has gone more often than it came; found by the verbs that
            count, reduce or tell apart, while the others pass on what they are given.
        DivergenceError: an iteration has no end.
        TypeError: a change is none, or its record has no hash.
    """
    return opens(_Maintaining(program))

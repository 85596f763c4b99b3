"""A program of collections as a module: changes of its input in, changes of its output out, time by time."""

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Annotated, Any, Final, cast, overload

from typing_extensions import TypeVar, override

import pullstream as ps
from pullstream.authoring import Call, Carries, Notified, Resumable, Site, Traits, minimal, opens
from pullstream.errors import CompositionError, JournalError
from pullstream.incremental.collection import Collection
from pullstream.incremental.operators import Together
from pullstream.incremental.parts import Changes
from pullstream.incremental.region import Region
from pullstream.incremental.saving import Saved, Saving
from pullstream.incremental.trace import LatticeOrder, Order, Time
from pullstream.modules.times.per_time import following
from pullstream.protocol import Batch
from pullstream.timely import BEGINNING
from pullstream.timely.order import is_total

Program = Callable[..., Any]

ONE: Final = ""
"""The name of a single output."""


class Dataflow:
    """A program with its state.

    >>> from pullstream.incremental.trace import Order
    >>> flow = Dataflow(lambda words: words.count(), Order())
    >>> flow.take("words", (), [("a", 1), ("b", 1), ("a", 1)])
    >>> flow.run(())
    [('', ('a', 2), 1), ('', ('b', 1), 1)]
    >>> flow.take("words", (), [("a", -1)])
    >>> flow.run(())
    [('', ('a', 2), -1), ('', ('a', 1), 1)]
    """

    def __init__(self, program: Program, order: Order) -> None:
        self.region = Region(order)
        self.inputs: Mapping[str, Collection[Any]] = {name: Collection[Any](self.region) for name in inputs_of(program)}
        self._out: list[tuple[str, Any, int]] = []
        made = outputs_of(self._made(program), self.region)
        self.outputs: Sequence[str] = list(made)
        for name, collection in made.items():
            collection.listen(Together(self.region, Site.here(), self._noting(name)).take)

    def _made(self, program: Program) -> Any:
        try:
            return program(**self.inputs)
        except TypeError as exc:
            if Collection.__name__ in str(exc):
                exc.add_note(
                    "a collection has no records yet when the program is called: pass functions to its methods map(), "
                    "filter(), join(), reduce() and others"
                )
            raise

    def _noting(self, name: str) -> Callable[[Time, Changes], None]:
        return lambda _, changes: self._out.extend((name, record, diff) for record, diff in changes)

    def take(self, name: str, time: Time, changes: Changes) -> None:
        """Change an input at a time."""
        self.inputs[name].give(time, changes)

    def run(self, time: Time) -> list[tuple[str, Any, int]]:
        """Complete a time and return all changes of the outputs at it."""
        self.region.run(time)
        for trace in self.region.traces:
            trace.compact_all()
        out, self._out = self._out, []
        return out


def inputs_of(program: Program) -> list[str]:
    """The names of a program's inputs: its parameters without a default."""
    parameters = inspect.signature(program).parameters.values()
    # A parameter with a default is not an input: `lambda edges, n=n: ...`, or `partial(program, n=3)`.
    wanted = [each for each in parameters if each.default is each.empty]
    if not wanted or any(each.kind not in _NAMED for each in wanted):
        raise CompositionError(
            f"at {Site.here()}: a program is a function with a named parameter for each input collection, but "
            f"{program!r} has ({', '.join(map(str, parameters))}). Write def program(edges, roots): ..."
        )
    return [each.name for each in wanted]


_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def outputs_of(made: Any, region: Region) -> dict[str, Collection[Any]]:
    """The output collections of a program, by name."""
    named = {ONE: cast("object", made)} if isinstance(made, Collection) else made
    found = cast("dict[Any, Any]", named if isinstance(named, dict) else {})
    if not found or not all(isinstance(each, Collection) for each in found.values()):
        raise CompositionError(
            f"at {Site.here()}: a program must return a collection, or a dict of collections by name, not {made!r}"
        )
    return {name: collection.enter(region) for name, collection in found.items()}


A = TypeVar("A", bound=Hashable)


class _Maintaining(Notified, Resumable):
    """Keeps the changes of a time until it is complete, and then runs the program on all of them."""

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
    def receive(self, batch: Batch[Any]) -> None:
        for run in self.apart(batch):
            self._await(run.time)
            here = self._changes.setdefault(run.time, {})
            for value in run.values:
                name, record, diff = self._change(value)
                here.setdefault(name, []).append((record, diff))

    def _await(self, time: Hashable) -> None:
        if time not in self._awaited:
            self._awaited.add(time)
            self.notify(time, time)
            self.location.holders = self._holders

    def _holders(self, time: Hashable) -> Sequence[str]:
        """The holders of a time, by name: inputs that change at it, and operators that have work to do at it."""
        names = [*self._changes.get(time, ())]
        if self._flow is not None and self._lattice is not None:
            names += self._flow.region.names((time,))
        return names

    def _change(self, value: Any) -> tuple[str, Any, int]:
        """Split a change into its name, record and diff."""
        names = self._names
        try:
            name, record, diff = (names[0], *value) if len(names) == 1 else value
        except (TypeError, ValueError):
            raise TypeError(
                f"{value!r} is not a change: this program takes "
                + ("(record, diff)" if len(names) == 1 else f"(name, record, diff), with a name of {', '.join(names)}")
            ) from None
        if name not in names:
            raise ValueError(f"{value!r} changes {name!r}, but this program takes {', '.join(names)}")
        if type(diff) is not int:
            raise TypeError(f"{value!r} has the diff {diff!r}: a diff is an int, how many times the record is added")
        try:
            hash(record)
        except TypeError as exc:
            raise TypeError(f"{record!r} cannot be a record, because it is not hashable: make it a tuple") from exc
        return name, record, diff

    @override
    def complete(self, time: Hashable) -> None:
        flow = self._flow or self._begin(time)
        self._awaited.discard(time)
        place = () if self._lattice is None else (time,)
        if self._lattice is None:
            # Times were totally ordered so far, and the state was summed on that basis, so they must stay ordered.
            self._last = following(self.location, self._last, time)
        else:
            self._lattice.reach(minimal([*self.upstream.arriving(), *self._awaited, time]))
        for name, changes in self._changes.pop(time, {}).items():
            flow.take(name, place, changes)
        out = flow.run(place)
        for other in [*flow.region.times]:
            # Two incomparable times may cause further output at their join.
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
                    f"{self.location}, keeps state between times, and a journal cannot save it at a time like "
                    f"{time!r}, which is not totally ordered: use map_time(f) to get totally ordered times"
                )
            self._lattice = LatticeOrder()
        return self._make_flow()

    def _make_flow(self) -> Dataflow:
        self._flow = Dataflow(self._program, self._lattice or Order())
        if self.memory.saves:
            traces = enumerate(self._flow.region.traces)
            self._saving = [Saving(number, trace, self.memory.check) for number, trace in traces]
        return self._flow

    @override
    def restore(self) -> None:
        if not self.memory:
            return
        self._make_flow()
        saved: dict[tuple[int, Hashable], dict[int, Saved]] = {}
        for (number, key, slot), changes in cast("Mapping[tuple[int, Hashable, int], Saved]", self.memory).items():
            saved.setdefault((number, key), {})[slot] = changes
        for (number, key), slots in saved.items():
            self._saving[number].restore(key, slots)


def _program(call: Call, program: Any) -> Any:
    if not callable(program):
        raise call.refuse(f"needs a program, a function from collections to collections, but got {program!r}")
    Dataflow(program, Order())
    return program


@overload
def maintain(program: Callable[..., Collection[A]]) -> ps.Transformer[Any, tuple[A, int]]: ...
@overload
def maintain(program: Callable[..., dict[str, Collection[Any]]]) -> ps.Transformer[Any, tuple[str, Any, int]]: ...
@ps.transformer
def maintain(program: Annotated[Program, _program]) -> ps.Transformer[Any, Any]:
    """Maintain the result of a program on collections: changes of its input in, changes of its output out.

    A change is `(record, diff)`: the record is added `diff` times or, if negative, removed. For a program with several
    inputs, a change is `(name, record, diff)`, with the name of a parameter. If the program returns a dict of
    collections, the output is `(name, record, diff)`, with the names of the dict.

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

    The changes of a time are emitted when it is complete, without those that cancel out. The cost depends on the number
    of changes, in the input and in everything the program computes from it, not on the total number of records. Times
    may be partially ordered: the combined effect of two incomparable times is emitted at their join. The module keeps
    the records of all joins, reductions, counts and iterations, by key. A journal saves them, by key.

    `Progress.explain` and the display show what holds a time, by the program's own names: the inputs that change at it
    and, at the join of two times, the methods that still have work to do, with the loops around them.

    The program is called with collections, once when composing and once per run. It must only call their methods. The
    functions that it passes to methods must always return the same result for the same record. A parameter with a
    default is not an input.

    Raises:
        CompositionError: the program takes or returns something other than collections.
        CapabilityError: times were totally ordered at first, and no longer are.
        MultiplicityError: at a complete time, a record was removed more often than it was added. Only methods that
            count, reduce or remove duplicates check this; the others pass such changes on.
        DivergenceError: an iteration does not end.
        TypeError: a value is not a change, or its record is not hashable.
    """
    return opens(_Maintaining(program))

"""The times that inner streams may still emit, which their owner holds in the sidecar outside.

An owner with one stream reads its frontier (`inner_frontier`) whenever a frontier is read outside. An owner with many
keeps what it has read of each, and looks only at those where something has happened (`Opened`). What streams that are
not open yet may emit follows from what may still arrive at the owner: by its own summaries if all ways through them are
known and change the times (`Inside`), otherwise `Unopened` tells.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import Any, Final

from pullstream.blueprint import Blueprint, Emits, Module, OfOneRun, Sink, Source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Ending, Location
from pullstream.engine.sidecar.nesting import Mirrored
from pullstream.engine.traits import PLAIN, Traits
from pullstream.timely import BEGINNING, IDENTITY, Antichain, MutableAntichain, Summary
from pullstream.timely.order import minimal

Ways = Sequence[Summary]
"""The least summaries of the ways through modules; none if any time may follow."""
KEEPS: Final[Ways] = [IDENTITY]
"""The way through modules that keep the times."""


def follow_inner(
    owner: Kernel[Any], lane: Lane[Any], mirrored: Mirrored, changes: Callable[[], object] | None = None
) -> None:
    """Make the owner hold, in the outer sidecar, the times that `mirrored` returns whenever a frontier is read.

    This is for an inner stream whose times are outer times; `inner_frontier` gives the times it may still emit.
    `changes` is called when these may have changed, apart from those that follow from what may arrive at the owner.
    """
    outer = owner.scope.sidecar.nesting
    outer.mirror(owner.location, mirrored, bound=False)
    lane.edge.scope.sidecar.nesting.report(outer, owner.location, changes)


def inner_frontier(lane: Lane[Any], *, own: bool = False) -> Antichain[Any]:
    """The times that an inner stream may still emit, including batches that its owner has not acknowledged.

    In a loop, or with `own`, times that follow only from what may still arrive at the owner are left out.
    """
    location = lane.port.location
    if location.ending is not Ending.RUNNING:
        return location.frontier
    return lane.edge.scope.sidecar.within(location, own=own)


class Opened:
    """The times that many inner streams may still emit, apart from those that follow from what may arrive at the owner.

    A read costs only the streams where something has happened since the last one.
    """

    def __init__(self, owner: Kernel[Any], mirrored: Mirrored) -> None:
        self._owner, self._mirrored = owner, mirrored
        self._times: dict[Lane[Any], Sequence[Hashable]] = {}
        """The times of each stream when it was last looked at."""
        self._least: MutableAntichain[Any] = MutableAntichain()
        self._changed: dict[Lane[Any], None] = {}

    def add(self, lane: Lane[Any]) -> None:
        """Add a stream. If its holds depend on what arrives there (`bind`), it is looked at at every read."""
        self._times[lane] = ()
        self.changed(lane)
        follow_inner(self._owner, lane, self._mirrored, partial(self.changed, lane))

    def changed(self, lane: Lane[Any]) -> None:
        """Look at a stream at the next read: something has happened there, or a value was put in."""
        if lane in self._times:
            self._changed[lane] = None

    def remove(self, lane: Lane[Any]) -> None:
        """Remove a stream that has ended."""
        self._count(self._times.pop(lane), ())
        self._changed.pop(lane, None)

    def times(self) -> Sequence[Hashable]:
        """The least times that the streams may still emit."""
        changed, self._changed = self._changed, {}
        for lane in changed:
            whole = lane.edge.scope.sidecar.nesting.bound
            before, now = self._times[lane], inner_frontier(lane, own=not whole).elements
            if now != before:
                self._times[lane] = now
                self._count(before, now)
            if whole:
                self._changed[lane] = None
        return self._least.elements

    def _count(self, before: Sequence[Hashable], now: Sequence[Hashable]) -> None:
        for time in now:
            self._least.update(time, 1)
        for time in before:
            self._least.update(time, -1)


class Unopened:
    """The times that may leave an inner stream that is not open yet; the owner holds them with those that are open.

    A stream that emits at no earlier times adds nothing to what may arrive at the owner; one that is not known yet may
    emit at any time.
    """

    def __init__(self, scope: Scope, location: Location, mirrored: Mirrored, ways: Ways | None = None) -> None:
        self._sidecar, self._location = scope.sidecar, location
        self._ways: Ways | None = ways and scope.sidecar.guarded(location, ways)
        if ways != KEEPS:
            scope.sidecar.nesting.await_opening(location, mirrored)

    def expect(self, blueprint: Blueprint) -> bool:
        """Expect later streams to be like this one, unless it emits at no earlier times and others did.

        Returns whether that holds for this one.
        """
        ways = Inside(blueprint, around=True).ways()
        if ways != KEEPS or self._ways is None:
            self._ways = self._sidecar.guarded(self._location, ways)
        return ways == KEEPS

    def times(self, arriving: Callable[[], Iterable[Hashable]] = lambda: (BEGINNING,)) -> Iterable[Hashable]:
        """The times that may leave it if only `arriving` may still arrive at the owner."""
        # In a loop, all modules keep the times.
        if self._ways == KEEPS or self._sidecar.nesting.in_loop(self._location):
            return ()
        if not self._ways:
            return [BEGINNING] if Antichain(arriving()) else ()
        results = [way.results_in(time) for time in arriving() for way in self._ways]
        return Antichain(time for time in results if time is not None)


class Inside:
    """The effect of modules inside another one, and perhaps of a way around them, on the times of values."""

    def __init__(self, blueprint: Blueprint, *, around: bool = False) -> None:
        self._source, self._sink = isinstance(blueprint, Source), isinstance(blueprint, Sink)
        self._steps = [_Step(module) for module in blueprint.modules]
        self._around = around

    def ways(self) -> Ways:
        """The ways through the modules; a source may begin at any time."""
        ways: Ways = [] if self._source else KEEPS
        for step in () if self._sink else self._steps:
            ways = ways and minimal(way.followed_by(other) for other in step.ways for way in ways)
        return minimal([*KEEPS, *ways]) if ways and self._around else ways

    def lasting(self, number: int, time: Any) -> list[Any]:
        """The trait `lasting` of the module with these modules inside."""
        times = [time]
        for step in self._steps:
            times = [later for time in times for later in step.lasting(number, time)]
        return [time, *times] if self._around else times

    def later(self) -> bool:
        """The trait `later` of that module."""
        return any(step.traits.later or any(part.later() for part in step.parts) for step in self._steps)


class _Step:
    """One of these modules. It is made at most once, to read its traits, and only if these decide about times."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self.parts = [Inside(part) for part in module.parts if isinstance(part, Blueprint)]

    @cached_property
    def traits(self) -> Traits:
        module, emits = self._module, Emits.of(self._module)
        given = self.parts or any(isinstance(part, OfOneRun) for part in module.parts)
        eager = dict(module.options).get("eager")
        if emits is Emits.AT_OTHER_TIMES or ((eager or emits in {Emits.UNKNOWN, Emits.PER_TIME}) and not given):
            return getattr(module.made(), "traits", PLAIN)
        return PLAIN

    @cached_property
    def ways(self) -> Ways:
        emits, traits = Emits.of(self._module), self.traits
        if emits is Emits.AT_ANY_TIME or traits.sources:
            return []
        if emits is Emits.AT_OTHER_TIMES or traits.summaries:
            row = (*traits.summaries, ())[0]
            return [row] if isinstance(row, Summary) else row
        parts = [part.ways() for part in self.parts]
        return [*KEEPS, *chain(*parts)] if all(parts) else []

    def lasting(self, number: int, time: Any) -> Iterable[Hashable]:
        if self.traits.lasting is not None:
            return self.traits.lasting(number, time)
        if not self.ways:
            raise LookupError(f"any time may follow {time!r}")
        if self.parts:
            return [time, *(later for part in self.parts for later in part.lasting(number, time))]
        return [later for way in self.ways if (later := way.results_in(time)) is not None]

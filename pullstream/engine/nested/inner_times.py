"""The times that inner streams may still emit, which their owner holds in the sidecar outside.

An owner with one stream reads its frontier (`inner_frontier`) whenever a frontier is read outside. An owner with many
keeps what it has read of each, and looks only at those where something has happened (`Opened`). What streams that are
not open yet may emit follows from what may still arrive at the owner: by its own summaries if all ways through them are
known and change the times (`ways_through`), otherwise `Unopened` tells.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cache, partial
from itertools import chain
from typing import Any, Final

from pullstream.blueprint import Blueprint, Emits, Module, OfOneRun, Sink, Source
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Ending, Location
from pullstream.engine.sidecar.nesting import Mirrored
from pullstream.engine.traits import PLAIN, Lasting, Traits
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
        ways = ways_through(blueprint, around=True)
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


def ways_through(blueprint: Blueprint, *, around: bool = False) -> Ways:
    """The ways through modules, and perhaps around them; a source may begin at any time."""
    ways: Ways = [] if isinstance(blueprint, Source) else KEEPS
    for module in () if isinstance(blueprint, Sink) else blueprint.modules:
        ways = ways and minimal(way.followed_by(step) for step in _row(module) for way in ways)
    return minimal([*KEEPS, *ways]) if ways and around else ways


def lasting_through(blueprint: Blueprint, *, around: bool = False) -> Lasting:
    """The trait `lasting` of a module with these modules inside; `around` if values may also pass around them."""

    @cache
    def steps() -> list[Lasting]:
        return [_lasting(module) for module in blueprint.modules]

    def last(number: int, time: Any) -> list[Any]:
        times = [time]
        for step in steps():
            times = [later for time in times for later in step(number, time)]
        return [time, *times] if around else times

    return last


def is_later_inside(blueprint: Blueprint) -> bool:
    """The trait `later` of a module with these modules inside."""
    return any(_traits_of(each).later or any(map(is_later_inside, _parts(each))) for each in blueprint.modules)


def _lasting(module: Module) -> Lasting:
    if (known := _traits_of(module).lasting) is not None:
        return known
    ways, parts = _row(module), [*map(lasting_through, _parts(module))]

    def last(number: int, time: Any) -> list[Any]:
        if not ways:
            raise LookupError(f"any time may follow {time!r}")
        if parts:
            return [time, *(later for part in parts for later in part(number, time))]
        return [later for way in ways if (later := way.results_in(time)) is not None]

    return last


def _traits_of(module: Module) -> Traits:
    """The traits that decide about times, without making a module from what belongs to one run."""
    emits = Emits.of(module)
    given = any(isinstance(part, (OfOneRun, Blueprint)) for part in module.parts)
    eager = dict(module.options).get("eager")
    if emits is Emits.AT_OTHER_TIMES or ((eager or emits in {Emits.UNKNOWN, Emits.PER_TIME}) and not given):
        return getattr(module.made(), "traits", PLAIN)
    return PLAIN


def _row(module: Module) -> Ways:
    """The ways through one module."""
    emits, traits = Emits.of(module), _traits_of(module)
    if emits is Emits.AT_ANY_TIME or traits.sources:
        return []
    if emits is Emits.AT_OTHER_TIMES or traits.summaries:
        row = (*traits.summaries, ())[0]
        return [row] if isinstance(row, Summary) else row
    parts = [*map(ways_through, _parts(module))]
    return [*KEEPS, *chain(*parts)] if all(parts) else []


def _parts(module: Module) -> list[Blueprint]:
    return [part for part in module.parts if isinstance(part, Blueprint)]

"""Streams that a module opens while it runs: the inner streams of `flatten`, the attempts of `retry`.

To the sidecar the module is one node. An inner stream has a small sidecar of its own, so that inner modules can await
completions, too. In the outer sidecar, the owner holds the times that the inner stream may still emit.
"""

from collections.abc import Callable, Collection, Hashable, Iterable
from typing import Any, Union

from typing_extensions import TypeVar

from pullstream.blueprint import Blueprint, Emits, OfOneRun, Sink, Source
from pullstream.engine.assembly import Assembly, consume_all
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane, first_lane
from pullstream.engine.nested.inner_inputs import Feed, Through
from pullstream.engine.nested.inner_sinks import Sides
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Ending, Location
from pullstream.engine.sidecar.nesting import Mirrored
from pullstream.engine.traits import PLAIN
from pullstream.timely import BEGINNING, Antichain, Summary

T = TypeVar("T")
Steps = list[Union[Summary, "list[Steps]", None]]
"""The effect of modules on times, one after another: a summary, those of parts, or None if any time may follow."""


def open_inner(owner: Kernel[Any], source: Source[T]) -> Lane[T]:
    """Open a source inside a running module; the lane is one of the module's `inputs` until `forget_inner`.

    As an input, it is terminated when the owner ends, and its failure is passed on unchanged. Its times are its own.
    The owner must answer at times it has a right to. If the inner stream's times are outer times, the owner mirrors
    them with `follow_inner`.
    """
    return open_below(owner, source, None)


def open_below(owner: Kernel[Any], blueprint: Blueprint, feed: Kernel[Any] | None) -> Lane[Any]:
    """Open a source, or a transformer that reads from its owner through `feed` (an unconnected source kernel)."""
    scope = Scope(owner.run, owner.scope, depth=owner.edge.depth, fed=feed is not None)
    scope.sidecar.opener = owner.location
    assembly = Assembly(scope)
    upstream = (
        None if feed is None else assembly.install(feed, [f"into {owner.location.names[-1]}"], owner.location.site, [])
    )
    kernel = assembly.stream(blueprint.modules, upstream)
    sides = Sides(len(assembly.beside))
    if assembly.beside:
        kernel = assembly.install(sides, owner.location.names, owner.location.site, [kernel])
    location = scope.sidecar.locate(owner.location.names, owner.location.site, [kernel.location], sink=True)
    lane = first_lane(kernel.edge, location.ports[0])
    scope.keeping.opened()
    scope.sidecar.start()
    if isinstance(feed, Feed):
        scope.sidecar.nesting.enter(feed.location, feed.mirrored, owner.scope.sidecar.nesting, owner.location)
    for consumer in assembly.beside:
        owner.run.spawn(sides.consume, consumer, sink=True)
    owner.inputs.append(lane)
    return lane


def follow_inner(owner: Kernel[Any], lane: Lane[Any], mirrored: Mirrored) -> None:
    """Make the owner hold, in the outer sidecar, the times that `mirrored` returns whenever a frontier is read.

    This is for an inner stream whose times are outer times; `inner_frontier` gives the times it may still emit.
    """
    outer = owner.scope.sidecar.nesting
    outer.mirror(owner.location, mirrored)
    lane.edge.scope.sidecar.nesting.report(outer, owner.location)


def inner_frontier(lane: Lane[Any]) -> Antichain[Any]:
    """The times that an inner stream may still emit, including batches that its owner has not acknowledged.

    In a loop, times that follow only from what may still arrive at the owner are left out.
    """
    location = lane.port.location
    return location.frontier if location.ending is not Ending.RUNNING else lane.edge.scope.sidecar.within(location)


class Unopened:
    """The times that may leave an inner stream that is not open yet; the owner holds them with those that are open.

    A stream whose modules keep the times adds nothing to what may arrive at the owner. Any other may emit at earlier
    times, and one that is not known yet at any time.
    """

    def __init__(
        self, scope: Scope, location: Location, mirrored: Mirrored | None = None, known: Blueprint | None = None
    ) -> None:
        self._sidecar, self._location = scope.sidecar, location
        self._steps = None if known is None else _steps(known)
        if self._steps != []:
            # Earlier than any time of a value that goes in before the first read.
            location.mirror([BEGINNING])
            self._sidecar.nesting.mirror(location, mirrored or self.times)

    def expect(self, blueprint: Blueprint) -> None:
        """Expect later streams to be like this one, unless it keeps the times and others did not."""
        self._steps = _steps(blueprint) or self._steps or []

    def times(self, arriving: Callable[[], Iterable[Hashable]] = lambda: (BEGINNING,)) -> Iterable[Hashable]:
        """The times that may leave it if only `arriving` may still arrive at the owner."""
        # In a loop, all modules keep the times.
        if self._steps == [] or self._sidecar.nesting.in_loop(self._location):
            return ()
        return self._after([None] if self._steps is None else self._steps, Antichain(arriving()))

    def _after(self, steps: Steps, times: Antichain[Any]) -> Antichain[Any]:
        for step in steps:
            if step is None:
                return Antichain([BEGINNING] if times else ())
            if isinstance(step, list):
                times = Antichain([*times, *(time for part in step for time in self._after(part, times))])
            else:
                guarded = self._sidecar.guarded(self._location, step)
                times = Antichain(later for time in times if (later := guarded.results_in(time)) is not None)
        return times


def _steps(blueprint: Blueprint) -> Steps:
    """The effect of modules on times, without those that keep them; a source may begin at any time."""
    steps: Steps = [None] if isinstance(blueprint, Source) else []
    for module in () if isinstance(blueprint, Sink) else blueprint.modules:
        emits, traits = Emits.of(module), PLAIN
        given = any(isinstance(part, (OfOneRun, Blueprint)) for part in module.parts)
        if emits is Emits.AT_OTHER_TIMES or (emits is Emits.UNKNOWN and not given):
            traits = getattr(module.made(), "traits", PLAIN)
        if emits is Emits.AT_ANY_TIME or traits.sources:
            steps.append(None)
        elif emits is Emits.AT_OTHER_TIMES or traits.summaries:
            row = (*traits.summaries, None)[0]
            steps.append(row if isinstance(row, Summary) else None)
        elif any(parts := [_steps(part) for part in module.parts if isinstance(part, Blueprint)]):
            steps.append(parts)
    return steps


def forget_inner(owner: Kernel[Any], lanes: Collection[Lane[Any]]) -> None:
    """Remove inner streams that have ended from the owner's inputs."""
    if len(lanes) > 1:
        ended = set(lanes)
        owner.inputs[:] = [lane for lane in owner.inputs if lane not in ended]
    for lane in lanes:
        if len(lanes) == 1:
            owner.inputs.remove(lane)
        lane.edge.scope.sidecar.end(None, abandoned=False)


async def consume_below(outer: Scope, location: Location, reader: Lane[Any], sink: Blueprint) -> Any:
    """Run a sink inside a sink, on the outer sink's input; its effects count as effects of the outer sink."""
    inner = Scope(outer.run, outer, depth=reader.edge.depth, fed=True)
    inner.sidecar.opener = location
    assembly = Assembly(inner)
    feed = Through(reader)
    assembly.install(feed, [f"into {location.names[-1]}"], location.site, [])
    consumers = [assembly.sink(sink, feed), *assembly.beside]
    inner.keeping.opened()
    inner.sidecar.start()
    inside, outside = inner.sidecar.nesting, outer.sidecar.nesting
    inside.enter(feed.location, feed.mirrored, outside, location)
    inside.report(outside, location)
    # The times of unfinished effects of the inner sinks. If one fails or is aborted, its times stay as they were.
    outside.mirror(location, lambda: Antichain(time for sink in inner.sidecar.sinks for time in sink.frontier))
    (result, *_) = await consume_all(consumers)
    inner.sidecar.end(None, abandoned=False)
    return result

"""Streams that a module opens while it runs: the inner streams of `flatten`, the attempts of `retry`.

To the sidecar the module is one node. An inner stream has a small sidecar of its own, so that inner modules can await
completions, too. In the outer sidecar, the owner holds the times that the inner stream may still emit.
"""

from collections.abc import Collection
from typing import Any

from pullstream.blueprint import Blueprint, Source
from pullstream.blueprint.variables import T
from pullstream.engine.assembly import Assembly, consume_all
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane, first_lane
from pullstream.engine.nested.inner_inputs import Feed, Through
from pullstream.engine.nested.inner_sinks import Sides
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Location
from pullstream.timely import Antichain


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
    owner.run.streams += 1
    return lane


def forget_inner(owner: Kernel[Any], lanes: Collection[Lane[Any]]) -> None:
    """Remove inner streams that have ended from the owner's inputs."""
    owner.run.streams -= len(lanes)
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

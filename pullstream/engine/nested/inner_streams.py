"""Streams that a module opens while it runs: the inner streams of `flatten`, the attempts of `retry`.

To the sidecar the module is one node: an inner stream has a small sidecar of its own, so that what is
inside can await completions too, and its owner holds, outside, what the inner stream may still bring.
"""

from collections.abc import Collection
from typing import Any

from typing_extensions import TypeVar

from pullstream.blueprint import Blueprint, Source
from pullstream.engine.assembly import Assembly, consume_all
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane, first_lane
from pullstream.engine.nested.inner_inputs import Feed, Through
from pullstream.engine.nested.inner_sinks import Sides
from pullstream.engine.run import Scope
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.nesting import Mirrored
from pullstream.timely import Antichain

T = TypeVar("T")


def open_inner(owner: Kernel[Any], source: Source[T]) -> Lane[T]:
    """Open a source inside a running module; the lane counts among its `inputs` until `forget_inner`.

    As an input it is told when the owner ends, and its failure is passed on as it is. Its times are its own: the
    owner answers at times it has a right to, and mirrors (`location.mirror`) those of the inner stream that are outer
    ones.
    """
    return open_below(owner, source, None)


def open_below(owner: Kernel[Any], blueprint: Blueprint, feed: Kernel[Any] | None) -> Lane[Any]:
    """Open a transformer alike, which reads what its owner gives it through `feed` (an unconnected source kernel)."""
    scope = Scope(owner.run, owner.scope, depth=owner.edge.depth, fed=feed is not None)
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
    scope.sidecar.start()
    if isinstance(feed, Feed):
        scope.sidecar.nesting.enter(feed.location, feed.mirrored, owner.scope.sidecar.nesting, owner.location)
    for consumer in assembly.beside:
        owner.run.spawn(sides.consume, consumer)
    owner.inputs.append(lane)
    return lane


def follow_inner(owner: Kernel[Any], lane: Lane[Any], mirrored: Mirrored) -> None:
    """From now on the owner holds, outside, what `mirrored` says, whenever anybody looks.

    For an inner stream whose times are outer ones: `inner_frontier` is what it may still bring.
    """
    outer = owner.scope.sidecar.nesting
    outer.mirror(owner.location, mirrored)
    lane.edge.scope.sidecar.nesting.report(outer, owner.location)


def inner_frontier(lane: Lane[Any]) -> Antichain[Any]:
    """The times that an inner stream may still bring, with what its owner has not acknowledged."""
    return lane.port.location.frontier


def forget_inner(owner: Kernel[Any], lanes: Collection[Lane[Any]]) -> None:
    """Forget inner streams that have ended."""
    if len(lanes) > 1:
        gone = set(lanes)
        owner.inputs[:] = [lane for lane in owner.inputs if lane not in gone]
    for lane in lanes:
        if len(lanes) == 1:
            owner.inputs.remove(lane)
        lane.edge.scope.sidecar.end(None, abandoned=False)


async def consume_below(outer: Scope, location: Location, reader: Lane[Any], sink: Blueprint) -> Any:
    """Run a sink inside a sink, on what that one reads; its effects are the outer one's."""
    inner = Scope(outer.run, outer, depth=reader.edge.depth, fed=True)
    assembly = Assembly(inner)
    feed = Through(reader)
    assembly.install(feed, [f"into {location.names[-1]}"], location.site, [])
    consumers = [assembly.sink(sink, feed), *assembly.beside]
    inner.sidecar.start()
    inside, outside = inner.sidecar.nesting, outer.sidecar.nesting
    inside.enter(feed.location, feed.mirrored, outside, location)
    inside.report(outside, location)
    # What the sinks inside still have to do; when one of them has failed, or was aborted, as of then.
    outside.mirror(location, lambda: Antichain(time for sink in inner.sidecar.sinks for time in sink.frontier))
    (result, *_) = await consume_all(consumers)
    inner.sidecar.end(None, abandoned=False)
    return result

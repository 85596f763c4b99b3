"""Explanations of a sidecar: what keeps a time from completing, all pointstamps, and the text of a stall."""

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress

import attrs

from pullstream.engine.sidecar.location import Ending, Location, Port
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.frames import shown
from pullstream.timely import Blocker, Source, TimeDomainError

_ADVICE = (
    "A module that waits for a time must release it first: ask again, call ack(), or leave the hold. To act when a "
    "time is complete, call ctx.notify_at(time): ctx.events(upstream) then yields Completed(time)"
)

_NAMED = 5
"""The number of holders of a time to name in one source."""


@attrs.frozen
class Blocking:
    """A pointstamp that keeps a time from completing at a place, and its path to that place."""

    holder: str
    what: str
    time: Hashable
    count: int = 1
    path: tuple[str, ...] = ()

    def __str__(self) -> str:
        number = f" ({self.count} times)" if self.count > 1 else ""
        way = f" -> {' -> '.join(self.path)}" if self.path else ""
        return f"{self.holder} {self.what} {self.time!r}{number}{way}"


def blocking_at(sidecar: Sidecar, locations: Iterable[Location], time: Hashable) -> list[Blocking]:
    """The pointstamps that still keep a time from being complete at the outputs of some modules."""
    sidecar.propagate()
    found = {
        (blocker.location, blocker.time): _blocking(sidecar, blocker)
        for location in locations
        if location.ending is not Ending.COMPLETE
        for blocker in sidecar.frontiers.explain(location.output, time)
    }
    return list(found.values())


def pointstamps(sidecar: Sidecar) -> list[Blocking]:
    """All pointstamps, without paths."""
    sidecar.propagate()
    return [
        _described(there, time, count, ())
        for there, stamps in zip(sidecar.frontiers.places, sidecar.frontiers.stamps, strict=True)
        for time, count in stamps.items()
    ]


def _blocking(sidecar: Sidecar, blocker: Blocker) -> Blocking:
    port = blocker.location
    location = sidecar.locations[port.node]
    place = location.output if isinstance(port, Source) else location.ports[port.port].place
    nodes = dict.fromkeys(step.node for step in blocker.path)
    path = tuple(sidecar.locations[node].name for node in nodes if node != port.node)
    count = sidecar.frontiers.stamps[place].get(blocker.time, 1)
    return _described(sidecar.frontiers.places[place], blocker.time, count, path)


def _described(there: Location | Port, time: Hashable, count: int, path: tuple[str, ...]) -> Blocking:
    if isinstance(there, Port):
        return Blocking(there.location.name, "has not acknowledged a batch at", time, count, path)
    location, name = there, there.name
    if location.holders is not None and (holders := location.holders(time)):
        name = f"{name}, {_several(holders)}"
    if location.ending is Ending.FAILED:
        what = f"failed with {shown(location.failure)} at"
    elif not location.upstreams:
        what = "may still produce from"
    else:
        what = "holds"
    return Blocking(name, what, time, count, path)


def _several(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


# ---- stalls


def explain_stall(sidecar: Sidecar) -> str:
    """The text of a stall: why nothing in a run can move."""
    lines = ["no part of this run can move any more, and it has not ended"]
    advice = ""
    for waiter, waited in list(sidecar.waits.items()):
        if waiter.looks_on:
            continue
        wanted = waiter.wanted
        lines.append(f"{waiter}. Blocked by:" if wanted else str(waiter))
        for blocker in _blockers(waited, wanted):
            blocking = _blocking(waited, blocker)
            own = blocking.holder == waiter.owner.name
            lines.append(f"    {blocking}{', and is the module that waits' if own else ''}")
            if own:
                advice = _ADVICE
    if asked := _asked(sidecar):
        lines.append(f"asked, but not answering: {asked}")
    if len(lines) == 1:
        lines.append(f"not ended yet: {_sinks(sidecar)}")
    if advice:
        lines.append(advice)
    return "\n".join(dict.fromkeys(lines))


def _blockers(sidecar: Sidecar, wanted: Iterable[tuple[int, Hashable]]) -> list[Blocker]:
    """Return what keeps awaited times from completing. One that cannot be compared is left out: its wait will fail."""
    found: list[Blocker] = []
    for place, time in wanted:
        with suppress(TimeDomainError):
            found += sidecar.frontiers.explain(place, time)
    return found


def waits_for_handles(sidecar: Sidecar) -> str:
    """The text of a warning that a run waits for a handle while the program waits for the run."""
    return (
        f"the run waits for a handle, and the program waits for the run: {_asked(sidecar) or _sinks(sidecar)}. Use the "
        f"handle, and end its stream, before you wait for the run: before run(), or in the block of "
        f"`async with pipeline.open()`. The run keeps waiting, in case a thread or a signal handler uses the handle"
    )


def _asked(sidecar: Sidecar) -> str:
    """Return the modules that were asked and have not answered, each with its status text."""
    return "; ".join(
        f"{location} ({said})" if (said := location.said()) else str(location)
        for location in sidecar.locations
        if any(count.asks for count in location.outs)
    )


def _sinks(sidecar: Sidecar) -> str:
    """Return the sinks that have not ended."""
    return "; ".join(str(location) for location in sidecar.sinks if location.ending is Ending.RUNNING)


def moved_from_outside(sidecar: Sidecar) -> bool:
    """Whether the program can use a handle, without an ask, to complete a time that a task of the run waits for."""
    for waiter, waited in list(sidecar.waits.items()):
        task = waiter.event.task
        if task is None or not sidecar.detector.has(task) or not _steered(waited):
            continue
        wanted = waiter.wanted
        if not wanted or all(_gives_way(waited, blocker) for blocker in _blockers(waited, wanted)):
            return True
    return False


def _steered(sidecar: Sidecar) -> bool:
    """Whether times may be completed here by a handle, or by another run in which something may still move."""
    return any(location.steered and location.ending is Ending.RUNNING for location in sidecar.locations) or any(
        _steered(outer) or (outer.detector is not sidecar.detector and outer.detector.mover(set()) is not None)
        for outer in sidecar.nesting.outside
    )


def _gives_way(sidecar: Sidecar, blocker: Blocker) -> bool:
    """Whether a handle may withdraw a pointstamp: it is held at a steered module, or mirrored from another stream."""
    location = sidecar.locations[blocker.location.node]
    return isinstance(blocker.location, Source) and (location.steered or location in sidecar.nesting.mirrors)

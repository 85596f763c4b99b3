"""`Progress`: the user's view of a run's progress."""

from collections import defaultdict
from collections.abc import Generator, Hashable, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, Self

from pullstream.engine.sidecar.counters import Counters
from pullstream.engine.sidecar.explain import Blocking, blocking_at, pointstamps
from pullstream.engine.sidecar.location import Ending, Location
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.sidecar.waiting import movement
from pullstream.errors import Abandoned, PullstreamError
from pullstream.program.times_done import TimesDone
from pullstream.timely import Antichain, TimeDomainError, less_equal


class Progress:
    """The progress of one run: check which times are complete, wait for them, or explain what holds them.

    `at` is the name of a module (its `named` label, or its function's name). Without it, all sinks are meant, and
    `completed` waits for all of them. A module's frontier is the frontier of its *output*; a sink's output is its
    effect.
    """

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar
        self._times: TimesDone | None = None

    async def completed(self, time: Hashable, at: str | None = None) -> None:
        """Wait until `time` is complete at the output of `at`: until nothing at `time` or earlier can leave it.

        Raises:
            Abandoned: the stream was aborted before.
            BaseException: the stream's failure, if it failed before. A failure never completes a time.
            TimeDomainError: `time` cannot be compared with the times of the stream.
        """
        locations = self._resolve(at)
        for location in locations:
            with _about(time, locations):
                await self._sidecar.until_complete(location, time)
            if location.ending in (Ending.FAILED, Ending.ABANDONED) and location.frontier.less_equal(time):
                if location.failure is not None:
                    raise location.failure
                raise Abandoned(f"{time!r} will not complete at {location}: the stream was aborted before")

    def frontier(self, at: str | None = None) -> Antichain[Any]:
        """Return the minimal times that can still leave `at`; the empty antichain means that none can.

        Raises:
            TimeDomainError: several sinks are meant, and their times cannot be compared.
        """
        return _frontier(self._resolve(at))

    def frontiers(self) -> list[tuple[str, Antichain[Any]]]:
        """Return each sink's name and frontier; their time domains may differ."""
        return [(location.names[-1], location.frontier) for location in self._sidecar.sinks]

    def explain(self, time: Hashable, at: str | None = None) -> list[Blocking]:
        """Return the pointstamps that keep `time` from completing at the output of `at`; none if it is complete.

        A pointstamp counts if it is at `time` or earlier, because it may still produce values there. For each place,
        only the minimal ones are returned.

        Raises:
            TimeDomainError: `time` cannot be compared with the times of the stream.
        """
        locations = self._resolve(at)
        with _about(time, locations):
            return blocking_at(self._sidecar, locations, time)

    def pointstamps(self) -> list[Blocking]:
        """Return all active pointstamps: every time at every place, without a path."""
        return pointstamps(self._sidecar)

    def times_done(self) -> int:
        """Return the number of times completed since the first call, which starts the count and returns 0.

        A time counts when it has arrived at the sinks and is complete at all of them. Times that were complete before
        the first call never count, so call it once at the start. With a companion (`beside`), a run counts from its
        start.
        """
        if self._times is None:
            self._times = TimesDone(self._sidecar.sinks, self._sidecar.frontiers.in_flight, self._sidecar.soon)
        return self._times.count()

    def watch(self, at: str | None = None) -> "FrontierChanges":
        """Iterate over the frontier at the output of `at`: the current one, then each change.

        The last one is the empty antichain, the end of time. A slow reader gets only the latest frontier.

        >>> import trio, pullstream as ps
        >>> async def main():
        ...     async with ps.pipe(ps.values([3, 5], time=lambda n: n), ps.drain()).open() as running:
        ...         return [list(frontier) async for frontier in running.progress.watch()][-1]
        >>> trio.run(main)
        []

        Raises:
            Abandoned: the stream was aborted.
            BaseException: the stream's failure.
        """
        return FrontierChanges(self._sidecar, self._resolve(at))

    def counters(self) -> list[Counters]:
        """Return the current counters of every module."""
        return [location.counters() for location in self._sidecar.locations]

    @cached_property
    def _named(self) -> dict[str, list[Location]]:
        """The modules by name; an open run gets no further ones."""
        named: defaultdict[str, list[Location]] = defaultdict(list)
        for location in self._sidecar.locations:
            for name in {*location.names}:
                named[name].append(location)
        return named

    def _resolve(self, at: str | None) -> list[Location]:
        if not self._sidecar.started:
            raise PullstreamError("this pipeline is not open: use `async with pipeline.open() as running:`")
        if at is None:
            return self._sidecar.sinks
        matches = self._named.get(at, [])
        if len(matches) != 1:
            known = ", ".join(repr(name) for location in self._sidecar.locations for name in location.names)
            what = "no module is" if not matches else f"{len(matches)} modules are"
            raise LookupError(f"{what} named {at!r}; name one with .named('...'). The modules of this run: {known}")
        return matches


class FrontierChanges:
    """The iterator behind `Progress.watch`."""

    def __init__(self, sidecar: Sidecar, locations: Sequence[Location]) -> None:
        self._sidecar = sidecar
        self._locations = locations
        self._last: list[Antichain[Any]] | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Antichain[Any]:
        while (now := [location.frontier for location in self._locations]) == self._last:
            self._over()
            await self._sidecar.until([movement(self._locations, now)])
        self._last = now
        return _frontier(self._locations)

    def _over(self) -> None:
        """End the loop, or raise the reason, if the stream has ended."""
        endings = {location.ending for location in self._locations}
        if Ending.RUNNING in endings:
            return
        for location in self._locations:
            if location.failure is not None:
                raise location.failure
        if Ending.ABANDONED in endings:
            raise Abandoned("the stream was aborted: its frontier will not move any more")
        raise StopAsyncIteration


def _frontier(locations: Sequence[Location]) -> Antichain[Any]:
    """The minimal times of several locations."""
    try:
        return Antichain(time for location in locations for time in location.frontier)
    except TimeDomainError as exc:
        raise TimeDomainError(
            f"the times at {' and '.join(map(str, locations))}, have no common order: name one of these sinks, with "
            f"at=, or use frontiers()"
        ) from exc


@contextmanager
def _about(time: Hashable, locations: Sequence[Location]) -> Generator[None]:
    """Name a requested time that cannot be compared with the frontiers; the stream's own errors stay as they are."""
    try:
        yield
    except TimeDomainError as exc:
        other = ", or name another sink, with at=" if len(locations) > 1 else ""
        for location, front in [(place, front) for place in locations for front in place.frontier]:
            try:
                less_equal(front, time)
            except TimeDomainError:
                raise TimeDomainError(
                    f"{time!r} ({type(time).__name__}) is not a time of this stream: it cannot be compared with "
                    f"{front!r} ({type(front).__name__}), a time at {location}. Give a time of the same kind{other}"
                ) from exc
        raise

"""`Progress`: the questions that users ask of a run's sidecar."""

from collections.abc import Hashable
from typing import Any

from pullstream.engine.sidecar.counters import Counters
from pullstream.engine.sidecar.explain import Blocking, blocking_at, pointstamps
from pullstream.engine.sidecar.location import Ending, Location
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.sidecar.times_done import TimesDone
from pullstream.engine.sidecar.waiting import Frontiers
from pullstream.errors import Abandoned, PullstreamError
from pullstream.timely import Antichain


class Progress:
    """The progress of one run: ask it what is complete, wait for it, or have it explained.

    `at` is the name of a module (its `named` label, or its function's name); without it, every sink is meant, and
    `completed` waits for all of them. A module's frontier is that of its *output*; a sink's output is its effect.
    """

    def __init__(self, sidecar: Sidecar) -> None:
        self._sidecar = sidecar
        self._times: TimesDone | None = None

    async def completed(self, time: Hashable, at: str | None = None) -> None:
        """Wait until `time` is complete at the output of `at`: until nothing at `time` or earlier can come out of it.

        Raises:
            Abandoned: the stream was aborted before.
            BaseException: the stream's failure, if it failed before. A failure is never a completion.
        """
        for location in self._resolve(at):
            await self._sidecar.settled(location, time)
            if location.ending in (Ending.FAILED, Ending.ABANDONED) and location.frontier.less_equal(time):
                if location.failure is not None:
                    raise location.failure
                raise Abandoned(f"{time!r} will not be complete at {location}: the stream was aborted before")

    def frontier(self, at: str | None = None) -> Antichain[Any]:
        """The least times that may still come out of `at`; the empty antichain is the end of time."""
        return Antichain(time for location in self._resolve(at) for time in location.frontier)

    def frontiers(self) -> list[tuple[str, Antichain[Any]]]:
        """The frontier at every sink, with its name; they need not be of one time domain."""
        return [(location.names[-1], location.frontier) for location in self._sidecar.sinks]

    def explain(self, time: Hashable, at: str | None = None) -> list[Blocking]:
        """The pointstamps that still keep `time` from being complete at the output of `at`; none when it is complete.

        A pointstamp counts when it lies at `time` or earlier, for it may still lead there; of several at one place the
        least are named.
        """
        return blocking_at(self._sidecar, self._resolve(at), time)

    def pointstamps(self) -> list[Blocking]:
        """The pointstamps that may still lead to something: every time at every place, with no path."""
        return pointstamps(self._sidecar)

    def times_done(self) -> int:
        """The number of times that have come to the sinks and are complete at all; the first call begins to count.

        A pipeline that is opened with something `beside` it counts from its beginning.
        """
        if self._times is None:
            self._times = TimesDone(self._sidecar.sinks, self._sidecar.in_flight, self._sidecar.soon)
        return self._times.count()

    def watch(self, at: str | None = None) -> Frontiers:
        """The frontier at the output of `at` now, and then every time it has moved, as an async iterator.

        The last one is the empty antichain, the end of time. Who looks seldom sees only the latest.

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
        return Frontiers(self._sidecar.moved, self._resolve(at))

    def counters(self) -> list[Counters]:
        """The counters of every module, as of now."""
        return [location.meter.counters(location.name) for location in self._sidecar.locations]

    def _resolve(self, at: str | None) -> list[Location]:
        locations = self._sidecar.locations
        if not self._sidecar.started:
            raise PullstreamError("this pipeline is not open: use `async with pipeline.open() as running:`")
        if at is None:
            return self._sidecar.sinks
        matches = [location for location in locations if at in location.names]
        if len(matches) != 1:
            known = ", ".join(repr(name) for location in locations for name in location.names)
            what = "no module is" if not matches else f"{len(matches)} modules are"
            raise LookupError(f"{what} named {at!r}; name one with .named('...'). This run has {known}")
        return matches

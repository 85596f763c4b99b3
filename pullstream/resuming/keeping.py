"""The state that the streams of a run save for later runs, and restore from earlier ones."""

from collections.abc import Callable, Hashable, Sequence
from functools import cached_property
from typing import NoReturn

from typing_extensions import override

from pullstream.engine.keeping import Keeping, StateSaver
from pullstream.engine.run import Run
from pullstream.engine.runtime.busy import BusyClock
from pullstream.engine.sidecar.location import Location, note_arrivals
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.engine.traits import KEPT
from pullstream.errors import Abandoned, JournalError, PullstreamError
from pullstream.resuming.consequences import Consequences, fulfilled, fulfilment
from pullstream.resuming.interfaces import Resumable
from pullstream.resuming.memory import Memory
from pullstream.resuming.undeclared import refuse_undeclared


class StreamKeeping(Keeping):
    """The state that one stream keeps: only for the run, unless there is a place to save it."""

    def __init__(self, sidecar: Sidecar, outer: Keeping | None, *, fed: bool) -> None:
        self._sidecar = sidecar
        self.resumable: list[Resumable] = []
        """Modules that must restore, before this run begins, what they kept in an earlier one."""
        # A stream that is fed continues from one time to the next. Any other starts afresh, with the value that it is
        # opened for.
        assert outer is None or isinstance(outer, StreamKeeping)
        self._outer = outer if fed else None
        self.memories: dict[Location, Memory] = {}
        """The memories that are saved."""
        self._inside: dict[Location, str] = {}
        """Modules with streams inside, and a module there that carries something from one time to later ones."""
        self.loses: bool = outer is not None and fed and (outer.saves or outer.loses)
        """Whether it must refuse modules that keep state across times, because no journal would save it."""
        self.starts_afresh: bool = outer is not None and (outer.saves or outer.starts_afresh)

    @staticmethod
    def of(sidecar: Sidecar) -> "StreamKeeping":
        """Return the `StreamKeeping` of a stream, for code that saves its state."""
        keeping = sidecar.keeping
        assert isinstance(keeping, StreamKeeping)
        return keeping

    def save_in(self, saving: StateSaver) -> None:
        """Save the stream's state from now on."""
        self.saving, self.saves = saving, True

    # ---- what modules keep

    @override
    def placed(self, location: Location, module: object) -> None:
        if self.loses:
            self._refuse(str(location))
        if isinstance(module, Resumable):
            self.resumable.append(module)
        if self._outer is not None and (location.traits.later or location.traits.carries in KEPT):
            self._outer.carry_inside(self._sidecar.opener, str(location))

    def carry_inside(self, owner: Location | None, who: str) -> None:
        """Note a module in a stream inside `owner`, which carries something from one time to later ones."""
        assert owner is not None, "a stream inside a module has an owner"
        self._inside.setdefault(owner, who)
        if self._outer is not None:
            self._outer.carry_inside(self._sidecar.opener, who)

    @override
    def opened(self) -> None:
        if self.saves or self.loses:
            refuse_undeclared(self._sidecar)

    @override
    def placed_inline(self, owner: Location, who: str) -> None:
        if self.saves or self.loses:
            self._refuse(who)
        self.carry_inside(owner, who)

    @override
    def memory(self, location: Location) -> Memory:
        if self.loses:
            self._refuse(str(location))
        if self.saving is None:
            return Memory(location)
        memory = self.memories.get(location)
        if memory is None:
            memory = self.memories[location] = Memory(location, saves=True)
            note_arrivals(location.ports, memory.arrived)
            self.saving.restore(location, memory)
        return memory

    def _refuse(self, who: str) -> NoReturn:
        raise JournalError(
            f"{who}, keeps state or values from one time for a later one inside another module, where no journal "
            f"saves them. Put it into the pipeline itself: accumulate and windows take key=f in place of group_by(f, "
            f"...). Or compute each time alone, with reduce_by_key"
        )

    # ---- what follows from a time

    @cached_property
    def consequences(self) -> Consequences:
        """The paths from every place to the sinks."""
        return Consequences(self._sidecar.locations, self._sidecar.sinks)

    @override
    def fulfilled(self, location: Location, time: Hashable) -> bool:
        sidecar = self._sidecar
        sidecar.propagate()
        return not sidecar.inner and fulfilled(self.consequences.from_output(location, time), sidecar.frontiers)

    @override
    async def until_fulfilled(self, location: Location, time: Hashable, check: Callable[[], object]) -> None:
        sidecar = self._sidecar
        if sidecar.inner:
            raise PullstreamError(
                f"{location}, is inside another module, so it is unknown what a time there leads to: make it a source "
                f"of the pipeline itself"
            )
        await sidecar.until([fulfilment(location, time, self.consequences, check)])
        if self.fulfilled(location, time):
            if self.saving is not None:
                await self.saving.until_recorded(location, time)
            return
        for sink in sidecar.sinks:
            if sink.failure is not None:
                raise sink.failure
        raise Abandoned(f"the results of {time!r} at {location}, will not be complete: the stream was aborted before")

    @override
    def carrying(self, location: Location) -> Sequence[Location]:
        return self.consequences.carrying(location)

    @override
    def carrying_inside(self, location: Location) -> Sequence[str]:
        return [self._inside[below] for below in self.consequences.below(location) if below in self._inside]

    @override
    def strangers(self, location: Location, time: Hashable) -> Sequence[Location]:
        return self.consequences.strangers(location, time)


def idle_run() -> Run:
    """Make a run in which modules can be placed, and nothing runs."""

    def fail(exc: BaseException) -> NoReturn:
        raise exc

    run = Run(limit=1, release_timeout=0.0, on_failure=fail, keeping=StreamKeeping)
    run.clock = BusyClock()
    return run

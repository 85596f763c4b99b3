"""A run, one per pipeline, and its scopes, one per stream: the state that modules share."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final

import trio

from pullstream.engine.keeping import Keeping
from pullstream.engine.observer import Observer
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.blocked import is_cancelled, own_scope
from pullstream.engine.runtime.busy import BusyClock, Moment
from pullstream.engine.runtime.deadlock import DeadlockDetector, Signal
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.errors import without_cancelled

TOGETHER: Final = 1_000
"""For each so many open streams inside modules, a release may take its time once more: all may release at once."""


class Run:
    """A run, as its modules see it."""

    def __init__(
        self,
        *,
        limit: int,
        release_timeout: float,
        on_failure: Callable[[BaseException], None],
        keeping: Callable[..., Keeping],
        observer: Observer | None = None,
    ) -> None:
        if limit < 1:
            raise ValueError(f"limit is how many values a sink asks for at a time: at least 1, not {limit}")
        self.limit = limit
        self.release_timeout = release_timeout
        self.keeping = keeping
        """Returns the `Keeping` of a stream; called as `keeping(sidecar, outer, fed=...)`."""
        self.observer = observer
        """The observer of the run: the checker, the tracer, or None."""
        self.clock: BusyClock
        """The clock by which sinks set their pace."""
        self.turn: Moment = (0.0, 0.0)
        """The time, by that clock, when a module last let other tasks run."""
        self.long_work = (0.0, 0.0, 0.0)
        """The last long work before a module let others run: its beginning, its end, and its seconds."""
        self.sources: dict[Any, None] = {}
        """The output edges of sources that have not ended."""
        self.finishing = False
        self.detector = DeadlockDetector(on_failure)
        self.journal: Path | None = None
        """The path of the journal, if there is one."""
        self.common: dict[str, Any] = {}
        """State shared by modules with a common origin, under names of their choice."""
        self.nursery: trio.Nursery
        """The nursery of the run's tasks, and of no others."""
        self.begun = False
        """Whether the nursery is set."""
        self.taken: dict[object, Any] = {}
        """Arguments that can be used once, until the run begins: a run that is refused before gives them back."""
        self.failing: BaseException | None = None
        """The last failure that reached a module which may have to finish its work before it raises it."""
        self.halted = False
        """Whether everything that still runs must end."""
        self.sinks = own_scope(shield=True)
        """The scope of the sinks. A cancellation from outside reaches the block first, and the sinks when it ends."""
        self._shields: dict[trio.CancelScope, bool] = {}
        """The scopes of the run's tasks, and whether a sink runs in each."""
        self.streams = 0
        """The number of open streams inside modules."""
        self._graces: dict[trio.CancelScope, None] = {}
        self._hurried = False
        self.scope = Scope(self)
        """The scope of the pipeline itself."""

    @property
    def release_seconds(self) -> float:
        """The time a module has for its release, in seconds: `release_timeout`, or more among thousands of streams."""
        return self.release_timeout * (1 + self.streams // TOGETHER)

    @contextmanager
    def grace(self) -> Generator[trio.CancelScope]:
        """The time a module has for its release, or none after `hurry`."""
        with trio.move_on_after(0 if self._hurried else self.release_seconds, shield=True) as scope:
            self._graces[scope] = None
            try:
                yield scope
            finally:
                self._graces.pop(scope, None)

    def hurry(self) -> None:
        """Stop waiting for releases."""
        self._hurried = True
        for scope in self._graces:
            scope.cancel()

    def begin(self, nursery: trio.Nursery) -> None:
        """Start the run's tasks in this nursery from now on; it closes when they have ended, which `halt` ensures."""
        self.nursery = nursery
        self.detector.begin(nursery, self.clock)
        self.begun = True
        self.taken.clear()

    @contextmanager
    def shielded(self, scope: trio.CancelScope, *, sink: bool = False) -> Generator[None]:
        """Shield a scope of a task in the run's nursery, until `halt` cancels it.

        A cancellation from outside must reach the sinks first, and through them the stream in order. A task cancelled
        in the middle of the stream would look like the stream's end. The scope of a `sink` is cancelled with the sinks.
        """
        # A task cancelled while it started is still in the nursery that started it, and must end with that nursery.
        own = trio.lowlevel.current_task().parent_nursery is self.nursery
        scope.shield = own and (self.sinks.shield or not sink)
        if self.halted or (sink and self.sinks.cancel_called):
            scope.cancel()
        self._shields[scope] = sink
        try:
            yield
        finally:
            self._shields.pop(scope, None)

    def begin_source(self, source: Any) -> None:
        """Add a source to the run."""
        self.sources[source] = None
        if self.finishing:
            source.finish()

    def finish(self) -> None:
        """Make every source end by itself; sources opened from now on are empty."""
        self.finishing = True
        if (saving := self.scope.keeping.saving) is not None:
            saving.stop()
        for source in list(self.sources):
            source.finish()

    async def let_others(self) -> float:
        """Let other tasks run, and deliver a pending cancellation; returns the time, by the monotonic clock.

        The call counts for the pace of the sinks, whichever module makes it.
        """
        self.long_work = self.clock.long_work(self.turn) or self.long_work
        await trio.lowlevel.checkpoint()
        self.turn = self.clock.now()
        return clocks.monotonic()

    def signal(self) -> Signal:
        """An event that one task of the run waits for and another sets; an inside wait to the deadlock detector."""
        return Signal(self.detector)

    @property
    def cancelled(self) -> bool:
        """Whether the sinks are cancelled, by the run or from outside."""
        return is_cancelled(self.sinks)

    def cancel(self) -> None:
        """Cancel the sinks, including those in streams that modules have opened."""
        self.sinks.cancel()
        for scope, sink in self._shields.items():
            if sink:
                scope.cancel()

    def halt(self) -> None:
        """End everything that still runs."""
        self.halted = True
        for scope in self._shields:
            scope.cancel()

    def spawn(self, task: Callable[..., Awaitable[object]], *args: object, sink: bool = False) -> None:
        """Run one of the toolkit's own tasks alongside the pipeline; it ends no later than the run.

        An exception in it ends the run in order, and becomes the run's failure. A `sink` is cancelled together with
        those of the pipeline: otherwise the end of its cancelled stream would look to it like the end of a whole one.
        """
        self.nursery.start_soon(partial(self._supervise, task, args, sink=sink))

    async def _supervise(
        self, task: Callable[..., Awaitable[object]], args: tuple[object, ...], *, sink: bool = False
    ) -> None:
        with own_scope() as scope, self.shielded(scope, sink=sink):
            try:
                await task(*args)
            except BaseException as exc:
                failure = without_cancelled(exc)
                if failure is None:
                    raise
                # Raised into the nursery, it would cancel the block that the run is open in, whatever that waits for.
                self.detector.end_run(failure, "raised in one of the run's own tasks, alongside the stream")

    def spawn_watch(self, task: Callable[..., Awaitable[object]], *args: object) -> None:
        """Run a task that only observes: it may end the run, but does not prevent a stall from being noticed.

        Whatever it waits for, a clock or a completion, the deadlock detector ignores it.
        """
        self.nursery.start_soon(self._watch, task, args)

    async def _watch(self, task: Callable[..., Awaitable[object]], args: tuple[object, ...]) -> None:
        watching = trio.lowlevel.current_task()
        self.detector.watched_by(watching)
        try:
            await self._supervise(task, args)
        finally:
            self.detector.unwatched_by(watching)


class Scope:
    """One stream of a run: the pipeline itself, or a stream that a module opens while it runs.

    Its modules share a sidecar, and the rule for saving their memory; everything else is the run's. A module may open
    thousands of streams, one after another.
    """

    def __init__(
        self,
        run: Run,
        outer: "Scope | None" = None,
        *,
        depth: int = 0,
        fed: bool = False,
    ) -> None:
        self.run = run
        self.depth = depth
        """The number of kernels upstream of the first ones of this stream; more than 0 only inside a running module."""
        if outer is None:
            self.sidecar = Sidecar(run.spawn, run.spawn_watch, run.detector, observer=run.observer)
        else:
            self.sidecar = Sidecar(run.spawn, run.spawn_watch, run.detector, outer.sidecar)
        self.keeping: Keeping = run.keeping(self.sidecar, None if outer is None else outer.keeping, fed=fed)
        """The state that this stream keeps for later runs, and has from earlier ones."""
        self.sidecar.keeping = self.keeping

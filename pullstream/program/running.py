"""`Running`: an open pipeline, from its first instruction to its orderly end."""

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from os import PathLike
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Generic, NoReturn, Self, cast

import trio

from pullstream.blueprint import Blueprint, Call, Count, Site, give_back, refuse_sharing
from pullstream.blueprint.variables import R
from pullstream.engine.assembly import Assembly, Consuming, consume_all
from pullstream.engine.run import Run
from pullstream.engine.runtime.blocked import own_scope, running_program
from pullstream.engine.runtime.deadlock import LOOKS_ON, Signal, instrument
from pullstream.engine.runtime.interrupts import Interrupts, Spared, interruptible
from pullstream.engine.runtime.signals import pass_on_wakeups
from pullstream.engine.sidecar.counters import Counters
from pullstream.engine.sidecar.explain import explain_stall, moved_from_outside, waits_for_handles
from pullstream.errors import (
    Abandoned,
    CompositionError,
    PullstreamError,
    ReuseError,
    StalledError,
    blame,
    is_blame,
    sole,
    without_cancelled,
)
from pullstream.frames import cut
from pullstream.logger import LOG
from pullstream.program import wanted
from pullstream.program.endings import combined, instead_of
from pullstream.program.onlookers import call_beside, check_beside
from pullstream.program.progress import Progress
from pullstream.resuming.keeping import StreamKeeping
from pullstream.trace.every import trace_of_a_run

LIMIT: Final = Count(1)


def trio_needed() -> None:
    """Raise an error that names the alternatives if no trio program is running."""
    if running_program() is None:
        raise PullstreamError(
            "open() and aiterate() need a trio program, and none is running here: in a script use run(pipeline) or, "
            "for a plain for loop, iterate(source); under asyncio use `await arun(pipeline)`"
        )


def check_limits(function: str, limit: object, release_timeout: object) -> None:
    """Refuse a wrong `limit` or `release_timeout` of the function that the user called."""
    LIMIT(Call(function, name="limit"), limit)
    if not (isinstance(release_timeout, (int, float)) and release_timeout >= 0):
        raise Call(function).refuse(
            f"needs a number of seconds for its argument 'release_timeout', but got {release_timeout!r}"
        )


class Running(Generic[R]):
    """A running pipeline: its progress, its result, and the ways to stop it. Made by `Pipeline.open`."""

    def __init__(
        self,
        pipeline: Blueprint,
        *,
        limit: int,
        release_timeout: float,
        check: "wanted.Check" = False,
        beside: "Companion | None" = None,
        journal: "str | PathLike[str] | wanted.Journal | None" = None,
        trace: "wanted.TraceTo | None" = None,
    ) -> None:
        if beside is not None:
            check_beside(beside)
        refuse_sharing(pipeline)
        if not (trace is None or isinstance(trace, (str, PathLike)) or hasattr(trace, "writelines")):
            raise CompositionError(
                f"trace= at {Site.here()} needs the path of a file or an open text file, but got {trace!r}"
            )
        self._pipeline = pipeline
        self._beside = beside
        self._checker = None if check is False else wanted.checker_for(check)
        trace = trace_of_a_run(trace)
        self._tracer = None if trace is None else wanted.Tracer(trace, limit=limit, checker=self._checker)
        self._run = Run(
            limit=limit,
            release_timeout=release_timeout,
            on_failure=self._end_with,
            keeping=StreamKeeping,
            observer=self._tracer or self._checker,
        )
        self._progress: Progress | None = None
        self._keeper = None if journal is None else wanted.Keeper(journal, pipeline, self._run)
        self._nursery: AbstractAsyncContextManager[trio.Nursery]
        self._finished = False
        self._ends: dict[Signal, None] = {}
        """Signals for tasks that wait for the end."""
        self._failure: BaseException | None = None
        self._traceback: TracebackType | None = None
        self._result: R
        self._reported = False
        self._cause: BaseException | None = None
        """The reason why the run itself ended the stream."""
        self._stray: BaseException | None = None
        """An exception raised by the run's machinery and not by a module."""
        self._failure_beside: BaseException | None = None
        """An exception raised beside the stream, by the companion or a task of the run's own."""
        self._waiting = 0
        self._entered = False
        self._here = False
        """Whether `through` runs the sinks in its own task."""
        self._begun = False
        """Whether the sinks have been started in a task of their own."""
        self._consumers: Sequence[Consuming] = ()
        self._aborted = False
        self._abandoned = False
        self._warned = False
        """Whether a warning has said that the run waits for a handle."""
        self._spared: Spared | None = None
        """The Ctrl-C handler in front of the program's own, unless `run` has put one there."""
        self._own_interrupts: Interrupts | None = None
        """The handler of `abort_on_interrupt`, in front of that."""
        self._interrupts: Interrupts | None = None
        """The handler whose interrupts abort the run: this one, or that of `run`."""

    @property
    def progress(self) -> Progress:
        """The run's progress: which times are complete, which are not, and why."""
        if self._progress is None:
            self._progress = Progress(self._run.scope.sidecar)
        return self._progress

    @property
    def resumed_at(self) -> Sequence[Hashable] | None:
        """The minimal times that earlier runs with the same journal had not completed at some sink.

        None if there is no journal or nothing to resume from; empty if everything was complete.
        """
        return None if self._keeper is None else self._keeper.resumed_at

    @property
    def resumed(self) -> bool:
        """Whether the run resumes an earlier one from its journal.

        This is also logged (logger "pullstream", level INFO), and so is whether there is anything left to do.
        """
        return self._keeper is not None and self._keeper.resumed

    def counters(self) -> list[Counters]:
        """Return the counters of every module so far, in pipeline order; also after the end.

        >>> import trio, pullstream as ps
        >>> async def main():
        ...     async with ps.pipe(ps.values("abcd"), ps.take(3), ps.collect()).open() as running:
        ...         await running.result()
        ...         return [(row.module, row.values_in, row.values_out) for row in running.counters()]
        >>> trio.run(main)
        [('values', 0, 3), ('take', 3, 3), ('collect', 3, 0)]
        """
        return self.progress.counters()

    @property
    def finished(self) -> bool:
        """Whether the run has ended, successfully or not."""
        return self._finished

    @property
    def failure(self) -> BaseException | None:
        """The failure that ended the run; None while it runs and after success; `Abandoned` if it was aborted.

        Reading it does not count as handling the failure: unlike with `result`, leaving the block still raises it.
        """
        return self._failure if self.finished else None

    async def through(self) -> R:
        """Open the pipeline, wait for its end, and return its result. Nothing else may use this run.

        So the sinks need no task of their own, unless something runs beside them, or trio may raise Ctrl-C here.
        """
        beside = self._beside or self._checker or self._tracer or self._keeper
        self._here = beside is None and not LOOKS_ON.get() and (self._interrupts is not None or not interruptible())
        async with self:
            if not self._here:
                return await self.result()
            self._waiting = 1
            await self._consume()
            await trio.lowlevel.checkpoint_if_cancelled()
            return self.outcome()

    async def result(self) -> R:
        """Wait for the end and return the sink's result, or a tuple of results for several sinks.

        Raises:
            Abandoned: the run was aborted.
            BaseException: the stream's failure, unchanged.
        """
        await self.wait()
        return self.outcome()

    def outcome(self) -> R:
        """Return the result, or raise the failure, of an ended run; the failure then counts as reported."""
        if not self._finished:
            raise PullstreamError("this run has not ended: use `await running.result()`, which waits for its end")
        if self._failure is not None:
            self._reported = self._reported or not LOOKS_ON.get()
            raise self._failure.with_traceback(self._traceback)
        return self._result

    async def wait(self) -> None:
        """Wait for the end, successful or not; `result` then says which."""
        if not self._entered:
            raise PullstreamError("this pipeline is not open: use `async with pipeline.open() as running:`")
        waiting = not LOOKS_ON.get()
        self._waiting += waiting
        try:
            if self._finished:
                await trio.lowlevel.checkpoint()
                return
            ended = self._run.signal()
            self._ends[ended] = None
            detector = self._run.detector
            if first := waiting and self._beside is None and detector.awaiting is None:
                detector.awaited_by(trio.lowlevel.current_task())
            try:
                await ended.wait()
            finally:
                if first:
                    detector.awaited_by(None)
                self._ends.pop(ended, None)
        finally:
            self._waiting -= waiting

    def abort(self) -> Coroutine[Any, Any, None]:
        """Stop now, in an orderly way: release everything, complete nothing; returns when that is confirmed.

        The block can then be left without an exception: only `result` and `progress.completed` raise `Abandoned`.
        The call itself stops the run, even if the `await` is forgotten.
        """
        if self._entered:  # or `wait` raises
            self.abort_nowait()
        return self.wait()

    def abort_nowait(self) -> None:
        """Stop as `abort` does, without waiting for it. Before the opening, it takes effect at the run's first wait."""
        self._aborted = True
        self._run.cancel()

    def hurry(self) -> None:
        """Stop waiting for releases: end each module's `release_timeout` now."""
        self._run.hurry()

    async def finish(self) -> None:
        """Stop in an orderly way and keep the results so far: sources end, and values in flight complete.

        Returns when the run has ended; `result` then returns the results. Times that a source has given only in part
        complete with that part. This includes the sources that `flat_map` and `flatten` open: from now on they are
        empty, so a value whose source is not open yet emits nothing. Values that a source has but was not asked for,
        such as those in the buffer of a `pushable`, are dropped: to keep them, `end()` it instead. In contrast, `abort`
        completes nothing.

        >>> import trio, pullstream as ps
        >>> async def main():
        ...     async with ps.pipe(ps.integers(), ps.collect()).open() as running:
        ...         await trio.sleep(0.01)
        ...         await running.finish()
        ...         return (await running.result())[:2]
        >>> trio.run(main)
        [0, 1]
        """
        if self._entered:  # or `wait` raises
            self._run.finish()
        await self.wait()

    def abort_on_interrupt(self) -> None:
        """Make the first Ctrl-C abort the run in an orderly way, and a second one stop waiting for releases.

        It applies in the main thread until the end of the block. The block raises KeyboardInterrupt only if the run had
        ended before the signal. Otherwise `result` raises `Abandoned`, and `interrupted` is true.
        """
        self._own_interrupts = Interrupts().__enter__()
        self.abort_at(self._own_interrupts)

    def abort_at(self, interrupts: Interrupts) -> None:
        """Abort at the first kept interrupt; at each further one, stop waiting for releases."""
        self._interrupts = interrupts
        token = trio.lowlevel.current_trio_token()

        def heard() -> None:
            interrupts.noticed = True
            self.abort_nowait()
            if len(interrupts.kept) > 1:
                self.hurry()

        def signalled() -> None:
            with suppress(trio.RunFinishedError):
                token.run_sync_soon(heard)

        interrupts.listen(signalled)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C has aborted the run, after `abort_on_interrupt`."""
        return self._interrupts is not None and bool(self._interrupts.kept)

    def pass_on_signals(self, wakeup_fd: int) -> None:
        """Forward every signal to another event loop of this thread, through its wakeup descriptor."""
        self._run.spawn_watch(pass_on_wakeups, wakeup_fd)

    if not TYPE_CHECKING:

        def __enter__(self) -> NoReturn:
            raise TypeError("write `async with pipeline.open() as running:` in a trio program, or ps.run(pipeline)")

        def __exit__(self, *_: object) -> NoReturn:
            raise AssertionError("never entered")

    async def __aenter__(self) -> Self:
        trio_needed()
        if self._entered:
            raise ReuseError(f"{self._pipeline!r} is already open: call open() again for another run")
        self._entered = True
        try:
            if self._interrupts is None:
                self._spared = Spared().__enter__()
            await self._start()
        except BaseException as exc:
            self._run.halt()
            self._shut(exc)
            if not self._run.begun:
                give_back(self._pipeline, self._run)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        try:
            outcome = await self._leave(exc)
        except BaseException as raised:  # noqa: BLE001 - raised below
            outcome = raised
        self._shut(outcome)
        if outcome is not None and outcome is not exc:
            context = outcome.__context__
            try:
                raise outcome
            finally:
                if exc is not None and without_cancelled(exc) is None:
                    # Python has made the cancellation of the block its context, and would show that above it.
                    outcome.__context__ = context
                cut(outcome)
        if outcome is not None and (outcome is self._failure or isinstance(outcome, KeyboardInterrupt)):
            cut(outcome)
        return outcome is None

    def _shut(self, outcome: BaseException | None) -> None:
        """Give signals back to the program's own handlers; an interrupt raised here has the `outcome` as its cause."""
        self._run.detector.left()
        try:
            if self._tracer is not None:
                self._tracer.shut()
            if self._own_interrupts is not None:
                self._own_interrupts.reported = self._abandoned
                self._own_interrupts.__exit__(None, outcome, None)
        finally:
            if self._spared is not None:
                self._spared.__exit__(None, outcome, None)

    async def _start(self) -> None:
        """Place the modules in their run, and start the sinks beside the block."""
        run = self._run
        run.clock = instrument()
        if self._tracer is not None:
            self._tracer.notes.open()
        assembly = Assembly(run.scope)
        self._consumers = [assembly.sink(self._pipeline, None), *assembly.beside]
        run.scope.sidecar.start()
        if self._beside is not None:
            self.progress.times_done()
        if self._keeper is not None:
            await self._keeper.begin()
        self._nursery = trio.open_nursery()
        block = await self._nursery.__aenter__()
        failed: BaseException | None = None
        try:
            run.begin(block)
            # From here on every path must reach `halt`: the run's tasks are shielded, and would be awaited forever.
            if self._beside is not None:
                run.spawn_watch(self._look_on, self._beside)
                with trio.CancelScope(shield=True):
                    # Let the companion see the start, because the first batch may keep all tasks waiting for long.
                    await trio.lowlevel.checkpoint()
            if self._here:
                # A cancellation from outside reaches the sinks where the run's own would: where they wait for a batch.
                self._run.sinks.shield = False
                run.detector.run_by(trio.lowlevel.current_task())
            else:
                # It has its own shield and lets no exception out.
                block.start_soon(self._consume)
                self._begun = True
            run.detector.arm(self._on_deadlock, block.cancel_scope)
            if self._checker is not None:
                run.spawn_watch(self._end_at_a_violation, self._checker)
            if self._keeper is not None:
                run.spawn_watch(self._keep, self._keeper)
        except BaseException as exc:  # noqa: BLE001 - raised below
            failed = exc
        if failed is not None:
            raise await self._leave(failed) or failed

    async def _leave(self, exc: BaseException | None) -> BaseException | None:
        """End the run when its block is left, perhaps with an exception; returns the exception to raise."""
        outcome: BaseException | None = None
        try:
            try:
                if exc is not None:
                    outcome = without_cancelled(exc)
                else:
                    quiet = self._aborted or self._reported
                    if not self._finished:
                        await self.wait()
                    if not quiet:
                        self.outcome()
            except BaseException as raised:  # noqa: BLE001 - returned
                outcome = without_cancelled(raised)
            if self._begun and not self._finished:
                outcome = await self._released(outcome)
            self._run.halt()
            if self._here:
                # Thousands of runs may wait a step in `__aexit__`, and their modules are no longer needed.
                self._consumers = ()
                del self._run.scope
            await self._nursery.__aexit__(None, None, None)
            # Its tasks have ended, and only the garbage collector would free them with the run.
            del self._nursery, self._run.nursery
        except BaseException as raised:  # noqa: BLE001 - returned
            # Besides its own cancellation, the nursery can raise only an interrupt that arrived while it was left.
            if (interrupt := without_cancelled(raised)) is not None:
                outcome = instead_of(outcome, sole(interrupt))
        finally:
            if self._keeper is not None:
                self._keeper.close()
        if self._checker is not None:
            outcome = self._checker.verdict() or outcome
        if self._tracer is not None:
            self._tracer.close(self._failure)
            outcome = outcome or self._tracer.notes.failure
        if outcome is not None or self._failure_beside is not None:
            outcome = combined(outcome, self._failure, self._failure_beside, reported=self._reported)
        if outcome is not None:
            return outcome
        # A cancellation from outside continues here; the run's own, for a failed stream, ended above.
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._failure is not None and not self._reported and not self._abandoned:
            return self._failure.with_traceback(self._traceback)
        return None

    async def _released(self, outcome: BaseException | None) -> BaseException | None:
        """Abort, wait until everything is released, and return the exception to raise.

        Trio raises an interrupt where its main task waits, shielded or not. The first interrupt is kept until the end;
        the second one stops the waiting for releases.
        """
        self.abort_nowait()
        with trio.CancelScope(shield=True):
            while not self.finished:
                try:
                    await self.wait()
                except KeyboardInterrupt as exc:
                    if isinstance(outcome, KeyboardInterrupt):
                        self.hurry()
                    outcome = instead_of(outcome, exc)
        return outcome

    async def _consume(self) -> None:
        """Run the sinks to their end and signal the end to everything that waits for it."""
        try:
            await self._until_ended()
        except BaseException as exc:  # noqa: BLE001 - nothing upstream would report it
            self._failure = self._failure or exc
        self._run.detector.over()
        self._finished = True
        for ended in self._ends:
            ended.set()
        if self._failure is not None and not self._abandoned and not self._waiting:
            # Nothing in the block waits for the end, and nothing more will arrive, so the block is cancelled.
            self._run.nursery.cancel_scope.cancel()

    async def _until_ended(self) -> None:
        abandoned = False
        with self._run.sinks:
            try:
                self._result = cast("R", (await consume_all(self._consumers))[0])
            except BaseException as exc:  # noqa: BLE001 - raised where the run's end is reported
                # A cancellation from outside is raised there again.
                abandoned = without_cancelled(exc) is None or (isinstance(exc, Abandoned) and self._run.cancelled)
                if not abandoned:
                    cut(exc)
                    self._failure, self._traceback = exc, exc.__traceback__
        for location in self._run.scope.sidecar.locations:
            if remark := location.skipped and location.remark():
                LOG.warning("%s, %s", location, remark)
        if self._checker is not None and self._checker.violations:
            # Even if a module handled the violation, it is how the run ended.
            abandoned, self._failure = False, self._checker.violations[0]
        elif self._cause is not None and abandoned:
            abandoned, self._failure = False, self._cause
        try:
            self._run.scope.sidecar.end(self._failure, abandoned=abandoned)
        except BaseException as exc:  # noqa: BLE001 - raised where the run's end is reported
            self._failure = self._failure or exc
        self._failure = self._failure or self._stray
        if self._keeper is not None:
            try:
                with own_scope(shield=True):
                    await self._keeper.end()
            except Exception as exc:  # noqa: BLE001 - as above
                if self._failure is None:
                    self._failure = exc
                elif self._failure is not exc:
                    self._failure.add_note(f"after that, writing the journal failed: {exc}")
        if abandoned and self._failure is None:
            self._abandoned, self._failure = True, Abandoned()

    def _on_deadlock(self) -> None:
        self._run.spawn_watch(self._stall)

    async def _stall(self) -> None:
        """End a deadlocked run and report what it was waiting for."""
        detector, sidecar = self._run.detector, self._run.scope.sidecar
        if not detector.deadlocked():
            detector.check_soon()
            return
        if detector.alone and detector.outside:
            detector.check_when_woken()
            if not self._warned:
                self._warned = True
                LOG.warning("%s", waits_for_handles(sidecar))
            return
        if moved_from_outside(sidecar):
            detector.check_when_woken()
            return
        stalled = StalledError(explain_stall(sidecar))
        waiters = list(sidecar.waits)
        if not any(waiter.event.task is not None and detector.has(waiter.event.task) for waiter in waiters):
            self._cause = detector.reason = stalled
            self._run.cancel()
        for waiter in waiters:
            # A task that waits for a completion raises the error itself, so its part of the run ends in order.
            waiter.failure = stalled
            waiter.event.set()
        if not detector.deadlocked():
            detector.check_soon()

    def _end_with(self, failure: BaseException) -> None:
        """End the run in an orderly way with an exception that no module raised."""
        if self._finished:
            self._failure_beside = self._failure_beside or failure
        else:
            self._cause = self._cause or failure
            self._stray = failure
            self._run.cancel()

    async def _end_at_a_violation(self, checker: "wanted.Checker") -> None:
        await checker.tripped.wait()
        self._run.cancel()

    async def _keep(self, keeper: "wanted.Keeper") -> None:
        """Let the keeper write the journal; end the run if its completions cannot be recorded."""
        try:
            await keeper.keep()
        except BaseException as exc:
            failure = without_cancelled(exc)
            if failure is None:
                raise
            if self._cause is None:
                self._cause = keeper.failure = failure
                self._run.cancel()

    async def _look_on(self, beside: "Companion") -> None:
        """Run the companion; if it raises, end the run in an orderly way, or add the error if it has ended."""
        LOOKS_ON.set(True)
        try:
            await call_beside(beside, self)
        except BaseException as exc:
            failure = without_cancelled(exc)
            if failure is None:
                raise
            self._failure_beside = failure
            if not isinstance(failure, Abandoned):
                # Progress and the result raise a module's exception, which has its note, or is about to get it.
                if not (isinstance(failure, PullstreamError) or any(map(is_blame, getattr(failure, "__notes__", ())))):
                    blame(failure, "the function given as beside=")
                self._cause = self._cause or failure
            self._run.cancel()


Companion = Callable[[Running[Any]], Awaitable[object]]
"""An async function that runs beside a pipeline, as `beside=`: a progress display, for example.

It receives the `Running` and is cancelled when the pipeline has ended. If it raises, the pipeline is aborted.
"""

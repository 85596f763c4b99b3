"""`Running`: a pipeline that is open, from its first instruction to its end in order."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from os import PathLike
from types import TracebackType
from typing import Any, Generic, Self, cast

import trio
from typing_extensions import TypeVar

from pullstream.blueprint import Blueprint, refuse_sharing
from pullstream.engine.assembly import Assembly, Consuming, consume_all
from pullstream.engine.run import Run
from pullstream.engine.runtime.blocked import own_scope, running_program
from pullstream.engine.runtime.deadlock import LOOKS_ON, Signal
from pullstream.engine.runtime.interrupts import Interrupts, Spared
from pullstream.engine.runtime.rounds import instrument
from pullstream.engine.runtime.signals import pass_on_wakeups
from pullstream.engine.sidecar.counters import Counters
from pullstream.engine.sidecar.explain import explain_stall, moved_from_outside
from pullstream.engine.sidecar.sidecar import Sidecar
from pullstream.errors import (
    Abandoned,
    PullstreamError,
    ReuseError,
    StalledError,
    sole,
    without_cancelled,
)
from pullstream.frames import cut
from pullstream.program import wanted
from pullstream.program.endings import contains, instead_of, together
from pullstream.program.onlookers import look_on, looker_argument
from pullstream.program.progress import Progress
from pullstream.trace.every import trace_of_a_run

R = TypeVar("R")


def trio_needed() -> None:
    """Refuse, by name, to open a run outside of a trio program."""
    if running_program() is None:
        raise PullstreamError(
            "open() and aiterate() belong into a trio program, and this is none: run(pipeline) and, for a plain "
            "for loop, iterate(source) work in a script, and `await arun(pipeline)` where asyncio runs",
        )


class Running(Generic[R]):
    """A pipeline that runs: its progress, its result, and the ways to stop it. Made by `Pipeline.open`."""

    def __init__(
        self,
        pipeline: Blueprint,
        *,
        limit: int,
        release_timeout: float,
        check: "wanted.Check" = False,
        beside: "Beside | None" = None,
        journal: "str | PathLike[str] | wanted.Journal | None" = None,
        trace: "wanted.TraceTo | None" = None,
    ) -> None:
        if beside is not None:
            looker_argument(beside)
        refuse_sharing(pipeline)
        self._pipeline = pipeline
        self._beside = beside
        self._checker = None if check is False else wanted.checker_for(check)
        trace = trace_of_a_run(trace)
        self._tracer = None if trace is None else wanted.Tracer(trace, limit=limit, checker=self._checker)
        self._run = Run(
            limit=limit,
            release_timeout=release_timeout,
            on_failure=self._end_with,
            watcher=self._tracer or self._checker,
            sidecar=Sidecar if self._tracer is None else self._tracer.sidecar,
        )
        self._progress = Progress(self._run.scope.sidecar)
        self._keeper = None if journal is None else wanted.Keeper(journal, pipeline, self._run)
        self._manager = self._open()
        # A cancellation from outside reaches the block, and through its end the sinks, in order and not at random.
        self._scope = own_scope(shield=True)
        self._finished = False
        self._ends: set[Signal] = set()
        """Signals for those who wait for the end."""
        self._failure: BaseException | None = None
        self._traceback: TracebackType | None = None
        self._result: R
        self._told = False
        self._cause: BaseException | None = None
        """The reason why the run itself put an end to the stream."""
        self._stray: BaseException | None = None
        """The exception that was raised where it is no module's failure."""
        self._trouble: BaseException | None = None
        """The exception that something beside the stream raised, what looks on or a task of the run's own."""
        self._waiting = 0
        self._entered = False
        self._aborted = False
        self._abandoned = False
        self._standing = ExitStack()
        """Handlers that stand before the program's own of Ctrl-C."""
        self._interrupts: Interrupts | None = None

    @property
    def progress(self) -> Progress:
        """The run's progress: what is complete, what is not yet, and why."""
        return self._progress

    @property
    def resumed_at(self) -> Sequence[Hashable] | None:
        """The least times that earlier runs with the same journal had not completed, at any of the sinks.

        None if there is no journal, or nothing in it to go on from; nothing if they had completed everything.
        """
        return None if self._keeper is None else self._keeper.resumed_at

    @property
    def resumed(self) -> bool:
        """Whether the run goes on from where an earlier one with its journal was.

        That, and whether there is nothing left to do, is also logged, as information of the logger "pullstream".
        """
        return self._keeper is not None and self._keeper.resumed

    def counters(self) -> list[Counters]:
        """The counters of every module so far, in the order of the pipeline; also after the end.

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
        """Whether the run has come to its end, whichever it is."""
        return self._finished

    @property
    def failure(self) -> BaseException | None:
        """The failure that ended the run: None while it runs, and after a good end; `Abandoned` if it was aborted.

        Unlike `result`, it may be looked at by anybody: the failure is still raised to whoever opened the pipeline.
        """
        return self._failure if self.finished else None

    async def result(self) -> R:
        """Wait for the end and give the sink's result; a tuple of results for several sinks.

        Raises:
            Abandoned: the run was aborted.
            BaseException: the stream's failure, as itself.
        """
        await self.wait()
        return self._outcome()

    def _outcome(self) -> R:
        """Give the result, or raise the failure, once the run has ended; whoever asks has then been told of it."""
        if self._failure is not None:
            self._told = self._told or not LOOKS_ON.get()
            raise self._failure.with_traceback(self._traceback)
        return self._result

    async def wait(self) -> None:
        """Wait for the end, whichever it is; `result` then tells."""
        if not self._entered:
            raise PullstreamError("this pipeline is not open: use `async with pipeline.open() as running:`")
        waiting = not LOOKS_ON.get()
        self._waiting += waiting
        try:
            if self._finished:
                await trio.lowlevel.checkpoint()
                return
            ended = self._run.signal()
            self._ends.add(ended)
            try:
                await ended.wait()
            finally:
                self._ends.discard(ended)
        finally:
            self._waiting -= waiting

    async def abort(self) -> None:
        """Stop now, in order: everything is released, nothing is completed; returns when it is confirmed.

        The block may then be left quietly: only `result`, and `progress.completed`, raise `Abandoned`.
        """
        self.abort_nowait()
        await self.wait()

    def abort_nowait(self) -> None:
        """Stop now, in order, as `abort` does, and do not wait for it."""
        self._aborted = True
        self._scope.cancel()

    def hurry(self) -> None:
        """Wait for no release any longer: each module's `release_timeout` is over."""
        self._run.hurry()

    async def finish(self) -> None:
        """Stop in order and keep what there is: every source ends, and what is under way completes.

        Returns when the run has ended, and `result` gives what came of it. Times of which a source has given only a
        part complete with that part; `abort` completes nothing.

        >>> import trio, pullstream as ps
        >>> async def main():
        ...     async with ps.pipe(ps.count(), ps.collect()).open() as running:
        ...         await trio.sleep(0.01)
        ...         await running.finish()
        ...         return (await running.result())[:2]
        >>> trio.run(main)
        [0, 1]
        """
        self._run.finish()
        await self.wait()

    def abort_on_interrupt(self) -> None:
        """Let the first Ctrl-C abort in order, a second one without waiting for releases.

        It takes effect in the main thread, from here to the end of the block, which raises KeyboardInterrupt only if
        the run had ended before the signal came: otherwise `result` raises `Abandoned`, and `interrupted` says why.
        """
        interrupts = self._standing.enter_context(Interrupts())
        self._standing.callback(lambda: setattr(interrupts, "told", self._abandoned))
        self.abort_at(interrupts)

    def abort_at(self, interrupts: Interrupts) -> None:
        """Let what is kept there abort in order; every further one, without waiting for releases."""
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
        """Whether Ctrl-C has aborted it, which `abort_on_interrupt` makes it do."""
        return self._interrupts is not None and bool(self._interrupts.kept)

    def pass_on_signals(self, wakeup_fd: int) -> None:
        """Pass every signal on to another event loop of this thread, by its wakeup descriptor."""
        self._run.spawn_watch(pass_on_wakeups, wakeup_fd)

    async def __aenter__(self) -> Self:
        trio_needed()
        if self._entered:
            raise ReuseError(f"{self._pipeline!r} is open already: call open() again for another run of it")
        self._entered = True
        try:
            if self._interrupts is None:
                self._standing.enter_context(Spared())
            await self._manager.__aenter__()
        except BaseException:
            self._standing.close()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        # As a block, so that an interrupt that is raised at its end has what the run ended with as its cause.
        with self._standing:
            return await self._manager.__aexit__(kind, exc, traceback)

    @asynccontextmanager
    async def _open(self) -> AsyncGenerator[None, None]:
        run = self._run
        run.clock = instrument()
        if self._tracer is not None:
            self._tracer.open()
            self._standing.callback(self._tracer.shut)
        assembly = Assembly(run.scope)
        consumers = [assembly.sink(self._pipeline, None), *assembly.beside]
        run.scope.sidecar.start()
        if self._beside is not None:
            self.progress.times_done()
        if self._keeper is not None:
            await self._keeper.begin()
        outcome: BaseException | None = None
        try:
            async with trio.open_nursery() as block:
                run.begin(block)
                # From here on everything leads to `halt`: its tasks are shielded, and would be waited for for ever.
                begun = False
                try:
                    if self._beside is not None:
                        run.spawn_watch(self._look_on, self._beside)
                        with trio.CancelScope(shield=True):
                            # What looks on sees the beginning, too: the first batch may keep all tasks waiting for
                            # long.
                            await trio.lowlevel.checkpoint()
                    run.spawn(self._consume, consumers, block)
                    begun = True
                    run.detector.arm(self._on_deadlock, block.cancel_scope)
                    if self._checker is not None:
                        run.spawn_watch(self._end_at_a_violation, self._checker)
                    if self._keeper is not None:
                        run.spawn_watch(self._keep, self._keeper)
                    yield
                    quiet = self._aborted or self._told
                    if not self._finished:
                        await self.wait()
                    if not quiet:
                        self._outcome()
                except BaseException as exc:  # noqa: BLE001 - raised below, outside the nursery
                    outcome = without_cancelled(exc)
                if begun and not self._finished:
                    outcome = await self._released(outcome)
                run.halt()
        except BaseException as exc:  # noqa: BLE001 - raised below
            # What the nursery raises besides its own cancellation is an interrupt that struck while it was left.
            if (interrupt := without_cancelled(exc)) is not None:
                outcome = instead_of(outcome, sole(interrupt))
        finally:
            if self._keeper is not None:
                self._keeper.close()
        if self._checker is not None:
            outcome = self._checker.verdict() or outcome
        if self._tracer is not None:
            self._tracer.close(self._failure)
            outcome = outcome or self._tracer.trouble
        self._report(self._with_trouble(outcome))
        # A cancellation from outside goes on from here; the run's own, of a block whose stream failed, ended above.
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._failure is not None and not self._told and not self._abandoned:
            raise self._failure.with_traceback(self._traceback)

    async def _released(self, outcome: BaseException | None) -> BaseException | None:
        """Abort, and wait until everything has let go; give what is to be raised then.

        Trio raises an interrupt where its main task waits, shielded or not. The first one is kept until the end; the
        second one has releases waited for no longer.
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

    async def _consume(self, consumers: Sequence[Consuming], block: trio.Nursery) -> None:
        """Run the sinks to their ends; whatever comes of that, whoever waits for the end hears of it."""
        try:
            await self._until_ended(consumers)
        except BaseException as exc:  # noqa: BLE001 - nothing above would tell anybody
            self._failure = self._failure or exc
        self._run.detector.over()
        self._finished = True
        for ended in self._ends:
            ended.set()
        if self._failure is not None and not self._abandoned and not self._waiting:
            # Nobody in the block waits to hear of it, and the block has nothing left to wait for.
            block.cancel_scope.cancel()

    async def _until_ended(self, consumers: Sequence[Consuming]) -> None:
        with self._scope:
            try:
                self._result = cast("R", (await consume_all(consumers))[0])
            except BaseException as exc:
                if without_cancelled(exc) is None:
                    raise
                cut(exc)
                self._failure, self._traceback = exc, exc.__traceback__
        abandoned = self._scope.cancelled_caught
        if self._checker is not None and self._checker.violations:
            # Whatever a module has made of it, this is how the run ended.
            abandoned, self._failure = False, self._checker.violations[0]
        elif self._cause is not None and abandoned:
            abandoned, self._failure = False, self._cause
        try:
            self._run.scope.sidecar.end(self._failure, abandoned=abandoned)
        except BaseException as exc:  # noqa: BLE001 - raised where the run's end is told
            self._failure = self._failure or exc
        self._failure = self._failure or self._stray
        if self._keeper is not None:
            try:
                await self._keeper.end()
            except Exception as exc:  # noqa: BLE001 - as above
                if self._failure is None:
                    self._failure = exc
                elif self._failure is not exc:
                    self._failure.add_note(f"and then the journal was not written: {exc}")
        if abandoned and self._failure is None:
            self._abandoned, self._failure = True, Abandoned("the run was aborted before its end")

    def _on_deadlock(self) -> None:
        self._run.spawn_watch(self._stall)

    async def _stall(self) -> None:
        """End a run in which nothing will ever move again, and say what it was waiting for."""
        detector, sidecar = self._run.detector, self._run.scope.sidecar
        if not detector.deadlocked():
            detector.check_soon()
            return
        if moved_from_outside(sidecar):
            detector.check_when_woken()
            return
        stalled = StalledError(explain_stall(sidecar))
        waiters = list(sidecar.waits)
        if not any(waiter.event.task is not None and detector.has(waiter.event.task) for waiter in waiters):
            self._cause = detector.reason = stalled
            self._scope.cancel()
        for waiter in waiters:
            # Who waits for a completion raises it, as a failure of its own, and so ends its part of the run in order.
            waiter.failure = stalled
            waiter.event.set()
        if not detector.deadlocked():
            detector.check_soon()

    def _end_with(self, trouble: BaseException) -> None:
        """End the run in order, and with what was raised, which is no module's failure."""
        if self._finished:
            self._trouble = self._trouble or trouble
        else:
            self._cause = self._cause or trouble
            self._stray = trouble
            self._scope.cancel()

    async def _end_at_a_violation(self, checker: "wanted.Checker") -> None:
        await checker.tripped.wait()
        self._scope.cancel()

    async def _keep(self, keeper: "wanted.Keeper") -> None:
        """Let the journal be kept; a run whose completions cannot be recorded ends."""
        try:
            await keeper.keep()
        except BaseException as exc:
            trouble = without_cancelled(exc)
            if trouble is None:
                raise
            if self._cause is None:
                self._cause = keeper.trouble = trouble
                self._scope.cancel()

    async def _look_on(self, beside: "Beside") -> None:
        """Run what looks on; what it raises ends the run in order, or what comes of it if it has ended already."""
        LOOKS_ON.set(True)
        try:
            await look_on(beside, self)
        except BaseException as exc:
            trouble = without_cancelled(exc)
            if trouble is None:
                raise
            self._trouble = trouble
            if not isinstance(trouble, Abandoned):
                self._cause = self._cause or trouble
            self._scope.cancel()

    def _with_trouble(self, outcome: BaseException | None) -> BaseException | None:
        """Give what the block raised, and with it what ran beside the stream."""
        trouble = self._trouble
        if trouble is None or trouble is self._failure or contains(outcome, trouble):
            return outcome
        if isinstance(trouble, Abandoned) and self._failure is not None:
            # It waited for what the end of the run made impossible.
            return outcome
        return together("the run failed, and so did what ran beside it", outcome, trouble)

    def _report(self, outcome: BaseException | None) -> None:
        """Raise what the block raised; with the stream's failure beside it, if nobody has been told of that."""
        failure = self._failure
        if outcome is None:
            return
        if failure is None or self._told or isinstance(failure, Abandoned) or contains(outcome, failure):
            raise outcome
        if isinstance(outcome, KeyboardInterrupt):
            raise outcome from failure
        raise together("the block failed, and so did the stream beside it", outcome, failure)


Beside = Callable[[Running[Any]], Awaitable[object]]
"""An onlooker while a pipeline runs, such as a progress display: an async function of the `Running`."""

"""The completion protocol: a sink prepares values at their times, and commits each time once it is complete."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Container, Hashable, Sequence
from contextlib import ExitStack, asynccontextmanager
from typing import Any, Final, Generic, TypeAlias, cast, final

import trio
from typing_extensions import TypeVar

from pullstream.engine.parts.context import Context
from pullstream.errors import without_cancelled
from pullstream.protocol import Batch, Reader

R = TypeVar("R", default=Any)

AHEAD: Final = 64
"""The number of complete times that may wait before no more values are taken."""

Step: TypeAlias = Callable[["Committer[Any]", str, Hashable], None]

STEPS: Final[list[Step]] = []
"""Functions that are called before each step of every sink, such as `("prepare", 3)`; the conformance kit adds one."""


class Committer(Generic[R]):
    """Base class of sinks that make a time's values visible all at once, when the time is complete.

    A subclass defines how. `run` calls its methods in this order:

    1. `open`, once, before the first value is asked for. It returns the times that earlier runs have committed. Their
       values are not prepared again: they are passed to `skip`, and each such time to `skipped` when it is complete.
    2. `prepare`, with each batch. What it stores must not be visible yet.
    3. `commit`, with complete times, in the order in which they completed. When it returns, their values are visible
       and durable. It runs in the background: `prepare` may be called meanwhile, with values of other times.
    4. `ended`, if the stream has ended without a failure and all times are committed.
    5. `close`, once, however the stream ends, even if `open` failed. It must remove what was prepared and not
       committed. A cancellation does not interrupt it.
    6. `result`, if nothing failed.

    **Exactly once.** A program can be killed between any two of these steps, and in the middle of each. Until `commit`
    has returned, the time is not complete for `completed()`, for the journal or for Spark. The next run therefore
    prepares and commits it again. `commit` must not repeat what it has done. There are two ways: replace whatever
    exists for the time, or record the time in the same transaction as its values and return the recorded times from
    `open`. `pullstream.conformance.kills` tests this. It kills the sink at any step and line, and compares the outcome.

    Here the totals themselves are the record:

    >>> import pullstream as ps
    >>> table = {}
    >>> class Totals(ps.authoring.Committer):
    ...     async def open(self, ctx):
    ...         self.totals = {}
    ...         return set(table)
    ...     def prepare(self, batch):
    ...         self.totals[batch.time] = self.totals.get(batch.time, 0) + sum(batch.values)
    ...     async def commit(self, times):
    ...         table.update({time: self.totals.pop(time) for time in times})
    >>> @ps.sink
    ... async def totals(upstream, ctx):
    ...     await Totals().run(upstream, ctx)
    >>> ps.run(ps.pipe(ps.values([10, 12, 21], time=lambda n: n // 10), totals()))
    >>> table
    {1: 22, 2: 21}
    """

    many: bool = False
    """Whether `prepare` takes multi-time batches, as in `ctx.events(upstream, many=True)`."""

    taken: int = 0
    """The number of stored values of a multi-time batch, if `prepare` raises in the middle of it.

    The times that these values complete are committed before the failure.
    """

    async def open(self, ctx: Context) -> Container[Hashable]:  # noqa: ARG002 - for subclasses
        """Acquire the target, and return the times that earlier runs have committed; by default none."""
        return ()

    def prepare(self, batch: Batch[Any]) -> Awaitable[None] | None:
        """Store values, invisibly. It may be an async function."""
        raise NotImplementedError

    def skip(self, batch: Batch[Any]) -> None:
        """Note values at a time that an earlier run has committed: they are dropped. By default does nothing."""

    def skipped(self, time: Hashable) -> None:
        """Note that a time whose values were dropped is complete. By default does nothing."""

    async def commit(self, times: Sequence[Hashable]) -> None:
        """Make the values of these times visible; return when they are durable."""
        raise NotImplementedError

    async def ended(self) -> None:
        """Make visible what does not depend on a time, such as a file without values; by default nothing."""

    async def close(self) -> None:
        """Release the target, and remove what was not committed; by default nothing."""

    def result(self) -> R:
        """Return the sink's result; by default None."""
        return None  # type: ignore[return-value]

    # ---- driven by the run; the names are mangled, because those with one underscore are the author's

    __due: "_Due"

    @final
    async def idle(self) -> None:
        """Wait, in `prepare`, until all complete times have been committed: nothing else runs then."""
        await self.__due.idle()

    @final
    async def run(self, upstream: Reader[Any], ctx: Context) -> R:
        """Consume a stream: the body of the sink."""
        try:
            await self.__run(upstream, ctx)
        except BaseException as exc:
            try:
                await self.__close()
            except Exception as more:  # noqa: BLE001 - the first failure is the reason
                exc.add_note(f"and the sink could not be closed: {type(more).__name__}: {more}")
            raise
        await self.__close()
        return self.result()

    async def __run(self, upstream: Reader[Any], ctx: Context) -> None:
        self.__step("open")
        committed = cast("object", await self.open(ctx))
        if not isinstance(committed, Container):
            opened = f"{type(self).__name__}.open returned {committed!r}"
            raise TypeError(f"{opened}: return the times that earlier runs have committed, or () if there are none")
        self.__due = due = _Due(ctx, self.__commit)
        is_open: set[Hashable] = set()
        skipping: set[Hashable] = set()

        async def complete(time: Hashable) -> None:
            if time in skipping:
                skipping.discard(time)
                self.skipped(time)
            else:
                is_open.discard(time)
                await due.put(time)

        async with due.running():
            events = ctx.events(upstream, many=self.many)
            async for event in events:
                if not isinstance(event, Batch):
                    await complete(event.time)
                    continue
                old = False
                for run in event.runs():
                    if run.time in is_open:
                        continue
                    if run.time not in skipping:
                        ctx.notify_at(run.time)
                        (skipping if run.time in committed else is_open).add(run.time)
                    if run.time in skipping:
                        old = True
                        self.skip(run)
                stored = 0
                try:
                    for batch in event.runs() if old else (event,):
                        if not old or batch.time in is_open:
                            if STEPS:
                                self.__step("prepare", next(batch.runs()).time)
                            waiting = self.prepare(batch)
                            if waiting is not None:
                                await waiting
                        stored += len(batch.values)
                except BaseException as exc:
                    if without_cancelled(exc) is not None:
                        # The values before the one that failed may complete times (R8).
                        upstream.ack_but(event.part(stored + self.taken))
                        for time in events.complete():
                            await complete(time)
                    raise
        self.__step("ended")
        await self.ended()

    async def __commit(self, times: Sequence[Hashable]) -> None:
        self.__step("commit", times[0])
        await self.commit(times)
        self.__step("committed", times[0])

    async def __close(self) -> None:
        self.__step("close")
        with trio.CancelScope(shield=True):
            await self.close()

    def __step(self, name: str, time: Hashable = None) -> None:
        for step in STEPS:
            step(self, name, time)


class _Due:
    """A queue of complete times; `commit` gets all that are queued, in order.

    Each time is held until it has been committed, so it does not count as complete before. A failed commit ends
    the block of `running`, which raises the failure.
    """

    def __init__(self, ctx: Context, commit: Callable[[Sequence[Hashable]], Awaitable[None]]) -> None:
        self._ctx = ctx
        self._commit = commit
        self._due: list[Hashable] = []
        self._held = ExitStack()
        self._changed = trio.Event()
        self._failure: BaseException | None = None
        self._busy = False
        self._nursery: trio.Nursery

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """Commit in the background of this block, which ends when everything has been committed."""
        async with trio.open_nursery() as self._nursery:
            try:
                try:
                    yield
                finally:
                    # Commit what is complete, whatever happens after it.
                    await self.idle()
            except BaseException as exc:  # noqa: BLE001 - raised below, outside the nursery
                self._fail(exc)
        if self._failure is not None:
            raise self._failure

    async def put(self, time: Hashable) -> None:
        """Queue a complete time to be committed; wait while too many are queued."""
        self._held.enter_context(self._ctx.hold(time))
        self._due.append(time)
        if not self._busy:
            self._busy = True
            self._nursery.start_soon(self._commit_due)
            # Let it begin now, even if the computation of the next values never yields to other tasks.
            await trio.lowlevel.checkpoint()
        while len(self._due) >= AHEAD:
            await self._changed.wait()

    async def idle(self) -> None:
        """Wait until nothing is due."""
        while self._due:
            await self._changed.wait()

    async def _commit_due(self) -> None:
        try:
            while due := self._due.copy():
                held = self._held.pop_all()
                await self._commit(due)
                del self._due[: len(due)]
                held.close()
                self._changed.set()
                self._changed = trio.Event()
        except BaseException as exc:  # noqa: BLE001 - raised by the block
            self._fail(exc)
        finally:
            self._busy = False

    def _fail(self, exc: BaseException) -> None:
        if without_cancelled(exc) is None:
            raise exc
        self._failure = self._failure or exc
        self._nursery.cancel_scope.cancel()

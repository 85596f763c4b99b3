"""What a module written as a function works with: events, holds and notifications (000's g1, DESIGN 3.4)."""

from collections.abc import AsyncIterator, Hashable, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Generic, Self, cast

import attrs
import trio
from collections.abc import Iterator
from typing_extensions import TypeVar

from pullstream.errors import CapabilityError
from pullstream.kernel import BREATH, Lane
from pullstream.progress import Seat, Waiter
from pullstream.protocol import DONE, Batch, Done, Reader

if TYPE_CHECKING:
    from pullstream.run import Run

T = TypeVar("T")


@attrs.frozen
class Completed:
    """A time that was asked for with `notify_at` is complete: no batch at it, or earlier, will come any more."""

    time: Hashable


class Context:
    """A function module's hold on its run; given to it as `ctx`.

    What it may say, and when, follows the sidecar: while a batch is the current one, the module may answer at its
    time or later; a `hold`, or a notification asked for with `notify_at`, keeps that right beyond.
    """

    def __init__(self, run: "Run", seat: Seat, inputs: Sequence[Lane[object]]) -> None:
        self._run = run
        self._seat = seat
        self._inputs = inputs
        self._requests: dict[Hashable, Waiter] = {}
        self._due: Hashable | None = None
        self._limit = run.limit
        self._breath = 0.0

    @property
    def limit(self) -> int:
        """How many values are wanted: by the ask that is being served, or, in a sink, by the run's setting."""
        return self._limit

    # ---- times

    @contextmanager
    def hold(self, time: Hashable) -> Iterator[None]:
        """Keep the right to answer at `time` and later, until the block is left; in a sink, an effect still owed.

        Raises:
            CapabilityError: nothing held, and no batch just received, gives the right to `time`.
        """
        self._take(time)
        try:
            yield
        finally:
            self._seat.drop(time)

    def notify_at(self, time: Hashable) -> None:
        """Ask for a `Completed(time)` among the `events`, and hold the right to answer at `time` until it is handled.

        Asking again for a time already asked for changes nothing.

        Raises:
            CapabilityError: as `hold`.
        """
        if time not in self._requests:
            self._take(time)
            self._requests[time] = Waiter(self._seat.input, time, None, trio.Event())

    def advance(self, time: Hashable) -> None:
        """In a source: say, without answering, that nothing before `time` will come."""
        if self._inputs:
            raise CapabilityError(f"{self._seat} is not a source: its times follow from what it receives and holds")
        self._seat.advance(time)
        self._seat.stir()

    def _take(self, time: Hashable) -> None:
        if not (any(lane.covers(time) for lane in self._inputs) or self._seat.holds(time)):
            raise CapabilityError(
                f"{self._seat} asked to hold {time!r}, which it has no right to: it holds {self._seat.held or 'nothing'}. "
                f"Take hold(time) or notify_at(time) while a batch at that time, or an earlier one, is the current one",
            )
        self._seat.hold(time)

    # ---- what comes from upstream

    def events(self, upstream: Reader[T]) -> "Events[T]":
        """Batches and the completions asked for with `notify_at`, whichever comes first.

        Completions come before the batch that caused them, least time first; at the end all of them, then the loop
        ends; when the stream fails, none, and its failure is raised. Going on to the next event acknowledges the
        last one: the batch (R11), or the right to answer at the completed time.
        """
        return Events(self, cast("Lane[T]", upstream))

    async def batches(self, upstream: Reader[T]) -> AsyncIterator[Batch[T]]:
        """The batches alone, for a module that asks for no notification."""
        while (batch := await upstream.ask(self.limit)) is not DONE:
            yield batch
            await self.breathe()

    async def breathe(self) -> None:
        """Let other tasks have a turn, and a cancellation strike, if it is time (every few milliseconds)."""
        if monotonic() - self._breath > BREATH:
            await trio.lowlevel.checkpoint()
            self._breath = monotonic()


class Events(Generic[T]):
    """The iterator behind `Context.events`.

    An ask is never cancelled because a completion came first: it stays outstanding, and its answer waits in a slot
    of one, in flight, for the next event.
    """

    def __init__(self, context: Context, upstream: Lane[T]) -> None:
        self._ctx = context
        self._upstream = upstream
        self._slot: Batch[T] | Done | None = None
        self._failure: BaseException | None = None
        self._asking = False
        self._wake = trio.Event()
        self._last: Hashable | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Batch[T] | Completed:
        ctx = self._ctx
        if ctx._due is not None:
            ctx._seat.drop(ctx._due)
            ctx._due = None
        await ctx.breathe()
        if self._slot is None and not self._asking:
            await self._ask()
        while True:
            if self._failure is not None:
                raise self._failure
            if ctx._requests and (due := self._complete()) is not None:
                return due
            if self._slot is DONE:
                raise StopAsyncIteration
            if self._slot is not None:
                batch, self._slot = self._slot, None
                self._last = batch.time
                return batch
            await self._wait()

    async def _ask(self) -> None:
        ctx = self._ctx
        if not ctx._requests:
            self._slot = await self._upstream.ask(ctx.limit)
            return
        self._asking = True
        ctx._run.spawn(self._ask_beside, ctx.limit)
        await self._wait()

    async def _ask_beside(self, limit: int) -> None:
        try:
            self._slot = await self._upstream.ask(limit)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - handed to the module's own task, and raised there
            self._failure = exc
        finally:
            self._asking = False
            self._wake.set()

    async def _wait(self) -> None:
        """Until the answer is there, or something asked for is complete."""
        ctx = self._ctx
        progress = ctx._run.progress
        self._wake = trio.Event()
        for waiter in ctx._requests.values():
            waiter.event = self._wake
            progress.watch(waiter)
        try:
            progress.look()
            await self._wake.wait()
        finally:
            for waiter in ctx._requests.values():
                progress.unwatch(waiter)

    def _complete(self) -> Completed | None:
        """The least completed time that was asked for, if it is complete."""
        ctx = self._ctx
        if isinstance(self._slot, Batch) and self._slot.time == self._last and len(ctx._inputs) == 1:
            # Another batch at the time of the one before: nothing can have become complete through it.
            return None
        progress = ctx._run.progress
        progress.look()
        done = [time for time, waiter in ctx._requests.items() if waiter.settled(progress.tracker)]
        if not done:
            return None
        least = done[0]
        for time in done:
            if time <= least:  # type: ignore[operator]  # the time domain's own order
                least = time
        del ctx._requests[least]
        ctx._due = least
        return Completed(least)

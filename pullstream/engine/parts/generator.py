"""Modules written as async generators: one task each, from the first ask to the release."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from types import FrameType
from typing import Any, cast

import trio
from typing_extensions import override

from pullstream.engine.edge.answers import no_sequence, unequal
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.interfaces import Suspended
from pullstream.engine.parts.context import Account, Context
from pullstream.engine.parts.eventful import Completed
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.traits import Carries, Traits
from pullstream.errors import ProtocolError, failure_in, raised_by_closing, raised_when_cancelled, without_cancelled
from pullstream.frames import lead_to
from pullstream.protocol import DONE, Batch, Done


class GeneratorKernel(Suspended, Kernel[Any]):
    """Runs a source's or transformer's generator.

    The generator has a task of its own, because a generator that is advanced from changing tasks corrupts the
    cancel scopes it opens. Its code runs only while an ask is outstanding; between asks it is suspended at its `yield`.
    """

    traits = Traits(carries=Carries.MAYBE)

    def __init__(self, function: Callable[..., AsyncGenerator[Any, None]], args: Any, kwargs: Any) -> None:
        self._function = function
        self._args = args
        self._kwargs = kwargs
        self._rest: Batch[Any] | None = None
        self._used = 0
        self._answer: Batch[Any] | Done | BaseException = DONE
        self._scope_of_task = own_scope()
        self._scope_of_closing = own_scope()
        self._running = False
        self._stopping = False
        self._generator: AsyncGenerator[Any, None] | None = None

    @override
    async def acquire(self) -> None:
        self._account = Account(self.scope, self.location, self.inputs)
        self._demand = self.run.signal()
        self._supply = self.run.signal()
        self._ended = trio.Event()
        self._trouble: BaseException | None = None
        self.run.spawn(self._drive)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._rest is not None:
            return self._part(self._rest, limit)
        self._account.limit = limit
        self._supply = self.run.signal()
        self._demand.set()
        await self._supply.wait()
        answer = self._answer
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, Batch) and len(answer.values) > limit:
            self._used = 0
            return self._part(answer, limit)
        return answer

    def _part(self, batch: Batch[Any], limit: int) -> Batch[Any]:
        """The next part of a batch that is longer than what is asked for.

        The generator stays suspended at its yield, and so keeps its right to this time, until all is answered.
        """
        start = self._used
        self._used = stop = start + limit
        self._rest = batch if stop < len(batch.values) else None
        return batch.part(start, stop)

    @override
    def suspended_at(self) -> FrameType | None:
        return None if self._running or self._answer is DONE else self._frame()

    def _frame(self) -> FrameType | None:
        """The generator's frame, while it is one and not at its end."""
        frame: FrameType | None = getattr(self._generator, "ag_frame", None)
        return frame

    @override
    def halt(self) -> None:
        self._account.end()
        self._stopping = True
        if self._running:
            self._scope_of_task.cancel()
        else:
            # Suspended at its yield, it is closed without being cancelled, so that its cleanup may await.
            self._demand.set()

    @override
    async def release(self) -> None:
        try:
            await self._ended.wait()
        except trio.Cancelled:
            # The grace is over: what the generator still does to clean up is cut short.
            self._scope_of_closing.cancel()
            raise
        if self._trouble is not None:
            raise self._trouble

    async def _drive(self) -> None:
        context = Context(self._account)
        generator = self._function(*self.inputs, context, *self._args, **self._kwargs)
        self._generator = generator
        try:
            with self._scope_of_closing:
                with self._scope_of_task:
                    try:
                        await self._serve(generator)
                    finally:
                        self._scope_of_closing.shield = True
                        # Here, because scopes that it has opened around its yield are inside this one.
                        await self._close(generator)
                await self.closed()
        finally:
            self._ended.set()

    async def _serve(self, generator: AsyncGenerator[Any, None]) -> None:
        while True:
            ahead = await self._demanded(generator)
            if self._stopping:
                return
            self._demand = self.run.signal()
            self._running = True
            self._answer = await self._advance(anext(generator)) if ahead is None else ahead
            self._running = False
            if self._answer is DONE:
                self._account.look_back(self._function.__name__)
            self._supply.set()
            if not isinstance(self._answer, Batch):
                return
            self._account.went_on()

    async def _demanded(self, generator: AsyncGenerator[Any, None]) -> Batch[Any] | Done | BaseException | None:
        """Wait until it is asked, or ended; gives what it has come to meanwhile, if a scope around its yield ended."""
        try:
            await self._demand.wait()
        except trio.Cancelled as cancelled:
            if self._stopping or self.run.halted:
                raise
            # The scope is the generator's own, of a nursery of which a task has failed, say: it hears of it there.
            ahead = await self._advance(generator.athrow(cancelled))
            with trio.CancelScope(shield=True):
                await self._demand.wait()
            return ahead
        return None

    async def closed(self) -> None:
        """Called in the generator's task once it is closed, also when it was cancelled."""

    async def _advance(self, step: Awaitable[Any]) -> Batch[Any] | Done | BaseException:
        try:
            answer = await step
        except StopAsyncIteration:
            return DONE
        except BaseException as exc:
            rest = failure_in(exc)
            if rest is None:
                raise
            if self._scope_of_task.cancel_called and not self.edge.relayed(rest) and raised_when_cancelled(rest):
                # It was being let go of, and nobody asks any more: raised by `release`. A failure of what is upstream
                # is no trouble of the release, nor is what was on its way already.
                self._trouble = rest
            return rest
        if isinstance(answer, Batch):
            batch = cast("Batch[Any]", answer)
            if not (no_sequence(batch) or unequal(batch)) and len(batch.values):
                self._account.answered = True
                return batch
        elif self.edge.origin:
            return Batch(0, [answer])
        refusal = ProtocolError(f"R2: {self.location}, yielded {self._mistake(answer)}")
        refusal.says_how = True
        lead_to(refusal, self._frame())
        return refusal

    def _mistake(self, answer: Any) -> str:
        """The mistake of what is no answer."""
        if not isinstance(answer, Batch):
            hint = "and no completion" if isinstance(answer, Completed) else f"here Batch(batch.time, [{answer!r}])"
            return f"{answer!r}: a transformer yields Batch(time, values), {hint}"
        batch = cast("Batch[Any]", answer)
        if problem := no_sequence(batch):
            return f"{batch!r}, {problem}"
        return unequal(batch) or "a batch without values: yield nothing, and go on, instead"

    async def _close(self, generator: AsyncGenerator[Any, None]) -> None:
        try:
            await generator.aclose()
        except BaseException as exc:
            # Raised by `release`, whose business it is.
            self._trouble = raised_by_closing(exc)
            if without_cancelled(exc) is None:
                raise

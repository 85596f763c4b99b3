"""Kernels that answer each batch with what they make of it; a user's function goes through one up to where it fails."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from sys import maxsize
from typing import Any

from typing_extensions import override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.interfaces import Stepwise
from pullstream.engine.parts.outbox import timed
from pullstream.engine.traits import PROMPT
from pullstream.protocol import DONE, Batch, Done, TimedBatch


class FailsLater(Kernel[Any]):
    """A kernel that answers what users' functions gave before one of them failed, and fails at the next ask (R8)."""

    failed: BaseException | None = None
    """The failure that is to be raised at the next ask, when what came before it has been answered."""

    def collect(self, work: Callable[..., None], *args: Any) -> list[Any]:
        """Let `work(out, *args)` add values to a list, as many as come before it fails.

        Raises:
            BaseException: what `work` raised, at once if nothing came before.
        """
        out: list[Any] = []
        try:
            work(out, *args)
        except BaseException as exc:
            self.failed = exc
            if not out:
                raise
        return out


class PassOn(FailsLater, Stepwise):
    """Answers each batch with what it makes of it at once, and keeps nothing of it beyond that."""

    traits = PROMPT

    most: int = maxsize
    """The most values to ask for; with none, it has come to its end."""

    left_out: int = 0
    """The number of values that will be left out, and are asked for beside those that are wanted."""

    takes_many: bool = True
    """Whether a batch of many times is answered whole, and what it has completed known after all of it."""

    @abstractmethod
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        """The answer made of a batch of one time; None if that is nothing, and the next one is to be asked for."""

    def answer_many(self, batch: TimedBatch[Any]) -> Batch[Any] | None:
        """The answer made of a batch of many times: unless it is overridden, of the answers to its runs."""
        times: list[Hashable] = []
        out: list[Any] = []
        taken = 0
        try:
            for run in batch.runs():
                answer = self.answer(run)
                if answer is not None:
                    times += answer.times
                    out += answer.values
                if self.failed is not None or not self.most:
                    break
                taken += len(run.values)
        except BaseException as exc:
            self.failed = exc
            if not out:
                raise
        finally:
            if self.failed is not None:
                self.upstream.ack_but(batch.part(taken))
        return timed(times, out) if out else None

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self.failed is not None:
                raise self.failed
            if self.most < limit:
                limit = self.most
                if not limit:
                    return DONE
            batch = await self.upstream.ask(self._demand(limit), many=self.takes_many)
            if batch is DONE:
                return DONE
            answer = self.answer_many(batch) if isinstance(batch, TimedBatch) else self.answer(batch)
            if answer is not None:
                # In the step in which it is in flight below. What is left of a batch that fails later is not done.
                if self.failed is None:
                    self.upstream.settle()
                return answer
            if not await self.breathe():
                return DONE

    def _demand(self, limit: int) -> int:
        return min(self.run.limit, limit + self.left_out) if self.left_out else limit

    @override
    def stepwise(self) -> bool:
        return self.upstream.edge.stepwise()

    @override
    def steps_now(self) -> bool:
        return self.upstream.edge.steps_now()

    @override
    async def step(self, limit: int) -> Batch[Any] | Done | None:
        if self.failed is not None:
            raise self.failed
        limit = min(limit, self.most)
        if not limit:
            return DONE
        batch = await self.upstream.ask(self._demand(limit), stepping=True, many=self.takes_many)
        if batch is None or batch is DONE:
            return batch
        answer = self.answer_many(batch) if isinstance(batch, TimedBatch) else self.answer(batch)
        if answer is None:
            await self.breathe()
        elif self.failed is None:
            self.upstream.settle()
        return answer


class PerBatch(PassOn):
    """Answers each batch with what a user's function makes of it, up to where that fails."""

    @abstractmethod
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        """Add what is to be answered of a batch; what is raised comes after that."""

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        out = self.collect(self.work, batch.time, batch.values)
        return Batch(batch.time, out) if out else None

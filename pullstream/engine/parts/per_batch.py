"""Kernels that answer each batch with the result of a function, up to the value at which the function fails."""

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
    """A kernel that answers the results before a user's function failed, and fails at the next ask (R8)."""

    failed: BaseException | None = None
    """The failure to raise at the next ask, after the results before it have been answered."""

    def collect(self, work: Callable[..., None], *args: Any) -> list[Any]:
        """Call `work(out, *args)`, which adds results to the list, and return those added before it failed, if it did.

        Raises:
            BaseException: `work` failed before it added anything.
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
    """Answers each batch at once with a result made from it, and keeps none of its values."""

    traits = PROMPT

    most: int = maxsize
    """The most values to ask for; at 0 the stream ends here."""

    left_out: int = 0
    """The number of values that will be left out; they are asked for in addition to the wanted ones."""

    takes_many: bool = True
    """Whether a multi-time batch is answered whole; the completions it causes are then known after all of it."""

    @abstractmethod
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        """Make the answer from a batch at one time; None if it is empty, and the next batch must be asked for."""

    def answer_many(self, batch: TimedBatch[Any]) -> Batch[Any] | None:
        """Make the answer from a multi-time batch; by default, join the answers to its runs."""
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
                # Acknowledged in the same step in which the answer is in flight below. After a failure, the values
                # from the failure on have not been handled, so the batch is not acknowledged.
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
    """Answers each batch with the results of a user's function, up to the value at which it fails."""

    @abstractmethod
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        """Add the results for a batch to `out`; an exception is raised downstream after the results before it."""

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        out = self.collect(self.work, batch.time, batch.values)
        return Batch(batch.time, out) if out else None

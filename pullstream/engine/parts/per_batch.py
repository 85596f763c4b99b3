"""Kernels that answer each batch with the result of a function, up to the value at which the function fails."""

from abc import abstractmethod
from collections.abc import Hashable, Sequence
from sys import maxsize
from typing import Any

from typing_extensions import override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.interfaces import Stepwise
from pullstream.engine.traits import PROMPT
from pullstream.protocol import DONE, Batch, Done


class PassOn(Kernel[Any], Stepwise):
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

    def answer_many(self, batch: Batch[Any]) -> Batch[Any] | None:
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
                if self.edge.handover.failure is not None or not self.most:
                    break
                taken += len(run.values)
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.upstream.ack_but(batch.part(taken))
            self.edge.fail_next(exc, out)
        else:
            if self.edge.handover.failure is not None:
                self.upstream.ack_but(batch.part(taken))
        return Batch.of(times, out) if out else None

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self.most < limit:
                limit = self.most
                if not limit:
                    return DONE
            batch = await self.upstream.ask(self._demand(limit), many=self.takes_many)
            if batch is DONE:
                return DONE
            answer = self.answer_many(batch) if not batch.uniform else self.answer(batch)
            if answer is not None:
                # Acknowledged in the same step in which the answer is in flight below. After a failure, the values
                # from the failure on have not been handled, so the batch is not acknowledged.
                if self.__edge__.handover.failure is None:
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
        limit = min(limit, self.most)
        if not limit:
            return DONE
        batch = await self.upstream.ask(self._demand(limit), stepping=True, many=self.takes_many)
        if batch is None or batch is DONE:
            return batch
        answer = self.answer_many(batch) if not batch.uniform else self.answer(batch)
        if answer is None:
            await self.breathe()
        elif self.__edge__.handover.failure is None:
            self.upstream.settle()
        return answer


class PerBatch(PassOn):
    """Answers each batch with the results of a user's function, up to the value at which it fails."""

    @abstractmethod
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        """Add the results for a batch to `out`; an exception is raised downstream after the results before it."""

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        out: list[Any] = []
        try:
            self.work(out, batch.time, batch.values)
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.edge.fail_next(exc, out)
        return Batch(batch.time, out) if out else None

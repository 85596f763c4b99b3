"""Kernels that answer each batch with the result of a function, up to the value at which the function fails."""

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence, Sized
from sys import maxsize
from typing import Any, NoReturn

from typing_extensions import override

from pullstream.engine.edge.backlog import joined
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.traits import PROMPT
from pullstream.frames import shown
from pullstream.protocol import DONE, NOT_YET, Batch, Done, Unanswered


class PassOn(PolledKernel[Any]):
    """Answers each batch at once with a result made from it, and keeps none of its values."""

    traits = PROMPT

    most: int = maxsize
    """The most values to ask for; at 0 the stream ends here."""

    left_out: int = 0
    """The number of values that will be left out; they are asked for in addition to the wanted ones."""

    @abstractmethod
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        """Make the answer from a batch, at one time or many; None if it is empty, and the next must be asked for.

        If it fails at a value, it calls `fail` and returns the results before. The completions that a multi-time batch
        causes are known only after the whole batch.
        """

    def run_by_run(self, batch: Batch[Any], answer: Callable[[Batch[Any]], Batch[Any] | None]) -> Batch[Any] | None:
        """Join the answers to the runs of a batch, each at one time."""
        if batch.uniform:
            return answer(batch)
        times: list[Hashable] = []
        parts: list[Sequence[Any]] = []
        taken = 0
        edge = self.edge
        try:
            for run in batch.runs():
                part = answer(run)
                if part is not None:
                    times += part.times
                    parts.append(part.values)
                if edge.fails_next is not None or not self.most:
                    break
                taken += len(run.values)
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.fail(exc, times, batch, taken)
        else:
            if edge.fails_next is not None:
                self.upstream.ack_but(batch.part(taken))
        return Batch.of(times, joined(parts)) if parts else None

    def fail(self, exc: BaseException, out: Sized, batch: Batch[Any], taken: int) -> None:
        """Fail at the value number `taken` of a batch, after the results `out` of the values before it."""
        if not batch.uniform:
            self.upstream.ack_but(batch.part(taken))
        self.edge.fail_next(exc, out)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if self.most < limit:
            limit = self.most
            if not limit:
                return DONE
        batch = self.upstream.poll(self._demand(limit))
        if not isinstance(batch, Batch):
            return batch
        answer = self.answer(batch)
        if answer is None:
            return NOT_YET
        # Acknowledged in the same step that puts the answer in flight downstream. After a failure, the values from the
        # failure on have not been handled, so the batch is not acknowledged.
        if self.__edge__.fails_next is None:
            self.upstream.settle()
        return answer

    def _demand(self, limit: int) -> int:
        return min(self.run.limit, limit + self.left_out) if self.left_out else limit


class PerBatch(PassOn):
    """Answers each batch with the results of a user's function, up to the value at which it fails."""

    @abstractmethod
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        """Add the results for values at one time to `out`; an exception is raised after the results before it."""

    def _refuse(self, returned: object) -> NoReturn:
        raise TypeError(
            f"{self.location}: its work returned {shown(returned)}, which would be lost. Write out += results, and "
            f"return nothing"
        )

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        return self.run_by_run(batch, self._work)

    def _work(self, run: Batch[Any]) -> Batch[Any] | None:
        out: list[Any] = []
        try:
            if (returned := self.work(out, run.time, run.values)) is not None:
                self._refuse(returned)
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self.edge.fail_next(exc, out)
        return Batch(run.time, out) if out else None

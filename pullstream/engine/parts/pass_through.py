"""The kernel of modules that pass values on unchanged and do something else meanwhile: `timeout`, switches."""

from typing import Any

from typing_extensions import override

from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.tasks import PolledAsking
from pullstream.protocol import Batch, Done, Unanswered


class Passing(PolledAsking[Any]):
    """Passes every ask up and every answer down, and can do something else meanwhile."""

    slot: Batch[Any] | Done | BaseException | None = None
    """The next answer, until it is taken; a batch stays in flight there."""

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        self.slot = answer

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if self.slot is None:
            self.ask_input(self.upstream, limit)
            return self.pending()
        answer, self.slot = self.slot, None
        if isinstance(answer, BaseException):
            raise answer
        self.upstream.settle()
        return answer

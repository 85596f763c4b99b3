"""The kernel of modules that pass values on unchanged and do something else meanwhile: `timeout`, switches."""

from typing import Any

from typing_extensions import override

from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.fan_in import Input
from pullstream.engine.parts.tasks import Asking
from pullstream.protocol import Batch, Done, Unanswered


class Passing(Asking[Any]):
    """Passes every ask upstream and every answer downstream, and can do something else meanwhile."""

    @override
    async def acquire(self) -> None:
        await super().acquire()
        self.next = Input(self.upstream)
        """The next answer, until it is taken; a batch stays in flight here."""

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        self.next.receive(answer)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        # This ask may be for fewer values than the earlier poll that asked for them.
        answer = self.next.answer(limit)
        if answer is None:
            self.ask_input(self.upstream, limit)
            return self.pending()
        return answer

"""The kernel of modules that pass values on unchanged and do something else meanwhile: `timeout`, switches."""

from typing import Any, ClassVar

from typing_extensions import override

from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.tasks import Asking
from pullstream.protocol import Batch, Done


class Passing(Asking[Any]):
    """Passes every ask up and every answer down, and can do something else meanwhile."""

    outside: ClassVar[bool] = False
    """Whether something outside the run, a handle or a clock, may end the wait for an answer."""

    slot: Batch[Any] | Done | BaseException | None = None
    """The next answer, until it is taken; a batch stays in flight there."""

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        self.slot = answer

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        answer = await self.taken(limit)
        self.upstream.settle()
        return answer

    async def taken(self, limit: int) -> Batch[Any] | Done:
        """Take the answer from upstream; it stays in flight here until it is answered."""
        if self.slot is None:
            self.ask_beside(self.upstream, limit)
        while self.slot is None:
            await self.change(outside=self.outside)
        answer, self.slot = self.slot, None
        if isinstance(answer, BaseException):
            raise answer
        return answer

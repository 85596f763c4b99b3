"""The kernel of modules that let values pass as they are, and do something else meanwhile: `timeout`, switches."""

from typing import Any, ClassVar

from typing_extensions import override

from pullstream.engine.beside import Beside
from pullstream.engine.lane import Lane
from pullstream.protocol import Batch, Done


class Passing(Beside[Any]):
    """Hands every ask up, and every answer down, and can do something else meanwhile."""

    outside: ClassVar[bool] = False
    """Whether something else than an answer may come while upstream is asked."""

    _answer: Batch[Any] | Done | BaseException | None = None

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._answer is None:
            self.ask_beside(self.upstream, limit)
        while self._answer is None:
            await self.change(outside=self.outside)
        answer, self._answer = self._answer, None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        self._answer = answer

    @override
    def acknowledged(self) -> None:
        if self._answer is None:
            self.upstream.ack()

    def look(self) -> None:
        """Have `produce` look again, if anything was asked for at all."""
        if hasattr(self, "_changed"):
            self.changed()

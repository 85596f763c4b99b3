"""`prefetch`: asks ahead of demand."""

from collections.abc import Callable
from typing import Any

from typing_extensions import override

from pullstream.blueprint import Emits, Positive
from pullstream.blueprint.parts import Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.pace import Pace
from pullstream.engine.parts.tasks import Asking
from pullstream.engine.traits import Traits
from pullstream.protocol import WAIT, Batch, Done, Unanswered


class Prefetch(Asking[Any]):
    """Keeps an ask outstanding for as many values as there is room for; values are held until they are emitted."""

    traits = Traits(trusted=True, asks_apart=True)

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._kept = Backlog(self)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if not self._kept:
            # Do not wait for a task that has not begun to ask: upstream may answer in this step.
            self.take_back(self.upstream)
            self._ask(self.ask_input)
        answer = self._kept.answer(limit) or WAIT
        self.ask_ahead()
        return answer

    def ask_ahead(self) -> None:
        """Keep an ask outstanding while there is room."""
        self._ask(self.ask_beside)

    def _ask(self, ask: Callable[[Lane[Any], int], None]) -> None:
        room = self._capacity - self._kept.left
        if room > 0 and self._kept.ending is None and not self.asking(self.upstream):
            ask(self.upstream, self._pace.next(self.upstream, at_most=room))

    @override
    def placed(self) -> None:
        self._pace = Pace(self.run, self._capacity)

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        self._pace.took()
        if not isinstance(answer, Batch):
            self._kept.end(answer)
            return
        self._kept.put(answer)
        lane.ack()
        self.ask_ahead()


@transformer
@Emits.AT_ONCE
def prefetch(capacity: Positive) -> Same[V]:
    """Ask ahead, and buffer up to `capacity` values, so that upstream works while downstream does.

    Together, two stages with a `prefetch` between them take only as long as the slower one.

    >>> import trio, pullstream as ps
    >>> async def slowly(n):
    ...     await trio.sleep(0.001)
    ...     return n
    >>> stages = ps.pipe(ps.map_async(slowly, 1), ps.prefetch(4), ps.map_async(slowly, 1))
    >>> ps.run(ps.pipe(ps.values("abc"), stages, ps.collect()))
    ['a', 'b', 'c']

    Prefetching begins with the first ask. From then on, it asks whenever there is room. An abort drops the values that
    are still buffered, up to `capacity`. Buffered values are held at their times. If upstream fails, they are delivered
    before the failure (R8).
    """
    return opens(Prefetch(capacity))

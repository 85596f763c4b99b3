"""`rate_limit`: a limit on the values per period; drops nothing."""

from collections import deque
from typing import Annotated, Any

import trio
from typing_extensions import override

from pullstream.blueprint import Call, Count, Seconds
from pullstream.blueprint.parts import Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.traits import Traits
from pullstream.protocol import DONE, Batch, Done


class _RateLimit(Kernel[Any]):
    """Records when it answered how many values. A batch that arrives too early waits here, in flight."""

    traits = Traits(trusted=True, clocked=True)

    def __init__(self, count: int, per: float) -> None:
        self._left = count
        self._per = per
        self._answered: deque[tuple[float, int]] = deque()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        self._forget()
        batch = await self.upstream.ask_many(max(1, min(limit, self._left)))
        if batch is DONE:
            return DONE
        self._forget()
        if not self._left:
            await trio.sleep_until(self._answered[0][0] + self._per)
            self._forget()
        number = len(batch.values)
        self._left -= number
        self._answered.append((trio.current_time(), number))
        self.upstream.settle()
        return batch

    def _forget(self) -> None:
        now = trio.current_time()
        while self._answered and self._answered[0][0] + self._per <= now:
            self._left += self._answered.popleft()[1]


def _count(call: Call, count: Any) -> Any:
    if isinstance(count, float) and 0 < count < 1:
        raise call.refuse(
            f"got count={count!r}: for less than one value per second, write rate_limit(1, per={1 / count:g})"
        )
    return Count(1)(call, count)


@transformer
def rate_limit(count: Annotated[int, _count], per: Seconds = 1.0) -> Same[V]:
    """Let at most `count` values pass in any `per` seconds; delay the others, and drop nothing.

    >>> import time, pullstream as ps
    >>> began = time.monotonic()
    >>> ps.run(ps.pipe(ps.values("abcde"), ps.rate_limit(2, per=0.01), ps.collect()))
    ['a', 'b', 'c', 'd', 'e']
    >>> time.monotonic() - began >= 0.02
    True

    `throttle`, `debounce` and `sample` drop values instead. The first `count` values may pass at once. Upstream is
    asked only for as many values as may pass, so it slows down as well. At most one value waits here, in flight, at its
    time.

    In a loop, a repeated call counts again:

    >>> tries = []
    >>> async def fetch(name):
    ...     tries.append(name)
    ...     if tries.count(name) < 2:
    ...         raise OSError("busy")
    ...     return name.upper()
    >>> def again(result):
    ...     return ps.Again(result.value) if isinstance(result, ps.Failed) else result
    >>> calls = ps.pipe(ps.rate_limit(2, per=0.01), ps.map_async(fetch, 2, on_error="result"), ps.map(again))
    >>> sorted(ps.run(ps.pipe(ps.values(["a", "b"]), ps.loop(calls), ps.collect()))), len(tries)
    (['A', 'B'], 4)
    """
    return opens(_RateLimit(count, per))

"""The source of everything that is read from files."""

from collections import deque
from collections.abc import Callable
from typing import Any, ClassVar

import trio
from typing_extensions import TypeVar, override

from adapters.files.reading.reading import Floor, Found, Plan, Reading
from pullstream.engine.kernel import Kernel
from pullstream.protocol import DONE, Batch, Done, State
from pullstream.transformers.on_error import catches

T = TypeVar("T")


class FilesSource(Kernel[Any]):
    """Reads in threads, a block when what there was has been handed on."""

    trusted: ClassVar[bool] = True

    def __init__(self, plan: Plan, *, on_error: object) -> None:
        self._plan = plan
        self._reading = Reading(plan, catches=catches(on_error))
        self._row: deque[Found] = deque()
        self._given = 0
        self._limiter = trio.CapacityLimiter(2)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            while not self._row:
                # A cancelled wait leaves the thread behind; `release` has it stop, and waits for it.
                found = await self._thread(self._reading.step)
                if found is None:
                    return DONE
                self._row.extend(found)
            first = self._row[0]
            if isinstance(first, tuple):
                return self._part(*first, limit)
            self._row.popleft()
            if isinstance(first, Floor):
                self.seat.advance(first.time)
            else:
                await trio.sleep(self._plan.every)

    def _part(self, time: Any, values: list[Any], limit: int) -> Batch[Any]:
        begin, end = self._given, self._given + limit
        part = values if begin == 0 and len(values) <= limit else values[begin:end]
        self._given = end
        if end >= len(values):
            self._row.popleft()
            self._given = 0
        return Batch(time, part)

    @override
    async def release(self) -> None:
        self._row.clear()
        self._reading.stop()
        await self._thread(self._reading.close)

    async def _thread(self, function: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=self._limiter)

    @override
    def status(self) -> str:
        reading = self._reading
        of = "" if reading.of is None else f" of {reading.of}"
        now = f", reading {reading.path}" if reading.path and self.state is State.OPEN else ""
        return f"{reading.done}{of} files read{now}"

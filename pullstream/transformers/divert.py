"""`on_error=sink`: values whose function raised go to a sink beside, with back-pressure.

The sink is one of the run's: its completion counts in `progress.completed`, and its failure is the run's. To the
sidecar its stream is a branch below the diverting module, which itself holds the times of what waits to be asked for.
"""

from collections import deque
from collections.abc import Hashable
from typing import Any, ClassVar

import trio
from typing_extensions import override

from pullstream.blueprint import Blueprint, Module
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.kernel import Kernel
from pullstream.errors import blame
from pullstream.failures import Caught, Failed
from pullstream.protocol import DONE, Batch, Done, State


class Divert(Wiring):
    """Places a module that takes marks out of a stream, and the sink that is given what they mark."""

    def __init__(self, culprit: str, sink: Blueprint) -> None:
        self._culprit = culprit
        self._sink = sink

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Kernel[Any]:
        diverting = Diverting(self._culprit)
        assembly.place(diverting, [module], upstream)
        seat = assembly.run.progress.seat([f"{named(module)} aside"], module.site, [diverting.seat])
        diverting.aside = Aside(diverting)
        diverting.aside.connect(assembly.run, seat, [])
        diverting.aside.origin = False
        assembly.beside.append(assembly.sink(self._sink, diverting.aside))
        return diverting


class Diverting(Kernel[Any]):
    """The main stream. What it takes out of one batch is asked for beside before it asks for the next."""

    waits: ClassVar[bool] = True
    trusted: ClassVar[bool] = True

    aside: "Aside"

    def __init__(self, culprit: str) -> None:
        self._culprit = culprit
        self._unwanted = False
        self._failure: BaseException | None = None
        self._taken = trio.Event()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            while self.aside.waiting and not self._unwanted:
                self._taken = trio.Event()
                await self._taken.wait()
            if self._failure is not None:
                raise self._failure
            if self.state is not State.OPEN:
                return DONE
            batch = await self.upstream.ask(limit)
            if batch is DONE:
                return DONE
            values = [value for value in batch.values if value.__class__ is not Caught]
            if len(values) == len(batch.values):
                return batch
            self._divert(batch.time, [value for value in batch.values if isinstance(value, Caught)])
            if values:
                return Batch(batch.time, values)
            await self.breathe()

    def _divert(self, time: Hashable, marks: list[Caught]) -> None:
        if self._unwanted:
            self.seat.meter.skipped += sum(mark.count for mark in marks)
            return
        for mark in marks:
            blame(mark.error, self._culprit)
        self.aside.give(time, [Failed(mark.value, mark.error) for mark in marks])

    def taken(self) -> None:
        """Everything that was diverted has been asked for."""
        self._taken.set()

    async def left(self, reason: BaseException | None) -> None:
        """The sink beside wants no more: from now on marks are left out. If it failed, so does this stream (R6)."""
        self._unwanted = True
        try:
            if reason is not None and self._failure is None and self.state is State.OPEN:
                self._failure = reason
                await self.upstream.terminate(reason)
        finally:
            self._taken.set()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        try:
            await super().dismiss(reason)
        finally:
            self.aside.end(DONE if reason is None else reason)

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._failure or super().relayed(exc)

    @override
    def acknowledged(self) -> None:
        self.upstream.ack()


class Aside(Kernel[Any]):
    """What was taken out, on its way to the sink beside. Its times are held until it has been asked for."""

    waits: ClassVar[bool] = True
    trusted: ClassVar[bool] = True

    def __init__(self, diverting: Diverting) -> None:
        self._diverting = diverting
        self.waiting: deque[tuple[Hashable, list[Failed[Any]]]] = deque()
        self._ending: Done | BaseException | None = None
        self._changed = trio.Event()

    def give(self, time: Hashable, values: list[Failed[Any]]) -> None:
        """Take values, to be asked for."""
        self.seat.hold(time)
        self.waiting.append((time, values))
        self._changed.set()

    def end(self, ending: Done | BaseException) -> None:
        """No more will be given; what was comes first."""
        self._ending = self._ending or ending
        self._changed.set()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self.waiting:
            if self._ending is not None:
                # Of a run that is aborted as a whole, both streams are: this is not the end of a stream that is whole.
                await trio.lowlevel.checkpoint()
                if isinstance(self._ending, BaseException):
                    raise self._ending
                return DONE
            self._changed = trio.Event()
            await self._changed.wait()
        time, values = self.waiting[0]
        if len(values) > limit:
            self.waiting[0] = (time, values[limit:])
            return Batch(time, values[:limit])
        self.waiting.popleft()
        self.seat.drop(time)
        if not self.waiting:
            self._diverting.taken()
        return Batch(time, values)

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        await self._diverting.left(reason)

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._ending

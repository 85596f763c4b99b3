"""`tee`: several sinks over one stream, in lockstep."""

from typing import Any, ClassVar, overload

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Module, Sink, Site
from pullstream.engine.assembly import Assembly, Consuming, Wiring, consume_all, named
from pullstream.engine.kernel import Kernel
from pullstream.engine.shared import Run
from pullstream.errors import CompositionError, without_cancelled
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")
R1 = TypeVar("R1")
R2 = TypeVar("R2")
R3 = TypeVar("R3")
R4 = TypeVar("R4")


class Tee(Wiring):
    """What a run makes of a `tee` module."""

    def __init__(self, *sinks: Blueprint) -> None:
        self._sinks = sinks

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Consuming:
        assert upstream is not None, "a tee is a sink"
        tee = TeeConsumer(assembly.run, module, len(self._sinks), upstream)
        for sink, branch in zip(self._sinks, list(tee.branches), strict=True):
            tee.consumers.append(assembly.sink(sink, branch))
        return tee


class Branch(Kernel[Any]):
    """One sink's edge below a tee: its asks are answered when all branches that are still there have asked."""

    waits: ClassVar[bool] = True
    trusted: ClassVar[bool] = True

    def __init__(self, tee: "TeeConsumer") -> None:
        self._tee = tee
        self.wanted = 0
        self._answer: Batch[Any] | None = None
        self._ending: Done | BaseException | None = None
        self._answered = trio.Event()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._ending is None:
            self._answered = trio.Event()
            self.wanted = limit
            self._tee.changed.set()
            await self._answered.wait()
        answer, self._answer = self._answer, None
        if answer is not None:
            return answer
        if isinstance(self._ending, BaseException):
            raise self._ending
        return DONE

    def give(self, answer: Batch[Any]) -> None:
        """Answer the branch's ask."""
        self.wanted = 0
        self._answer = answer
        self._answered.set()

    def end(self, ending: Done | BaseException) -> None:
        """Answer the ask that waits, if one does, and every later one."""
        self._ending = ending
        self._answered.set()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        await self._tee.leave(self, reason)

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._ending


class TeeConsumer:
    """A tee at run time: it asks upstream when every branch has asked, and gives each the same answer.

    A branch that aborts leaves the others as they are; the last one's abort goes upstream. An error of any branch
    goes upstream at once, and fails the others (R6).
    """

    def __init__(self, run: Run, module: Module, branches: int, upstream: Kernel[Any]) -> None:
        name = named(module)
        seat = run.progress.seat([name], module.site, [upstream.seat])
        self._reader = upstream.reader(seat.ports[0])
        self._seat = seat
        self.changed = trio.Event()
        self.consumers: list[Consuming] = []
        self.branches: list[Branch] = []
        self._failed = False
        for number in range(branches):
            branch = Branch(self)
            branch.connect(run, run.progress.seat([f"{name}[{number}]"], module.site, [seat]), [])
            branch.origin = False
            self.branches.append(branch)

    async def consume(self) -> tuple[Any, ...]:
        """Run every sink to its end."""
        results: list[Any] = []
        failure: list[BaseException] = []

        async def consume() -> None:
            try:
                results.extend(await consume_all(self.consumers))
            except BaseException as exc:
                if without_cancelled(exc) is None:
                    raise
                failure.append(exc)

        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(self._pump)
                nursery.start_soon(consume)
        except BaseException as exc:
            if without_cancelled(exc) is None:
                self._seat.abandon()
            raise
        if failure:
            raise failure[0]
        return tuple(results)

    async def leave(self, branch: Branch, reason: BaseException | None) -> None:
        """A branch has ended: by an abort, or by an error, which ends all."""
        if branch in self.branches:
            self.branches.remove(branch)
        # What is upstream is told now, and asked for nothing after (R9).
        self._failed = self._failed or reason is not None
        try:
            if reason is not None or not self.branches:
                await self._reader.terminate(reason)
        finally:
            if reason is not None:
                self._end_all(reason)
            self.changed.set()

    async def _pump(self) -> None:
        while self.branches and not self._failed:
            if not all(branch.wanted for branch in self.branches):
                await self.changed.wait()
                self.changed = trio.Event()
                continue
            limit = min(branch.wanted for branch in self.branches)
            try:
                answer = await self._reader.ask(limit)
            except trio.Cancelled:
                raise
            except BaseException as exc:  # noqa: BLE001 - every branch raises it, to its own sink
                self._seat.fail(exc)
                self._end_all(exc)
                return
            if answer is DONE:
                if self.branches:
                    self._end_all(DONE)
                    self._seat.complete()
                return
            for branch in self.branches:
                branch.give(answer)

    def _end_all(self, ending: Done | BaseException) -> None:
        branches, self.branches = self.branches, []
        for branch in branches:
            branch.end(ending)


@overload
def tee(a: Sink[A, R1], b: Sink[A, R2], /) -> Sink[A, tuple[R1, R2]]: ...
@overload
def tee(a: Sink[A, R1], b: Sink[A, R2], c: Sink[A, R3], /) -> Sink[A, tuple[R1, R2, R3]]: ...
@overload
def tee(a: Sink[A, R1], b: Sink[A, R2], c: Sink[A, R3], d: Sink[A, R4], /) -> Sink[A, tuple[R1, R2, R3, R4]]: ...
@overload
def tee(*sinks: Sink[A, R1]) -> Sink[A, tuple[R1, ...]]: ...
def tee(*sinks: Sink[Any, Any]) -> Sink[Any, tuple[Any, ...]]:
    """Give every value to each of several sinks; the result is the tuple of their results.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(range(4)), ps.tee(ps.collect(), ps.reduce(max, 0))))
    ([0, 1, 2, 3], 3)

    The slowest sink sets the pace. A sink that ends early leaves the others running; one that fails ends them all.
    `completed` waits for every sink.
    """
    for sink in sinks:
        if not isinstance(sink, Sink):  # pyright: ignore[reportUnnecessaryIsInstance] - scripts are not all typed
            raise CompositionError(f"tee() at {Site.here()} takes sinks, and got {sink!r}")
    if not sinks:
        raise CompositionError(f"tee() at {Site.here()} needs at least one sink")
    return Sink((Module("tee", Tee, sinks),))

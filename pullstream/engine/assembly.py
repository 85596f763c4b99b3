"""Assembling a run: kernels for the modules of a blueprint, seats beside them, a body for its sink."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import groupby
from typing import Any, cast

import trio

from pullstream.blueprint import Blueprint, Module
from pullstream.combining.tee import Tee, TeeConsumer
from pullstream.engine.context import Context, SinkAccount
from pullstream.engine.kernel import Kernel
from pullstream.engine.shared import Run
from pullstream.errors import blame, without_cancelled
from pullstream.protocol import Reader
from pullstream.transformers.stateless import Segment, Stage

Body = Callable[[Reader[Any], Context], Awaitable[Any]]


def assemble_stream(run: Run, modules: Iterable[Module], upstream: Kernel[Any] | None) -> Kernel[Any]:
    """Make the kernels of a source's or transformer's modules; neighbouring stateless ones become one."""
    kernel = upstream
    made = [(module, module.made()) for module in modules]
    for is_stage, group in groupby(made, key=lambda pair: isinstance(pair[1], Stage)):
        row = list(group)
        if is_stage:
            stages, names = [stage for _, stage in row], [module for module, _ in row]
            kernel = _place(run, Segment(stages, names), names, kernel)
        else:
            for module, it in row:
                kernel = _place(run, it, [module], kernel)
    assert kernel is not None, "a stream has at least one module"
    return kernel


def assemble_sink(run: Run, sink: Blueprint, upstream: Kernel[Any] | None) -> "Consumer | TeeConsumer":
    """Make a sink with everything above it, from `upstream` on."""
    *modules, last = sink.modules
    kernel = assemble_stream(run, modules, upstream) if modules or upstream is None else upstream
    made: object = last.made()
    if not isinstance(made, Tee):
        return Consumer(run, last, cast("Body", made), kernel)
    tee = TeeConsumer(run, last, len(made.sinks), kernel)
    for branch_sink, branch in zip(made.sinks, list(tee.branches), strict=True):
        tee.consumers.append(assemble_sink(run, branch_sink, branch))
    return tee


def _place(run: Run, kernel: Kernel[Any], modules: Sequence[Module], upstream: Kernel[Any] | None) -> Kernel[Any]:
    names = [module.label or module.name for module in modules]
    seat = run.progress.seat(names, modules[-1].site, None if upstream is None else upstream.seat)
    kernel.connect(run, seat, upstream)
    return kernel


class Consumer:
    """A sink at run time: its body, its reader, and how it ended."""

    def __init__(self, run: Run, module: Module, body: Body, upstream: Kernel[Any]) -> None:
        self.seat = run.progress.seat([module.label or module.name], module.site, upstream.seat, sink=True)
        self._reader = upstream.reader(self.seat)
        self._context = Context(SinkAccount(run, self.seat, [self._reader]))
        self._body = body

    async def consume(self) -> Any:
        """Run the sink to its end; whatever way it ends, its stream has ended when this returns (R8, R10)."""
        try:
            result = await self._body(self._reader, self._context)
            # Until upstream has let go, and without trouble, nothing that was left out looks complete.
            self.seat.freeze()
            await self._reader.abort()
        except BaseException as given:
            self.seat.freeze()
            exc = without_cancelled(given)
            if exc is None:
                with trio.CancelScope(shield=True):
                    await self._reader.abort()
                self.seat.abandon()
                raise
            if exc is not self._reader.kernel.failure:
                blame(exc, str(self.seat))
            with trio.CancelScope(shield=True):
                await self._reader.error(exc)
            self.seat.fail(exc)
            if exc is not given:
                raise exc from given.__cause__
            raise
        self.seat.complete()
        return result

"""Assembly of a run: kernels for the modules of a blueprint, their locations, and bodies for its sinks."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from functools import partial
from typing import Any, Protocol, cast

import trio

from pullstream.blueprint import Blueprint, Module, Site
from pullstream.engine.edge.kernel import STEPS, Kernel, install, traits_of
from pullstream.engine.edge.lane import failures_of, first_lane
from pullstream.engine.keeping import StateSaver
from pullstream.engine.parts.context import Context, SinkAccount
from pullstream.engine.parts.fused import Segment, Stage
from pullstream.engine.run import Scope
from pullstream.engine.traits import PLAIN, Carries, Traits
from pullstream.errors import CompositionError, blame, failure_in
from pullstream.protocol import DONE, Reader
from pullstream.resuming.interfaces import Resumable

ASK_FRAMES = 3
"""The Python frames that an ask takes in each kernel that it passes."""

TERMINATION_FRAMES = 6
"""The frames that a termination takes; it may begin where an ask is deepest."""

SPARE_FRAMES = 200
"""The frames of the recursion limit left to user code, and to the callers of the toolkit."""

Body = Callable[[Reader[Any], Context], Awaitable[Any]]


class Consuming(Protocol):
    """A sink at run time."""

    async def consume(self) -> Any:
        """Run the sink to its end."""


class Wiring(ABC):
    """A module that places several kernels, rather than being a kernel, a stage or a body itself."""

    @abstractmethod
    def wire(self, assembly: "Assembly", module: Module, upstream: Any) -> Any:
        """Place the module's parts after the kernel `upstream`, which is None for a source, or for a sink with its own.

        Returns the kernel whose output is the module's or, for a sink, a `Consuming`.
        """


class Assembly:
    """Puts blueprints into one scope of a run."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.beside: list[Consuming] = []
        """Sinks that run alongside the main one; their results are dropped."""

    def made(self, module: Module) -> Any:
        """Make the run-time object of a module."""
        return module.made(self.scope.run)

    def stream(self, modules: Iterable[Module], upstream: Kernel[Any] | None) -> Kernel[Any]:
        """Place the modules of a source or transformer; adjacent stateless ones become one kernel."""
        kernel = upstream
        stages: list[Stage] = []
        fused: list[Module] = []
        for module in modules:
            made = self.made(module)
            if isinstance(made, Stage):
                stages.append(made)
                fused.append(module)
                continue
            if stages:
                kernel = self.place(Segment(stages, fused), fused, kernel)
                stages, fused = [], []
            if isinstance(made, Kernel):
                kernel = self.place(cast("Kernel[Any]", made), [module], kernel)
            elif isinstance(made, Wiring):
                kernel = made.wire(self, module, kernel)
            else:
                raise _unusable(module, made, "a kernel")
        if stages:
            kernel = self.place(Segment(stages, fused), fused, kernel)
        assert kernel is not None, "a stream has at least one module"
        return kernel

    def sink(self, sink: Blueprint, upstream: Kernel[Any] | None) -> Consuming:
        """Place a sink and the modules between `upstream` and it."""
        *modules, last = sink.modules
        kernel = self.stream(modules, upstream) if modules else upstream
        made: object = self.made(last)
        if isinstance(made, Wiring):
            return made.wire(self, last, kernel)
        assert kernel is not None, "a sink has something upstream"
        if not callable(made) or isinstance(made, type):
            raise _unusable(last, made, "an async function")
        return Consumer(self.scope, last, cast("Body", made), kernel)

    def place(self, kernel: Kernel[Any], modules: Sequence[Module], upstream: Kernel[Any] | None) -> Kernel[Any]:
        """Place a kernel after `upstream`."""
        self.install(kernel, list(map(named, modules)), modules[-1].site, [] if upstream is None else [upstream])
        if not kernel.__edge__.inputs:
            self.scope.run.begin_source(kernel.__edge__)
        return kernel

    def install(
        self, kernel: Kernel[Any], names: Sequence[str], site: Site | None, upstreams: Sequence[Kernel[Any]]
    ) -> Kernel[Any]:
        """Give a kernel its location and its inputs: `upstreams`, and its own sources."""
        traits = traits_of(kernel)
        upstreams = list(upstreams)
        for source in traits.sources:
            upstreams.append(self.stream(source.modules, None))
        above = [upstream.location for upstream in upstreams]
        location = self.scope.sidecar.locate(names, site, above, traits=traits)
        edge = install(kernel, self.scope, location, upstreams)
        if traits.lingers or (traits.carries is Carries.MAYBE and isinstance(kernel, Resumable)):
            self.scope.keeping.placed(location, kernel)
        frames = edge.depth * ASK_FRAMES + STEPS * TERMINATION_FRAMES
        if frames > sys.getrecursionlimit() - SPARE_FRAMES:
            raise CompositionError(
                f"{location}, is module number {edge.depth} in a row, each waiting inside the next: that is "
                f"more than Python's recursion limit of {sys.getrecursionlimit()} allows. Join modules into one (map "
                f"and filter next to each other are joined for you), or raise the limit: sys.setrecursionlimit(...)",
            )
        return kernel


def _unusable(module: Module, made: object, wanted: str) -> CompositionError:
    """The error for a module's function that opens something a run cannot use."""
    hint = ""
    if isinstance(made, type):
        hint = f". Call the class: opens({made.__name__}(...))"
    elif isinstance(made, Blueprint):
        hint = ". A function that composes ready modules returns the blueprint and has no decorator"
    elif hasattr(made, "produce") or hasattr(made, "poll"):
        hint = f". Make {type(made).__name__} inherit ps.authoring.Kernel"
    return CompositionError(f"{named(module)}, composed at {module.site}, opens {made!r}, but must open {wanted}{hint}")


def named(module: Module) -> str:
    """The name of a module in a run."""
    return module.label or module.name


class Consumer:
    """A sink at run time: its body, its reader, and how it ended."""

    def __init__(self, scope: Scope, module: Module, body: Body, upstream: Kernel[Any], traits: Traits = PLAIN) -> None:
        above = [upstream.location]
        self.location = scope.sidecar.locate([named(module)], module.site, above, sink=True, traits=traits)
        self._reader = first_lane(upstream.__edge__, self.location.ports[0])
        self._account = SinkAccount(scope, self.location, [self._reader])
        self._body = body
        self._sidecar = scope.sidecar
        self._detector = scope.run.detector

    async def consume(self) -> Any:
        """Run the sink to its end. However it ends, its stream has ended when this returns (R8, R10)."""
        self.location.begin(sink=True)
        self._reader.hand_over(trio.lowlevel.current_task())
        saving = self._sidecar.keeping.saving
        if saving is not None and (exhausted := saving.finished(self.location)) is not None:
            return await self._finished_before(saving, exhausted=exhausted)
        try:
            try:
                result = await self._body(self._reader, Context(self._account))
            finally:
                self._account.end()
            exhausted = self._reader.over
            if not exhausted:
                # Frozen until upstream has released without an error: unread values must not look complete before.
                self.location.freeze()
                await self._reader.abort()
        except BaseException as given:
            self.location.freeze()
            exc = failure_in(given)
            if exc is None:
                # The sinks of a deadlocked run are cancelled too: that is a failure, and reported as one.
                reason = self._detector.reason
                with trio.CancelScope(shield=True):
                    await (self._reader.abort() if reason is None else self._reader.error(reason))
                self.location.abandon(reason)
                raise
            if not self._reader.edge.raised(exc):
                blame(exc, str(self.location))
            with trio.CancelScope(shield=True):
                await self._reader.error(exc)
            self.location.fail(exc)
            if exc is not given:
                raise exc from given.__cause__
            raise
        finally:
            self._reader.asker = None
        if saving is not None:
            saving.finishes(self.location, result, exhausted=exhausted)
        self.location.complete()
        return result

    async def _finished_before(self, saving: StateSaver, *, exhausted: bool) -> Any:
        """The sink's result from an earlier run. Values that it left unread then stay unread."""
        try:
            while exhausted and await self._reader.ask(self._account.limit) is not DONE:
                await self._account.breathe()
        except BaseException:
            self.location.freeze()
            with trio.CancelScope(shield=True):
                await self._reader.abort()
            self.location.abandon()
            raise
        await self._reader.abort()
        self.location.complete()
        return saving.result(self.location)


async def consume_all(consumers: Sequence[Consuming]) -> list[Any]:
    """Run sinks side by side, each to its end; an error is raised when all have ended."""
    return [await consumers[0].consume()] if len(consumers) == 1 else await _side_by_side(consumers)


async def _side_by_side(consumers: Sequence[Consuming]) -> list[Any]:
    results: list[Any] = [None] * len(consumers)

    async def consume(number: int) -> None:
        results[number] = await consumers[number].consume()

    failures = await failures_of(partial(consume, number) for number in range(len(consumers)))
    if len(failures) > 1:
        raise BaseExceptionGroup("several sinks failed, each in its own way", failures)
    if failures:
        raise failures[0]
    return results

"""`deferred`: a placeholder in a pipeline for a module that is known later."""

from collections.abc import Hashable, Iterable
from typing import Any, ClassVar, Generic, Literal, cast, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Blueprint, Call, Emits, Module, Sink, Source, Transformer, checks
from pullstream.blueprint.variables import A, B, R, T
from pullstream.engine.assembly import Assembly, Consumer, Consuming, Wiring
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.interfaces import Finishing
from pullstream.engine.nested.inner_inputs import Through
from pullstream.engine.nested.inner_streams import consume_below, open_below
from pullstream.engine.nested.inner_times import Inside, Unopened, follow_inner, inner_frontier
from pullstream.engine.parts.context import Context
from pullstream.engine.run import Run
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.traits import Traits
from pullstream.errors import CompositionError, PullstreamError
from pullstream.modules.handles.handle import Grip, Handle
from pullstream.protocol import DONE, Batch, Done, Reader


class Later(Grip):
    """The state that a handle and its kernel share: the module, once it is known."""

    _known: Blueprint | BaseException | None = None
    _waiting: Signal | None = None

    def __init__(self, kind: type[Blueprint]) -> None:
        super().__init__(f"deferred {kind.kind}")
        self._kind = kind
        self._inside: Inside | None = None

    def settle(self, known: object) -> None:
        """Set the module or the failure; only one call is accepted."""
        if not isinstance(known, (self._kind, BaseException)):
            raise CompositionError(f"{self}, must be resolved with a {self._kind.kind}, but got {known!r}")
        if self._known is not None:
            raise PullstreamError(f"{self}, is already resolved or failed: {self._known!r}")
        self._known = known
        if isinstance(known, Blueprint):
            self._inside = Inside(known)
        self.steer(self._notify)

    def lasting(self, number: int, time: Any) -> Iterable[Hashable]:
        """The trait `lasting` of the module. Before it is known, no time is complete downstream of its place."""
        return [time] if self._inside is None else self._inside.lasting(number, time)

    def _notify(self) -> None:
        if self._waiting is not None:
            self._waiting.set()

    async def wait(self, run: Run) -> Blueprint:
        """Wait until the module is known; raise the failure if there is one."""
        if self._known is None:
            self._waiting = run.signal()
            try:
                await self._waiting.wait(outside=True)
            finally:
                # The signal refers to the run, and the program may keep the handle.
                self._waiting = None
        if isinstance(self._known, BaseException):
            raise self._known
        assert self._known is not None
        return self._known


class Deferred(Kernel[Any], Finishing):
    """A source or transformer that opens the module it is resolved with inside itself."""

    traits = Traits(trusted=True, follows=True)
    emits: ClassVar = Emits.AT_ANY_TIME

    def __init__(self, later: Later) -> None:
        self._later = later
        self.traits = attrs.evolve(self.traits, lasting=later.lasting)
        self._lane: Lane[Any] | None = None
        later.attach(self)

    @override
    def placed(self) -> None:
        if self.inputs:
            self._unopened = Unopened(self.scope, self.location, self.mirrored)

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if self._lane is None:
            blueprint = await self._later.wait(self.run)
            if not self.edge.open:
                return DONE
            feed = Through(cast("Lane[Any]", self.upstream)) if self.inputs else None
            self._lane = open_below(self, blueprint, feed)
            follow_inner(self, self._lane, self.mirrored)
        batch = await self._lane.ask_many(limit)
        self._lane.settle()
        return batch

    @override
    def finish(self) -> None:
        # The source that is open inside ends by itself, after its values in flight.
        if self._lane is None:
            self.edge.end_here()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        if self._lane is None:
            await super().dismiss(reason)
        else:
            # Terminate the inner stream first; it terminates upstream in this scheduler step. An ask through both is
            # cancelled in the next one, and upstream would take that for an abort.
            await self._lane.terminate(reason)

    def mirrored(self) -> Iterable[Hashable]:
        """Return the times that the inner stream may still emit."""
        return self._unopened.times() if self._lane is None else inner_frontier(self._lane)


class _LaterSink(Wiring):
    """A sink that runs the sink it is resolved with inside itself."""

    def __init__(self, later: Later) -> None:
        self._later = later

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> Consuming:
        later = self._later
        later.attach(upstream)

        async def body(reader: Reader[Any], _: Context) -> Any:
            blueprint = await later.wait(assembly.scope.run)
            return await consume_below(assembly.scope, consumer.location, cast("Lane[Any]", reader), blueprint)

        consumer = Consumer(assembly.scope, module, body, upstream, Traits(lasting=later.lasting))
        # Then `consume_below` mirrors the times that the sink has open.
        assembly.scope.sidecar.nesting.await_opening(consumer.location)
        return consumer


class _Placeholder(Handle[Later], Generic[T]):
    def resolve(self, module: T) -> None:
        """Set the module."""
        self._grip.settle(module)

    def fail(self, failure: BaseException) -> None:
        """Fail the stream instead of resolving it."""
        self._grip.settle(checks.FAILURE(Call("fail"), failure))


@attrs.frozen(repr=False)
class DeferredSource(_Placeholder[Source[B]], Source[B], Generic[B]):
    """A placeholder for a source; made by `deferred`."""


@attrs.frozen(repr=False)
class DeferredTransformer(_Placeholder[Transformer[A, B]], Transformer[A, B], Generic[A, B]):
    """A placeholder for a transformer; made by `deferred`."""


@attrs.frozen(repr=False)
class DeferredSink(_Placeholder[Sink[A, R]], Sink[A, R], Generic[A, R]):
    """A placeholder for a sink; made by `deferred`."""


@overload
def deferred(kind: Literal["source"]) -> DeferredSource[Any]: ...
@overload
def deferred(kind: Literal["transformer"]) -> DeferredTransformer[Any, Any]: ...
@overload
def deferred(kind: Literal["sink"]) -> DeferredSink[Any, Any]: ...
def deferred(kind: str) -> Any:
    """Make a placeholder for a module that is known later: a handle with `resolve(module)` and `fail(exception)`.

    >>> import trio, pullstream as ps
    >>> async def main():
    ...     answer = ps.deferred("source")
    ...     async with ps.pipe(answer, ps.collect()).open() as running:
    ...         await trio.sleep(0.01)  # look it up, log in, ask the user
    ...         answer.resolve(ps.values("abc"))
    ...         return await running.result()
    >>> trio.run(main)
    ['a', 'b', 'c']

    `kind` is "source", "transformer" or "sink". An ask waits until the module is known, which is then opened. Until
    then, upstream is not asked. An abort is confirmed without waiting, and a later `resolve` opens nothing. `resolve`
    may be called before the run is opened, and from any thread.

    A placeholder belongs to one run at a time, and cannot be pickled. A second run is refused with `ReuseError`.

    Raises: CompositionError: the kind is none of these; or, from `resolve`, the module is not of that kind.
    PullstreamError: from `resolve` and `fail`, if one of them was called before.
    """
    match kind:
        case "source":
            return DeferredSource[Any]((Module("deferred", Deferred, (Later(Source),)),))
        case "transformer":
            return DeferredTransformer[Any, Any]((Module("deferred", Deferred, (Later(Transformer),)),))
        case "sink":
            return DeferredSink[Any, Any]((Module("deferred", _LaterSink, (Later(Sink),)),))
        case _:
            raise Call("deferred").refuse(f"needs 'source', 'transformer' or 'sink', but got {kind!r}")

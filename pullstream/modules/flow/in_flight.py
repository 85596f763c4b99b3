"""`in_flight`: a limit on the values inside a transformer (Pando's Limiter)."""

from collections.abc import Awaitable
from typing import Annotated, Any, cast

import attrs
from typing_extensions import override

from pullstream.blueprint import Blueprint, Call, Count, Instance, Module, Site, Transformer
from pullstream.blueprint.parts import Onward
from pullstream.blueprint.variables import A, B
from pullstream.decorators import opens, transformer
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.traits import Traits
from pullstream.modules.handles.handle import Grip
from pullstream.protocol import WAIT, Batch, Done, Unanswered


class _Gate(PolledKernel[Any]):
    """Lets values in while there is room."""

    traits = Traits(trusted=True)

    def __init__(self, capacity: "int | Quota") -> None:
        self._quota = capacity if isinstance(capacity, Quota) else None
        self._capacity = 0 if isinstance(capacity, Quota) else capacity
        self.inside = 0
        self._full = False
        self._room: Signal | None = None

    @override
    async def acquire(self) -> None:
        # Not in `__init__`: kernels are also made to inspect a pipeline, and the handle belongs to a run.
        if self._quota is not None:
            self._quota.grip.attach(self)

    @property
    def capacity(self) -> int:
        return self._capacity if self._quota is None else self._quota.capacity

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        room = self.capacity - self.inside
        self._full = room <= 0
        if self._full:
            return WAIT
        batch = self.upstream.poll(min(limit, room))
        if isinstance(batch, Batch):
            self.inside += len(batch.values)
            self.upstream.settle()
        return batch

    @override
    def wait(self) -> Awaitable[None]:
        if not self._full:
            return self.upstream.ready()
        self._room = self.run.signal()
        return self._room.wait(outside=self._quota is not None)

    @override
    def halt(self) -> None:
        self.look()

    @override
    def status(self) -> str:
        if self.inside < self.capacity:
            return ""
        return (
            f"{self.inside} values are inside, of at most {self.capacity}: the transformer must give one result for "
            "each value, or the next one never enters"
        )

    def let_out(self, number: int) -> None:
        """Record that `number` values have left."""
        self.inside = max(0, self.inside - number)
        self.look()

    def look(self) -> None:
        """Wake a waiting ask, as there may be room now."""
        if self._room is not None:
            self._room.set()


class _Exit(PassOn):
    """Reports to the gate the values that have left."""

    def __init__(self, gate: _Gate) -> None:
        self._gate = gate

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        self._gate.let_out(len(batch.values))
        return batch


@attrs.frozen(eq=False)
class _InFlight(Wiring):
    """The wiring of `in_flight`: a gate above the transformer, and a counter of what leaves below it."""

    _transformer: Blueprint
    _capacity: "int | Quota"

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Kernel[Any]:
        assert upstream is not None, "a transformer has an upstream"
        gate = _Gate(self._capacity)
        assembly.install(gate, [f"into {named(module)}"], module.site, [upstream])
        inside = assembly.stream(self._transformer.modules, gate)
        return assembly.install(_Exit(gate), [named(module)], module.site, [inside])


class Quota:
    """A capacity of `in_flight` that can be changed during the run; a handle, for one run at a time.

    >>> import pullstream as ps
    >>> quota = ps.types.Quota(2)
    >>> quota.capacity = 5
    >>> quota
    Quota(5)
    """

    def __init__(self, capacity: int) -> None:
        Count(1)(Call("Quota", name="capacity"), capacity)
        self._capacity = capacity
        self.grip = Grip("Quota", Site.here())

    @property
    def capacity(self) -> int:
        """The number of values that may be inside. After lowering it, nothing enters until enough values have left."""
        return self._capacity

    @capacity.setter
    def capacity(self, capacity: int) -> None:
        Count(1)(Call("Quota", name="capacity"), capacity)
        self._capacity = capacity
        gate = self.grip.alive()
        if isinstance(gate, _Gate):
            gate.look()

    @property
    def inside(self) -> int:
        """The number of values inside now."""
        gate = self.grip.alive()
        return gate.inside if isinstance(gate, _Gate) else 0

    def __repr__(self) -> str:
        return f"Quota({self._capacity})"

    def __reduce__(self) -> Any:
        return self.grip.__reduce__()


def _count_or_quota(call: Call, capacity: Any) -> Any:
    return cast("Any", capacity) if isinstance(capacity, Quota) else Count(1)(call, capacity)


@transformer
def in_flight(
    transformer: Annotated[Onward[A, B], Instance(Transformer, "needs a transformer")],
    capacity: Annotated[int | Quota, _count_or_quota],
) -> Transformer[A, B]:
    """Limit the values inside a transformer: at most `capacity` may have entered without having left.

    >>> import pullstream as ps
    >>> async def double(n):
    ...     return n * 2
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.in_flight(ps.map_async(double, 16), 2), ps.collect()))
    [2, 4, 6]

    Use it around a transformer that would take more values than it works on: one that prefetches, or one that sends
    them to a remote queue. It counts values, so the transformer must give exactly one result for each value. A
    transformer that drops values stalls once `capacity` of them are missing. Pass a `Quota(n)` instead of a number to
    change the capacity during the run.
    """
    return opens(_InFlight(cast("Any", transformer), capacity))

"""`limit`: at most so many values inside a transformer (Pando's Limiter)."""

from typing import Any, ClassVar

from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Module, Site, Transformer, count_argument
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.handle import Grip
from pullstream.engine.runtime.deadlock import Signal
from pullstream.errors import CompositionError
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")
B = TypeVar("B")


class _Gate(Kernel[Any]):
    """Lets values in while there is room."""

    waits: ClassVar[bool] = True
    trusted: ClassVar[bool] = True

    def __init__(self, most: "int | Quota") -> None:
        self._quota = most if isinstance(most, Quota) else None
        self._most = 0 if isinstance(most, Quota) else most
        self.inside = 0
        self._room: Signal | None = None
        if self._quota is not None:
            self._quota.grip.attach(self)

    @property
    def most(self) -> int:
        return self._most if self._quota is None else self._quota.count

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while self.inside >= self.most:
            self._room = self.run.signal()
            await self._room.wait(outside=self._quota is not None)
        batch = await self.upstream.ask(min(limit, self.most - self.inside))
        if batch is not DONE:
            self.inside += len(batch.values)
            self.upstream.settle()
        return batch

    def let_out(self, number: int) -> None:
        """So many values have left."""
        self.inside = max(0, self.inside - number)
        self.look()

    def look(self) -> None:
        """There may be room."""
        if self._room is not None:
            self._room.set()


class _Exit(Kernel[Any]):
    """Counts the values that leave."""

    waits: ClassVar[bool] = False
    trusted: ClassVar[bool] = True

    def __init__(self, gate: _Gate) -> None:
        self._gate = gate

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        batch = await self.upstream.ask(limit)
        if batch is not DONE:
            self._gate.let_out(len(batch.values))
            self.upstream.settle()
        return batch


class _Limited(Wiring):
    """What a run makes of a `limit` module: a gate above the transformer, a count below it."""

    def __init__(self, transformer: Blueprint, most: "int | Quota") -> None:
        self._transformer = transformer
        self._most = most

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Kernel[Any]:
        assert upstream is not None, "a transformer has something above it"
        gate = _Gate(self._most)
        assembly.connect(gate, [f"into {named(module)}"], module.site, [upstream])
        inside = assembly.stream(self._transformer.modules, gate)
        return assembly.connect(_Exit(gate), [named(module)], module.site, [inside])


class Quota:
    """How many values may be inside a `limit`, to be changed while it runs; a handle, for one run at a time.

    >>> import pullstream as ps
    >>> quota = ps.Quota(2)
    >>> quota.count = 5
    >>> quota
    Quota(5)
    """

    def __init__(self, count: int) -> None:
        count_argument("Quota", "count", count, least=1)
        self._count = count
        self.grip = Grip("Quota", Site.here())

    @property
    def count(self) -> int:
        """How many may be inside. Lowered, it lets those that are inside leave, and no more in until then."""
        return self._count

    @count.setter
    def count(self, count: int) -> None:
        count_argument("Quota", "count", count, least=1)
        self._count = count
        gate = self.grip.alive()
        if isinstance(gate, _Gate):
            gate.look()

    @property
    def inside(self) -> int:
        """How many are inside now."""
        gate = self.grip.alive()
        return gate.inside if isinstance(gate, _Gate) else 0

    def __repr__(self) -> str:
        return f"Quota({self._count})"

    def __reduce__(self) -> Any:
        return self.grip.__reduce__()


def limit(transformer: Transformer[A, B], count: int | Quota) -> Transformer[A, B]:
    """Let at most `count` values be inside a transformer: gone in, and not yet come out.

    >>> import pullstream as ps
    >>> async def double(n):
    ...     return n * 2
    >>> ps.run(ps.pipe(ps.values([1, 2, 3]), ps.limit(ps.map_async(double, 16), 2), ps.collect()))
    [2, 4, 6]

    For transformers that would take more than they work on: one that prefetches, or has a connection with a queue at
    its other end. It counts values, so the transformer must give one for each that it takes; one that leaves values
    out stalls once `count` are missing. A `Quota(n)` instead of the number can be changed while it runs.
    """
    if not isinstance(transformer, Transformer):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise CompositionError(f"limit() at {Site.here()} goes around a transformer, and got {transformer!r}")
    if not isinstance(count, Quota):
        count_argument("limit", "count", count, least=1)
    return Transformer((Module("limit", _Limited, (transformer, count)),))

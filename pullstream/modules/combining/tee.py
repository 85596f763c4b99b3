"""`tee`: several sinks over one stream."""

from collections.abc import Sequence
from typing import Annotated, Any, cast, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Each, Instance, Module, Natural, Sink
from pullstream.decorators import opens, sink
from pullstream.engine.assembly import Assembly, Consuming, Wiring, consume_all, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.nested.hub import Copies

A = TypeVar("A")
R1 = TypeVar("R1")
R2 = TypeVar("R2")
R3 = TypeVar("R3")
R4 = TypeVar("R4")


class Tee(Wiring):
    """The wiring of `tee`."""

    def __init__(self, *sinks: Blueprint, capacity: int = 0) -> None:
        self._sinks = sinks
        self._capacity = capacity

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Consuming:
        assert upstream is not None, "a tee is a sink"
        name = named(module)
        hub = Copies(assembly, module, name, upstream, self._capacity)
        branches = [hub.branch(f"{name}[{number}]") for number in range(len(self._sinks))]
        return Several([assembly.sink(sink, branch) for sink, branch in zip(self._sinks, branches, strict=True)])


class Several:
    """Several sinks that run as one."""

    def __init__(self, consumers: Sequence[Consuming]) -> None:
        self._consumers = consumers

    async def consume(self) -> tuple[Any, ...]:
        """Run every sink to its end."""
        return tuple(await consume_all(self._consumers))


# Plain Sink types, not those of `parts`: mypy and pyrefly would infer lists of nothing from several without a fixed
# type.
@overload
def tee(a: Sink[A, R1], /, *, capacity: int = 0) -> Sink[A, tuple[R1]]: ...
@overload
def tee(a: Sink[A, R1], b: Sink[A, R2], /, *, capacity: int = 0) -> Sink[A, tuple[R1, R2]]: ...
@overload
def tee(a: Sink[A, R1], b: Sink[A, R2], c: Sink[A, R3], /, *, capacity: int = 0) -> Sink[A, tuple[R1, R2, R3]]: ...
@overload
def tee(
    a: Sink[A, R1], b: Sink[A, R2], c: Sink[A, R3], d: Sink[A, R4], /, *, capacity: int = 0
) -> Sink[A, tuple[R1, R2, R3, R4]]: ...
@overload
def tee(
    a: Sink[A, R1],
    b: Sink[A, R1],
    c: Sink[A, R1],
    d: Sink[A, R1],
    e: Sink[A, R1],
    /,
    *sinks: Sink[A, R1],
    capacity: int = 0,
) -> Sink[A, tuple[R1, ...]]: ...
@sink
def tee(
    *sinks: Annotated[Sink[Any, Any], Each(Instance(Sink, "needs sinks"))], capacity: Natural = 0
) -> Sink[Any, tuple[Any, ...]]:
    """Send every value to each of several sinks; the result is the tuple of their results.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(range(4)), ps.tee(ps.collect(), ps.reduce(max, 0))))
    ([0, 1, 2, 3], 3)

    The slowest sink sets the pace. With `capacity`, the others may be that many values ahead of it, which are buffered:

    >>> ps.run(ps.pipe(ps.values(range(4)), ps.tee(ps.collect(), ps.drain(), capacity=1000)))
    ([0, 1, 2, 3], None)

    If a sink ends early, the others continue; the stream ends when the last one does. If a sink fails, all are ended
    (R6). `completed` waits for every sink.
    """
    return opens(Tee(*cast("Any", sinks), capacity=capacity))

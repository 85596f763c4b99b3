"""`tee` and `fork`: several sinks, or several transformers, over one stream."""

from collections.abc import Sequence
from typing import Annotated, Any, cast, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Each, Instance, Module, Natural, Sink, Transformer
from pullstream.blueprint.variables import A, B, C, D
from pullstream.decorators import opens, sink, transformer
from pullstream.engine.assembly import Assembly, Consuming, Wiring, consume_all, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.nested.hub import Branch, Copies
from pullstream.modules.combining.merge import Merge

R1 = TypeVar("R1")
R2 = TypeVar("R2")
R3 = TypeVar("R3")
R4 = TypeVar("R4")


class _Branches(Wiring):
    """The wiring of several modules over one stream."""

    def __init__(self, *modules: Blueprint, capacity: int) -> None:
        self._modules = modules
        self._capacity = capacity

    def branches(
        self, assembly: Assembly, module: Module, upstream: Kernel[Any], name: str
    ) -> list[tuple[Blueprint, Branch]]:
        """Make a branch for each module, before any of them is placed."""
        hub = Copies(assembly, module, name, upstream, self._capacity)
        return [(inner, hub.branch(f"{named(module)}[{n}]")) for n, inner in enumerate(self._modules)]


class _Tee(_Branches):
    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> Consuming:
        branches = self.branches(assembly, module, upstream, named(module))
        return Several([assembly.sink(sink, branch) for sink, branch in branches])


class Several:
    """Several sinks that run as one."""

    def __init__(self, consumers: Sequence[Consuming]) -> None:
        self._consumers = consumers

    async def consume(self) -> tuple[Any, ...]:
        """Run every sink to its end."""
        return tuple(await consume_all(self._consumers))


# Plain Sink and Transformer types, not those of `parts`: from several of those without a fixed type, mypy and pyrefly
# infer nothing.
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
def tee(  # five: with fewer, mypy would accept here what it refuses above
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

    The slowest sink sets the pace: the others may be one batch ahead of it, of at most the run's limit. With
    `capacity`, they may be that many values further ahead, which are buffered:

    >>> ps.run(ps.pipe(ps.values(range(4)), ps.tee(ps.collect(), ps.drain(), capacity=1000)))
    ([0, 1, 2, 3], None)

    The sinks share the values: a branch that changes a value in place, such as a dict, changes it for the others. Make
    a new value instead. If a sink ends early, the others continue; the stream ends when the last one does. If a sink
    fails, all are ended (R6). `completed` waits for every sink.
    """
    return opens(_Tee(*cast("Any", sinks), capacity=capacity))


class _Fork(_Branches):
    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any]) -> Kernel[Any]:
        name = named(module)
        branches = self.branches(assembly, module, upstream, f"into {name}")
        ways = [assembly.stream(transformer.modules, branch) for transformer, branch in branches]
        return assembly.install(Merge(), [name], module.site, ways)


@overload
def fork(a: Transformer[A, B], /, *, capacity: int = 0) -> Transformer[A, B]: ...
@overload
def fork(a: Transformer[A, B], b: Transformer[A, C], /, *, capacity: int = 0) -> Transformer[A, B | C]: ...
@overload
def fork(
    a: Transformer[A, B], b: Transformer[A, C], c: Transformer[A, D], /, *, capacity: int = 0
) -> Transformer[A, B | C | D]: ...
@overload
def fork(*transformers: Transformer[A, B], capacity: int = 0) -> Transformer[A, B]: ...
@transformer
def fork(
    *transformers: Annotated[Transformer[Any, Any], Each(Instance(Transformer, "needs transformers"))],
    capacity: Natural = 0,
) -> Transformer[Any, Any]:
    """Send every value through each of several transformers, and merge their results as they arrive.

    >>> import pullstream as ps
    >>> ways = ps.fork(ps.map(lambda n: ("half", n / 2)), ps.map(lambda n: ("twice", n * 2)))
    >>> sorted(ps.run(ps.pipe(ps.values([2, 4]), ways, ps.collect())))
    [('half', 1.0), ('half', 2.0), ('twice', 4), ('twice', 8)]

    The slowest transformer sets the pace: the others may be one batch ahead of it and, with `capacity`, that many
    values more. The transformers share the values, as the sinks of `tee` do. The results of each transformer keep their
    order and their times. A time is complete when it is complete in every transformer. If a transformer ends by itself,
    the others continue; when the last one has ended, the stream is aborted. A failure ends all of them (R6).
    """
    return opens(_Fork(*cast("Any", transformers), capacity=capacity))

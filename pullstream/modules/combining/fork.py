"""`fork`: several transformers over one stream, merged."""

from typing import Annotated, Any, cast, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Blueprint, Each, Instance, Module, Natural, Transformer
from pullstream.decorators import opens, transformer
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.nested.hub import Copies
from pullstream.modules.combining.merge import Merge

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")


class _Fork(Wiring):
    def __init__(self, *transformers: Blueprint, capacity: int = 0) -> None:
        self._transformers = transformers
        self._capacity = capacity

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Kernel[Any]:
        assert upstream is not None, "a fork is a transformer"
        name = named(module)
        hub = Copies(assembly, module, f"into {name}", upstream, self._capacity)
        branches = [hub.branch(f"{name}[{number}]") for number in range(len(self._transformers))]
        ways = [
            assembly.stream(transformer.modules, branch)
            for transformer, branch in zip(self._transformers, branches, strict=True)
        ]
        return assembly.install(Merge(), [name], module.site, ways)


# Plain Transformer types, not those of `parts`: mypy and pyrefly infer nothing from several without a fixed type.
@overload
def fork(a: Transformer[A, B], /, *, capacity: int = 0) -> Transformer[A, B]: ...
@overload
def fork(a: Transformer[A, B], b: Transformer[A, C], /, *, capacity: int = 0) -> Transformer[A, B | C]: ...
@overload
def fork(
    a: Transformer[A, B], b: Transformer[A, C], c: Transformer[A, D], /, *, capacity: int = 0
) -> Transformer[A, B | C | D]: ...
@overload
def fork(
    a: Transformer[A, B],
    b: Transformer[A, B],
    c: Transformer[A, B],
    d: Transformer[A, B],
    /,
    *transformers: Transformer[A, B],
    capacity: int = 0,
) -> Transformer[A, B]: ...
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

    The slowest transformer sets the pace; with `capacity`, the others may be that many values ahead of it. The results
    of each transformer keep their order and their times. A time is complete when it is complete in every transformer.
    If a transformer ends by itself, the others continue; when the last one has ended, the stream is aborted. A failure
    ends all of them (R6).
    """
    return opens(_Fork(*cast("Any", transformers), capacity=capacity))

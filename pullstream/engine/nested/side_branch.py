"""Values that go aside: to a sink of their own, which runs beside the main one."""

from collections.abc import Callable
from itertools import compress
from operator import not_
from typing import Any

import attrs
from typing_extensions import override

from pullstream.blueprint import Blueprint, Module
from pullstream.engine.assembly import Assembly, Wiring, named
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.nested.hub import Dealt, Hub
from pullstream.protocol import Batch, TimedBatch


@attrs.frozen(eq=False)
class SideBranch(Wiring):
    """The wiring of a transformer that lets some values go to a `sink`, and the others on.

    `aside(value)` tells which, and `given(value)` is what the sink gets of them: the value itself if left out. For
    ready-made modules: to put it below another one, compose both.

    >>> import pullstream as ps
    >>> odd = []
    >>> aside = ps.Transformer((Module("aside", SideBranch, (ps.drain(odd.append), lambda n: n % 2)),))
    >>> ps.run(ps.pipe(ps.values(range(6)), aside, ps.collect())), odd
    ([0, 2, 4], [1, 3, 5])

    The main branch sets the pace, unless the side sink has not yet taken what came before. When the main branch ends,
    the stream does, and the side sink's too; an error of either is the other's. When the side sink has enough, what
    would go to it is dropped.
    """

    _sink: Blueprint
    _aside: Callable[[Any], object]
    _given: Callable[[Any], Any] | None = None

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Kernel[Any]:
        assert upstream is not None, "what goes aside comes from somewhere"
        hub = _Aside(assembly, module, upstream, self._sort)
        assembly.beside.append(assembly.sink(self._sink, hub.side))
        return hub.main

    def _sort(self, batch: Batch[Any]) -> "_Sorted":
        aside, given = self._aside, self._given
        told: list[object] = []
        side: list[Any] = []
        failure: BaseException | None = None
        try:
            for value in batch.values:
                apart = aside(value)
                if apart:
                    side.append(value if given is None else given(value))
                told.append(apart)
        except BaseException as exc:  # noqa: BLE001 - the stream's failure, after what came before it (R8)
            failure = exc
        if not side and failure is None:
            return batch, None, None
        main = list(compress(batch.values, map(not_, told)))
        if not isinstance(batch, TimedBatch):
            return Batch(batch.time, main), Batch(batch.time, side), failure
        times = list(compress(batch.times, map(not_, told)))
        return TimedBatch(times, main), TimedBatch(list(compress(batch.times, told)), side), failure


_Sorted = tuple[Batch[Any], Batch[Any] | None, BaseException | None]
"""The values that go on, those that go aside, if any do, and what has ended the sorting."""


class _Aside(Hub):
    def __init__(
        self, assembly: Assembly, module: Module, upstream: Kernel[Any], sort: Callable[[Batch[Any]], _Sorted]
    ) -> None:
        name = named(module)
        super().__init__(assembly, module, f"into {name}", upstream)
        self._sort = sort
        self.main = self.branch(name)
        self.side = self.branch(f"{name}[aside]")

    @override
    def needed(self) -> bool:
        return self.main in self.branches

    @override
    def room(self) -> int:
        return 0 if self.side.kept and self.side in self.branches else self.main.wanted

    @override
    def deal(self, batch: Batch[Any]) -> Dealt:
        main, side, failure = self._sort(batch)
        yield self.main, main
        if side is not None:
            yield self.side, side
        if failure is not None:
            self.taken = len(main.values) + (0 if side is None else len(side.values))
            raise failure

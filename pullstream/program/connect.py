"""`connect`: two duplexes as one pipeline."""

from typing import Any

import trio
from typing_extensions import override

from pullstream.blueprint import Blueprint, Module, Site
from pullstream.blueprint.variables import A, B, R, S
from pullstream.engine.assembly import Assembly, Consuming, Wiring
from pullstream.engine.edge.kernel import Kernel
from pullstream.errors import CompositionError, without_cancelled
from pullstream.modules.handles.duplex import Duplex
from pullstream.program.pipeline import Pipeline


class Connection(Wiring):
    """Two directions in one run."""

    def __init__(self, *ways: Blueprint) -> None:
        self._ways = ways

    @override
    def wire(self, assembly: Assembly, module: Module, upstream: Kernel[Any] | None) -> Consuming:
        both = Both()
        for source, sink in zip(self._ways[::2], self._ways[1::2], strict=True):
            kernel = assembly.stream(source.modules, None)
            both.ways.append((kernel, assembly.sink(sink, kernel)))
        return both


class Both:
    """A connection at run time: each direction runs to its end; if one fails, it ends the other."""

    def __init__(self) -> None:
        self.ways: list[tuple[Kernel[Any], Consuming]] = []

    async def consume(self) -> tuple[Any, ...]:
        """Run both directions and return the results of their sinks."""
        results: list[Any] = [None] * len(self.ways)
        failures: list[BaseException] = []

        def keep(exc: BaseException) -> None:
            rest = without_cancelled(exc)
            if rest is None:
                raise exc
            if all(rest is not failure for failure in failures):
                failures.append(rest)

        async def consume(number: int) -> None:
            try:
                results[number] = await self.ways[number][1].consume()
            except BaseException as exc:  # noqa: BLE001 - raised below
                first = not failures
                keep(exc)
                if first:
                    try:
                        await self.ways[1 - number][0].edge.terminate(failures[0])
                    except BaseException as failure:  # noqa: BLE001 - as above: its release has failed
                        keep(failure)
                    nursery.cancel_scope.cancel()

        async with trio.open_nursery() as nursery:
            for number in range(len(self.ways)):
                nursery.start_soon(consume, number)
        if len(failures) > 1:
            raise BaseExceptionGroup("both directions failed, with different errors", failures)
        if failures:
            raise failures[0]
        return tuple(results)


def connect(a: Duplex[A, B, R], b: Duplex[B, A, S]) -> Pipeline[tuple[S, R]]:
    """Connect two duplexes: each source feeds the other's sink, in one run. The results are those of b's sink and a's.

    >>> import pullstream as ps
    >>> a = ps.duplex.Duplex(ps.values([1, 2]), ps.collect())
    >>> b = ps.duplex.Duplex(ps.values("xy"), ps.reduce(max, 0))
    >>> ps.run(ps.duplex.connect(a, b))
    (2, ['x', 'y'])

    Each direction runs at its own pace and ends on its own. The connection may be half-open for a while; the run ends
    with the second direction. If one direction fails, the other is ended with that error, and the run fails with it.
    """
    for side in (a, b):
        if not isinstance(side, Duplex):  # pyright: ignore[reportUnnecessaryIsInstance] - scripts are not all typed
            raise CompositionError(f"connect() at {Site.here()} needs two duplexes, but got {side!r}")
    return Pipeline((Module("connect", Connection, (a.source, b.sink, b.source, a.sink)),))

"""Stateless stages (`map`, `filter`), and the kernel that runs a row of them as one loop.

Neighbouring stages are fused when the pipeline is opened: their functions are called from one loop over the batch,
which is written out as Python, because CPython calls Python functions faster from bytecode than from the C of the
builtin `map`, and needs no list between stages. Batching stays invisible: when a callable raises, the values before
it are answered now, and the failure comes with the next ask (DESIGN 3.2).
"""

from collections.abc import Callable, Sequence
from enum import Enum
from functools import cache
from time import monotonic
from types import CodeType
from typing import Any, ClassVar

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Transformer, sync_argument
from pullstream.engine.kernel import Kernel
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")
B = TypeVar("B")

Loop = Callable[[Sequence[Callable[[Any], Any]], Sequence[Any], list[Any]], None]


class Kind(Enum):
    """What a stage does with a function's result; the value is its line of the fused loop."""

    MAP = "value = {function}(value)"
    FILTER = "if not {function}(value): continue"


@attrs.frozen
class Stage:
    """A function from one value to at most one, that keeps nothing between calls."""

    kind: Kind
    function: Callable[[Any], Any]


@cache
def _loop(kinds: tuple[Kind, ...]) -> Loop:
    """The fused loop of a row of stages; stage n stands on line `_FIRST_LINE + n`."""
    names = [f"function_{number}" for number in range(len(kinds))]
    lines = [
        "def loop(functions, values, out):",
        f"    {', '.join(names)}, = functions",
        "    for value in values:",
        *(f"        {kind.value.format(function=name)}" for kind, name in zip(kinds, names, strict=True)),
        "        out.append(value)",
    ]
    namespace: dict[str, Any] = {}
    exec(compile("\n".join(lines), "<fused stages>", "exec"), namespace)  # noqa: S102 - of nothing but the text above
    return namespace["loop"]


_FIRST_LINE = 4


class Segment(Kernel[Any]):
    """Neighbouring stateless stages, run as one in the asker's task."""

    waits: ClassVar[bool] = False
    trusted: ClassVar[bool] = True

    def __init__(self, stages: Sequence[Stage], modules: Sequence[Module]) -> None:
        self._modules = modules
        self._functions = [stage.function for stage in stages]
        self._loop = _loop(tuple(stage.kind for stage in stages))
        self._code: CodeType = self._loop.__code__
        self._failed: BaseException | None = None

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self._failed is not None:
                raise self._failed
            batch = await self.upstream.ask(limit)
            if batch is DONE:
                return DONE
            values: list[Any] = []
            began = monotonic()
            try:
                self._loop(self._functions, batch.values, values)
            except BaseException as exc:  # noqa: BLE001 - raised with the next ask, after what came before it
                self._failed = exc
            self.run.blocked += monotonic() - began
            if values:
                return Batch(batch.time, values)
            await self.breathe()

    @override
    def acknowledged(self) -> None:
        self.upstream.ack()

    @override
    def culprit(self) -> str:
        traceback = None if self._failed is None else self._failed.__traceback__
        while traceback is not None and traceback.tb_frame.f_code is not self._code:
            traceback = traceback.tb_next
        if traceback is None:
            return super().culprit()
        module = self._modules[traceback.tb_lineno - _FIRST_LINE]
        return f"{module}, composed at {module.site}"


def map(function: Callable[[A], B]) -> Transformer[A, B]:
    """Apply a function to every value.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.map(str.upper), ps.collect()))
    ['A', 'B']

    Times are kept. If the function raises, the values before are delivered, the source is told, and the exception
    arrives at the sink (R8).
    """
    sync_argument("map", "function", function, "map_async(function, width) awaits its results")
    return Transformer((Module("map", _map, (function,)),))


def _map(function: Callable[[Any], Any]) -> Stage:
    return Stage(Kind.MAP, function)


def filter(test: Callable[[A], object]) -> Transformer[A, A]:
    """Keep the values for which `test` is true.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(range(6)), ps.filter(lambda n: n % 2), ps.collect()))
    [1, 3, 5]

    Times are kept. If the test raises, see `map`.
    """
    sync_argument("filter", "test", test, "a test answers at once; map_async the values first, and filter the results")
    return Transformer((Module("filter", _filter, (test,)),))


def _filter(test: Callable[[Any], Any]) -> Stage:
    return Stage(Kind.FILTER, test)

"""Stateless stages (`map`, `filter`), and the kernel that runs a row of them as one.

A stage works on a whole batch in C loops. Batching stays invisible: when a callable raises, the values before it are
answered now, and the failure comes with the next ask (DESIGN 3.2).
"""

import builtins
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any, ClassVar, Generic, Self

from typing_extensions import TypeVar, override

from pullstream.blueprint import Module, Transformer, callable_argument
from pullstream.errors import blame
from pullstream.kernel import Kernel
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")
B = TypeVar("B")


class Stage(ABC, Generic[A, B]):
    """A function from values to at most as many values, in order, that keeps nothing between calls."""

    module: Module

    def placed(self, module: Module) -> Self:
        """Remember the module, for errors."""
        self.module = module
        return self

    @abstractmethod
    def apply(self, values: Sequence[A], out: list[B]) -> None:
        """Append to `out` what becomes of `values`; when this raises, `out` holds what came before."""


class _Map(Stage[A, B]):
    def __init__(self, function: Callable[[A], B]) -> None:
        self._function = function

    @override
    def apply(self, values: Sequence[A], out: list[B]) -> None:
        out.extend(builtins.map(self._function, values))
        _complete(out, values)


class _Filter(Stage[A, A]):
    def __init__(self, test: Callable[[A], object]) -> None:
        self._test = test

    @override
    def apply(self, values: Sequence[A], out: list[A]) -> None:
        verdicts: list[object] = []
        try:
            verdicts.extend(builtins.map(self._test, values))
            _complete(verdicts, values)
        finally:
            out.extend(compress(values, verdicts))


def _complete(results: Sequence[object], values: Sequence[object]) -> None:
    # A StopIteration ends `map` silently, and would lose the rest of the batch.
    if len(results) != len(values):
        raise RuntimeError("the callable raised StopIteration")


class Segment(Kernel[Any]):
    """Neighbouring stateless stages, run as one in the asker's task."""

    waits: ClassVar[bool] = False
    trusted: ClassVar[bool] = True

    def __init__(self, stages: Sequence[Stage[Any, Any]]) -> None:
        self._stages = stages
        self._failed: BaseException | None = None
        self._culprit: Module | None = None

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            if self._failed is not None:
                raise self._failed
            batch = await self.upstream.ask(limit)
            if batch is DONE:
                return DONE
            values: Sequence[Any] = batch.values
            for stage in self._stages:
                out: list[Any] = []
                try:
                    stage.apply(values, out)
                except BaseException as exc:  # noqa: BLE001 - raised with the next ask, after what came before it
                    self._failed, self._culprit = exc, stage.module
                values = out
            if values:
                return Batch(batch.time, values)
            await self.breathe()

    @override
    def acknowledged(self) -> None:
        self.upstream.ack()

    @override
    def culprit(self) -> str:
        module = self._culprit
        return super().culprit() if module is None else f"{module}, composed at {module.site}"


def map(function: Callable[[A], B]) -> Transformer[A, B]:  # noqa: A001 - the field's name, used as ps.map
    """Apply a function to every value.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.map(str.upper), ps.collect()))
    ['A', 'B']

    Times are kept. If the function raises, the values before are delivered, the source is told, and the exception
    arrives at the sink (R8).
    """
    callable_argument("map", "function", function)
    return Transformer((Module("map", _Map, (function,)),))


def filter(test: Callable[[A], object]) -> Transformer[A, A]:  # noqa: A001 - the field's name, used as ps.filter
    """Keep the values for which `test` is true.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values(range(6)), ps.filter(lambda n: n % 2), ps.collect()))
    [1, 3, 5]

    Times are kept. If the test raises, see `map`.
    """
    callable_argument("filter", "test", test)
    return Transformer((Module("filter", _Filter, (test,)),))

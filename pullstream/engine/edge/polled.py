"""The base class of modules that never wait by themselves."""

from collections.abc import Awaitable

from typing_extensions import TypeVar, override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.interfaces import Polled

T = TypeVar("T")


class PolledKernel(Kernel[T], Polled):
    """A module that answers in one step wherever its inputs do: its `poll` never waits.

    >>> import pullstream as ps
    >>> from pullstream.authoring import Batch, PolledKernel
    >>> @ps.transformer
    ... class Pairs(PolledKernel[tuple[int, int]]):
    ...     def poll(self, limit):
    ...         batch = self.upstream.poll(limit)
    ...         if not isinstance(batch, Batch):
    ...             return batch
    ...         self.upstream.ack()
    ...         return Batch.of(batch.times, [(value, value) for value in batch.values])
    >>> ps.run(ps.pipe(ps.values([1, 2]), Pairs(), ps.collect()))
    [(1, 1), (2, 2)]
    """

    @override
    def wait(self) -> Awaitable[None]:
        return self.upstream.ready()

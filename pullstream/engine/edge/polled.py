"""The base class of modules that answer in one step wherever their inputs do."""

from collections.abc import Awaitable

from typing_extensions import TypeVar, override

from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.interfaces import Polled
from pullstream.errors import ProtocolError

T = TypeVar("T")


class PolledKernel(Kernel[T], Polled):
    """A module that answers in one step wherever its inputs do: `poll` does not wait, `wait` does.

    >>> import pullstream as ps
    >>> from pullstream import Batch
    >>> from pullstream.authoring import PolledKernel
    >>> @ps.transformer
    ... class Pairs(PolledKernel[tuple[int, int]]):
    ...     def poll(self, limit):
    ...         batch = self.upstream.poll(limit)
    ...         if not isinstance(batch, Batch):
    ...             return batch
    ...         return Batch.of(batch.times, [(value, value) for value in batch.values])
    >>> ps.run(ps.pipe(ps.values([1, 2]), Pairs(), ps.collect()))
    [(1, 1), (2, 2)]
    """

    @override
    def wait(self) -> Awaitable[None]:
        if not self.inputs:
            raise ProtocolError(
                f"{self.location}, returned WAIT, but has no input to wait for: define wait(), or return NOT_YET"
            )
        return self.upstream.ready()

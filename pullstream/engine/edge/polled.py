"""The base class of modules that answer in one step wherever their inputs do."""

from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

from pullstream.blueprint.variables import T
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.errors import ProtocolError
from pullstream.protocol import Batch, Done, Unanswered


class PolledKernel(Kernel[T]):
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

    __polled__ = True

    @abstractmethod
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        """Return the next answer, as `produce` does, or `NOT_YET` after a piece of work that led to none.

        `WAIT` means that the answer has to be waited for: `poll` is called again after `wait`. Nothing that was taken
        from an input may be lost then.
        """

    def wait(self) -> Awaitable[None]:
        """Wait until `poll` can continue, after it returned `WAIT`: by default, until its upstream has answered.

        Wait for an input with its `ready()`, first and in this step, and not with `ask`, whose answer would be lost. It
        may be an async function. When the stream ends, an input answers, other waits of the toolkit's end with `halt`,
        and those of an author's `wait` are cancelled.
        """
        return self.__next_input__().ready()

    def __wakes__(self, wake: Callable[[], object]) -> bool:
        """Call `wake` once `poll` can continue, after it returned `WAIT`; False if only its own `wait` finds out.

        A later call replaces the function. `wake` must not be called at once.
        """
        own_wait = type(self).wait is not vars(PolledKernel)["wait"]
        return not own_wait and bool(self.inputs) and self.__next_input__().wakes(wake)

    def __next_input__(self) -> Lane[Any]:
        """The input that `poll` waits for: by default, `upstream`."""
        if not self.inputs:
            raise ProtocolError(
                f"{self.location}, returned WAIT, but has no input to wait for: define wait(), or return NOT_YET"
            )
        return self.inputs[0]

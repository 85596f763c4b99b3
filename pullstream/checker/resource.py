"""Resources of modules: acquisitions and releases, counted (R10)."""

from collections.abc import Awaitable, Callable

from pullstream.checker.edge import WatchedEdge
from pullstream.errors import ReleaseTimeout

Call = Callable[[], Awaitable[None]]


class Resource:
    """The resources of the module upstream of an edge."""

    def __init__(self, edge: WatchedEdge) -> None:
        self.edge = edge
        self._release_failure: BaseException | None = None
        self.acquired = 0
        self.released = 0

    async def acquire(self, acquire: Call) -> None:
        """Acquire the module's resources."""
        if not self.edge.asked:
            self._violated("acquired its resources before it was asked for a value")
        if self.acquired:
            self._violated("acquired its resources a second time")
        await acquire()
        self.acquired += 1

    async def release(self, release: Call) -> None:
        """Release them."""
        self.released += 1
        if self.released > self.acquired:
            self._violated("released resources it does not have")
        try:
            await release()
        except BaseException as exc:
            self._release_failure = exc
            raise

    def failed(self, failure: object) -> bool:
        """Whether the module's release raised this failure."""
        return isinstance(failure, ReleaseTimeout) or (failure is not None and failure is self._release_failure)

    def ended(self) -> None:
        """Verify, when the edge has ended, that everything is released."""
        if self.acquired > self.released:
            self._violated("ended before releasing the resources it had acquired")

    def _violated(self, what: str) -> None:
        self.edge.violated("R10", self.edge.above, f"it {what}")

"""Resources of modules: acquisitions and releases, counted (R10)."""

from typing import Any

from pullstream.checker.edge import WatchedEdge
from pullstream.engine.edge.edge import Edge
from pullstream.errors import ReleaseTimeout


class Resource:
    """The resources of the module upstream of an edge."""

    def __init__(self, edge: WatchedEdge) -> None:
        self._edge = edge
        self._trouble: BaseException | None = None
        self.acquired = 0
        self.released = 0

    def watch(self, edge: "Edge[Any]") -> None:
        """Count the module's acquisitions and releases."""
        kind = type(edge.module)

        async def acquire(module: Any) -> None:
            if not self._edge.asked:
                self._violated("acquired its resources before it was asked for a value")
            if self.acquired:
                self._violated("acquired its resources a second time")
            await kind.acquire(module)
            self.acquired += 1

        async def release(module: Any) -> None:
            self.released += 1
            if self.released > self.acquired:
                self._violated("released resources it does not have")
            try:
                await kind.release(module)
            except BaseException as exc:
                self._trouble = exc
                raise

        # With a subclass, so that the module's own calls are counted too, and none of its attributes is replaced.
        namespace = {"__slots__": (), "__module__": kind.__module__, "acquire": acquire, "release": release}
        edge.module.__class__ = type(kind.__name__, (kind,), namespace)

    def failed(self, failure: object) -> bool:
        """Whether a failure is the failure of the module's release."""
        return isinstance(failure, ReleaseTimeout) or (failure is not None and failure is self._trouble)

    def ended(self) -> None:
        """Verify, when the edge is over, that everything is released."""
        if self.acquired > self.released:
            self._violated("ended before releasing the resources it had acquired")

    def _violated(self, what: str) -> None:
        self._edge.violated("R10", self._edge.above, f"it {what}")

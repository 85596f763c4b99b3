"""Resources of modules, acquired and released, counted (R10)."""

from typing import Any

from pullstream.checker.edge import Edge
from pullstream.engine.edge.kernel import Kernel
from pullstream.errors import ReleaseTimeout


class Resource:
    """The resources of the module above an edge."""

    def __init__(self, edge: Edge) -> None:
        self._edge = edge
        self._trouble: BaseException | None = None
        self.acquired = 0
        self.released = 0

    def watch(self, kernel: "Kernel[Any]") -> None:
        """Count what the kernel takes and lets go of."""
        acquire, release = kernel.acquire, kernel.release

        async def acquired() -> None:
            if not self._edge.asked:
                self._violated("acquired what it needs before it was asked for a value")
            if self.acquired:
                self._violated("acquired what it needs a second time")
            await acquire()
            self.acquired += 1

        async def released() -> None:
            self.released += 1
            if self.released > self.acquired:
                self._violated("released what it does not have")
            try:
                await release()
            except BaseException as exc:
                self._trouble = exc
                raise

        # On the instance, so that neither the kernel nor its class knows.
        vars(kernel).update(acquire=acquired, release=released)

    def failed(self, failure: object) -> bool:
        """Whether it is the release that failed, and with what."""
        return isinstance(failure, ReleaseTimeout) or (failure is not None and failure is self._trouble)

    def ended(self) -> None:
        """The edge is over: everything is released."""
        if self.acquired > self.released:
            self._violated("ended before it had released what it acquired")

    def _violated(self, what: str) -> None:
        self._edge.violated("R10", self._edge.above, f"it {what}")

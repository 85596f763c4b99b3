"""What the modules of one run share: its settings, its tasks and its sidecar."""

from collections.abc import Awaitable, Callable

import trio

from pullstream.progress import Progress


class Run:
    """One run, as its modules see it."""

    def __init__(self, *, limit: int, release_timeout: float) -> None:
        if limit < 1:
            raise ValueError(f"limit is how many values a sink asks for at a time: at least 1, not {limit}")
        self.limit = limit
        self.release_timeout = release_timeout
        self.blocked = 0.0
        """Seconds that users' functions have kept everything else waiting so far; sinks set their pace by it."""
        self.progress = Progress()
        self.nursery: trio.Nursery

    def spawn(self, task: Callable[..., Awaitable[object]], *args: object) -> None:
        """Run a task of the toolkit's own beside the pipeline; it ends, at the latest, with the run."""
        self.nursery.start_soon(task, *args)

"""Streams in instalments: a run that makes instalments of many streams, one after another."""

from collections.abc import AsyncGenerator, Hashable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import trio

from pullstream.engine.run import Run
from pullstream.engine.runtime.deadlock import begun, instrument
from pullstream.errors import PullstreamError
from pullstream.resuming.ahead import Ahead
from pullstream.resuming.carryover import FRESH, Carryover
from pullstream.resuming.instalment import Instalment, InstalmentPlan, InstalmentRun, Work
from pullstream.resuming.keeping import StreamKeeping


class Instalments:
    """A run that makes instalments, one at a time."""

    def __init__(self, plan: InstalmentPlan, ahead: Ahead, limit: int) -> None:
        self.run = Run(limit=limit, release_timeout=5.0, on_failure=self._failed, keeping=StreamKeeping)
        self._plan = plan
        self._ahead = ahead
        self._parts: InstalmentRun | None = None

    async def make(
        self, times: Sequence[Hashable], values: Sequence[Any], tick: int, kept: Carryover | None = None
    ) -> Instalment:
        """Send values, in the order of their times, through the modules, which begin with the saved state.

        At `tick` the source is past the `times`: nothing more will arrive at them, except values that are replayed.

        Raises: BaseException: the stream's failure, unchanged.
        """
        parts = InstalmentRun(self._plan, self.run, Work(times, values, tick, kept or FRESH))
        parts.ahead = self._ahead
        self._parts = parts
        ended = trio.Event()
        self.run.spawn(parts.consume, ended)
        # Nothing has checked since the previous instalment ended.
        self.run.detector.check_soon()
        await ended.wait()
        self._parts = None
        return parts.outcome()

    def stands_still(self) -> None:
        """Check again, after a moment, whether anything can still move."""
        self.run.spawn_watch(self._look)

    async def _look(self) -> None:
        detector, parts = self.run.detector, self._parts
        if parts is None or not detector.deadlocked():
            detector.check_soon()
        else:
            parts.rest()

    def _failed(self, exc: BaseException) -> None:
        if self._parts is not None:
            self._parts.fail(exc)


@asynccontextmanager
async def instalments(plan: InstalmentPlan, ahead: Ahead, *, limit: int = 4096) -> AsyncGenerator[Instalments, None]:
    """Open a run that makes instalments of many streams, one after another."""
    here = Instalments(plan, ahead, limit)
    run = here.run
    run.clock = instrument()
    if begun() is None:
        raise PullstreamError(
            f"{plan.name}() at {plan.site} must detect when nothing can move any more, and trio {trio.__version__} "
            f"does not expose this in a way that is supported: install another version"
        )
    async with trio.open_nursery() as block:
        run.begin(block)
        run.detector.arm(here.stands_still, block.cancel_scope)
        failure: BaseException | None = None
        try:
            yield here
        except BaseException as exc:  # noqa: BLE001 - raised below, outside the nursery
            failure = exc
        run.detector.over()
        run.halt()
    if failure is not None:
        raise failure

"""Driving sinks through cells: connected to a reference source, run to the end or ended from outside."""

from contextlib import suppress
from typing import Any, Final

import trio

from pullstream.checker import Checker
from pullstream.conformance.bench import Bench, Outcome, expect
from pullstream.conformance.cells import DELAY, Cell
from pullstream.conformance.subject import Subject
from pullstream.errors import Abandoned, sole
from pullstream.program.pipe import pipe
from pullstream.program.pipeline import Pipeline
from pullstream.program.running import Running

MOMENT: Final = 0.05 * DELAY


class SinkDriver:
    """Drives a sink through one cell."""

    def __init__(self, subject: Subject, cell: Cell) -> None:
        self.subject = subject
        self.cell = cell
        self.checker = Checker(strict=True)
        self.bench = Bench(subject, cell)
        self.pipeline: Pipeline[Any] = pipe(self.bench.source(), self.bench.made)  # type: ignore[call-overload]

    async def drive(self) -> Outcome:
        """Run the cell and check the outcome."""
        result, ending = await self._run()
        self.bench.is_balanced("after the run")
        self.bench.is_timely()
        bench = self.bench
        failed = any(ledger.failed for ledger in bench.ledgers)
        if isinstance(ending, (Abandoned, trio.Cancelled)):
            bench.was_told(None)
        elif bench.struck and not self.subject.absorbs:
            expect(ending is bench.raised, "R8", f"its callable raised, but the run ended with {ending!r}")
            # If the module works in tasks, the task that raises cancels the others' asks, which aborts upstream.
            bench.was_told(bench.raised, *[None] * self.subject.calls)
        elif failed and not self.subject.absorbs:
            expect(ending is bench.failure, "R6", f"its upstream failed, but the run ended with {ending!r}")
        elif ending is not None and not self.subject.absorbs:
            raise ending
        return Outcome([result], ending)

    async def _watched(self, running: Running[Any]) -> Any:
        """Return the result, while tasks wait for each time and check the work done when it is complete."""

        async def until(time: int) -> None:
            with suppress(Exception):
                await running.progress.completed(time)
                self.bench.told_complete(time)

        async with trio.open_nursery() as nursery:
            for time in {self.cell.time(place) for place in range(self.cell.values)}:
                nursery.start_soon(until, time)
            return await running.result()

    async def _run(self) -> tuple[Any, BaseException | None]:
        after = self.cell.position * DELAY + MOMENT
        with trio.move_on_after(after if self.cell.way == "cancel" else float("inf")) as scope:
            try:
                async with self.pipeline.open(limit=self.cell.limit, check=self.checker) as running:
                    if self.cell.way == "abort":
                        with trio.move_on_after(after):
                            return await running.result(), None
                        await running.abort()
                    if self.subject.calls:
                        return await self._watched(running), None
                    return await running.result(), None
            except Exception as exc:  # noqa: BLE001 - judged by the cell
                return None, sole(exc)
        if scope.cancelled_caught:
            return None, Abandoned("cancelled from outside")
        raise AssertionError("a run has a result, or fails")

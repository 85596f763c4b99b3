"""Driving sources and transformers through cells: between reference neighbours, from start to end."""

from collections.abc import Callable
from contextlib import suppress
from itertools import cycle
from typing import Any, Final

import trio
import trio.lowlevel

from pullstream.blueprint import Source, Transformer
from pullstream.checker import Checker
from pullstream.conformance.bench import Bench, Outcome, expect
from pullstream.conformance.cells import Cell
from pullstream.conformance.partners import SINK, ConsumerFailed, edge_below
from pullstream.conformance.subject import Subject
from pullstream.program.pipe import pipe
from pullstream.protocol import DONE, Done, Reader

LEAVE_IT: Final = "let trio.Cancelled pass, or raise it again after the cleanup"
"""The advice for a module whose ask continues after its cancellation."""

MOST: Final = 40
"""The most answers taken from a stream that may be endless."""


class StreamDriver:
    """Drives a source or a transformer through one cell."""

    def __init__(self, subject: Subject, cell: Cell) -> None:
        self.subject = subject
        self.cell = cell
        self.reason = ConsumerFailed("disk full")
        self.values: list[Any] = []
        self.ending: Done | BaseException | None = None
        self.doubt: str | None = None
        self._left = False
        """Whether the module had aborted an input by itself before it was sent a termination."""
        self._limits = cycle((cell.limit, 1))
        self.checker = Checker(strict=True, lenient=(SINK,))
        self.bench = Bench(subject, cell)
        made = self.bench.made
        self.source: Source[Any] = pipe(self.bench.source(), made) if isinstance(made, Transformer) else made  # type: ignore[assignment]

    async def drive(self) -> Outcome:
        """Run the cell and check the outcome."""
        async with edge_below(self.source, self.checker, self.cell.limit) as reader:
            expect(self.bench.opened == 0, "R10", "something was opened before the first ask")
            await self._ways[self.cell.way](self, reader)
            if self.ending is not None:
                self.bench.is_balanced("when the end was answered")
                await self._is_over(reader)
        self.bench.is_balanced("after the run")
        self.bench.is_timely()
        self._demand()
        return Outcome(self.values, self.ending, self.doubt)

    async def _step(self, reader: Reader[Any]) -> bool:
        # An answer that was prepared for one limit must not be given to an ask with another.
        limit = next(self._limits)
        try:
            answer = await (reader.ask_many if self.cell.whole else reader.ask)(limit)
        except Exception as exc:  # noqa: BLE001 - judged below
            self.ending = exc
            return False
        if answer is DONE:
            self.ending = DONE
            return False
        self.values += zip(answer.times, answer.values, strict=True)
        return True

    async def _take(self, reader: Reader[Any], answers: int) -> None:
        for _ in range(answers):
            if not await self._step(reader):
                return

    # ---- the ways to end

    async def _end(self, reader: Reader[Any]) -> None:
        await self._take(reader, MOST)
        if self.ending is None:
            await reader.abort()
        else:
            self._ended_by_itself()

    def _ended_by_itself(self) -> None:
        bench = self.bench
        failed = any(ledger.failed for ledger in bench.ledgers)
        if (bench.struck or failed) and not self.subject.absorbs:
            reasons = [bench.raised] * bench.struck + [bench.failure] * failed
            what = "its callable raised" if bench.struck else "its upstream failed"
            rule = "R8" if bench.struck else "R6"
            expect(self.ending in reasons, rule, f"{what}, but the stream ended with {self.ending!r}")
            bench.was_told(*reasons, *self._other_reasons())
        elif self.ending is DONE and not self.subject.absorbs:
            bench.was_told(None)
        elif isinstance(self.ending, BaseException):
            bench.may_fail(self.ending)

    async def _terminate(self, reader: Reader[Any]) -> None:
        await self._take(reader, self.cell.position)
        reason = self.reason if self.cell.way == "error" else None
        before, asked = self.ending, self.cell.position > 0 or self.cell.moment is not None
        waiting = await self._send(reader, reason)
        expect(asked or not self.bench.opened, "R6", "a module that was never asked was opened in order to be aborted")
        if before is not None:
            self._ended_by_itself()
            return
        if self.ending is None or waiting:
            expected = DONE if reason is None else reason
            if self.ending not in (None, expected):
                self.doubt = f"the outstanding ask was answered with {self.ending!r}, not {expected!r}"
            if self.ending is None or self.ending is expected:
                self.ending = expected
                self.bench.was_told(reason, *self._other_reasons())

    def _other_reasons(self) -> list[BaseException | None]:
        """Return reasons that an input may already have received: another input failed, or the module had ended it."""
        if len(self.bench.ledgers) < 2:
            return [None] * self._left
        return [None, self.bench.failure] if any(ledger.failed for ledger in self.bench.ledgers) else [None]

    async def _send(self, reader: Reader[Any], reason: BaseException | None) -> bool:
        """Send the termination as the cell says; return whether an ask was outstanding."""
        answered = pending = False

        async def outstanding(lane: Reader[Any]) -> None:
            nonlocal answered
            await self._step(lane)
            answered = True

        def note() -> None:
            nonlocal pending
            pending, self._left = waiting and not answered, self.bench.left

        async def terminate() -> None:
            if self.cell.waits:
                note()
            await (reader.abort() if reason is None else reader.error(reason))

        async with trio.open_nursery() as nursery:
            waiting = self.cell.moment is not None and self.ending is None
            if waiting:
                nursery.start_soon(outstanding, reader.lane())
                await _begun()
                await trio.sleep(self.cell.moment or 0.0)
            if not self.cell.waits:
                note()
                reader.abort_nowait() if reason is None else reader.error_nowait(reason)
            nursery.start_soon(terminate)
            if self.cell.again:
                await _begun()
                nursery.start_soon(reader.lane().error, ConsumerFailed("again"))
                reader.lane().abort_nowait()
                await reader.lane().abort()
        return pending

    async def _cancel(self, reader: Reader[Any]) -> None:
        await self._take(reader, self.cell.position)
        if self.ending is not None:
            return
        with trio.move_on_after(self.cell.moment or 0.0) as scope:
            await self._step(reader)
        if scope.cancelled_caught:
            expect(self.ending is None, "R1", "a cancelled ask was answered")
            self.ending = DONE
            self.bench.was_told(None)
            return
        # An ask that is answered at the very moment of its cancellation was still waiting until then.
        swallowed = self.cell.moment and trio.current_time() == scope.deadline
        expect(not swallowed, "R1", "a cancelled ask was answered: it swallowed its cancellation", LEAVE_IT, exact=True)
        if self.ending is None:
            await reader.abort()
            self.ending = DONE

    _ways: Final[dict[str, Callable[["StreamDriver", Reader[Any]], Any]]] = {
        "end": _end,
        "raise": _end,
        "abort": _terminate,
        "error": _terminate,
        "cancel": _cancel,
    }

    # ---- what must hold

    async def _is_over(self, reader: Reader[Any]) -> None:
        """Send further requests: they must be answered at once (R3). The checker compares the answers with the end."""
        now = trio.current_time()
        for lane in (reader, reader, reader.lane()):
            with suppress(Exception):
                await lane.ask(self.cell.limit)
            await lane.abort()
            await lane.error(ConsumerFailed("too late"))
        expect(trio.current_time() == now, "R3", "a stream that had ended did not answer at once")

    def _demand(self) -> None:
        for ledger in self.bench.ledgers:
            most = max(ledger.asked, default=0)
            expect(
                most <= self.cell.limit or self.subject.grows,
                "R2",
                f"it was asked for {self.cell.limit}, and asked its upstream for {most}",
                "ask for no more than you were asked for; if it is intended, say so with grows=True",
                exact=True,
            )


async def _begun() -> None:
    """Let a started task begin. Two checkpoints, because the tasks of one step run in any order."""
    await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()

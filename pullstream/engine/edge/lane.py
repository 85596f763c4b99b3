"""A lane: one task's end of an edge, and what it has in flight (R4, R11)."""

from collections.abc import Awaitable, Callable, Coroutine, Hashable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from operator import index
from typing import Any, Final, NoReturn

import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint.variables import T
from pullstream.engine.edge.edge import Edge
from pullstream.engine.edge.end import End
from pullstream.engine.sidecar.location import Port
from pullstream.errors import failed_too, without_cancelled
from pullstream.logger import LOG
from pullstream.protocol import DONE, Batch, Done, Reader, Unanswered
from pullstream.timely import Antichain

T_co = TypeVar("T_co", covariant=True)

SPINNING: Final = 1000
"""A number of asks after the end of a stream that no module makes on purpose."""


class Lane(End, Reader[T_co]):
    """A reader of an edge, for one task."""

    edge: Edge[Any]
    release_failure: BaseException | None = None
    again = 0
    """The number of asks after the end."""
    handed = False
    """Whether user code has this lane."""
    asker: trio.lowlevel.Task | None = None
    """The task that asks, if user code has the lane and the task is known."""
    polled_for = 1
    """The limit of the last poll."""
    slot: Batch[T_co] | Done | BaseException | None = None
    """The answer that `ready` has waited for, until it is polled; a batch is in flight here."""
    began = 0.0
    _wake: Callable[[], object] | None = None
    """Called once another poll is worthwhile; until then an ask counts as outstanding."""

    @override
    async def ask(self, limit: int = 1, *, many: bool = False, waiting: bool = False) -> Batch[T_co] | Done:
        if limit.__class__ is not int or limit < 1:
            limit = _whole(limit)
        if self.again >= SPINNING:
            # A loop that does not end with its stream must let others run, and end when it is cancelled.
            await self.edge.breathe()
        sent = self._send(limit, many=many)
        if self.handed and (task := trio.lowlevel.current_task()) is not self.asker:
            self.asker = task
            self.edge.run.detector.asked_by(self)
        port, observer = self.port, self.observer
        began = port.begin()
        try:
            answer = await self.edge.ask(self, limit, waiting=waiting)
        except BaseException as exc:
            if self.over:
                self._asked_again()
            self.over = True
            self.edge.unanswered()
            if observer is not None:
                observer.raised(sent, exc)
            raise
        finally:
            port.end(began)
        if answer is DONE:
            if self.over:
                self._asked_again()
            self.over = True
        else:
            port.values += len(answer.values)
            port.batches += 1
        return answer if observer is None else observer.answered(self, sent, answer)

    def poll(self, limit: int, *, many: bool = True) -> Batch[T_co] | Done | Unanswered:
        """Ask if the answer is possible in this step; otherwise nothing is asked (see `Unanswered` and `ready`).

        After `ready`, this returns the answer that it waited for, whatever the limit is now.
        """
        if limit.__class__ is not int or limit < 1:
            limit = _whole(limit)
        answer = self.slot
        if answer is not None:
            self.slot = None
            if isinstance(answer, BaseException):
                raise answer
            return answer
        self.polled_for = limit
        sent = self._send(limit, many=many)
        port = self.port
        began = port.begin()
        try:
            polled = self.edge.poll(self, limit)
        finally:
            port.end(began)
        if isinstance(polled, Batch):
            port.values += len(polled.values)
            port.batches += 1
        elif polled is DONE:
            self.over = True
        elif self.over:
            self._asked_again()
        return polled if self.observer is None else self.observer.answered(self, sent, polled)

    async def ready(self) -> None:
        """Wait for the answer that the last `poll` could not give; the next one returns or raises it.

        Await it in the same step as the poll, before anything else: otherwise the event it waits for may be missed.
        """
        if self.slot is not None:
            return
        try:
            self.slot = await self.ask(self.polled_for, many=self.whole, waiting=True)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - raised by the next poll
            self.slot = exc

    def wakes(self, wake: Callable[[], object]) -> bool:
        """Call `wake` when another poll is worthwhile, after one returned WAIT in this step; False if it needs an ask.

        The module must then poll soon, or ask in a task: others may wait for the same answer. Nothing has to be
        withdrawn if another poll, an ask or a termination comes first.
        """
        if not self.edge.wakes(self._woken):
            return False
        self._wake, self.began = wake, self.port.begin()
        return True

    def _woken(self) -> None:
        wake, self._wake = self._wake, None
        if wake is not None:
            self.port.end(self.began)
            wake()

    def _send(self, limit: int, *, many: bool) -> Any:
        """Acknowledge the last batch, as every ask does; returns what the observer noted."""
        if self._wake is not None:
            self._wake = None
            self.port.end(self.began)
        sent = None if self.observer is None else self.observer.asked(self, limit)
        if self.live:
            self.acknowledge()
        self.whole = many
        if self._counts.alert:
            self._counts.activate(self.port)
        return sent

    def _asked_again(self) -> None:
        """Warn of a loop that does not end with its stream: nothing else reveals it, because it may never wait."""
        self.again += 1
        if self.again == SPINNING:
            LOG.warning(
                "%s, has asked %s %s times after the end of the stream, and continues. Leave the loop when the answer "
                "is ps.DONE, and do not catch an ask's failure; `async for batch in ctx.batches(upstream)` does both",
                self.port.location,
                self.edge.location.name,
                SPINNING,
            )

    @override
    def ask_many(self, limit: int = 1) -> Coroutine[Any, Any, Batch[T_co] | Done]:
        return self.ask(limit, many=True)

    @override
    async def abort(self) -> Done:
        return await self.terminate(None, dismissing=False)

    @override
    async def error(self, reason: BaseException) -> Done:
        return await self.terminate(reason, dismissing=False)

    @override
    def abort_nowait(self) -> None:
        self._indicate(None)

    @override
    def error_nowait(self, reason: BaseException) -> None:
        self._indicate(reason)

    def _indicate(self, reason: BaseException | None) -> None:
        if self.observer is not None:
            self.observer.indicated(self, reason)
        self.settle()
        if not self.over and self.edge.close(reason):
            self.edge.run.spawn(self._confirm)

    async def _confirm(self) -> None:
        try:
            await self.edge.confirm()
        except BaseException as exc:  # noqa: BLE001 - raised to the next sender of a termination
            self.release_failure = exc
        if self.observer is not None:
            self.release_failure = self.observer.carried_out(self.release_failure)

    def close(self, reason: BaseException | None) -> bool:
        """Send a termination, unless the edge has ended for this lane; True if it is the first on the edge.

        The caller must then call `terminate` with this result as `closed`.
        """
        if self.observer is not None:
            self.observer.closed(self, reason)
        self.settle()
        return not self.over and self.edge.close(reason)

    async def terminate(
        self, reason: BaseException | None, *, dismissing: bool = True, closed: bool | None = None
    ) -> Done:
        """Abort or, with a reason, error, and wait for the confirmation. Nothing is sent after a terminal answer (R9).

        The module's kernel, which is `dismissing` it, may have called `close` before: `closed` is what it returned.
        """
        observer, sent = self.observer, None
        if observer is not None:
            sent = observer.terminated(self, reason, dismissing=dismissing, closed=closed is not None)
        self.settle()
        try:
            if closed or not self.over:
                try:
                    await (self.edge.confirm() if closed else self.edge.terminate(reason))
                finally:
                    self.over = True
                failure, self.release_failure = self.release_failure, None
                if failure is not None:
                    raise failure  # noqa: TRY301 - reported to the observer like any other
        except BaseException as exc:
            if observer is not None:
                observer.confirmed(sent, exc)
            raise
        if observer is not None:
            observer.confirmed(sent, None)
        return DONE

    def __aiter__(self) -> NoReturn:
        raise TypeError(
            "a reader is not iterable: use `async for batch in ctx.batches(upstream)`, or `await upstream.ask(limit)`"
        )

    @override
    def ack(self) -> None:
        if self.observer is not None:
            self.observer.acknowledged()
        self.settle()

    @override
    def ack_but(self, left: Batch[Any]) -> None:
        if not left.values:
            self.ack()
        elif self.live and (left.uniform or self.whole) and all(map(self.covers, left.least)):
            self.count_batch(left)
            if self._counts.alert:
                self._counts.activate(self.port)
        elif self.edge.open:
            raise ValueError(
                f"{left!r} is not part of the batch in flight: pass a part of the batch that ask_many returned, "
                f"before it is acknowledged and before the next ask"
            )

    def ack_before(self, least: Sequence[Hashable]) -> None:
        """Acknowledge the last batch except for a part with these minimal times.

        A module that processes a batch in many parts then need not read all of it each time; a sink calls `ack_but`. A
        batch that a termination has acknowledged stays acknowledged.
        """
        if self.live:
            self.count_least(least)
            if self._counts.alert:
                self._counts.activate(self.port)

    def arriving(self) -> Antichain[Any]:
        """The times that may still arrive at the module downstream, or have arrived and are in flight."""
        return self._counts.arriving(self.port)

    @override
    def lane(self) -> "Lane[T_co]":
        if self.edge.wake is not None:
            # A module wakes one lane only: with two, each asks, and waits for its turn.
            self.edge.wake()
        self.edge.shared = True
        lane: Lane[T_co] = Lane(self.edge, self.port)
        lane.hand_over(None)
        return lane

    def hand_over(self, asker: trio.lowlevel.Task | None) -> None:
        """Note that user code has this lane, and asks in `asker`, a task of the run, or in a task not known yet."""
        self.handed, self.asker = True, asker
        if asker is None:
            self.edge.run.detector.asked_by(self)


def _whole(limit: Any) -> int:
    """Return the limit of an ask as an int; refuse it if it is not an integer, or less than 1."""
    with suppress(TypeError):
        if (number := index(limit)) > 0:
            return number
    raise ValueError(f"an ask is for a whole number of values, at least 1, not for {limit!r}")


def first_lane(edge: Edge[T], port: Port) -> Lane[T]:
    """The first lane for the module that has the `port`; further lanes are made from it."""
    observer = edge.run.observer
    if observer is not None and edge.observer is None:
        edge.observer = observer.edge(edge, port)
    edge.location.outs = (*edge.location.outs, port)
    edge.port = port
    lane: Lane[T] = Lane(edge, port)
    port.claim = lane
    return lane


async def dismiss_all(lanes: "Sequence[Lane[Any]]", reason: BaseException | None) -> None:
    """Terminate several inputs, each in a task of its own with a fresh stack.

    Raises: BaseException: the first failure of a release; its notes have the others.
    """
    # All are closed before any other task runs: otherwise a value could still pass on one while another is released
    # (R5, R6).
    closing = [(lane, lane.close(reason)) for lane in lanes]
    if reason is not None:
        # An ask under way through several of them is cancelled in the next step, which must not count as an abort
        # there.
        announcing = [lane.edge for lane in lanes]
        for edge in announcing:
            announcing += edge.announce(reason)
    failures = await failures_of([partial(lane.terminate, reason, closed=closed) for lane, closed in closing])
    for other in failures[1:]:
        failed_too(failures[0], other)
    if failures:
        raise failures[0]


async def failures_of(calls: Iterable[Callable[[], Awaitable[object]]]) -> list[BaseException]:
    """Make calls side by side, each in a task of its own; return their exceptions, each once, when all have ended."""
    failures: list[BaseException] = []

    async def made(call: Callable[[], Awaitable[object]]) -> None:
        try:
            await call()
        except BaseException as exc:
            if without_cancelled(exc) is None:
                raise
            if all(exc is not failure for failure in failures):
                failures.append(exc)

    async with trio.open_nursery() as nursery:
        for call in calls:
            nursery.start_soon(made, call)
    return failures

"""`map_async`: an async function applied to several values concurrently."""

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Hashable
from operator import length_hint
from types import coroutine
from typing import Annotated, Any, Final, Literal, overload

import attrs
import trio
from typing_extensions import override

from pullstream.blueprint import Emits, Positive, Transformer, checks
from pullstream.blueprint.parts import Function
from pullstream.blueprint.variables import A, B
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.backlog import Backlog, of_runs
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.pace import WaitingPace
from pullstream.engine.parts.tasks import Asking, TaskKernel
from pullstream.engine.runtime import clocks
from pullstream.engine.runtime.blocked import own_scope
from pullstream.engine.runtime.deadlock import Signal
from pullstream.errors import without_cancelled
from pullstream.failures import Failed
from pullstream.logger import LOG
from pullstream.modules.values.on_error import Handled, OnError, catches, guarded_async, not_async
from pullstream.protocol import DONE, WAIT, Batch, Done, Unanswered, listed

PENDING: Final = object()
CHECKPOINT: Final = trio.lowlevel.cancel_shielded_checkpoint().send(None)  # noqa: ASYNC105 - we need what it yields
"""The trap of a bare checkpoint, which yields to other tasks without waiting for anything."""

MOMENT: Final = 0.001
"""Seconds for which calls may pass bare checkpoints before the results so far are emitted."""
UNSEEN: Final = 15
"""Checkpoints passed between two readings of the clock while calls are quick."""

LONG: Final = 0.05
"""Seconds for which one call may block the event loop before it counts as blocking."""
TOO_LONG: Final = 0.5
"""Total seconds of blocking calls after which a warning is logged."""


class Calls:
    """The values of one batch at one time, from their arrival until the last result is emitted."""

    __slots__ = ("count", "failures", "given", "left", "results", "time", "to_begin")

    def __init__(self, batch: Batch[Any], *, ordered: bool) -> None:
        values = listed(batch.values)
        self.time: Hashable = batch.time
        self.count = len(values)
        self.left = iter(values)
        """The values whose call has not begun. A list iterator's `length_hint` is exact."""
        self.to_begin = enumerate(self.left)
        """The same values, numbered. All workers draw from it."""
        self.results: list[Any] = [PENDING] * len(values) if ordered else []
        self.failures: dict[int, BaseException] = {}
        self.given = 0

    @property
    def unbegun(self) -> int:
        """Number of values whose call has not begun."""
        return length_hint(self.left)

    @property
    def ready(self) -> bool:
        """Whether a result can be emitted."""
        return self.given < len(self.results) and self.results[self.given] is not PENDING

    def take(self, limit: int) -> list[Any]:
        """Remove and return the results to emit now, at most `limit`."""
        end, stop = self.given, min(len(self.results), self.given + limit)
        while end < stop and self.results[end] is not PENDING:
            end += 1
        taken = self.results[self.given : end]
        self.given = end
        return taken


class MapAsync(TaskKernel[Any], Asking[Any]):
    """Runs calls in workers, and answers an ask as soon as one result is ready.

    Values are held in the sidecar until their results are emitted. Upstream is asked for as many values as idle
    workers can start on, and for more only while calls prove cheap. It is never asked for more than the open asks still
    need.
    """

    def __init__(
        self, function: Callable[[Any], Awaitable[Any]], concurrency: int, *, ordered: bool, on_error: object
    ) -> None:
        self._function = guarded_async(function) if catches(on_error) else function
        self._concurrency = concurrency
        self._pace = WaitingPace(concurrency)
        self._ordered = ordered
        self.traits = attrs.evolve(self.traits, reorders=not ordered)
        self._groups: deque[Calls] = deque()
        self._finished: deque[Calls] = deque()
        """Out of order: the groups with results to emit."""
        self._waiting: deque[Calls] = deque()
        self._unanswered = 0
        self._stopped = False
        self._calling = False
        """Whether calls may begin: an ask is being served, and the stream has not ended."""
        self._failure: BaseException | None = None
        self._outer = Backlog()
        self._workers = 0
        self._idle = 0
        self._parked: list[Signal] = []
        self._blocked = 0.0
        self._fetching = False
        """Whether the module waits only for upstream."""
        self._single: Batch[Any] | None = None
        """A value whose call has not begun, and beside which no other may begin: the waiting task makes the call."""
        self._result: Batch[Any] | None = None
        self._scope: trio.CancelScope | None = None

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        self._calling = not self._stopped
        if self._single is not None:
            return WAIT
        if (result := self._result) is not None:
            self._result = None
            self.upstream.settle()
            return result
        self.ask_due()
        if not self._groups and self._outer.ending is None and not self.asking(self.upstream):
            answer = self.upstream.poll(min(limit, self._pace.next()))
            self._fetching = answer is WAIT
            if isinstance(answer, Unanswered):
                return answer
            if answer is not DONE and answer.uniform and len(answer.values) == min(limit, self._concurrency) == 1:
                self._single = answer
                return WAIT
            self.arrived(self.upstream, answer)
        # With one call at a time, the next begins at the next ask, without a worker if the ask waits in its own task.
        batch = None if self._concurrency > 1 else self._ready(limit)
        if batch is None:
            self._begin(limit)
            batch = self._ready(limit)
        if batch is not None:
            self._calling = False
            return batch
        if not self._groups and self._outer.reached():
            return DONE
        return self.pending()

    @override
    async def wait(self) -> None:
        if self._fetching:
            self._fetching = False
            await self.upstream.ready()
        elif self._single is not None:
            single, self._single = self._single, None
            with own_scope() as self._scope:
                self._result = await self._one(single)
        else:
            await self.change()

    @override
    def __wakes__(self, wake: Callable[[], object]) -> bool:
        if self._fetching:
            return self.upstream.wakes(wake)
        if self._single is not None:
            # No task waits here, so a worker makes the call.
            self.arrived(self.upstream, self._single)
            self._single = None
            self._begin(1)
        self.call_at_change(wake)
        return True

    async def _one(self, batch: Batch[Any]) -> Batch[Any]:
        self._pace.took(1)
        awaitable: Any = PENDING
        try:
            awaitable = self._function(batch.values[0])
            result = await self._attentive(_awaited(awaitable))
        except TypeError as exc:
            explained = _explained(exc, awaitable)
            if explained is exc:
                raise
            raise explained from None
        return Batch(batch.time, [result])

    @override
    def halt(self) -> None:
        # A worker woken in this scheduler step still runs once more and must not call the function.
        self._stopped, self._calling = True, False
        if self._scope is not None:
            self._scope.cancel()
        super().halt()

    def _begin(self, limit: int) -> None:
        """Start the calls that may start, and ask upstream for values that are still needed."""
        if self._stopped or self.ended:
            # Drop an answer that arrived in the same scheduler step in which the stream ended.
            return
        unbegun = 0
        for group in self._waiting:
            unbegun += group.unbegun
            if unbegun >= self._concurrency:
                break
        wake = min(unbegun, self._idle)
        if wake:
            self._idle -= wake
            for _ in range(wake):
                self._parked.pop().set()
        for _ in range(min(unbegun - wake, self._concurrency - self._workers)):
            self._workers += 1
            self.start(self._attentive, self._work())
        busy = self._workers - self._idle
        room = limit - self._unanswered
        if room > 0 and busy < self._concurrency and self._outer.ending is None and not self.asking(self.upstream):
            # The pace exceeds the concurrency only while calls are cheap; those values wait for a worker.
            self.ask_input(self.upstream, min(room, self._pace.next(busy) - busy))

    def _ready(self, limit: int) -> Batch[Any] | None:
        """Return the results to emit now: in order, those at the head of the row; out of order, all that are ready."""
        results: list[Any] = []
        runs: list[tuple[Hashable, int]] = []
        failure = self._failure
        groups = self._groups if self._ordered else self._finished
        while groups and len(results) < limit:
            group = groups[0]
            if taken := group.take(limit - len(results)):
                results += taken
                runs.append((group.time, len(taken)))
            if group.given == group.count:
                self._groups.remove(group)
                self.location.drop(group.time)
            elif self._ordered:
                failure = group.failures.get(group.given)
                break
            if not (self._ordered or group.ready):
                groups.popleft()
        if results:
            self._unanswered -= len(results)
            return of_runs(runs, results)
        if failure is not None:
            raise failure
        return None

    async def _work(self) -> None:
        waiting = self._waiting
        while True:
            while waiting and self._calling:
                # Not bound to a name: an idle worker would keep the results alive.
                await self._calls(waiting[0])
                if waiting and not waiting[0].unbegun:
                    waiting.popleft()
            self._idle += 1
            self.changed()
            parked = self.run.signal()
            self._parked.append(parked)
            await parked.wait()

    async def _calls(self, group: Calls) -> None:
        """Call the function with the values of a group while some have not begun."""
        function, ordered, results = self._function, self._ordered, group.results
        for number, value in group.to_begin:
            awaitable: Any = PENDING
            try:
                awaitable = function(value)
                result = await awaitable
            except BaseException as exc:
                rest = without_cancelled(exc)
                if rest is None or self.ended:
                    raise
                self._fail(group, number, _explained(rest, awaitable))
                return
            if ordered:
                results[number] = result
            else:
                if group.given == len(results):
                    self._finished.append(group)
                results.append(result)
            if not self._calling:
                return

    def _fail(self, group: Calls, number: int, failure: BaseException) -> None:
        self._stopped, self._calling = True, False
        group.failures[number] = failure
        self._failure = self._failure or failure

    @coroutine
    def _attentive(self, task: Any) -> Generator[Any, Any, Any]:
        """Run a worker, or one call, and have results emitted as soon as a call really waits.

        While calls only pass checkpoints, results accumulate for a moment: emitting each one would cost more than such
        calls do. Reading the clock would, too, so it is read every few checkpoints, or at each one after a call took
        too long.
        """
        step = send = task.send
        # Not named `value`: the note on a failure would name it as the call's.
        sent: Any = None
        unseen = most = 0
        since = went_on = clocks.perf_counter()
        while True:
            try:
                trap = step(sent)
            except StopIteration as returned:
                return returned.value
            # Drop a cancellation that was thrown in: its traceback keeps the call's frames alive.
            step, sent = send, None
            if unseen and trap is CHECKPOINT:
                unseen -= 1
            else:
                now = clocks.perf_counter()
                spent = now - went_on
                if spent > LONG and unseen == most:
                    self._remark(spent)
                # If checkpoints were skipped, other tasks ran in between; measure each step from now on.
                unseen = most = UNSEEN if spent <= LONG else 0
                if trap is not CHECKPOINT or now - since > MOMENT:
                    since = now
                    if self._groups and (not self._ordered or self._groups[0].ready):
                        self.changed()
            try:
                sent = yield trap
            except BaseException as exc:  # noqa: BLE001 - trio throws an error about a wrong await; the call raises it
                sent, step = exc, task.throw
            if unseen == most:
                went_on = clocks.perf_counter()

    def _remark(self, seconds: float) -> None:
        """Warn once if calls block the event loop."""
        before, self._blocked = self._blocked, self._blocked + seconds
        if before <= TOO_LONG < self._blocked:
            LOG.warning(
                "%s, has blocked the event loop for %.1f s. Its function computes or blocks (as time.sleep does), so "
                "its calls cannot overlap. Use map_thread(f, concurrency) if it blocks, or map_process(f, concurrency) "
                "if it computes",
                self.location,
                self._blocked,
            )

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        if isinstance(answer, Batch):
            self._pace.took(len(answer.values))
            for run in answer.runs():
                group = Calls(run, ordered=self._ordered)
                self.location.hold(group.time)
                self._groups.append(group)
                self._waiting.append(group)
            self._unanswered += len(answer.values)
            lane.ack()
        else:
            self._outer.end(answer)


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    return await awaitable


def _explained(exc: BaseException, awaitable: object) -> BaseException:
    if isinstance(exc, TypeError) and awaitable is not PENDING and not hasattr(awaitable, "__await__"):
        return not_async(awaitable)
    return exc


@overload
def map_async(
    function: Function[A, Awaitable[B]], concurrency: int, *, ordered: bool = True, on_error: OnError[A] = "fail"
) -> Transformer[A, B]: ...
@overload
def map_async(
    function: Function[A, Awaitable[B]], concurrency: int, *, ordered: bool = True, on_error: Literal["result"]
) -> Transformer[A, B | Failed[A]]: ...
@transformer
@Emits.AT_ONCE
def map_async(
    function: Annotated[Callable[[Any], Awaitable[Any]], checks.function],
    concurrency: Positive,
    *,
    ordered: bool = True,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply an async function to up to `concurrency` values at the same time.

    Results are in the order of the values or, with `ordered=False`, in the order in which they become ready.

    >>> import trio, pullstream as ps
    >>> async def slowly(n):
    ...     await trio.sleep(0.001 * n)
    ...     return n
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.map_async(slowly, concurrency=3), ps.collect()))
    [3, 1, 2]

    At most as many calls are in progress as values were asked for: `take(2)` downstream starts two calls, `run(...,
    limit=1)` one. Upstream is asked for as many values as can be started, at most `concurrency`. It is asked for more
    only while calls are so cheap that all of them finish in a few milliseconds.

    If a call raises, no other call starts. The results before it (in order), or those that are ready (out of order),
    are delivered, the other calls are cancelled, and the exception is raised at the sink (R8). An abort cancels the
    calls. With any other `on_error` (see `map`), a call that raises stops nothing. A failure upstream comes after the
    results of all calls before it.
    """
    return opens(MapAsync(function, concurrency, ordered=ordered, on_error=on_error))

"""`map_async`: an async function over several values at a time."""

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Hashable
from operator import length_hint
from time import perf_counter
from types import coroutine
from typing import Annotated, Any, Final, Literal, overload

import attrs
import trio
from typing_extensions import TypeVar, override

from pullstream.blueprint import Positive, Transformer, checks
from pullstream.blueprint.parts import Function
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.on_error import Handled, OnError, catches, guarded_async
from pullstream.engine.parts.outbox import StreamEnd
from pullstream.engine.parts.pace import Pace
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.runtime.deadlock import Signal
from pullstream.errors import without_cancelled
from pullstream.failures import Failed
from pullstream.logger import LOG
from pullstream.protocol import DONE, Batch, Done, TimedBatch

A = TypeVar("A")
B = TypeVar("B")

PENDING: Final = object()
CHECKPOINT: Final = trio.lowlevel.cancel_shielded_checkpoint().send(None)  # noqa: ASYNC105 - to see what it yields
"""The checkpoint that lets other tasks have a turn, and waits for nothing."""

MOMENT: Final = 0.001
"""The seconds for which calls may pass checkpoints before what is there is answered."""
UNSEEN: Final = 15
"""The checkpoints that are passed, while calls are quick, before it is looked how long they took."""

LONG: Final = 0.05
"""Seconds for which a call may keep everything else waiting before anybody would notice."""
TOO_LONG: Final = 0.5
"""Seconds after which, all such calls together, it is remarked."""


class Calls:
    """The values of one batch at one time, from their arrival until the last of their results is answered."""

    __slots__ = ("count", "failures", "given", "left", "results", "time", "to_begin")

    def __init__(self, batch: Batch[Any], *, ordered: bool) -> None:
        values = batch.values if isinstance(batch.values, list) else list(batch.values)
        self.time: Hashable = batch.time
        self.count = len(values)
        self.left = iter(values)
        """The values that no call has begun with; of a list's iterator it is known how many are left."""
        self.to_begin = enumerate(self.left)
        """The same, each with its place, for all workers to go through together."""
        self.results: list[Any] = [PENDING] * len(values) if ordered else []
        self.failures: dict[int, BaseException] = {}
        self.given = 0

    @property
    def unbegun(self) -> int:
        """The number of values that no call has begun with."""
        return length_hint(self.left)

    @property
    def ready(self) -> bool:
        """Whether a result can be answered."""
        return self.given < len(self.results) and self.results[self.given] is not PENDING

    def take(self, limit: int) -> list[Any]:
        """The results to answer now."""
        end, stop = self.given, min(len(self.results), self.given + limit)
        while end < stop and self.results[end] is not PENDING:
            end += 1
        taken = self.results[self.given : end]
        self.given = end
        return taken


class MapAsync(TaskKernel[Any]):
    """Workers make one call after another; an ask is answered as soon as one result is there.

    What came is held, in the sidecar, until it is answered. Upstream is asked for what the workers that are free can
    start, and for more only while calls turn out cheap; never for more than was asked for here and is not here already.
    """

    takes_many = True

    def __init__(self, function: Callable[[Any], Awaitable[Any]], concurrency: int, *, ordered: bool) -> None:
        self._function = function
        self._concurrency = concurrency
        self._pace = Pace(concurrency)
        self._ordered = ordered
        self.traits = attrs.evolve(self.traits, reorders=not ordered)
        self._groups: deque[Calls] = deque()
        self._waiting: deque[Calls] = deque()
        self._unanswered = 0
        self._stopped = False
        self._calling = False
        """Whether calls may begin: an ask is being served, and nothing has ended."""
        self._failure: BaseException | None = None
        self._outer = StreamEnd()
        self._workers = 0
        self._idle = 0
        self._parked: list[Signal] = []
        self._blocked = 0.0

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if limit == 1 and not self._groups and self._outer.ending is None and not self.asking(self.upstream):
            return await self._one()
        self._calling = not self._stopped
        while True:
            if not self._groups and self._outer.ending is None and not self.asking(self.upstream):
                # With nothing under way there is nothing to ask beside.
                self.arrived(self.upstream, await self.upstream.ask_many(min(limit, self._pace.next())))
            self._begin(limit)
            batch = self._ready(limit)
            if batch is not None:
                self._calling = False
                return batch
            if not self._groups and self._outer.reached():
                return DONE
            await self.change()

    async def _one(self) -> Batch[Any] | Done:
        """The answer to an ask for one value: with nothing beside, its call needs no worker."""
        batch = await self.upstream.ask(1)
        if batch is DONE:
            return DONE
        awaitable: Any = PENDING
        try:
            awaitable = self._function(batch.values[0])
            result = await awaitable
        except TypeError as exc:
            explained = _explained(exc, awaitable)
            if explained is exc:
                raise
            raise explained from None
        self.upstream.settle()
        return Batch(batch.time, [result])

    @override
    def halt(self) -> None:
        # A worker that was woken in this very step still runs once more, and must call nothing.
        self._stopped, self._calling = True, False
        super().halt()

    def _begin(self, limit: int) -> None:
        """Start what may start, and ask upstream for what was asked for and is not here."""
        if self._stopped or self.ended:
            # An answer that came in the very step in which the stream ended is not worked on.
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
            # What the pace allows beyond the concurrency may wait for a worker: calls are cheap then.
            self.ask_beside(self.upstream, min(room, self._pace.next() - busy))

    def _ready(self, limit: int) -> Batch[Any] | None:
        """The results to answer now: the head of the row or, out of order, whatever is there."""
        results: list[Any] = []
        time: Hashable = None
        times: list[Hashable] = []
        """The times of the results, but for the last ones, all at one time."""
        failure = self._failure
        for group in list(self._groups):
            if group.unbegun == group.count:
                break
            if group.ready:
                if results and group.time is not time and group.time != time:
                    times += [time] * (len(results) - len(times))
                time = group.time
                results += group.take(limit - len(results))
            if group.given == group.count:
                self._groups.remove(group)
                self.location.drop(group.time)
            elif self._ordered:
                failure = group.failures.get(group.given)
                break
            if len(results) == limit:
                break
        if results:
            self._unanswered -= len(results)
            if not times:
                return Batch(time, results)
            times += [time] * (len(results) - len(times))
            return TimedBatch(times, results)
        if failure is not None:
            raise failure
        return None

    async def _work(self) -> None:
        waiting = self._waiting
        while True:
            while waiting and self._calling:
                # No name is given to it here: a worker that waits for the next would keep its results.
                await self._calls(waiting[0])
                if waiting and not waiting[0].unbegun:
                    waiting.popleft()
            self._idle += 1
            self.changed()
            parked = self.run.signal()
            self._parked.append(parked)
            await parked.wait()

    async def _calls(self, group: Calls) -> None:
        """Make calls with the values of a group, while there are any that no call has begun with."""
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
                results.append(result)
            if not self._calling:
                return

    def _fail(self, group: Calls, number: int, failure: BaseException) -> None:
        self._stopped, self._calling = True, False
        group.failures[number] = failure
        self._failure = self._failure or failure

    @coroutine
    def _attentive(self, task: Any) -> Generator[Any, Any, None]:
        """Run a worker, and have what is there answered as soon as a call waits for anything.

        While calls only pass checkpoints, results gather for a moment: answering each by itself would cost more than
        such calls do. So does looking at the clock: it is done now and then, unless that has found a call too long.
        """
        step = send = task.send
        value: Any = None
        unseen = most = 0
        since = went_on = perf_counter()
        while True:
            trap = step(value)
            # A cancellation that was sent in has a traceback, whose frames keep what the call had.
            step, value = send, None
            if unseen and trap is CHECKPOINT:
                unseen -= 1
            else:
                now = perf_counter()
                spent = now - went_on
                if spent > LONG and unseen == most:
                    self._remark(spent)
                # Else others had their turns meanwhile: whose it was is to be seen from now on.
                unseen = most = UNSEEN if spent <= LONG else 0
                if trap is not CHECKPOINT or now - since > MOMENT:
                    since = now
                    if self._groups and (not self._ordered or self._groups[0].ready):
                        self.changed()
            try:
                value = yield trap
            except BaseException as exc:  # noqa: BLE001 - trio's complaint about what was awaited: the call's to raise
                value, step = exc, task.throw
            if unseen == most:
                went_on = perf_counter()

    def _remark(self, seconds: float) -> None:
        """Say once, of calls that never wait, that nothing else goes on meanwhile."""
        before, self._blocked = self._blocked, self._blocked + seconds
        if before <= TOO_LONG < self._blocked:
            LOG.warning(
                "%s, has kept everything else waiting for %.1f s: its function computes, or waits in a way that is not "
                "trio's, such as time.sleep, so no two calls go on at once. In threads, map_thread(f, concurrency) "
                "makes calls that wait; in processes, map_process(f, concurrency) those that compute",
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


def _explained(exc: BaseException, awaitable: object) -> BaseException:
    if isinstance(exc, TypeError) and awaitable is not PENDING and not hasattr(awaitable, "__await__"):
        return TypeError(f"map_async awaits what its function returns, and got {awaitable!r}: use map")
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
def map_async(
    function: Annotated[Callable[[Any], Awaitable[Any]], checks.function],
    concurrency: Positive,
    *,
    ordered: bool = True,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Apply an async function, to at most `concurrency` values at a time.

    Results come in the order of the values or, with `ordered=False`, as they are ready.

    >>> import trio, pullstream as ps
    >>> async def slowly(n):
    ...     await trio.sleep(0.001 * n)
    ...     return n
    >>> ps.run(ps.pipe(ps.values([3, 1, 2]), ps.map_async(slowly, concurrency=3), ps.collect()))
    [3, 1, 2]

    No more than what was asked for is under way: `take(2)` below lets two calls start, and `run(..., limit=1)` one.
    What is taken from upstream is what can be started, `concurrency` values at most; more only while calls turn out so
    cheap that all of it is done in a few milliseconds.

    If a call raises, no other is started; the results before it (in order) or already there (as ready) are
    delivered, the other calls are cancelled, and the exception arrives at the sink (R8). An abort cancels the calls.
    With another `on_error` (see `map`) a call that raises stops nothing.
    """
    return opens(MapAsync(guarded_async(function) if catches(on_error) else function, concurrency, ordered=ordered))

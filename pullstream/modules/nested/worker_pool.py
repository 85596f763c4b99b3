"""`worker_pool`: distributes values over several transformers, and redistributes those of one that fails."""

from collections import deque
from collections.abc import Hashable
from typing import Annotated, Any, Final, Generic, Literal, overload

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Instance, Module, Positive, Transformer, checked, together
from pullstream.blueprint.parts import Onward
from pullstream.blueprint.variables import A, B
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.inner_inputs import Queue
from pullstream.engine.nested.inner_streams import forget_inner, open_below
from pullstream.engine.parts.tasks import Asking
from pullstream.engine.traits import Traits
from pullstream.errors import ProtocolError, PullstreamError
from pullstream.modules.handles.handle import Grip, Handle
from pullstream.protocol import DONE, Batch, Done, Unanswered


@attrs.define(eq=False)
class _Assignment:
    """A value, from its arrival until its result is emitted."""

    time: Hashable
    value: Any
    done: bool = False


@attrs.define(eq=False)
class _PoolWorker:
    """A transformer of the pool: its input, and the jobs that it has not finished, in order."""

    feed: Queue
    lane: Lane[Any]
    jobs: deque[_Assignment] = attrs.field(factory=deque[_Assignment])


class PoolKernel(Asking[Any]):
    """Gives values to the workers that ask, oldest first; each worker gives one result for each value, in order.

    The kernel holds a value's time, in the sidecar, from its arrival until its result is emitted. It keeps no more
    values than were asked for. The workers' own streams have no times.
    """

    traits = Traits(trusted=True, reorders=True, asks_apart=True)

    def __init__(self, *workers: Any, concurrency: int = 1, ordered: bool = True, dynamic: bool = False) -> None:
        self._pool: Pool | None = workers[0] if dynamic else None
        self._workers = workers if self._pool is None else self._pool.workers
        self._opened = 0
        """The number of workers that have been opened."""
        self._concurrency = concurrency
        self._ordered = ordered
        self._active: dict[Lane[Any], _PoolWorker] = {}
        self._row: deque[_Assignment] = deque()
        self._ready: deque[_Assignment] = deque()
        self._free: list[_Assignment] = []
        self._outer = Backlog()
        self._ended = False
        """Whether a worker has ended by itself."""
        self._last_failure: BaseException | None = None
        self._failed: BaseException | None = None
        if self._pool is not None:
            self._pool.attach(self)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        self._open_all()
        self.ask_due()
        results = self._results(limit)
        if results:
            return Batch.of([job.time for job in results], [job.value for job in results])
        if self._failed is not None:
            raise self._failed
        if not self._row and self._outer.reached():
            return DONE
        self._check_active()
        self._distribute(limit)
        return self.pending()

    @property
    @override
    def outside(self) -> bool:
        return self._pool is not None

    @override
    def status(self) -> str:
        lacking = sum(len(worker.jobs) for worker in self._active.values() if worker.feed.wanted)
        if not lacking:
            return ""
        return f"values without a result: {lacking}, but their workers ask for more: each must have exactly one result"

    def _open_all(self) -> None:
        while self._opened < len(self._workers) and self._failed is None:
            feed = Queue(self.changed)
            lane = open_below(self, self._workers[self._opened], feed)
            self._opened += 1
            self._active[lane] = _PoolWorker(feed, lane)

    def _check_active(self) -> None:
        if self._active or (self._pool is not None and self._last_failure is None):
            return
        if self._ended and not self._row:
            # The end may come next, and then nothing is missing.
            self.ask_beside(self.upstream, 1)
            return
        if self._last_failure is not None:
            raise self._last_failure
        raise PullstreamError(f"{self.location}: all workers have ended. Values without a result: {len(self._row)}")

    def _distribute(self, limit: int) -> None:
        """Give the waiting jobs to the workers that ask, and ask upstream for as many as they still have room for."""
        wanted = 0
        for lane, worker in self._active.items():
            self.ask_beside(lane, self._concurrency)
            room = min(worker.feed.wanted, self._concurrency - len(worker.jobs)) if len(worker.feed) == 0 else 0
            while room > 0 and self._free:
                job = self._free.pop(0)
                worker.jobs.append(job)
                worker.feed.give(0, job.value)
                room -= 1
            wanted += max(room, 0)
        room = min(wanted, limit - len(self._row))
        if room > 0 and not self._free and not self._outer.known:
            self.ask_input(self.upstream, room)

    def _results(self, limit: int) -> list[_Assignment]:
        """Take the jobs to emit now: in order, those at the head of the row; out of order, all that are done."""
        results: list[_Assignment] = []
        source = self._row if self._ordered else self._ready
        while source and source[0].done and len(results) < limit:
            job = source.popleft()
            results.append(job)
            self.location.drop(job.time)
            if not self._ordered:
                self._row.remove(job)
        return results

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        worker = self._active.get(lane)
        if worker is not None:
            if isinstance(answer, Batch):
                self._returned(worker, answer)
            else:
                self._left(worker, answer)
        elif isinstance(answer, Batch):
            for time, value in zip(answer.times, answer.values, strict=True):
                self.location.hold(time)
                job = _Assignment(time, value)
                self._row.append(job)
                self._free.append(job)
            self.upstream.ack()
        else:
            self._outer.end(answer)

    def _returned(self, worker: _PoolWorker, answer: Batch[Any]) -> None:
        for value in answer.values:
            if not worker.jobs:
                self._failed = ProtocolError(
                    f"{self.location}: {worker.lane.edge.location} gave {value!r}, but has already given a result for "
                    f"every value. A worker must give exactly one result for each value, in order"
                )
                return
            job = worker.jobs.popleft()
            job.value, job.done = value, True
            if not self._ordered:
                self._ready.append(job)

    def _left(self, worker: _PoolWorker, answer: Done | BaseException) -> None:
        """Reassign the unfinished jobs of a worker that has left to the others, before any new job."""
        del self._active[worker.lane]
        free = {*worker.jobs, *self._free}
        self._free = [job for job in self._row if job in free]
        if isinstance(answer, BaseException):
            self._last_failure = answer
        else:
            self._ended = True
        if answer is DONE or self._active:
            forget_inner(self, [worker.lane])


_WORKER: Final = Instance(Transformer, "needs transformers as its workers")


class Pool(Grip):
    """The workers that a dynamic pool's handle and its kernel share."""

    def __init__(self, workers: tuple[Any, ...]) -> None:
        super().__init__("worker_pool")
        self.workers = list(workers)

    def add(self, worker: object) -> None:
        """Add a worker, for this run and for later ones."""
        _WORKER(Call("add"), worker)
        self.workers.append(worker)
        self.wake()


@attrs.frozen(repr=False)
class WorkerPool(Handle[Pool], Transformer[A, B], Generic[A, B]):
    """A transformer, and the handle that adds workers to it; made by `worker_pool(dynamic=True)`."""

    def add(self, worker: Transformer[A, B]) -> None:
        """Add a worker, before or during the run.

        Raises:
            CompositionError: it is not a transformer.
        """
        self._grip.add(worker)


def _workers(call: Call, workers: Any) -> Any:
    for worker in workers:
        _WORKER(call, worker)
    return workers


def _at_least_one(call: Call) -> None:
    if not call["workers"] and not call["dynamic"]:
        raise call.refuse("needs at least one transformer, or dynamic=True, which allows add(transformer) later")


@overload
def worker_pool(
    *workers: Onward[A, B], concurrency: int = 1, ordered: bool = True, dynamic: Literal[False] = False
) -> Transformer[A, B]: ...
@overload
def worker_pool(
    *workers: Transformer[A, B], concurrency: int = 1, ordered: bool = True, dynamic: Literal[True]
) -> WorkerPool[A, B]: ...
@checked
@together(_at_least_one)
def worker_pool(
    *workers: Annotated[Onward[Any, Any], _workers],
    concurrency: Positive = 1,
    ordered: bool = True,
    dynamic: bool = False,
) -> Transformer[Any, Any]:
    """Distribute values over several transformers, the workers: each value goes to a worker that is free.

    >>> import pullstream as ps
    >>> async def reliable(n):
    ...     return n * 10
    >>> async def flaky(n):
    ...     raise OSError("out of reach")
    >>> pool = ps.worker_pool(ps.map_async(reliable, concurrency=1), ps.map_async(flaky, concurrency=1))
    >>> ps.run(ps.pipe(ps.values(range(4)), pool, ps.collect()))
    [0, 10, 20, 30]

    Each worker is a stream of its own. It gives exactly one result for each value, in the order of its values, and has
    at most `concurrency` values at a time. Results keep the order of the values; with `ordered=False` they are
    emitted as they become ready. The pool holds no more values than were asked for. Inside a worker, a time is complete
    only at the end, so a module that waits for it, such as `sort_by_time`, stalls the pool.

    A worker that fails or ends leaves the pool, and the other workers get the values that it had not finished. So a
    value may be processed twice, and still has one result. When all workers have failed, the stream fails with the
    last failure.

    With `dynamic=True` the result is a handle: `add(transformer)` adds a worker before or during the run. It may start
    empty, and then waits for its first worker.

    >>> pool = ps.worker_pool(dynamic=True)
    >>> pool.add(ps.map(str.upper))
    >>> ps.run(ps.pipe(ps.values("abc"), pool, ps.collect()))
    ['A', 'B', 'C']

    A dynamic pool belongs to one run at a time, and cannot be pickled. A second run is refused with `ReuseError`.

    Raises:
        BaseException: the failure of the last worker, or of upstream, after the results before it.
        ProtocolError: a worker gave more results than it got values.
    """
    options: tuple[tuple[str, object], ...] = ()
    options += (("concurrency", concurrency),) if concurrency != 1 else ()
    options += (("ordered", False),) if not ordered else ()
    if not dynamic:
        return Transformer((Module("worker_pool", PoolKernel, workers, options),))
    options += (("dynamic", True),)
    return WorkerPool[Any, Any]((Module("worker_pool", PoolKernel, (Pool(workers),), options),))

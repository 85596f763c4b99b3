"""`lend`, `lending`: values are lent to a pool of transformers, and lent again when one of them fails."""

from collections import deque
from collections.abc import Hashable
from typing import Annotated, Any, Final, Generic, cast

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Each, Instance, Module, Positive, Site, Transformer, checked
from pullstream.blueprint.parts import Onward
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.lane import Lane
from pullstream.engine.nested.inner_inputs import Queue
from pullstream.engine.nested.inner_streams import forget_inner, open_below
from pullstream.engine.parts.handle import Grip
from pullstream.engine.parts.outbox import StreamEnd, timed
from pullstream.engine.parts.tasks import TaskKernel
from pullstream.engine.traits import Traits
from pullstream.errors import ProtocolError, PullstreamError
from pullstream.protocol import DONE, Batch, Done

A = TypeVar("A")
B = TypeVar("B")


@attrs.define(eq=False)
class _Loan:
    """A value, from its arrival until its result is answered."""

    number: int
    time: Hashable
    value: Any
    done: bool = False


@attrs.define(eq=False)
class _Borrower:
    """A transformer of the pool: what it reads, and what it was lent and has not given back, in order."""

    feed: Queue
    lane: Lane[Any]
    loans: deque[_Loan] = attrs.field(factory=deque[_Loan])


class Lend(TaskKernel[Any]):
    """Lends values to the borrowers that ask, oldest first; each gives one result for each value, in its order.

    A value is held, in the sidecar, from its arrival until its result is answered; no more of them are here than were
    asked for. Inside, the borrowers know of no times.
    """

    traits = Traits(trusted=True, reorders=True, asks_apart=True)
    takes_many = True

    def __init__(
        self, workers: tuple[Any, ...], concurrency: int, *, ordered: bool, pool: "Pool | None" = None
    ) -> None:
        self._workers = list(workers)
        self._concurrency = concurrency
        self._ordered = ordered
        self._pool = pool
        self._borrowers: dict[Lane[Any], _Borrower] = {}
        self._row: deque[_Loan] = deque()
        self._ready: deque[_Loan] = deque()
        self._free: list[_Loan] = []
        self._arrived = 0
        self._outer = StreamEnd()
        self._last_failure: BaseException | None = None
        self._failed: BaseException | None = None
        if pool is not None:
            pool.attach(self)
            self._workers += pool.workers

    def join(self, worker: Any) -> None:
        """Add a borrower, while running."""
        self._workers.append(worker)
        if hasattr(self, "_changed"):
            self.changed()

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while True:
            self._open_all()
            results = self._results(limit)
            if results:
                return timed([loan.time for loan in results], [loan.value for loan in results])
            if self._failed is not None:
                raise self._failed
            if not self._row and self._outer.reached():
                return DONE
            self._check_borrowers()
            self._lend(limit)
            await self.change(outside=self._pool is not None)

    def _open_all(self) -> None:
        while self._workers and self._failed is None:
            feed = Queue(self.changed)
            lane = open_below(self, self._workers.pop(0), feed)
            self._borrowers[lane] = _Borrower(feed, lane)

    def _check_borrowers(self) -> None:
        if self._borrowers or (self._pool is not None and self._last_failure is None):
            return
        if self._last_failure is not None:
            raise self._last_failure
        raise PullstreamError(f"{self.location}: every borrower has ended, and {len(self._row)} values have no result")

    def _lend(self, limit: int) -> None:
        """Give those that ask what waits to be lent, and ask upstream for what they still want."""
        wanted = 0
        for lane, borrower in self._borrowers.items():
            self.ask_beside(lane, self._concurrency)
            room = min(borrower.feed.wanted, self._concurrency - len(borrower.loans)) if len(borrower.feed) == 0 else 0
            while room > 0 and self._free:
                loan = self._free.pop(0)
                borrower.loans.append(loan)
                borrower.feed.give(0, loan.value)
                room -= 1
            wanted += max(room, 0)
        room = min(wanted, limit - len(self._row))
        if room > 0 and not self._free and not self._outer.known:
            self.ask_beside(self.upstream, room)

    def _results(self, limit: int) -> list[_Loan]:
        """The loans to be answered now: the first in the row or, out of order, whatever is there."""
        results: list[_Loan] = []
        source = self._row if self._ordered else self._ready
        while source and source[0].done and len(results) < limit:
            loan = source.popleft()
            results.append(loan)
            self.location.drop(loan.time)
            if not self._ordered:
                self._row.remove(loan)
        return results

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        borrower = self._borrowers.get(lane)
        if borrower is not None:
            if isinstance(answer, Batch):
                self._returned(borrower, answer)
            else:
                self._left(borrower, answer)
        elif isinstance(answer, Batch):
            for time, value in zip(answer.times, answer.values, strict=True):
                self.location.hold(time)
                loan = _Loan(self._arrived, time, value)
                self._arrived += 1
                self._row.append(loan)
                self._free.append(loan)
            self.upstream.ack()
        else:
            self._outer.end(answer)

    def _returned(self, borrower: _Borrower, answer: Batch[Any]) -> None:
        for value in answer.values:
            if not borrower.loans:
                self._failed = ProtocolError(
                    f"{self.location}: {borrower.lane.edge.location} gave {value!r}, and was lent nothing that this "
                    f"would be the result of: a borrower gives one result for each value, in order",
                )
                return
            loan = borrower.loans.popleft()
            loan.value, loan.done = value, True
            if not self._ordered:
                self._ready.append(loan)

    def _left(self, borrower: _Borrower, answer: Done | BaseException) -> None:
        """Lend again, first of all, what a borrower that has left had not given back."""
        del self._borrowers[borrower.lane]
        self._free = sorted([*borrower.loans, *self._free], key=lambda loan: loan.number)
        if isinstance(answer, BaseException):
            self._last_failure = answer
        if answer is DONE or self._borrowers:
            forget_inner(self, [borrower.lane])


_WORKER: Final = Instance(Transformer, "lends to transformers")


class Pool(Grip):
    """The pool that a `lending` handle and its kernel share."""

    def __init__(self, workers: tuple[Any, ...], site: Site) -> None:
        super().__init__("lending", site)
        self.workers = list(workers)

    def add(self, worker: object) -> None:
        """Another borrower, in this run and in later ones."""
        _WORKER(Call("lending"), worker)
        self.workers.append(worker)
        kernel = self.alive()
        if isinstance(kernel, Lend):
            kernel.join(worker)


@attrs.frozen(repr=False)
class Lending(Transformer[A, B], Generic[A, B]):
    """A transformer that lends, and the handle of its pool; made by `lending`."""

    def add(self, worker: Transformer[A, B]) -> None:
        """Add a borrower, before or while the run goes on.

        Raises:
            CompositionError: it is no transformer.
        """
        cast("Pool", self.modules[-1].args[0]).add(worker)


@transformer
def lend(
    *workers: Annotated[Onward[A, B], Each(_WORKER)], concurrency: Positive = 1, ordered: bool = True
) -> Transformer[A, B]:
    """Lend values to several transformers, each to the one that asks; when one fails, its values are lent again.

    >>> import pullstream as ps
    >>> async def reliable(n):
    ...     return n * 10
    >>> async def flaky(n):
    ...     raise OSError("out of reach")
    >>> pool = ps.lend(ps.map_async(reliable, concurrency=1), ps.map_async(flaky, concurrency=1))
    >>> ps.run(ps.pipe(ps.values(range(4)), pool, ps.collect()))
    [0, 10, 20, 30]

    Every borrower is a stream of its own, and gives one result for each value it reads, in its order. It is lent at
    most `concurrency` values at a time. Results come in the order of the values or, with `ordered=False`, as they are
    ready; no more values are here than were asked for.

    A borrower that fails, or ends, leaves the pool, and the others are lent what it had not given back: a value may be
    worked on twice, and has one result. When all have failed, the stream fails with the last failure.

    Raises:
        BaseException: the failure of the last borrower, or of what is upstream, after the results before it.
        ProtocolError: a borrower gave more results than it was lent values.
    """
    return opens(Lend(workers, concurrency, ordered=ordered))


@checked
def lending(*workers: Transformer[A, B], concurrency: Positive = 1, ordered: bool = True) -> Lending[A, B]:
    """Lend as `lend` does, to a pool that others may join while it runs: a handle, with `add(transformer)`.

    >>> import pullstream as ps
    >>> pool = ps.lending()
    >>> pool.add(ps.map(str.upper))
    >>> ps.run(ps.pipe(ps.values("abc"), pool, ps.collect()))
    ['A', 'B', 'C']

    An empty pool waits for its first borrower. Once one has failed, an empty pool fails.

    It belongs to one run at a time: another is refused with `ReuseError`, and so is pickling.
    """
    for worker in workers:
        _WORKER(Call("lending"), worker)
    pool = Pool(workers, Site.here())
    return Lending[A, B]((Module("lending", _lending, (pool,), (("concurrency", concurrency), ("ordered", ordered))),))


def _lending(pool: Pool, concurrency: int, *, ordered: bool) -> Lend:
    return Lend((), concurrency, ordered=ordered, pool=pool)

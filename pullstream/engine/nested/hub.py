"""The hub below which a stream has several branches: `tee`, `partition`, `fork`, and what goes aside."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any

import trio
from typing_extensions import override

from pullstream.blueprint import Module
from pullstream.engine.assembly import Assembly
from pullstream.engine.edge.kernel import Kernel, install
from pullstream.engine.edge.lane import dismiss_all, first_lane
from pullstream.engine.parts.outbox import Outbox
from pullstream.engine.parts.pace import WaitingPace
from pullstream.engine.runtime.deadlock import Signal
from pullstream.engine.sidecar.counters import LaneCount
from pullstream.engine.sidecar.location import Location
from pullstream.engine.traits import Traits
from pullstream.errors import blame
from pullstream.protocol import DONE, Batch, Done

Dealt = Iterable[tuple["Branch", Batch[Any]]]


class Sizes:
    """The least and the greatest of many numbers, most of which are alike, while one after another changes.

    >>> sizes = Sizes()
    >>> sizes.change(None, 3)
    >>> sizes.change(None, 5)
    >>> sizes.change(3, 4)
    >>> sizes.least, sizes.greatest
    (4, 5)
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}

    def change(self, before: int | None, now: int | None) -> None:
        """Replace a number by another; None where one comes or goes."""
        counts = self._counts
        if before == now:
            return
        if now is not None:
            counts[now] = counts.get(now, 0) + 1
        if before is not None:
            if counts[before] == 1:
                del counts[before]
            else:
                counts[before] -= 1

    @property
    def least(self) -> int:
        """The least of the numbers."""
        return min(self._counts)

    @property
    def greatest(self) -> int:
        """The greatest of the numbers."""
        return max(self._counts)


class Branch(Kernel[Any]):
    """An edge below a hub. What was dealt to it and is not asked for yet is held, in the sidecar, here."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, hub: "Hub") -> None:
        self._hub = hub
        self.wanted = 0
        """The number of values that are waited for."""
        self._counted: tuple[int | None, int | None] = (None, None)
        """The number of values that are waited for, and how many more than are kept, as the hub has counted them."""
        self._backlog = Outbox(self)
        self._changed = hub.signal()
        self.count = LaneCount()
        """Counts of what passes between the hub and here."""

    @property
    def kept(self) -> int:
        """The number of values that were dealt and are not answered yet."""
        return self._backlog.values

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        if not self._backlog and self._backlog.ending is None:
            await self._wait(limit)
        answer = self._backlog.answer(limit)
        if isinstance(answer, Batch):
            self.count_in(self.wanted, self.wanted - self.kept)
            self._hub.wake()
            return answer
        # The end may be the work of another branch, which learned first of what cancels this one too.
        await trio.lowlevel.checkpoint_if_cancelled()
        return DONE

    async def _wait(self, limit: int) -> None:
        self._changed = self._hub.signal()
        self._want(limit)
        began = self.count.begin()
        try:
            self._hub.branch_asks()
            await self._changed.wait()
        finally:
            self._want(0)
            self.count.end(began)

    def _want(self, limit: int) -> None:
        self.wanted = limit
        self.count_in(limit, limit - self.kept)

    def count_in(self, wanted: int | None, ahead: int | None) -> None:
        """Let the hub count how many values are waited for, and how many more than are kept; None to count neither."""
        if self in self._hub.branches:
            self._hub.wanted.change(self._counted[0], wanted)
            self._hub.ahead.change(self._counted[1], ahead)
            self._counted = wanted, ahead

    def deal(self, batch: Batch[Any]) -> None:
        """Take values, to answer the ask that waits, if one does, and later ones."""
        self.count.values += len(batch.values)
        self.count.batches += 1
        self._backlog.put_batch(batch)
        self._want(0)
        self._changed.set()

    def end(self, ending: Done | BaseException, *, at_once: bool = False) -> None:
        """Answer with an ending when what was dealt is answered or, `at_once`, instead of it."""
        self._backlog.end(ending)
        if at_once:
            self._backlog.forget()
        if isinstance(ending, BaseException):
            self.location.freeze()
        self._changed.set()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        self._backlog.forget()
        await self._hub.leave(self, reason)

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._backlog.ending


class Hub(ABC):
    """Asks upstream, in a task of its own, when its branches want it, and deals what comes out to them.

    An error of a branch goes upstream at once, and fails the others; an abort goes upstream when the last branch that
    counts has left (R6). A failure of upstream comes to each branch after what was dealt to it before (R8).
    """

    def __init__(self, assembly: Assembly, module: Module, name: str, upstream: Kernel[Any]) -> None:
        self._scope = assembly.scope
        self._module = module
        self.location: Location = self._scope.sidecar.locate([name], module.site, [upstream.location])
        self._reader = first_lane(upstream.edge, self.location.ports[0])
        self._asked = self.location.meter.asked = LaneCount()
        self._changed = self.signal()
        self._pace = WaitingPace()
        self._pumping = False
        self._closed: trio.Event | None = None
        self._over = False
        self._failed: BaseException | None = None
        self.branches: dict[Branch, None] = {}
        """The branches that are still there."""
        self.wanted = Sizes()
        """The numbers of values that they wait for."""
        self.ahead = Sizes()
        """The same numbers, less the values that are kept for each."""
        self.taken = 0
        """The number of values that have been dealt of a batch, where `deal` fails at the one after them."""

    def branch(self, name: str) -> Branch:
        """Add a branch; called while the run is assembled."""
        branch = Branch(self)
        install(branch, self._scope, self._scope.sidecar.locate([name], self._module.site, [self.location]), [])
        self.location.meter.outs.append(branch.count)
        branch.location.meter.ins.append(branch.count)
        self.branches[branch] = None
        branch.count_in(0, 0)
        return branch

    def signal(self) -> Signal:
        """An event that the hub or a branch waits for."""
        return self._scope.run.signal()

    # ---- what a module supplies

    @abstractmethod
    def room(self) -> int:
        """The number of values to ask upstream for now; 0 to wait until a branch asks, or leaves."""

    @abstractmethod
    def deal(self, batch: Batch[Any]) -> Dealt:
        """Deal the values of a batch, at one time or many, to the branches.

        What this raises is the stream's failure, after what it gave before; `taken` says how many values that was of.
        """

    def shared_room(self, capacity: int) -> int:
        """The number of values to ask for where they may all be for one branch.

        A branch with a small demand slows no other down: while branches deal with what they get in a moment, the hub
        asks for more than the smallest demand, up to the largest. The rest is kept for the branch, a batch at most.
        Until all of them wait again, the fastest may be ahead of the slowest by `capacity` values.
        """
        if self.wanted.least:
            return min(self.wanted.greatest, max(self.wanted.least, self._pace.next()))
        return max(0, min(self.wanted.greatest, self.ahead.least + capacity))

    def needed(self) -> bool:
        """Whether a branch is left for whose sake upstream goes on."""
        return bool(self.branches)

    # ---- for branches

    def branch_asks(self) -> None:
        """A branch asks and has nothing left."""
        if not self._pumping:
            self._pumping = True
            self.location.meter.begin()
            self._scope.run.spawn(self._pump)
        self.wake()

    def wake(self) -> None:
        """Wake the sender, as there may be room now."""
        self._changed.set()

    async def leave(self, branch: Branch, reason: BaseException | None) -> None:
        """A branch has ended: by an abort, or by an error, which ends all."""
        if branch in self.branches:
            branch.count_in(None, None)
            del self.branches[branch]
        if self._over:
            return
        if self._closed is not None:
            await self._closed.wait()
        elif reason is None and self.needed():
            self.wake()
        else:
            await self._close(reason)

    async def _close(self, reason: BaseException | None, *, at_once: bool = True) -> None:
        self._closed = trio.Event()
        self.location.freeze()
        try:
            # The rows above and below count where a termination needs a new stack each for itself: here it has one.
            await dismiss_all([self._reader], reason)
        except BaseException as exc:
            self._end(exc, at_once=True)
            raise
        else:
            self._end(reason or DONE, at_once=at_once and reason is not None)
        finally:
            self._closed.set()

    # ----

    async def _pump(self) -> None:
        while not self._over and self._closed is None:
            limit = self.room()
            if not limit:
                self._changed = self.signal()
                await self._changed.wait()
            elif self._failed is not None:
                await self._close_failed(self._failed)
            else:
                # A branch that waits for another one to ask waits for what is below that, and not for this.
                began = self._asked.begin()
                try:
                    await self._fetch(limit)
                finally:
                    self._asked.end(began)

    async def _fetch(self, limit: int) -> None:
        try:
            answer = await self._reader.ask_many(limit)
        except trio.Cancelled:
            raise
        except BaseException as exc:  # noqa: BLE001 - every branch raises it
            if self._closed is None:
                self._end(exc)
            return
        if answer is not DONE:
            self._deal(answer)
        elif self._closed is None:
            self._end(DONE)

    def _deal(self, batch: Batch[Any]) -> None:
        self.taken = 0
        self._pace.took(len(batch.values))
        try:
            for branch, dealt in self.deal(batch):
                if dealt.values and branch in self.branches:
                    branch.deal(dealt)
        except BaseException as exc:  # noqa: BLE001 - it goes both ways when the next values would be asked for (R8)
            blame(exc, str(self.location))
            self._failed = exc
            # What has not been dealt stays in flight: at its times nothing is complete.
            self._reader.ack_but(batch.part(self.taken))
        else:
            # From here on the branches hold what they have not answered yet.
            self._reader.ack()

    async def _close_failed(self, failure: BaseException) -> None:
        try:
            await self._close(failure, at_once=False)
        except trio.Cancelled:
            raise
        except BaseException:  # noqa: BLE001 - a release that failed: the branches have been told, and raise it
            return

    def _end(self, ending: Done | BaseException, *, at_once: bool = False) -> None:
        self._over = True
        branches, self.branches = self.branches, {}
        for branch in branches:
            branch.end(ending, at_once=at_once)
        if isinstance(ending, BaseException):
            # The branches have taken over what this froze, as this has taken over what upstream did.
            self.location.fail(ending)
            self.location.withdraw_frozen()
            self._reader.edge.location.withdraw_frozen()
        elif branches:
            self.location.complete()
        else:
            self.location.abandon()
        self.wake()


class Copies(Hub):
    """Gives every branch every value; the fastest may be ahead of the slowest by `capacity` values."""

    def __init__(self, assembly: Assembly, module: Module, name: str, upstream: Kernel[Any], capacity: int = 0) -> None:
        super().__init__(assembly, module, name, upstream)
        self._capacity = capacity

    @override
    def room(self) -> int:
        return self.shared_room(self._capacity)

    @override
    def deal(self, batch: Batch[Any]) -> Dealt:
        return [(branch, batch) for branch in self.branches]

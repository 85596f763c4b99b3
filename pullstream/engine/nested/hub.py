"""The hub that splits a stream into several branches: for `tee`, `partition`, `fork` and side branches."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import Any

import trio
from typing_extensions import override

from pullstream.blueprint import Module
from pullstream.engine.assembly import Assembly
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.edge import DEEP
from pullstream.engine.edge.kernel import Kernel, install
from pullstream.engine.edge.lane import dismiss_all, first_lane
from pullstream.engine.edge.polled import PolledKernel
from pullstream.engine.parts.asking import Answer, Askers
from pullstream.engine.parts.extremes import Extremes
from pullstream.engine.parts.pace import Pace, WaitingPace
from pullstream.engine.parts.waking import Waking
from pullstream.engine.sidecar.counters import EdgeCount
from pullstream.engine.sidecar.location import Location
from pullstream.engine.traits import Traits
from pullstream.errors import Abandoned, blame
from pullstream.protocol import DONE, WAIT, Batch, Done, Reader, Unanswered

Dealt = Iterable[tuple["Branch", Batch[Any]]]


class Branch(Waking[Any], PolledKernel[Any]):
    """An output of a hub. Its location holds the times of values that were dealt to it and not asked for yet."""

    traits = Traits(trusted=True, follows=True)

    def __init__(self, hub: "Hub") -> None:
        self._hub = hub
        self.wanted = 0
        """The limit of the ask that waits; 0 while none does."""
        self._began = 0.0
        """The moment at which that ask began."""
        self._confirmed = False
        """Whether the branch may answer with the end: it does not stem from a cancellation that reaches this branch."""
        self._counted: tuple[int | None, int | None] = (None, None)
        """The number of values wanted, and that number minus the values kept, as last counted by the hub."""
        self._backlog = Backlog(self)

    @property
    def kept(self) -> int:
        """The number of values that were dealt to the branch and are not answered yet."""
        return self._backlog.left

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        self.call_at_change(None)
        if not (self._backlog or self._backlog.known):
            self._want(limit)
            self._hub.ask_now()
        if self._backlog:
            answer = self._backlog.take(limit)
            self.count_in(self.wanted, self.wanted - self.kept)
            self._hub.unblock()
            return answer
        return (self._backlog.reached() if self._confirmed else None) or WAIT

    @override
    async def wait(self) -> None:
        if not self._backlog.known:
            signal = self.run.signal()
            self.__wakes__(signal.set)
            try:
                await signal.wait()
            finally:
                self.call_at_change(None)
                self._want(0)
        if self._backlog.known and not self._backlog:
            # The end may stem from a cancellation that reached another branch first: if it reaches this one, raise it.
            await trio.lowlevel.checkpoint_if_cancelled()
            self._confirmed = True

    @override
    def __wakes__(self, wake: Callable[[], object]) -> bool:
        if self._backlog.known:
            return False
        self.call_at_change(wake)
        self._hub.attend()
        return True

    def _want(self, limit: int) -> None:
        (count,) = self.location.ports
        if limit and not self.wanted:
            self._began = count.begin()
        elif self.wanted and not limit:
            count.end(self._began)
        self.wanted = limit
        self.count_in(limit, limit - self.kept)

    def count_in(self, wanted: int | None, ahead: int | None) -> None:
        """Update the hub's counts: the values wanted, and that number minus the values kept; None to remove both."""
        counted = self._counted
        if (wanted, ahead) != counted and self in self._hub.branches:
            self._hub.wanted.change(counted[0], wanted)
            self._hub.ahead.change(counted[1], ahead)
            self._counted = wanted, ahead

    def deal(self, batch: Batch[Any]) -> None:
        """Take values, for the waiting ask, if there is one, and for later asks."""
        (count,) = self.location.ports
        count.values += len(batch.values)
        count.batches += 1
        self._backlog.put(batch)
        self._want(0)
        self.changed()

    def end(self, ending: Done | BaseException, *, at_once: bool = False) -> None:
        """End after the values that were dealt or, with `at_once`, instead of them."""
        self._want(0)
        self._backlog.end(ending)
        if isinstance(ending, BaseException):
            self.location.freeze()
        if at_once:
            self._backlog.drop()
        self.changed()

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        self._want(0)
        self._backlog.drop()
        await self._hub.leave(self, reason)

    @override
    def relayed(self, exc: BaseException) -> bool:
        return exc is self._backlog.ending


class Asks(Enum):
    """The party that asks a hub's upstream, or will ask next."""

    NOBODY = auto()
    POLL = auto()
    """A branch polls, for all of them."""
    UPSTREAM = auto()
    """Upstream has been polled, and wakes a branch once it can answer."""
    WOKEN = auto()
    """Upstream has woken a branch, which polls again soon. If it leaves, the answer must still be taken."""
    OTHER = auto()
    """A branch that got nothing from an answer polls again soon."""
    TASK = auto()
    BLOCKED = auto()
    """A branch may be waiting, but another must ask or leave first."""


class Hub(ABC):
    """Asks upstream when its branches have demand, and deals the values to the branches.

    A branch that asks polls upstream for all of them. If the answer has to be waited for, upstream wakes one of the
    waiting branches, which polls again. If upstream cannot do that, a task asks.

    An error from a branch goes upstream at once and fails the others. An abort goes upstream when the last branch that
    counts (see `needed`) has left (R6). A failure from upstream reaches each branch after the values dealt to it (R8).
    """

    def __init__(self, assembly: Assembly, module: Module, name: str, upstream: Kernel[Any], capacity: int = 0) -> None:
        self._scope = assembly.scope
        self._module = module
        self.location: Location = self._scope.sidecar.locate([name], module.site, [upstream.location])
        self._reader = first_lane(upstream.edge, self.location.ports[0])
        self._askers = Askers(self._scope.run, self._arrived)
        """The task that asks where no branch polls."""
        self._asks = Asks.NOBODY
        self._asked = self.location.asked = EdgeCount()
        self._began = 0.0
        """The moment at which the outstanding ask began; 0 while there is none."""
        self._pace = WaitingPace()
        self._cost = Pace(self._scope.run)
        """The pace of upstream's own work: an answer of a slow function must not keep everything waiting."""
        self._polls = upstream.edge.depth < DEEP
        """Whether upstream is polled; after a long row of modules, only the task asks, on a stack of its own."""
        self.capacity = capacity
        """The number of values that the fastest branch may be ahead of the slowest."""
        self._closed: trio.Event | None = None
        self._failed: BaseException | None = None
        self.branches: dict[Branch, None] = {}
        """The branches that have not left."""
        self.wanted = Extremes()
        """The number of values that each branch waits for."""
        self.ahead = Extremes()
        """The same numbers, minus the values kept for each branch."""
        self.taken = 0
        """The number of values of a batch that have been dealt, if `deal` fails at the next one."""

    def branch(self, name: str) -> Branch:
        """Add a branch. Must be called while the run is assembled."""
        branch = Branch(self)
        location = self._scope.sidecar.locate([name], self._module.site, [self.location], traits=branch.traits)
        edge = install(branch, self._scope, location, [])
        edge.beyond = [self._reader.edge]
        if self._polls:
            edge.depth = 1 + self._reader.edge.depth
        self.location.outs = (*self.location.outs, *branch.location.ports)
        self.branches[branch] = None
        branch.count_in(0, 0)
        return branch

    # ---- what a module supplies

    def room(self) -> int:
        """The number of values to ask upstream for now; 0 to wait until a branch asks or leaves.

        By default, all of them may go to one branch. One with a small demand does not slow the others down: while the
        branches process their values quickly, the hub asks for more than the smallest demand, up to the largest. The
        surplus, one batch at most, is kept for the branch. Until all branches wait again, the fastest may be ahead of
        the slowest by `capacity` values.
        """
        if self.wanted.least:
            return min(self.wanted.greatest, max(self.wanted.least, self._pace.next()))
        return max(0, min(self.wanted.greatest, self.ahead.least + self.capacity))

    @abstractmethod
    def deal(self, batch: Batch[Any]) -> Dealt:
        """Deal the values of a batch, at one time or many, to the branches.

        An exception is the stream's failure, and follows the values dealt before it. Before raising it, set `taken` to
        the number of the batch's values before the failure.
        """

    def needed(self) -> bool:
        """Whether a branch that keeps upstream going is left."""
        return bool(self.branches)

    # ---- for branches

    def ask_now(self) -> None:
        """Poll upstream, because a branch asks and has no values left."""
        before = self._asks
        if before is Asks.TASK or before is Asks.POLL or self._failed is not None or self._askers.ended:
            return
        if not self.location.begun:
            self.location.begin()
        limit = self.room() if self._polls else 0
        if not limit:
            return
        self._switch(Asks.POLL)
        try:
            answer: Answer | Unanswered = self._reader.poll(self._cost.next(self._reader, at_most=limit))
        except BaseException as exc:  # noqa: BLE001 - every branch raises it
            answer = exc
        if self._askers.ended:
            return
        self._switch(Asks.NOBODY)
        if not isinstance(answer, Unanswered):
            self._take(answer)
            # Other branches may have waited for this answer and got nothing from it.
            self._wake_one(Asks.OTHER)
        elif before is not Asks.NOBODY:
            # Another branch waits, and this one may not wait.
            self.attend()

    def attend(self) -> None:
        """Ask upstream again, because a branch waits: through a branch once upstream can answer, or in a task."""
        if self._asks is Asks.TASK:
            # An ask that its task has not begun is replaced by one for what all branches want now.
            self._askers.take_back(self._reader)
            if self._reader in self._askers.asking:
                return
        if self._asks is not Asks.UPSTREAM:
            self._switch(Asks.UPSTREAM if self._reader.wakes(self._woken) else Asks.BLOCKED)
            self.unblock()

    def unblock(self) -> None:
        """Ask in a task, or end a failed stream, if a branch waits and there is room now."""
        if self._asks is Asks.BLOCKED and not self._askers.ended and (limit := self.room()):
            if self._failed is not None:
                self._switch(Asks.NOBODY)
                self._scope.run.spawn(self._close_failed, self._failed)
            else:
                self._ask_apart(self._cost.next(self._reader, at_most=limit))

    def _switch(self, asks: Asks) -> None:
        """Note who asks next, and count the time during which an ask is outstanding."""
        self._asks = asks
        outstanding = asks is Asks.POLL or asks is Asks.UPSTREAM or asks is Asks.TASK
        if outstanding and not self._began:
            self._began = self._asked.begin()
        elif self._began and not outstanding:
            self._asked.end(self._began)
            self._began = 0.0

    def _ask_apart(self, limit: int) -> None:
        self._switch(Asks.TASK)
        self._askers.ask(self._reader, limit)

    def _woken(self) -> None:
        """Poll upstream again, because it may have an answer now."""
        self._wake_one(Asks.WOKEN)
        if self._asks is not Asks.WOKEN:
            # The branch that asked has left. Branches of a hub upstream may still wait until the values are taken.
            self._ask_apart(self._reader.polled_for)

    def _arrived(self, _: Reader[Any], answer: Answer) -> None:
        self._switch(Asks.NOBODY)
        self._take(answer)
        if any(branch.attended for branch in self.branches):
            # The task asks again for the branches that got nothing.
            self._switch(Asks.BLOCKED)
            self.unblock()

    def _wake_one(self, asks: Asks) -> None:
        """Make a waiting branch poll upstream for all of them; if it leaves first, another one."""
        self._switch(Asks.NOBODY)
        for branch in self.branches:
            if branch.attended:
                self._switch(asks)
                branch.changed()
                return

    async def leave(self, branch: Branch, reason: BaseException | None) -> None:
        """Remove a branch that was aborted, or that sent an error, which ends all branches."""
        if branch in self.branches:
            branch.count_in(None, None)
            del self.branches[branch]
        if self._askers.ended:
            if self._closed is not None and not self._closed.is_set():
                await self._closed.wait()
        elif reason is None and self.needed():
            if self._asks is Asks.WOKEN:
                self._woken()
            elif self._asks is Asks.OTHER:
                self._wake_one(Asks.OTHER)
            self.unblock()
        else:
            await self._close(reason)

    async def _close(self, reason: BaseException | None, *, at_once: bool = True) -> None:
        self._closed = trio.Event()
        self._askers.end()
        self.location.freeze()
        try:
            # Modules upstream and downstream count separately when a termination needs a new stack: it gets one here.
            await dismiss_all([self._reader], reason)
        except BaseException as exc:
            self._end(exc, at_once=True)
            raise
        else:
            self._end(reason or DONE, at_once=at_once and reason is not None)
        finally:
            self._closed.set()

    # ----

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, BaseException):
            if not self._reader.edge.open:
                self._end(answer)
            else:
                # The checker compares times, which may raise: the stream has not failed, and must be ended.
                self._failed = answer
        else:
            self._cost.took()
            if answer is DONE:
                self._end(DONE)
            else:
                self._deal(answer)

    def _deal(self, batch: Batch[Any]) -> None:
        self.taken = 0
        self._pace.took(len(batch.values), streams=len(self.branches))
        try:
            for branch, dealt in self.deal(batch):
                if dealt.values and branch in self.branches:
                    branch.deal(dealt)
        except BaseException as exc:  # noqa: BLE001 - sent up and down when the next values would be asked for (R8)
            blame(exc, str(self.location))
            self._failed = exc
            # The values that were not dealt stay in flight, so their times do not complete.
            self._reader.ack_but(batch.part(self.taken))
        else:
            # From here on the branches hold the times of the values they have not answered yet.
            self._reader.ack()

    async def _close_failed(self, failure: BaseException) -> None:
        if self._askers.ended:
            return
        try:
            await self._close(failure, at_once=False)
        except trio.Cancelled:
            raise
        except BaseException:  # noqa: BLE001 - a failed release: the branches have been notified, and raise it
            return

    def _end(self, ending: Done | BaseException, *, at_once: bool = False) -> None:
        self._askers.end()
        self._switch(Asks.NOBODY)
        branches, self.branches = self.branches, {}
        aborted = self._closed is not None and ending is DONE and self._scope.run.cancelled
        for branch in branches:
            # Not DONE: the cancellation reaches them later, and at DONE they would complete times they have in part.
            branch.end(Abandoned() if aborted else ending, at_once=at_once)
            branch.edge.beyond = ()
        if isinstance(ending, BaseException):
            # The branches have taken over the frozen stamps of the hub, and the hub those of upstream.
            self.location.fail(ending)
            self.location.withdraw_frozen()
            self._reader.edge.location.withdraw_frozen()
        elif branches and not aborted:
            self.location.complete()
        else:
            self.location.abandon()


class Copies(Hub):
    """Deals every value to every branch."""

    @override
    def deal(self, batch: Batch[Any]) -> Dealt:
        return [(branch, batch) for branch in self.branches]

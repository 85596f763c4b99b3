"""Rows of modules without edges: their owner calls them, and runs one row for each of many keys.

A lane, a sidecar and a task cost far more than what most modules do with a value. `Inline` modules need none of them,
so a key costs no more than its state.
"""

from collections.abc import Callable, Hashable, Sequence, Sized
from copy import copy
from itertools import groupby
from sys import maxsize
from typing import Any, cast

from pullstream.blueprint import Module, OfOneRun, Transformer
from pullstream.engine.edge.backlog import Backlog
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.interfaces import Inline
from pullstream.engine.parts.fused import Segment, Stage
from pullstream.engine.parts.notified import Notified
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.waiting import least
from pullstream.engine.traits import Carries
from pullstream.protocol import Batch
from pullstream.resuming.memory import Memory

Member = PassOn | Notified
"""A module of a row."""


class Place:
    """The place of every module in the rows of one owner. It stands in for an edge and its upstream.

    The modules hold times at the owner's location, and count the values that they leave out there.
    """

    def __init__(self, owner: Kernel[Any]) -> None:
        self.owner = owner
        self.location: Location = owner.location
        self.edge = self
        self.memory = Memory(owner.location)
        self.failure: BaseException | None = None
        """The failure that comes after the latest answer of a member."""

    def fail_next(self, failure: BaseException, before: Sized) -> None:
        """Note the failure of a member, to be raised after the results before it, as an edge does."""
        if not before:
            raise failure
        self.failure = failure

    def put(self, member: Member, module: Module) -> None:
        """Give a module its place; refuse it if a journal cannot save the module's state."""
        owner, place = self.owner, self
        if member.traits.carries is not Carries.NOTHING:
            owner.scope.keeping.placed_inline(owner.location, f"{module}, composed at {module.site}")
            if isinstance(member, Notified):
                # It may read from its memory, which no other member shares.
                place = copy(self)
                place.memory = Memory(self.location)
        member.scope, member.run, member.location = owner.scope, owner.run, self.location
        member.upstream = member.__edge__ = cast("Any", place)
        if isinstance(member, Notified):
            # The input in flight, or the module's hold, covers its results until they have passed through the row.
            member.ready = Backlog()


def members_of(transformer: Transformer[Any, Any]) -> list[tuple[Member, Module]] | None:
    """New members for a row, each with the (last) module that it was made from; None if one of them needs an edge."""
    if any(isinstance(arg, OfOneRun) for module in transformer.modules for arg in module.args):
        return None
    members: list[tuple[Member, Module]] = []
    made = ((module, module.made()) for module in transformer.modules)
    for is_stage, group in groupby(made, key=lambda pair: isinstance(pair[1], Stage)):
        if is_stage:
            stages = list(group)
            members.append((Segment([stage for _, stage in stages], [module for module, _ in stages]), stages[-1][0]))
            continue
        for module, kernel in group:
            if not isinstance(kernel, Inline) or cast("Member", kernel).traits.clocked:
                return None
            members.append((cast("Member", kernel), module))
    return members


class InlineRow:
    """A row of modules. Its owner gives it values and completions, and its results go to `give`.

    Members request completions only of the times of their values, and hold only these. So a time that is complete at
    the input is complete at each member when the members upstream of it have been notified.
    """

    _bounded = False
    """Whether a member needs only a limited number of values."""
    over = False
    """Whether a member has ended the stream: it takes no more values."""

    def __init__(
        self, members: Sequence[tuple[Member, Module]], place: Place, give: Callable[[Hashable, Sequence[Any]], None]
    ) -> None:
        self._members = [member for member, _ in members]
        self._notified = [(number, each) for number, each in enumerate(self._members) if isinstance(each, Notified)]
        """The members that are notified of completions, with their numbers."""
        self._made = members
        self._place = place
        self._give = give
        self._at = 0
        """The number of the member that is at work."""
        self._first = 0
        """The number of the first member that still takes values: those upstream of it have ended."""
        self.times: set[Hashable] = set()
        """The times for which the owner has registered this row."""
        for number, (member, module) in enumerate(members):
            place.put(member, module)
            if isinstance(member, PassOn) and member.most < maxsize:
                self._bounded = True
                if not member.most:
                    self._end(number)

    def feed(self, time: Hashable, values: Sequence[Any]) -> None:
        """Take values at a time, or drop them if a member has ended the stream."""
        if not self.over:
            self._pass(0, time, values)

    def waits(self, time: Hashable) -> bool:
        """Whether a member must be notified when a time is complete."""
        return any(time in member.requests for _, member in self._notified)

    def complete(self, time: Hashable) -> None:
        """Notify the members that requested the completion of a time."""
        for number, member in self._notified:
            if time in member.requests:
                self._complete(number, member, time)

    def finish(self, start: int = 0) -> None:
        """End after the results that the members from number `start` on still keep."""
        self.over, self._first = True, start
        for number, member in self._notified:
            while number >= start and member.requests:
                self._complete(number, member, least(member.requests.first))

    def forget(self, time: Hashable) -> None:
        """Withdraw the requests of the members at a time, and their holds."""
        for _, member in self._notified:
            if time in member.requests:
                member.forget(time)

    def fail(self) -> None:
        """Emit the results that are already final, when the stream has failed upstream."""
        for number, member in self._notified:
            self._at = number
            member.failed()
            self._drain(number, member)

    def culprit(self) -> str:
        """Return the member that worked last, for messages."""
        member, module = self._made[self._at]
        return member.culprit() or f"{module}, composed at {module.site}"

    # ----

    def _pass(self, number: int, time: Hashable, values: Sequence[Any]) -> None:
        """Pass values to a member, and its results to the members downstream."""
        if number == len(self._members):
            self._give(time, values)
            return
        member, done = self._members[number], 0
        passing, notified = (None, member) if isinstance(member, Notified) else (member, None)
        failure: BaseException | None = None
        while number >= self._first:
            if failure is not None:
                self._at = number
                raise failure
            if passing is not None and not passing.most:
                self._end(number)
                return
            if done == len(values):
                return
            most = self._needed(number) if self._bounded else maxsize
            part = values if most >= len(values) else values[done : done + most]
            done += len(part)
            self._at = number
            if notified is not None:
                try:
                    notified.receive(Batch(time, part))
                except Exception as exc:  # noqa: BLE001 - raised after the results before it, unless these are enough
                    failure = exc
                finally:
                    self._drain(number, notified)
            elif passing is not None:
                answer = passing.answer(Batch(time, part))
                failure, self._place.failure = self._place.failure, None
                if answer is not None:
                    self._pass(number + 1, time, answer.values)

    def _needed(self, number: int) -> int:
        """The most values for a member at once: with more, it could fail at one that no member downstream needs."""
        most = maxsize
        for member in reversed(self._members[number:]):
            most = min(most, member.most) if isinstance(member, PassOn) else member.demand(most)
        return most

    def _drain(self, number: int, member: Notified) -> None:
        while member.ready:
            for run in member.ready.take(maxsize).runs():
                self._pass(number + 1, run.time, run.values)

    def _complete(self, number: int, member: Notified, time: Hashable) -> None:
        self._at = number
        try:
            member.complete(time)
        finally:
            self._drain(number, member)
        # The member has held the time until now, unless one downstream has ended the stream.
        if time in member.requests:
            member.forget(time)

    def _end(self, number: int) -> None:
        """End the row at a member that has enough: release the members upstream, and finish those downstream."""
        for before, member in self._notified:
            if before < number:
                for time in list(member.requests):
                    member.forget(time)
        self.finish(number + 1)

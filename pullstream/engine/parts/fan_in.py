"""The kernel of modules with several inputs: all are asked at once, and a batch of each is kept."""

from bisect import bisect_left, insort
from collections.abc import Collection, Hashable, Iterable, Sequence
from itertools import count
from operator import attrgetter
from typing import Any, Final

import attrs
from typing_extensions import override

from pullstream.blueprint import Source
from pullstream.engine.edge.backlog import EMPTY, Backlog
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.edge.lane import Lane
from pullstream.engine.parts.pace import Size
from pullstream.engine.parts.tasks import Asking
from pullstream.engine.runtime import clocks
from pullstream.engine.sidecar.waiting import completion
from pullstream.errors import CompositionError
from pullstream.protocol import DONE, Batch, Done, Unanswered
from pullstream.timely import TimeDomainError, less_equal


class Input(Backlog):
    """An input with the rest of its last batch, which stays in flight; the values taken are acknowledged."""

    number: int = 0
    """The number of inputs added before this one."""

    def __init__(self, lane: Lane[Any]) -> None:
        super().__init__()
        self._counted = True
        self.lane = lane
        self.size = Size()
        """The number of values to ask for so that its synchronous work is short."""
        self.wanted = 0
        """The number of values asked for last."""
        self.began: float | None = None
        """The moment at which that ask began; None once others have had their turns."""

    def receive(self, answer: Batch[Any] | Done | BaseException) -> None:
        """Take the input's answer."""
        if isinstance(answer, Batch):
            self.put(answer)
        else:
            self.end(answer)

    @override
    def count(self, before: Sequence[Hashable], now: Sequence[Hashable]) -> None:
        if before:
            self.settle()

    def settle(self) -> None:
        """Acknowledge the used values of the batch, in the step that answers them."""
        if not self:
            self.lane.settle()
            # No reference to the values is kept while the input is awaited.
            self.head, self.used = EMPTY, 0
        elif self.used and not self.head.uniform:
            self.lane.ack_before(self.least)

    @property
    def times(self) -> Sequence[Hashable] | None:
        """The times of the values of the batch, if it is a multi-time batch."""
        return None if self.head.uniform else self.head.times

    @property
    def done(self) -> bool:
        """Whether the input has ended and all its values are used."""
        return self.ending is DONE and not self


NUMBER: Final = attrgetter("number")


class Meeting:
    """Checks that the times of all inputs are of one domain."""

    def __init__(self, kernel: Kernel[Any]) -> None:
        self._kernel = kernel
        self._time: Hashable = None

    def meet(self, batch: Batch[Any]) -> None:
        """Refuse a batch whose times cannot be compared with earlier ones; times within one batch always can.

        Raises:
            TimeDomainError: the batch is of another domain.
        """
        time = batch.time if batch.uniform else batch.times[0]
        if time is self._time:
            return
        if self._time is not None:
            try:
                less_equal(self._time, time)
            except TimeDomainError:
                # Before a frontier is read: times of two domains cannot be tracked together.
                self._kernel.edge.stop_tracking()
                raise TimeDomainError(
                    f"{self._kernel.location}: its sources have times of two domains, which have no common order: "
                    f"{self._time!r} ({type(self._time).__name__}) and {time!r} ({type(time).__name__}). Give all "
                    f"sources times of one type, with time=, stamp(...) or map_time(...) in each: a source without "
                    f"any of these is at 0",
                ) from None
        self._time = time


class FanIn(Asking[Any]):
    """A kernel that asks several inputs concurrently: for each ask it serves, those that have no values left.

    Its `poll` answers from the values that have arrived, or else returns what `ask_inputs` does.
    """

    def __init__(self, *sources: Source[Any]) -> None:
        self.traits = attrs.evolve(self.traits, sources=sources)
        self.failure_above: BaseException | None = None
        """The exception of the first input that failed. From then on no input is asked."""

    @override
    async def acquire(self) -> None:
        if not hasattr(self, "failure_above"):
            who = type(self).__name__
            raise CompositionError(
                f"{self.location}, was made without super().__init__(*sources): call it in {who}.__init__"
            )
        await super().acquire()
        self._meeting = Meeting(self)
        self.all: list[Input] = []
        self.empty: list[Input] = []
        """The inputs whose last answer is used up: they must be asked again."""
        self.going = 0
        """The number of inputs that have not ended."""
        self._inputs: dict[Lane[Any], Input] = {}
        self._numbers = count()
        for lane in self.inputs:
            self.enter(Input(lane))

    def enter(self, each: Input) -> None:
        """Add an input."""
        each.number = next(self._numbers)
        self.all.append(each)
        self.empty.append(each)
        self.going += 1
        self._inputs[each.lane] = each

    def leave(self, inputs: Collection[Input]) -> None:
        """Remove inputs that have ended."""
        gone = set(inputs)
        self.all = [each for each in self.all if each not in gone]
        for each in gone:
            del self._inputs[each.lane]

    def ask_inputs(self, limit: int) -> Unanswered:
        """Ask the inputs that are in `empty`, except those that have ended; return what `pending` does."""
        self.ask_due()
        for each in self.empty:
            if each.ending is None and not each and self.failure_above is None:
                self.ask_input(each.lane, limit)
        self.empty.clear()
        return self.pending()

    @override
    def ask_input(self, lane: Lane[Any], limit: int) -> None:
        """Ask an input for at most `limit` values: a slow one for fewer, even if quick ones keep the limit high."""
        each = self._inputs[lane]
        each.wanted, each.began = min(limit, each.size.now), clocks.monotonic()
        super().ask_input(lane, each.wanted)
        each.began = None

    @override
    def arrived(self, lane: Lane[Any], answer: Batch[Any] | Done | BaseException) -> None:
        each = self._inputs[lane]
        if isinstance(answer, Batch):
            spent = 0.0 if each.began is None else clocks.monotonic() - each.began
            each.size.fit(each.wanted, len(answer.values), spent, self.run.limit)
            try:
                self._meeting.meet(answer)
            except TimeDomainError as exc:
                self.failure_above = self.failure_above or exc
                return
        else:
            self.going -= 1
            if isinstance(answer, BaseException):
                self.failure_above = self.failure_above or answer
        each.receive(answer)
        self.input_answered(each)

    def input_answered(self, each: Input) -> None:
        """Note that an input has values, or its ending."""

    def asked(self, each: Input) -> bool:
        """Whether an ask to an input is outstanding."""
        return each.lane in self._askers.due or self.asking(each.lane)

    async def until_complete(self, times: Iterable[Hashable]) -> None:
        """Wait until an input has answered, or one of the times is complete in all inputs."""
        places = [port.place for port in self.location.ports]
        await self.edge.until([completion(self.location, places, time) for time in times], self.awaited())

    def settle(self, among: Iterable[Input] | None = None) -> None:
        """Acknowledge the used values of the batches, in the step that answers them."""
        for each in self.all if among is None else among:
            each.settle()


class ManyInputs(FanIn):
    """A fan-in of thousands of inputs. Each step visits only those that have values or must be asked again."""

    @override
    async def acquire(self) -> None:
        self.having: list[Input] = []
        """The inputs with unused values, ordered by number."""
        await super().acquire()

    @override
    def input_answered(self, each: Input) -> None:
        if each:
            insort(self.having, each, key=NUMBER)

    def at(self, number: int) -> int:
        """The position in `having` of the first input whose number is at least `number`."""
        return bisect_left(self.having, number, key=NUMBER)

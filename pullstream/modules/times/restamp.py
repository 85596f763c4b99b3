"""`restamp`, `delay`: a function of the times there are."""

from abc import abstractmethod
from collections.abc import Callable, Hashable
from typing import Annotated, Any

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Sync
from pullstream.blueprint.parts import Same
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.outbox import timed
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.traits import PROMPT
from pullstream.errors import CapabilityError
from pullstream.modules.windows.grid import in_microseconds
from pullstream.protocol import Batch, Done, TimedBatch
from pullstream.timely import BEGINNING, Delay, MapTime, SummaryError, less_equal

A = TypeVar("A", default=Any)


class Retiming(PassOn):
    """Answers what it receives at the time that it makes of its time."""

    @abstractmethod
    def made(self, time: Any) -> Hashable:
        """The time that is made of one, asked once for values in a row at one time."""

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        return Batch(self.made(batch.time), batch.values)

    @override
    def answer_many(self, batch: TimedBatch[Any]) -> Batch[Any]:
        times: list[Hashable] = []
        before = later = None
        try:
            for time in batch.times:
                if time is not before and time != before:
                    before, later = time, self.made(time)
                times.append(later)
        except BaseException as exc:
            self.failed = exc
            self.upstream.ack_but(batch.part(len(times)))
            if not times:
                raise
        return timed(times, batch.values[: len(times)])


class Restamping(Retiming):
    """Answers what it receives at the time that a monotone function makes of its time."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._time: Hashable = BEGINNING
        self._made: Hashable = BEGINNING
        self.traits = attrs.evolve(PROMPT, summaries=[MapTime(function, converts=True)])

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        return self._answered(await super().produce(limit))

    @override
    async def step(self, limit: int) -> Batch[Any] | Done | None:
        return self._answered(await super().step(limit))

    def _answered(self, answer: A) -> A:
        # The sidecar, too, asks for times that no value has, whoever looks.
        if self.location.trouble is not None:
            raise self.location.trouble
        return answer

    @override
    def made(self, time: Any) -> Hashable:
        if time == self._time:
            return self._made
        later = self._function(time)
        if later is None:
            raise TypeError(f"{self.location} made None of the time {time!r}, which is no time")
        if less_equal(self._time, time) and not less_equal(self._made, later):
            raise CapabilityError(
                f"{self.location} made {later!r} of the time {time!r}, and {self._made!r} of {self._time!r}, "
                f"which is before it: a later time in must not give an earlier one out"
            )
        self._time, self._made = time, later
        return later


@transformer
def restamp(function: Annotated[Callable[[Any], Hashable], Sync("times are known at once")]) -> Same[A]:
    """Give every value the time that a function makes of its time: days of seconds, a coarser clock, another domain.

    >>> import pullstream as ps
    >>> seconds = ps.values([3, 59, 61], time=lambda second: second)
    >>> ps.run(ps.pipe(seconds, ps.restamp(lambda second: second // 60), ps.count_by_key(lambda _: "n"), ps.collect()))
    [('n', 2), ('n', 1)]

    The function is monotone: a later time never becomes an earlier one. It may be called at any moment, with times
    that no value has, and a time that it makes is complete when all those it is made of are. It is called with times,
    and what it raises is no value's fault: there is no `on_error`.

    Raises:
        CapabilityError: the function is not monotone.
        BaseException: what the function raises, whoever has called it; the stream fails with it here, at once.
    """
    return opens(Restamping(function))


class _Delaying(Retiming):
    def __init__(self, step: Any) -> None:
        self._step = step
        self._delay = Delay(step)
        self.traits = attrs.evolve(PROMPT, summaries=[self._delay])

    @override
    def made(self, time: Any) -> Hashable:
        try:
            later = self._delay.results_in(time)
        except SummaryError as exc:
            raise SummaryError(f"{self.location}: {exc}{in_microseconds(self._step, time)}") from exc
        if later is None:
            raise SummaryError(f"{self.location}: the time {time!r} has none that is {self._step!r} later")
        return later


def _step(call: Call, step: Any) -> Any:
    try:
        Delay(step)
    except SummaryError as exc:
        raise call.refuse(f"cannot delay by {step!r}: {exc}") from None
    return step


@transformer
def delay(step: Annotated[Any, _step]) -> Same[A]:
    """Give every value a time that is later by `step`: a number for numbers, a `timedelta` for dates.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values([1, 2], time=lambda n: n), ps.delay(10), ps.collect(timed=True)))
    [(11, 1), (12, 2)]

    It is a delay in logical time, and makes nobody wait. Times are added as Python adds them: delays in a row give what
    they give one after the other, also where sums are rounded (floats), and half a day after a date is that date.

    Raises:
        SummaryError: the step cannot be added to a time, or there is no time so late.
    """
    return opens(_Delaying(step))

"""`restamp`, `delay`: a function of the times there are."""

from collections.abc import Callable, Hashable
from typing import Annotated, Any

import attrs
from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Sync, Transformer
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.traits import PROMPT
from pullstream.errors import CapabilityError
from pullstream.protocol import DONE, Batch, Done
from timely import BEGINNING, Delay, MapTime, SummaryError, less_equal

A = TypeVar("A")


class Restamping(Kernel[Any]):
    """Answers what it receives at the time that a monotone function makes of its time."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._time: Hashable = BEGINNING
        self._made: Hashable = BEGINNING
        self.traits = attrs.evolve(PROMPT, summaries=[MapTime(function, converts=True)])

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        batch = await self.upstream.ask(limit)
        # The sidecar, too, asks for times that no value has, whoever looks.
        if self.location.trouble is not None:
            raise self.location.trouble
        if batch is DONE:
            return DONE
        if batch.time != self._time:
            later = self._function(batch.time)
            if later is None:
                raise TypeError(f"{self.location} made None of the time {batch.time!r}, which is no time")
            if less_equal(self._time, batch.time) and not less_equal(self._made, later):
                raise CapabilityError(
                    f"{self.location} made {later!r} of the time {batch.time!r}, and {self._made!r} of {self._time!r}, "
                    f"which is before it: a later time in must not give an earlier one out"
                )
            self._time, self._made = batch.time, later
        self.upstream.settle()
        return Batch(self._made, batch.values)


@transformer
def restamp(function: Annotated[Callable[[Any], Hashable], Sync("times are known at once")]) -> Transformer[A, A]:
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


class _Delaying(PassOn):
    def __init__(self, step: Any) -> None:
        self._step = step
        self._delay = Delay(step)
        self.traits = attrs.evolve(PROMPT, summaries=[self._delay])

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        later = self._delay.results_in(batch.time)
        if later is None:
            raise SummaryError(f"{self.location}: the time {batch.time!r} has none that is {self._step!r} later")
        return Batch(later, batch.values)


def _step(call: Call, step: Any) -> Any:
    try:
        Delay(step)
    except SummaryError as exc:
        raise call.refuse(f"cannot delay by {step!r}: {exc}") from None
    return step


@transformer
def delay(step: Annotated[Any, _step]) -> Transformer[A, A]:
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

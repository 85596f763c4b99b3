"""The times at which a module may answer (R12)."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from pullstream.blueprint.variables import T
from pullstream.engine.edge.end import End
from pullstream.engine.sidecar.location import Location
from pullstream.protocol import Batch
from pullstream.timely.order import Ascending, ascending, in_one_order


def allowed(
    batch: Batch[T], check: Callable[[Hashable, Sequence[T]], object], *, in_order: bool
) -> tuple[Batch[T], BaseException | None]:
    """The part of a batch before the first time that `check` refuses, and the refusal; else all of it, and None.

    With `in_order`, only the first and the last of ascending times are checked: if they are allowed, so are the others.

    Raises: BaseException: `check` refused the first time.
    """
    times: Sequence[Any] = batch.times
    if in_order and (isinstance(times, Ascending) or in_one_order(times)) and ascending(times):
        check(times[0], batch.values)
        check(times[-1], ())
        return batch, None
    last: Any = None
    for position, time in enumerate(times):
        if time is last or time == last:
            continue
        try:
            check(time, batch.values[position : position + 1])
        except BaseException as exc:
            if not position:
                raise
            return batch.part(0, position), exc
        last = time
    return batch, None


def may_answer(location: Location, inputs: Sequence[End], time: Hashable) -> bool:
    """Whether a hold, or a batch not yet acknowledged, gives a module the right to answer at a time."""
    if any(end.covers(time) for end in inputs) or location.holds(time):
        return True
    # Batches received by further lanes of the inputs count as well.
    return any(isinstance(claim, End) and claim.covers(time) for end in inputs for claim in end.port.in_flight)

"""The step from a module's answer to its asker: check each time, and count everything that is handed over."""

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic

from pullstream.blueprint.variables import T
from pullstream.engine.edge.end import End
from pullstream.engine.edge.rest import Rest
from pullstream.engine.sidecar.location import Location
from pullstream.engine.sidecar.sidecar import Sidecar
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


class Handover(Generic[T]):
    """The last step of an answer: check its times, count its values, and give out a multi-time batch in turn."""

    __slots__ = ("_inputs", "_location", "_origin", "_sidecar", "_trusted", "checked", "failure", "rest", "unfinished")

    def __init__(
        self, location: Location, sidecar: Sidecar, inputs: Sequence[End[Any]], *, origin: bool, trusted: bool
    ) -> None:
        self._location, self._sidecar, self._inputs = location, sidecar, inputs
        self._origin, self._trusted = origin, trusted
        self.checked = False
        """Whether the times of the next multi-time answer have already been checked."""
        self.rest: Rest | None = None
        """The values of a multi-time answer not given out yet; they come before the next `produce`."""
        self.unfinished = False
        """Whether the last answer is incomplete: a rest of it is left, or the failure that follows it."""
        self.failure: BaseException | None = None
        """The exception to raise once the last answer is given out."""

    def fail_next(self, failure: BaseException) -> None:
        """Make the next ask raise a failure, after the answer to this one."""
        self.failure, self.unfinished = failure, True

    def next_part(self, end: End[Any], limit: int) -> Batch[T]:
        """Return the next part of the last answer, or raise the failure that follows it."""
        if self.rest is None:
            assert self.failure is not None
            raise self.failure
        return self._give_out(self.rest, end, limit)

    def drop(self) -> Callable[[], None] | None:
        """Drop the rest of the last answer, which no lane was given; returns the function that stops counting it."""
        rest, self.rest, self.unfinished = self.rest, None, False
        return None if rest is None else rest.drop

    def hand_over(self, answer: Batch[T], end: End[Any], limit: int) -> Batch[T]:
        """Count a multi-time answer and hand it over: whole (`End.whole`), or as much as was asked for."""
        if end.observer is not None:
            end.observer.brought(answer, limit)
        batch = answer
        if self.checked:
            self.checked = False
        else:
            batch = self.until_wrong_time(batch)
        try:
            if end.whole:
                end.count_batch(batch)
                return batch
            self.rest, self.unfinished = Rest(self._sidecar, end.port, batch), True
            return self._give_out(self.rest, end, limit)
        except BaseException as exc:
            # The times cannot be compared. Nobody gets any of the values, and that must not look like completion.
            self._sidecar.stop_tracking(exc)
            raise

    def _give_out(self, rest: Rest, end: End[Any], limit: int) -> Batch[T]:
        """Return the next values of a multi-time answer, and recount what is left."""
        batch = rest.take_run(limit)
        end.stamp(batch.time)
        if not rest:
            self.rest, self.unfinished = None, self.failure is not None
        return batch

    def until_wrong_time(self, answer: Batch[T]) -> Batch[T]:
        """The part of an answer before the first forbidden time; the next ask raises the failure (R8)."""
        if self._trusted and not self._origin:
            return answer
        check = self._location.advance if self._origin else self._check
        answer, failure = allowed(answer, check, in_order=self._origin)
        if failure is not None:
            self.fail_next(failure)
        return answer

    def _check(self, time: Hashable, values: Sequence[Any] = ()) -> None:  # noqa: ARG002 - as a source is called
        self.check_right(time)

    def check_right(self, time: Hashable) -> None:
        """Raise a CapabilityError if the module may not answer at a time (R12)."""
        if not may_answer(self._location, self._inputs, time):
            raise self._location.refusal(f"answered at {time!r}, but may not", time, self._inputs)


def may_answer(location: Location, inputs: Sequence[End[Any]], time: Hashable) -> bool:
    """Whether a hold, or a batch not yet acknowledged, gives a module the right to answer at a time."""
    if any(end.covers(time) for end in inputs) or location.holds(time):
        return True
    # Batches received by further lanes of the inputs count as well.
    ports = {end.port for end in inputs}
    return any(end.port in ports and end.covers(time) for above in inputs for end in above.edge.ends)

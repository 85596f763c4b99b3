"""Dropping, from the answers of a module, what an earlier run has completed."""

from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from pullstream.engine.edge.answers import mistake
from pullstream.engine.edge.backlog import joined
from pullstream.engine.edge.edge import Edge
from pullstream.protocol import DONE, NOT_YET, Batch, Done, Unanswered

Drops = Callable[[Hashable], bool]
"""Whether to drop values at a time."""


def drop_in(edge: Edge[Any], drops: Drops) -> None:
    """Let a module's values at some times pass no more: it is asked again until it answers others."""
    polled = edge.polled
    if polled is not None:

        def undropped_now(limit: int) -> Batch[Any] | Done | Unanswered:
            answer = polled(limit)
            return (_not_dropped(edge, drops, answer, limit) or NOT_YET) if isinstance(answer, Batch) else answer

        edge.polled = undropped_now
        return
    produce: Callable[[int], Awaitable[Batch[Any] | Done]] = edge.produce

    async def undropped(limit: int) -> Batch[Any] | Done:
        while isinstance(answer := await produce(limit), Batch):
            left = _not_dropped(edge, drops, answer, limit)
            if left is not None:
                return left
            if not (await edge.breathe() and edge.goes_on):
                return DONE
        return answer

    edge.produce = undropped


def _not_dropped(edge: Edge[Any], drops: Drops, answer: Batch[Any], limit: int) -> Batch[Any] | None:
    """Return the part of an answer whose results an earlier run has not completed; None if there is none."""
    if not edge.traits.trusted and mistake(answer, limit):
        return answer
    if answer.uniform:
        if not drops(answer.time):
            return answer
        if edge.origin:
            edge.location.advance(answer.time, answer.values)
        _raise_what_follows(edge)
        return None
    if edge.origin:
        # Times must not go back, dropped or not; the values before one that does are still answered.
        answer = edge.handover.before_a_wrong_time(answer)
    gone = {time for time in dict.fromkeys(answer.times) if drops(time)}
    if gone:
        runs = [run for run in answer.runs() if run.time not in gone]
        if not runs:
            _raise_what_follows(edge)
            return None
        answer = Batch.of([time for run in runs for time in run.times], joined([run.values for run in runs]))
    edge.handover.checked = edge.origin and not answer.uniform
    return answer


def _raise_what_follows(edge: Edge[Any]) -> None:
    """Raise the failure that was to follow an answer of which all is dropped, if there is one (R8)."""
    if edge.handover.failure is not None:
        raise edge.handover.failure

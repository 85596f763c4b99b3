"""Dropping, from the answers of a module, what an earlier run has completed."""

from collections.abc import Awaitable, Callable, Hashable
from functools import partial
from typing import Any

from pullstream.engine.edge.answers import mistake
from pullstream.engine.edge.backlog import joined
from pullstream.engine.edge.edge import Edge
from pullstream.protocol import DONE, Batch, Done

Drops = Callable[[Hashable], bool]
"""Whether to drop values at a time."""

Dropped = Batch[Any] | Done | None


def drop_in(edge: Edge[Any], drops: Drops) -> None:
    """Let a module's values at some times pass no more: it is asked again until it answers others."""
    edge.produce = partial(_undropped, edge, drops, edge.produce)
    at_hand = edge.at_hand
    if at_hand is not None:

        def undropped(limit: int) -> Batch[Any] | None:
            return _unless_dropped(edge, drops, at_hand(limit), limit)

        edge.at_hand = undropped


async def _undropped(edge: Edge[Any], drops: Drops, ask: Callable[[int], Awaitable[Dropped]], limit: int) -> Dropped:
    while True:
        answer = await ask(limit)
        if answer is None or answer is DONE:
            return answer
        left = _unless_dropped(edge, drops, answer, limit)
        if left is not None:
            return left
        if not (await edge.breathe() and edge.wanted):
            return DONE


def _unless_dropped(edge: Edge[Any], drops: Drops, answer: Dropped, limit: int) -> Batch[Any] | None:
    """Return the part of an answer whose results an earlier run has not completed; None if there is none."""
    if answer is None or answer is DONE:
        return None
    if not edge.traits.trusted and mistake(answer, limit):
        return answer
    if answer.uniform:
        if not drops(answer.time):
            return answer
        if edge.origin:
            edge.location.advance(answer.time, answer.values)
        return None
    if edge.origin:
        # Times must not go back, dropped or not; the values before one that does are still answered.
        answer = edge.handover.before_a_wrong_time(answer)
    gone = {time for time in dict.fromkeys(answer.times) if drops(time)}
    if gone:
        runs = [run for run in answer.runs() if run.time not in gone]
        if not runs:
            if edge.handover.failure is not None:
                raise edge.handover.failure
            return None
        answer = Batch.of([time for run in runs for time in run.times], joined([run.values for run in runs]))
    edge.handover.checked = edge.origin and not answer.uniform
    return answer

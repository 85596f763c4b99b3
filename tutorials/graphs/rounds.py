"""The body of a loop, made from a step: a plain function of all values of one round."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar, cast

import pullstream as ps
from pullstream import timely

A = TypeVar("A")
B = TypeVar("B")

Step = Callable[[int, list[A]], Iterable[B | ps.Again[A]]]
"""Maps a round's number and values to results, which leave the loop, and `Again` values, which go round."""


@ps.transformer
async def _by_round(upstream: ps.Reader[Any], ctx: ps.Context, make: Callable[[], Any]) -> AsyncIterator[ps.Batch[Any]]:
    steps: defaultdict[Any, Any] = defaultdict(make)
    inbox: dict[Any, list[Any]] = {}
    async for event in ctx.events(upstream):
        match event:
            case ps.Batch(time, values):
                ctx.notify_at(time)
                inbox.setdefault(time, []).extend(values)
            case ps.Completed(time):
                # No value can join this round any more.
                at = cast("timely.LoopTime", time)
                answers = list(steps[at.outer](at.counters[-1], inbox.pop(time)))
                if answers:
                    yield ps.Batch(time, answers)


def by_round(make: Callable[[], Step[A, B]]) -> ps.Transformer[A, B | ps.Again[A]]:
    """Return a loop body that works round by round; `make` creates a new step for every time outside.

    Steps have state, which is kept until the run ends, because the body does not know how often an outer loop comes
    round.
    """
    return _by_round(make)

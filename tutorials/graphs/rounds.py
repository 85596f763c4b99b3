"""The body of a loop, made of a step: a plain function of everything that one round brings."""

from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar, cast

import pullstream as ps

A = TypeVar("A")
B = TypeVar("B")

Step = Callable[[int, list[A]], Iterable[B | ps.Again[A]]]
"""What a round's number and its values lead to: results, which leave, and what goes round `Again`."""


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
                # Nothing can join this round any more: that is what makes it a round, and not a guess.
                at = cast("ps.LoopTime", time)
                answers = list(steps[at.outer](at.counters[-1], inbox.pop(time)))
                if answers:
                    yield ps.Batch(time, answers)


def by_round(make: Callable[[], Step[A, B]]) -> ps.Transformer[A, B | ps.Again[A]]:
    """A body that works round by round; `make` gives the step, new for every time outside, since steps remember.

    What they remember is kept until the run ends: how often a loop outside of this one comes round is not known here.
    """
    return _by_round(make)

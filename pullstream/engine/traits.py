"""Traits of modules: static properties, and what a module carries across times."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from typing import Any, Final

import attrs

from pullstream.blueprint import Source
from pullstream.timely import ENTER, FEEDBACK, IDENTITY, LEAVE, Summary

Lasting = Callable[[int, Any], Iterable[Hashable]]
"""For an input and a time that arrives there: the last times downstream at which it still matters; empty for none."""


class Carries(Enum):
    """Kinds of memory that a module has of a complete time, apart from its holds."""

    NOTHING = "nothing"
    """Without memory that affects later results."""
    MEMORY = "memory"
    """A state in its `memory`."""
    COUNT = "count"
    """The count still wanted, in its `memory`: values pass unchanged, and the module ends when it has enough."""
    MAYBE = "maybe"
    """Perhaps a state of user code, which must keep it in `ctx.memory`."""
    LOST = "lost"
    """A state that no journal can save."""


SAME_TIME: Final = (IDENTITY, ENTER, LEAVE, FEEDBACK)
"""The summaries of a module that answers at the times it receives: later rounds of a loop are rounds of one time."""


KEPT: Final = (Carries.MEMORY, Carries.COUNT, Carries.LOST)
"""A state that is known to affect later results, or the end."""


def _lingers(traits: "Traits") -> bool:
    kept = traits.carries in KEPT
    rows = ((row,) if isinstance(row, Summary) else row for row in traits.summaries)
    return kept or traits.later or any(summary not in SAME_TIME for row in rows for summary in row)


@attrs.frozen
class Traits:
    """The static properties of a module, which follow only from its code and its arguments.

    A class of kernels has one value for all. Where a trait depends on arguments, `__init__` gives the module its own:

    >>> import attrs, pullstream as ps
    >>> from pullstream.timely import Delay
    >>> class Shift(ps.authoring.Kernel[int]):
    ...     traits = PROMPT
    ...     def __init__(self, step):
    ...         self.step = step
    ...         self.traits = attrs.evolve(self.traits, summaries=[Delay(step)])
    ...     async def produce(self, limit): ...
    >>> Shift(2).traits.summaries
    [Delay(step=2, limit=None)]

    They are read when the module is placed in its run, and never changed. Each trait, and each of the `Carries`, is
    documented at its line in `pullstream/engine/traits.py`. If a `trusted` module answers at a forbidden time, only a
    run with `check=True` and the conformance kit report it.
    """

    waits: bool = True
    """Whether `acquire`, `produce`, `wait` or `release` await anything other than upstream's answers.

    If so, a termination cancels all but the release, which it limits by the run's grace period.
    """

    trusted: bool = False
    """Whether it is known to answer only at permitted times; otherwise every answer is checked (R12)."""

    sources: Sequence[Source[object]] = ()
    """Sources that a run opens with the module and passes to it as further `inputs`."""

    summaries: Sequence[Summary | Sequence[Summary]] = ()
    """The module's effect on the times of each input, if it answers at other times than it receives.

    An empty row means that nothing follows from that input's times: only what is held may be answered.
    """

    lasting: Lasting | None = None
    """For an input and a time: the last times downstream at which it still matters, if `summaries` do not give them.

    An early window and a late one may hold the same value. The summary gives the end of the first, and this the end of
    the last. No times means that it never matters.
    """

    carries: Carries = Carries.NOTHING
    """The kind of memory that the module has of a complete time, apart from its holds."""

    later: bool = False
    """Whether values that arrive at a time are answered at a later one, when everything before that has arrived."""

    reorders: bool = False
    """Whether results, or their order, depend on the clock or on a race."""

    counts: bool = False
    """Whether times are given by position, so that a value left out would shift the times after it."""

    clocked: bool = False
    """Whether results depend on a clock: on when values arrive, and not only on their times."""

    steered: bool = False
    """Whether a program may use a handle to change what is held while nothing is asked for."""

    follows: bool = False
    """Whether answered times follow from holds, or from upstream, even in a module without inputs.

    Otherwise a module without inputs answers in order of time: each answer promises that no earlier time will follow.
    With `follows`, a source holds each time at which it will answer, and drops the hold at the next `produce`, because
    the answer is checked against it. Only a `trusted` one may drop it before.
    """

    asks_apart: bool = False
    """Whether inputs are asked only in tasks of their own, with fresh stacks, at least after a long row of modules."""

    lingers: bool = attrs.field(init=False, repr=False, eq=False, default=attrs.Factory(_lingers, takes_self=True))
    """Whether a time still matters downstream when it is complete there: something is remembered, or comes later."""


PLAIN: Final = Traits()
"""The traits of a module that declares none, and of a sink."""

PROMPT: Final = Traits(waits=False, trusted=True)
"""The traits of a module that turns each batch into another at the same time, and waits for nothing but the batch."""

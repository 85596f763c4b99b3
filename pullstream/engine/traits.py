"""Traits of modules, which the rest of a run knows beforehand, and what they carry from time to time."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from enum import Enum
from typing import Any, Final

import attrs

from pullstream.blueprint import Source
from pullstream.timely import Summary

Lasting = Callable[[int, Any], Iterable[Hashable]]
"""For an input and a time that comes there: the last times at which it still matters below; empty for none."""


class Carries(Enum):
    """Kinds of memory of a time that is complete, apart from what a module holds."""

    NOTHING = "nothing"
    """No memory that matters for what comes later."""
    MEMORY = "memory"
    """A state in its `memory`."""
    COUNT = "count"
    """The count still wanted, in its `memory`: it gives what it is given, and ends when it has enough."""
    MAYBE = "maybe"
    """A user's code, which is to keep it in `ctx.memory`."""
    LOST = "lost"
    """A state of which no journal knows."""


@attrs.frozen
class Traits:
    """The traits of a module: what follows from its code and its arguments alone.

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

    They are read when the module is given its place in a run, and never changed by anybody. What each of them says, and
    each of the `Carries`, stands at its line in `pullstream/engine/traits.py`. Where one that is `trusted` answers at a
    time that it may not, only a run with `check=True` and the conformance kit say so.
    """

    waits: bool = True
    """Whether `acquire`, `produce` or `release` await anything but upstream's answers.

    If so, a termination cancels the first two, and gives the last a grace.
    """

    prompt: bool = False
    """Whether an ask is answered without waiting and after one ask of an input, if those of its `inputs` are.

    What may take in much before it answers is not: a module below would hear of completions no earlier than that.
    """

    trusted: bool = False
    """Whether `produce` is known to answer only at times it may; otherwise every answer is checked (R12)."""

    sources: Sequence[Source[object]] = ()
    """Sources that a run opens with the module and gives it as further `inputs`."""

    summaries: Sequence[Summary | Sequence[Summary]] = ()
    """The module's effect on the times of each of its inputs, where it answers at others than it receives.

    An empty row says that nothing follows from that input's times: what may be answered then is what is held.
    """

    lasting: Lasting | None = None
    """For an input and a time: the last times below at which what comes then still matters, if not by `summaries`.

    A window that begins early and a late one may hold the same value: the summary says when the first is over, and
    this when the last one is. No times means none, ever.
    """

    carries: Carries = Carries.NOTHING
    """The module's knowledge, when a time is complete, beyond what is held: none that matters, or how it is kept."""

    later: bool = False
    """Whether what comes at a time is answered at a later one, when everything before that has come."""

    reorders: bool = False
    """Whether what is answered, and in which order, follows the clock or the luck of who is faster."""

    counts: bool = False
    """Whether at which time a value is follows from those before it, whatever their times."""

    clocked: bool = False
    """Whether what is answered follows from a clock: from when things come, and not from their times alone."""

    steered: bool = False
    """Whether a program may say more of the times that are held, by a handle, while nothing is asked for."""

    follows: bool = False
    """Whether the times follow from what is held, or from what is above, also in a module that has no inputs.

    A module without inputs is taken to answer in the order of times otherwise: each answer says that nothing before
    it will come.
    """

    asks_apart: bool = False
    """Whether inputs are asked in tasks of their own only, whose stacks begin anew."""


PLAIN: Final = Traits()
"""The traits of a module that says nothing of itself, and of a sink."""

PROMPT: Final = Traits(waits=False, prompt=True, trusted=True)
"""The traits of a module that makes of each batch another, at its time, and waits for nothing but the batch."""

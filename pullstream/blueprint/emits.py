"""The moments at which a module emits, as the module declares where it is defined."""

from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

from pullstream.blueprint.modules import Module

F = TypeVar("F", bound=Callable[..., Any])


class Emits(Enum):
    """The moment at which a module emits, so that a run can warn of a pipeline that never gives a result.

    It is the innermost decorator of a module's function, or the attribute `emits` of a hand-made `Module`'s `make`.
    It may also be a function of the module (`by`). A module that declares nothing is `UNKNOWN`.

    >>> import pullstream as ps
    >>> @ps.transformer
    ... @Emits.AT_ONCE
    ... async def unchanged(upstream, ctx):
    ...     async for batch in ctx.batches(upstream):
    ...         yield batch
    >>> Emits.of(unchanged().modules[0])
    <Emits.AT_ONCE: 'each value as it arrives, at its time, until upstream ends'>
    """

    UNKNOWN = "unknown"
    FOREVER = "without an end, as a source"
    AT_ONCE = "each value as it arrives, at its time, until upstream ends"
    AT_OTHER_TIMES = "each value as it arrives, at another time, until upstream ends"
    AT_ANY_TIME = "unknown, also at times that are not known before it has opened a stream inside"
    PER_TIME = "nothing for a time before it is complete, unless `eager=True`"
    AT_THE_END = "nothing before upstream ends"

    def __call__(self, function: F) -> F:
        """Decorate a module's function."""
        vars(function)["emits"] = self
        return function

    @staticmethod
    def by(says: "Callable[[Module], Emits]") -> Callable[[F], F]:
        """Decorate a module's function if the moment depends on the arguments."""

        def decorate(function: F) -> F:
            vars(function)["emits"] = says
            return function

        return decorate

    @staticmethod
    def of(module: Module) -> "Emits":
        """Return what a module declares."""
        if module.follows:
            return Emits.AT_ONCE
        says: Emits | Callable[[Module], Emits] = getattr(module.make, "emits", Emits.UNKNOWN)
        emits = says if isinstance(says, Emits) else says(module)
        eager = emits is Emits.PER_TIME and dict(module.options).get("eager")
        return Emits.AT_ONCE if eager else emits

    @staticmethod
    def if_following(module: Module) -> "Emits":
        """Say when a source with the option `follow` emits."""
        return Emits.FOREVER if dict(module.options).get("follow") else Emits.UNKNOWN

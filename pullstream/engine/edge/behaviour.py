"""The behaviour that a module supplies: what its edge calls, and nothing else of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any, Generic

from typing_extensions import TypeVar

from pullstream.engine.traits import PLAIN, Traits
from pullstream.protocol import Batch, Done

T = TypeVar("T")


class Behaviour(ABC, Generic[T]):
    """The methods of a module that the machine calls; a module's class overrides them (see `Kernel`).

    The machine takes them from the class, once, when the module gets its place. What a module sets on itself, whatever
    the name, is its own.
    """

    __slots__ = ()

    traits: Traits = PLAIN
    """The facts known of the module beforehand; read when it gets its place."""

    # ---- answers

    async def acquire(self) -> None:
        """Take the resources the module needs; called once, at the first request for a value (R10).

        If it does not return, because it raised or was cancelled, `release` is not called.
        """

    @abstractmethod
    async def produce(self, limit: int) -> Batch[T] | Done:
        """The next answer: at most `limit` values at one time, or DONE; raise to fail.

        One call at a time. To deliver values before a failure, answer them now and raise at the next call. What came
        from upstream is in flight, and keeps its time from completing, until upstream is asked again: what is kept of
        it beyond that is held at its time, `self.location.hold(time)`, until it has been answered.
        """

    # ---- endings

    async def release(self) -> None:
        """Let go of what `acquire` took; called once, after the last `produce`, shielded from cancellation (R6)."""

    def halt(self) -> None:
        """Cancel what runs in tasks of the module's own; called when its stream ends, before anything upstream does.

        So such a task never takes the end of what is upstream, which is about to follow, for the stream's own end. It
        may be called twice.
        """

    @abstractmethod
    async def dismiss(self, reason: BaseException | None) -> None:
        """End what is upstream; for a module whose upstream is not simply its `inputs`."""

    # ---- what it has to say

    def status(self) -> str:
        """The module's own word on its state, for `Counters.status` and displays: a line, or nothing.

        It is called at any time after the run has begun, also after the end, and must be cheap.
        """
        return ""

    def placed(self) -> None:
        """Do what is to be done as soon as the module has its place and its inputs, before the run begins."""

    def relayed(self, exc: BaseException) -> bool:  # noqa: ARG002 - overridden
        """Whether a failure came to the module from elsewhere than its inputs, and so has its note already."""
        return False

    def culprit(self) -> str:
        """The name that goes into a note on what the module raised, if it is not its own."""
        return ""


def method_of(module: Behaviour[Any], name: str) -> Callable[..., Any]:
    """A method that the class of a module has, bound to it, whatever the module itself may have by that name."""
    cls = type(module)
    found = getattr(cls, name)
    if found.__class__ is FunctionType:
        # For every module of every run: the search below takes ten times as long.
        return MethodType(found, module)
    found = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
    return found.__get__(module, cls) if hasattr(found, "__get__") else found

"""The behaviour of a module: the methods that its edge calls. A few more are optional: see `interfaces`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from types import FunctionType, MethodType
from typing import Any, ClassVar, Generic

import attrs

from pullstream.blueprint.variables import R, T
from pullstream.engine.traits import PLAIN, Carries, Traits
from pullstream.frames import is_ours
from pullstream.protocol import Batch, Done


class Behaviour(ABC, Generic[T]):
    """The methods of a module that its edge calls. A module's class overrides them (see `Kernel`).

    The edge looks them up in the class, once, when the module is placed in its run. Attributes that a module sets on
    itself are its own, whatever their names.
    """

    __slots__ = ()

    traits: Traits = PLAIN
    """The module's static properties, read once, when the module is placed in its run."""

    __polled__: ClassVar[bool] = False
    """Whether it answers by `poll`, as a `PolledKernel` does, and never by `produce`."""

    __overrides__: "ClassVar[Overrides]"
    """Facts about the class, found when it is made. A table of classes would keep alive those made for one run."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        cls.__overrides__ = Overrides(cls)

    # ---- answers

    async def acquire(self) -> None:
        """Acquire the module's resources; called once, at the first request for a value (R10).

        If it raises or is cancelled, `release` is not called.
        """

    async def produce(self, limit: int) -> Batch[T] | Done:
        """Return the next answer: a batch of at most `limit` values, or DONE. Raise to fail. See also `PolledKernel`.

        Calls never overlap. To deliver values before a failure, return them now and raise at the next call. A batch
        received from upstream is in flight, and keeps its time from completing, until the module asks upstream again. A
        module that keeps any of it longer must hold its time, `self.location.hold(time)`, until it has answered.
        """
        raise NotImplementedError(f"{type(self).__name__} has no produce(limit)")

    # ---- endings

    async def release(self) -> None:
        """Release what `acquire` acquired; called once, after the last `produce`, shielded from cancellation (R6)."""

    def halt(self) -> None:
        """Cancel the module's own tasks; called when its stream ends, before anything upstream is ended.

        Upstream ends right afterwards, and a task still running would take that for the normal end of the stream. It
        may be called twice.
        """

    @abstractmethod
    async def dismiss(self, reason: BaseException | None) -> None:
        """End everything upstream. Override it in a module whose upstream is not simply its `inputs`."""

    # ---- reports

    def status(self) -> str:
        """The module's own status text, for `Counters.status` and displays: one line, or empty.

        It may be called at any time after the run has begun, even after the end, and must be cheap.
        """
        return ""

    def placed(self) -> None:
        """Prepare the module; called when it has its location and its inputs, before the run begins."""

    def relayed(self, exc: BaseException) -> bool:  # noqa: ARG002 - overridden
        """Whether a failure reached the module other than through its inputs, and so already has its note."""
        return False

    def culprit(self) -> str:
        """The name for the note on a failure raised here, if it is not the module's own name; else empty."""
        return ""


def method_of(module: Behaviour[Any], name: str) -> Callable[..., Any]:
    """A method of the module's class, bound to the module, even if the module itself has an attribute of that name."""
    cls = type(module)
    found = getattr(cls, name)
    if found.__class__ is FunctionType:
        # A shortcut, because every module of every run comes here: the search below takes ten times as long.
        return MethodType(found, module)
    found = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
    return found.__get__(module, cls) if hasattr(found, "__get__") else found


class Overrides:
    """The methods that a module's class overrides, and whether authors wrote them."""

    def __init__(self, cls: type[Behaviour[Any]]) -> None:
        def has_own(name: str) -> bool:
            return getattr(cls, name) is not vars(Behaviour)[name]

        def by_toolkit(name: str) -> bool:
            return is_ours(getattr(getattr(cls, name), "__module__", ""))

        self.by_author = not is_ours(cls.__module__)
        base: Any = next(base for base in cls.__mro__ if is_ours(base.__module__))
        self.trusted: bool = getattr(base.traits, "trusted", False)
        """Whether its base class in the toolkit ensures that it answers only at permitted times."""
        self.polled = cls.__polled__
        self.produces, self.placed = has_own("produce"), has_own("placed")
        self.acquires, self.halts, self.releases = has_own("acquire"), has_own("halt"), has_own("release")
        self.at_once = by_toolkit("acquire") and by_toolkit("dismiss") and by_toolkit("release")
        """Whether the toolkit's own code begins and ends it: then its declared `waits` is certain to be right."""
        self.waits_itself = hasattr(cls, "wait") and not by_toolkit("wait")
        """Whether an author has written the `wait` of a polled module, which may wait for anything."""
        self.waits = self.acquires or self.releases or self.waits_itself
        """Whether a polled module may wait for anything but its inputs."""

    def completed(self, traits: Traits) -> Traits:
        """Complete an author's traits: the module may have a memory, and is as trusted as its base class."""
        carries = Carries.MAYBE if traits.carries is Carries.NOTHING else traits.carries
        return attrs.evolve(traits, carries=carries, trusted=traits.trusted or self.trusted)


def without_waiting(code: Coroutine[Any, Any, R]) -> R:
    """Run code that never waits, in this step."""
    try:
        code.send(None)
    except StopIteration as ended:
        result: R = ended.value
        return result
    raise AssertionError(f"{code} waits")

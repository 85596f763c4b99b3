"""Policies for a value whose function raised, behind every `on_error=`.

One mechanism serves all modules. With a policy other than "fail", a module emits a private mark, `Caught`, in place of
the value. The module directly downstream, which is composed with it, applies the policy: it leaves the value out,
reveals it as `Failed`, or diverts it to a sink. So no other module ever sees a mark.

Only `Exception` is handled: a cancellation or Ctrl-C is not the fault of a value.
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import wraps
from typing import Annotated, Any, Literal, TypeAlias

import attrs

from pullstream.blueprint import Blueprint, Call, Module, OneOf, advice
from pullstream.blueprint.parts import Into
from pullstream.blueprint.variables import A
from pullstream.engine.parts.fused import Kind, Stage, result_of
from pullstream.errors import blame
from pullstream.failures import Caught, Failed, caught
from pullstream.modules.values.side_branch import SideBranch


@attrs.frozen
class Policy:
    """The check of an `on_error=`, a word or a sink. It also makes the module downstream that applies the policy."""

    among: tuple[str, ...] = ("fail", "skip", "result")
    here: bool = False
    """Whether the module itself applies the policy."""

    def __call__(self, call: Call, value: Any) -> Any:
        """Return the policy, or refuse an invalid one."""
        if value not in self.among and not (isinstance(value, Blueprint) and value.kind == "sink"):
            hint = advice(call.module, value, wanted="sink")
            among = ", ".join(map(repr, self.among))
            raise call.refuse(f"got {call.name}={value!r}: it must be one of {among}, or a sink{hint}")
        return value

    def below(self, module: Module, value: object) -> tuple[Module, ...]:
        """The modules that handle the marks of `module`."""
        return () if self.here else (_follower(module, value),)


OnError: TypeAlias = Annotated[Literal["fail", "skip"] | Into[Failed[A], Any], Policy(("fail", "skip"))]
"""An option `on_error` whose policies add nothing to the output of a module; "result" would."""

OnErrorHere: TypeAlias = Annotated[Literal["fail", "skip"] | Into[Failed[A], Any], Policy(("fail", "skip"), here=True)]
"""The same for a module that itself applies the policy."""

Handled: TypeAlias = Annotated[object, Policy()]
"""An option `on_error` of a module's function; `catches` says whether the module emits marks."""

Skips: TypeAlias = Annotated[Literal["fail", "skip"], OneOf("fail", "skip")]
"""The same for a module that cannot emit a `Failed`: it leaves the value out itself, and counts it."""


def with_policy(
    module: Module, on_error: object, *, among: tuple[str, ...] = ("fail", "skip", "result")
) -> tuple[Module, ...]:
    """The modules for `module` with a policy: only itself, or a catching one and the handler of its marks.

    `module.make` takes the policy as its option `on_error`.
    """
    Policy(among)(Call(module.name, name="on_error"), on_error)
    if on_error == "fail":
        return (module,)
    module = Module(module.name, module.make, module.args, (*module.options, ("on_error", on_error)), site=module.site)
    return (module, _follower(module, on_error))


def _follower(above: Module, on_error: object) -> Module:
    # The name is what the user has written: `on_error=`.
    if on_error == "skip":
        return Module("on_error", _leave_out, follows=True)
    if on_error == "result":
        return Module("on_error", Reveals(above), follows=True)
    return Module("on_error", _Diverts(above), (on_error,), follows=True)


def _leave_out() -> Stage:
    return Stage(Kind.LEAVE_OUT, callable)


@attrs.frozen
class Reveals:
    """Reveals what the module `above` has caught. It is not an argument: its site is not part of the blueprint."""

    above: Module

    def __call__(self) -> Stage:
        """Make the stage directly downstream of it."""
        return Stage(Kind.REVEAL, self.failed)

    def failed(self, mark: Caught) -> Failed[Any]:
        """The failed value, with a note that names the module."""
        blame(mark.error, f"{self.above}, composed at {self.above.site}")
        return Failed(mark.value, mark.error)


@attrs.frozen
class _Diverts:
    """Diverts what a module upstream has caught to a sink."""

    above: Module

    def __call__(self, sink: Blueprint) -> SideBranch:
        return SideBranch(sink, Caught, Reveals(self.above).failed)


def catches(on_error: object) -> bool:
    """Whether a module with this policy emits marks."""
    return on_error != "fail"


def guarded(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A function that returns a mark instead of raising."""

    @wraps(function)
    def call(value: Any) -> Any:
        try:
            return function(value)
        except Exception as exc:  # noqa: BLE001 - the policy handles it
            return caught(value, exc)

    return call


def not_async(result: object) -> TypeError:
    """The error for a function that is not async: a mistake in the program, not in one value."""
    return TypeError(f"map_async needs an async function, but its function returned {result!r}. Use map")


def guarded_async(function: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
    """An async function that returns a mark instead of raising."""

    async def call(value: Any) -> Any:
        try:
            awaitable = function(value)
        except Exception as exc:  # noqa: BLE001 - the policy handles it
            return caught(value, exc)
        if not hasattr(awaitable, "__await__"):
            raise not_async(awaitable)
        try:
            return await awaitable
        except Exception as exc:  # noqa: BLE001 - the policy handles it
            return caught(value, exc)

    return call


def guarded_iterable(
    function: Callable[[Any], Iterable[Any]], *, whole: bool = False
) -> Callable[[Any], Iterable[Any]]:
    """A function that returns an iterable, which ends with a mark instead of raising.

    With `whole`, the argument is a batch, and the mark stands for all of its values.
    """

    def count(value: Any) -> int:
        return len(value) if whole else 1

    def call(value: Any) -> Iterable[Any]:
        try:
            iterable = function(value)
        except Exception as exc:  # noqa: BLE001 - the policy handles it
            return (caught(value, exc, count(value)),)
        # A stream's failure is not this function's.
        return iterable if isinstance(iterable, Blueprint) else marked(value, result_of(function, iterable))

    def marked(value: Any, iterable: Iterable[Any]) -> Iterator[Any]:
        try:
            yield from iterable
        except Exception as exc:  # noqa: BLE001 - the policy handles it
            yield caught(value, exc, count(value))

    return call

"""`tap`: calls a function with every value that passes."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Module, Sync, Transformer
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.decorators import opens, transformer
from pullstream.engine.parts.fused import Kind, Stage, result_of
from pullstream.engine.parts.per_batch import PassOn
from pullstream.failures import Failed
from pullstream.modules.values.on_error import Handled, OnError, catches
from pullstream.protocol import Batch

A = TypeVar("A", default=Any)

OnEnd = Callable[[BaseException | None], object]


class _Sees:
    """A check for the `on_end` of `tap`, which adds a module of its own."""

    def __call__(self, call: Call, on_end: Any) -> Any:
        return Sync("on_end is called after the stream has ended and cannot await")(call, on_end)

    def below(self, module: Module, on_end: OnEnd) -> tuple[Module, ...]:
        """Give the module that calls `on_end`."""
        return (Module("on_end", _OnEnd, (on_end,), site=module.site, follows=True),)


@overload
def tap(function: Function[A, object], on_end: OnEnd | None = None, *, on_error: OnError[A] = "fail") -> Same[A]: ...
@overload
def tap(
    function: Function[A, object], on_end: OnEnd | None = None, *, on_error: Literal["result"]
) -> SameOrFailed[A, A | Failed[A]]: ...
@transformer
def tap(
    function: Annotated[Callable[[Any], object], Sync("use map_async(function, concurrency), and return the value")],
    on_end: Annotated[OnEnd | None, _Sees()] = None,  # noqa: ARG001 - the module below calls it
    *,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Call a function with every value, for its effect; the values pass unchanged.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.tap(print, on_end=print), ps.collect()))
    a
    b
    None
    ['a', 'b']

    `on_end` is called once, however the stream ends, after everything upstream has released its resources. It gets the
    exception if the stream failed or an error was sent upstream, and None if the stream ended or was aborted. To see
    requests and answers as well, use `probe`.

    Values keep their times. Errors in `function` are handled as in `map`; an error in `on_end` counts as a failed
    release (R8).
    """
    return opens(Stage(Kind.TAP, function, catches(on_error)))


class _OnEnd(PassOn):
    def __init__(self, on_end: OnEnd) -> None:
        self._on_end = on_end

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        return batch

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        # Every ending passes through here, even if the stream was never asked.
        try:
            await super().dismiss(reason)
        except BaseException as exc:
            result_of(self._on_end, self._on_end(exc))
            raise
        result_of(self._on_end, self._on_end(reason))

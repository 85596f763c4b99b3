"""`tap`: looking at what passes."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Module, Sync, Transformer
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.decorators import opens, transformer
from pullstream.engine.nested.on_error import Handled, OnError, catches
from pullstream.engine.parts.fused import Kind, Stage
from pullstream.engine.parts.per_batch import PassOn
from pullstream.failures import Failed
from pullstream.protocol import Batch, TimedBatch

A = TypeVar("A", default=Any)

OnEnd = Callable[[BaseException | None], object]


class _Sees:
    """A check whose argument brings a module of its own: what `tap` calls at the end."""

    def __call__(self, call: Call, on_end: Any) -> Any:
        return Sync("it is called when the stream has ended, and cannot wait")(call, on_end)

    def below(self, module: Module, on_end: OnEnd) -> tuple[Module, ...]:
        """The module that calls it."""
        return (Module("on_end", _OnEnd, (on_end,), site=module.site, follows=True),)


@overload
def tap(function: Function[A, object], on_end: OnEnd | None = None, *, on_error: OnError[A] = "fail") -> Same[A]: ...
@overload
def tap(
    function: Function[A, object], on_end: OnEnd | None = None, *, on_error: Literal["result"]
) -> SameOrFailed[A, A | Failed[A]]: ...
@transformer
def tap(
    function: Annotated[
        Callable[[Any], object], Sync("map_async(function, concurrency) awaits it; let it return its value")
    ],
    on_end: Annotated[OnEnd | None, _Sees()] = None,  # noqa: ARG001 - the module below calls it
    *,
    on_error: Handled = "fail",
) -> Transformer[Any, Any]:
    """Call a function with every value, for its effect; the values pass as they are.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.tap(print, on_end=print), ps.collect()))
    a
    b
    None
    ['a', 'b']

    `on_end` is called once, however the stream ends, when everything upstream has let go: with the exception, if it
    failed or an error was sent up; with None if it came to its end or was aborted. Times are kept. If `function`
    raises, see `map`; if `on_end` does, that is a release that failed (R8).
    """
    return opens(Stage(Kind.TAP, function, catches(on_error)))


class _OnEnd(PassOn):
    def __init__(self, on_end: OnEnd) -> None:
        self._on_end = on_end

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any]:
        return batch

    @override
    def answer_many(self, batch: TimedBatch[Any]) -> Batch[Any]:
        return batch

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        # The one place that every ending passes through, even of a stream that was never asked.
        try:
            await super().dismiss(reason)
        except BaseException as exc:
            self._on_end(exc)
            raise
        self._on_end(reason)

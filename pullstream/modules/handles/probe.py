"""`probe`: shows the requests and answers at one place in a pipeline."""

import logging
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any, Final

import attrs
from typing_extensions import override

from pullstream.blueprint import Call, Emits, Sync
from pullstream.blueprint.parts import Same
from pullstream.blueprint.variables import V
from pullstream.decorators import opens, transformer
from pullstream.engine.edge.kernel import Kernel
from pullstream.engine.parts.fused import result_of
from pullstream.engine.traits import PROMPT
from pullstream.errors import without_cancelled
from pullstream.history.diagram import shown
from pullstream.history.events import Act, seen
from pullstream.protocol import DONE, Batch, Done

_LOG: Final = logging.getLogger("pullstream.probe")


@attrs.frozen
class Probed:
    """A request that passed a probe, or its answer; as text, in the specification's notation (001).

    Requests are numbered from 1, and an answer has the number of its request. `what` is `ask`, `abort` or `error` for a
    request, and `value`, `done`, `error` or `cancelled` for an answer. `about` is the limit of an ask, the batch of an
    answer, or an exception.

    >>> print(Probed("ask", 1, 16), Probed("value", 1, Batch(0, ["a"]), answer=True))
    D: ask1(Ans1 16) U: Ans1=value('a')
    """

    what: str
    number: int
    about: object = None
    answer: bool = attrs.field(default=False, kw_only=True)

    def __str__(self) -> str:
        act = Act.FAILURE if self.answer and self.what == "error" else _ACTS[self.what]
        return shown(seen((0, act, self.number, 0, self.about)))


_ACTS: Final = {act.value: act for act in Act}


def _label_or_function(call: Call, show: Any) -> Any:
    return show if isinstance(show, str) else Sync("show is called synchronously and cannot await")(call, show)


@transformer
@Emits.AT_ONCE
def probe(show: Annotated[str | Callable[[Probed], object], _label_or_function]) -> Same[V]:
    """Show every request and answer that passes, without changing them; for values only, use `tap`.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("ab"), ps.probe(print), ps.take(1), ps.collect()))
    D: ask1(Ans1)
    U: Ans1=value('a')
    D: abort2(Ans2)
    U: Ans2=done
    ['a']

    `show` is called with each request and answer: `print` prints them, and a list's `append` collects them for a test.
    If `show` is a string, it is a label: the logger `pullstream.probe` logs requests and answers with it, at debug
    level. An error in `show` fails the stream, like an error in any other function (R8).
    """
    return opens(_Probe(partial(_LOG.debug, "%s  %s", show) if isinstance(show, str) else show))


class _Probe(Kernel[Any]):
    # Not polled: a poll that must wait has asked nothing, so it would show asks that were never sent.
    traits = PROMPT

    def __init__(self, show: Callable[[Probed], object]) -> None:
        self._function = show
        self._requests = 0

    def _show(self, probed: Probed) -> None:
        result_of(self._function, self._function(probed))

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        self._requests += 1
        number = self._requests
        self._show(Probed("ask", number, limit))
        try:
            answer = await self.upstream.ask_many(limit)
        except BaseException as exc:
            self._show(_raised(number, exc))
            raise
        if answer is DONE:
            self._show(Probed("done", number, answer=True))
        else:
            self._show(Probed("value", number, answer, answer=True))
            self.upstream.settle()
        return answer

    @override
    async def dismiss(self, reason: BaseException | None) -> None:
        if self.upstream.over:
            # Upstream has already ended, so nothing is sent (R9).
            await super().dismiss(reason)
            return
        self._requests += 1
        number = self._requests
        try:
            self._show(Probed("abort" if reason is None else "error", number, reason))
        finally:
            # An error in `show` must not keep upstream open.
            try:
                await super().dismiss(reason)
            except BaseException as exc:
                self._show(_raised(number, exc))
                raise
        self._show(Probed("done", number, answer=True))


def _raised(number: int, exc: BaseException) -> Probed:
    if without_cancelled(exc) is None:
        return Probed("cancelled", number, answer=True)
    return Probed("error", number, exc, answer=True)

"""`skip`: a stream without its beginning."""

from collections.abc import Callable, Hashable, Sequence
from types import CoroutineType
from typing import Annotated, Any, Final, Literal, overload

from typing_extensions import TypeVar, override

from pullstream.blueprint import Call, Count, Sync, Transformer
from pullstream.blueprint.checks import TRUTH
from pullstream.blueprint.parts import Function, Same, SameOrFailed
from pullstream.decorators import opens, transformer
from pullstream.engine.interfaces import Inline
from pullstream.engine.parts.fused import result_of
from pullstream.engine.parts.per_batch import PassOn, PerBatch
from pullstream.engine.traits import Carries, Traits
from pullstream.failures import Caught, Failed
from pullstream.modules.values.on_error import Handled, OnError, catches, guarded
from pullstream.protocol import Batch
from pullstream.resuming.interfaces import Resumable

A = TypeVar("A", default=Any)


class _Skip(PassOn, Inline, Resumable):
    traits = Traits(waits=False, trusted=True, carries=Carries.MEMORY)

    def __init__(self, count: int) -> None:
        self.left_out = count

    @override
    def restore(self) -> None:
        self.left_out = self.memory.get("left", self.left_out)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        return self.run_by_run(batch, self._skip) if self.left_out else batch

    def _skip(self, run: Batch[Any]) -> Batch[Any] | None:
        rest = run.values[self.left_out :]
        self.left_out -= len(run.values) - len(rest)
        self.memory.at(run.time)["left"] = self.left_out
        return Batch(run.time, rest) if rest else None


class _SkipWhile(PerBatch, Inline, Resumable):
    traits = Traits(waits=False, trusted=True, carries=Carries.MEMORY)

    def __init__(self, test: Callable[[Any], object], on_error: object = "fail") -> None:
        self._test = guarded(test) if catches(on_error) else test
        self._skipping = True

    @override
    def restore(self) -> None:
        self._skipping = self.memory.get("skipping", True)

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        return super().answer(batch) if self._skipping else batch

    @override
    def work(self, out: list[Any], time: Hashable, values: Sequence[Any]) -> None:
        if not self._skipping:
            out += values
            return
        for position, value in enumerate(values):
            holds = self._test(value)
            if holds.__class__ is CoroutineType:
                result_of(self._test, holds)
            if not holds:
                self._skipping = False
                out += values[position:]
                break
            if type(holds) is Caught:
                out.append(holds)
        self.memory.at(time)["skipping"] = self._skipping


_AT_ONCE: Final = Sync("a test cannot await; use map_async first, then skip by its results", TRUTH)


def _count_or_test(call: Call, what: Any) -> Any:
    if callable(what):
        return _AT_ONCE(call.about("test"), what)
    if call["on_error"] != "fail":
        raise call.refuse("got on_error=, which applies only to a test")
    return Count()(call.about("count"), what)


@overload
def skip(what: int, /) -> Same[A]: ...
@overload
def skip(what: Function[A, object], /, *, on_error: OnError[A] = "fail") -> Same[A]: ...
@overload
def skip(what: Function[A, object], /, *, on_error: Literal["result"]) -> SameOrFailed[A, A | Failed[A]]: ...
@transformer
def skip(
    what: Annotated[int | Callable[[Any], object], _count_or_test], /, *, on_error: Handled = "fail"
) -> Transformer[Any, Any]:
    """Drop the first values, either a number of them or while a test is true, and give the rest.

    >>> import pullstream as ps
    >>> ps.run(ps.pipe(ps.values("abcd"), ps.skip(2), ps.collect()))
    ['c', 'd']
    >>> ps.run(ps.pipe(ps.values([1, 2, 9, 1]), ps.skip(lambda n: n < 5), ps.collect()))
    [9, 1]

    Values keep their times. Errors in the test are handled as in `map`; a value whose test raised does not end the
    skipping.
    """
    return opens(_SkipWhile(what, on_error) if callable(what) else _Skip(what))

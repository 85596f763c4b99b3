"""Stages, and the kernel that runs a row of them as one loop.

Neighbouring stages are fused when the pipeline is opened: one loop over the batch calls all their functions. The loop
is generated as Python source, because CPython calls Python functions faster from bytecode than from the C code of the
builtin `map`, and needs no list between stages. Batching stays invisible: when a callable raises, the results before it
are answered now, and the failure comes with the next ask.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from enum import Enum
from functools import cache
from itertools import islice
from sys import maxsize
from types import CoroutineType, GeneratorType
from typing import Any, Final, TypeAlias

import attrs
from typing_extensions import override

from pullstream.blueprint import Module, shown_callable
from pullstream.engine.interfaces import Inline
from pullstream.engine.parts.countable import before_last, countable
from pullstream.engine.parts.per_batch import PassOn
from pullstream.engine.runtime.busy import BREATH
from pullstream.engine.traits import PROMPT, Carries
from pullstream.failures import Caught, Unawaited, caught
from pullstream.protocol import NOT_YET, Batch, Done, Unanswered
from pullstream.resuming.interfaces import Resumable

Loop: TypeAlias = "GeneratorType[None, tuple[Any, ...], None]"


class Kind(Enum):
    """Kinds of stages. The value of each is its part of the loop: the source lines that handle one value."""

    MAP = ("value = {result}",)
    FILTER = ("if not {result}: continue",)
    FILTER_NOT = ("if {result}: continue",)
    TAP = ("{result}",)
    # These two follow a stage that catches (see `failures`).
    LEAVE_OUT = ("if value.__class__ is Caught:", "    {result}", "    continue")
    REVEAL = ("if value.__class__ is Caught: value = {result}",)

    # An enum's own hash is written in Python, and each run looks up its loop by the kinds of its stages.
    __hash__ = object.__hash__


PASSES_ALL: Final = frozenset({Kind.MAP, Kind.TAP, Kind.REVEAL})
"""The kinds that leave no value out."""


@attrs.frozen
class StageMemory:
    """Functions that save a stage's state to a dict after each batch, and load it from there."""

    save: Callable[[MutableMapping[Any, Any]], None]
    load: Callable[[Mapping[Any, Any]], None]


@attrs.frozen
class Stage:
    """A function from one value to at most one. Any state it keeps between calls is its own, made for one run.

    If it `catches`, a value for which the function raises is marked, and the loop continues. A stage with state between
    values says in `memory` how a journal saves it.
    """

    kind: Kind
    function: Callable[[Any], Any]
    catches: bool = False
    memory: StageMemory | None = None


def result_of(function: Callable[..., Any], result: Any) -> Any:
    """Return a function's result; refuse a coroutine. Inspecting a lambda cannot tell whether it returns one."""
    if isinstance(result, CoroutineType):
        result.close()
        raise Unawaited(
            f"{shown_callable(function)} returned a coroutine, which is not awaited: use map_async(f, concurrency) "
            f"for an async function"
        )
    return result


@cache
def _loop(
    kinds: tuple[tuple[Kind, bool], ...], *, many: bool = False, trial: bool = False
) -> tuple[Callable[[Sequence[Callable[[Any], Any]]], Loop], tuple[int, ...]]:
    """The fused loop of a row of stages, and for each of its lines the number of its stage.

    The loop is a generator. Each batch is sent to it, with the list for its results. It keeps neither while it waits
    for the next, because a caught exception that someone keeps also keeps the frames it passed through. With `many`,
    the times of the values are sent as well, and a list for the times of the results. A `trial` refuses coroutines.
    """
    names = [f"function_{number}" for number in range(len(kinds))]
    lines = [
        "def loop(functions):",
        f"    {', '.join(names)}, = functions",
        "    while True:",
        "        values, out, times, kept = yield" if many else "        values, out = yield",
        "        for value, time in zip(values, times):" if many else "        for value in values:",
    ]
    owners = [0] * len(lines)
    for number, (kind, catches) in enumerate(kinds):
        result = f"{names[number]}(value)"
        if trial:
            result = f"result_of({names[number]}, {result})"
        part = [line.format(result=result) for line in kind.value]
        if catches:
            part = ["try:", *(f"    {line}" for line in part), "except Exception as exc: value = caught(value, exc)"]
        lines += [f"            {line}" for line in part]
        owners += [number] * len(part)
    lines.append("            out.append(value)")
    if many:
        lines.append("            kept.append(time)")
    lines.append(f"        values = out = value = {'times = kept = time = ' if many else ''}None")
    namespace: dict[str, Any] = {"Caught": Caught, "caught": caught, "result_of": result_of}
    exec(compile("\n".join(lines), "<fused stages>", "exec"), namespace)  # noqa: S102 - of nothing but the text above
    return namespace["loop"], tuple(owners)


class StageDict(MutableMapping[Any, Any]):
    """The part of a dict that belongs to one stage."""

    def __init__(self, whole: MutableMapping[Any, Any], number: int) -> None:
        self._whole = whole
        self._number = number

    @override
    def __getitem__(self, key: Any) -> Any:
        return self._whole[self._number, key]

    @override
    def __setitem__(self, key: Any, value: Any) -> None:
        self._whole[self._number, key] = value

    @override
    def __delitem__(self, key: Any) -> None:
        del self._whole[self._number, key]

    @override
    def __iter__(self) -> Iterator[Any]:
        return (key for number, key in self._whole if number == self._number)

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)


_REMEMBERING: Final = attrs.evolve(PROMPT, carries=Carries.MEMORY)


class Segment(PassOn, Inline, Resumable):
    """Neighbouring stages, run as one in the asker's task."""

    def __init__(self, stages: Sequence[Stage], modules: Sequence[Module]) -> None:
        self._modules = modules
        # This is read at every ask, and attributes of the instance are found fastest.
        self.most = maxsize
        self._failure: BaseException | None = None
        self._functions = [stage.function for stage in stages]
        for number, stage in enumerate(stages):
            if stage.kind is Kind.LEAVE_OUT:
                self._functions[number] = self._left_out if number else self._left_out_above
        self._kinds = tuple([(stage.kind, stage.catches) for stage in stages])
        self._passes_all = PASSES_ALL.issuperset([stage.kind for stage in stages])
        self._quick = False
        """Whether a value is known to take little time. Until then a result does not wait for other calls' results."""
        self._careful = 0
        """The limit of the ask, while a batch is processed that may show whether values are quick."""
        self._left: Batch[Any] | None = None
        """The values of a batch after a slow one; they are in flight here."""
        self._loops: list[Loop] = []
        """The loop for the first batch, which checks whether a function returns a coroutine, and the loop for others.

        Every loop lives as long as this kernel. If one ended in the middle of an answer, Python 3.12 would keep that
        call, and with it the batch, for as long as someone keeps an exception that was caught.
        """
        self._timed: list[Loop] = []
        """The same for batches whose values each have their own time."""
        self._memories = {number: stage.memory for number, stage in enumerate(stages) if stage.memory is not None}
        self._saves = False
        if self._memories:
            self.traits = _REMEMBERING

    @override
    def answer(self, batch: Batch[Any]) -> Batch[Any] | None:
        if self._saves and not batch.uniform:
            # The state of a stage is saved time by time.
            return self.run_by_run(batch, self.answer)
        out: list[Any] = []
        times: list[Any] | None = None
        sent: tuple[Any, ...]
        values: Any = iter(batch.values) if batch.uniform else countable(batch)
        if self._saves:
            self.memory.at(batch.time)
        try:
            if batch.uniform or self._passes_all:
                loops, sent = self._loops, (values, out)
            else:
                times = []
                loops, sent = self._timed, (values, out, iter(batch.times), times)
            if len(loops) < 2:
                self._add_loop(loops)
            if self._careful:
                self._send_some(batch, loops[-1], sent)
            else:
                loops[-1].send(sent)
        except BaseException as exc:  # noqa: BLE001 - raised now or at the next ask
            self._failure = exc
            self.fail(exc, out, batch, before_last(batch, values))
        finally:
            if self._saves:
                self._save()
        if not out:
            return None
        if batch.uniform:
            return Batch(batch.time, out)
        return Batch.of(batch.times[: len(out)] if times is None else times, out)

    def _send_some(self, batch: Batch[Any], loop: Loop, sent: tuple[Any, ...]) -> None:
        """Process the first value of a batch and, if it was quick, others up to the limit; the rest is left."""
        values, *others = sent
        began = self.run.clock.now()
        loop.send((islice(values, 1), *others))
        self._quick = self.run.clock.waited(began, self.run.clock.now()) <= BREATH
        count = self._careful if self._quick else 1
        loop.send((islice(values, count - 1), *others))
        self._leave(batch, count)

    def _leave(self, batch: Batch[Any], taken: int) -> None:
        if len(batch.values) > taken:
            self._left, self._quick = batch.part(taken), False

    def _add_loop(self, loops: list[Loop]) -> None:
        make, _ = _loop(self._kinds, many=loops is self._timed, trial=not loops)
        loop = make(self._functions)
        next(loop)
        loops.append(loop)

    @override
    def poll(self, limit: int) -> Batch[Any] | Done | Unanswered:
        if self._quick:
            return super().poll(limit)
        batch = self.upstream.poll(limit) if self._left is None else self._left
        if not isinstance(batch, Batch):
            return batch
        self._left = None
        self._careful = limit
        # The state of a stage is saved time by time.
        first = next(batch.runs()) if self._saves else batch
        answer = self.answer(first)
        self._careful = 0
        if first is not batch and self.__edge__.fails_next is None:
            self._leave(batch, len(first.values) - (0 if self._left is None else len(self._left.values)))
        if self._left is not None:
            self.upstream.ack_but(self._left)
        elif answer is not None and self.__edge__.fails_next is None:
            self.upstream.settle()
        return answer or NOT_YET

    @override
    def restore(self) -> None:
        self._saves = self.memory.saves
        for number, memory in self._memories.items():
            memory.load(StageDict(self.memory, number))

    def _save(self) -> None:
        for number, memory in self._memories.items():
            memory.save(StageDict(self.memory, number))

    def _left_out_above(self, caught: Caught) -> None:
        # The module that caught it is not a stage but the module upstream.
        self.upstream.edge.location.leave_out(caught.count, caught.error, marks=1)

    def _left_out(self, caught: Caught) -> None:
        self.location.leave_out(caught.count, caught.error)

    @override
    def culprit(self) -> str:
        traceback = None if self._failure is None else self._failure.__traceback__
        codes = {loop.gi_code for loop in (*self._loops, *self._timed)}
        while traceback is not None and traceback.tb_frame.f_code not in codes:
            traceback = traceback.tb_next
        if traceback is None:
            return ""
        _, owners = _loop(self._kinds)
        module = self._modules[owners[traceback.tb_lineno - 1]]
        return f"{module}, composed at {module.site}"

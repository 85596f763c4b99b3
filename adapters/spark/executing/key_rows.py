"""Run the keys of a partition, one after another, through modules that need no stream: a key costs only its state."""

from collections import deque
from collections.abc import Hashable, Sequence
from typing import Any, cast

from typing_extensions import override

from pullstream import DONE, Batch, Transformer
from pullstream.authoring import Done, InlineRow, Kernel, Location, Module, Place, Traits, members_of

from .input import Cursor, KeyBatch


def runs_in_a_row(modules: tuple[Module, ...]) -> bool:
    """Whether all modules are stages and folds, which `KeyRows` can call."""
    return members_of(Transformer(modules)) is not None


class _WithoutHolds:
    """A location without holds: each key starts its times anew, and nothing outside observes them."""

    def __init__(self, location: Location) -> None:
        self.leave_out = location.leave_out

    def hold(self, time: Hashable) -> None:
        """Hold nothing."""

    drop = hold


class KeyRows(Kernel[Any]):
    """Runs transformers on each key's rows; emits their results with times and key.

    A time is complete when the key has a later one, or no more rows.
    """

    traits = Traits(trusted=True)

    def __init__(self, cursor: Cursor, modules: tuple[Module, ...]) -> None:
        self._cursor = cursor
        self._transformer = Transformer[Any, Any](modules)
        self._row: InlineRow | None = None
        self._time: Hashable = None
        self._answers: deque[KeyBatch] = deque()
        self._times: list[Hashable] = []
        self._values: list[Any] = []
        """The results for the next answer."""

    @override
    def placed(self) -> None:
        self._place = Place(self)
        self._place.location = cast("Location", _WithoutHolds(self.location))

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        while not self._answers or (len(self._answers) < limit and self._cursor.at_hand):
            if await self._cursor.here() is None:
                self._finish()
                if not self._answers:
                    return DONE
                break
            self._pass_stretch()
            if not await self.breathe():
                return DONE
        return Batch(0, [self._answers.popleft() for _ in range(min(limit, len(self._answers)))])

    def _pass_stretch(self) -> None:
        """Pass a stretch to its key's modules, which are created if it is the key's first one."""
        stretch = self._cursor.next_stretch()
        if self._row is None or stretch.key != self._cursor.key:
            self._finish()
            members = members_of(self._transformer)
            assert members is not None, "checked by `runs_in_a_row`"
            self._row, self._cursor.key = InlineRow(members, self._place, self._collect), stretch.key
            self._time = None
        row = self._row
        try:
            self._feed(row, stretch)
        finally:
            self._answer()

    def _feed(self, row: InlineRow, stretch: KeyBatch) -> None:
        for run in stretch.batch.runs():
            if row.over:
                return
            if run.time != self._time:
                if row.waits(self._time):
                    row.complete(self._time)
                self._time = run.time
            row.feed(run.time, run.values)

    def _finish(self) -> None:
        """Finish the current key, which has no more rows."""
        if self._row is not None:
            if not self._row.over:
                self._row.finish()
                self._answer()
            self._row = None

    def _collect(self, time: Hashable, values: Sequence[Any]) -> None:
        self._times += [time] * len(values)
        self._values += values

    def _answer(self) -> None:
        """Make one answer of all results of a key so far, at any times."""
        if self._values:
            self._answers.append(KeyBatch(Batch.of(self._times, self._values), self._cursor.key or ()))
            self._times, self._values = [], []

    @override
    def culprit(self) -> str:
        return "" if self._row is None else self._row.culprit()

"""Read a partition on an executor, in other threads, one batch per ask.

Spark provides a partition as a blocking iterator. In another thread it blocks nothing else: while Spark is slow,
the transformers continue with what is in flight, and their results are delivered.
"""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, groupby, repeat
from typing import Any, cast

import attrs
from typing_extensions import override

from pullstream import DONE, Batch, PullstreamError, Source
from pullstream.authoring import PROMPT, Backlog, Done, Kernel, Module, Site, Traits

from ... import arrow
from ...arrow import As, NullTimeError, RecordBatch, Shape, in_utc, run_starts, values as python_values
from ...stopping import in_thread


class RowError(PullstreamError, ValueError):
    """A value emitted by a stream on the executors is not a row of its schema."""


@attrs.frozen
class KeyBatch:
    """Neighbouring rows of one key, or values that its stream has emitted, with their times."""

    batch: Batch[Any]
    key: tuple[Any, ...] = ()

    @property
    def rows(self) -> int:
        """The number of rows that the values will become."""
        return arrow.row_count(self.batch.values)

    def filled(self, given: Mapping[str, int]) -> Iterator[arrow.Portion]:
        """The values, and what fills the columns that they lack; `given` has their places in (time, key, key, ...)."""
        timed = 0 in given.values()
        for run in self.batch.runs() if timed else [self.batch]:
            known = (run.time if timed else None, *self.key)
            yield run.values, {name: known[place] for name, place in given.items()}


class Splitting:
    """Splits Arrow batches by key and time, which are in their last columns."""

    def __init__(self, as_: As, names: Sequence[str], keys: int, time: str | None) -> None:
        """Make a splitting; `time` names the time in messages, and is None if rows have none."""
        self._shape = Shape(as_, names)
        self._width = len(names)
        self._whole = as_ == "batches"
        self._keys = keys
        self._time = time

    def __call__(self, batch: RecordBatch) -> list[KeyBatch]:
        """Split a batch into stretches, in order."""
        timed = self._time is not None
        if not len(batch):
            return []
        values, marks = self._shape.of(in_utc(batch.select(range(self._width)))), batch.columns[self._width :]
        if not (self._keys or timed):
            return [KeyBatch(Batch(0, values))]
        if self._time is not None and marks[-1].null_count:
            raise NullTimeError.of(marks[-1].null_count, len(batch), self._time)
        starts = run_starts(*marks)
        heads = zip(*(python_values(column.take(starts)) for column in marks), strict=True)
        changes = [(head[:-1], head[-1]) if timed else (head, 0) for head in heads]
        bounds: list[int] = [*starts.to_pylist(), len(batch)]
        runs = zip(changes, bounds, bounds[1:], strict=False)
        if self._whole:
            # Arrow batches, cut wherever the key or the time changes.
            return [KeyBatch(Batch(at, [values[0].slice(start, end - start)]), key) for (key, at), start, end in runs]
        stretches: list[KeyBatch] = []
        for key, same in groupby(runs, lambda run: run[0][0]):
            parts = list(same)
            part = values[parts[0][1] : parts[-1][2]]
            times = list(chain.from_iterable(repeat(at, end - start) for (_, at), start, end in parts))
            stretches.append(KeyBatch(Batch(times[0], part) if len(parts) == 1 else Batch.of(times, part), key))
        return stretches


class Cursor:
    """The position in a partition, whose iterator is read in threads, one batch per call."""

    def __init__(self, batches: Iterator[RecordBatch], split: Callable[[RecordBatch], list[KeyBatch]]) -> None:
        self._batches = batches
        self._split = split
        self._turn = threading.Lock()
        self._closed = False
        self._stretches: deque[KeyBatch] = deque()
        self._rest = Backlog()
        """The rest of the first stretch, once a part of it was taken."""
        self.key: tuple[Any, ...] | None = None

    async def here(self) -> KeyBatch | None:
        """Wait for the current stretch, which may be partly read; None at the end."""
        while not self._stretches:
            more = await self.more()
            if more is None:
                return None
            self._stretches.extend(more)
        return self._stretches[0]

    async def more(self) -> list[KeyBatch] | None:
        """Wait for the stretches of the next batch; None at the end. If the call is cancelled, the batch is lost."""
        return await in_thread(self._read)

    def _read(self) -> list[KeyBatch] | None:
        with self._turn:
            batch = None if self._closed else next(self._batches, None)
            return None if batch is None else self._split(batch)

    def close(self, patience: float | None) -> None:
        """Stop reading, and wait for the current read, at most `patience` seconds (None: without limit)."""
        self._closed = True
        if self._turn.acquire(timeout=-1 if patience is None else patience):
            self._turn.release()

    @property
    def at_hand(self) -> bool:
        """Whether `here` returns a stretch without waiting."""
        return bool(self._stretches)

    def next_stretch(self) -> KeyBatch:
        """Take the whole current stretch; call this only after `here` returned one."""
        self._rest.drop()
        return self._stretches.popleft()

    def take(self, limit: int) -> Batch[Any]:
        """Take the next values of the current stretch, at most `limit`."""
        if not self._rest:
            self._rest.put(self._stretches[0].batch)
        batch = self._rest.take(limit)
        if not self._rest:
            self._stretches.popleft()
        return batch

    async def next_key(self) -> tuple[Any, ...] | None:
        """Skip the rest of the current key, and go to the next one; None at the end."""
        while (stretch := await self.here()) is not None:
            if stretch.key != self.key:
                self.key = stretch.key
                return stretch.key
            self.next_stretch()
        return None


class Rows(Kernel[Any]):
    """Reads the rows of a partition, or those of one `key`."""

    traits = Traits(trusted=True)

    def __init__(self, cursor: Cursor, key: tuple[Any, ...] | None = None) -> None:
        self._cursor = cursor
        self._key = key

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        stretch = await self._cursor.here()
        if stretch is None or (self._key is not None and stretch.key != self._key):
            return DONE
        return self._cursor.take(limit)


class Keys(Kernel[Any]):
    """Emits a stream for each key of a partition, one after another: each must be read before the next ask."""

    traits = Traits(trusted=True)

    def __init__(self, cursor: Cursor, modules: tuple[Module, ...], site: Site) -> None:
        self._cursor = cursor
        self._modules = modules
        self._site = site

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        key = await self._cursor.next_key()
        if key is None:
            return DONE
        rows = Module("rows", Rows, (self._cursor, key), site=self._site)
        module = Module("answers", Answers, (key,), site=self._site)
        return Batch(0, [cast("Any", Source((rows, *self._modules, module)))])


class Answers(Kernel[Any]):
    """Turns each batch into one value, a `KeyBatch`, which holds the times and the key as well."""

    traits = PROMPT

    def __init__(self, key: tuple[Any, ...] = ()) -> None:
        self._key = key

    @override
    async def produce(self, limit: int) -> Batch[Any] | Done:
        batch = await self.upstream.ask_many(limit)
        if batch is DONE:
            return DONE
        self.upstream.ack()
        # One value, at the earliest of its times: none of them is complete before it is delivered.
        return Batch(batch.least[0], [KeyBatch(batch, self._key)])

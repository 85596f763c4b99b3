"""The sink that writes files: its arguments, and a run's targets, driven by the completion protocol."""

import os
from collections.abc import Awaitable, Hashable, Mapping, Sequence
from typing import Any, TypedDict

import trio
from typing_extensions import Unpack, override

from pullstream import Batch, Context, Sink
from pullstream.authoring import LOG, Call, Committer, Count, Module, Site

from ...sinks import SinkBody
from ..conflicts import RunFiles
from ..names import known_options, url_argument
from .formats import WriteFormat
from .keys import Key, key_argument
from .refusals import explained
from .sink import Completion, FilesWriter, WritePlan
from .target import Target, is_url


class FilesCommitter(Committer[list[Any]]):
    """A run's side of the completion protocol: each method calls the writer in a thread."""

    _writing: FilesWriter
    _ctx: Context

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan
        self._untimed = plan.format.grows and not plan.target.grows
        """Whether all times so far were 0, although the target has a field for the time, which is optional here."""
        self._begun = False
        """Whether this run has committed anything."""

    @override
    async def open(self, ctx: Context) -> tuple[()]:
        self._ctx, memory = ctx, ctx.memory
        run_files = RunFiles.of(ctx.common, ctx.journal)
        self._writing = writing = FilesWriter(self._plan, run_files, resumable=memory.saves)
        await trio.to_thread.run_sync(writing.open, dict(memory), memory.notes.earlier())
        ctx.status(writing.status)
        return ()

    @override
    def prepare(self, batch: Batch[Any]) -> Awaitable[None] | None:
        self._writing.add(batch.time, batch.values)
        return self._work() if self._writing.pressed else None

    async def _work(self) -> None:
        await self.idle()
        await trio.to_thread.run_sync(self._writing.work)

    @override
    async def commit(self, times: Sequence[Hashable]) -> None:
        writing, memory = self._writing, self._ctx.memory
        self._begun = True
        self._untimed = self._untimed and all(type(time) is int and time == 0 for time in times)
        made: list[Completion] = []
        try:
            await trio.to_thread.run_sync(writing.complete, times, made)
        finally:
            for done in made:
                writing.forget(done)
                if memory.saves:
                    # A growing file's length depends on all earlier times; an entry depends on its own time only.
                    memory.notes.add(done.time, (done.time, done.made, done.entries))
                    if done.lengths:
                        memory.at(done.time).update(done.lengths)

    @override
    async def ended(self) -> None:
        if self._writing.lacks_its_file:
            await trio.to_thread.run_sync(self._writing.end)
        if self._begun and self._untimed and self._writing.result:
            LOG.warning(
                "%s: every value is at the time 0, which is in the name of its file. Values without an assigned time "
                "are at 0: assign times with time= in the source or with stamp(...), or leave {time} out of the name",
                self._plan.where,
            )

    @override
    async def close(self) -> None:
        with explained("unfinished files could not be removed; the next run will remove them"):
            await trio.to_thread.run_sync(self._writing.close)

    @override
    def result(self) -> list[Any]:
        return self._writing.result


class WriteOptions(TypedDict, total=False):
    """The options that all writing sinks share; `write_jsonl` explains them.

    - `key`: a function of a value, or a column's name, for the `{key}` in the target; by default None.
    - `manifest`: the path of a file that lists the files that have appeared; by default None.
    - `open_files`: the maximum number of unfinished files that are compressed, Parquet or Arrow; by default 64.
    - `durable`: whether a file is synced to disk before it appears; by default True.
    - `storage_options`: what fsspec needs for URLs; by default None.
    """

    key: Key
    manifest: str | os.PathLike[str] | None
    open_files: int
    durable: bool
    storage_options: Mapping[str, Any] | None


def writer(
    target: object,
    format: WriteFormat,
    own: Mapping[str, object],
    *,
    rows: bool = True,
    **options: Unpack[WriteOptions],
) -> Sink[Any, list[Any]]:
    """Make a writing sink; `own` are the module's own options, for display, and `rows` says if values have columns."""
    module = format.module
    known_options(module, options, {*WriteOptions.__annotations__, *own})
    place = Target.of(module, target)
    if place.is_url:
        url_argument(module, place.template)
    key_argument(module, options.get("key"), wanted="key" in place.fields, rows=rows)
    call = Call(module, name="open_files")
    Count(1)(call, options.get("open_files", 64))
    if place.grows and not format.grows:
        raise call.refuse(
            f"got the target {place.template!r}, but a file of this format cannot be extended later. Add {{time}} to "
            f"the target, for one file per time; values without an assigned time are at the time 0"
        )
    if place.grows and place.is_url:
        raise call.refuse(
            f"got the target {place.template!r}, but a file at a URL cannot grow: add {{time}} to the target, or write "
            f"to a local path"
        )
    given: Any = {**options, "manifest": _manifest(module, options.get("manifest"))}
    plan = WritePlan(place, format, f"{module}() at {Site.here()}", **given)
    options_set = [(name, value) for name, value in {**own, **options}.items() if value is not None]
    shown = {"compression": "infer", "end": "\n", "delimiter": ",", "header": True, "open_files": 64, "durable": True}
    options_shown = tuple((name, value) for name, value in options_set if shown.get(name) != value)
    return Sink((Module(module, SinkBody(FilesCommitter, plan), (os.fspath(place.template),), options_shown),))


def _manifest(module: str, path: Any) -> str | None:
    if path is None:
        return None
    if not (isinstance(path, str) or hasattr(path, "__fspath__")) or not str(path) or is_url(str(path)):
        raise Call(module).refuse(f"got manifest={path!r}: give the path of a local file")
    return str(path)

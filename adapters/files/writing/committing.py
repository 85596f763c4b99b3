"""The sink that writes files: a run's targets, driven by the completion protocol."""

from collections.abc import Awaitable, Hashable, Sequence
from typing import Any

import trio
from typing_extensions import override

from pullstream import Batch, Context
from pullstream.authoring import LOG, Committer

from ..conflicts import RunFiles
from .refusals import explained
from .sink import Completion, FilesWriter, WritePlan


class FilesCommitter(Committer[list[Any]]):
    """A run's end of the completion protocol: each method is the writer's, in a thread."""

    _writing: FilesWriter
    _ctx: Context

    def __init__(self, plan: WritePlan) -> None:
        self._plan = plan
        self._untimed = plan.format.grows and not plan.target.grows
        """Whether all times so far were 0, although the target has a field for the time, and could do without."""
        self._begun = False
        """Whether this run has committed anything."""

    @override
    async def open(self, ctx: Context) -> tuple[()]:
        self._ctx, memory = ctx, ctx.memory
        self._writing = writing = FilesWriter(self._plan, RunFiles.of(ctx.common, ctx.journal))
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
                    # A growing file's length depends on all times before; whether a file was made, only on its own.
                    memory.notes.add(done.time, (done.time, done.made, done.entries))
                    if done.lengths:
                        memory.at(done.time).update(done.lengths)

    @override
    async def close(self) -> None:
        if self._begun and self._untimed and self._writing.result:
            LOG.warning(
                "%s, got every value at the time 0, which is in the name of its file. Values without an assigned time "
                "are at 0: assign times with time= in the source or with stamp(...), or leave {time} out of the name",
                self._plan.where,
            )
        with explained("unfinished files could not be removed; the next run will remove them"):
            await trio.to_thread.run_sync(self._writing.close)

    @override
    def result(self) -> list[Any]:
        return self._writing.result

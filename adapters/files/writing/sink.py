"""The targets of a sink's run: values that wait, and the files made of them."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from pullstream.authoring import LOG

from ..conflicts import RunFiles, WritePaths
from ..names import fsspec
from .disk import Disk
from .formats import WriteFormat
from .growing import GrowingFiles, Length
from .keys import Key, by_key
from .manifest import FileEntry, Manifest, plain
from .pending import PendingFile, WriteBehind
from .refusals import FileTargetError, explained
from .staging import StagingFolder
from .store import Local, Remote
from .target import Names, Target

MEMORY = 64 << 20
"""The maximum bytes that wait in memory, over all targets; the rest goes to disk."""

LOOSE = 1 << 16
"""The maximum number of rows that wait as Python objects, over all targets."""

TOGETHER = 1 << 16
"""The bytes of small files that appear together; more would need more space beside the files they replace."""

FinishedTime: TypeAlias = tuple[Hashable, int, list[FileEntry]]
"""A time, its number in the order of completion, and its files."""


@attrs.frozen
class Completion:
    """The files of a complete time, and the amounts that it had in memory."""

    time: Hashable
    made: int
    """The time's number in the order of completion."""
    entries: list[FileEntry]
    lengths: Mapping[str, Length]
    """The lengths of growing files after it."""
    held: int
    loose: int


@attrs.frozen
class WritePlan:
    """The arguments of a sink; immutable."""

    target: Target
    format: WriteFormat
    where: str
    """The module and the line where it was composed."""
    key: Key = None
    manifest: str | None = None
    open_files: int = 64
    durable: bool = True
    storage_options: Mapping[str, Any] | None = None


class FilesWriter:
    """The targets of a run; `add` is quick, all other methods block and must run in a thread."""

    def __init__(self, plan: WritePlan, run_files: RunFiles, *, resumable: bool) -> None:
        self._plan = plan
        self._run_files = run_files
        self._writes: WritePaths | None = None
        self._disk = disk = Disk(durable=plan.durable)
        self._grows = plan.target.grows
        self._names = Names(plan.target)
        self._staging = StagingFolder(disk, plan.target)
        local = Local(disk, plan.target)
        self._store: Local | Remote = Remote(plan.target, plan.storage_options) if plan.target.is_url else local
        self._growing = GrowingFiles(disk, plan.format, self._staging, local, resumable=resumable)
        self._what = f"{plan.target.module} cannot write to {plan.target.template!r}"
        self._listing = f"{plan.target.module} cannot write its manifest, {plan.manifest!r}"
        path = plan.manifest
        self._manifest = None if path is None else Manifest(disk, Path(path), plan.target.module)
        self._parts: dict[Hashable, dict[Hashable, PendingFile]] = {}
        self._behind = WriteBehind()
        self._full: dict[PendingFile, None] = {}
        self._begun: set[PendingFile] = set()
        self._held = 0
        self._loose = 0
        self._made = 0
        self._shown: set[str] = set()
        self.result: list[Any] = []

    def open(self, lengths: Mapping[str, Length], made: Iterable[FinishedTime] = ()) -> None:
        """Become the only writer of the target, and continue from the state of an earlier run, if there is one."""
        plan, target = self._plan, self._plan.target
        samples, fs = target.samples, None
        if target.is_url:
            fs, _ = fsspec().core.url_to_fs(target.root, **(plan.storage_options or {}))
            self._names.plain = fs._strip_protocol  # noqa: SLF001 - as in store
            samples = [*map(self._names.plain, samples)]
        shown, taken = repr(target.template), self._names.__contains__
        self._writes = WritePaths(plan.where, shown, target.root, samples, taken, fs, plan.manifest)
        self._run_files.write(self._writes)
        with explained(self._what):
            self._staging.open()
            self._names.folds = self._staging.folds
            self._store.open(self._staging.name)
            self._growing.resume(dict(lengths))
        # No other time or key may get a file of an earlier run.
        for path, length in lengths.items():
            self._names.keep(path, key=length.key)
        entries: list[FileEntry] = []
        for time, _, some in sorted(made, key=itemgetter(1)):
            self._made += 1
            entries += some
            for entry in () if self._grows else some:
                self._names.keep(entry["path"], time)
        if not self._grows and not target.is_url:
            self._report_missing([entry["path"] for entry in entries])
        self._show(entries)
        if self._manifest is not None:
            with explained(self._listing):
                self._manifest.open(entries)

    def _report_missing(self, paths: Iterable[str]) -> None:
        """Log files of earlier runs that no longer exist; their times are done, so they are not made again."""
        missing = [path for path in paths if not Path(path).exists()]
        if missing:
            LOG.warning(
                "%s: %s%s, made by an earlier run with this journal, no longer exists. It is not made again, because "
                "its time is done. To make it again, use a new journal",
                self._plan.where,
                missing[0],
                f" (and {len(missing) - 1} more)" if len(missing) > 1 else "",
            )

    def _show(self, entries: Iterable[FileEntry]) -> None:
        for entry in entries:
            if not self._grows or entry["path"] not in self._shown:
                if self._grows:
                    self._shown.add(entry["path"])
                self.result.append(self._store.shown(entry["path"]))

    # ---- incoming values

    def add(self, time: Hashable, values: Sequence[Any]) -> None:
        """Take values; call `work` when `pressed`."""
        key = self._plan.key
        for name, some in ((None, values),) if key is None else by_key(values, key).items():
            part = self._parts.setdefault(time, {}).get(name)
            if part is None:
                part = self._parts[time][name] = self._part(time, name)
            held, loose = part.raw.held, part.raw.loose
            part.raw.add(some)
            self._held += part.raw.held - held
            self._loose += part.raw.loose - loose
            if part.raw.full:
                self._full[part] = None

    def _part(self, time: Hashable, key: Hashable) -> PendingFile:
        target, mine = self._names.of(time, key), self._writes
        assert mine is not None
        with explained(self._what):
            self._store.check(target)
            # The target must not be a file that the run reads, its journal or a manifest.
            path = target if mine.fs is None else self._names.plain(target)
            if why := self._run_files.refusal(path, mine):
                raise FileTargetError(f"{self._plan.target.module}: {target} {why}")
        temporaries = (self._staging.part(), self._staging.part())
        head = not self._grows
        return PendingFile(self._disk, self._plan.format, target, key, temporaries, head=head)

    @property
    def pressed(self) -> bool:
        """Whether `work` has something to do."""
        return bool(self._full) or self._held > MEMORY or self._loose > LOOSE

    def work(self) -> None:
        """Encode full units, the last one in the background, and move excess values to disk."""
        full, self._full = self._full, {}
        with explained(self._what):
            for part in full:
                may_begin = not self._plan.format.costly or len(self._begun) < self._plan.open_files
                part.advance(self._behind, may_begin=may_begin)
                if part.costly:
                    self._begun.add(part)
                if part.raw.full:
                    part.raw.spill()
            if self._loose > LOOSE or self._held > MEMORY:
                self._relieve()
        self._held = sum(part.raw.held for part in self._pending())
        self._loose = sum(part.raw.loose for part in self._pending())

    def _relieve(self) -> None:
        """Reduce the memory to half of the limit; evict few large targets rather than many small ones."""
        parts = self._pending()
        for part in parts:
            part.raw.settle()
        parts.sort(key=lambda part: part.raw.held, reverse=True)
        held = sum(part.raw.held for part in parts)
        for part in parts if held > MEMORY else ():
            if held <= MEMORY // 2:
                break
            held -= part.raw.held
            part.raw.spill()

    def _pending(self) -> list[PendingFile]:
        return [part for parts in self._parts.values() for part in parts.values()]

    # ---- complete times

    def complete(self, times: Sequence[Hashable], made: list[Completion]) -> None:
        """Make the files of complete times appear, even the files before a failure, and add them to `made`.

        Values of other times may be added meanwhile, but nothing else may be called.
        """
        finished: list[Completion] = []
        size = 0
        try:
            for time in times:
                finished.append(self._finish(time))
                size += sum(entry["bytes"] for entry in finished[-1].entries)
                if size > TOGETHER:
                    some, finished, size = finished, [], 0
                    self._appear(some, made)
        finally:
            self._appear(finished, made)

    @property
    def lacks_its_file(self) -> bool:
        """Whether the target has no fields, and its only file has not appeared because it had no values."""
        return not self._plan.target.fields and not self._growing.lengths

    def end(self) -> None:
        """Make the only file appear empty, so that no older content stays."""
        self._parts[None] = {None: self._part(None, None)}
        self.complete([None], [])

    def _appear(self, finished: Sequence[Completion], made: list[Completion]) -> None:
        if finished:
            with explained(self._what):
                if self._grows:
                    self._growing.settle()
                else:
                    parts = (part for completion in finished for part in self._parts[completion.time].values())
                    self._store.publish([(part.path, part.target) for part in parts])
        if finished and self._manifest is not None:
            with explained(self._listing):
                self._manifest.add(entry for completion in finished for entry in completion.entries)
        for completion in finished:
            self._show(completion.entries)
        made += finished

    def _finish(self, time: Hashable) -> Completion:
        parts = list(self._parts[time].values())
        held, loose = sum(part.raw.held for part in parts), sum(part.raw.loose for part in parts)
        with explained(self._what):
            for part in parts:
                part.finish(self._behind)
            entries = [self._entry(time, part) for part in parts]
            if self._grows:
                for entry, offset in zip(entries, self._growing.append(parts), strict=True):
                    entry["offset"] = offset
        lengths = {part.target: self._growing.lengths[part.target] for part in parts if self._grows}
        self._made += 1
        return Completion(time, self._made, entries, lengths, held, loose)

    def forget(self, completion: Completion) -> None:
        """Drop a time whose files have appeared."""
        for part in self._parts.pop(completion.time).values():
            self._full.pop(part, None)
            self._begun.discard(part)
        self._held -= completion.held
        self._loose -= completion.loose

    def _entry(self, time: Hashable, part: PendingFile) -> FileEntry:
        entry = {"rows": part.raw.rows, "bytes": part.size}
        return {"time": plain(time), "key": plain(part.key), "path": part.target, **entry}

    def status(self) -> str:
        """The sink's state as text."""
        under_way = sum(map(len, self._parts.copy().values()))
        return f"{len(self.result)} files written, {under_way} under way"

    def close(self) -> None:
        """Discard unfinished files."""
        self._behind.leave()
        for part in self._pending():
            part.discard()
        self._parts.clear()
        if self._writes is not None:
            self._run_files.over(self._writes)
        with ExitStack() as stack:
            if self._manifest is not None:
                stack.callback(self._manifest.close)
            stack.callback(self._staging.close)
            stack.callback(self._store.close)

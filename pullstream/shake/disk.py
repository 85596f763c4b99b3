"""The disk of a simulated run with a journal: kills the run at one of its writes, and loses unsynced data.

The run uses a real folder. Changes that Python code makes through `os`, as this toolkit does, are counted and noted
here. After a kill the folder is put into a state that a file system may leave: everything that was written (the process
was killed), or only what was synced and some of the rest (the power failed). Names change in the order in which the
program changed them. Data arrives in order, too, but may be cut short, or end in zeros from a sector on.
"""

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import attrs

from pullstream.shake.choices import Choices

JOURNAL: Final = "shake.journal"
"""The name of the journal in the folder."""

SECTOR: Final = 512

CHANGES: Final = ("write", "fsync", "fdatasync", "ftruncate", "replace", "rename", "unlink", "remove", "mkdir", "rmdir")
"""The functions of `os` that count as writes."""


class Killed(BaseException):
    """The simulated process is dead: whatever it tries to write fails."""


@attrs.define(eq=False)
class _File:
    """A file: the data that was synced, and all of it if no name refers to the file any more."""

    synced: bytes = b""
    last: bytes = b""


@attrs.frozen
class _Renaming:
    """A change of names: `old` disappears, or `new` appears, or both."""

    old: Path | None
    new: Path | None
    file: _File

    def apply(self, names: dict[Path, _File]) -> None:
        if self.old is not None:
            names.pop(self.old, None)
        if self.new is not None:
            names[self.new] = self.file

    def touches(self, folder: Path) -> bool:
        return any(name is not None and name.parent == folder for name in (self.old, self.new))


class Disk:
    """A folder during one run; the run is killed at change number `dies_at`."""

    def __init__(self, root: Path, choices: Choices, dies_at: int = 0) -> None:
        self._root = root
        self.journal = root / JOURNAL
        self._choices = choices
        self._dies_at = dies_at
        self.changes = 0
        self.dead = ""
        """The change at which the run was killed."""
        self._open: dict[int, Path] = {}
        self._snapshot: dict[Path, bytes] = {}
        self._names = {path: _File(data, data) for path, data in contents(root).items()}
        self._durable = dict(self._names)
        self._renamings: list[_Renaming] = []
        """The changes of names that were not synced, in order."""

    @contextmanager
    def used(self) -> Generator[None]:
        """Let the process use this disk; then close a killed run's files, and leave its folder as after a crash."""
        names = (name for name in ("open", "close", *CHANGES) if hasattr(os, name))
        replaced: dict[str, Any] = {name: self._replaced(name, getattr(os, name)) for name in names}
        try:
            with patch.multiple(os, **replaced):
                yield
        finally:
            if self.dead:
                for file, place in self._open.items():
                    self._close(file, place)
                self._crash()

    def _close(self, file: int, place: Path) -> None:
        # Code that is not in Python may have closed it, and its number may be another file's.
        with suppress(OSError):
            if os.path.samestat(os.fstat(file), place.stat()):
                os.close(file)

    def _replaced(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
            place = self._place(path, dir_fd)
            if place is None:
                file: int = real(path, flags, mode, dir_fd=dir_fd)
                self._open.pop(file, None)
                return file
            new = bool(flags & os.O_CREAT) and not place.exists()
            if new:
                self._change(f"the creation of {place.name}")
            file = real(path, flags, mode, dir_fd=dir_fd)
            self._open[file] = place
            if new:
                self._renamed(None, place, _File())
            return file

        def closed(file: int) -> None:
            self._open.pop(file, None)
            real(file)

        def changed(what: Any, *args: Any, **options: Any) -> Any:
            place = self._place(what, options.get("dir_fd", options.get("src_dir_fd")))
            if place is None or (name == "mkdir" and place.exists()):
                return real(what, *args, **options)
            target = self._place(args[0], options.get("dst_dir_fd")) if name in ("replace", "rename") else None
            # Data may name the folder, whose name differs from process to process.
            size = len(bytes(args[0]).replace(os.fsencode(self._root), b".")) if name == "write" else 0
            torn = name == "write" and self._change(f"a write of {size} bytes to {place.name}", torn=True)
            if torn:
                real(what, args[0][: len(args[0]) // 2])
                self._die()
            if name != "write":
                self._change(f"{name} of {place.name}")
            self._before(name, place, target)
            return real(what, *args, **options)

        replaced: dict[str, Callable[..., Any]] = {"open": opened, "close": closed}
        return replaced.get(name, changed)

    def _place(self, what: Any, folder: int | None) -> Path | None:
        """Return the path that a call concerns, if it is inside the folder."""
        if isinstance(what, int):
            return self._open.get(what)
        base = self._root if folder is None else self._open.get(folder)
        path = None if base is None else Path(os.path.abspath(base / os.fsdecode(what)))  # noqa: PTH100 - follows no link
        return path if path is not None and path.is_relative_to(self._root) else None

    def _change(self, what: str, *, torn: bool = False) -> bool:
        """Count a change; at the chosen one the process dies, unless half of it is still to be written (True)."""
        if self.dead:
            raise Killed
        self.changes += 1
        if self.changes != self._dies_at:
            return False
        self.dead = what
        if torn and self._choices.choose("torn", 2, lambda _: f"half of {what} was written", share=0.5):
            return True
        self._die()
        return False

    def _die(self) -> None:
        self._snapshot = contents(self._root)
        raise Killed

    def _before(self, name: str, place: Path, target: Path | None) -> None:
        """Note the effect of a change on names, and on synced data."""
        file = self._names.get(place)
        if name in ("fsync", "fdatasync"):
            if file is not None:
                file.synced = place.read_bytes()
            for each in [each for each in self._renamings if each.touches(place)]:
                each.apply(self._durable)
                self._renamings.remove(each)
        elif file is not None and (name in ("unlink", "remove") or target is not None):
            for gone in (place,) if target is None else (target,):
                if gone in self._names:
                    self._names[gone].last = gone.read_bytes()
            self._renamed(place, target, file)

    def _renamed(self, old: Path | None, new: Path | None, file: _File) -> None:
        renaming = _Renaming(old, new, file)
        renaming.apply(self._names)
        self._renamings.append(renaming)
        if old is not None and new is not None:
            self._open.update({number: new for number, place in self._open.items() if place == old})

    def _crash(self) -> None:
        """Put the folder into a state that a file system may leave."""
        left = dict(self._snapshot)
        if self._choices.choose("power", 2, lambda _: "the power failed: unsynced data was lost", share=0.5):
            names = dict(self._durable)
            count = len(self._renamings)
            lost = self._choices.choose("names", count + 1, self._lost_names, share=0.7) if count else 0
            for each in self._renamings[: count - lost]:
                each.apply(names)
            now = {id(file): self._snapshot.get(path, file.last) for path, file in self._names.items()}
            for path in self._names:
                left.pop(path, None)
            for path, file in sorted(names.items()):
                left[path] = self._surviving(path.name, file.synced, now.get(id(file), file.last))
        for path in contents(self._root):
            if path not in left:
                path.unlink()
        for path, data in left.items():
            if not path.exists() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
                path.chmod(0o600)

    def _lost_names(self, lost: int) -> str:
        return f"the last {lost} of {len(self._renamings)} unsynced changes of names were lost"

    def _surviving(self, name: str, synced: bytes, written: bytes) -> bytes:
        """Choose which of the unsynced data of a file survives."""
        if written == synced:
            return written
        kept = len(synced) if written.startswith(synced) else 0
        sector = max(kept, len(written) - 1 - (len(written) - 1) % SECTOR)
        options = [
            ("", written),
            ("none", synced),
            ("half", written[: (kept + len(written)) // 2]),
            ("only whole sectors, then zeros,", written[:sector].ljust(len(written), b"\0")),
        ]
        if not kept and synced:
            del options[2:]
        _, data = self._choices.pick(
            "data", options, lambda option: f"{option[0]} of the unsynced data of {name} survived", share=0.7
        )
        return data


def contents(root: Path) -> dict[Path, bytes]:
    """Return the files in a folder and its subfolders."""
    return {path: path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file() and not path.is_symlink()}

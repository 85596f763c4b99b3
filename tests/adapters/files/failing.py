"""Disks, stores and input files whose operations are counted together, and fail by number."""

import errno
import tempfile
import threading
from pathlib import Path
from typing import ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

from adapters.files.writing.disk import Disk

COMPOSED = ["append", "put", "opened", "part_of", "cut", "copy", "size", "check", "flush", "folders", "held", "inside"]
OPERATIONS = [name for name in vars(Disk) if name not in COMPOSED and name[0] != "_"]


class Steps:
    def __init__(self):
        self._lock = threading.Lock()
        self.reset()

    def reset(self, fails=()):
        self.count, self.fails, self.seen = 0, fails, set()

    def step(self, name):
        with self._lock:
            number = self.count
            self.count += 1
        self.seen.add(name)
        if number in self.fails or name in self.fails:
            raise OSError(errno.EIO, f"failed at operation {number}, {name}")


STEPS = Steps()


def as_step(name, real):
    def operation(*args, **options):
        STEPS.step(name)
        return real(*args, **options)

    return operation


def fail_disk(monkeypatch):
    def failing(name, real):
        def operation(disk, *args, **options):
            try:
                STEPS.step(name)
            except OSError:
                if name == "close":
                    real(disk, *args)  # a failed close releases the descriptor, too
                if name == "write":
                    real(disk, args[0], args[1][: len(args[1]) // 2 + 1])
                raise
            return None if name == "sync" else real(disk, *args, **options)

        return operation

    for name in OPERATIONS:
        monkeypatch.setattr(Disk, name, failing(name, getattr(Disk, name)))


class FaultyFile(MemoryFile):
    def write(self, data):
        STEPS.step("write")
        return super().write(data)

    def flush(self):
        STEPS.step("flush")

    def close(self):
        self.flush()
        STEPS.step("close")
        super().close()

    def __del__(self):
        """Do not close again: that would be a step at every garbage collection."""


class Faulty(MemoryFileSystem):
    """A store in memory that renames without copying; each operation is a step."""

    protocol = "faulty"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]
    cachable = False

    def _open(self, path, mode="rb", **kwargs):
        STEPS.step("open")
        if mode != "wb":
            return super()._open(path, mode, **kwargs)
        file = FaultyFile(self, path, None)
        self.store[path] = file
        return file

    def mv(self, path1, path2, **kwargs):
        STEPS.step("rename")
        if self._strip_protocol(path1) not in self.store:
            raise FileNotFoundError(path1)
        self.store[self._strip_protocol(path2)] = self.store.pop(self._strip_protocol(path1))


for name in ("info", "ls", "mkdir", "makedirs", "_rm", "rmdir"):
    setattr(Faulty, name, as_step(name.strip("_"), getattr(MemoryFileSystem, name)))


class Atomic(Faulty):
    """The same with the protocol of an object store: a file appears when it is closed."""

    protocol = "s3"

    def put_file(self, lpath, rpath, **kwargs):
        STEPS.step("put")
        self.pipe_file(rpath, Path(lpath).read_bytes())

    def pipe_file(self, path, value, **kwargs):
        self.store[self._strip_protocol(path)] = file = MemoryFile(self, path, value)
        file.seek(0)


class Through:
    """The local file system; reads of its files go through `part`."""

    def __init__(self):
        self.fs = fsspec.filesystem("file")

    def __getattr__(self, name):
        return getattr(self.fs, name)

    def __repr__(self):
        return f"{type(self).__name__}()"

    def open(self, path, mode):
        return ThroughFile(self, path, self.fs.open(path, mode))


class ThroughFile:
    def __init__(self, within, path, file):
        self.within, self.path, self.file = within, path, file

    def __getattr__(self, name):
        return getattr(self.file, name)

    def read(self, size=-1):
        return self.within.part(self, size)


class FailingReads(Through):
    """The local file system, for reading; each operation is a step."""

    def __init__(self):
        super().__init__()
        self.info, self.find, self.glob = (
            as_step(f"{name} to read", getattr(self.fs, name)) for name in ("info", "find", "glob")
        )

    def open(self, path, mode):
        STEPS.step("open to read")
        return FailingFile(self, path, self.fs.open(path, mode))

    def part(self, file, size):
        STEPS.step("read a part")
        return file.file.read(size)


class FailingFile(ThroughFile):
    def seek(self, *place):
        STEPS.step("seek")
        return self.file.seek(*place)

    def close(self):
        closed = self.file.closed
        self.file.close()
        if not closed:
            STEPS.step("close after reading")


def stored():
    return {path: bytes(file.getvalue()) for path, file in Faulty.store.items()}


def clear_stores():
    Faulty.store.clear()
    Faulty.pseudo_dirs[:] = [""]
    STEPS.reset()


@pytest.fixture
def store(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for kind in (Faulty, Atomic):
        fsspec.register_implementation(kind.protocol, kind, clobber=True)
    clear_stores()
    return tmp_path

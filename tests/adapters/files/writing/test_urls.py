"""fsspec URLs: put directly, or put beside and moved; a store fails at each operation in turn."""

import errno
import subprocess
import sys
import tempfile
import threading
from itertools import count
from pathlib import Path
from typing import ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFile, MemoryFileSystem

import pullstream as ps
from adapters import files

from .kit import left_behind, written


def test_long_names_in_a_store():
    """The limit is the store's: S3 allows longer names than file systems."""
    name = "x" * 300
    assert written([name], files.write_text("memory://long/{time}{key}", key=str)) == [f"memory://long/0{name}"]


class FaultyFile(MemoryFile):
    """A file whose write, flush and close count as operations."""

    def write(self, data):
        Faulty.step("write")
        return super().write(data)

    def flush(self):
        Faulty.step("flush")

    def close(self):
        self.flush()
        Faulty.step("close")
        super().close()

    def __del__(self):
        """Without closing it again, which would be an operation at an arbitrary time."""


class Faulty(MemoryFileSystem):
    """A memory file system with a real rename, which fails at operations by their number."""

    protocol = "faulty"
    store: ClassVar[dict] = {}
    pseudo_dirs: ClassVar[list] = [""]
    cachable = False
    number = 0
    fails: ClassVar = set()
    seen: ClassVar[set] = set()
    lock = threading.Lock()

    @classmethod
    def reset(cls, fails=()):
        Faulty.number, Faulty.fails = 0, fails

    @classmethod
    def step(cls, name):
        with Faulty.lock:
            number = Faulty.number
            Faulty.number += 1
        Faulty.seen.add(name)
        if number in Faulty.fails:
            raise OSError(errno.EIO, f"the store failed at operation {number}, {name}")

    def _open(self, path, mode="rb", **kwargs):
        self.step("open")
        if mode != "wb":
            return super()._open(path, mode, **kwargs)
        file = FaultyFile(self, path, None)
        self.store[path] = file
        return file

    def info(self, path, **kwargs):
        self.step("info")
        return super().info(path, **kwargs)

    def ls(self, path, detail=True, **kwargs):
        self.step("ls")
        return super().ls(path, detail, **kwargs)

    def mkdir(self, path, create_parents=True, **kwargs):
        self.step("mkdir")
        super().mkdir(path, create_parents, **kwargs)

    def makedirs(self, path, exist_ok=False):
        self.step("makedirs")
        super().makedirs(path, exist_ok)

    def mv(self, path1, path2, **kwargs):
        self.step("rename")
        self.store[self._strip_protocol(path2)] = self.store.pop(self._strip_protocol(path1))

    def _rm(self, path):
        self.step("rm")
        super()._rm(path)

    def rmdir(self, path):
        self.step("rmdir")
        super().rmdir(path)


class Atomic(Faulty):
    """The same, with the protocol of an object store: a file appears at its close, and not before."""

    protocol = "s3"

    def put_file(self, lpath, rpath, **kwargs):
        self.step("put")
        self.pipe_file(rpath, Path(lpath).read_bytes())

    def pipe_file(self, path, value, **kwargs):
        self.store[self._strip_protocol(path)] = file = MemoryFile(self, path, value)
        file.seek(0)


@pytest.fixture
def store(monkeypatch, tmp_path):
    """Empty stores, and a temporary folder for unfinished files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for kind in (Faulty, Atomic):
        fsspec.register_implementation(kind.protocol, kind, clobber=True)
    Faulty.store.clear()
    Faulty.pseudo_dirs[:] = [""]
    Faulty.reset()
    return tmp_path


def stored():
    return {path: bytes(file.getvalue()) for path, file in Faulty.store.items()}


ROWS = [{"day": day, "key": "ab"[n % 2], "n": n} for day in range(2) for n in range(20)]

WRITERS = {
    "faulty": lambda: files.write_parquet("faulty://bucket/{time}/{key}.parquet", key="key", row_group=8),
    "s3": lambda: files.write_jsonl("s3://bucket/out/{time}.{key}.jsonl.gz", key="key"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_operation_fails_in_turn(name, store):
    """After each failure, visible files are complete, and another run has the right result."""

    def go():
        return written(ROWS, WRITERS[name](), 8, lambda row: row["day"])

    paths = go()
    expected = stored()
    assert len(paths) == len(expected) == 4
    assert all(path.startswith(f"{name}://bucket/") for path in paths)
    total, failed = Faulty.number, 0
    before = left_behind()
    for number in count():
        Faulty.store.clear()
        Faulty.reset({number})
        try:
            go()
        except OSError as exc:
            if exc.errno != errno.EIO:
                raise
            failed += 1
        else:
            # Some calls that fsspec makes itself may fail without an effect.
            assert stored() == expected
            if Faulty.number <= number:
                break
        for path, data in stored().items():
            assert "/.pullstream-" in path or data == expected[path]
        assert left_behind() == before
        Faulty.reset()
        assert go() == paths
        assert stored() == expected
        assert left_behind() == before
        assert list(store.iterdir()) == []
    assert failed > 0.7 * total, (failed, total)
    if name == "faulty":
        assert Faulty.seen >= {"open", "write", "flush", "close", "rename", "rm", "info", "ls", "mkdir"}


@pytest.mark.parametrize("name", WRITERS)
def test_failures_with_a_journal(name, store):
    """Each run continues after the last one; nothing is lost or repeated."""
    paths = written(ROWS, WRITERS[name](), 8, lambda row: row["day"])
    expected = stored()
    for number in range(0, Faulty.number, 5):
        Faulty.store.clear()
        for runs in count():
            Faulty.reset({number + 20 * runs})
            source = ps.values(ROWS, time=lambda row: row["day"])
            try:
                made = ps.run(ps.pipe(source, WRITERS[name]()), journal=store / f"{number}.journal", limit=8)
                break
            except OSError as exc:
                if exc.errno != errno.EIO:
                    raise
        assert made == paths
        assert stored() == expected


def test_memory(store):
    """fsspec's own store; the next run removes leftovers of a dead one."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    target = "memory://out/{time}.txt"
    assert written(["a"], files.write_text(target)) == ["memory://out/0.txt"]
    assert fs.cat_file("/out/0.txt") == b"a\n"
    assert fs.find("/") == ["/out/0.txt"]
    with pytest.raises(files.FileTargetError, match="is a folder"):
        fs.makedirs("/out/1.txt")
        written(["a"], files.write_text(target), time=lambda _: 1)
    fs.store.clear()


def test_two_runs_on_this_machine(store):
    """The second is refused, as with local files."""
    write = files.write_text("faulty://bucket/{time}.txt")
    with pytest.raises(files.FileBusyError):
        written("ab", ps.tee(write, write))
    assert stored() == {}
    assert list(store.iterdir()) == []


def test_file_urls_are_local_paths(tmp_path):
    """They are renamed into place, and the result is a path."""
    (path,) = written(["a"], files.write_text(f"file://{tmp_path}/{{time}}.txt"))
    assert path == tmp_path / "0.txt"


def test_fsspec_is_not_loaded_for_local_files(tmp_path):
    """Nor is pyarrow, for text."""
    program = f"""
import sys
import pullstream as ps
from adapters import files
ps.run(ps.pipe(ps.values("ab"), files.write_text({str(tmp_path / "{time}.gz")!r})))
print([name for name in ("fsspec", "pyarrow", "pandas") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_leftovers_of_a_dead_run_are_removed_at_once(store):
    """Before anything is read; their folder in the store follows from the target."""
    write = files.write_text("faulty://bucket/{time}.txt")
    folders = []

    def put(*args, **kwargs):
        folders.extend(path for path in Faulty.store if "/.pullstream-" in path)

    with pytest.MonkeyPatch.context() as patch:
        real = Faulty.mv
        patch.setattr(Faulty, "mv", lambda *args: [put(), real(*args)])
        written("a", write)
    (beside,) = folders
    seen = []
    Faulty.store[beside.replace("/1.part", "/9.part")] = MemoryFile(None, None, b"half")
    Faulty.pseudo_dirs.append(beside.rpartition("/")[0])
    written("a", ps.pipe(ps.tap(lambda _: seen.append(len(Faulty.store))), write))
    assert seen == [1]
    assert list(stored().values()) == [b"a\n"]

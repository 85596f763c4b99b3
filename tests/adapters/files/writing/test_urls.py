"""fsspec URLs: files are put as a whole, or written beside their place and renamed."""

import subprocess
import sys

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFile

import pullstream as ps
from adapters import files
from tests.adapters.files.failing import Faulty, store, stored

from .kit import written

assert store


def test_long_names_in_a_store():
    """The limit is the store's: S3 allows longer names than file systems."""
    name = "x" * 300
    assert written([name], files.write_text("memory://long/{time}{key}", key=str)) == [f"memory://long/0{name}"]


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

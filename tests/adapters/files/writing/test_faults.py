"""A file system fails at each operation in turn: visible files are complete, and the next run finishes."""

import errno
import gc
import json
import os
import shutil
from itertools import count

import pyarrow as pa
import pytest
import trio

import pullstream as ps
from adapters import files
from adapters.files.writing import disk, raw, sink
from adapters.files.writing.disk import Disk
from tests.sampling import amount

from .kit import content, left_behind, visible, written

COMPOSED = ["append", "put", "opened", "part_of", "cut", "copy", "size", "flush", "folders", "held", "inside"]
OPERATIONS = [name for name in vars(Disk) if name not in COMPOSED and name[0] != "_"]


class Faults:
    """Counts the operations, and makes some of them fail."""

    def __init__(self, monkeypatch):
        self.count = 0
        self.fails = set()
        self.seen = []
        for name in OPERATIONS:
            monkeypatch.setattr(Disk, name, self._failing(name, getattr(Disk, name)))

    def _failing(self, name, real):
        def operation(local, *args):
            number = self.count
            self.count += 1
            self.seen.append(name)
            if number not in self.fails:
                return None if name == "sync" else real(local, *args)
            if name == "close":
                real(local, *args)  # A descriptor is closed even if `close` fails.
            if name == "write":
                real(local, args[0], args[1][: len(args[1]) // 2 + 1])
            raise OSError(errno.EIO, f"the disk failed at operation {number}, {name}")

        return operation

    def reset(self, fails=()):
        self.count, self.fails, self.seen = 0, fails, []


def cells(day):
    return [{"day": day, "key": "ab"[n % 2], "n": n, "s": "x" * n} for n in range(20)]


ROWS = [cell for day in range(2) for cell in cells(day)]

WRITERS = {
    "jsonl": lambda out: files.write_jsonl(f"{out}/{{time}}/{{key}}.jsonl", key="key"),
    "gzip": lambda out: files.write_csv(f"{out}/{{time}}.csv.gz"),
    "parquet": lambda out: files.write_parquet(
        f"{out}/{{key}}/{{time}}.parquet", key="key", row_group=8, open_files=1, manifest=f"{out}/manifest"
    ),
    "grown": lambda out: files.write_csv(f"{out}/{{key}}.csv", key="key", manifest=f"{out}/list/manifest"),
}


def ends_of(expected):
    """The end of each time in each growing file, from the manifest."""
    ends = {}
    for line in map(json.loads, expected["list/manifest"].splitlines()):
        ends.setdefault(line["path"].lstrip("/"), set()).add(line["offset"] + line["bytes"])
    return ends


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("for_good", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_every_operation_fails_in_turn(name, for_good, tmp_path, monkeypatch):
    """After each: the error is raised unchanged, visible files are complete, and another run has the right result."""
    for module, constant, value in ((sink, "MEMORY", 1000), (sink, "LOOSE", 5), (raw, "LOOSE", 3)):
        monkeypatch.setattr(module, constant, value)
    faults = Faults(monkeypatch)

    def go(out):
        return written(ROWS, WRITERS[name](out), 8, lambda row: row["day"])

    def said(out):
        return {file: data.replace(str(out).encode(), b"") for file, data in content(out).items()}

    go(tmp_path / "all")
    total = faults.count
    assert set(faults.seen) >= {"open", "write", "sync", "close", "rename", "remove", "make_folder", "listing", "lock"}
    expected = said(tmp_path / "all")
    ends = ends_of(expected) if name == "grown" else {}
    before = left_behind()
    for number in count(0, amount(6, 1)):
        out = tmp_path / str(number)
        faults.reset(range(number, 10**9) if for_good else {number})
        try:
            go(out)
        except OSError as exc:
            caught = exc
        else:
            # The number of operations depends slightly on timing, which determines the sizes of batches.
            assert faults.count <= number
            assert number > 0.9 * total
            break
        assert "the disk failed" in str(caught)
        assert any("raised in write_" in note for note in caught.__notes__)
        faults.reset()
        assert left_behind() == before
        for file, data in visible(out).items():
            if "manifest" in file:
                assert expected[file].startswith(data.replace(str(out).encode(), b"")) or for_good
                assert data.endswith(b"\n") or not data or for_good
            elif name == "grown":
                # A failed disk cannot truncate its last write.
                assert expected[file].startswith(data), (number, file)
                assert len(data) in ends[file] or for_good, (number, file)
            else:
                assert data == expected[file], (number, file)
        go(out)
        assert said(out) == expected, (number, faults.seen)
        assert left_behind() == before


def test_a_full_disk(tmp_path, monkeypatch):
    """No space is an OSError with the place; nothing is left, including pyarrow's writers."""
    before = left_behind()

    def full(local, file, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Disk, "write", full)
    big = [pa.table({"n": range(200_000)})]
    for write in (files.write_parquet, files.write_arrow, files.write_csv, files.write_jsonl):
        with pytest.raises(OSError, match="No space left") as caught:
            written(big, write(tmp_path / "{time}.x"))
        assert any(write.__name__ in note for note in caught.value.__notes__)
        assert caught.value.filename is not None
        assert content(tmp_path) == {}
    assert left_behind() == before


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("mount") is None, reason="mounts a tiny disk")
def test_a_really_full_disk(tmp_path):
    """The days that fit are there, complete; after space was freed, another run writes all."""
    import subprocess

    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], check=False).returncode:
        pytest.skip("may not mount")
    try:
        (disk / "other").write_bytes(bytes(1_000_000))
        values = [(day, "x" * 9_999) for day in range(5) for _ in range(50)]
        write = ps.pipe(ps.map(lambda pair: pair[1]), files.write_text(disk / "{time}.txt"))
        with pytest.raises(OSError, match="No space left"):
            written(values, write, time=lambda pair: pair[0])
        days = {name: len(data) for name, data in content(disk).items()}
        assert days.pop("other") == 1_000_000
        assert set(days.values()) == {500_000}
        assert 2 <= len(days) <= 4
        (disk / "other").unlink()
        written(values, write, time=lambda pair: pair[0])
        assert sorted(content(disk)) == [f"{day}.txt" for day in range(5)]
    finally:
        subprocess.run(["umount", disk], check=True)


def test_dropped_writers_write_nothing_more(tmp_path, monkeypatch):
    """pyarrow's streams finish their files when they are collected, when others may be writing in the folder."""
    monkeypatch.setattr(disk, "BLOCK", 10)
    real, failed, later = Disk.write, [], []

    def write(local, file, data):
        if not failed:
            failed.append(True)
            raise OSError(errno.EIO, "once")
        return real(local, file, data)

    def append(local, path, *data, **options):
        later.append(path)

    with pytest.raises(OSError, match="once"), monkeypatch.context() as patch:
        patch.setattr(Disk, "write", write)
        written([str(n * 7919) for n in range(300_000)], files.write_text(tmp_path / "{time}.zst"))
    monkeypatch.setattr(Disk, "append", append)
    gc.collect()
    assert later == []
    assert list(tmp_path.iterdir()) == []


def test_the_status_for_the_display(tmp_path):
    """The sink's status is its number of files."""
    message = []

    async def main():
        async with ps.pipe(ps.values("ab", time=ord), files.write_text(tmp_path / "{time}")).open() as running:
            await running.result()
            message.append(running.counters())

    trio.run(main)
    assert "2 files written, 0 under way" in str(message)

"""Every operation of disks, stores and input files fails in turn; full disks."""

import errno
import gc
import json
import random
import shutil
from itertools import count

import pytest

import pullstream as ps
from adapters import files
from adapters.files.writing import disk, raw, sink
from adapters.files.writing.disk import Disk
from tests.sampling import amount

from .failing import STEPS, FailingReads, clear_stores, fail_disk, store, stored
from .killable import by_all, by_item, joined, totals, write_data
from .writing.kit import content, left_behind, visible, written

assert store

ROWS = [{"day": day, "key": "ab"[n % 2], "n": n, "s": "x" * n} for day in range(2) for n in range(20)]

ON_DISK = {
    "jsonl": lambda out: files.write_jsonl(f"{out}/{{time}}/{{key}}.jsonl", key="key"),
    "gzip": lambda out: files.write_csv(f"{out}/{{time}}.csv.gz"),
    "parquet": lambda out: files.write_parquet(
        f"{out}/{{key}}/{{time}}.parquet", key="key", row_group=8, open_files=1, manifest=f"{out}/manifest"
    ),
    "growing": lambda out: files.write_csv(f"{out}/{{key}}.csv", key="key", manifest=f"{out}/list/manifest"),
    "empty": lambda out: files.write_csv(f"{out}/all.csv", schema={"n": "int64"}),
}

IN_STORES = {
    "faulty": lambda: files.write_parquet("faulty://bucket/{time}/{key}.parquet", key="key", row_group=8),
    "s3": lambda: files.write_jsonl("s3://bucket/out/{time}.{key}.jsonl.gz", key="key"),
}


def on_disk(folder):
    return {file: data.replace(str(folder).encode(), b"") for file, data in content(folder).items()}


def ends_of_times(manifest):
    ends = {}
    for line in map(json.loads, manifest.splitlines()):
        ends.setdefault(line["path"].lstrip("/"), set()).add(line["offset"] + line["bytes"])
    return ends


@pytest.mark.parametrize("name", ON_DISK)
@pytest.mark.parametrize("for_good", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_a_disk_fails_at_every_operation(name, for_good, tmp_path, monkeypatch):
    """The original error is raised; visible files are whole; the next run leaves exactly the right files."""
    for module, constant, value in ((sink, "MEMORY", 1000), (sink, "LOOSE", 5), (raw, "LOOSE", 3)):
        monkeypatch.setattr(module, constant, value)
    fail_disk(monkeypatch)
    STEPS.reset()

    def go(out):
        # An empty file replaces an older one.
        return written([] if name == "empty" else ROWS, ON_DISK[name](out), 8, lambda row: row["day"])

    go(tmp_path / "all")
    total = STEPS.count
    assert STEPS.seen >= {"open", "write", "sync", "close", "rename", "remove", "make_folder", "listing", "lock"}
    expected = on_disk(tmp_path / "all")
    ends = ends_of_times(expected["list/manifest"]) if name == "growing" else {}
    before = left_behind()
    for number in count(0, 1 if name == "empty" else amount(13, 1)):
        out = tmp_path / str(number)
        if name == "empty":
            out.mkdir()
            (out / "all.csv").write_bytes(b"older")
        STEPS.reset(range(number, 10**9) if for_good else {number})
        try:
            go(out)
        except OSError as exc:
            caught = exc
        else:
            # The number of operations varies a little: batch sizes depend on the pace.
            assert STEPS.count <= number
            assert number > 0.8 * total
            break
        assert "failed at operation" in str(caught)
        assert any("raised in write_" in note for note in caught.__notes__)
        STEPS.reset()
        assert left_behind() == before
        for file, data in visible(out).items():
            if "manifest" in file:
                assert expected[file].startswith(data.replace(str(out).encode(), b"")) or for_good
                assert data.endswith(b"\n") or not data or for_good
            elif name == "growing":
                # A disk that has failed for good cannot cut off the last write.
                assert expected[file].startswith(data), (number, file)
                assert len(data) in ends[file] or for_good, (number, file)
            else:
                assert data == expected[file] or data == b"older", (number, file)
        go(out)
        assert on_disk(out) == expected, number
        assert left_behind() == before


@pytest.mark.parametrize("name", IN_STORES)
def test_a_store_fails_at_every_operation(name, store):
    def go():
        return written(ROWS, IN_STORES[name](), 8, lambda row: row["day"])

    paths = go()
    expected = stored()
    assert len(paths) == len(expected) == 4
    assert all(path.startswith(f"{name}://bucket/") for path in paths)
    total, failed, seen = STEPS.count, 0, set()
    before, step = left_behind(), amount(3, 1)
    for number in count(0, step):
        clear_stores()
        STEPS.reset({number})
        try:
            go()
        except OSError as exc:
            if exc.errno != errno.EIO:
                raise
            failed += 1
        else:
            # Some operations of fsspec's own may fail without harm.
            assert stored() == expected
            if STEPS.count <= number:
                break
        seen |= STEPS.seen
        for path, data in stored().items():
            assert "/.pullstream-" in path or data == expected[path]
        assert left_behind() == before
        STEPS.reset()
        assert go() == paths
        assert stored() == expected
        assert left_behind() == before
        assert list(store.iterdir()) == []
    assert failed > 0.7 * total / step, (failed, total)
    if name == "faulty":
        assert seen >= {"open", "write", "flush", "close", "rename", "rm", "info", "ls", "mkdir"}


def sinks(where, out):
    """Two sinks: keyed files of a time, and totals; on a disk the totals are in growing files."""
    if where == "stores":
        parquet = files.write_parquet("faulty://bucket/{time}/{key}.parquet", key="item")
        return parquet, files.write_jsonl("s3://bucket/totals/{time}.jsonl.gz")
    parquet = files.write_parquet(f"{out}/{{time}}/{{key}}.parquet", key="item", row_group=4, manifest=f"{out}/files")
    return parquet, files.write_csv(f"{out}/all-{{key}}.csv.gz", key="item", manifest=f"{out}/parts")


def joined_files(data, parquet, sums):
    rows = ps.pipe(joined(data, filesystem=FailingReads(), block_size=500), ps.sort_by_time(by_all))
    return ps.pipe(rows, ps.tee(parquet, ps.pipe(totals(), ps.sort_by_time(by_item), sums)))


@pytest.mark.parametrize("every", [127, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("where", ["disk", "stores"])
def test_runs_with_a_journal_fail_again_and_again(where, every, store, tmp_path, monkeypatch):
    """Each run continues the last one, until one succeeds: the files equal those of a run without failures."""
    write_data(data := tmp_path / "data", random.Random(1), days=4)
    if where == "disk":
        fail_disk(monkeypatch)

    def go(name, **options):
        out = tmp_path / name
        parquet, totals = ps.run(joined_files(data, *sinks(where, out)), limit=8, **options)
        return [str(path).removeprefix(str(out)) for path in [*parquet, *totals]]

    def left(name):
        return on_disk(tmp_path / name) if where == "disk" else stored()

    result, total = go("whole"), STEPS.count
    expected = left("whole")
    assert len(expected) >= 4 * 3
    failed, seen = 0, set()
    before = left_behind()
    for number in count(0, every):
        clear_stores()
        name = str(number)
        for runs in count():
            # Fewer operations are left each time, so each run must get further than the one before.
            STEPS.reset({number + 20 * runs})
            try:
                made = go(name, journal=tmp_path / f"{name}.journal")
            except OSError as exc:
                if exc.errno != errno.EIO:
                    raise
                failed += not runs
            else:
                break
            finally:
                seen |= STEPS.seen
            assert left_behind() == before
        assert made == result
        assert left(name) == expected
        assert left_behind() == before
        kept = {path.name for path in tmp_path.iterdir()} - {"data", "whole"}
        assert all(path.rstrip("0123456789") == "" or ".journal" in path for path in kept), kept
        if not runs and STEPS.count <= number:
            break
    assert failed > 0.7 * total / every, (failed, total)
    assert seen >= {"open to read", "read a part", "close after reading", "glob to read", "open", "write", "rename"}
    assert where == "disk" or "put" in seen


def test_a_full_disk(disk):
    (disk / "other").write_bytes(bytes(shutil.disk_usage(disk).free - 2_000_000))
    values = [(day, "x" * 9_999) for day in range(5) for _ in range(50)]
    write = ps.pipe(ps.map(lambda pair: pair[1]), files.write_text(disk / "{time}.txt"))
    with pytest.raises(OSError, match="No space left") as caught:
        written(values, write, time=lambda pair: pair[0])
    assert any("write_text" in note for note in caught.value.__notes__)
    assert caught.value.filename is not None
    (disk / "other").unlink()
    days = {name: len(data) for name, data in content(disk).items()}
    assert set(days.values()) == {500_000}
    assert 2 <= len(days) <= 4
    written(values, write, time=lambda pair: pair[0])
    assert sorted(content(disk)) == [f"{day}.txt" for day in range(5)]


def test_discarded_writers_write_nothing_more(tmp_path, monkeypatch):
    """pyarrow's streams finish their files when they are collected; by then others may work in the folder."""
    monkeypatch.setattr(disk, "BLOCK", 10)
    real, failed, later = Disk.write, [], []

    def write(local, file, data):
        if not failed:
            failed.append(True)
            raise OSError(errno.EIO, "once")
        return real(local, file, data)

    with pytest.raises(OSError, match="once"), monkeypatch.context() as patch:
        patch.setattr(Disk, "write", write)
        written([str(n * 7919) for n in range(300_000)], files.write_text(tmp_path / "{time}.zst"))
    monkeypatch.setattr(Disk, "append", lambda local, path, *data, **options: later.append(path))
    gc.collect()
    assert later == []
    assert list(tmp_path.iterdir()) == []

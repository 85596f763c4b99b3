"""Files appear whole, when their time is complete, in every ending; failures are on the disk at once."""

import json
import math
import os
import threading

import pytest
import trio
import trio.testing

import pullstream as ps
from adapters import files
from adapters.files.writing.disk import Disk
from pullstream.conformance import conformance
from pullstream.modules.sinks import committer
from tests.adapters.files.failing import STEPS, fail_disk
from tests.programs import until
from tests.pullstream.common import script
from tests.sampling import amount

from .kit import content, left_behind


@pytest.mark.parametrize(
    ("source", "target", "remarked"),
    [
        (ps.values(["a"]), "{time}.txt", True),
        (ps.values(["a"], time=len), "{time}.txt", False),
        (ps.values(["a", ""], time=lambda value: 1 - len(value)), "{time}.txt", False),
        (ps.values(["a"]), "all.txt", False),
        (ps.empty(), "{time}.txt", False),
    ],
)
def test_files_by_time_of_untimed_values_log_a_hint(source, target, remarked, tmp_path, caplog):
    """As for windows over such values; a single file for all times is intended."""
    ps.run(ps.pipe(source, files.write_text(tmp_path / target)))
    assert ["assign times with time= in the source" in message for message in caplog.messages] == [True] * remarked


def test_a_run_that_fails_at_its_second_time_logs_no_hint(tmp_path, caplog):
    """Only the file for time 0 has appeared, but not every value was at 0."""
    values = ps.pipe(ps.values(["", "a", "b"], time=len), ps.tap(lambda value: 1 // (value < "b")))
    with pytest.raises(ZeroDivisionError):
        ps.run(ps.pipe(values, files.write_text(tmp_path / "{time}.txt")), limit=1)
    assert (content(tmp_path), caplog.messages) == ({"0.txt": b"\n"}, [])


@pytest.mark.parametrize("limit", [1, 4096])
@pytest.mark.parametrize("ends", [KeyError, ps.errors.Abandoned])
async def test_only_whole_files_are_left_after_an_error_or_abort(ends, limit, tmp_path, autojump_clock):
    source = script(ps.Batch(1, [1]), ps.Batch(2, [2]), 1.0, KeyError("unseen") if ends is KeyError else math.inf)
    with pytest.raises(ends):
        async with ps.pipe(source, files.write_jsonl(tmp_path / "{time}.jsonl")).open(limit=limit) as running:
            await running.progress.completed(1)
            if ends is ps.errors.Abandoned:
                await running.abort()
            await running.progress.completed(2)
    assert [path.name for path in tmp_path.iterdir()] == ["1.jsonl"]


async def test_a_bounded_number_of_times_waits_for_the_disk(tmp_path, monkeypatch):
    ready, taken, real = threading.Event(), [], Disk.flush

    def flush(disk, path):
        assert ready.wait(10)
        real(disk, path)

    monkeypatch.setattr(Disk, "flush", flush)
    source = ps.pipe(ps.values(range(200), time=int), ps.tap(taken.append))
    async with ps.pipe(source, files.write_jsonl(tmp_path / "{time}.jsonl")).open(limit=1) as running:
        await until(lambda: len(taken) > committer.AHEAD)
        await trio.sleep(0.05)
        assert len(taken) <= committer.AHEAD + 2
        ready.set()
        assert len(await running.result()) == 200
        assert "200 files written, 0 under way" in str(running.counters())


@pytest.fixture
def synced(monkeypatch):
    """The inode and size of each file when it was synced."""
    found = []
    monkeypatch.setattr(os, "fsync", lambda file: found.append((os.fstat(file).st_ino, os.fstat(file).st_size)))
    return found


@pytest.mark.parametrize("durable", [True, False])
def test_a_visible_file_survives_a_power_cut(durable, synced, tmp_path, monkeypatch):
    """Its content is synced before it appears, and its name afterwards; so is each line of the manifest.

    With durable=False nothing is synced.
    """
    steps, manifest = [], tmp_path / "manifest"

    def noted(name, real):
        def operation(disk, *paths):
            steps.append((name, *paths))
            real(disk, *paths)

        return operation

    for name in ("flush", "rename"):
        monkeypatch.setattr(Disk, name, noted(name, getattr(Disk, name)))
    sink = files.write_text(tmp_path / "{time}.txt", manifest=manifest, durable=durable)
    ps.run(ps.pipe(ps.values(["0", "1"], time=int), sink))
    renames = [(number, step[1]) for number, step in enumerate(steps) if step[0] == "rename" and step[2] != manifest]
    assert len(renames) == 2
    for number, part in renames:
        assert (("flush", part) in steps[:number]) is durable
        assert ("flush", tmp_path) in steps[number:]
    assert bool(synced) is durable
    # When the manifest is created, and for its lines.
    assert ([inode for inode, _ in synced].count(manifest.stat().st_ino) > 1) is durable


def test_complete_times_of_a_file_survive_a_power_cut(synced, tmp_path):
    """Each time's values are on the disk before its line in the manifest, and before the time completes."""
    target, manifest = tmp_path / "all", tmp_path / "manifest"
    ps.run(ps.pipe(ps.values("ab", time=ord), files.write_text(target, manifest=manifest)))
    listed = synced.index((manifest.stat().st_ino, manifest.stat().st_size))
    assert (target.stat().st_ino, 4) in synced[:listed]


def test_the_files_of_many_keys_are_synced_together(synced, tmp_path):
    """Like the files of many times: their folder is synced once, and a file once for several times."""
    rows = ps.values([{"n": n % 20, "day": n // 20} for n in range(100)], time=lambda row: row["day"])
    made = ps.run(ps.pipe(rows, files.write_jsonl(tmp_path / "{key}.jsonl", key="n")))
    assert [path.read_text().count("\n") for path in made] == [5] * 20
    inodes = [inode for inode, _ in synced]
    assert inodes.count(tmp_path.stat().st_ino) == 1
    assert all(inodes.count(path.stat().st_ino) < 5 for path in made)


async def test_a_failing_disk_ends_a_waiting_source(tmp_path, monkeypatch):
    def flush(disk, path):
        raise OSError("the disk is gone")

    monkeypatch.setattr(Disk, "flush", flush)
    source = script(ps.Batch(0, ["a"]), ps.Completed(1), math.inf)
    with trio.fail_after(10):
        with pytest.raises(OSError, match="the disk is gone"):
            await ps.arun(ps.pipe(source, files.write_text(tmp_path / "{time}.txt")))
    assert not list(tmp_path.glob("*.txt"))


@pytest.mark.parametrize(
    "write",
    [
        lambda out: files.write_jsonl(out / "{time}.jsonl", durable=False),
        lambda out: files.write_jsonl(out / "{key}.jsonl.gz", key=lambda value: 0, durable=False),
        lambda out: ps.pipe(
            ps.map(lambda value: (repr(value),)), files.write_parquet(out / "{time}.pq", durable=False)
        ),
    ],
    ids=["jsonl", "grown", "parquet"],
)
def test_conformance(write, tmp_path, monkeypatch):
    """No rule is broken and nothing unfinished is left, in every ending and under every demand."""

    async def in_no_time(function, *args):
        await trio.lowlevel.checkpoint()
        return function(*args)

    # The kit's virtual time would run on while threads work.
    monkeypatch.setattr(trio.to_thread, "run_sync", in_no_time)
    before = left_behind()
    conformance(write(tmp_path), cells=amount(50, 150)).check()
    assert not [name for name in content(tmp_path) if ".pullstream-" in name]
    assert left_behind() == before


@pytest.mark.parametrize("target", ["{time}.jsonl", pytest.param("all.jsonl", marks=pytest.mark.slow)])
def test_only_the_journal_keeps_complete_times(tmp_path, target):
    """A sink's memory does not grow with the number of times; a later run gets them from the journal."""
    runs = []

    async def beside(running):
        runs.append(running)

    for _ in range(2):
        source = ps.pipe(ps.values(range(100), time=int), ps.tap(lambda n: n))
        pipeline = ps.pipe(source, files.write_jsonl(tmp_path / target))
        journal = ps.Journal(tmp_path / "journal", version="1")
        paths = ps.run(pipeline, journal=journal, beside=beside, limit=1)
        assert len(paths) == (100 if "{" in target else 1)
        for memory in runs[-1]._keeper._stream.memories.values():
            assert len(memory) + len(memory._touched) + len(memory._sealed) <= 2
            assert not sum(map(len, memory.notes._waiting.values()))


def test_failed_values_as_json_lines(tmp_path):
    (tmp_path / "in.csv").write_text("item,n\ntea,1\nrice,2,3\n")
    bad = files.write_jsonl(tmp_path / "bad-{time}.jsonl")
    ps.run(ps.pipe(files.read_csv(tmp_path / "in.csv", on_error=bad), ps.drain()))
    (line,) = (tmp_path / "bad-0.jsonl").read_text().splitlines()
    failed = json.loads(line)
    assert failed["value"].startswith("rice,2,3")
    assert "in.csv:3" in failed["error"]


async def test_failures_are_on_the_disk_during_the_run(tmp_path):
    path, source = tmp_path / "bad.txt", ps.pushable(1)
    bad = ps.pipe(ps.map(lambda failed: failed.value), ps.stamp_epochs(1), files.write_text(path))
    async with ps.pipe(source, ps.map(int, on_error=bad), ps.drain()).open() as running:
        for text in ("tea", "rice", "figs"):
            for value in (text, "0", "0"):
                await source.push(value)
            await until(lambda text=text: path.exists() and path.read_text().endswith(f"{text}\n"))
        await running.abort()
    assert path.read_text().splitlines() == ["tea", "rice", "figs"]


@pytest.mark.parametrize(("journal", "each"), [(False, 6), (True, 9)])
def test_a_time_takes_few_disk_operations(tmp_path, monkeypatch, journal, each):
    """A small time is appended to a growing file from memory; only a journal needs to read the end of the file."""
    fail_disk(monkeypatch)
    numbers = ps.values([{"n": n} for n in range(60)], time=lambda row: row["n"])
    target = files.write_jsonl(tmp_path / "all.jsonl", durable=False)
    STEPS.reset()
    ps.run(ps.pipe(numbers, target), journal=tmp_path / "journal" if journal else None)
    assert (tmp_path / "all.jsonl").read_text().count("\n") == 60
    # Times that complete together may share operations; a few more begin and end the run.
    assert STEPS.count <= 60 * each + 20

"""`shake` kills runs with a journal at any write, or cuts the power, and finds output that this loses."""

import os

import pytest

import pullstream as ps
from pullstream import files
from pullstream.journal.log import JournalLog
from pullstream.shake import shake
from pullstream.shake.choices import Choices
from pullstream.shake.disk import Disk, Killed
from tests.pullstream.shake.scenes import slowly
from tests.sampling import amount

DAYS = range(8)


def days(*modules):
    return ps.pipe(ps.values(DAYS, time=lambda n: n // 4), ps.map_async(slowly, 2), *modules)


def counts(folder):
    del folder
    return days(ps.accumulate(ps.agg.sum(), key=lambda n: n % 2), ps.collect())


def merged(folder):
    both = ps.merge(ps.values(DAYS, time=lambda n: n // 4), ps.values("abcd"))
    return ps.pipe(both, ps.map(str), files.write_text(folder / "lines.txt"))


def rows(folder):
    return days(ps.map(lambda n: {"n": n}), ps.tee(files.write_jsonl(folder / "out" / "{time}.jsonl"), ps.collect()))


@pytest.mark.parametrize("make", [counts, rows, merged])
def test_resumed_runs_equal_undisturbed_ones(make):
    shake(make, amount(15, 1000), journal=True).check()


def stored(folder, name, flags, put):
    """A sink that writes the values of each time with `put`."""

    def write(time, values):
        file = os.open(folder / name(time), os.O_WRONLY | os.O_CREAT | flags, 0o666)
        try:
            put(file, f"{values}\n".encode())
        finally:
            os.close(file)

    return days(ps.reduce_by_time(ps.agg.sum()), ps.at_completion(write))


def unsynced(folder):
    def put(file, line):
        os.write(file, line)

    return stored(folder, str, os.O_TRUNC, put)


def appended(folder):
    def put(file, line):
        os.write(file, line)
        os.fsync(file)

    return stored(folder, lambda _: "all", os.O_APPEND, put)


@pytest.mark.sampled(1)
@pytest.mark.parametrize(("make", "step"), [(unsynced, "the power failed"), (appended, "killed at its write")])
def test_finds_output_lost_in_a_crash(make, step):
    (found,) = shake(make, 10, journal=True).differences

    assert found.kind == "files"
    assert step in "".join(found.steps)
    assert len(found.steps) <= 5


@pytest.mark.parametrize("write", range(1, 8))
@pytest.mark.parametrize("survives", range(4))
def test_a_journal_killed_at_creation_can_be_reopened(tmp_path, write, survives):
    path = tmp_path / "shake.journal"
    script = {("power", 0): 1, ("names", 0): survives // 2, ("data", 0): survives, ("data", 1): survives}
    disk = Disk(tmp_path, Choices(script=script), write)
    try:
        with disk.used():
            JournalLog(path).close()
    except Killed:
        assert disk.dead
    log = JournalLog(path)
    assert list(log.records()) == []
    log.tidy()
    log.close()
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


# ---- the disk


@pytest.fixture
def disk(tmp_path):
    """Make disks for the folder `tmp_path`, with a script for the state after a kill."""
    return lambda dies_at=0, **script: Disk(
        tmp_path, Choices(script={(where, 0): option for where, option in script.items()}), dies_at
    )


def put(path, data, *, sync=False):
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        os.write(file, data)
        if sync:
            os.fsync(file)
    finally:
        os.close(file)


def sync_names(folder):
    file = os.open(folder, os.O_RDONLY)
    os.fsync(file)
    os.close(file)


def left(disk, steps):
    """The files after steps, the last of which is killed."""
    with pytest.raises(Killed), disk.used():
        steps()
    return {path.name: path.read_bytes() for path in disk.journal.parent.iterdir()}


def test_data_written_before_a_kill_is_on_disk(tmp_path, disk):
    def steps():
        put(tmp_path / "a", b"whole")
        try:
            put(tmp_path / "b", b"12345678")
        finally:
            with pytest.raises(Killed):
                (tmp_path / "a").unlink()
            (tmp_path / "c").write_text("by code that is not in Python")

    assert left(disk(4), steps) == {"a": b"whole", "b": b""}
    for path in tmp_path.iterdir():
        path.unlink()
    assert left(disk(4, torn=1), steps) == {"a": b"whole", "b": b"1234"}


@pytest.mark.parametrize(
    ("script", "files"),
    [
        ({}, {"a": b"old", "b": b"b" * 1000}),
        ({"names": 1}, {"a": b"old"}),
        ({"data": 1}, {"a": b"old", "b": b""}),
        ({"data": 2}, {"a": b"old", "b": b"b" * 500}),
        ({"data": 3}, {"a": b"old", "b": b"b" * 512 + bytes(488)}),
    ],
)
def test_a_power_failure_loses_unsynced_data(tmp_path, disk, script, files):
    def steps():
        put(tmp_path / "a", b"old", sync=True)
        sync_names(tmp_path)
        put(tmp_path / "b", b"b" * 1000)
        (tmp_path / "a").unlink()

    assert left(disk(7, power=1, **script), steps) == files

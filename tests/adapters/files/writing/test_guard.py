"""Only one run writes to a target, visible files are complete, and a killed run's leftovers are removed."""

import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest

import pullstream as ps
from adapters import files
from adapters.files.writing.disk import Disk
from adapters.files.writing.raw import RawBytes
from adapters.files.writing.staging import StagingFolder
from adapters.files.writing.store import Remote
from adapters.files.writing.target import Target
from tests.adapters.files.failing import Faulty, store, stored

from .kit import content, left_behind, written

assert store


def test_two_sinks_with_one_manifest(tmp_path):
    """The second sink is refused, because each would lose the other's records; a dead run blocks nothing."""
    sinks = [files.write_text(tmp_path / name / "{time}", manifest=tmp_path / "m") for name in "ab"]
    for _ in range(2):
        with pytest.raises(files.FileBusyError, match="another sink of this run, is writing the manifest"):
            ps.run(ps.pipe(ps.values(["x"]), ps.tee(*sinks)))
    ps.run(ps.pipe(ps.values(["x"]), sinks[0]))
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == ["m"]
    assert len((tmp_path / "m").read_text().splitlines()) == 1


def test_runs_on_two_machines_do_not_mix_their_uploads(store, tmp_path, monkeypatch):
    """A URL is locked on one machine only. Each run moves only its own uploads."""
    target = Target.of("write_text", "faulty://bucket/{time}.txt")
    one, other = Remote(target, None), Remote(target, None)
    for name, remote in (("one", one), ("other", other)):
        remote.open(".pullstream-x")
        (tmp_path / name).write_text(name)
    move, meanwhile = Faulty.mv, [other]

    def moved(*args, **options):
        if meanwhile:
            meanwhile.pop().publish([(tmp_path / "other", "faulty://bucket/2.txt")])
        move(*args, **options)

    monkeypatch.setattr(Faulty, "mv", moved)
    one.publish([(tmp_path / "one", "faulty://bucket/1.txt")])

    assert stored() == {"faulty://bucket/1.txt": b"one", "faulty://bucket/2.txt": b"other"}


@pytest.mark.parametrize("begun", [2, 3])
def test_a_run_on_another_machine_removes_an_upload(begun, store, tmp_path, monkeypatch):
    """A run that starts takes the upload for a leftover: the file is uploaded again, but only a few times."""
    target = Target.of("write_text", "faulty://bucket/{time}.txt")
    remote, others = Remote(target, None), [Remote(target, None) for _ in range(begun)]
    remote.open(".pullstream-x")
    (tmp_path / "made").write_text("whole")
    move = Faulty.mv

    def moved(*args, **options):
        if others:
            others.pop().open(".pullstream-x")
        move(*args, **options)

    monkeypatch.setattr(Faulty, "mv", moved)
    with pytest.raises(FileNotFoundError) if begun == 3 else nullcontext():
        remote.publish([(tmp_path / "made", "faulty://bucket/1.txt")])
    assert stored() == ({} if begun == 3 else {"faulty://bucket/1.txt": b"whole"})


@pytest.mark.parametrize("target", ["{tmp_path}/{{time}}.txt", "faulty://bucket/{{time}}.txt"])
def test_two_sinks_of_a_run(target, store, tmp_path):
    write = files.write_text(target.format(tmp_path=tmp_path))
    before = left_behind()
    with pytest.raises(files.FileBusyError):
        written("ab", ps.tee(write, write))
    assert content(tmp_path) == stored() == {}
    assert left_behind() == before


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("how", [Path.unlink, lambda path: os.truncate(path, 1)], ids=["removed", "shortened"])
def test_an_unfinished_file_that_another_program_changes(how, suffix, tmp_path):
    """Such as a run on another machine with a shared disk that does not share locks: no partial file appears."""
    seen = []

    def strike(number):
        if number == 3:
            seen.extend(tmp_path.glob(".pullstream-*/*.part"))
            for path in seen:
                how(path)
        return random.Random(number).randbytes(3 << 19)

    write = files.write_bytes(tmp_path / f"{{time}}.bin{suffix}")
    with pytest.raises(OSError, match="another program writes there, so write_bytes cannot write to"):
        ps.run(ps.pipe(ps.values(range(5)), ps.map(strike), write), limit=1)
    assert seen
    assert list(tmp_path.iterdir()) == []


def test_values_on_disk_that_another_program_changes(tmp_path):
    disk, path = Disk(durable=False), tmp_path / "1.part"
    raw = RawBytes(disk, path, b"".join)
    raw.add([bytes(3 << 20)])
    raw.spill()
    units = raw.units(last=True)
    next(units)
    os.truncate(path, 2 << 20)
    with pytest.raises(OSError, match=r"has 2097152 bytes, but 3145728 were written: .*1\.part"):
        list(units)


def test_leftovers_of_a_dead_run_are_removed_at_once(tmp_path):
    write = files.write_text(tmp_path / "{time}.txt")
    seen = []
    look = ps.tap(lambda _: seen.append(sorted(path.name for path in tmp_path.iterdir())))
    written("a", ps.pipe(look, write))
    ((name,),) = seen
    for number, made in enumerate([("pullstream.lock", "1.part"), ("pullstream.lock",), ()]):
        left = tmp_path / f"{name[:-1]}{'fg'[name[-1] == 'f']}{number}"
        left.mkdir(mode=0o700)
        for inside in made:
            (left / inside).write_text("half")
    written("a", ps.pipe(look, write))
    assert len(seen[1]) == 2
    assert seen[1][1] == "0.txt"
    assert content(tmp_path) == {"0.txt": b"a\n"}


def test_one_of_several_simultaneous_runs_continues(tmp_path):
    barrier = threading.Barrier(8)

    def continues(_):
        workshop = StagingFolder(Disk(durable=False), Target.of("write_text", f"{tmp_path}/{{time}}.txt"))
        barrier.wait()
        try:
            with suppress(files.FileBusyError):
                workshop.open()
                return True
            return False
        finally:
            barrier.wait()
            workshop.close()

    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            assert sum(pool.map(continues, range(8))) == 1
            assert list(tmp_path.iterdir()) == []

"""Another user of the machine plants links, folders and files under the names that a run uses: nothing is touched."""

import errno
import hashlib
import json
import os
import tempfile

import fsspec
import pytest
import trio

import pullstream as ps
from adapters import files
from adapters.files.writing import staging
from adapters.files.writing.disk import Disk
from adapters.files.writing.store import Local

from .kit import content, left_behind, written

NOBODY = 65534

TAIL = "0123456789abcdef"

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def precious(tmp_path):
    """A folder of the user's own, which a run has nothing to do with, and that it stays as it is."""
    folder = tmp_path / "precious"
    folder.mkdir(mode=0o700)
    for name in ("thesis.txt", "1.part", "2.part", "manifest"):
        (folder / name).write_text("years of work\n")
    before = content(folder)
    yield folder
    assert content(folder) == before


def workshop_of(rest):
    """What all workshops of a target are called."""
    return f".pullstream-{hashlib.sha256(rest.encode()).hexdigest()[:12]}"


def link(place, precious):
    place.symlink_to(precious)


def broken_link(place, _):
    place.symlink_to(place.parent / "nowhere")


def file(place, _):
    place.write_text("not a folder")


def pipe(place, _):
    os.mkfifo(place)


def open_folder(place, _):
    """One that others may have written to."""
    place.mkdir()
    place.chmod(0o777)
    (place / "1.part").write_text("somebody's")
    (place / "pullstream.lock").touch()


def renamed(place, precious):
    """One of the user's own, closed to others, which somebody has given this name."""
    place.mkdir(mode=0o700)
    for name, data in content(precious).items():
        (place / name).write_bytes(data)


def renamed_with_links(place, precious):
    """The same, with links as its files and its lock."""
    place.mkdir(mode=0o700)
    (place / "1.part").symlink_to(precious / "thesis.txt")
    (place / "pullstream.lock").symlink_to(precious / "thesis.txt")


def foreign(place, _):
    """Another user's, as a run would make it."""
    place.mkdir(mode=0o700)
    (place / "1.part").write_text("somebody's")
    (place / "pullstream.lock").touch()
    for path in (place, *place.iterdir()):
        os.chown(path, NOBODY, NOBODY)


PLANTED = [link, broken_link, file, pipe, open_folder, renamed, renamed_with_links]
PLANTED.append(pytest.param(foreign, marks=NEEDS_ROOT))


def state(folder):
    """Everything in a folder, whatever it is."""
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.lstat().st_ino, path.lstat().st_size)
        for path in folder.rglob("*")
    }


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("tail", ["", f"-{TAIL}"])
def test_under_the_name_of_a_workshop(plant, tail, precious, tmp_path):
    """The run has one of its own, and what was planted stays as it was."""
    out = tmp_path / "out"
    out.mkdir()
    plant(out / (workshop_of("/{time}.txt") + tail), precious)
    before = state(out)
    written("a", files.write_text(out / "{time}.txt"))
    after = state(out)
    assert (out / "0.txt").read_text() == "a\n"
    del after["0.txt"]
    assert after == before


@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("tail", ["", f"-{TAIL}"])
def test_in_the_folder_for_temporaries(plant, tail, precious, tmp_path, monkeypatch):
    """Where what goes to a URL is made; anybody may write to it."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    target = "memory://attacked/{time}.txt"
    plant(tmp_path / "tmp" / (workshop_of(target) + tail), precious)
    before = state(tmp_path / "tmp")
    assert written("a", files.write_text(target)) == ["memory://attacked/0.txt"]
    assert state(tmp_path / "tmp") == before


def test_the_very_name_of_the_workshop(precious, tmp_path, monkeypatch):
    """Even who knew it would gain nothing: another is taken."""
    names = iter([TAIL, TAIL, "f" * 16])
    monkeypatch.setattr(staging.secrets, "token_hex", lambda _: next(names))
    out = tmp_path / "out"
    out.mkdir()
    (out / f"{workshop_of('/{time}.txt')}-{TAIL}").symlink_to(precious)
    written("a", files.write_text(out / "{time}.txt"))
    assert (out / "0.txt").read_text() == "a\n"
    assert next(names, None) is None


def test_a_workshop_is_closed_to_others(tmp_path):
    """Nobody else may look into it; the files that come out of it are as any other file is."""
    mask = os.umask(0)
    os.umask(mask)
    modes = []
    look = ps.tap(lambda _: modes.extend(path.stat().st_mode & 0o777 for path in tmp_path.glob(".pull*")))
    written("a", ps.pipe(look, files.write_text(tmp_path / "{time}.txt")))
    assert modes == [0o700]
    assert (tmp_path / "0.txt").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_workshop_that_is_taken_away_while_it_is_used(precious, tmp_path):
    """What is in it is reached by its descriptor, so the link that is in its place now leads nowhere."""
    before = left_behind()

    def swap(_):
        (workshop,) = tmp_path.glob(".pullstream-*")
        workshop.rename(tmp_path / "elsewhere")
        workshop.symlink_to(precious)

    written(["a"], ps.pipe(ps.tap(swap), files.write_text(tmp_path / "{time}.txt.gz")))
    assert (tmp_path / "0.txt.gz").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert left_behind() == before


@pytest.mark.parametrize("target", ["{time}/{key}.txt", "{key}/x.txt"])
@pytest.mark.parametrize("late", [False, True])
def test_a_link_under_the_name_of_a_folder(target, late, precious, tmp_path, monkeypatch):
    """It leads out of the folder that the target says: refused, also if it appears in the last moment."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "0").symlink_to(precious)
    told = "0 is a link, so .* would be in another folder than the target says"
    if late:
        monkeypatch.setattr(Local, "_check_above", lambda *_: None)
        told = "Not a directory, so write_text cannot write to .*; write to another target"
    with pytest.raises((files.FileTargetError, NotADirectoryError), match=told):
        written("a", files.write_text(out / target, key=lambda _: "0"))
    assert [path.name for path in out.iterdir()] == ["0"]


def test_a_link_in_the_place_of_a_file_that_grows(precious, tmp_path):
    """It is not followed, when a run appends nor when one is resumed."""
    out = tmp_path / "all.txt"

    async def swap(value):
        if value == "c":
            while not out.exists():  # noqa: ASYNC110 - nobody sets an event
                await trio.sleep(0.01)
            out.unlink()
            out.symlink_to(precious / "thesis.txt")
        return value

    source = ps.pipe(ps.values("abc", time=ord), ps.map_async(swap, concurrency=1))
    for _ in range(2):
        with pytest.raises((OSError, files.FileTargetError), match=r"all\.txt"):
            ps.run(ps.pipe(source, files.write_text(tmp_path / "all.txt")), journal=tmp_path / "journal", limit=1)


@pytest.mark.parametrize("size", [4, 5_000])
@pytest.mark.parametrize("longer", [0, 7])
def test_another_file_in_the_place_of_one_that_grows(size, longer, tmp_path):
    """Be it a new one or another name of one that is somewhere else: it is not cut and not lengthened."""
    thesis = tmp_path / "thesis.txt"

    def fail(value):
        if value == "c":
            raise KeyError

    source = ps.pipe(ps.values("abc", time=ord), ps.map_batches(list), ps.tap(fail), ps.map(lambda text: text * size))
    write = files.write_text(tmp_path / "all.txt")
    with pytest.raises(KeyError):
        ps.run(ps.pipe(source, write), journal=tmp_path / "journal", limit=1)
    thesis.write_bytes(b"t" * ((tmp_path / "all.txt").stat().st_size + longer))
    (tmp_path / "all.txt").unlink()
    os.link(thesis, tmp_path / "all.txt")
    there = thesis.read_bytes()
    assert len(there) > size
    with pytest.raises(
        files.FileTargetError, match=r"all\.txt is not the file that the run that is resumed had written"
    ):
        ps.run(ps.pipe(source, write), journal=tmp_path / "journal", limit=1)
    assert thesis.read_bytes() == there


def test_a_manifest_that_may_not_be_replaced(tmp_path, monkeypatch):
    """Another's, say, in a folder that all may write to: nothing is left beside it."""
    (tmp_path / "m").touch()

    def rename(_, old, new):
        raise PermissionError(errno.EPERM, "Operation not permitted", str(new))

    monkeypatch.setattr(Disk, "rename", rename)
    with pytest.raises(PermissionError, match="write_text cannot write its manifest"):
        written("a", files.write_text(tmp_path / "out" / "{time}", manifest=tmp_path / "m"))
    assert sorted(content(tmp_path)) == ["m"]


@pytest.mark.parametrize("given", [b'{"time": "is money"}\n', b'{"time": 1, "key": 2}\n{"time', b"{}", b'{"time": 1\n'])
def test_values_with_times_are_no_manifest(given, tmp_path):
    """They are not replaced, though they begin like one."""
    (tmp_path / "m").write_bytes(given)
    with pytest.raises(files.FileTargetError, match="m is not a manifest, and the manifest would replace it"):
        written("a", files.write_text(tmp_path / "out" / "{time}", manifest=tmp_path / "m"))
    assert (tmp_path / "m").read_bytes() == given


@pytest.mark.parametrize("plant", [link, broken_link, file, pipe, renamed])
@pytest.mark.parametrize("name", ["manifest", ".manifest.part"])
def test_under_the_names_of_a_manifest(plant, name, precious, tmp_path):
    """What no run has left there is not replaced, and no link is followed; the error says what is in the way."""
    out = tmp_path / "out"
    out.mkdir()
    plant(out / name, precious)
    before = state(out)
    with pytest.raises(files.FileTargetError, match=f"{name} is .*, and the manifest would replace it"):
        written("a", files.write_text(out / "{time}.txt", manifest=out / "manifest"))
    if name == "manifest":
        assert state(out) == before
    else:
        assert {each: how for each, how in state(out).items() if each != "manifest"} == before


def test_what_a_killed_run_left_of_a_manifest(tmp_path):
    """Is replaced; whole or not, it begins as manifests do."""
    (tmp_path / ".m.part").write_text('{"time": 1, "ke')
    written("a", files.write_text(tmp_path / "{time}.txt", manifest=tmp_path / "m"))
    (entry,) = map(json.loads, (tmp_path / "m").read_text().splitlines())
    assert entry["path"] == str(tmp_path / "0.txt")
    assert sorted(content(tmp_path)) == ["0.txt", "m"]


def test_what_is_put_beside_in_a_store():
    """Files of other names stay, in a folder of that name too."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    beside = f"/attacked/{workshop_of('memory://attacked/{time}.txt')}"
    fs.pipe({f"{beside}/1.part": b"half", f"{beside}/thesis.txt": b"years", f"{beside}/more/1.part": b"years"})
    written("a", files.write_text("memory://attacked/{time}.txt"))
    assert sorted(fs.find("/attacked")) == [f"{beside}/more/1.part", f"{beside}/thesis.txt", "/attacked/0.txt"]
    fs.store.clear()

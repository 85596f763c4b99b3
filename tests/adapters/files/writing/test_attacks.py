"""Another user of the machine plants links, folders and files under names that a run uses: nothing is touched."""

import hashlib
import json
import os
import tempfile
from contextlib import suppress

import fsspec
import pytest

import pullstream as ps
from adapters import files
from adapters.files.writing import staging
from adapters.files.writing.store import Local
from tests.programs import until

from .kit import content, fails_once, left_behind, stopped, written

NOBODY = 65534

TAIL = "0123456789abcdef"

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


@pytest.fixture
def precious(tmp_path):
    """A folder of the user's that no run may change."""
    folder = tmp_path / "precious"
    folder.mkdir(mode=0o700)
    for name in ("thesis.txt", "1.part", "2.part", "manifest"):
        (folder / name).write_text("years of work\n")
    before = content(folder)
    yield folder
    assert content(folder) == before


def workshop_of(rest):
    """The common beginning of the names of a target's workshops."""
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
    place.mkdir()
    place.chmod(0o777)
    (place / "1.part").write_text("somebody's")
    (place / "pullstream.lock").touch()


def renamed(place, precious):
    """A private folder of the user that was given this name."""
    place.mkdir(mode=0o700)
    for name, data in content(precious).items():
        (place / name).write_bytes(data)


def renamed_with_links(place, precious):
    place.mkdir(mode=0o700)
    (place / "1.part").symlink_to(precious / "thesis.txt")
    (place / "pullstream.lock").symlink_to(precious / "thesis.txt")


def foreign(place, _):
    place.mkdir(mode=0o700)
    (place / "1.part").write_text("somebody's")
    (place / "pullstream.lock").touch()
    for path in (place, *place.iterdir()):
        os.chown(path, NOBODY, NOBODY)


def lines_with(data):
    """Text that has times like a manifest, but is not one."""
    return lambda place, _: place.write_bytes(data)


LIKE_MANIFESTS = [b'{"time": "is money"}\n', b'{"time": 1, "key": 2}\n{"time', b"{}", b'{"time": 1\n']
PLANTED = [link, broken_link, file, pipe, open_folder, renamed, renamed_with_links]

PLANTED.append(pytest.param(foreign, marks=NEEDS_ROOT))


def state(folder):
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.lstat().st_ino, path.lstat().st_size)
        for path in folder.rglob("*")
    }


@pytest.mark.sampled(16)
@pytest.mark.parametrize("plant", PLANTED)
@pytest.mark.parametrize("tail", ["", f"-{TAIL}"])
@pytest.mark.parametrize("url", [False, True])
def test_planted_workshops(plant, tail, url, precious, tmp_path, monkeypatch):  # noqa: PLR0917
    out = tmp_path / "out"
    out.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(out))
    target = "memory://attacked/{time}.txt" if url else f"{out}/{{time}}.txt"
    plant(out / (workshop_of(target if url else "/{time}.txt") + tail), precious)
    before = state(out)
    (path,) = written("a", files.write_text(target))
    after = state(out)
    assert fsspec.filesystem("memory" if url else "file").cat_file(str(path)) == b"a\n"
    after.pop("0.txt", None)
    assert after == before


def test_the_exact_name_of_the_workshop(precious, tmp_path, monkeypatch):
    names = iter([TAIL, TAIL, "f" * 16])
    monkeypatch.setattr(staging.secrets, "token_hex", lambda _: next(names))
    out = tmp_path / "out"
    out.mkdir()
    (out / f"{workshop_of('/{time}.txt')}-{TAIL}").symlink_to(precious)
    written("a", files.write_text(out / "{time}.txt"))
    assert (out / "0.txt").read_text() == "a\n"
    assert next(names, None) is None


def test_a_folder_that_is_removed_before_there_is_a_workshop(tmp_path, monkeypatch):
    out, names = tmp_path / "out", iter([TAIL])
    monkeypatch.setattr(staging.secrets, "token_hex", lambda _: (out.exists() and out.rmdir(), next(names))[1])
    with pytest.raises(FileNotFoundError, match="folder or bucket does not exist, or was removed"):
        written("a", files.write_text(out / "{time}.txt"))


def test_a_workshop_is_closed_to_others(tmp_path):
    mask = os.umask(0)
    os.umask(mask)
    modes = []
    look = ps.tap(lambda _: modes.extend(path.stat().st_mode & 0o777 for path in tmp_path.glob(".pull*")))
    written("a", ps.pipe(look, files.write_text(tmp_path / "{time}.txt")))
    assert modes == [0o700]
    assert (tmp_path / "0.txt").stat().st_mode & 0o777 == 0o666 & ~mask


def test_a_workshop_that_is_replaced_during_use(precious, tmp_path):
    """Its files are accessed through its descriptor, so a link put in its place has no effect."""
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
def test_a_link_in_place_of_a_folder(target, late, precious, tmp_path, monkeypatch):
    """It leads out of the target's folder, so it is refused, even if it appears at the last moment."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "0").symlink_to(precious)
    message = "0 is a link, so .* would be in another folder than the target says"
    if late:
        monkeypatch.setattr(Local, "_check_above", lambda *_: None)
        message = "Not a directory, so write_text cannot write to .*; write to another target"
    with pytest.raises((files.FileTargetError, NotADirectoryError), match=message):
        written("a", files.write_text(out / target, key=lambda _: "0"))
    assert [path.name for path in out.iterdir()] == ["0"]


def test_a_link_in_place_of_a_growing_file(precious, tmp_path):
    out = tmp_path / "all.txt"

    async def swap(value):
        if value == "c":
            await until(out.exists)
            out.unlink()
            out.symlink_to(precious / "thesis.txt")
        return value

    source = ps.pipe(ps.values("abc", time=ord), ps.map_async(swap, concurrency=1))
    pipeline = ps.pipe(source, files.write_text(tmp_path / "all.txt"))
    with pytest.raises((OSError, files.FileTargetError), match=r"all\.txt"):
        ps.run(pipeline, journal=tmp_path / "journal", limit=1)
    # If the journal has recorded no time yet, the next run begins again, and replaces the link.
    with suppress(OSError, files.FileTargetError):
        ps.run(pipeline, journal=tmp_path / "journal", limit=1)


@pytest.mark.parametrize("size", [4, 5_000])
@pytest.mark.parametrize("longer", [0, 7])
def test_another_file_in_place_of_a_growing_one(size, longer, tmp_path):
    thesis = tmp_path / "thesis.txt"
    texts = ps.pipe(ps.values("abc", time=ord), fails_once("c"), ps.map(lambda text: text * size))
    pipeline = ps.pipe(texts, files.write_text(tmp_path / "all.txt"))
    stopped(pipeline, tmp_path / "journal")
    thesis.write_bytes(b"t" * ((tmp_path / "all.txt").stat().st_size + longer))
    (tmp_path / "all.txt").unlink()
    os.link(thesis, tmp_path / "all.txt")
    there = thesis.read_bytes()
    assert len(there) > size
    with pytest.raises(files.FileTargetError, match=r"all\.txt is not the file that the interrupted run had written"):
        ps.run(pipeline, journal=tmp_path / "journal", limit=1)
    assert thesis.read_bytes() == there


@pytest.mark.parametrize("plant", [link, broken_link, file, pipe, renamed, *map(lines_with, LIKE_MANIFESTS)])
@pytest.mark.parametrize("name", ["manifest", ".manifest.part"])
def test_planted_files_under_a_manifests_names(plant, name, precious, tmp_path):
    """Only a run's own leftovers are replaced, and no link is followed; the error names the obstacle."""
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


def test_the_manifest_of_a_killed_run(tmp_path):
    """It is replaced; complete or not, it begins like a manifest."""
    (tmp_path / ".m.part").write_text('{"time": 1, "ke')
    written("a", files.write_text(tmp_path / "{time}.txt", manifest=tmp_path / "m"))
    (entry,) = map(json.loads, (tmp_path / "m").read_text().splitlines())
    assert entry["path"] == str(tmp_path / "0.txt")
    assert sorted(content(tmp_path)) == ["0.txt", "m"]


def test_temporary_names_in_a_store():
    """Files with other names stay, even in a folder with a temporary name."""
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    beside = f"/attacked/{workshop_of('memory://attacked/{time}.txt')}"
    fs.pipe({f"{beside}/1.part": b"half", f"{beside}/thesis.txt": b"years", f"{beside}/more/1.part": b"years"})
    written("a", files.write_text("memory://attacked/{time}.txt"))
    assert sorted(fs.find("/attacked")) == [f"{beside}/more/1.part", f"{beside}/thesis.txt", "/attacked/0.txt"]
    fs.store.clear()

"""The inputs, outputs, journal and manifests of a run must be different files, whatever their paths."""

import os
import threading
from pathlib import Path

import fsspec
import pytest

import pullstream as ps
from adapters import files
from adapters.files import conflicts
from adapters.files.conflicts import ReadPaths, RunFiles, WritePaths

from .writing.kit import content, written


def spelled(path, how, tmp_path):
    if how == "link":
        (tmp_path / "link").symlink_to(path)
        return tmp_path / "link"
    if how == "folder":
        (tmp_path / "folder").symlink_to(path.parent)
        return tmp_path / "folder" / path.name
    return path.parent / "." / ".." / path.parent.name / path.name if how == "dots" else path


# A hard link to an empty file is not one to the journal, which replaces that file.
@pytest.mark.parametrize("how", ["same", "link", "folder", "dots"])
@pytest.mark.parametrize("manifest", [False, True])
def test_an_output_that_is_the_journal(how, manifest, tmp_path):
    """A manifest is refused at the start, any other file before anything is written."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "j").touch(mode=0o600)
    other = spelled(out / "j", how, tmp_path)
    # A journal that is a link is refused as such.
    journal, path = (out / "j", other) if manifest or how == "link" else (other, out / "j")
    named = {"manifest": path} if manifest else {"key": lambda _: path.name}
    write = files.write_text((tmp_path / "none" / "{time}") if manifest else path.with_name("{key}"), **named)
    message = "its manifest, .*, is the run's journal" if manifest else "is the run's journal|is a link"
    for _ in range(2):
        with pytest.raises((ps.CompositionError, files.FileTargetError), match=message):
            ps.run(ps.pipe(ps.values([1, 2]), write), journal=journal)
    assert [path.name for path in out.iterdir()] == ["j"]
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize("target", ["m", "{key}"])
@pytest.mark.parametrize("other", [False, True])
def test_an_output_that_is_a_manifest(target, other, tmp_path):
    lists = files.write_text(tmp_path / "a" / "{time}", manifest=tmp_path / "m")
    given = {} if target == "m" else {"key": lambda _: "m"}
    writes = files.write_text(tmp_path / target, **given, **({} if other else {"manifest": tmp_path / "m"}))
    with pytest.raises((ps.CompositionError, files.FileTargetError), match="is a manifest"):
        written("a", ps.tee(lists, writes) if other else writes)
    assert content(tmp_path).get("m", b"") == b""


TWO = r"1.txt is also written by write_\w+\(\) at .*test_conflicts.py.*: give each of the two"


@pytest.mark.parametrize(
    ("other", "key"),
    [
        ("o/{key}.txt", "1"),
        ("{key}/1.txt", "o"),
        ("link/{key}.txt", "1"),
        ("o/./{key}.txt", "1"),
        ("o/1.txt", None),
        ("memory:///o/{time}{key}", ".txt"),
    ],
)
@pytest.mark.parametrize("first", [False, True])
def test_two_sinks_with_one_file(other, key, first, tmp_path):
    """One would replace or extend the other's file, so the second sink is refused when it begins the file."""
    (tmp_path / "o").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "o")
    one, other = ("memory://o/{time}.txt", other) if ":" in other else (tmp_path / "o" / "{time}.txt", tmp_path / other)
    writes = [files.write_text(one), files.write_jsonl(other, key=key and (lambda _: key))]
    with pytest.raises(files.FileTargetError, match=TWO):
        ps.run(ps.pipe(ps.values("a", time=lambda _: 1), ps.tee(*(writes if first else reversed(writes)))))


@pytest.fixture
def inbox(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text(f"{name}\n")
    return folder


CROSSED = {
    "a folder": ("in", "in/{time}.txt"),
    "a folder, deeper": ("in", "in/x/{time}/y.txt"),
    "a pattern": ("in/*.txt", "in/{time}.txt"),
    "a pattern of any depth": ("in/**/*.txt", "in/x/{time}.txt"),
    "a file": ("in/a.txt", "in/a.txt"),
    "a link to the folder": ("in", "link/{time}.txt"),
    "read by a link": ("link", "in/{time}.txt"),
    "a link to a file": ("in/a.txt", "alias"),
    "a hard link": ("in/a.txt", "hard"),
    "dots": ("in", "in/../in/./{time}.txt"),
}


@pytest.mark.sampled
@pytest.mark.parametrize("how", CROSSED)
@pytest.mark.parametrize("follow", [False, True])
def test_a_target_among_the_inputs(how, follow, inbox, tmp_path):
    (tmp_path / "link").symlink_to(inbox)
    (tmp_path / "alias").symlink_to(inbox / "a.txt")
    os.link(inbox / "a.txt", tmp_path / "hard")
    read, target = (f"{tmp_path}/{path}" for path in CROSSED[how])
    before = content(tmp_path)
    message = r"write_text\(\) at .*: .* is among the files .*Write to another folder, or read a pattern"
    with pytest.raises(ps.CompositionError, match=message):
        ps.run(ps.pipe(files.read_text(read, follow=follow), files.write_text(target)))
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    ("read", "target"),
    [
        ("in/*.txt", "in/{time}.csv"),
        ("in/[!0-9]*.txt", "in/{time}.txt"),
        ("in/?.txt", "in/{time}/x.txt"),
        ("in", "in/.done/{time}.txt"),
        ("in", "in/_done/{time}.txt"),
        ("in/a.txt", "in/{key}.txt"),
        ("in", "input/{time}.txt"),
        ("in", "{key}.txt"),
    ],
)
def test_a_target_next_to_an_input(read, target, inbox, tmp_path):
    key = {"key": lambda _: "c"} if "{key}" in target else {}
    ps.run(ps.pipe(files.read_text(f"{tmp_path}/{read}"), files.write_text(f"{tmp_path}/{target}", **key)))


@pytest.mark.parametrize(
    ("read", "target", "key"),
    [
        ("in", "{key}/x.txt", "in"),
        *((read, "in/{key}.txt", "a") for read in ("in/a.txt", "in/[ab].txt")),
        *((f"memory://{read}", "memory://in/{time}{key}.txt", "a") for read in ("in", "in/*.txt", "in/0a.txt")),
    ],
)
def test_a_key_whose_path_is_an_input(read, target, key, inbox, tmp_path):
    store = fsspec.filesystem("memory")
    store.pipe({"/in/0a.txt": b"a\n"})
    before = content(tmp_path)
    read, target = (path if ":" in path else f"{tmp_path}/{path}" for path in (read, target))
    with pytest.raises((ps.CompositionError, files.FileTargetError), match="is among the files that are read"):
        ps.run(ps.pipe(files.read_text(read), files.write_text(target, key=lambda _: key)))
    assert content(tmp_path) == before
    assert store.cat("/in/0a.txt") == b"a\n"


def test_a_manifest_and_a_journal_among_the_inputs(inbox, tmp_path):
    write = files.write_text(tmp_path / "out" / "{time}", manifest=inbox / "m")
    with pytest.raises(ps.CompositionError, match="its manifest, .*, is among the files that are read"):
        ps.run(ps.pipe(files.read_text(inbox), write))
    with pytest.raises(ps.CompositionError, match="the journal .* is among the files that are read"):
        ps.run(ps.pipe(files.read_text(inbox), ps.collect()), journal=inbox / "j")


def test_a_store_that_another_thread_has_opened():
    """The store is the same, although fsspec's objects differ."""
    traffic, found = RunFiles(None), []

    def read():
        found.append(fsspec.filesystem("memory"))

    for _ in range(2):
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    traffic.read(ReadPaths("memory://in", "/in", found[0]))
    write = WritePaths("write_text()", "memory://in/{time}", "memory://in", ["/in/x"], lambda _: False, found[1])
    with pytest.raises(ps.CompositionError, match="is among the files that are read"):
        traffic.write(write)


def test_a_target_is_compared_with_few_inputs(tmp_path, monkeypatch):
    """The work for a target does not grow with the number of files that the run reads."""
    asked, takes = [], ReadPaths.takes
    monkeypatch.setattr(ReadPaths, "takes", lambda read, place: asked.append(place.path) or takes(read, place))

    def each(count):
        folder = tmp_path / str(count)
        folder.mkdir()
        paths = [folder / f"{number}.txt" for number in range(count)]
        for number, path in enumerate(paths):
            path.write_text(f"{number}\n")
        asked.clear()
        ps.run(ps.pipe(files.read_text(paths), files.write_text(folder / "out{key}.txt", key=str)))
        with pytest.raises(files.FileTargetError, match="is among the files that are read"):
            ps.run(ps.pipe(files.read_text(paths), files.write_text(folder / "{key}.txt", key=str)))
        return len(asked) / count

    assert each(100) < 2 * each(10)


def test_the_folders_around_many_targets_are_checked_once(tmp_path, monkeypatch):
    """Checking a dozen folders would take longer than writing a small file."""
    looks, folders = [], []
    identity, resolve = conflicts._identity, Path.resolve
    monkeypatch.setattr(conflicts, "_identity", lambda path: looks.append(path) or identity(path))
    monkeypatch.setattr(Path, "resolve", lambda path, **options: folders.append(path) or resolve(path, **options))
    deep = tmp_path.joinpath("in", *"abcdefgh")
    deep.mkdir(parents=True)
    for n in range(40):
        (deep / f"{n:02}").write_text("x")

    read = files.read_text(deep / "*", time=files.name_time("..$"))
    ps.run(ps.pipe(read, files.write_text(deep / "out" / "{time}")))

    assert len(content(deep / "out")) == 40
    assert len(looks) <= 40 * 3 + 30
    assert len(folders) <= 40

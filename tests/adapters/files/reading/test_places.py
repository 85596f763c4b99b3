"""Everything in a folder or a list of paths is read or named in an error; no wait is silent."""

import logging
import os
import shutil
import socket
from pathlib import Path

import pytest

import pullstream as ps
from adapters import files
from adapters.files.reading import streams
from tests.programs import printed, until

UNREADABLE = """
import os, sys
import fsspec.implementations.local
import pullstream as ps
from adapters import files

ps.run(ps.pipe(files.read_text(sys.argv[1]), ps.collect()))
if os.geteuid() == 0:  # root may read anything
    os.setuid(65534)
for path in sys.argv[2:]:
    try:
        print(ps.run(ps.pipe(files.read_text(path), ps.collect())))
    except PermissionError as exc:
        print("PermissionError", exc.filename)
"""


def test_an_unreadable_folder(public_folder):
    folders = {name: public_folder / name for name in ("closed", "listed", "passed")}
    for folder in folders.values():
        (folder / "sub" / "deeper").mkdir(parents=True)
        (folder / "other").mkdir()
        for name in ("a.txt", "other/c.txt", "sub/b.txt"):
            (folder / name).write_text(f"{name}\n")
    closed, listed, passed = (f"PermissionError {folder}/sub" for folder in folders.values())
    expected = {
        "closed": closed,
        "closed/*/*.txt": closed,
        "closed/**/*.txt": closed,
        "closed/s*/*.txt": closed,
        "closed/o*/*.txt": "['other/c.txt']",
        "closed/*/b.txt": f"{closed}/b.txt",
        "closed/s*/b.tx?": closed,
        # The files in it can be opened by name, but the folder cannot be listed.
        "listed/*/b.txt": f"{listed}/b.txt",
        "listed/*/*.txt": f"{listed}/b.txt",
        "listed/**/b.txt": f"{listed}/b.txt",
        # For named files, permission to pass through is enough.
        "passed/sub/b.tx?": passed,
        "passed/*/b.txt": "['sub/b.txt']",
        "passed/sub/b.txt": "['sub/b.txt']",
    }
    try:
        for name, mode in {"closed": 0, "listed": 0o444, "passed": 0o111}.items():
            (folders[name] / "sub").chmod(mode)
        found = printed("-c", UNREADABLE, folders["closed"] / "a.txt", *(public_folder / each for each in expected))
        assert found.splitlines() == list(expected.values())
    finally:
        for folder in folders.values():
            (folder / "sub").chmod(0o755)


def fifo(path):
    os.mkfifo(path)


def listening(path):
    # The path of a socket has at most about a hundred bytes.
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(here)


def zero(path):
    path.symlink_to("/dev/zero")


def cycle(path):
    path.symlink_to(path.parent)


def dangling(path):
    path.symlink_to("gone")


OTHER = r"z\.txt: is a pipe, socket or device, not a regular file"
FOUND = ["", "/*", "/**/*.txt", "/z.txt"]
OTHERS = [
    *((make, given, follow, OTHER) for make in (fifo, listening) for given in FOUND for follow in (False, True)),
    *((zero, given, False, OTHER) for given in FOUND),
    # It may be a cycle, and is not followed.
    *((cycle, given, False, "is a link to a folder, which is not followed: add") for given in ("", "/**/*.txt", "/**")),
    # A followed file that is named is waited for.
    *((dangling, given, False, r"z\.txt: is a dangling link") for given in ("", "/*.txt")),
]


@pytest.mark.parametrize(("make", "given", "follow", "message"), OTHERS)
def test_special_files_and_links(make, given, follow, message, tmp_path, autojump_clock):  # noqa: PLR0917
    (tmp_path / "a.txt").write_text("a\n")
    make(tmp_path / "z.txt")
    with pytest.raises(files.FileReadError, match=message):
        ps.run(ps.pipe(files.read_text(f"{tmp_path}{given}", follow=follow), ps.take(5), ps.collect()))


def test_a_pipe_that_replaces_a_file(tmp_path, monkeypatch):
    """Between the search and opening, which would block."""
    path = tmp_path / "a.txt"
    path.write_text("a\n")
    real = streams.RawFile.__init__

    def late(*args):
        path.unlink()
        os.mkfifo(path)
        real(*args)

    monkeypatch.setattr(streams.RawFile, "__init__", late)
    with pytest.raises(files.FileReadError, match=r"a\.txt: is a pipe, socket or device, not a regular file"):
        ps.run(ps.pipe(files.read_text(path), ps.collect()))


def test_permitted_links(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "a.txt").write_text("a\n")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "link").symlink_to(tmp_path / "real")
    (tmp_path / "real" / "b.txt").symlink_to("a.txt")
    for given in ("in/link", "in/*/*.txt", "in/link/**", "i[n]/link/?.txt"):
        assert ps.run(ps.pipe(files.read_text(f"{tmp_path}/{given}"), ps.collect())) == ["a", "a"]


@pytest.mark.parametrize("given", ["in", "in/a.txt", "in/*.txt"])
async def test_missing_paths_are_waited_for(given, tmp_path, caplog):
    folder, path = tmp_path / "in", tmp_path / given
    missing = "waiting for new ones" if "*" in given else f"waiting for {path}, which does not exist"
    source = files.read_text(path, follow=True, every=0.01)
    with caplog.at_level(logging.WARNING, "pullstream"):
        async with ps.pipe(source, ps.take(2), ps.collect()).open() as running:

            async def shown(words):
                await until(lambda: words in str(running.counters()[0].status))

            for number, text in enumerate("ab"):
                await shown(f"{number} files read, {missing}")
                folder.mkdir()
                (folder / path.name.replace("*", text)).write_text(f"{text}\n")
                if text == "a":
                    await shown("1 files read, waiting for new ones")
                    shutil.rmtree(folder)
            assert await running.result() == ["a", "b"]
    logged = [record.getMessage() for record in caplog.records]
    assert logged == [f"{path} does not exist: follow=True waits for it"] * (2 * ("*" not in given))


def test_columns_without_valid_times(tmp_path):
    (tmp_path / "a.csv").write_text("t,n\n1.5,1\nnan,2\n2.5,3\n")
    with pytest.raises(files.FileReadError, match=r"a\.csv:3: has a value without a time: 't', which time= names|NaN"):
        ps.run(ps.pipe(files.read_csv(tmp_path, time="t"), ps.collect()))
    rows = ps.run(ps.pipe(files.read_csv(tmp_path, time="t", as_="tuples", on_error="skip"), ps.collect(timed=True)))
    assert rows == [(1.5, (1.5, 1)), (2.5, (2.5, 3))]
    (tmp_path / "a.csv").unlink()
    (tmp_path / "b.jsonl").write_text('{"t": [1]}\n')
    with pytest.raises(files.NoColumnError, match=r"has no times in the column 't', whose type is list"):
        ps.run(ps.pipe(files.read_jsonl(tmp_path, time="t", as_="rows"), ps.collect()))


def test_a_file_by_many_paths(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("a\n")
    (tmp_path / "link").symlink_to(tmp_path / "in")
    spellings = [f"{tmp_path}/in/a.txt", f"{tmp_path}/in/../in/a.txt", f"{tmp_path}/link/a.txt", f"{tmp_path}/in"]
    for first in spellings:
        assert ps.run(ps.pipe(files.read_text([first, *spellings]), ps.collect())) == ["a"]

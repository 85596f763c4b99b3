"""Growing files, and the manifest."""

import gzip
import json

import pytest
import trio

import pullstream as ps
from adapters import files

from .kit import content, written


def of_day(value):
    return value // 10


async def test_complete_times_are_appended(tmp_path, autojump_clock):
    """A time is in the file when it is complete, and not before; values that arrive in between wait."""
    seen = []

    @ps.source
    async def source(ctx):
        for n in (1, 2, 11, 3, 12, 21):
            yield ps.Batch(of_day(n) if n != 3 else 1, [str(n)])

    out = tmp_path / "all.txt"
    async with ps.pipe(source(), files.write_text(out)).open(limit=1) as running:
        for day in (0, 1, 2):
            await running.progress.completed(day)
            seen.append(out.read_text().split())
        assert await running.result() == [out]
    whole = [["1", "2"], ["1", "2", "11", "3", "12"], ["1", "2", "11", "3", "12", "21"]]
    assert seen[-1] == whole[-1]
    for day, lines in enumerate(seen):
        assert lines in whole[day:]


def test_a_growing_file_is_started_again(tmp_path):
    """A run without a journal replaces an earlier run's file when its first time is complete."""
    write = files.write_text(tmp_path / "{key}.txt", key=len)
    written(["a", "bb", "c"], write)
    assert content(tmp_path) == {"1.txt": b"a\nc\n", "2.txt": b"bb\n"}
    written(["d"], write)
    assert content(tmp_path) == {"1.txt": b"d\n", "2.txt": b"bb\n"}


def test_csv_has_one_header(tmp_path):
    """With any number of times; also if compressed, with one member per time."""
    rows = [{"day": n // 10, "n": n} for n in (1, 2, 11, 21)]
    for name, read in (("a.csv", bytes), ("a.csv.gz", gzip.decompress)):
        (path,) = written(rows, files.write_csv(tmp_path / name), time=lambda row: row["day"])
        assert read(path.read_bytes()) == b'"day","n"\n0,1\n0,2\n1,11\n2,21\n'


def test_different_columns_do_not_fit(tmp_path):
    """A later time with other columns is an error; earlier times stay."""
    rows = [{"n": 1}, {"n": 11, "m": 1}]
    with pytest.raises(files.SchemaError, match=r'columns are "n", but those of its next time are "n","m"'):
        written(rows, files.write_csv(tmp_path / "all.csv"), time=lambda row: of_day(row["n"]))
    assert content(tmp_path) == {"all.csv": b'"n"\n1\n'}


async def test_another_program_writes_to_the_file(tmp_path, autojump_clock):
    """A file with an unexpected length is not written to."""
    out = tmp_path / "all.txt"

    @ps.source
    async def source(ctx):
        yield ps.Batch(0, ["a"])
        ctx.advance(1)
        while not out.exists():  # noqa: ASYNC110 - no event for it
            await trio.sleep(1)
        out.write_text("gone")
        yield ps.Batch(1, ["b"])

    with pytest.raises(files.FileTargetError, match="another program writes to it"):
        await ps.arun(ps.pipe(source(), files.write_text(out)))
    assert out.read_text() == "gone"


def test_manifest(tmp_path):
    """One line per file, in the order in which they appeared: its time, key, rows and bytes."""
    values = [{"k": "ab"[n % 2], "n": n} for n in (1, 2, 3, 11)]
    write = files.write_jsonl(tmp_path / "{time}{key}.jsonl", key="k", manifest=tmp_path / "lists" / "manifest.jsonl")
    paths = written(values, write, time=lambda row: of_day(row["n"]))
    entries = [json.loads(line) for line in (tmp_path / "lists" / "manifest.jsonl").read_text().splitlines()]
    assert [entry["path"] for entry in entries] == [str(path) for path in paths]
    assert [(entry["time"], entry["key"], entry["rows"]) for entry in entries] == [
        (0, "b", 2),
        (0, "a", 1),
        (1, "b", 1),
    ]
    assert [entry["bytes"] for entry in entries] == [path.stat().st_size for path in paths]


def test_the_manifest_of_a_growing_file(tmp_path):
    """It has each time's start and number of bytes."""
    written([1, 2, 11], ps.pipe(ps.map(str), files.write_text(tmp_path / "a", manifest=tmp_path / "m")), time=of_day)
    entries = [json.loads(line) for line in (tmp_path / "m").read_text().splitlines()]
    assert [(entry["time"], entry["offset"], entry["bytes"], entry["rows"]) for entry in entries] == [
        (0, 0, 4, 2),
        (1, 4, 3, 1),
    ]


def test_a_manifest_belongs_to_one_run(tmp_path):
    """Another run starts it again, and a run without values leaves an empty one."""
    write = files.write_text(tmp_path / "{time}", manifest=tmp_path / "m")
    for _ in range(2):
        written(["a"], write)
        assert len((tmp_path / "m").read_text().splitlines()) == 1
    written([], write)
    assert (tmp_path / "m").read_text() == ""

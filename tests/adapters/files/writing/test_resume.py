"""Growing files and manifests, and runs that resume from a journal."""

import gzip
import json
from datetime import date

import pytest

import pullstream as ps
from adapters import files
from tests.programs import until
from timely import Product

from .kit import content, fails_once, stopped, written


def growing(folder):
    numbers = ps.values(range(10), time=lambda n: n // 2)
    return ps.pipe(numbers, fails_once(7), ps.map(str), files.write_text(folder / "all", manifest=folder / "m"))


def test_a_growing_file_is_truncated(tmp_path):
    """Content not recorded as complete is removed and written again, in the file and in the manifest."""
    stopped(pipeline := growing(tmp_path), tmp_path / "j")
    assert (tmp_path / "all").read_text() == "0\n1\n2\n3\n4\n5\n"
    with (tmp_path / "all").open("a") as file:
        file.write("6\n7")
    with (tmp_path / "m").open("a") as file:
        file.write('{"time"')
    assert ps.run(pipeline, journal=tmp_path / "j") == [tmp_path / "all"]
    assert (tmp_path / "all").read_text() == "".join(f"{n}\n" for n in range(10))
    assert len((tmp_path / "m").read_text().splitlines()) == 5


@pytest.mark.parametrize("change", [lambda path: path.write_text("0\n"), lambda path: path.unlink()])
def test_a_growing_file_that_was_truncated_elsewhere(change, tmp_path):
    """The run is refused with an explanation, because the content cannot be restored."""
    stopped(pipeline := growing(tmp_path), tmp_path / "j")
    change(tmp_path / "all")
    with pytest.raises(files.FileTargetError, match="had written 12: another program changed it"):
        ps.run(pipeline, journal=tmp_path / "j")


def test_partially_ordered_times_and_a_growing_file(tmp_path):
    """The file has no length for each time, so it is refused with a journal, and allowed without."""
    one, other = (
        ps.values([text], time=lambda _, at=at: at) for text, at in (("a", Product(1, 2)), ("b", Product(2, 1)))
    )
    source = ps.merge(one, other)
    pipeline = ps.pipe(source, files.write_text(tmp_path / "all"))
    assert ps.run(pipeline) == [tmp_path / "all"]
    with pytest.raises(ps.errors.JournalError, match="sort_by_time"):
        ps.run(pipeline, journal=tmp_path / "j")
    apart = ps.pipe(source, files.write_text(tmp_path / "{time}"))
    assert len(ps.run(apart, journal=tmp_path / "k")) == 2


class Odd(int):
    """A key that differs from another one with the same text."""

    __hash__ = int.__hash__

    def __eq__(self, other):
        return isinstance(other, Odd) and int(self) == int(other)


@pytest.mark.parametrize(
    ("target", "key", "message"),
    [
        ("{time:%d}", None, "the times .*2026, 1, 1.* and .*2026, 2, 1"),
        ("all-{key}", {"a": 1, "b": 2, "c": Odd(1)}.get, "keys"),
    ],
)
def test_conflicts_with_files_of_the_resumed_run(target, key, message, tmp_path):
    days = {"a": date(2026, 1, 1), "b": date(2026, 1, 2), "c": date(2026, 2, 1)}
    texts = ps.values(sorted(days), time=days.get)
    pipeline = ps.pipe(texts, fails_once("c"), files.write_text(tmp_path / target, key=key))
    stopped(pipeline, tmp_path / "j")
    with pytest.raises(files.FileTargetError, match=f"{message}.* would share the file"):
        ps.run(pipeline, journal=tmp_path / "j")


def test_a_deleted_file_is_reported(tmp_path, caplog):
    """Its time is complete and is not repeated; the log says so once, when the run resumes."""
    end = tmp_path / "end"

    def left(row):
        return {"n": row["n"], "left": 1 / (int(end.read_text()) - row["n"])}

    days = ps.values([{"n": n} for n in range(6)], time=lambda row: row["n"])
    pipeline = ps.pipe(days, ps.map(left), files.write_jsonl(tmp_path / "{time}.jsonl"))

    def message(day):
        caplog.clear()
        end.write_text(str(day))
        with pytest.raises(ZeroDivisionError):
            ps.run(pipeline, journal=tmp_path / "journal")
        return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]

    assert message(3) == message(4) == []
    (tmp_path / "1.jsonl").unlink()
    (warning,) = message(5)
    assert f"{tmp_path}/1.jsonl, made by an earlier run with this journal, no longer exists" in warning
    (tmp_path / "0.jsonl").unlink()
    assert "0.jsonl (and 1 more), made by an earlier run" in message(5)[0]


def of_day(value):
    return value // 10


def test_a_growing_file_is_replaced(tmp_path):
    """A run without a journal replaces an earlier run's file when its first time is complete; other keys' stay."""
    write = files.write_text(tmp_path / "{key}.txt", key=len)
    written(["a", "bb", "c"], write)
    assert content(tmp_path) == {"1.txt": b"a\nc\n", "2.txt": b"bb\n"}
    written(["d"], write)
    assert content(tmp_path) == {"1.txt": b"d\n", "2.txt": b"bb\n"}


EMPTY = [
    (files.write_text, {}, b""),
    (files.write_jsonl, {"compression": "gzip"}, b""),
    (files.write_csv, {}, b""),
    (files.write_csv, {"schema": {"n": "int64"}}, b'"n"\n'),
]


@pytest.mark.parametrize(("write", "options", "empty"), EMPTY)
def test_a_run_that_wrote_nothing_leaves_an_empty_file(write, options, empty, tmp_path):
    """Older content would look like this run's; only a header or the codec's frame is written."""
    path = tmp_path / "all"
    path.write_bytes(b"older")
    write = write(path, manifest=tmp_path / "m", **options)

    assert written([], write) == [path]

    assert (gzip.decompress(path.read_bytes()) if "compression" in options else path.read_bytes()) == empty
    line = json.loads((tmp_path / "m").read_text())
    assert (line["time"], line["path"], line["rows"]) == (None, str(path), 0)
    assert sorted(content(tmp_path)) == ["all", "m"]


async def test_a_failed_run_that_wrote_nothing_keeps_the_older_file(tmp_path):
    path = tmp_path / "all"
    path.write_bytes(b"older")

    with pytest.raises(ZeroDivisionError):
        await ps.arun(ps.pipe(ps.values([0]), ps.map(lambda n: 1 // n), files.write_text(path)))
    async with ps.pipe(ps.pushable(1), files.write_text(path)).open() as running:
        await running.abort()

    assert content(tmp_path) == {"all": b"older"}


def test_a_resumed_run_that_writes_nothing_more_keeps_the_file(tmp_path):
    numbers = ps.pipe(ps.values(range(3), time=lambda n: n), fails_once(2), ps.filter(lambda n: n < 2))
    pipeline = ps.pipe(numbers, ps.map(str), files.write_text(tmp_path / "all"))
    stopped(pipeline, tmp_path / "j")
    ps.run(pipeline, journal=tmp_path / "j")
    assert (tmp_path / "all").read_text() == "0\n1\n"


def test_csv_has_one_header(tmp_path):
    rows = [{"day": n // 10, "n": n} for n in (1, 2, 11, 21)]
    for name, read in (("a.csv", bytes), ("a.csv.gz", gzip.decompress)):
        (path,) = written(rows, files.write_csv(tmp_path / name), time=lambda row: row["day"])
        assert read(path.read_bytes()) == b'"day","n"\n0,1\n0,2\n1,11\n2,21\n'


def test_changed_columns_are_refused(tmp_path):
    rows = [{"n": 1}, {"n": 11, "m": 1}]
    with pytest.raises(files.SchemaError, match=r'columns are "n", but those of its next time are "n","m"'):
        written(rows, files.write_csv(tmp_path / "all.csv"), time=lambda row: of_day(row["n"]))
    assert content(tmp_path) == {"all.csv": b'"n"\n1\n'}


@pytest.mark.parametrize("limit", [1, 100])
def test_a_time_is_in_all_of_its_files_or_in_none(tmp_path, limit):
    """Some files had been appended to and another begun, after the previous time had appeared or along with it."""
    rows = [(0, "a", "n"), (0, "b", "n"), (1, "a", "n"), (1, "new", "n"), (1, "b", "m")]
    values = ps.values([{"k": k, column: time} for time, k, column in rows], time=lambda row: min(row.get("n", 1), 1))
    write = files.write_csv(tmp_path / "{key}.csv", key=lambda row: row["k"])
    with pytest.raises(files.SchemaError, match='b.csv: the file\'s columns are "k","n"'):
        ps.run(ps.pipe(values, write), limit=limit)
    assert content(tmp_path) == {"a.csv": b'"k","n"\n"a",0\n', "b.csv": b'"k","n"\n"b",0\n'}


async def test_another_program_writes_to_the_file(tmp_path):
    out = tmp_path / "all.txt"

    @ps.source
    async def source(ctx):
        yield ps.Batch(0, ["a"])
        ctx.advance(1)
        await until(out.exists)
        out.write_text("gone")
        yield ps.Batch(1, ["b"])

    with pytest.raises(files.FileTargetError, match="another program writes to it"):
        await ps.arun(ps.pipe(source(), files.write_text(out)))
    assert out.read_text() == "gone"


def test_manifest(tmp_path):
    values = [{"k": "ab"[n % 2], "n": n} for n in (1, 2, 3, 11)]
    manifest = tmp_path / "lists" / "manifest.jsonl"
    write = files.write_jsonl(tmp_path / "{time}{key}.jsonl", key="k", manifest=manifest)
    for _ in range(2):
        paths = written(values, write, time=lambda row: of_day(row["n"]))
        entries = [json.loads(line) for line in manifest.read_text().splitlines()]
        assert [entry["path"] for entry in entries] == [str(path) for path in paths]
        listed = [(entry["time"], entry["key"], entry["rows"]) for entry in entries]
        assert listed == [(0, "b", 2), (0, "a", 1), (1, "b", 1)]
        assert [entry["bytes"] for entry in entries] == [path.stat().st_size for path in paths]
    written([], write)
    assert manifest.read_text() == ""

"""Sinks in runs that go on from a journal: growing files, names of earlier runs, files that were removed."""

from datetime import date

import pytest

import pullstream as ps
from adapters import files
from timely import Product


def growing(folder, stop=None):
    def check(n):
        if n == stop:
            raise ZeroDivisionError
        return str(n)

    return ps.pipe(
        ps.values(range(10), time=lambda n: n // 2),
        ps.map(check),
        files.write_text(folder / "all", manifest=folder / "m"),
    )


def stopped(folder, stop):
    """A run that stopped in the middle, before it had recorded its last writes."""
    with pytest.raises(ZeroDivisionError):
        ps.run(growing(folder, stop), journal=ps.Journal(folder / "j", version="1"), limit=1)


def test_a_growing_file_is_truncated(tmp_path):
    """What was not recorded as complete is removed, and written again; also in the manifest and the result."""
    stopped(tmp_path, 7)
    assert (tmp_path / "all").read_text() == "0\n1\n2\n3\n4\n5\n"
    with (tmp_path / "all").open("a") as file:
        file.write("6\n7")
    with (tmp_path / "m").open("a") as file:
        file.write('{"time"')
    assert ps.run(growing(tmp_path), journal=ps.Journal(tmp_path / "j", version="1")) == [tmp_path / "all"]
    assert (tmp_path / "all").read_text() == "".join(f"{n}\n" for n in range(10))
    assert len((tmp_path / "m").read_text().splitlines()) == 5


@pytest.mark.parametrize("change", [lambda path: path.write_text("0\n"), lambda path: path.unlink()])
def test_a_growing_file_that_was_truncated_elsewhere(change, tmp_path):
    """It is refused with an explanation, because its content cannot be restored."""
    stopped(tmp_path, 7)
    change(tmp_path / "all")
    with pytest.raises(files.FileTargetError, match="had written 12: another program changed it"):
        ps.run(growing(tmp_path), journal=ps.Journal(tmp_path / "j", version="1"))


def test_partially_ordered_times_and_a_growing_file(tmp_path):
    """Such a file has no length as of a time: refused with a journal, allowed without."""
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
    """A different key with the same text as another."""

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
    """Two times or keys with one file are refused as in a single run."""
    days = {"a": date(2026, 1, 1), "b": date(2026, 1, 2), "c": date(2026, 2, 1)}
    stops = ["c"]

    def stop(text):
        return 1 / 0 if text in stops else text

    pipeline = ps.pipe(
        ps.values(sorted(days), time=days.get), ps.map(stop), files.write_text(tmp_path / target, key=key)
    )
    with pytest.raises(ZeroDivisionError):
        ps.run(pipeline, journal=tmp_path / "j", limit=1)
    stops.clear()
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
    (said,) = message(5)
    assert f"{tmp_path}/1.jsonl, made by an earlier run with this journal, no longer exists" in said
    (tmp_path / "0.jsonl").unlink()
    assert "0.jsonl (and 1 more), made by an earlier run" in message(5)[0]

"""Reading and writing with a journal: after a kill or failure at any point, a new run has the same bytes."""

import errno
import random
import signal
import subprocess
import sys
import time
from datetime import date
from itertools import count, islice

import pytest

import pullstream as ps
from adapters import files
from timely import Product

from .kit import content, left_behind
from .test_faults import Faults

DAYS = 4


def inputs(folder):
    """Two folders of files: readings by day, and sensors."""
    for day in range(DAYS):
        (folder / "in").mkdir(exist_ok=True)
        lines = [f"{day},{n % 3},{n * day}\n" for n in range(30)]
        (folder / "in" / f"{day}.csv").write_text("day,sensor,value\n" + "".join(lines))


PIPELINE = """
import pullstream as ps
from adapters import files

def day_total(fold=ps.Fold(lambda: 0, lambda total, row: total + row.value)):
    return fold

def pipeline(folder, slow=lambda row: row):
    rows = files.read_csv(f"{folder}/in/*.csv", time="day")
    out = f"{folder}/out"
    return ps.pipe(rows, ps.map(slow), ps.tee(
        files.write_parquet(out + "/{time}/{key}.parquet", key="sensor", row_group=4, manifest=out + "/files"),
        files.write_csv(out + "/all-{key}.csv.gz", key="sensor", manifest=out + "/parts"),
        ps.pipe(ps.reduce_by_key(day_total(), key=lambda row: row.sensor), files.write_jsonl(out + "/totals.jsonl")),
    ))
"""
exec(PIPELINE)


def outcome(folder):
    return {name: data.replace(str(folder).encode(), b"") for name, data in content(folder / "out").items()}


def named(result, folder):
    return [[str(path.relative_to(folder)) for path in paths] for paths in result]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    inputs(folder)
    result = ps.run(pipeline(folder))  # noqa: F821 - of the text above
    assert len(result[0]) == DAYS * 3
    return outcome(folder), named(result, folder)


@pytest.mark.parametrize("step", [43, pytest.param(1, marks=pytest.mark.slow)])
def test_every_operation_fails_in_turn_with_a_journal(step, undisturbed, tmp_path, monkeypatch):
    """One failure after another, each in a run that continues after the last one, at every distance."""
    expected, result = undisturbed
    faults = Faults(monkeypatch)
    before = left_behind()
    for number in count(0, step):
        folder = tmp_path / str(number)
        folder.mkdir()
        inputs(folder)
        runs = 0
        while True:
            # Each run has fewer operations left than the one before, and so gets further.
            faults.reset({number + 20 * runs})
            runs += 1
            try:
                made = ps.run(pipeline(folder), journal=folder / "journal")  # noqa: F821 - of the text above
                break
            except OSError as exc:
                if exc.errno != errno.EIO:
                    raise
            assert left_behind() == before
        assert outcome(folder) == expected
        assert named(made, folder) == result
        assert left_behind() == before
        if runs == 1:
            break


PROGRAM = (
    PIPELINE
    + """
import sys, time

def slow(row):
    print(row.value, flush=True)
    if row.value % 4 == 0:
        time.sleep(0.003)
    return row

ps.run(pipeline(sys.argv[1], slow), journal=sys.argv[1] + "/journal", limit=3)
print("finished")
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_killed_again_and_again(seed, undisturbed, tmp_path):
    """kill -9 until a run ends: nothing is lost or repeated, and the bytes are the same."""
    inputs(tmp_path)
    chance = random.Random(seed)
    for number in count():
        with subprocess.Popen([sys.executable, "-c", PROGRAM, tmp_path], stdout=subprocess.PIPE, text=True) as process:
            # Later each time, so that a run ends at some point.
            seen = list(islice(process.stdout, chance.randrange(1, 40) + 20 * number))
            time.sleep(chance.random() / 100)
            process.send_signal(signal.SIGKILL)
            if "finished\n" in [*seen, *process.stdout]:
                break
    assert number > 1
    expected, _ = undisturbed
    assert outcome(tmp_path) == expected


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

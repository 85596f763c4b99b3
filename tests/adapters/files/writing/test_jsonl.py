"""write_jsonl: a time's file appears complete when its time is complete, and not before."""

import datetime as dt
import json
import signal
import subprocess
import sys
from typing import NamedTuple

import pytest
import trio
import trio.testing

import pullstream as ps
from adapters import files


class Unseen(Exception):
    """The exception of these tests."""


class Flight(NamedTuple):
    day: int
    name: str


def names(folder):
    """All files in a folder, including hidden ones."""
    return sorted(path.name for path in folder.iterdir())


def days(*rows):
    return ps.values(list(rows), time=lambda row: row["day"])


async def test_a_days_file_waits_for_its_last_flight(tmp_path, autojump_clock):
    """One flight of the first day is delayed: the file does not exist until that flight was processed."""
    late = trio.Event()

    async def process(row):
        if row["n"] == 2:
            await late.wait()
        return row

    rows = [{"day": 1, "n": 1}, {"day": 1, "n": 2}, {"day": 2, "n": 3}, {"day": 3, "n": 4}]
    steps = ps.map_async(process, 4, ordered=False)
    async with ps.pipe(days(*rows), steps, files.write_jsonl(tmp_path / "{time}.jsonl")).open() as running:
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert not (tmp_path / "1.jsonl").exists()
        assert running.progress.frontier().less_equal(1)
        late.set()
        await running.progress.completed(1)
        assert {json.loads(line)["n"] for line in (tmp_path / "1.jsonl").read_text().splitlines()} == {1, 2}
        await running.progress.completed(3)
        assert [name for name in names(tmp_path) if name[0] != "."] == ["1.jsonl", "2.jsonl", "3.jsonl"]


async def test_completed_means_that_the_file_is_there(tmp_path, autojump_clock):
    """completed(day) at the sink waits for the renaming, not only for the day's last value."""
    seen = []
    rows = [{"day": day} for day in range(20)]
    async with ps.pipe(days(*rows), files.write_jsonl(tmp_path / "{time}.jsonl")).open(limit=1) as running:
        for day in range(20):
            await running.progress.completed(day)
            seen.append((tmp_path / f"{day}.jsonl").exists())
    assert seen == [True] * 20


@pytest.mark.parametrize("limit", [1, 4096])
@pytest.mark.parametrize("place", ["source", "map", "sink", "branch"])
async def test_after_an_error_only_complete_files_are_left(place, limit, tmp_path, autojump_clock):
    """An error in the middle of day 2: day 1 is there, day 2 and temporary files are not, and waiters are notified."""
    failure = Unseen()

    @ps.source
    async def source(ctx):
        await trio.sleep(1)
        yield ps.Batch(1, [{"day": 1}])
        yield ps.Batch(2, [{"day": 2}])
        if place == "source":
            raise failure
        yield ps.Batch(2, [{"day": 2, "bad": True}])
        await trio.sleep(1)  # A branch may be ahead of another by one batch.
        yield ps.Batch(3, [{"day": 3}])

    def check(row):
        if "bad" in row:
            raise failure
        return row

    writer = files.write_jsonl(tmp_path / "{time}.jsonl")
    parts = {
        "source": [writer],
        "map": [ps.map(check), writer],
        "sink": [ps.map(lambda row: {"no": object()} if "bad" in row else row), writer],
        "branch": [ps.tee(writer, ps.drain(check))],
    }[place]
    message = []
    with pytest.raises(TypeError if place == "sink" else Unseen) as caught:
        async with ps.pipe(source(), *parts).open(limit=limit) as running:
            try:
                await running.progress.completed(2)
            except (TypeError, Unseen) as exc:
                message.append(exc)
                raise
    assert message == [caught.value]
    assert names(tmp_path) == ["1.jsonl"]


async def test_an_abort_leaves_only_complete_files(tmp_path, autojump_clock):
    """running.abort() in the middle of a day: the earlier days are there, and nothing else."""

    @ps.source
    async def source(ctx):
        yield ps.Batch(1, [1])
        yield ps.Batch(2, [2])
        await trio.sleep_forever()

    with pytest.raises(ps.errors.Abandoned):
        async with ps.pipe(source(), files.write_jsonl(tmp_path / "{time}.jsonl")).open() as running:
            await running.progress.completed(1)
            await running.abort()
            await running.result()
    assert names(tmp_path) == ["1.jsonl"]


def test_a_branch_that_ends_early_writes_its_values(tmp_path):
    """take in one branch of a tee completes its times, so their file appears."""
    short = ps.pipe(ps.take(1), files.write_jsonl(tmp_path / "{time}.jsonl"))
    paths, rest = ps.run(ps.pipe(days({"day": 1}, {"day": 1}, {"day": 2}), ps.tee(short, ps.collect())), limit=1)
    assert paths == [tmp_path / "1.jsonl"]
    assert len(rest) == 3
    assert (tmp_path / "1.jsonl").read_text() == '{"day": 1}\n'


def test_forms_of_values(tmp_path):
    """Named tuples become objects, dates ISO text; text and null stay."""
    rows = [Flight(1, "Zürich ✈"), {"day": 1, "when": dt.date(2013, 1, 2), "delay": None}, [1, 2.5, "a\nb"]]
    ps.run(ps.pipe(ps.values(rows), files.write_jsonl(tmp_path / "{time}.jsonl")))
    assert (tmp_path / "0.jsonl").read_text(encoding="utf-8").splitlines() == [
        '{"day": 1, "name": "Zürich ✈"}',
        '{"day": 1, "when": "2013-01-02", "delay": null}',
        '[1, 2.5, "a\\nb"]',
    ]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"x": float("nan")}, object(), {1, 2}])
def test_values_that_json_cannot_hold_are_refused(value, tmp_path):
    """NaN and unknown objects raise, with a note that names the module, and leave nothing."""
    with pytest.raises((ValueError, TypeError)) as caught:
        ps.run(ps.pipe(ps.once(value), files.write_jsonl(tmp_path / "{time}.jsonl")))
    assert any("write_jsonl" in note for note in caught.value.__notes__)
    assert names(tmp_path) == []


@pytest.mark.parametrize(
    "target", ["", "out/", "{day}.jsonl", "{time}{day}.jsonl", "{}.jsonl", "{time", "{time:{width}}", "{key}", 7]
)
def test_an_invalid_target_is_refused_when_composing(target):
    """No name, an unknown field, a {key} without key=, a stray brace: an error before anything runs."""
    with pytest.raises(ps.CompositionError, match="write_jsonl"):
        files.write_jsonl(target)


@pytest.mark.parametrize("time", ["a/b", "", ".", "..", "a\0b"])
def test_a_time_that_leads_to_another_folder_is_refused(time, tmp_path):
    """A time is a part of a file's name, not a path."""
    with pytest.raises(files.FileTargetError, match="cannot be part of a file name"):
        ps.run(ps.pipe(ps.values([1], time=lambda _: time), files.write_jsonl(tmp_path / "{time}.jsonl")))
    assert names(tmp_path) == []


def test_two_times_with_one_file_are_refused(tmp_path):
    """Times with the same text are refused, and the first one's file is not overwritten."""
    source = ps.values([dt.date(2013, 1, 2), dt.date(2013, 2, 1)], time=lambda day: day)
    with pytest.raises(files.FileTargetError, match="would share the file"):
        ps.run(ps.pipe(source, files.write_jsonl(tmp_path / "{time:%Y}.jsonl")))
    assert [name for name in names(tmp_path) if name.startswith(".")] == []


def test_a_folder_that_cannot_be_created_is_an_os_error_with_a_note(tmp_path):
    """The file system's error is raised unchanged and names the module; a file is in the folder's place."""
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(OSError, match="taken") as caught:
        ps.run(ps.pipe(ps.once(1), files.write_jsonl(tmp_path / "taken" / "{time}.jsonl")))
    assert any("write_jsonl" in note for note in caught.value.__notes__)


PROGRAM = """
import sys
from pathlib import Path
import trio
import pullstream as ps
from adapters import files

async def slow(n):
    if n == 25:
        while not Path(sys.argv[1], "1.jsonl").exists():
            await trio.sleep(0.01)
        print("there", flush=True)
        await trio.sleep(60)
    return n

source = ps.values(range(100), time=lambda n: n // 10)
ps.run(ps.pipe(source, ps.map_async(slow, concurrency=1), files.write_jsonl(sys.argv[1] + "/{time}.jsonl")), limit=1)
"""


def test_a_kill_leaves_only_complete_files(tmp_path):
    """kill -9 in the middle of time 2: the files of 0 and 1 are complete, and no other file is visible."""
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path)], stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"there\n"
        process.send_signal(signal.SIGKILL)
    visible = [name for name in names(tmp_path) if not name.startswith(".")]
    assert visible == ["0.jsonl", "1.jsonl"]
    for time in (0, 1):
        lines = (tmp_path / f"{time}.jsonl").read_text().splitlines()
        assert lines == [str(n) for n in range(10 * time, 10 * time + 10)]

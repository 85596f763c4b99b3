"""New files of a folder: follow=True waits for them, available=True reads the existing ones. In real time."""

import logging
import os

import pytest
import trio

import pullstream as ps
from adapters import files

QUICK = {"follow": True, "every": 0.01}


def followed(source):
    """A pipeline, and the list to which it adds the times and values that it reads."""
    got = []
    return ps.pipe(source, ps.timed(), ps.drain(got.append)), got


@pytest.fixture
def following(folder):
    (folder / "in").mkdir()
    return folder / "in"


def rename_into(following, name, text):
    part = following.parent / f"{name}.part"
    part.write_text(text)
    part.rename(following / name)


async def test_new_files_become_new_times(following):
    rename_into(following, "b", "2\n3\n")
    rename_into(following, "a", "1\n")
    pipeline, got = followed(files.read_text(following, **QUICK))
    async with pipeline.open(check=True) as running:
        await running.progress.completed(1)
        assert got == [(0, "1"), (1, "2"), (1, "3")]
        rename_into(following, "0", "4\n")
        await running.progress.completed(2)
        assert got[3:] == [(2, "4")]
        rename_into(following, "empty", "")
        await running.progress.completed(3)
        await running.finish()
        await running.result()
    assert len(got) == 4


async def test_a_file_is_read_once_it_stops_changing(following):
    pipeline, got = followed(files.read_text(following, follow=True, every=0.05))
    async with pipeline.open(check=True) as running:
        with (following / "slow").open("w") as file:
            for _ in range(10):
                file.write("x\n")
                file.flush()
                await trio.sleep(0.02)
                assert got == []
        for name in (".hidden", "x.part", "x.tmp", "_temporary/x"):
            (following / name).parent.mkdir(exist_ok=True)
            (following / name).write_text("no\n")
        await running.progress.completed(0)
        assert got == [(0, "x")] * 10
        (following / "x.part").rename(following / "y")
        await running.progress.completed(1)
        assert got[10:] == [(1, "no")]
        await running.abort()


async def test_a_file_with_an_earlier_time(following):
    rename_into(following, "2.log", "b\n")
    pipeline, got = followed(files.read_text(following, time=files.name_time("[0-9](?=[.]log)", int), **QUICK))
    with pytest.raises(ps.errors.CapabilityError, match=r"1\.log: goes back in time, to 1 after 2.*map_time"):
        async with pipeline.open(check=True) as running:
            await running.progress.completed(1)
            rename_into(following, "1.log", "a\n")
            await running.result()
    assert got == [(2, "b")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda path: rename_into(path.parent, path.name, "x\n"), r"had 4 bytes when .* complete, and has 2 now"),
        (
            lambda path: rename_into(path.parent, path.name, "x\n" * 3),
            r"had 4 bytes .* has 6 now.* grows, write a source",
        ),
        (lambda path: os.utime(path, (1, 1)), r"was written again after it was found complete"),
    ],
)
async def test_a_followed_file_that_shrinks_or_changes(change, message, following):
    rename_into(following, "a", "x\nx\n")
    pipeline, got = followed(files.read_text(following, **QUICK))
    with pytest.raises(files.FileChangedError, match=message):
        async with pipeline.open(check=True) as running:
            await running.progress.completed(0)
            change(following / "a")
            await running.result()
    assert got == [(0, "x")] * 2


async def test_read_files_may_be_deleted(following):
    pipeline, got = followed(files.read_text(following, **QUICK))
    async with pipeline.open(check=True) as running:
        for number in range(3):
            rename_into(following, "same", f"{number}\n")
            await running.progress.completed(2 * number)
            (following / "same").unlink()
            # When this file is complete, the folder has been listed without the deleted one.
            rename_into(following, f"empty-{number}", "")
            await running.progress.completed(2 * number + 1)
        await running.abort()
    assert got == [(0, "0"), (2, "1"), (4, "2")]


def put(following, **contents):
    for name, lines in contents.items():
        (following / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))


def nightly(following, done, **options):
    lines = files.read_text(following, available=True, every=0.01, **options)
    summed = ps.accumulate(ps.agg.sum(int))
    return ps.pipe(lines, summed, ps.tee(ps.at_completion(lambda time, sums: done.append((time, sums))), ps.collect()))


def run(following, tmp_path, **options):
    done = []
    pipeline = nightly(following, done, **options)
    _, sums = ps.run(pipeline, journal=ps.Journal(tmp_path / "journal", version="1"))
    return done, sums


def test_every_run_reads_the_new_files(following, tmp_path):
    put(following, a=[1], b=[2, 3])
    assert run(following, tmp_path) == ([(0, [1]), (1, [6])], [1, 6])
    put(following, c=[4])
    (following / "a.txt").unlink()
    assert run(following, tmp_path) == ([(2, [10])], [1, 6, 10])
    assert run(following, tmp_path) == ([], [1, 6, 10])
    put(following, aa=[5])
    assert run(following, tmp_path) == ([(3, [15])], [1, 6, 10, 15])


def test_without_a_journal_every_run_reads_all_files(following, caplog):
    """The log says so, because a job may have forgotten it."""
    put(following, a=[1])
    pipeline = ps.pipe(files.read_text(following, available=True, every=0.01), ps.collect())
    assert ps.run(pipeline) == ps.run(pipeline) == ["1"]
    assert "available=True without a journal reads all files in every run" in caplog.text


def test_a_folder_without_new_files(following, tmp_path, caplog):
    with caplog.at_level(logging.WARNING, "pullstream"):
        assert run(following / "none", tmp_path) == ([], [])
    message = [record.getMessage() for record in caplog.records]
    assert message == [f"{following / 'none'} does not exist: available=True reads nothing there"]
    (following / "none").mkdir()
    put(following / "none", a=[1])
    assert run(following / "none", tmp_path) == ([(0, [1])], [1])


def test_the_last_day_is_repeated_with_its_new_files(following, tmp_path):
    time = files.name_time("[0-9]", int)
    put(following, x1=[1], x2=[2])
    assert run(following, tmp_path, time=time) == ([(1, [1]), (2, [3])], [1, 3])
    put(following, y2=[3], x3=[4])
    assert run(following, tmp_path, time=time) == ([(2, [6]), (3, [10])], [1, 6, 10])


def test_the_files_of_a_repeated_day_keep_their_order(following, tmp_path):
    names = [f"2-{number}" for number in range(9)]
    put(following, **{name: [name] for name in ["1-0", *names]})
    lines = files.read_text(following, time=files.name_time("[0-9]-"), available=True, every=0.01)
    night = ps.pipe(lines, files.write_text(tmp_path / "out/{time}.txt"))
    for _ in range(2):
        ps.run(night, journal=tmp_path / "journal")
        assert (tmp_path / "out/2-.txt").read_text().split() == names


def test_a_late_file_with_times_in_a_column(following, tmp_path):
    def night():
        sales = files.read_csv(following, time="day", available=True, every=0.01)
        return ps.run(ps.pipe(sales, ps.map(tuple), ps.collect()), journal=tmp_path / "journal")

    (following / "a.csv").write_text("day,n\n1,5\n2,6\n")
    assert night() == [(1, 5), (2, 6)]
    (following / "b.csv").write_text("day,n\n1,7\n")
    with pytest.raises(ps.errors.CapabilityError, match=r"b.csv:2: goes back .* too late, move it away or give"):
        night()


def test_a_growing_file_is_left_for_the_next_run(following, tmp_path):
    put(following, a=[1], b=[2])

    async def writing(running):
        while True:
            with (following / "b.txt").open("a") as file:
                file.write("3\n")
            await trio.sleep(0.001)

    done = []
    journal = ps.Journal(tmp_path / "journal", version="1")
    ps.run(nightly(following, done, time=None), journal=journal, beside=writing)
    assert done == [(0, [1])]
    put(following, b=[2])
    assert run(following, tmp_path)[0] == [(1, [3])]


def test_incomplete_windows_are_read_again(following, tmp_path):
    """A window that is incomplete when a run ends is read again until it is complete."""
    put(following, a=[1], b=[2], c=[3])

    def windows():
        lines = files.read_text(following, available=True, every=0.01)
        return ps.pipe(lines, ps.tumbling(2, ps.agg.sum(int)), ps.map(lambda window: window.value), ps.collect())

    assert ps.run(windows(), journal=tmp_path / "journal") == [3, 3]
    put(following, d=[4])
    assert ps.run(windows(), journal=tmp_path / "journal") == [3, 7]


THROUGH = {
    "coarser times": lambda one, other: ps.pipe(one, ps.map_time(lambda n: n // 10)),
    "times within times": lambda one, other: ps.pipe(one, ps.stamp_epochs(1, nest=True)),
    "one after another": ps.concat,
    "side by side": ps.merge,
    "in pairs": lambda one, other: ps.pipe(ps.zip(one, other, mode="padded", fill=""), ps.map(max)),
}


@pytest.mark.parametrize("name", THROUGH)
def test_one_of_two_folders_may_lag_behind(name, following, tmp_path):
    """A time is complete when both have passed it: files that arrive later in one of them are not lost."""

    def night(**options):
        read = (files.read_text(following / folder, available=True, every=0.01) for folder in ("one", "other"))
        return ps.run(ps.pipe(THROUGH[name](*read), ps.sort_by_time(), ps.collect(timed=True)), **options)

    for one, other in [(1, 3), (1, 4), (6, 4)]:
        for folder, count in [("one", one), ("other", other)]:
            (following / folder).mkdir(exist_ok=True)
            for number in range(count):
                if not (following / folder / f"{number}.txt").exists():
                    put(following / folder, **{str(number): [f"{folder} {number}"]})
        assert night(journal=tmp_path / "journal") == night()


def test_a_night_that_writes_nothing_logs_no_warning(following, tmp_path, caplog):
    """A night that only returns earlier files, and one that fails before its first time, log nothing."""
    lines = files.read_text(following, available=True, every=0.01, time=files.name_time(r"\d"))
    pipeline = ps.pipe(lines, ps.count_by_key(len), files.write_jsonl(tmp_path / "{time}.jsonl"))
    put(following, a1=["tea"])
    ps.run(pipeline, journal=tmp_path / "journal")
    put(following, b2=["tea"])
    ps.run(pipeline, journal=tmp_path / "journal")
    put(following, c1=["rice"])
    with pytest.raises(ps.errors.JournalError, match="is new"):
        ps.run(pipeline, journal=tmp_path / "journal")
    assert not caplog.messages

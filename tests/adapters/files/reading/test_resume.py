"""Resuming: a run continues after the last complete time, reads no more than necessary, and refuses changed files."""

import os
import re
from collections import Counter

import pyarrow as pa
import pytest
import trio

import pullstream as ps
from adapters import files
from tests.adapters.files.failing import Through
from tests.adapters.files.reading.tables import READERS, write


class Killed(Exception):
    """Ends a run in the middle."""


class Counting(Through):
    def __init__(self):
        super().__init__()
        self.read = Counter()

    def __reduce__(self):
        return Counting, ()

    def part(self, file, size):
        data = file.file.read(size)
        self.read[file.path.rpartition("/")[2]] += len(data)
        return data


@pytest.fixture
def journal(tmp_path):
    return ps.Journal(tmp_path / "run.journal", version="1")


def kept(out, source, stop=None):
    """A pipeline that records each time's values when it is complete, and fails at the time `stop`."""

    def keep(time, values):
        if time == stop:
            raise Killed
        assert time not in out, "done twice"
        out[time] = list(values)

    return ps.pipe(source, ps.at_completion(keep))


def killed_and_resumed(make, stops, journal, **options):
    out = {}
    for stop in stops:
        killed(make(), stop, journal, out, **options)
    ps.run(kept(out, make()), journal=journal, **options)
    return out


def killed(source, stop, journal, out=None, **options):
    out = {} if out is None else out
    with pytest.raises(Killed):
        ps.run(kept(out, source, stop), journal=journal, **options)
    return out


def refused(source, journal, message):
    with pytest.raises(ps.errors.JournalError, match=message):
        ps.run(kept({}, source), journal=journal)


def undisturbed(make):
    out = {}
    ps.run(kept(out, make()))
    return out


def table(rows):
    return pa.table({"t": [n * 100 // rows for n in range(rows)], "n": list(range(rows))})


@pytest.fixture
def source(folder):
    (folder / "in").mkdir()

    def make(kind, fs=None):
        path, form = folder / "in" / kind, re.split("[ ,]", kind)[0]
        options = {} if fs is None else {"filesystem": fs}
        if form not in {"parquet", "arrow"}:
            options["block_size"] = 4 << 20 if "large" in kind else 500
        # A file that is written again has changed.
        if kind == "text":
            path.exists() or path.write_text("".join(f"{n // 20} {n}\n" for n in range(2000)))
            return files.read_text(path, time=first_word, **options)
        path.exists() or write(table(2000), path, form)
        return READERS[form](path, time="t", as_="dicts" if "dicts" in kind else "tuples", **options)

    return make


def first_word(line):
    return int(line.partition(" ")[0])


KINDS = ["text", "csv", "csv.gz", "jsonl as dicts", "jsonl", "parquet", "arrow"]
LARGE = ["csv, large", "csv as dicts, large", "jsonl, large", "jsonl as dicts, large"]


@pytest.mark.sampled
@pytest.mark.parametrize("stops", [[3, 40, 40, 99], [40], [90, 90]])
@pytest.mark.parametrize("kind", [*KINDS, *LARGE])
def test_killed_at_several_times_in_a_file(kind, stops, source, journal):
    """In small blocks, and after the first piece of a large block."""
    whole = undisturbed(lambda: source(kind))
    assert len(whole) == 100
    assert killed_and_resumed(lambda: source(kind), stops, journal) == whole


@pytest.mark.parametrize("kind", ["text", "csv", "jsonl as dicts", "jsonl", "parquet"])
def test_completed_values_are_not_read_again(kind, source, journal, folder):
    if kind == "parquet":
        # A small file is read as a whole.
        numbers = [n * 0x9E3779B97F4A7C15 % 2**63 for n in range(5000)]
        write(table(5000).append_column("m", [numbers]).append_column("k", [numbers[::-1]]), folder / "in" / kind, kind)
    whole, part, out = Counting(), Counting(), {}
    ps.run(kept({}, source(kind, whole)))
    killed(source(kind, Counting()), 90, journal)
    ps.run(kept(out, source(kind, part)), journal=journal)

    assert min(out) <= 90
    # A Parquet file's footer is always read.
    assert 0 < part.read[kind] < whole.read[kind] * (0.9 if kind == "parquet" else 0.5)


@pytest.mark.parametrize("column", [True, False])
def test_several_files_in_order(column, put, folder, journal):
    for number in range(10):
        put(f"in/{number}.csv", "t,n\n" + "".join(f"{number + m // 5},{m}\n" for m in range(10)))
    times = "t" if column else (lambda row: row[0])

    def make(fs):
        return files.read_csv(str(folder / "in/*.csv"), as_="tuples", time=times, filesystem=fs, block_size=15)

    whole = undisturbed(lambda: make(Counting()))
    fs = Counting()
    out = killed(make(Counting()), 7, journal)
    ps.run(kept(out, make(fs)), journal=journal)
    assert out == whole
    assert min(fs.read) >= "5.csv"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("1", r"in/1 has changed since it was read.*To read a file that grows, write a source of its lines"),
        ("1-more", "1-more is new, and its time 1 was completed without it"),
    ],
)
def test_changes_at_complete_times_are_errors(name, message, put, folder, journal):
    """Size and modification time show a change even if both ends of the file are the same."""
    line = "x" * 100_000
    for day in (1, 2, 3):
        put(f"in/{day}", f"{line}as it was{line}\n")
    source = files.read_text(folder / "in", time=files.name_time("([0-9])[^/]*$", int))
    killed(source, 3, journal)
    put(f"in/{name}", f"{line}now another{line}\n")
    refused(source, journal, message)


@pytest.mark.parametrize("time", ["t", lambda row: row["t"], None, "follow"])
def test_a_file_without_completed_values_may_be_changed(time, put, folder, journal):
    put("in/1.jsonl", '{"t": 1}\n{"t": 2}\n')
    put("in/2.jsonl", '{"t": 3}\nno object\n')

    def run(out):
        follow = time == "follow"
        how = {"follow": True, "every": 0.01} if follow else {"time": time}
        source = files.read_jsonl(folder / "in", **how)
        ends = [ps.take(4)] if follow else []
        ps.run(kept(out, ps.pipe(source, *ends, ps.map(lambda row: row["t"]))), journal=journal)

    out = {}
    with pytest.raises(files.FileReadError, match=r"in/2.jsonl:2"):
        run(out)
    put("in/2.jsonl", '{"t": 3}\n{"t": 4}\n')
    run(out)
    wanted = {None: {0: [1, 2, 3, 4]}, "follow": {0: [1, 2], 1: [3, 4]}}
    assert out == wanted.get(time, {1: [1], 2: [2], 3: [3], 4: [4]})


def rewritten(path, before, now):
    found, data = path.stat(), path.read_bytes()
    assert data != data.replace(before, now)
    path.write_bytes(data.replace(before, now))
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    assert path.stat().st_size == found.st_size


@pytest.mark.parametrize("begin", [0, 1 << 20])
def test_a_changed_file_with_the_same_size_and_time_is_refused(begin, put, folder, journal):
    path = put("in/1", f"{'x' * begin}1\n2\n3\n")
    source = files.read_text(path, time=lambda line: int(line[-1]))
    killed(source, 3, journal)
    rewritten(path, b"2", b"1")
    refused(source, journal, r"in/1 has changed.*and its ends\), or start over with another journal\n")
    rewritten(path, b"1\n1", b"1\n2")
    ps.run(kept({}, source), journal=journal)
    rewritten(path, b"3", b"4")
    refused(source, journal, r"in/1 has changed since a run with this journal finished")


CHANGES = {
    "in/4 is new": lambda put: put("in/4", "x\n"),
    "in/1 has changed": lambda put: put("in/1", "xy\n"),
    "in/2 is gone": lambda put: put("in/2", "").unlink(),
    "in/1 is gone": lambda put: [put(f"in/{day}", "").unlink() for day in (1, 2, 3)],
}


@pytest.mark.parametrize("given", ["in", "in/*", "names"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_finished_run_is_bound_to_its_files(given, change, put, folder, caplog):
    """While nothing has changed, its result is returned again; then the run is refused, with advice."""
    caplog.set_level("INFO", logger="pullstream")
    for day in (1, 2, 3):
        put(f"in/{day}", f"{day}\n")
    paths = [folder / "in" / str(day) for day in (1, 2, 3)] if given == "names" else folder / given
    pipeline, journal = ps.pipe(files.read_text(paths), ps.collect()), folder / "journal"

    for _ in range(2):
        assert ps.run(pipeline, journal=journal) == ["1", "2", "3"]
    assert [record.levelname for record in caplog.records] == ["INFO"]
    CHANGES[change](put)
    if given == "names" and "new" in change:
        assert ps.run(pipeline, journal=journal) == ["1", "2", "3"]
        return
    with pytest.raises(
        ps.errors.JournalError,
        match=rf"{change} since .* another journal.*available=True, with .* follow=True",
    ):
        ps.run(pipeline, journal=journal)


def test_a_run_that_ended_early_ignores_unread_files(put, folder, journal):
    for name in "abc":
        put(f"in/{name}", f"{name}\n")
    pipeline = ps.pipe(files.read_text(folder / "in"), ps.first())

    assert ps.run(pipeline, journal=journal) == "a"
    put("in/b", "other\n")
    put("in/c", "").unlink()
    put("in/d", "d\n")
    assert ps.run(pipeline, journal=journal) == "a"
    put("in/a", "other\n")
    with pytest.raises(ps.errors.JournalError, match="in/a has changed since"):
        ps.run(pipeline, journal=journal)


def test_files_inserted_before_read_ones_and_deleted_files_are_refused(put, folder, journal):
    """The rest of a partly read file is needed, and no rows can be inserted before its rows."""

    def make():
        return files.read_csv(folder / "in", as_="tuples", time="t")

    rows = ["t\n" + "".join(f"{begin + n}\n" for n in range(5)) for begin in (0, 5)]
    paths = [put("in/b", rows[0]), put("in/c", rows[1])]
    killed(make(), 8, journal)
    front = put("in/a", "t\n0\n")
    refused(make(), journal, "in/a is new, and comes before files that were already read.*Move it away")
    front.unlink()
    paths[0].unlink()
    aside = paths[1].rename(folder / "c")
    put("in/d", "t\n9\n")
    refused(make(), journal, r"in/c is gone, but was read only in part")
    (folder / "in/d").unlink()
    aside.rename(paths[1])
    out = {}
    ps.run(kept(out, make()), journal=journal)
    assert list(out) in ([7, 8, 9], [8, 9])


def test_the_type_of_a_column_with_nulls_first_is_kept(folder, journal):
    for day, values in enumerate([pa.nulls(1), [1], [2], [1.5]]):
        write(pa.table({"day": [day], "x": values}), folder / f"{day}.parquet", "parquet", 1)
    source = files.read_parquet(str(folder / "*.parquet"), time="day")

    killed(source, 1, journal)

    with pytest.raises(files.FileReadError, match="'x' is double, but int64 in the files of an earlier run"):
        ps.run(kept({}, source), journal=journal)


def test_types_come_from_the_first_run(put, folder, journal):
    """They come from the first block of the first file, even if that file is not read again."""
    put("in/1", "t,x\n1,1.5\n")
    put("in/2", "t,x\n2,2\n")
    put("in/3", "t,x\n3,3\n")

    def make():
        return files.read_csv(folder / "in", as_="tuples", time=files.name_time("[0-9]$", int))

    out = killed(make(), 2, journal)
    ps.run(kept(out, make()), journal=journal)
    assert [type(rows[0][1]) for rows in out.values()] == [float, float, float]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("size", [4, 7, 20, 50])
def test_bad_lines_keep_their_times(size, put, folder, journal):
    rows = [f"{n // 10},{n}" if n % 10 else "bad" for n in range(100)]
    path = put("a.csv", "\n".join(["t,n", *rows]) + "\n")

    def pipeline(stop, out, bad):
        def keep_bad(time, values):
            # The failure is in the sink of bad lines: the other sink may be ahead.
            if time == stop:
                raise Killed
            bad[time] = [value.error.line for value in values]

        aside = ps.at_completion(keep_bad)
        source = files.read_csv(path, as_="tuples", time="t", block_size=size, schema={"t": "int64"}, on_error=aside)
        return ps.pipe(source, ps.at_completion(lambda time, values: out.__setitem__(time, list(values))))

    whole, all_bad = {}, {}
    ps.run(pipeline(None, whole, all_bad))
    out, bad = {}, {}
    for stop in (2, 5, 8, None):
        try:
            ps.run(pipeline(stop, out, bad), journal=journal)
        except Killed:
            assert stop is not None
    assert (out, bad) == (whole, all_bad)


@pytest.mark.parametrize("time", [None, "name", "row"])
def test_a_followed_folder(time, folder, journal):
    following = folder / "in"
    following.mkdir()
    fs = Counting()
    times = {None: None, "name": files.name_time("[0-9](?=[.]txt$)", int), "row": first_word}[time]

    def make():
        return files.read_text(following, time=times, filesystem=fs, follow=True, every=0.01)

    def add(number):
        part = folder / "part"
        part.write_text(f"{number} x\n")
        # Names that are not in order of arrival, except where they contain a time.
        part.rename(following / (f"{number}.txt" if time else f"{'cabed'[number]}.txt"))

    out = {}

    async def session(numbers):
        async with kept(out, make()).open(journal=journal) as running:
            for number in numbers:
                add(number)
                await running.progress.completed(number if time is None else number - 1)
            await trio.sleep(0.05)
            await running.abort()

    trio.run(session, [0, 1])
    done = set(out)
    for number in done:
        (following / (f"{number}.txt" if time else f"{'cabed'[number]}.txt")).unlink()
    fs.read.clear()
    trio.run(session, [2, 3])
    trio.run(session, [4])

    assert list(out) == sorted(out)
    assert out == {number: [f"{number} x"] for number in range(5 if time is None else 4)}
    gone = {f"{number}.txt" if time else f"{'cabed'[number]}.txt" for number in done}
    assert not gone & set(fs.read)


def test_files_that_are_needed_again_must_exist(folder, journal):
    """A followed file that was read, but whose time is incomplete, is needed again."""
    following = folder / "in"
    following.mkdir()
    (following / "a").write_text("0\n")
    # The second time completes after the file was begun, so the journal knows of it.
    (following / "b").write_text("1\n2\n3\n")

    def make():
        return files.read_text(following, follow=True, every=0.01, time=int)

    killed(make(), 2, journal)
    (following / "b").unlink()
    refused(make(), journal, "in/b is gone, but is needed again.*Put it back")


def test_following_a_folder_inside_another_module_is_refused(folder, journal):
    """A journal there does not record the times of its files, so other files would be skipped."""
    (folder / "in").mkdir()
    (folder / "in" / "a").write_text("x\n")
    source = files.read_text(folder / "in", follow=True, every=0.01)
    with pytest.raises(ps.errors.JournalError, match="follows a folder inside another module.*read without follow="):
        ps.run(ps.pipe(ps.retry(source, times=1), ps.first()), journal=journal)
    new = files.read_text(folder / "in", available=True)
    with pytest.raises(ps.errors.JournalError, match="reads new files of a folder inside.*read without available="):
        ps.run(ps.pipe(ps.retry(new, times=1), ps.first()), journal=journal)
    assert ps.run(ps.pipe(ps.retry(source, times=1), ps.first())) == "x"

"""Many small files: how often reading them takes a thread, and which packages it imports."""

import gzip
import io
import threading
from functools import partial

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import trio
from trio.testing import MockClock

import pullstream as ps
from adapters.files.conflicts import RunFiles
from adapters.files.reading import parsing, reader, streams
from pullstream import files
from tests.programs import printed
from tests.pullstream.counting import stop_clocks

SIZE = 20


def packed(write, number):
    table = pa.table({"n": [number, number], "item": ["tea", "tea"]})
    write(table, stream := io.BytesIO())
    return stream.getvalue()


def arrow_file(table, stream):
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write(table)


def csv_line(n):
    return f"n,day\n{n},2026-03-01\n".encode()


def json_line(n):
    return f'{{"n": {n}}}\n'.encode()


SOURCES = {
    "csv": (files.read_csv, csv_line),
    "typed lines": (partial(files.read_jsonl, as_="rows"), json_line),
    "json lines": (files.read_jsonl, json_line),
    "text": (files.read_text, lambda n: str(n).encode()),
    "csv, gzip": (partial(files.read_csv, compression="gzip"), lambda n: gzip.compress(csv_line(n))),
    "json lines, gzip": (partial(files.read_jsonl, compression="gzip"), lambda n: gzip.compress(json_line(n))),
    "parquet": (files.read_parquet, lambda n: packed(pyarrow.parquet.write_table, n)),
    "arrow": (files.read_arrow, lambda n: packed(arrow_file, n)),
}
ROWS = {"parquet": 2, "arrow": 2}


@pytest.mark.sampled(16)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("journal", [False, True])
@pytest.mark.parametrize("slow", [False, True])
def test_a_thread_reads_small_files_together(put, folder, monkeypatch, kind, journal, slow):  # noqa: PLR0917
    # On a slow machine the run would ask for fewer values, and so end a step earlier.
    stop_clocks(monkeypatch.setattr)
    read, content = SOURCES[kind]
    clock = MockClock(rate=1e-6)
    for number in range(SIZE):
        put(f"read/2026-03-{number + 1:02}.txt", content(number))
    steps, run_sync = [], trio.to_thread.run_sync
    readers, read_raw, close_raw = set(), streams.RawFile.read, streams.RawFile.close

    def reading(raw, *given):
        readers.add(threading.current_thread())
        return read_raw(raw, *given)

    def closing(raw):
        readers.add(threading.current_thread())
        clock.jump(slow)
        close_raw(raw)

    def counted(function, *given, **options):
        steps.append(function.__name__)
        return run_sync(function, *given, **options)

    def more(*_):
        raise AssertionError("a small file took another thread")

    monkeypatch.setattr(trio.to_thread, "run_sync", counted)
    monkeypatch.setattr(streams.RawFile, "read", reading)
    monkeypatch.setattr(streams.RawFile, "close", closing)
    for module in (parsing, reader):
        monkeypatch.setattr(module, "start_in_thread", more)
    anew = {"available": True, "every": 1e-9} if journal else {}
    source = read(folder / "read", time=files.name_time(r"\d{4}-\d\d-\d\d"), **anew)
    whole = ps.pipe(source, ps.collect(timed=True))
    got = trio.run(partial(ps.arun, whole, journal=folder / "journal" if journal else None), clock=clock)
    days = [f"2026-03-{number + 1:02}" for number in range(SIZE)]
    assert [time for time, _ in got] == [day for day in days for _ in range(ROWS.get(kind, 1))]
    # 1, 2, 4, 8 and 5 files; the last step finds that there are no more.
    assert steps.count("step") == (SIZE if slow else 5) + 1 + journal
    # The journal is opened and read together, and nothing else takes a thread to begin or end a run.
    assert [step for step in steps if step not in {"step", "write", "close"}] == ["_open"] * journal
    # The end of a file may take as long as any other part of it, such as on a network drive.
    assert readers
    assert threading.main_thread() not in readers


def test_files_are_in_use_until_their_values_are_taken(put, folder, monkeypatch):
    """Until then, no sink may write to the folder."""
    for name in "abc":
        put(f"read/{name}", name)
    seen = []
    monkeypatch.setattr(RunFiles, "over", lambda *_: seen.append("over"))
    program = ps.pipe(files.read_text(folder / "read"), ps.drain(seen.append))
    trio.run(ps.arun, program, clock=MockClock(rate=1e-6))
    assert seen == ["a", "b", "c", "over"]


def test_a_file_that_grows_before_it_is_read_is_read_in_blocks(put, folder, monkeypatch):
    put("1.txt", "first\n")
    growing = put("2.txt", "second\n")
    taken, read_raw = [], streams.RawFile.read

    def reading(raw, size=-1):
        data = read_raw(raw, size)
        taken.append(len(data))
        return data

    def looked(line):
        if line == "first":
            growing.write_text("second\n" * 1000)
            taken.clear()
        return line, sum(taken)

    monkeypatch.setattr(streams.RawFile, "read", reading)
    lines = files.read_text([folder / "1.txt", growing], block_size=7)
    seen = ps.run(ps.pipe(lines, ps.map(looked), ps.collect()), limit=1)
    assert len(seen) == 1001
    assert seen[1] == ("second", 10)


def test_csv_starts_no_pyarrow_thread_per_file(put, folder, monkeypatch):
    # Its `read_csv` starts a thread for each call.
    for number in range(SIZE):
        put(f"read/{number:02}.csv", b"n\n1\n")
    headers, read = [], pyarrow.csv.read_csv
    monkeypatch.setattr(pyarrow.csv, "read_csv", lambda *given, **options: headers.append(1) or read(*given, **options))
    assert len(ps.run(ps.pipe(files.read_csv(folder / "read"), ps.collect()))) == SIZE
    assert len(headers) == 1


def test_packages_are_imported_on_first_use(put):
    path = put("days.csv", "n,day,ok,x,item\n1,2026-03-01,true,0.5,tea\n2,2026-03-02,false,1,tea\n")
    program = f"""
import sys
import pullstream as ps
from pullstream import files

def imported():
    print([name for name in ("fsspec", "pyarrow", "pandas") if name in sys.modules])

ps.run(ps.pipe(ps.values("ab"), files.write_text({str(path.parent / "{time}.gz")!r})))
imported()
days = files.read_csv({str(path)!r}, time="day")
print(ps.run(ps.pipe(days, ps.collect())))
ps.run(ps.pipe(days, files.write_csv({str(path.parent / "copy.csv")!r})))
imported()
"""
    of_text, rows, of_tables = printed("-c", program).splitlines()
    assert rows.count("Row(") == 2
    assert (of_text, of_tables) == ("[]", "['fsspec', 'pyarrow']")

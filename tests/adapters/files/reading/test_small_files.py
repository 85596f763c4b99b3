"""Many small files: how often each of them takes a thread, and what reading them imports."""

import subprocess
import sys
import threading

import pytest
import trio

import pullstream as ps
from adapters.files.reading import parsing, reader, streams
from pullstream import files

SIZE = 20

SOURCES = {
    "csv": (files.read_csv, "n,day\n{n},2026-03-01\n"),
    "typed lines": (
        lambda *given, **options: files.read_jsonl(*given, as_="rows", **options),
        '{{"n": {n}}}\n',
    ),
    "json lines": (files.read_jsonl, '{{"n": {n}}}\n'),
    "text": (files.read_text, "{n}"),
}


@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("journal", [False, True])
def test_a_file_takes_one_thread_once(put, folder, monkeypatch, kind, journal):
    read, content = SOURCES[kind]
    for number in range(SIZE):
        put(f"read/2026-03-{number + 1:02}.txt", content.format(n=number))
    steps, run_sync = [], trio.to_thread.run_sync
    readers, read_raw, close_raw = set(), streams.RawFile.read, streams.RawFile.close

    def reading(raw, *given):
        readers.add(threading.current_thread())
        return read_raw(raw, *given)

    def closing(raw):
        readers.add(threading.current_thread())
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
    source = read(folder / "read", time=files.name_time(r"\d{4}-\d\d-\d\d"), available=journal)
    got = ps.run(ps.pipe(source, ps.collect(timed=True)), journal=folder / "journal" if journal else None)
    assert [time for time, _ in got] == [f"2026-03-{number + 1:02}" for number in range(SIZE)]
    # The last step finds that there are no more.
    assert SIZE <= steps.count("step") <= SIZE + 4
    # The end of a file may take as long as any other part of it, such as on a network drive.
    assert readers
    assert threading.main_thread() not in readers


def test_a_file_that_grows_before_it_is_read_is_not_kept_as_a_whole(put, folder, monkeypatch):
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


def test_reading_does_not_import_pandas(put):
    path = put("days.csv", "n,day,ok,x\n1,2026-03-01,true,0.5\n2,2026-03-02,false,1\n")
    program = f"""
import sys
import pullstream as ps
from pullstream import files
print(ps.run(ps.pipe(files.read_csv({str(path)!r}, time="day"), ps.collect())))
print([name for name in ("pyarrow", "pandas") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    rows, imported = done.stdout.splitlines()
    assert rows.count("Row(") == 2
    assert imported == "['pyarrow']"

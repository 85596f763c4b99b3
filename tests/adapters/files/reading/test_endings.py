"""Every ending closes the files: success, abort, failure and cancellation, even while a thread is reading."""

import gc
import sys
from contextlib import suppress

import pyarrow as pa
import pytest
import trio

import pullstream as ps
from adapters import files
from pullstream.conformance import Subject, conformance
from tests.adapters.files.reading.tables import READERS, write
from tests.programs import python, until


class Enough(Exception):
    """Raised by a sink."""


TABLE = pa.table({"x": range(20_000), "y": range(20_000)})
KINDS = ["text", "bytes", "csv", "csv.gz", "jsonl", "parquet", "arrow"]


@pytest.fixture
def large(folder):
    def make(kind):
        path = folder / f"a.{kind}"
        read = write(TABLE, path, kind if kind in READERS else "csv", 1000)
        read = read if kind in READERS else getattr(files, f"read_{kind}")
        return read(path, **({} if kind in {"parquet", "arrow"} else {"block_size": 1000}))

    return make


@pytest.fixture
def _no_collector():
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["failure", "abort", "cancel", "finish"])
async def test_every_way_to_end(kind, way, large, opened, folder):
    some = trio.Event()

    def see(value):
        some.set()
        if way == "failure":
            raise Enough

    with trio.move_on_after(20) as scope, suppress(Enough):
        async with ps.pipe(large(kind), ps.drain(see)).open(check=True, limit=1) as running:
            await some.wait()
            assert opened(folder) or way == "failure"
            if way == "abort":
                await running.abort()
            elif way == "cancel":
                scope.cancel()
                await trio.sleep_forever()
            else:
                await running.finish()
                await running.result()
    assert opened(folder) == []


async def test_a_hanging_read_is_abandoned(put, held, opened, folder):
    path = put("a.txt", "x\n" * 1000)
    fs = held()
    pipeline = ps.pipe(files.read_text(path, filesystem=fs), ps.drain())
    with pytest.raises(ps.errors.ReleaseTimeout, match="read_text"):
        async with pipeline.open(release_timeout=0.05) as running:
            await until(fs.waiting.is_set)
            await running.abort()
    assert opened(folder) == [str(path)]
    fs.gate.set()
    await until(lambda: opened(folder) == [])


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
async def test_finished_blocks_do_not_wait_for_a_hanging_read(kind, put, held):
    """Also for tables, whose blocks are parsed in parallel."""
    row = {"csv": "1\n", "jsonl": '{"x":1}\n'}[kind]
    path = put("a", "x\n" * (kind == "csv") + row * 1000)
    # The file's first bytes, and three blocks.
    fs = held(free=4)
    make = {"csv": files.read_csv, "jsonl": files.read_jsonl}[kind]
    got = []
    source = make(path, as_="tuples", filesystem=fs, block_size=100)
    async with ps.pipe(source, ps.drain(got.append)).open() as running:
        await until(lambda: len(got) >= 300 // len(row))
        assert fs.waiting.is_set()
        fs.gate.set()
        await running.result()
    assert len(got) == 1000


AT_EXIT = """
import threading, time
import pullstream as ps
from adapters import files

begun = threading.Event()

def later(row):
    begun.set()
    while threading.main_thread().is_alive():
        time.sleep(0.01)
    time.sleep(0.005)

rows = ps.pipe(files.read_csv({path!r}, as_="tuples", block_size=10), ps.tap(later))
threading.Thread(target=lambda: print(len(ps.run(ps.pipe(rows, ps.take(20), ps.collect()))))).start()
begun.wait()
"""


@pytest.mark.skipif(
    (3, 12) <= sys.version_info < (3, 12, 3),
    reason="a bug of these Pythons (python/cpython#113964): no thread starts after the main one has ended",
)
def test_a_thread_reads_on_while_the_interpreter_ends(put):
    path = put("a.csv", "x\n" + "1\n" * 100)
    done = python("-c", AT_EXIT.format(path=str(path)))
    assert (done.stdout, done.stderr) == ("20\n", "")


async def test_other_tasks_run_while_a_thread_reads(put, held):
    fs = held()
    pipeline = ps.pipe(files.read_text(put("a", "x\n"), filesystem=fs), ps.collect())
    async with pipeline.open() as running:
        await until(fs.waiting.is_set)
        assert "0 of 1 files read, reading " in next(c.status for c in running.counters() if c.status)
        for _ in range(3):
            await trio.lowlevel.checkpoint()
        fs.gate.set()
        assert await running.result() == ["x"]
        assert next(c.status for c in running.counters() if c.status) == "1 of 1 files read"


def test_one_file_is_open_at_a_time(put, opened, folder):
    for number in range(50):
        put(f"in/{number:03}", f"{number}\n")
    most = []
    source = ps.pipe(files.read_text(folder / "in", block_size=1), ps.tap(lambda _: most.append(len(opened(folder)))))
    assert len(ps.run(ps.pipe(source, ps.collect()))) == 50
    assert max(most) == 1


SOURCES = {
    "text": lambda path: files.read_text(path, block_size=4),
    "bytes": lambda path: files.read_bytes(path, block_size=2),
    "a time each": lambda path: files.read_jsonl(path, block_size=4, time=int),
    "rows": lambda path: files.read_csv(path, block_size=4, as_="tuples"),
    "skipping": lambda path: files.read_text(path, on_error="skip"),
    "small files": lambda path: files.read_text([path] * 4),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_conformance(kind, put, monkeypatch):
    """No rule is broken and nothing hangs; virtual time replaces threads."""

    async def moment(function, *args):
        await trio.sleep(0.001 if kind == "small files" else 0.1)
        return function(*args)

    monkeypatch.setattr("adapters.files.reading.source.in_thread", moment)
    path = put("data", "".join(f"{n}\n" for n in range(5)))
    assert conformance(Subject(kind, lambda: SOURCES[kind](path)), cells=60).check().cells.total() > 0

"""Files of complete times are made in the background, while the values of later times are taken."""

import threading

import pytest
import trio

import pullstream as ps
from adapters import commits, files
from adapters.files.writing.disk import Disk


def slow_disk(monkeypatch, ready):
    """Make the first sync to disk wait for an event."""
    real = Disk.flush

    def flush(disk, path):
        assert ready.wait(10)
        real(disk, path)

    monkeypatch.setattr(Disk, "flush", flush)


async def test_later_values_are_taken_while_the_disk_is_busy(tmp_path, monkeypatch):
    """The file of time 0 waits for a value of time 5, and no time is complete before its file is there."""
    reached = threading.Event()
    slow_disk(monkeypatch, reached)
    source = ps.pipe(ps.values(range(10), time=int), ps.tap(lambda n: reached.set() if n == 5 else None))
    async with ps.pipe(source, files.write_jsonl(tmp_path / "{time}.jsonl")).open(limit=1) as running:
        await running.progress.completed(0)
        assert reached.is_set()
        assert (tmp_path / "0.jsonl").read_text() == "0\n"
        assert len(await running.result()) == 10


async def test_a_bounded_number_of_times_waits_for_the_disk(tmp_path, monkeypatch):
    """A disk that is too slow holds the stream up."""
    ready, taken = threading.Event(), []
    slow_disk(monkeypatch, ready)
    source = ps.pipe(ps.values(range(200), time=int), ps.tap(taken.append))
    async with ps.pipe(source, files.write_jsonl(tmp_path / "{time}.jsonl")).open(limit=1) as running:
        while len(taken) <= commits.AHEAD:  # noqa: ASYNC110 - nobody sets an event
            await trio.sleep(0.001)
        await trio.sleep(0.05)
        assert len(taken) <= commits.AHEAD + 2
        ready.set()
        assert len(await running.result()) == 200


async def test_a_disk_that_fails_ends_a_source_that_waits(tmp_path, monkeypatch):
    """The failure does not wait for the next value."""

    def flush(disk, path):
        raise OSError("the disk is gone")

    monkeypatch.setattr(Disk, "flush", flush)

    @ps.source
    async def source(ctx):
        yield ps.Batch(0, ["a"])
        ctx.advance(1)
        await trio.sleep_forever()

    with trio.fail_after(10):
        with pytest.raises(OSError, match="the disk is gone"):
            await ps.arun(ps.pipe(source(), files.write_text(tmp_path / "{time}.txt")))
    assert not list(tmp_path.glob("*.txt"))

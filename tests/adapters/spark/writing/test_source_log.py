"""A source as a log for `readStream`, without Spark: its name lasts, and a wrong checkpoint takes nothing from it."""

import os
from pathlib import Path

import pytest
import trio

import pullstream as ps
from adapters.spark.writing.source_log import LogRefused, SourceLog, _lasting_name


def test_the_name_lasts(tmp_path, monkeypatch):
    """Its content is on the disk before it has its name, and its name before anyone is told; also if it is not new."""
    steps = []

    def noted(name, real):
        def operation(*args, **options):
            steps.append((name, os.fstat(args[0]).st_ino if name == "fsync" else Path(args[0]).stat().st_ino))
            return real(*args, **options)

        return operation

    for name in ("fsync", "replace"):
        monkeypatch.setattr(os, name, noted(name, getattr(os, name)))

    name = _lasting_name(tmp_path / "journal")

    file, folder = (tmp_path / "journal.log").stat().st_ino, tmp_path.stat().st_ino
    assert steps == [("fsync", file), ("replace", file), ("fsync", folder)]
    steps.clear()
    # The folder may be reached by a link.
    (tmp_path / "link").symlink_to(tmp_path)
    assert _lasting_name(tmp_path / "link" / "journal") == name
    assert steps == [("fsync", folder)]


@pytest.mark.parametrize("start", [1, 9])
async def test_a_checkpoint_that_is_an_old_copy_takes_nothing(start, autojump_clock):
    """A query that begins before or after the values that are kept is refused, and nothing counts as committed."""
    log = SourceLog("numbers", ps.values(range(4)), "values")
    async with trio.open_nursery() as nursery:
        nursery.start_soon(log.run)
        await log.ready()
        with log.querying(None):
            first = await log.latest(None, 2)
            end = await log.latest(first, 1)

        with pytest.raises(LogRefused, match=f"values 2 to [34], but a query asks for {start} to {start}: .* old copy"):
            await log.latest({**end, "values": start}, None)

        assert await log.slice(first, end) == [2]
        nursery.cancel_scope.cancel()

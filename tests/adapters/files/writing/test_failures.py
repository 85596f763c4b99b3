"""Diverted failures are on disk immediately if each failure has its own time."""

import pytest
import trio

import pullstream as ps
from adapters import files

STOP = [None]


class Stop(Exception):
    """Ends a run in the middle."""


def even(n):
    if n == STOP[0]:
        raise Stop
    if n % 2:
        raise ValueError(f"{n} is odd")
    return n


def stopping(n):
    if n == STOP[0]:
        raise Stop
    return n


def aside(path):
    return ps.pipe(ps.map(lambda failed: str(failed.error)), ps.stamp_epochs(1), files.write_text(path))


def test_failures_are_on_disk_during_the_run(tmp_path):
    """They stay when it is aborted, although the run's only time is never complete."""
    path = tmp_path / "bad.txt"

    async def main():
        source = ps.pushable(1)
        async with ps.pipe(source, ps.map(even, on_error=aside(path)), ps.drain()).open() as running:
            for n in range(1, 6, 2):
                await source.push(n)
                await source.push(0)
                await source.push(0)
                written = f"{n} is odd\n"
                while not path.exists() or not path.read_text().endswith(written):  # noqa: ASYNC110 - no event for it
                    await trio.sleep(0.001)
            await running.abort()

    STOP[0] = None
    trio.run(main)
    assert path.read_text().splitlines() == ["1 is odd", "3 is odd", "5 is odd"]


@pytest.mark.parametrize("stop", [3, 6, 7, 9])
def test_failures_of_a_stopped_run_are_there_once(stop, tmp_path):
    """In a run with a journal, they continue where they were."""

    def pipeline():
        source = ps.pipe(ps.values(range(10)), ps.map(stopping))
        return ps.pipe(source, ps.map(even, on_error=aside(tmp_path / "bad.txt")), ps.collect())

    for STOP[0] in (stop, None):
        try:
            result = ps.run(pipeline(), journal=tmp_path / "journal", limit=1)
        except Stop:
            assert STOP[0] is not None
    assert result == [0, 2, 4, 6, 8]
    assert (tmp_path / "bad.txt").read_text().splitlines() == [f"{n} is odd" for n in range(1, 10, 2)]

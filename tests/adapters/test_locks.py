"""Locks of targets: two writers at once, and children that outlive a killed run."""

import os

import pytest

from adapters import locks
from adapters.tables.table import FileLock

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no such locks here")


def test_a_forked_child_keeps_no_lock(tmp_path):
    """The next run may begin when the process that held it is gone, even if a child of it lives on."""
    path = tmp_path / "lock"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    locks.lock(file)
    (ready, begun), (ends, end) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.write(begun, b"x")
        os.read(ends, 1)
        # What the number means now is still the child's to close.
        os.close(file)
        os._exit(0)
    os.read(ready, 1)

    with pytest.raises(BlockingIOError), path.open() as other:
        locks.lock(other.fileno())
    locks.close(file)
    with path.open() as other:
        locks.lock(other.fileno())

    os.write(end, b"x")
    assert os.waitpid(child, 0)[1] == 0
    for each in (ready, begun, ends, end):
        os.close(each)


def test_a_lock_that_is_removed_as_it_is_taken(tmp_path, monkeypatch):
    """Another writer has taken and released it in between: the next attempt makes a new one."""
    look, looks = os.fstat, []

    def removed(file):
        if not looks:
            next(tmp_path.glob("*.lock")).unlink()
        looks.append(file)
        return look(file)

    lock = FileLock(tmp_path / "sales.db", "sales")
    monkeypatch.setattr(os, "fstat", removed)

    assert lock.take()
    assert len(looks) == 2
    assert not FileLock(tmp_path / "sales.db", "sales").take()
    lock.release()
    assert not list(tmp_path.iterdir())

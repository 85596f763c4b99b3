"""Locks of targets: two writers at once, and children that outlive a killed run."""

import os

import pytest

from adapters.tables.table import FileLock
from pullstream import locks

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no such locks")


@pytest.mark.parametrize("change", [os.unlink, lambda path: path.with_name("new").rename(path)])
def test_a_file_removed_before_it_is_locked_is_opened_again(change, tmp_path):
    """Another run has removed or replaced it."""
    path, changes = tmp_path / "lock", [change]
    path.with_name("new").touch()

    def begin():
        file = os.open(path, os.O_RDWR | os.O_CREAT)
        for each in changes:
            each(path)
        changes.clear()
        return file

    file = locks.locked(begin, path.stat)

    assert os.path.samestat(os.fstat(file), path.stat())
    with pytest.raises(BlockingIOError):
        locks.locked(begin, path.stat)
    locks.close_locked(file)


@pytest.mark.parametrize("when", ["opened", "locked", "closed"])
def test_a_forked_child_keeps_no_lock(when, tmp_path, monkeypatch):
    """The next run may begin when the process that held the lock has ended, even if its children live on.

    Another thread may fork just before the file is locked: the child's copy of the descriptor would keep the lock.
    The same goes for a fork just after the file was opened, or just before it is closed.
    """
    path = tmp_path / "lock"
    file = os.open(path, os.O_RDWR | os.O_CREAT)
    (ready, begun), (ends, end) = os.pipe(), os.pipe()
    children = []

    def fork():
        child = os.fork()
        if not child:
            # The child then ends even if the test fails.
            os.close(end)
            os.write(begun, b"x")
            os.read(ends, 1)
            # The descriptor belongs to the child now, which must be able to close it.
            os.close(file)
            os._exit(0)
        children.append(child)
        os.read(ready, 1)

    def after_a_fork(call):
        return lambda *args: (patch.undo(), fork(), call(*args))

    fcntl = pytest.importorskip("fcntl")
    if when == "opened":
        fork()
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", after_a_fork(fcntl.flock))
        locks.lock(file)
    fork()

    with path.open() as other:
        with pytest.raises(BlockingIOError):
            locks.lock(other.fileno())
        with monkeypatch.context() as patch:
            if when == "closed":
                patch.setattr(os, "close", after_a_fork(os.close))
            locks.close_locked(file)
        locks.lock(other.fileno())

    os.write(end, b"x" * len(children))
    assert {os.waitpid(child, 0)[1] for child in children} == {0}
    for each in (ready, begun, ends, end):
        os.close(each)


def test_a_lock_removed_as_it_is_taken(tmp_path, monkeypatch):
    """Another writer has taken and released it in between: the next attempt creates a new lock."""
    look, looks = os.fstat, []

    def removed(file):
        if not looks:
            next(tmp_path.glob("*.lock")).unlink()
        looks.append(file)
        return look(file)

    monkeypatch.setattr(os, "fstat", removed)
    lock = FileLock(tmp_path / "sales.db", "sales")

    assert len(looks) == 2
    with pytest.raises(BlockingIOError):
        FileLock(tmp_path / "sales.db", "sales")
    lock.release()
    assert not list(tmp_path.iterdir())
